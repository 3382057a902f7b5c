// Package jobs keeps the delivery log in shape and sends deliveries again: partitions
// and retention, rollups of the statistics, draining of parked deliveries, replays and
// single retries. It imports packages query and ledger.
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/internal/logid"
)

const (
	foldEvery      = 5 * time.Second
	tidyEvery      = 10 * time.Minute
	daysAhead      = 7
	parkFor        = 15 * 24 * time.Hour  // then a parked delivery has failed
	idsFor         = 45 * 24 * time.Hour  // how long ids and idempotency keys are kept, at least as long as events
	minutesFor     = 35 * 24 * time.Hour  // how long statistics are kept by minutes,
	statisticsFor  = 400 * 24 * time.Hour // and by half hours
	deleteBatch    = 5000
	failBatch      = 5000 // deliveries given up in one statement
	partitionsLock = 7240913
)

// Maintenance keeps the log in shape: partitions ahead of time, old ones dropped,
// statistics folded, what was parked too long failed.
type Maintenance struct {
	pool      *pgxpool.Pool
	log       *slog.Logger
	now       func() time.Time
	retention time.Duration
	gaveUp    OnGivenUp
}

// OnGivenUp is told how many deliveries of a product failed because they were parked
// for too long.
type OnGivenUp func(product string, deliveries int)

// NewMaintenance returns the maintenance job; retention is how long payloads,
// deliveries and attempts are kept.
func NewMaintenance(pool *pgxpool.Pool, log *slog.Logger, now func() time.Time, retention time.Duration, gaveUp OnGivenUp) *Maintenance {
	return &Maintenance{pool: pool, log: log, now: now, retention: retention, gaveUp: gaveUp}
}

// Run works until ctx ends. Every process may run it: what must not run twice at
// once takes a lock.
func (m *Maintenance) Run(ctx context.Context) {
	fold, tidy := time.NewTicker(foldEvery), time.NewTicker(tidyEvery)
	defer fold.Stop()
	defer tidy.Stop()
	m.report(ctx, m.EnforceRetention(ctx))
	for {
		select {
		case <-ctx.Done():
			return
		case <-fold.C:
			m.report(ctx, m.RollUp(ctx))
		case <-tidy.C:
			m.report(ctx, m.EnforceRetention(ctx))
		}
	}
}

func (m *Maintenance) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		m.log.Warn("maintenance failed; trying again later", "error", err)
	}
}

// RollUp folds all deltas of the statistics there are now.
func (m *Maintenance) RollUp(ctx context.Context) error {
	for {
		more, err := m.foldOnce(ctx)
		if err != nil || !more {
			return err
		}
	}
}

// EnforceRetention does what is due: it may be called at any time and any number of times.
func (m *Maintenance) EnforceRetention(ctx context.Context) error {
	now := m.now().UTC()
	if _, err := m.pool.Exec(ctx, `select hub.ensure_partitions($1::date - 1, $2)`, now, daysAhead+2); err != nil {
		return fmt.Errorf("making partitions: %w", err)
	}
	if err := m.dropPartitions(ctx, now.Add(-m.retention)); err != nil {
		return err
	}
	if err := m.failParked(ctx); err != nil {
		return err
	}
	for _, statement := range []struct {
		sql    string
		before time.Time
	}{
		{`delete from hub.idempotency where ctid = any(array(select ctid from hub.idempotency where created_at < $1 limit $2))`, now.Add(-max(idsFor, m.retention))},
		{`delete from hub.statistics where ctid = any(array(select ctid from hub.statistics where width = 1 and bucket < $1 limit $2))`, now.Add(-minutesFor)},
		{`delete from hub.statistics where ctid = any(array(select ctid from hub.statistics where width = 30 and bucket < $1 limit $2))`, now.Add(-statisticsFor)},
		{`delete from hub.refresh_tokens where ctid = any(array(select ctid from hub.refresh_tokens where expires_at < $1 limit $2))`, now},
		{`delete from hub.login_failures where ctid = any(array(select ctid from hub.login_failures where at < $1 limit $2))`, now.Add(-time.Hour)},
	} {
		if err := m.deleteOld(ctx, statement.sql, statement.before); err != nil {
			return err
		}
	}
	return nil
}

func (m *Maintenance) deleteOld(ctx context.Context, sql string, before time.Time) error {
	for {
		tag, err := m.pool.Exec(ctx, sql, before, deleteBatch)
		if err != nil {
			return fmt.Errorf("deleting old rows: %w", err)
		}
		if tag.RowsAffected() < deleteBatch {
			return nil
		}
	}
}

// failParked ends the wait of deliveries that were parked for too long, oldest
// first: a whole backlog at once might not end in a statement's time.
func (m *Maintenance) failParked(ctx context.Context) error {
	for before := m.now().Add(-parkFor); ; {
		n, err := m.failSomeParked(ctx, before)
		if err != nil {
			return fmt.Errorf("failing what was parked too long: %w", err)
		}
		if n < failBatch {
			return nil
		}
	}
}

// failSomeParked fails the oldest deliveries that were parked before a moment, about
// failBatch of them, and returns how many.
func (m *Maintenance) failSomeParked(ctx context.Context, before time.Time) (n int, err error) {
	rows, err := m.pool.Query(ctx, `
		with moved as (
			update hub.deliveries set status = 3, reason = 'parked_too_long', finished_at = now()
			where status = 2 and finished_at < $1 and id < $2 and id <= coalesce((
				select id from hub.deliveries where status = 2 and finished_at < $1 and id < $2 order by id offset $3 - 1 limit 1), $2)
			returning tenant_id, target_id, product),
		counted as (
			insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, failed)
			select date_trunc('minute', now()), tenant_id, target_id, product, count(*) from moved group by 2, 3, 4
			returning product, failed)
		select product, sum(failed)::integer from counted group by product`, before, logid.Floor(before), failBatch)
	if err != nil {
		return 0, err
	}
	var product string
	var failed int
	counts := make(map[string]int)
	if _, err = pgx.ForEachRow(rows, []any{&product, &failed}, func() error {
		counts[product] = failed
		return nil
	}); err != nil {
		return 0, err
	}
	for product, failed := range counts { // committed now
		n += failed
		m.gaveUp(product, failed)
	}
	if n > 0 {
		m.log.Warn("deliveries failed: they were parked for too long", "deliveries", n)
	}
	return n, nil
}

// dropPartitions drops the days that lie wholly before the moment. A day with
// deliveries that still wait is kept until they are settled.
func (m *Maintenance) dropPartitions(ctx context.Context, before time.Time) error {
	rows, err := m.pool.Query(ctx, `
		select right(c.relname, 8) from pg_inherits i join pg_class c on c.oid = i.inhrelid
		where i.inhparent = 'hub.deliveries'::regclass and right(c.relname, 8) < $1 order by 1`, before.Format("20060102"))
	if err != nil {
		return fmt.Errorf("listing partitions: %w", err)
	}
	days, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("listing partitions: %w", err)
	}
	for _, day := range days {
		if err := m.dropDay(ctx, day); err != nil {
			return err
		}
	}
	return nil
}

// dropDay drops one day's partitions, giving way to whoever uses the tables. What
// is parked waits too: it may still be asked for, and ends as failed in its time.
func (m *Maintenance) dropDay(ctx context.Context, day string) error {
	return pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		var mine, waiting bool
		if err := tx.QueryRow(ctx, `select pg_try_advisory_xact_lock($1)`, partitionsLock).Scan(&mine); err != nil || !mine {
			return err
		}
		// The lock keeps a replay from putting a row back between the look and the drop.
		if _, err := tx.Exec(ctx, `set local lock_timeout = '2s'; lock table hub.deliveries_p`+day+` in share row exclusive mode`); err != nil {
			return fmt.Errorf("dropping the partitions of %s: %w", day, err)
		}
		if err := tx.QueryRow(ctx, `select exists (select from hub.deliveries_p`+day+` where status in (0, 2))
			or exists (select from hub.leases where id < hub.day_floor($1::date + 1))`, day).Scan(&waiting); err != nil || waiting {
			return err
		}
		_, err := tx.Exec(ctx, `drop table hub.attempts_p`+day+`, hub.deliveries_p`+day+`, hub.events_p`+day)
		if err != nil {
			return fmt.Errorf("dropping the partitions of %s: %w", day, err)
		}
		m.log.Info("dropped a day of the log whose retention ended", "day", day)
		return nil
	})
}
