package inbox

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

const (
	keepIDs   = 45 * 24 * time.Hour // longer than the oldest event that is taken, and than any park
	keepEvery = time.Hour
	keepBatch = 5000 // rows in one statement
)

// Keep drops what is no longer kept, every hour until ctx ends: bodies after the
// retention, ids after 45 days.
func Keep(ctx context.Context, db *pgxpool.Pool, retention time.Duration, log *slog.Logger, now func() time.Time) {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		if err := Drop(ctx, db, retention, now()); err != nil && ctx.Err() == nil {
			log.Warn("dropping old received events failed; trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Drop drops what is too old at a time.
func Drop(ctx context.Context, db *pgxpool.Pool, retention time.Duration, now time.Time) error {
	queries := dbgen.New(db)
	for _, one := range []struct {
		drop   func(ctx context.Context, before time.Time, limit int32) (int64, error)
		before time.Time
	}{
		{queries.DropReceived, now.Add(-keepIDs)},
		{queries.DropReceivedBodies, now.Add(-retention)},
	} {
		for {
			dropped, err := one.drop(ctx, one.before, keepBatch)
			if err != nil {
				return store.Failed("dropping old received events", err)
			}
			if dropped < keepBatch {
				break
			}
		}
	}
	return nil
}
