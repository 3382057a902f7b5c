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
	releaseMargin = 5 * time.Second // a lease with less time left is not released but runs out
)

// dueTargetsSQL selects the targets that have due rows. It hops along the index from target to
// target, so it does not read every row.
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

// Sweep claims due rows for this process's lanes until ctx ends: rows that had no place
// when they were committed, whose process died, or whose retry Redis lost. Every target
// gets its share, so a long backlog of one delays no other.
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

// claimForLane claims as many of a target's due rows as its lane has capacity for.
func (d *Dispatcher) claimForLane(ctx context.Context, target uuid.UUID) error {
	if !d.beginClaim() {
		return nil
	}
	defer d.endClaim()
	places := d.reserveUpTo(target, claimBatch, d.paceOf(ctx, target))
	if places == 0 { // claimed when the lane moves on, or by the next sweep
		d.setBacklog(target)
		return nil
	}
	deliveries, err := d.claim(ctx, claimTargetSQL, target, places)
	for range places - len(deliveries) {
		d.Release(target)
	}
	if err != nil {
		for range deliveries { // claimed but unreadable: their leases end by themselves
			d.Release(target)
		}
		return err
	}
	if len(deliveries) == places { // there may be more
		d.setBacklog(target)
	}
	d.Dispatch(deliveries, nil)
	return nil
}

// paceOf returns the pace of a target, endpoint or integration; 0 if it is not paced or
// cannot be read now: its deliveries then wait for the configuration, not for a turn.
func (d *Dispatcher) paceOf(ctx context.Context, target uuid.UUID) time.Duration {
	for _, isIntegration := range []bool{false, true} {
		receiver, err := d.Directory.Target(ctx, target, isIntegration)
		if err == nil && receiver != nil {
			return paceInterval(receiver)
		}
	}
	return 0
}
