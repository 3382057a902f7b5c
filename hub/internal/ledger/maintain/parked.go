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
)

// failParked fails deliveries that were parked for too long, oldest first and in batches:
// one statement for a whole backlog might time out.
func (m *Maintenance) failParked(ctx context.Context) error {
	for before := m.now().Add(-ledger.MaxParkedAge); ; {
		n, err := m.failSomeParked(ctx, before)
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
	rows, err := m.pool.Query(ctx, `
		with moved as (
			update hub.deliveries set status = 3, reason = '`+delivery.ReasonExpired+`', parked_at = null, finished_at = now()
			where status = 2 and coalesce(parked_at, finished_at) < $1 and id < $2 and id <= coalesce((
				select id from hub.deliveries where status = 2 and coalesce(parked_at, finished_at) < $1 and id < $2 order by id offset $3 - 1 limit 1), $2)
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
		m.onGivenUp(product, failed)
	}
	if n > 0 {
		m.log.Warn("deliveries failed: they were parked for too long", "deliveries", n)
	}
	return n, nil
}

// failWaiting fails up to limit deliveries of a target that no process has leased. It
// returns how many failed, by product.
func failWaiting(ctx context.Context, tx pgx.Tx, target uuid.UUID, reason string, limit int) (map[string]int, error) {
	rows, err := tx.Query(ctx, `
		with parked as (
			select id from hub.deliveries where target_id = $1 and status = 2 and not inbound order by id limit $3 for update skip locked),
		pending as (
			select id from hub.deliveries where target_id = $1 and status = 0 and `+ledger.UnleasedSQL+`
			order by priority, due_at limit $3 for update skip locked),
		moved as (
			update hub.deliveries d set status = 3, reason = $2, next_attempt_at = null, parked_at = null, finished_at = now()
			from (select id from parked union all select id from pending limit $3) w where d.id = w.id returning tenant_id, target_id, product),
		counted as (
			insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, failed)
			select date_trunc('minute', now()), tenant_id, target_id, product, count(*) from moved group by 2, 3, 4
			returning product, failed)
		select product, sum(failed)::integer from counted group by product`, target, reason, limit)
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
