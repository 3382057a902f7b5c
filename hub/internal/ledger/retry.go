package ledger

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/delivery"
)

// again puts settled deliveries back to pending for a new round of attempts, due
// at once. Waiting ones become due at once; one that is under way stays as it is.
const again = `
	set status = 0, spent = 0, reason = null, finished_at = null, next_attempt_at = null, round_at = now(), due_at = now()`

// Requeue puts one delivery back to pending and tells its target. A delivery whose
// payload is gone gives a 409.
func (r *Reader) Requeue(ctx context.Context, id uuid.UUID) (target uuid.UUID, status delivery.Status, err error) {
	err = r.pool.QueryRow(ctx, `
		with found as (
			select d.id, d.target_id, d.status, d.next_attempt_at is not null as waiting, e.seq is not null as payload
			from hub.deliveries d
			left join hub.events e on e.seq = (overlay(d.id::text placing '0000' from 33))::uuid
			where d.id = $1 for update of d),
		requeued as (
			update hub.deliveries d `+again+`
			from found f where d.id = f.id and f.payload and (f.status <> 0 or f.waiting))
		select target_id, case when payload then 0 else status end from found`, id).Scan(&target, &status)
	switch {
	case notFound(err):
		return target, status, errNotFound
	case err != nil:
		return target, status, fmt.Errorf("putting a delivery back: %w", err)
	case status != delivery.Pending:
		return target, status, errPayloadGone
	}
	return target, status, nil
}

// requeueBatch puts up to limit matching deliveries after the cursor back to
// pending, oldest first. It returns the targets they belong to and the last one's
// id; gone counts those whose payload is no longer there.
func requeueBatch(ctx context.Context, tx pgx.Tx, p plan, limit int) (b requeued, err error) {
	rows, err := tx.Query(ctx, fmt.Sprintf(`
		with picked as (
			select d.id from hub.deliveries d where %s and d.status <> 0 order by d.id limit %d for update),
		withpayload as (
			select p.id from picked p
			where exists (select from hub.events e where e.seq = (overlay(p.id::text placing '0000' from 33))::uuid)),
		moved as (
			update hub.deliveries d `+again+`
			from withpayload w where d.id = w.id returning d.id, d.target_id)
		select p.id, m.target_id from picked p left join moved m on m.id = p.id order by p.id`, p.where(), limit), p.args...)
	if err != nil {
		return b, fmt.Errorf("putting deliveries back: %w", err)
	}
	b.targets = make(map[uuid.UUID]bool)
	var id uuid.UUID
	var target *uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&id, &target}, func() error {
		b.last = id
		b.seen++
		if target == nil {
			b.gone++
			return nil
		}
		b.targets[*target] = true
		return nil
	})
	if err != nil {
		return b, fmt.Errorf("putting deliveries back: %w", err)
	}
	return b, nil
}

// requeued is what one batch of a replay did.
type requeued struct {
	targets map[uuid.UUID]bool
	last    uuid.UUID
	seen    int
	gone    int
}
