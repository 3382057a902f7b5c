package write

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/delivery"
)

// storedState is what the database has of a batch already.
type storedState struct {
	isCommitted bool // the batch: an earlier try succeeded
	hasNewRows  bool // another process, or a reader, has inserted rows that the batch was going to insert
}

// compareStored reads what the database has of a batch, and marks the leases whose
// deliveries have rows by now.
func (w *Writer) compareStored(batch []delivery.AttemptResult) (storedState, error) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	var state storedState
	leases := make(map[uuid.UUID]*delivery.CommitLease)
	ids, numbers, times := make([]uuid.UUID, len(batch)), make([]int32, len(batch)), make([]time.Time, len(batch))
	for i := range batch {
		a := &batch[i]
		ids[i], numbers[i], times[i] = a.ID, int32(a.PriorAttempts+1), a.StartedAt
		if hasNoRow(a) {
			leases[a.ID] = a.CommitLease
		}
	}
	rows, err := w.pool.Query(ctx, `
		select u.id, d.id is not null, coalesce(d.started_at = u.started_at, false) or exists (
			select from hub.attempts a where a.delivery_id = u.id and a.number = u.number and a.started_at = u.started_at)
		from unnest($1::uuid[], $2::integer[], $3::timestamptz[]) u(id, number, started_at)
		left join hub.deliveries d on d.id = u.id`, ids, numbers, times)
	if err != nil {
		return state, fmt.Errorf("looking for rows: %w", err)
	}
	var id uuid.UUID
	var hasRow, isOurs bool
	_, err = pgx.ForEachRow(rows, []any{&id, &hasRow, &isOurs}, func() error {
		state.isCommitted = state.isCommitted || isOurs
		if lease := leases[id]; lease != nil && hasRow && !isOurs {
			state.hasNewRows = true
			lease.Materialized = true
		}
		return nil
	})
	if err != nil {
		return state, fmt.Errorf("looking for rows: %w", err)
	}
	return state, nil
}
