package write

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/store/bulk"
)

const materializeEvery = 250 * time.Millisecond

// TrackLease registers a lease whose deliveries have no rows yet.
func (w *Writer) TrackLease(lease *delivery.CommitLease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.openLeases = append(w.openLeases, lease)
}

// hasNoRow reports whether an attempt's delivery has no row yet.
func hasNoRow(a *delivery.AttemptResult) bool {
	return a.CommitLease != nil && !a.CommitLease.Materialized
}

// getsRow reports whether an attempt's delivery has no row yet and gets it with the attempt.
func getsRow(a *delivery.AttemptResult) bool { return hasNoRow(a) && !a.IsKept() }

// subtractStored updates the leases' counts of deliveries without a row.
func subtractStored(batch []delivery.AttemptResult) {
	for i := range batch {
		if getsRow(&batch[i]) {
			batch[i].CommitLease.WithoutRow--
		}
	}
}

// settledLeases returns the leases that cover no delivery once a batch is stored.
func settledLeases(batch []delivery.AttemptResult) []uuid.UUID {
	counts := make(map[*delivery.CommitLease]int)
	for i := range batch {
		if getsRow(&batch[i]) {
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

// keptLeases returns the leases that go on covering deliveries that a batch's attempts failed.
func keptLeases(batch []delivery.AttemptResult) []uuid.UUID {
	var ids []uuid.UUID
	for i := range batch {
		if a := &batch[i]; a.IsKept() && !slices.Contains(ids, a.CommitLease.ID) {
			ids = append(ids, a.CommitLease.ID)
		}
	}
	return ids
}

// settleLeases deletes the leases that a batch ends, and marks those that it keeps. If the
// deliveries of one of these have rows by now, it fails as a row that is there twice does.
func (r *rows) settleLeases(statements *bulk.Batch, batch []delivery.AttemptResult) {
	settled, kept := settledLeases(batch), keptLeases(batch)
	if len(settled) == 0 && len(kept) == 0 {
		return
	}
	r.leases.Reset(bulk.UUIDs, bulk.UUIDs)
	for i, ids := range [][]uuid.UUID{settled, kept} {
		for _, id := range ids {
			r.leases[i].UUID(id)
		}
	}
	statements.Add(`select hub.settle_leases($1, $2)`, r.leases)
}

// materializeWaiting inserts the rows of deliveries that have waited for a while. They
// stay leased. (The SQL function keeps its earlier name, hub.unfold_leases.)
func (w *Writer) materializeWaiting() {
	w.materialize(w.openBefore(w.now().Add(-delivery.MaterializeAfter)), `select hub.unfold_leases($1)`)
}

// releaseOpen inserts the rows of all deliveries without one, for other processes: no attempt
// is under way here any more. Retries stay due when they are.
func (w *Writer) releaseOpen() {
	w.mu.Lock()
	leases := w.openLeases
	w.mu.Unlock()
	w.materialize(leases, `update hub.leases set due_at = now() where id = any($1)`, `select hub.unfold_leases($1)`)
}

// openBefore returns the leases that were taken before a time and cover deliveries without a row,
// and forgets those that cover none any more.
func (w *Writer) openBefore(before time.Time) (open []*delivery.CommitLease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.openLeases = slices.DeleteFunc(w.openLeases, func(lease *delivery.CommitLease) bool {
		if lease.WithoutRow == 0 || lease.Materialized {
			return true
		}
		if lease.TakenAt.Before(before) {
			open = append(open, lease)
		}
		return false
	})
	return open
}

// materialize inserts the rows of deliveries of leases by some statements, in one transaction.
func (w *Writer) materialize(leases []*delivery.CommitLease, statements ...string) {
	if len(leases) == 0 {
		return
	}
	ids := make([]uuid.UUID, len(leases))
	for i, lease := range leases {
		ids[i] = lease.ID
	}
	batch := &pgx.Batch{}
	for _, statement := range statements {
		batch.Queue(statement, ids)
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := w.pool.SendBatch(ctx, batch).Close(); err != nil {
		w.log.Warn("materializing waiting deliveries failed; trying again", "error", err, "leases", len(ids))
		return
	}
	for _, lease := range leases {
		lease.Materialized = true
	}
}
