package audit

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/store"
)

// SetClock sets the clock by which minutes are counted.
func (r *Recorder) SetClock(now func() time.Time) { r.now = now }

// ExplainList returns the plan of the first page of a list.
func (r *Recorder) ExplainList(ctx context.Context, filter Filter) (string, error) {
	query, args := filter.statement(nil, 100)
	rows, err := r.db.Query(ctx, "explain "+query, args...)
	if err != nil {
		return "", store.Wrap("explaining the list", err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(lines, "\n"), store.Wrap("explaining the list", err)
}
