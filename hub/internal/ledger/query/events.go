package query

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/mask"
)

// EventItem is one event as the log shows it.
type EventItem struct {
	ID            string          `json:"id" doc:"Names the event, evt_ and 16 hexadecimal digits"`
	Product       string          `json:"product" doc:"Name of the product"`
	TenantID      *uuid.UUID      `json:"tenant_id" format:"uuid" doc:"Tenant it belongs to; null: it is for alerts of the operators"`
	Environment   string          `json:"environment" doc:"Whether it is for live or test data; the two never mix"`
	EventType     string          `json:"event_type" doc:"What happened, such as appointment.created"`
	CorrelationID *string         `json:"correlation_id" doc:"Ties events and deliveries of one matter together; null: none"`
	Deliveries    int             `json:"deliveries" doc:"How many receivers wanted it"`
	CreatedAt     time.Time       `json:"created_at" doc:"When it was accepted"`
	Payload       json.RawMessage `json:"payload" doc:"The envelope as sent, CPF numbers masked; {\"erased\":true} once the person it was about was deleted"`
	Seq           uuid.UUID       `json:"-"`
}

// EventFilter selects events; empty fields select all.
type EventFilter struct {
	Owner
	Since *time.Time
	Until *time.Time
}

// Events lists the newest events that match, older than before where it is set. Those of a
// tenant and environment are read by their index.
func (r *Reader) Events(ctx context.Context, f EventFilter, before *uuid.UUID, limit int) ([]EventItem, error) {
	c := f.events()
	if f.Since != nil {
		c.Add("e.seq >= ?", logid.Floor(*f.Since))
	}
	if f.Until != nil {
		c.Add("e.seq < ?", logid.Floor(*f.Until))
	}
	if before != nil {
		c.Add("e.seq < ?", *before)
	}
	return r.events(ctx, c, limit)
}

// events returns the conditions of the owner's events e.
func (o Owner) events() (c Conditions) {
	if o.TenantID != nil {
		c.Add("e.tenant_id = ?", *o.TenantID)
	}
	if o.Environment != "" {
		c.Add("e.environment = ?", o.Environment)
	}
	return c
}

// Event reads the owner's event of an id; the newest where several tenants chose the same id.
func (r *Reader) Event(ctx context.Context, id string, owner Owner) (EventItem, error) {
	bits, ok := hub.ParseEventID(id)
	if !ok {
		return EventItem{}, hub.Errorf(hub.ErrNotFound, "not_found", "There is no such event.")
	}
	seqs, err := eventSeqs(ctx, r.pool, int64(bits), owner.TenantID)
	if err != nil {
		return EventItem{}, err
	}
	c := owner.events()
	c.Add("e.seq = any(?)", seqs)
	events, err := r.events(ctx, c, 1)
	if err != nil {
		return EventItem{}, err
	}
	if len(events) == 0 {
		return EventItem{}, hub.Errorf(hub.ErrNotFound, "not_found", "There is no such event.")
	}
	return events[0], nil
}

// readEventsSQL reads events by conditions, up to a limit. It is planned with the values at hand:
// a plan for any tenant might walk the log for one that has no events.
const readEventsSQL = `
	select e.seq, e.id, e.product, nullif(e.tenant_id, '` + noTenant + `'), e.environment, e.event_type, e.correlation_id, e.deliveries, e.body
	from hub.events e where %s order by e.seq desc limit %d`

func (r *Reader) events(ctx context.Context, c Conditions, limit int) ([]EventItem, error) {
	rows, err := r.pool.Query(ctx, fmt.Sprintf(readEventsSQL, c.Where(), limit), append([]any{pgx.QueryExecModeCacheDescribe}, c.args...)...)
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	events, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (EventItem, error) {
		var e EventItem
		var id int64
		var body []byte
		err := row.Scan(&e.Seq, &id, &e.Product, &e.TenantID, &e.Environment, &e.EventType, &e.CorrelationID, &e.Deliveries, &body)
		e.ID, e.Payload = hub.FormatEventID(uint64(id)), mask.CPF(body)
		e.CreatedAt = logid.Time(e.Seq) // what the bounds of lists and recoveries are compared with
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	return events, nil
}

// deliveredSeqs is [eventSeqs] with the refused webhooks of the id, everyone's.
func deliveredSeqs(ctx context.Context, db DB, id int64, tenantID *uuid.UUID) ([]uuid.UUID, error) {
	seqs, err := eventSeqs(ctx, db, id, tenantID)
	if err != nil {
		return nil, err
	}
	refused, err := readIDs(ctx, db, "looking up refused webhooks", `select seq from hub.refused where event_id = $1 order by seq desc limit 50`, id)
	return append(seqs, refused...), err
}

// eventSeqs finds the events of an id, of a tenant or, with nil, of all: one, unless tenants
// chose the same id. One that the hub chose is found by its moment, others by the keys and ids
// that are kept.
func eventSeqs(ctx context.Context, db DB, id int64, tenantID *uuid.UUID) ([]uuid.UUID, error) {
	from, upto := logid.EventSpan(uint64(id))
	return readIDs(ctx, db, "looking up an event", `
		select seq from hub.events where seq >= $2 and seq < $3 and id = $1 and ($4::uuid is null or tenant_id = $4)
		union
		select seq from hub.idempotency where event_id = $1 and ($4::uuid is null or tenant_id = $4)
		union
		select seq from hub.received where event_id = $1 and ($4::uuid is null or tenant_id = $4)
		order by seq desc limit 50`, id, from, upto, tenantID)
}
