package maintain

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// dropPartitions drops the days that end before a time. A day with pending or parked
// deliveries is kept.
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

// dropDay drops one day's partitions unless deliveries are pending or parked, or another
// process works on it. Parked deliveries may still be requeued; failParked ends them.
func (m *Maintenance) dropDay(ctx context.Context, day string) error {
	return pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		var hasLock, waiting bool
		if err := tx.QueryRow(ctx, `select pg_try_advisory_xact_lock($1)`, partitionsLock).Scan(&hasLock); err != nil || !hasLock {
			return err
		}
		// The lock keeps a replay from requeueing a row between the check and the drop.
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
