package inbox

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/internal/erasure"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/store/bulk"
	"integrationhub/hub/internal/subject"
	"integrationhub/hub/module"
)

// columns are the buffers of a writer's inserts, reused by every batch.
type columns struct {
	received, audit bulk.Columns
	days            []dayColumns
}

// dayColumns are the buffers for one day's tables.
type dayColumns struct{ events, deliveries, redeliveries, erasures bulk.Columns }

// Numbers of hub.deliveries.status.
const (
	statusDelivered = 1
	statusFailed    = 3
)

// logEntry is an event with its state in the log.
type logEntry struct {
	*pendingEvent
	status int16
	code   int // HTTP
	reason string
	answer []byte
}

// logEntriesOf returns the log entries of the events of a batch that were stored.
func logEntriesOf(batch []*pendingEvent) []logEntry {
	list := make([]logEntry, 0, len(batch))
	for _, r := range batch {
		if r.outcome == Accepted || r.outcome == Ignored {
			list = append(list, logEntry{pendingEvent: r, status: statusDelivered, code: http.StatusOK, answer: Answer(r.Event.ID, r.outcome)})
		}
	}
	return list
}

// queueLog adds statements that log events: a row for each event as it was received, and
// one for its inbound delivery. Rows go directly into the tables of their day.
func (w *writer) queueLog(statements *bulk.Batch, entries []logEntry) {
	days := make(map[string][]logEntry, 1)
	for _, r := range entries {
		day := logid.Partition(r.seq)
		days[day] = append(days[day], r)
	}
	used := 0
	for day, entries := range days {
		if used == len(w.columns.days) {
			w.columns.days = append(w.columns.days, dayColumns{})
		}
		w.columns.days[used].queue(statements, day, entries)
		used++
	}
}

func (d *dayColumns) queue(statements *bulk.Batch, day string, entries []logEntry) {
	d.events.Reset(eventTypes...)
	d.deliveries.Reset(deliveryTypes...)
	d.redeliveries.Reset(redeliveryTypes...)
	redeliveries := 0
	for _, entry := range entries {
		if entry.isRedelivery {
			d.addRedelivery(entry)
			redeliveries++
			continue
		}
		d.addEvent(entry)
		d.addDelivery(entry)
	}
	if redeliveries > 0 {
		statements.Add(settleRedeliveredSQL, d.redeliveries)
	}
	d.queueErasures(statements, entries)
	if redeliveries == len(entries) {
		return
	}
	statements.Add(`
		insert into hub.events_`+day+` (seq, id, tenant_id, environment, product, event_type, correlation_id, deliveries, body, subjects)
		select u.seq, u.id, u.tenant, u.environment, u.product, u.type, u.correlation_id, 1, u.body, u.subjects::bigint[]
		from unnest($1::uuid[], $2::int8[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[], $9::text[])
			u(seq, id, tenant, environment, product, type, correlation_id, body, subjects)`, d.events)
	statements.Add(`
		insert into hub.deliveries_`+day+` (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, response_body, status, status_code, reason,
			inbound, integration, attempts, spent, round_at, due_at, finished_at)
		select u.*, true, true, 1, 1, null, null, now()
		from unnest($1::uuid[], $2::int8[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bytea[], $10::int2[], $11::int2[], $12::text[]) u`, d.deliveries)
}

func (d *dayColumns) addEvent(entry logEntry) {
	c := d.events
	c[colEventSeq].UUID(entry.seq)
	c[colEventEventID].Int8(entry.id)
	c[colEventTenantID].UUID(entry.Event.TenantID)
	c[colEventEnvironment].Text(string(entry.Event.Environment))
	c[colEventProduct].Text(entry.Event.Product)
	c[colEventEventType].Text(entry.Event.Type)
	c[colEventCorrelationID].OptionalText(entry.storedCorrelationID())
	c[colEventBody].Bytes(entry.storedBody())
	c[colEventSubjects].OptionalText(entry.storedSubjects())
}

func (d *dayColumns) addDelivery(entry logEntry) {
	c := d.deliveries
	c[colDeliveryID].UUID(logid.Delivery(entry.seq, 1))
	c[colDeliveryEventID].Int8(entry.id)
	c[colDeliveryTenantID].UUID(entry.Event.TenantID)
	c[colDeliveryTargetID].UUID(entry.IntegrationID)
	c[colDeliveryEnvironment].Text(string(entry.Event.Environment))
	c[colDeliveryProduct].Text(entry.Event.Product)
	c[colDeliveryEventType].Text(entry.Event.Type)
	c[colDeliveryCorrelationID].OptionalText(entry.storedCorrelationID())
	c[colDeliveryResponseBody].Bytes(entry.answer)
	c[colDeliveryStatus].Int2(entry.status)
	c[colDeliveryStatusCode].Int2(int16(entry.code))
	c[colDeliveryReason].OptionalText(entry.reason)
}

// storedBody returns the event's body as the log may have it.
func (r *pendingEvent) storedBody() []byte {
	if r.screening != module.Storable {
		return []byte(hub.ErasedPayload)
	}
	return r.Body
}

// storedCorrelationID returns the event's correlation id as the log may have it: peers make
// them of phone numbers and names.
func (r *pendingEvent) storedCorrelationID() string {
	if r.screening != module.Storable {
		return ""
	}
	return r.Event.CorrelationID
}

// storedSubjects returns the hashes by which the log finds who the event is about, "" if
// its payload may not be stored.
func (r *pendingEvent) storedSubjects() string {
	if r.screening != module.Storable {
		return ""
	}
	scope := subject.Scope{TenantID: r.Event.TenantID, Environment: r.Event.Environment}
	return subject.Array(scope.Terms(r.Event.Data))
}

// eraseRedeliveredSQL erases events that were stored when they failed.
const eraseRedeliveredSQL = `
	with erased as (update hub.events set body = $2, correlation_id = null, subjects = null where seq = any($1::uuid[]))
	update hub.deliveries set correlation_id = null where id = any($3::uuid[])`

// eraseRedelivered erases the stored payloads of redelivered events that must not be stored:
// when they failed, the person was not erased yet.
func eraseRedelivered(ctx context.Context, tx pgx.Tx, batch []*pendingEvent) error {
	var seqs, deliveries []uuid.UUID
	for _, r := range batch {
		if r.isRedelivery && r.screening != module.Storable {
			seqs, deliveries = append(seqs, r.seq), append(deliveries, logid.Delivery(r.seq, 1))
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, eraseRedeliveredSQL, seqs, []byte(hub.ErasedPayload), deliveries); err != nil {
		return fmt.Errorf("erasing redelivered events: %w", err)
	}
	return nil
}

// addRedelivery settles the delivery of an event that failed before.
func (d *dayColumns) addRedelivery(entry logEntry) {
	d.redeliveries[colRedeliveryID].UUID(logid.Delivery(entry.seq, 1))
	d.redeliveries[colRedeliveryResponseBody].Bytes(entry.answer)
}

// queueErasures requests an erasure for each event about a deleted person. An event that
// failed is left out: its redelivery requests the erasure.
func (d *dayColumns) queueErasures(statements *bulk.Batch, entries []logEntry) {
	isReset := false
	for _, r := range entries {
		if r.Event.Type != events.TypePatientDeleted || r.status == statusFailed {
			continue
		}
		if !isReset {
			d.erasures.Reset(erasureTypes...)
			isReset = true
		}
		d.erasures[colErasureSeq].UUID(r.seq)
		d.erasures[colErasureTenantID].UUID(r.Event.TenantID)
		d.erasures[colErasureEnvironment].Text(string(r.Event.Environment))
	}
	if isReset {
		statements.Add(erasure.RequestSQL, d.erasures)
	}
}

// Answer returns the body that answers a peer's event.
func Answer(id string, outcome Outcome) []byte {
	return fmt.Appendf(nil, `{"received":true,"id":%q,"status":%q}`, id, outcome)
}
