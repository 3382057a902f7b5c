package maintain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// dropPartitions drops the days that end before a time. Of a day with pending or parked
// deliveries these are kept, and so is the event of an erasure that needs it.
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
	m.thinUntil = time.Now().Add(longestThin)
	var failures []error
	for _, day := range days { // one that fails keeps no other
		failures = append(failures, m.dropDay(ctx, day))
	}
	return errors.Join(failures...)
}

// dropDay drops one day's partitions, unless another process works on it. Of a day with
// pending or parked deliveries these stay, until they are delivered or failParked ends them.
// A deletion event stays until what is about the person is erased.
func (m *Maintenance) dropDay(ctx context.Context, day string) error {
	mustThin := false
	err := pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		var hasLock, isLeased bool
		if err := tx.QueryRow(ctx, `select pg_try_advisory_xact_lock($1)`, partitionsLock).Scan(&hasLock); err != nil || !hasLock {
			return err
		}
		err := tx.QueryRow(ctx, `select exists (select from hub.leases where id < hub.day_floor($1::date + 1))`, day).Scan(&isLeased)
		if err != nil || isLeased {
			return err
		}
		waits, err := hasWaiting(ctx, tx, day)
		if err != nil {
			return err
		}
		if waits {
			mustThin, err = m.compactIfWorth(ctx, tx, day)
			return err
		}
		// The lock keeps a replay from requeueing a row between the check and the drop.
		if _, err := tx.Exec(ctx, `set local lock_timeout = '2s'; lock table hub.deliveries_p`+day+` in share row exclusive mode`); err != nil {
			return fmt.Errorf("dropping the partitions of %s: %w", day, err)
		}
		if waits, err := hasWaiting(ctx, tx, day); err != nil || waits {
			return err
		}
		_, err = tx.Exec(ctx, `drop table hub.attempts_p`+day+`, hub.deliveries_p`+day+`, hub.events_p`+day)
		if err == nil {
			_, err = tx.Exec(ctx, `delete from hub.compacted_days where day = to_date($1, 'YYYYMMDD')`, day)
		}
		if err != nil {
			return fmt.Errorf("dropping the partitions of %s: %w", day, err)
		}
		m.log.Info("dropped a day of the log whose retention ended", "day", day)
		return nil
	})
	if mustThin && (err == nil || errors.Is(err, errLockedTooLong)) {
		return m.thinDay(ctx, day)
	}
	return err
}

// hasWaiting reports whether deliveries of a day are pending or parked, or an erasure needs an
// event of it. Each status has an index; both in one condition would read the day. From then on
// the transaction reads no whole table where there is an index.
func hasWaiting(ctx context.Context, tx pgx.Tx, day string) (waits bool, err error) {
	if _, err := tx.Exec(ctx, `set local enable_seqscan = off`); err != nil {
		return false, fmt.Errorf("looking for what waits of %s: %w", day, err)
	}
	err = tx.QueryRow(ctx, `
		select exists (select from hub.deliveries_p`+day+` where status = 0) or exists (select from hub.deliveries_p`+day+` where status = 2)
			or exists (select from hub.erasures where erased_at is null and finished_at is null and not whole_tenant
				and seq >= hub.day_floor($1::date) and seq < hub.day_floor($1::date + 1))`, day).Scan(&waits)
	if err != nil {
		return false, fmt.Errorf("looking for what waits of %s: %w", day, err)
	}
	return waits, nil
}
