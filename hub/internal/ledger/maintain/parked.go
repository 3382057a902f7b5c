package maintain

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/module/dberr"
)

// failParked fails deliveries that were parked for too long, oldest first and in batches:
// one statement for a whole backlog might time out.
func (m *Maintenance) failParked(ctx context.Context, now time.Time) error {
	for before := now.Add(-ledger.MaxParkedAge); ; {
		n, err := m.failSomeParked(ctx, before)
		if dberr.IsLockTimeout(err) {
			m.log.Info("deliveries that were parked for too long are failed later: another transaction keeps an ordering key locked")
			return nil
		}
		if err != nil {
			return fmt.Errorf("failing parked deliveries: %w", err)
		}
		if n < failBatch {
			return nil
		}
	}
}

// failSomeParked fails about failBatch of the oldest deliveries that were parked before a
// time, and returns how many. The first parking counts: a trial does not begin it anew.
func (m *Maintenance) failSomeParked(ctx context.Context, before time.Time) (n int, err error) {
	const isExpiredSQL = `d.status + 0 = 2 and coalesce(d.parked_at, d.finished_at) < $2 and d.id < $3`
	var failed map[string]int
	err = pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		ids, err := queryIDs(ctx, tx, `
			select d.id from hub.deliveries d where d.status = 2 and `+isExpiredSQL+` order by d.id limit $1`, failBatch, before, logid.Floor(before))
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := ledger.LockOrders(ctx, tx, "hub.deliveries", ids); err != nil {
			return err
		}
		failed, err = failDeliveries(ctx, tx, delivery.ReasonExpired, ids, isExpiredSQL, before, logid.Floor(before))
		return err
	})
	if err != nil {
		return 0, err
	}
	for product, failed := range failed {
		n += failed
		m.countFailed(product, failed)
	}
	if n > 0 {
		m.log.Warn("deliveries failed: they were parked for too long", "deliveries", n)
	}
	return n, nil
}

// failWaiting fails up to limit deliveries of a target that no process has leased. It
// returns how many failed, by product.
func failWaiting(ctx context.Context, tx pgx.Tx, target uuid.UUID, reason string, limit int) (map[string]int, error) {
	ids, err := queryIDs(ctx, tx, `
		with parked as (select id from hub.deliveries where target_id = $1 and status = 2 and not inbound order by id limit $2),
		pending as (select id from hub.deliveries where target_id = $1 and status = 0 and `+ledger.UnleasedSQL+` order by priority, due_at limit $2)
		select id from parked union all select id from pending limit $2`, target, limit)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	if err := ledger.LockOrders(ctx, tx, "hub.deliveries", ids); err != nil {
		return nil, err
	}
	return failDeliveries(ctx, tx, reason, ids, `(d.status + 0 = 2 or d.status + 0 = 0 and `+ledger.UnleasedSQL+`)`)
}

// queryIDs returns the ids that a query selects.
func queryIDs(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]uuid.UUID, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("looking for deliveries that wait: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("looking for deliveries that wait: %w", err)
	}
	return ids, nil
}

// failDeliveries fails the deliveries of ids of which a condition on hub.deliveries d is true,
// but for those whose rows others have locked. $2 and so on of the condition are args. It
// returns how many failed, by product. The keys of their orders must be locked.
func failDeliveries(ctx context.Context, tx pgx.Tx, reason string, ids []uuid.UUID, condition string, args ...any) (map[string]int, error) {
	rows, err := tx.Query(ctx, `
		with waiting as (
			select d.id from unnest($1::uuid[]) u(id) join hub.deliveries d on d.id = u.id where `+condition+`
			order by d.id for update of d skip locked),
		moved as (
			update hub.deliveries d set status = 3, reason = '`+reason+`', next_attempt_at = null, parked_at = null, finished_at = now()
			from waiting w where d.id = w.id returning tenant_id, target_id, product),
		counted as (
			insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, failed)
			select date_trunc('minute', now()), tenant_id, target_id, product, count(*) from moved group by 2, 3, 4
			returning product, failed)
		select product, sum(failed)::integer from counted group by product`, append([]any{ids}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("failing deliveries that waited: %w", err)
	}
	failed := make(map[string]int)
	var product string
	var n int
	if _, err = pgx.ForEachRow(rows, []any{&product, &n}, func() error { failed[product] = n; return nil }); err != nil {
		return nil, fmt.Errorf("failing deliveries that waited: %w", err)
	}
	return failed, nil
}
