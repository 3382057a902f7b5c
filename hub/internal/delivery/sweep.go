package delivery

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	sweepInterval = time.Second
	claimBatch    = 512             // rows taken from the database at once, one target
	releaseMargin = 5 * time.Second // of a lease, in which it may be given back safely
)

// dueTargetsSQL finds the targets that have due rows without reading the rows of
// one target more than once: it hops along the index from target to target.
const dueTargetsSQL = `
	with recursive t (target_id) as (
		(select target_id from hub.deliveries where status = 0 order by target_id limit 1)
		union all
		select (select d.target_id from hub.deliveries d
		        where d.status = 0 and d.target_id > t.target_id order by d.target_id limit 1)
		from t where t.target_id is not null)
	select t.target_id from t
	where t.target_id is not null and exists (
		select from hub.deliveries d where d.status = 0 and d.target_id = t.target_id and d.due_at <= now())`

// Sweep brings due rows from the database to the queue until ctx ends: rows that
// found no place when they were committed, whose process died, or whose retry
// Redis lost. Every target gets its share, so a long backlog of one delays
// nobody else.
func (d *Dispatcher) Sweep(ctx context.Context) {
	tick, tidy := time.NewTicker(sweepInterval), time.NewTicker(idleLaneInterval)
	defer tick.Stop()
	defer tidy.Stop()
	failing := false
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-tidy.C:
			d.dropIdleLanes()
			continue
		case target := <-d.wakeups:
			err = d.claimForLane(ctx, target)
		case <-tick.C:
			err = d.sweepAll(ctx)
		}
		if err != nil && !failing && ctx.Err() == nil {
			d.Logger.Warn("sweeping due deliveries failed; trying again", "error", err)
		}
		failing = err != nil
	}
}

func (d *Dispatcher) sweepAll(ctx context.Context) error {
	if err := d.releaseExpired(ctx); err != nil {
		return err
	}
	if err := d.materializeExpired(ctx); err != nil {
		return err
	}
	rows, err := d.Pool.Query(ctx, dueTargetsSQL)
	if err != nil {
		return fmt.Errorf("finding targets with due deliveries: %w", err)
	}
	due, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return fmt.Errorf("finding targets with due deliveries: %w", err)
	}
	for _, target := range due {
		if err := d.claimForLane(ctx, target); err != nil {
			return err
		}
	}
	return nil
}

// claimForLane takes as many of a target's due rows as its lane has room for.
func (d *Dispatcher) claimForLane(ctx context.Context, target uuid.UUID) error {
	if !d.beginClaim() {
		return nil
	}
	defer d.endClaim()
	room := d.reserveUpTo(target, claimBatch, d.paceOf(ctx, target))
	if room == 0 { // asked again when the lane moves on, or by the next sweep
		d.setBacklog(target)
		return nil
	}
	jobs, err := d.claim(ctx, claimTargetSQL, target, room)
	for range room - len(jobs) {
		d.Release(target)
	}
	if err != nil {
		for range jobs { // claimed but unreadable: their leases end by themselves
			d.Release(target)
		}
		return err
	}
	if len(jobs) == room { // there may be more
		d.setBacklog(target)
	}
	d.Dispatch(jobs, nil)
	return nil
}

// paceOf is the pace of a target whose kind is not known. One that cannot be read now
// is not paced here: its deliveries wait for the configuration, not for their turn.
func (d *Dispatcher) paceOf(ctx context.Context, target uuid.UUID) time.Duration {
	for _, integration := range []bool{false, true} {
		found, err := d.Directory.Target(ctx, target, integration)
		if err == nil && found != nil {
			return paceInterval(found)
		}
	}
	return 0
}

// setBacklog notes that rows of a target wait in the database.
func (d *Dispatcher) setBacklog(target uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.laneOf(target).backlog = true
}

// releaseExpired gives back what could not start while its lease was young, as when other
// processes had most of a paced target's turns: nobody has to wait for the lease's end.
func (d *Dispatcher) releaseExpired(ctx context.Context) error {
	d.mu.Lock()
	late := d.stillLeased(d.expired)
	d.expired = nil
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, releaseMargin)
	defer cancel()
	return d.ReleaseLeases(ctx, late)
}

// stillLeased returns the jobs whose leases are this process's for a while yet.
func (d *Dispatcher) stillLeased(jobs []LeasedDelivery) []LeasedDelivery {
	var list []LeasedDelivery
	for _, job := range jobs {
		if d.Now().Sub(job.LeasedAt) < LeaseDuration-releaseMargin {
			list = append(list, job)
		}
	}
	return list
}

// ReleaseLeases returns the leases of deliveries that will not be attempted here.
func (d *Dispatcher) ReleaseLeases(ctx context.Context, jobs []LeasedDelivery) error {
	if len(jobs) == 0 {
		return nil
	}
	return d.makeDue(ctx, jobs)
}
