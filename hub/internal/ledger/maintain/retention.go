package maintain

import (
	"context"
	"fmt"
	"time"
)

// EnforceRetention creates partitions, drops and deletes what is older than its retention,
// and fails what was parked for too long. It may be called at any time. Refresh tokens and
// what is kept about logins, which have no package with jobs, are deleted here too.
func (m *Maintenance) EnforceRetention(ctx context.Context) error {
	now := m.now().UTC()
	if _, err := m.pool.Exec(ctx, `select hub.ensure_partitions($1::date - 1, $2)`, now, daysAhead+2); err != nil {
		return fmt.Errorf("creating partitions: %w", err)
	}
	if err := m.dropPartitions(ctx, now.Add(-m.retention)); err != nil {
		return err
	}
	if err := m.keepAuditPartitions(ctx, now); err != nil {
		return err
	}
	if err := m.failParked(ctx); err != nil {
		return err
	}
	if err := m.abandonUnused(ctx); err != nil {
		return err
	}
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
