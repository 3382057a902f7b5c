package maintain

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
)

// targetHealth counts the attempts at targets in one roll-up.
type targetHealth map[uuid.UUID]*healthCount

type healthCount struct{ failed, delivered int64 }

// add counts a delta. Failed attempts of the hub's own events do not count: the failing of an
// operational event must not make another one.
func (h targetHealth) add(target uuid.UUID, product string, delta *rollup) {
	failed := delta.errors
	if product == hub.ProductHub {
		failed = 0
	}
	delivered := max(0, delta.delivered) // one that another attempt settled first was delivered too
	if failed == 0 && delivered == 0 {
		return
	}
	count := h[target]
	if count == nil {
		count = &healthCount{}
		h[target] = count
	}
	count.failed += failed
	count.delivered += delivered
}

// record maintains hub.endpoint_failures: endpoints at which every attempt fails. It costs
// what fails, and nothing where nothing does.
func (h targetHealth) record(ctx context.Context, tx pgx.Tx, now time.Time) error {
	var failing, delivering []uuid.UUID
	var attempts []int64
	for target, count := range h {
		if count.delivered > 0 {
			delivering = append(delivering, target)
			continue
		}
		failing, attempts = append(failing, target), append(attempts, count.failed)
	}
	if len(failing) > 0 {
		_, err := tx.Exec(ctx, `
			insert into hub.endpoint_failures as f (endpoint_id, since, attempts)
			select u.id, $3, least(u.attempts, 1000000000) from unnest($1::uuid[], $2::bigint[]) u(id, attempts)
			join hub.endpoints e on e.id = u.id and e.tenant_ref is not null and e.deleted_at is null and e.enabled
			order by u.id
			on conflict (endpoint_id) do update set attempts = least(f.attempts::bigint + excluded.attempts, 1000000000), delivering_since = null`,
			failing, attempts, now)
		if err != nil {
			return fmt.Errorf("recording failing endpoints: %w", err)
		}
	}
	var hasFailures bool
	if err := tx.QueryRow(ctx, `select exists (select from hub.endpoint_failures)`).Scan(&hasFailures); err != nil || !hasFailures || len(delivering) == 0 {
		return err
	}
	_, err := tx.Exec(ctx, `
		with delivering as (select id from unnest($1::uuid[]) id),
		forgotten as (delete from hub.endpoint_failures f using delivering d where f.endpoint_id = d.id and f.announced_at is null)
		update hub.endpoint_failures f set delivering_since = $2 from delivering d
		where f.endpoint_id = d.id and f.announced_at is not null and f.delivering_since is null`, delivering, now)
	if err != nil {
		return fmt.Errorf("recording endpoints that recover: %w", err)
	}
	return nil
}
