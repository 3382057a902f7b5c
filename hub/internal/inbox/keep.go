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

// Keep drops ids that are no longer kept, every hour until ctx ends.
func Keep(ctx context.Context, db *pgxpool.Pool, log *slog.Logger, now func() time.Time) {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		if err := Drop(ctx, db, now()); err != nil && ctx.Err() == nil {
			log.Warn("dropping old ids of received events failed; trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Drop drops what is too old at a time.
func Drop(ctx context.Context, db *pgxpool.Pool, now time.Time) error {
	queries := dbgen.New(db)
	for {
		dropped, err := queries.DropReceived(ctx, now.Add(-keepIDs), keepBatch)
		if err != nil {
			return store.Failed("dropping old ids of received events", err)
		}
		if dropped < keepBatch {
			return nil
		}
	}
}
