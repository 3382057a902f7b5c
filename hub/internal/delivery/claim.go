package delivery

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/logid"
)

// leaseAndReturnSQL is the part of a claiming statement that takes the lease and returns
// the columns of a LeasedDelivery. A leased row has no next_attempt_at. The 30 seconds
// must equal [LeaseDuration].
const leaseAndReturnSQL = `
	set due_at = now() + interval '30 seconds', next_attempt_at = null
	from picked p where d.id = p.id
	returning d.id, d.target_id, d.integration, d.priority, d.attempts, d.spent, d.round_at, now() - p.due_at, coalesce(d.ordering_key, ''), d.due_at`

// claimTargetsSQL claims due rows of several targets and priorities, of each the oldest up
// to its number of places.
const claimTargetsSQL = `
	with picked as (
		select due.id, due.due_at from unnest($1::uuid[], $2::smallint[], $3::integer[]) wanted(target_id, priority, places),
		lateral (
			select id, due_at from hub.deliveries
			where status = 0 and target_id = wanted.target_id and priority = wanted.priority and due_at <= now()
			order by due_at, id limit wanted.places for update skip locked) due
		limit 2048)
	update hub.deliveries d` + leaseAndReturnSQL

// "status + 0" keeps the planner from reading all pending rows by their index
// where the rows are found by id.

// isLeasedSinceCommitSQL is true of the row d of a delivery that got none with the commit, and that
// a reader inserted when an attempt was due and not begun: it is leased to this process. It is
// still in its first round, and its lease ends 30 seconds after its event was accepted; another
// process that had claimed it since, later than a second after, would have set a later end.
const isLeasedSinceCommitSQL = `d.status + 0 = 0 and d.next_attempt_at is null
	and d.round_at = d.created_at and d.due_at < d.created_at + interval '31 seconds'`

// claimRetriesSQL returns the statement that claims rows of a table whose retry is due by the
// database's clock, also those of kept deliveries that are leased to this process. It skips rows
// that are locked or settled.
func claimRetriesSQL(table string) string {
	return `
	with picked as (
		select d.id, coalesce(d.next_attempt_at, now()) as due_at from ` + table + ` d
		join unnest($1::uuid[], $2::integer[], $3::boolean[]) r(id, attempts, is_kept) on d.id = r.id and d.attempts = r.attempts
		where d.status + 0 = 0 and (d.next_attempt_at <= now()
			or r.is_kept and ` + isLeasedSinceCommitSQL + `)
		for update of d skip locked)
	update ` + table + ` d` + leaseAndReturnSQL
}

// tableOf returns the table of a log's rows: that of their day if they are of one, since a
// statement on the parent table opens every day's. There is at least one id.
func tableOf(parent string, ids []uuid.UUID) string {
	if logid.CountSameDay(ids) < len(ids) {
		return parent
	}
	return parent + "_" + logid.Partition(ids[0])
}

// claim runs a claiming statement and reads the events of the claimed deliveries. If they cannot
// be read, the sweep releases the deliveries.
func (d *Dispatcher) claim(ctx context.Context, statement string, args ...any) ([]LeasedDelivery, error) {
	leasedAt := d.Now()
	rows, err := d.Pool.Query(ctx, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("claiming deliveries: %w", err)
	}
	deliveries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (LeasedDelivery, error) {
		delivery := LeasedDelivery{LeasedAt: leasedAt}
		var overdue time.Duration
		err := row.Scan(&delivery.ID, &delivery.TargetID, &delivery.IsIntegration, &delivery.Priority, &delivery.PriorAttempts, &delivery.CountedAttempts, &delivery.RoundAt, &overdue, &delivery.OrderingKey, &delivery.LeaseEnd)
		delivery.ReadyAt = leasedAt.Add(-max(0, overdue))
		return delivery, err
	})
	if err != nil {
		return nil, fmt.Errorf("claiming deliveries: %w", err)
	}
	slices.SortFunc(deliveries, func(a, b LeasedDelivery) int { // the rows come in no order
		return cmp.Or(a.ReadyAt.Compare(b.ReadyAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	if err := d.readEvents(ctx, deliveries); err != nil {
		d.giveBack(deliveries...)
		return nil, err
	}
	return deliveries, nil
}

// readEvents sets the deliveries' events. Deliveries of one event share it.
func (d *Dispatcher) readEvents(ctx context.Context, deliveries []LeasedDelivery) error {
	events := make(map[uuid.UUID]*Event, len(deliveries))
	seqs := make([]uuid.UUID, 0, len(deliveries))
	for _, delivery := range deliveries {
		seq := logid.Seq(delivery.ID)
		if events[seq] == nil {
			events[seq] = &Event{Seq: seq}
			seqs = append(seqs, seq)
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	rows, err := d.Pool.Query(ctx, `
		select e.seq, e.id, e.tenant_id, e.environment, e.product, e.event_type, coalesce(e.correlation_id, ''), e.body
		from `+tableOf("hub.events", seqs)+` e where e.seq = any($1::uuid[])`, seqs)
	if err != nil {
		return fmt.Errorf("reading events: %w", err)
	}
	var read Event
	_, err = pgx.ForEachRow(rows, []any{&read.Seq, &read.IDBits, &read.TenantID, &read.Environment, &read.Product, &read.Type, &read.CorrelationID, &read.Body}, func() error {
		event := events[read.Seq]
		*event = read
		event.ID, event.Body = hub.FormatEventID(uint64(read.IDBits)), append([]byte(nil), read.Body...)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading events: %w", err)
	}
	for i := range deliveries {
		deliveries[i].Event = events[logid.Seq(deliveries[i].ID)]
	}
	return d.describeMissing(ctx, deliveries)
}

// materializeExpired inserts the rows of deliveries whose leases have ended: their process
// died, or did not attempt them in time.
func (d *Dispatcher) materializeExpired(ctx context.Context) error {
	_, err := d.Pool.Exec(ctx, `
		select hub.unfold_leases(array(
			select id from hub.leases where due_at <= now() order by id limit 100 for update skip locked))`)
	if err != nil {
		return fmt.Errorf("materializing expired leases: %w", err)
	}
	return nil
}

// claimDue claims the rows of due retries, many in one statement.
func (r *RetryScheduler) claimDue(ctx context.Context) {
	for {
		var keys []waitingRetry
		select {
		case <-ctx.Done():
			return
		case key := <-r.due:
			keys = append(keys, key)
		}
		linger := time.NewTimer(claimLinger)
	fill:
		for len(keys) < maxRetriesPerClaim {
			select {
			case key := <-r.due:
				keys = append(keys, key)
			case <-linger.C:
				break fill
			}
		}
		linger.Stop()
		claiming, cancel := context.WithTimeout(ctx, claimTimeout)
		again, err := r.dispatcher.claimRetries(claiming, keys)
		cancel()
		pause := shortDelaySlot
		if err != nil && (r.dispatcher.isStopping() || ctx.Err() != nil) {
			r.addUnclaimed(keys...)
		} else if err != nil {
			r.log.Warn("claiming due retries failed; the sweep will", "error", err)
			pause = time.Second
		}
		r.tryAgain(ctx, again, pause)
	}
}

// tryAgain forwards retries once more, after a pause.
func (r *RetryScheduler) tryAgain(ctx context.Context, retries []waitingRetry, pause time.Duration) {
	if len(retries) == 0 {
		return
	}
	r.waiters.Go(func() {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		for _, retry := range retries {
			r.forward(ctx, retry)
		}
	})
}

// claimRetries claims due retries and queues them, also beyond the lanes' capacity: their
// number is bounded by the attempts that were made a moment ago. Those without a place in
// their tenant's share are left to the sweep. It returns kept ones that have to be tried again,
// since their lease is locked or cannot be read now. A stopping process claims none: they are
// due for others.
func (d *Dispatcher) claimRetries(ctx context.Context, retries []waitingRetry) (again []waitingRetry, err error) {
	if !d.beginClaim() {
		d.kept.subtractBytes(retries, nil)
		return nil, d.ReleaseLeases(ctx, keptDeliveries(retries))
	}
	defer d.endClaim()
	placed, unplaced := d.reserveRetries(retries)
	defer d.releaseRetries(placed)
	kept, again, others, err := d.takeKept(ctx, placed)
	d.kept.subtractBytes(retries, again)
	d.enqueueClaimed(kept)
	if releaseErr := d.ReleaseLeases(ctx, unplaced); releaseErr != nil {
		d.giveBack(unplaced...)
		err = errors.Join(err, releaseErr)
	}
	if len(others) > 0 {
		claimed, claimErr := d.claimRows(ctx, others)
		d.enqueueClaimed(claimed)
		d.giveBack(unclaimed(keptDeliveries(others), claimed)...)
		err = errors.Join(err, claimErr)
	}
	return again, err
}

// unclaimed returns the deliveries that are not among the claimed ones: their rows were locked,
// or could not be claimed.
func unclaimed(deliveries, claimed []LeasedDelivery) []LeasedDelivery {
	return slices.DeleteFunc(deliveries, func(delivery LeasedDelivery) bool {
		return slices.ContainsFunc(claimed, func(other LeasedDelivery) bool { return other.ID == delivery.ID })
	})
}

// claimRows claims retries of deliveries that have rows.
func (d *Dispatcher) claimRows(ctx context.Context, retries []waitingRetry) ([]LeasedDelivery, error) {
	ids, attempts, areKept := make([]uuid.UUID, len(retries)), make([]int32, len(retries)), make([]bool, len(retries))
	for i, retry := range retries {
		ids[i], attempts[i], areKept[i] = retry.id, retry.attempts, retry.kept != nil
	}
	return d.claim(ctx, claimRetriesSQL(tableOf("hub.deliveries", ids)), ids, attempts, areKept)
}

// reserveRetries takes places for retries within their tenants' shares, at paced targets also
// within those of the target. It returns those that got one, and kept deliveries that got none;
// others have rows, which the sweep finds.
func (d *Dispatcher) reserveRetries(retries []waitingRetry) (placed []waitingRetry, unplaced []LeasedDelivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, retry := range retries {
		l := d.laneOf(retry.target, retry.tenant)
		switch {
		case d.tenantPlaces(l.tenant) > 0 && (l.interval == 0 || d.freePlaces(l, hub.PriorityNormal) > 0):
			l.addReserved(hub.PriorityNormal, 1) // which it has is known once it is claimed
			d.queued++
			placed = append(placed, retry)
		case retry.kept != nil:
			unplaced = append(unplaced, *retry.kept)
		}
	}
	return placed, unplaced
}

// releaseRetries frees the places of retries.
func (d *Dispatcher) releaseRetries(retries []waitingRetry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, retry := range retries {
		d.release(d.laneOf(retry.target, retry.tenant), hub.PriorityNormal, 1)
	}
}

// enqueueClaimed queues claimed deliveries that have no reserved place.
func (d *Dispatcher) enqueueClaimed(deliveries []LeasedDelivery) {
	d.mu.Lock()
	for _, delivery := range deliveries {
		d.laneOf(delivery.TargetID, delivery.Event.TenantID).addReserved(delivery.Priority, 1)
		d.queued++
	}
	d.mu.Unlock()
	d.Dispatch(deliveries, nil)
}
