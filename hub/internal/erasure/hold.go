package erasure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/logid"
)

// HoldUntilSQL is the SQL expression of when the deliveries of a deletion event are due, in the
// transaction that stores the event. No hold lasts as long: the eraser makes them due. The
// time also marks those that are held still. The migration of hub.deletion_due_at has it too.
const HoldUntilSQL = `now() + ` + holdIntervalSQL

const (
	holdIntervalSQL = `interval '1 hour'`
	longestHoldSQL  = `interval '2 minutes'` // since a process began to look for what waits
	holdPoll        = 250 * time.Millisecond // while deletion events are held
	holdsAtOnce     = 1000                   // that are looked at in one transaction
)

// runHolds looks for what waits about persons whose deletion was accepted, and sends the
// deletion events once nothing of it is left, until ctx ends.
func (e *Eraser) runHolds(ctx context.Context) {
	timer := time.NewTimer(0) // a process that died may have left some
	defer timer.Stop()
	isFailing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		case <-timer.C:
		}
		isHolding, err := e.workOnHolds(ctx)
		if err != nil && !isFailing && ctx.Err() == nil {
			e.log.Warn("looking for what waits about deleted persons failed; trying again", "error", err)
		}
		isFailing = err != nil
		if isFailing {
			timer.Reset(pollInterval)
		} else if isHolding {
			timer.Reset(holdPoll)
		}
	}
}

// workOnHolds erases what waits about the persons of new erasures and ends the holds of those for
// which nothing is under way. It reports whether deletion events are held still.
func (e *Eraser) workOnHolds(ctx context.Context) (isHolding bool, err error) {
	var eraseErr error
	for more := true; more && eraseErr == nil && ctx.Err() == nil; {
		if more, eraseErr = e.eraseNextWaiting(ctx); more && eraseErr == nil {
			if _, err := e.endHolds(ctx); err != nil {
				return true, err
			}
		}
	}
	isHolding, err = e.endHolds(ctx)
	if err != nil {
		return true, err
	}
	err = e.failQueued(ctx)
	if eraseErr != nil {
		err = eraseErr
	}
	return isHolding, err
}

// failQueued fails what waits in this process about persons whose data is being erased.
func (e *Eraser) failQueued(ctx context.Context) error {
	rows, err := e.pool.Query(ctx, `select distinct unnest(held) from hub.erasures where not whole_tenant and screened_at is not null and finished_at is null`)
	if err != nil {
		return fmt.Errorf("reading what was erased: %w", err)
	}
	seqs, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return fmt.Errorf("reading what was erased: %w", err)
	}
	if len(seqs) > 0 {
		e.queue.FailErased(seqs)
	}
	return nil
}

// busyReceivers names the receivers at which deliveries about a person are under way.
type busyReceivers map[eventAtTarget]bool

// eventAtTarget is a deletion event at one of its receivers.
type eventAtTarget struct{ seq, target uuid.UUID }

// endHolds makes deletion events due at the receivers where nothing about the person is under
// way any more, or that were held for too long. It reports whether some are held still.
func (e *Eraser) endHolds(ctx context.Context) (isHolding bool, err error) {
	var d stepResult
	err = pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		searched, overdue, err := lockHolds(ctx, tx)
		if err != nil || len(searched)+len(overdue) == 0 {
			return err
		}
		busy, waiting, err := listBusyReceivers(ctx, tx, searched)
		if err != nil {
			return err
		}
		if len(waiting) > 0 { // as after an attempt that failed, or a lease that ended
			if d, err = failNoLongerLeased(ctx, tx, waiting); err != nil {
				return err
			}
			if busy, _, err = listBusyReceivers(ctx, tx, searched); err != nil {
				return err
			}
		}
		return releaseHeld(ctx, tx, append(searched, overdue...), busy)
	})
	if err != nil {
		return false, err
	}
	e.recordErased(d)
	err = e.pool.QueryRow(ctx, `select exists (select from hub.erasures where hold_ended_at is null and not whole_tenant and finished_at is null)`).Scan(&isHolding)
	if err != nil {
		return false, fmt.Errorf("reading erasures: %w", err)
	}
	return isHolding, nil
}

// lockHolds locks the erasures whose deletion events are held and may be sent: what waited was
// looked for, or the hold is overdue.
func lockHolds(ctx context.Context, tx pgx.Tx) (searched, overdue []uuid.UUID, err error) {
	rows, err := tx.Query(ctx, `
		select seq, screening_since < now() - `+longestHoldSQL+` from hub.erasures
		where hold_ended_at is null and not whole_tenant and finished_at is null and (screened_at is not null or screening_since < now() - `+longestHoldSQL+`)
		order by requested_at limit $1 for update skip locked`, holdsAtOnce)
	if err != nil {
		return nil, nil, fmt.Errorf("reading what is held: %w", err)
	}
	var seq uuid.UUID
	var isOverdue *bool
	if _, err = pgx.ForEachRow(rows, []any{&seq, &isOverdue}, func() error {
		if isOverdue != nil && *isOverdue {
			overdue = append(overdue, seq)
		} else {
			searched = append(searched, seq)
		}
		return nil
	}); err != nil {
		return nil, nil, fmt.Errorf("reading what is held: %w", err)
	}
	return searched, overdue, nil
}

// waitingDelivery is a delivery of an erased event that no process has leased.
type waitingDelivery struct{ erasure, id uuid.UUID }

// listBusyReceivers returns at which receivers deliveries of erased events are not settled, and
// those of them that no process has leased.
func listBusyReceivers(ctx context.Context, tx pgx.Tx, seqs []uuid.UUID) (busy busyReceivers, waiting []waitingDelivery, err error) {
	rows, err := tx.Query(ctx, `
		select e.seq, d.id, d.target_id, d.waits from hub.erasures e, unnest(e.held) h(seq), lateral (
			select d.id, d.target_id, d.status = 2 or `+ledger.UnleasedSQL+` as waits from hub.deliveries d
			where d.id > h.seq and d.id <= (overlay(h.seq::text placing 'ffff' from 33))::uuid and d.status + 0 in (0, 2) and not d.inbound offset 0) d
		where e.seq = any($1)`, seqs)
	if err != nil {
		return nil, nil, fmt.Errorf("reading what is under way: %w", err)
	}
	busy = make(busyReceivers)
	var erasure, id, target uuid.UUID
	var waits bool
	if _, err = pgx.ForEachRow(rows, []any{&erasure, &id, &target, &waits}, func() error {
		busy[eventAtTarget{erasure, target}] = true
		if waits {
			waiting = append(waiting, waitingDelivery{erasure, id})
		}
		return nil
	}); err != nil {
		return nil, nil, fmt.Errorf("reading what is under way: %w", err)
	}
	return busy, waiting, nil
}

// failNoLongerLeased fails deliveries of erased events that were leased when the events were
// erased and wait now.
func failNoLongerLeased(ctx context.Context, tx pgx.Tx, waiting []waitingDelivery) (d stepResult, err error) {
	type part struct {
		erasure uuid.UUID
		day     string
	}
	parts := make(map[part][]uuid.UUID)
	for _, w := range waiting {
		p := part{w.erasure, logid.Partition(w.id)}
		parts[p] = append(parts[p], w.id)
	}
	for p, ids := range parts {
		failed, err := failWaiting(ctx, tx, p.day, ids)
		if err != nil {
			return d, err
		}
		if _, err := tx.Exec(ctx, `update hub.erasures set failed = failed + $2 where seq = $1`, p.erasure, len(failed)); err != nil {
			return d, fmt.Errorf("recording what failed: %w", err)
		}
		d.failed = append(d.failed, failed...)
	}
	return d, nil
}

// deletionDelivery is a delivery of a deletion event that is not settled.
type deletionDelivery struct {
	eventAtTarget
	id        uuid.UUID
	isHeld    bool
	isOrdered bool
}

// releaseHeld makes the deliveries of deletion events due that are held, but for those to receivers
// at which something is under way. Holds of events that have none of those end.
func releaseHeld(ctx context.Context, tx pgx.Tx, seqs []uuid.UUID, busy busyReceivers) error {
	deliveries, err := listDeletionDeliveries(ctx, tx, seqs)
	if err != nil {
		return err
	}
	var ordered []uuid.UUID
	for _, delivery := range deliveries {
		if delivery.isOrdered {
			ordered = append(ordered, delivery.id)
		}
	}
	if len(ordered) > 0 { // who makes them due meanwhile takes them for held
		if err := ledger.LockOrders(ctx, tx, "hub.deliveries", ordered); err != nil {
			return err
		}
		if deliveries, err = listDeletionDeliveries(ctx, tx, seqs); err != nil {
			return err
		}
	}
	isWaiting := make(map[uuid.UUID]bool)
	var due []uuid.UUID
	for _, delivery := range deliveries {
		switch {
		case busy[delivery.eventAtTarget]:
			isWaiting[delivery.seq] = true
		case delivery.isHeld:
			due = append(due, delivery.id)
		}
	}
	if len(due) > 0 {
		_, err := tx.Exec(ctx, `
			with due as (
				update hub.deliveries set due_at = now(), round_at = now() where id = any($1) and status + 0 = 0 returning target_id)
			select pg_notify($2, target_id::text || $3) from (select distinct target_id from due) d`, due, delivery.DueChannel, " "+hub.PriorityHigh.String())
		if err != nil {
			return fmt.Errorf("sending deletion events: %w", err)
		}
	}
	ended := slices.DeleteFunc(slices.Clone(seqs), func(seq uuid.UUID) bool { return isWaiting[seq] })
	_, err = tx.Exec(ctx, `update hub.erasures set screened_at = coalesce(screened_at, now()), hold_ended_at = now() where seq = any($1)`, ended)
	if err != nil {
		return fmt.Errorf("ending the holds of deletion events: %w", err)
	}
	return nil
}

// listDeletionDeliveries returns the deliveries of deletion events that are not settled.
func listDeletionDeliveries(ctx context.Context, tx pgx.Tx, seqs []uuid.UUID) ([]deletionDelivery, error) {
	rows, err := tx.Query(ctx, `
		select e.seq, d.target_id, d.id, d.due_at = e.requested_at + `+holdIntervalSQL+`, d.ordering_key is not null from hub.erasures e, lateral (
			select d.id, d.target_id, d.due_at, d.ordering_key from hub.deliveries d
			where d.id > e.seq and d.id <= (overlay(e.seq::text placing 'ffff' from 33))::uuid and d.status + 0 = 0 and not d.inbound offset 0) d
		where e.seq = any($1)`, seqs)
	if err != nil {
		return nil, fmt.Errorf("reading deletion events: %w", err)
	}
	deliveries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d deletionDelivery, err error) {
		return d, row.Scan(&d.seq, &d.target, &d.id, &d.isHeld, &d.isOrdered)
	})
	if err != nil {
		return nil, fmt.Errorf("reading deletion events: %w", err)
	}
	return deliveries, nil
}

// releaseOthers sends the deletion events of a deleted tenant that are held: what is left to be
// done of their erasures is done by that of the tenant.
func (j *job) releaseOthers(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select seq from hub.erasures where tenant_id = $1 and environment = $2 and hold_ended_at is null and not whole_tenant and finished_at is null for update`,
		j.tenant, j.environment)
	if err != nil {
		return fmt.Errorf("reading what is held: %w", err)
	}
	seqs, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return fmt.Errorf("reading what is held: %w", err)
	}
	if len(seqs) == 0 {
		return nil
	}
	return releaseHeld(ctx, tx, seqs, nil)
}
