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
	purgeInterval = time.Hour
	purgeBatch    = 5000 // rows in one statement
)

// RunPurge deletes expired event ids every hour until ctx ends.
func RunPurge(ctx context.Context, db *pgxpool.Pool, log *slog.Logger, now func() time.Time) {
	tick := time.NewTicker(purgeInterval)
	defer tick.Stop()
	for {
		if err := Purge(ctx, db, now()); err != nil && ctx.Err() == nil {
			log.Warn("dropping old ids of received events failed; trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Purge deletes the event ids that are expired at a time and by the database's clock: 45 days old.
func Purge(ctx context.Context, db *pgxpool.Pool, now time.Time) error {
	queries := dbgen.New(db)
	for _, deleteBatch := range []func(context.Context, time.Time, int32) (int64, error){queries.DeleteOldReceived, queries.DeleteOldRefused} {
		for {
			deleted, err := deleteBatch(ctx, now, purgeBatch)
			if err != nil {
				return store.Wrap("dropping old ids of received events", err)
			}
			if deleted < purgeBatch {
				break
			}
		}
	}
	return nil
}
