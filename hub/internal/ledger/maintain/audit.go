package maintain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/logid"
)

// dropAuditPartitions drops the audit log's partitions of months that ended before its retention.
func (m *Maintenance) dropAuditPartitions(ctx context.Context, now time.Time) error {
	if m.auditRetention == 0 {
		return nil
	}
	rows, err := m.pool.Query(ctx, `select name from hub.audit_partitions() where end_id <= $1 order by end_id`, logid.Floor(now.Add(-m.auditRetention)))
	if err != nil {
		return fmt.Errorf("listing partitions of the audit log: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("listing partitions of the audit log: %w", err)
	}
	var failures []error
	for _, name := range names { // one that fails keeps no other
		failures = append(failures, m.dropAuditPartition(ctx, name))
	}
	return errors.Join(failures...)
}

// dropAuditPartition drops one month of the audit log. Another process may have done so.
func (m *Maintenance) dropAuditPartition(ctx context.Context, name string) error {
	return pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		var hasLock bool
		if err := tx.QueryRow(ctx, `select pg_try_advisory_xact_lock($1)`, partitionsLock).Scan(&hasLock); err != nil || !hasLock {
			return err
		}
		_, err := tx.Exec(ctx, `set local lock_timeout = '2s'; drop table if exists `+pgx.Identifier{"hub", name}.Sanitize())
		if err != nil {
			return fmt.Errorf("dropping %s: %w", name, err)
		}
		m.log.Info("dropped a partition of the audit log whose retention ended", "partition", name)
		return nil
	})
}
