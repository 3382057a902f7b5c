package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/ledger/query"
)

// again puts settled deliveries back to pending for a new round of attempts, due
// at once. Waiting ones become due at once; one that is under way stays as it is.
var again = `
	set status = 0, spent = 0, reason = null, finished_at = null, next_attempt_at = null, round_at = now(), due_at = now(),
		duration_ms = coalesce(duration_ms, total_us / 1000), ` + noTrace

// noTrace empties the columns of the first attempt, but for the status code, which
// is the delivery's as well.
var noTrace = strings.ReplaceAll(strings.Replace(ledger.AttemptColumns, "status_code, ", "", 1), ", ", " = null, ") + " = null"

// keepFirst moves first attempts that are kept in the rows of deliveries to a table
// of their own before the deliveries of sendable s get another.
const keepFirst = `
	insert into hub.attempts (delivery_id, number, ` + ledger.AttemptColumns + `)
	select d.id, 1, ` + ledger.AttemptColumns + ` from sendable s join hub.deliveries d on d.id = s.id where d.started_at is not null`

// takes reports whether a delivery's target d.target_id takes deliveries now. History
// is not overwritten by a round of attempts that cannot be made.
const takes = `(not d.inbound and (d.integration or exists (
	select from hub.endpoints t where t.id = d.target_id and t.enabled and t.deleted_at is null)))`

var (
	errPayloadGone = hub.Errorf(hub.ErrConflict, "payload_gone", "The retention of this delivery's payload has ended; it cannot be sent again.")
	errErased      = hub.Errorf(hub.ErrConflict, "erased", "The payload of this delivery was erased because the person it was about was deleted; it cannot be sent again.")
	errNoTarget    = hub.Errorf(hub.ErrConflict, "endpoint_disabled", "The endpoint of this delivery is disabled or deleted; enable it first.")
)

// notErased reports whether the payload of event e is still there.
const notErased = `e.body <> '` + hub.ErasedPayload + `'::bytea`

// Retries sends single deliveries again.
type Retries struct {
	pool   *pgxpool.Pool
	reader *query.Reader
}

// NewRetries returns the service; reader gives what was just accepted its rows.
func NewRetries(pool *pgxpool.Pool, reader *query.Reader) *Retries {
	return &Retries{pool: pool, reader: reader}
}

// Requeue puts one delivery back to pending and returns its target. A delivery whose
// payload is gone or erased, or whose endpoint takes none, is an [hub.ErrConflict].
func (r *Retries) Requeue(ctx context.Context, id uuid.UUID) (target uuid.UUID, status delivery.Status, err error) {
	if err := r.reader.Materialize(ctx); err != nil {
		return target, status, err
	}
	var payload, whole, takesIt bool
	err = r.pool.QueryRow(ctx, `
		with found as (
			select d.id, d.target_id, d.status, d.next_attempt_at is not null as waiting, e.seq is not null as payload,
				coalesce(`+notErased+`, false) as whole, `+takes+` as takes
			from hub.deliveries d
			left join hub.events e on e.seq = (overlay(d.id::text placing '0000' from 33))::uuid
			where d.id = $1 for update of d),
		sendable as (
			select id from found where whole and takes and (status <> 0 or waiting)),
		kept as (`+keepFirst+`),
		requeued as (
			update hub.deliveries d `+again+` from sendable s where d.id = s.id)
		select target_id, payload, whole, takes from found`, id).Scan(&target, &payload, &whole, &takesIt)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return target, status, query.ErrNotFound
	case err != nil:
		return target, status, fmt.Errorf("putting a delivery back: %w", err)
	case !payload:
		return target, status, errPayloadGone
	case !whole:
		return target, status, errErased
	case !takesIt:
		return target, status, errNoTarget
	}
	return target, delivery.Pending, nil
}

// requeueBatch puts up to limit matching deliveries after the cursor back to
// pending, oldest first. It returns the targets they belong to and the last one's
// id; gone counts those that cannot be sent again. What came in was never sent.
func requeueBatch(ctx context.Context, tx pgx.Tx, c query.Conditions, limit int) (b requeued, err error) {
	rows, err := tx.Query(ctx, fmt.Sprintf(`
		with picked as (
			select d.id, d.target_id, d.integration, d.inbound from hub.deliveries d
			where %s and d.status <> 0 and not d.inbound order by d.id limit %d for update),
		sendable as (
			select d.id from picked d
			where `+takes+` and exists (select from hub.events e where e.seq = (overlay(d.id::text placing '0000' from 33))::uuid and `+notErased+`)),
		kept as (`+keepFirst+`),
		moved as (
			update hub.deliveries d `+again+`
			from sendable w where d.id = w.id returning d.id, d.target_id)
		select p.id, m.target_id from picked p left join moved m on m.id = p.id order by p.id`, c.Where(), limit), c.Args()...)
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
