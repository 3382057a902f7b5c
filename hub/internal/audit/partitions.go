package audit

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/internal/store"
	"integrationhub/hub/module/dberr"
)

// monthsAhead is how many months after the present one have partitions.
const monthsAhead = 6

// EnsurePartitions makes the partitions of the present month and those to come where they
// are missing: without one, an entry cannot be stored. A hub that was stopped for longer
// than they reach needs it before its first entry. A schema from before there were
// partitions needs none.
func EnsurePartitions(ctx context.Context, db *pgxpool.Pool, now time.Time) error {
	_, err := db.Exec(ctx, `select hub.ensure_audit_partitions($1::date, $2)`, now.UTC(), monthsAhead+1)
	if dberr.Code(err) == dberr.UndefinedFunction {
		return nil
	}
	return store.Wrap("creating partitions of the audit log", err)
}
