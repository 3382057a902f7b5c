package maintain

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/filter"
	"integrationhub/hub/internal/ledger/query"
)

// matchesStored reports whether a filter matches a stored envelope. One that is none any more,
// or that the filter cannot be evaluated for, does not match.
func matchesStored(ctx context.Context, f *filter.Filter, body []byte) (bool, error) {
	event, err := hub.ParseEnvelope(body)
	if err != nil {
		return false, nil
	}
	result, err := f.Evaluate(ctx, filter.NewEvent(event))
	return result.Matches, err
}

// countMatching counts the events of a query for their bodies that a filter matches.
func countMatching(ctx context.Context, db query.DB, f *filter.Filter, statement string, args ...any) (n int64, err error) {
	rows, err := db.Query(ctx, statement, args...)
	if err != nil {
		return 0, fmt.Errorf("reading events: %w", err)
	}
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&body}, func() error {
		matches, err := matchesStored(ctx, f, body)
		if matches {
			n++
		}
		return err
	})
	return n, err
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
		matches, err := matchesStored(ctx, f, body)
		if matches {
			matching = append(matching, seq)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the bodies of events: %w", err)
	}
	return matching, nil
}
