package delivery

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

const (
	maxKept      = 8192     // deliveries whose lease is kept for their retry
	maxKeptBytes = 16 << 20 // of their payloads
	keepMargin   = 250 * time.Millisecond
)

// keptRetries are first retries of deliveries that have no row yet. The lease of their commit
// is kept until the retry is settled, so that a failure costs one version of a row and not
// three. All wait for the same delay: the first is due first.
type keptRetries struct {
	waiting chan scheduledRetry
	bytes   atomic.Int64 // of their payloads
	quota   *retryQuota
}

func newKeptRetries(quota *retryQuota) *keptRetries {
	return &keptRetries{waiting: make(chan scheduledRetry, maxKept), quota: quota}
}

// takeRoom reports whether a delivery of a tenant may be kept, and counts it against the tenant's
// share. Others may fill the room before it is added.
func (k *keptRetries) takeRoom(tenant uuid.UUID, delay time.Duration) bool {
	now := time.Now()
	return len(k.waiting) < maxKept && k.bytes.Load() < maxKeptBytes && k.quota.takeShort(tenant, now.Add(delay), now)
}

// add keeps a retry; false if there is no room any more.
func (k *keptRetries) add(retry scheduledRetry) bool {
	k.bytes.Add(retry.kept.size())
	select {
	case k.waiting <- retry:
		return true
	default:
		k.bytes.Add(-retry.kept.size())
		return false
	}
}

// subtractBytes subtracts the payloads of retries that are no longer kept; stillKept are counted
// again.
func (k *keptRetries) subtractBytes(taken, stillKept []waitingRetry) {
	for _, retry := range taken {
		if retry.kept != nil {
			k.bytes.Add(-retry.kept.size())
		}
	}
	for _, retry := range stillKept {
		k.bytes.Add(retry.kept.size())
	}
}

func (d *LeasedDelivery) size() int64 { return int64(len(d.Event.Body)) }

// IsKept reports whether the lease of an attempt's delivery is kept: it gets no row with this
// attempt. Only the goroutine of the log's writer may ask: it
// sets Materialized.
func (a *AttemptResult) IsKept() bool { return a.KeepsLease && !a.CommitLease.Materialized }

// tryKeepLease reports whether the lease of a delivery without a row is kept until its first
// retry, and counts it against its tenant's share then. The retry is due in a second, which the
// writer waits before it inserts rows. Heads of orders have rows, which the places behind them
// need.
func (d *Dispatcher) tryKeepLease(a *AttemptResult) bool {
	isFirstRetry := a.Sent && a.PriorAttempts == 0 && a.Decision.Status == Pending && a.Decision.Wait == retryDelays[0]
	return isFirstRetry && a.CommitLease != nil && a.OrderingKey == "" && d.kept != nil &&
		d.Now().Sub(a.CommitLease.TakenAt)+a.Decision.Wait+keepMargin < MaterializeAfter &&
		d.kept.takeRoom(a.Event.TenantID, a.Decision.Wait)
}

// afterAttempt returns a kept delivery as it is for its retry.
func (a *AttemptResult) afterAttempt(dueAt time.Time) *LeasedDelivery {
	next := a.LeasedDelivery
	next.PriorAttempts++
	next.CountedAttempts, next.ReadyAt, next.paced = a.Decision.CountedAttempts, dueAt, false
	next.Previous = &PreviousAttempt{StatusCode: a.StatusCode, Duration: a.Phases.Total}
	return &next
}

// keep queues the retry of a kept delivery; false if there is no room for it any more.
func (r *RetryScheduler) keep(key waitingRetry, a *AttemptResult, now time.Time) bool {
	dueAt := slotAfter(now.Add(a.Decision.Wait))
	key.kept = a.afterAttempt(dueAt)
	return r.dispatcher.kept.add(scheduledRetry{key, dueAt})
}

// keptDeliveries returns the deliveries of retries that are kept; the others have rows.
func keptDeliveries(retries []waitingRetry) []LeasedDelivery {
	var kept []LeasedDelivery
	for _, retry := range retries {
		if retry.kept != nil {
			kept = append(kept, *retry.kept)
		}
	}
	return kept
}

// takeKept divides due retries into kept deliveries whose leases are still there, those whose
// lease is locked or cannot be read now, and all others, which have rows. A reader may
// insert rows at any time. Rows that it inserts after this check are due now and count as
// leased.
func (d *Dispatcher) takeKept(ctx context.Context, retries []waitingRetry) (kept []LeasedDelivery, again, others []waitingRetry, err error) {
	var leases []uuid.UUID
	for _, retry := range retries {
		if retry.kept != nil && !slices.Contains(leases, retry.kept.CommitLease.ID) {
			leases = append(leases, retry.kept.CommitLease.ID)
		}
	}
	if len(leases) == 0 {
		return nil, nil, retries, nil
	}
	free, err := d.lookForLeases(ctx, leases)
	for _, retry := range retries {
		if retry.kept == nil {
			others = append(others, retry)
			continue
		}
		switch isFree, isThere := free[retry.kept.CommitLease.ID]; {
		case isFree:
			kept = append(kept, *retry.kept)
		case isThere || err != nil:
			again = append(again, retry)
		default:
			others = append(others, retry)
		}
	}
	return kept, again, others, err
}

// lookForLeases returns which of some leases are there, and whether each is free: one that is
// locked may be about to be replaced by rows.
func (d *Dispatcher) lookForLeases(ctx context.Context, leases []uuid.UUID) (map[uuid.UUID]bool, error) {
	rows, err := d.Pool.Query(ctx, `
		with free as (select id from hub.leases where id = any($1) for key share skip locked)
		select l.id, f.id is not null from hub.leases l left join free f on f.id = l.id where l.id = any($1)`, leases)
	if err != nil {
		return nil, fmt.Errorf("looking for kept leases: %w", err)
	}
	defer rows.Close()
	found := make(map[uuid.UUID]bool, len(leases))
	for rows.Next() {
		var id uuid.UUID
		var isFree bool
		if err := rows.Scan(&id, &isFree); err != nil {
			return nil, fmt.Errorf("looking for kept leases: %w", err)
		}
		found[id] = isFree
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("looking for kept leases: %w", err)
	}
	return found, nil
}
