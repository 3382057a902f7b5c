package maintain

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/filter"
)

// countPart is how many events a statement of a count by a filter reads: the count can end
// between two of them.
const countPart = 500

// evaluateStored evaluates a filter for a stored envelope. One that is none any more does not
// match.
func evaluateStored(ctx context.Context, f *filter.Filter, body []byte) (filter.Result, error) {
	event, err := hub.ParseEnvelope(body)
	if err != nil {
		return filter.Result{}, nil
	}
	return f.Evaluate(ctx, filter.NewEvent(event))
}

// countMatching counts the stored events e of a where clause that a filter matches. It is
// [errRangeTooLarge] where that takes more time, or more steps of the filter, than a count may.
func (s *Replays) countMatching(ctx context.Context, tx pgx.Tx, f *filter.Filter, where string, args []any) (n int64, err error) {
	statement := fmt.Sprintf(`select e.seq, e.body from hub.events e where %s and e.seq > $%d order by e.seq limit %d`, where, len(args)+1, countPart)
	var last uuid.UUID
	var cost uint64
	for began := time.Now(); ; {
		left := s.limits.time - time.Since(began)
		if left <= 0 || cost > s.limits.cost {
			return 0, errRangeTooLarge
		}
		if err := boundStatements(ctx, tx, left); err != nil {
			return 0, err
		}
		rows, err := tx.Query(ctx, statement, append([]any{pgx.QueryExecModeCacheDescribe}, append(args, last)...)...)
		if err != nil {
			return 0, err
		}
		var body []byte
		tag, err := pgx.ForEachRow(rows, []any{&last, &body}, func() error {
			result, err := evaluateStored(ctx, f, body)
			if result.Matches {
				n++
			}
			cost += result.Cost
			return err
		})
		if err != nil {
			return 0, err
		}
		if tag.RowsAffected() < countPart {
			return n, boundStatements(ctx, tx, s.limits.time) // for what follows
		}
	}
}

// matchingEvents returns those of the events that a filter matches, in their order.
func matchingEvents(ctx context.Context, tx pgx.Tx, f *filter.Filter, seqs []uuid.UUID) (matching []uuid.UUID, err error) {
	rows, err := tx.Query(ctx, `select seq, body from hub.events where seq = any($1) order by seq`, seqs)
	if err != nil {
		return nil, fmt.Errorf("reading the bodies of events: %w", err)
	}
	var seq uuid.UUID
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&seq, &body}, func() error {
		result, err := evaluateStored(ctx, f, body)
		if result.Matches {
			matching = append(matching, seq)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the bodies of events: %w", err)
	}
	return matching, nil
}
