package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
)

const (
	sweepInterval = time.Second
	releaseMargin = 5 * time.Second // a lease with less time left is not released but runs out
)

// A scan of all due rows costs what is due, which is little or nothing until a backlog
// forms. Then most scans read only what came due since the last one, and scans of
// everything take at most 1/scanShare of the time.
const (
	scanShare       = 50
	maxScanInterval = time.Minute
	sweepTimeout    = 2 * time.Minute // a scan of a large backlog is slow; a cut connection does not stop the sweep for longer
	scanOverlap     = 5 * time.Second // rows of transactions that took as long to commit are found
)

// scanDueSQL begins the statements that select the targets of due rows, and the
// database's time. The index deliveries_due_at finds the rows, so those that are not due
// cost nothing. It has the expression instead of the column so that nothing else uses it.
const scanDueSQL = `
	select now(), due.tenant_id, due.target_id, due.priority
	from (values (1)) always left join (
		select distinct tenant_id, target_id, priority from hub.deliveries
		where case when status = 0 then due_at end <= now()`

// Where nothing is known of a partition, the planner assumes that a range with two bounds
// has few rows, and that one with one bound has many.
const (
	dueTargetsSQL      = scanDueSQL + ` and case when status = 0 then due_at end > '-infinity') due on true`
	newlyDueTargetsSQL = scanDueSQL + ` and case when status = 0 then due_at end > $1) due on true`
)

// dueScan remembers how far the scans for due rows have come.
type dueScan struct {
	upTo       time.Time // rows due until then have been seen; database clock
	completeAt time.Time // the next scan of everything; local clock
}

// since returns the moment after which the next scan looks for due rows: the beginning of
// time for a scan of everything.
func (s *dueScan) since(now time.Time) time.Time {
	if s.upTo.IsZero() || !now.Before(s.completeAt) {
		return time.Time{}
	}
	return s.upTo.Add(-scanOverlap)
}

// done notes a scan that began at a local time and took a while. A database clock that
// went back makes the next scan read everything.
func (s *dueScan) done(since, began time.Time, took time.Duration, databaseNow time.Time) {
	if since.IsZero() {
		s.completeAt = began.Add(min(scanShare*took, maxScanInterval))
	}
	if databaseNow.Before(s.upTo) {
		databaseNow = time.Time{}
	}
	s.upTo = databaseNow
}

// failed notes a scan that failed at a local time. After a scan of everything the next ones read
// what came due since the last that succeeded: the targets of a backlog that is too large to scan
// are known from then, and others do not wait for it.
func (s *dueScan) failed(now time.Time) {
	if !s.upTo.IsZero() {
		s.completeAt = now.Add(maxScanInterval)
	}
}

// Sweep claims due rows for this process's lanes until ctx ends: rows that had no place
// when they were committed, whose process died, or whose retry Redis lost. Tenants and
// their targets get them in turn, so a long backlog of one delays no other. When the
// database was away for longer than leases last, what was attempted here is stored first:
// it is not due.
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
		case <-d.claimSignal:
			d.Attempts.AwaitStored(ctx)
			err = d.claimRound(ctx)
		case <-tick.C:
			d.Attempts.AwaitStored(ctx)
			err = d.sweepAll(ctx)
		}
		if err != nil && !failing && ctx.Err() == nil {
			d.Logger.Warn("sweeping due deliveries failed; trying again", "error", err)
		}
		failing = err != nil
		if err == nil {
			d.sweptAt.Store(time.Now().UnixNano())
		}
	}
}

// SinceSweep returns how long ago the sweep last succeeded in this process, and whether it
// has yet.
func (d *Dispatcher) SinceSweep() (since time.Duration, swept bool) {
	at := d.sweptAt.Load()
	return time.Since(time.Unix(0, at)), at != 0
}

// sweepAll finds the targets with due rows and queues claims for them.
func (d *Dispatcher) sweepAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	err := errors.Join(d.releaseExpired(ctx), d.materializeExpired(ctx), d.findDue(ctx)) // each goes on without the others
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.lanes {
		if d.mayClaim(l) {
			d.queueClaim(l)
		}
	}
	return err
}

// findDue marks the lanes of targets with due rows.
func (d *Dispatcher) findDue(ctx context.Context) (err error) {
	began := d.Now()
	defer func() {
		if err != nil {
			d.dueScan.failed(d.Now())
		}
	}()
	since := d.dueScan.since(began)
	statement, args := dueTargetsSQL, []any(nil)
	if !since.IsZero() {
		statement, args = newlyDueTargetsSQL, []any{since}
	}
	rows, err := d.Pool.Query(ctx, statement, args...)
	if err != nil {
		return fmt.Errorf("finding targets with due deliveries: %w", err)
	}
	type dueTarget struct {
		tenant, target uuid.UUID
		priority       hub.Priority
	}
	var due []dueTarget
	var databaseNow time.Time
	var tenant, target *uuid.UUID
	var priority *hub.Priority
	_, err = pgx.ForEachRow(rows, []any{&databaseNow, &tenant, &target, &priority}, func() error {
		if target != nil {
			due = append(due, dueTarget{*tenant, *target, *priority})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("finding targets with due deliveries: %w", err)
	}
	d.dueScan.done(since, began, d.Now().Sub(began), databaseNow)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, found := range due {
		d.laneOf(found.target, found.tenant).backlog |= setOf(found.priority)
	}
	return nil
}
