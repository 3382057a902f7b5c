package maintain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"integrationhub/hub/internal/audit"
)

// EnforceRetention creates partitions, drops and deletes what is older than its retention,
// and fails what was parked for too long. It may be called at any time. Refresh tokens and
// what is kept about logins, which have no package with jobs, are deleted here too. A part
// that fails keeps no other: days are dropped last, since what is parked holds them.
func (m *Maintenance) EnforceRetention(ctx context.Context) error {
	failures := []error{m.ensurePartitions(ctx)}
	now, err := m.ageingClock(ctx)
	if err != nil {
		return errors.Join(append(failures, err)...)
	}
	failures = append(failures, m.failParked(ctx, now), m.abandonUnused(ctx, now))
	for _, statement := range []struct {
		sql    string
		before time.Time
	}{
		{`delete from hub.idempotency where ctid = any(array(select ctid from hub.idempotency where created_at < $1 limit $2))`, now.Add(-max(idRetention, m.retention))},
		{`delete from hub.statistics where ctid = any(array(select ctid from hub.statistics where width = 1 and bucket < $1 limit $2))`, now.Add(-fineRetention)},
		{`delete from hub.statistics where ctid = any(array(select ctid from hub.statistics where width = 30 and bucket < $1 limit $2))`, now.Add(-coarseRetention)},
		{`delete from hub.ordering_keys where waiting = 0 and ctid = any(array(select ctid from hub.ordering_keys where waiting = 0 and used_at < $1 limit $2 for update skip locked))`, now.Add(-orderingKeyRetention)},
		{`delete from hub.refresh_tokens where ctid = any(array(select ctid from hub.refresh_tokens where expires_at < $1 limit $2))`, now},
		{`delete from hub.login_failures where ctid = any(array(select ctid from hub.login_failures where at < $1 limit $2))`, now.Add(-time.Hour)},
		{`delete from hub.known_logins where ctid = any(array(select ctid from hub.known_logins where at < $1 limit $2))`, now.Add(-knownLoginRetention)},
		// A filter may name persons.
		{`delete from hub.replays where ctid = any(array(select r.ctid from hub.replays r where r.status <> 'running' and coalesce(r.finished_at, r.created_at) < $1
			and not exists (select from hub.replay_deliveries d where d.replay_id = r.id) limit $2))`, now.Add(-m.retention)},
		{`delete from hub.erasure_traces where ctid = any(array(select t.ctid from hub.erasure_traces t where t.created_at < $1
			and not exists (select from hub.erasures e where e.finished_at is null and e.tenant_id = t.tenant_id and e.environment = t.environment) limit $2))`, now.Add(-traceRetention)},
	} {
		failures = append(failures, m.deleteOld(ctx, statement.sql, statement.before))
	}
	return errors.Join(append(failures, m.dropAuditPartitions(ctx, now), m.dropPartitions(ctx, now.Add(-m.retention)))...)
}

// ensurePartitions makes the partitions to come. Ids have the time of this process's clock,
// whether that is right or not.
func (m *Maintenance) ensurePartitions(ctx context.Context) error {
	now := m.now().UTC()
	_, err := m.pool.Exec(ctx, `select hub.ensure_partitions($1::date - 1, $2)`, now, daysAhead+2)
	if err != nil {
		err = fmt.Errorf("creating partitions: %w", err)
	}
	return errors.Join(err, audit.EnsurePartitions(ctx, m.pool, now))
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

// clockTolerance is how far two clocks may differ before one of them must be wrong.
const clockTolerance = time.Hour

// ageingClock returns the time by which rows are too old: the earlier one of this process's
// clock and, with [Maintenance.BoundedByDatabase], the database's. A clock that jumps ahead
// would drop the whole log; one that is behind only keeps it for longer.
func (m *Maintenance) ageingClock(ctx context.Context) (time.Time, error) {
	own := m.now().UTC()
	if !m.isBounded {
		return own, nil
	}
	var database time.Time
	if err := m.pool.QueryRow(ctx, `select clock_timestamp()`).Scan(&database); err != nil {
		return time.Time{}, fmt.Errorf("reading the database's clock: %w", err)
	}
	ahead := own.Sub(database)
	if ahead.Abs() > clockTolerance {
		m.log.Warn("this machine's clock and the database's differ; the earlier one decides about what is too old to keep", "ahead", ahead.Round(time.Second))
	}
	if ahead > 0 {
		return database.UTC(), nil
	}
	return own, nil
}
