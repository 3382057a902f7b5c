package write

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/delivery"
)

const (
	// materializeAfter is how long the row of a lease stands for deliveries: most are settled
	// within milliseconds, and one that is not should be seen in the log.
	materializeAfter = 2 * time.Second
	materializeEvery = 250 * time.Millisecond
)

// TrackLease notes a lease whose deliveries have no rows yet.
func (w *Writer) TrackLease(lease *delivery.CommitLease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = append(w.open, lease)
}

// hasNoRow reports whether an attempt's delivery has no row yet.
func hasNoRow(a *delivery.AttemptResult) bool {
	return a.CommitLease != nil && !a.CommitLease.Materialized
}

// subtractStored notes on the leases which of their deliveries have rows now.
func subtractStored(batch []delivery.AttemptResult) {
	for i := range batch {
		if hasNoRow(&batch[i]) {
			batch[i].CommitLease.WithoutRow--
		}
	}
}

// settledLeases returns the leases that stand for no delivery once a batch is stored.
func settledLeases(batch []delivery.AttemptResult) []uuid.UUID {
	counts := make(map[*delivery.CommitLease]int)
	for i := range batch {
		if hasNoRow(&batch[i]) {
			counts[batch[i].CommitLease]++
		}
	}
	ids := make([]uuid.UUID, 0, len(counts))
	for lease, n := range counts {
		if lease.WithoutRow == n {
			ids = append(ids, lease.ID)
		}
	}
	return ids
}

// materializeWaiting inserts the rows of deliveries that have waited for a while. They
// stay leased. (The SQL function keeps its earlier name, hub.unfold_leases.)
func (w *Writer) materializeWaiting() {
	before := w.now().Add(-materializeAfter)
	var old []*delivery.CommitLease
	w.mu.Lock()
	w.open = slices.DeleteFunc(w.open, func(lease *delivery.CommitLease) bool {
		if lease.WithoutRow == 0 || lease.Materialized {
			return true
		}
		if lease.TakenAt.Before(before) {
			old = append(old, lease)
		}
		return false
	})
	w.mu.Unlock()
	if len(old) == 0 {
		return
	}
	ids := make([]uuid.UUID, len(old))
	for i, lease := range old {
		ids[i] = lease.ID
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if _, err := w.pool.Exec(ctx, `select hub.unfold_leases($1)`, ids); err != nil {
		w.log.Warn("giving waiting deliveries their rows failed; trying again", "error", err, "leases", len(ids))
		return
	}
	for _, lease := range old {
		lease.Materialized = true
	}
}

// findConflicts finds out why PostgreSQL has a row of the batch already. committed: the
// try before was committed and its answer lost. Else rows of the batch were made by
// somebody else, because a lease ended before its deliveries were settled or because
// a reader wanted them; those leases are marked, and found reports whether there are any.
func (w *Writer) findConflicts(ctx context.Context, batch []delivery.AttemptResult) (committed, found bool, err error) {
	leases := make(map[uuid.UUID]*delivery.AttemptResult)
	ids, numbers, times := make([]uuid.UUID, len(batch)), make([]int32, len(batch)), make([]time.Time, len(batch))
	for i := range batch {
		a := &batch[i]
		ids[i], numbers[i], times[i] = a.ID, int32(a.PriorAttempts+1), a.StartedAt
		if hasNoRow(a) {
			leases[a.ID] = a
		}
	}
	rows, err := w.pool.Query(ctx, `
		select d.id, d.started_at is not null and d.started_at = u.started_at or exists (
			select from hub.attempts a where a.delivery_id = d.id and a.number = u.number and a.started_at = u.started_at)
		from unnest($1::uuid[], $2::integer[], $3::timestamptz[]) u(id, number, started_at)
		join hub.deliveries d on d.id = u.id`, ids, numbers, times)
	if err != nil {
		return false, false, fmt.Errorf("looking for rows: %w", err)
	}
	var id uuid.UUID
	var ours bool
	_, err = pgx.ForEachRow(rows, []any{&id, &ours}, func() error {
		committed = committed || ours
		if a := leases[id]; a != nil && !ours {
			found = true
			a.CommitLease.Materialized = true
		}
		return nil
	})
	if err != nil {
		return false, false, fmt.Errorf("looking for rows: %w", err)
	}
	return committed, found, nil
}
