package maintain

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

// setPendingSQL makes settled deliveries pending for a new round of attempts, due at once.
// Deliveries that wait for a retry become due at once. What the round has spent is named
// apart. The moment of the first parking stays for as long as nothing was delivered. One that
// was settled has left the order of its target: others of its key may have been sent since.
var setPendingSQL = `
	set status = 0, reason = null, parked_at = case when status in (0, 2) then coalesce(parked_at, finished_at) end, finished_at = null, next_attempt_at = null, round_at = now(), due_at = now(),
		ordering_key = case when status in (0, 2) then ordering_key end, out_of_order = out_of_order or status not in (0, 2) and ordering_key is not null,
		duration_ms = coalesce(duration_ms, total_us / 1000), ` + clearFirstAttemptSQL

// clearFirstAttemptSQL sets the columns of the first attempt to null, except the status
// code, which is the delivery's as well.
var clearFirstAttemptSQL = strings.ReplaceAll(strings.Replace(ledger.AttemptColumns, "status_code, ", "", 1), ", ", " = null, ") + " = null"

// moveFirstAttemptSQL copies first attempts stored in hub.deliveries to hub.attempts before
// those deliveries are sent again. It reads the ids in sendable s.
const moveFirstAttemptSQL = `
	insert into hub.attempts (delivery_id, number, ` + ledger.AttemptColumns + `)
	select d.id, 1, ` + ledger.AttemptColumns + ` from sendable s join hub.deliveries d on d.id = s.id where d.started_at is not null`

// targetAcceptsSQL is true if the target of delivery d accepts deliveries now. It is always
// true for integrations: a delivery to an inactive one is requeued and parks again, with
// the reason of that moment.
const targetAcceptsSQL = `(not d.inbound and (d.integration or exists (
	select from hub.endpoints t where t.id = d.target_id and t.enabled and t.deleted_at is null)))`

var (
	errPayloadGone = hub.Errorf(hub.ErrConflict, "payload_gone", "The retention of this delivery's payload has ended; it cannot be sent again.")
	errErased      = hub.Errorf(hub.ErrConflict, "erased", "The payload of this delivery was erased because the person it was about was deleted; it cannot be sent again.")
	errReceived    = hub.Errorf(hub.ErrConflict, "received_delivery", "This webhook was received from the other product; only that product can send it again.")
	errNoTarget    = hub.Errorf(hub.ErrConflict, "endpoint_disabled", "The endpoint of this delivery is disabled; enable it first.")
	errDeleted     = hub.Errorf(hub.ErrConflict, "endpoint_deleted", "The endpoint of this delivery was deleted; it cannot be sent again. Another endpoint gets stored events by a recovery.")
)

// notErasedSQL is true if the payload of event e was not erased.
const notErasedSQL = `e.body <> '` + hub.ErasedPayload + `'::bytea`

// Requeuer makes single deliveries pending again.
type Requeuer struct {
	pool   *pgxpool.Pool
	reader *query.Reader
}

// NewRequeuer returns the service. reader materializes deliveries that have no rows yet.
func NewRequeuer(pool *pgxpool.Pool, reader *query.Reader) *Requeuer {
	return &Requeuer{pool: pool, reader: reader}
}

// Requeue makes one of the owner's deliveries pending, and returns its target and its tenant. A
// person waits for it: it is not bulk any more. It is a [hub.ErrConflict] if the delivery was
// received or discarded, the payload is gone or erased, or the endpoint is disabled or deleted;
// target and tenant are returned then too. The tenant of an alert's is the nil UUID.
func (r *Requeuer) Requeue(ctx context.Context, id uuid.UUID, owner query.Owner) (target, tenant uuid.UUID, err error) {
	if err := r.reader.Materialize(ctx); err != nil {
		return target, tenant, err
	}
	var hasPayload, isWhole, accepts, isInbound, isDeleted, isDiscarded bool
	err = r.pool.QueryRow(ctx, `
		with found as (
			select d.id, d.tenant_id, d.target_id, d.status, d.inbound, coalesce(d.reason = '`+delivery.ReasonDiscarded+`', false) as discarded,
				not d.integration and not exists (select from hub.endpoints t where t.id = d.target_id and t.deleted_at is null) as deleted, d.next_attempt_at is not null as waiting, e.seq is not null as payload,
				coalesce(`+notErasedSQL+`, false) as whole, `+targetAcceptsSQL+` as takes
			from hub.deliveries d
			left join hub.events e on e.seq = (overlay(d.id::text placing '0000' from 33))::uuid
			where d.id = $1 and ($2::uuid is null or d.tenant_id = $2) and $3 in ('', d.environment) for update of d),
		sendable as (
			select id from found where whole and takes and not discarded and (status <> 0 or waiting)),
		kept as (`+moveFirstAttemptSQL+`),
		requeued as (
			update hub.deliveries d `+setPendingSQL+`, spent = 0, priority = least(priority, 0) from sendable s where d.id = s.id)
		select target_id, tenant_id, payload, whole, takes, inbound, deleted, discarded from found`, id, owner.TenantID, owner.Environment).Scan(&target, &tenant, &hasPayload, &isWhole, &accepts, &isInbound, &isDeleted, &isDiscarded)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return target, tenant, query.ErrNotFound
	case err != nil:
		return target, tenant, fmt.Errorf("requeueing a delivery: %w", err)
	case isInbound:
		return target, tenant, errReceived
	case !hasPayload:
		return target, tenant, errPayloadGone
	case !isWhole:
		return target, tenant, errErased
	case isDiscarded:
		return target, tenant, errDiscarded
	case isDeleted:
		return target, tenant, errDeleted
	case !accepts:
		return target, tenant, errNoTarget
	}
	return target, tenant, nil
}

// requeueBatch makes up to limit matching deliveries pending, oldest first, as bulk unless
// their priority is high. Inbound ones are never sent. c contains the cursor.
func requeueBatch(ctx context.Context, tx pgx.Tx, c query.Conditions, limit int) (b requeuedBatch, err error) {
	rows, err := tx.Query(ctx, fmt.Sprintf(`
		with picked as (
			select d.id, d.target_id, d.integration, d.inbound, d.reason from hub.deliveries d
			where %s and d.status <> 0 and not d.inbound order by d.id limit %d for update),
		sendable as (
			select d.id from picked d
			where d.reason is distinct from '`+delivery.ReasonDiscarded+`' and `+targetAcceptsSQL+` and exists (select from hub.events e where e.seq = (overlay(d.id::text placing '0000' from 33))::uuid and `+notErasedSQL+`)),
		kept as (`+moveFirstAttemptSQL+`),
		moved as (
			update hub.deliveries d `+setPendingSQL+`, spent = 0, priority = case when priority < 0 then priority else 1 end
			from sendable w where d.id = w.id returning d.id, d.target_id)
		select p.id, m.target_id from picked p left join moved m on m.id = p.id order by p.id`, c.Where(), limit), c.Args()...)
	if err != nil {
		return b, fmt.Errorf("requeueing deliveries: %w", err)
	}
	b.targets = make(map[uuid.UUID]bool)
	var id uuid.UUID
	var target *uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&id, &target}, func() error {
		b.last = id
		b.matched++
		if target == nil {
			b.unsendable++
			return nil
		}
		b.targets[*target] = true
		b.requeued = append(b.requeued, id)
		return nil
	})
	if err != nil {
		return b, fmt.Errorf("requeueing deliveries: %w", err)
	}
	return b, nil
}

// requeuedBatch is the result of one batch of a replay.
type requeuedBatch struct {
	targets    map[uuid.UUID]bool
	requeued   []uuid.UUID
	last       uuid.UUID // the cursor from now on
	matched    int       // 0: nothing is left
	unsendable int
}
