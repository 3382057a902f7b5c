package inbox

import (
	"fmt"
	"net/http"

	"integrationhub/hub/events"
	"integrationhub/hub/internal/erasure"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/store/bulk"
)

// columns are the buffers of a writer's inserts, reused by every batch.
type columns struct {
	received, audit bulk.Columns
	days            []dayColumns
}

// dayColumns are the buffers for one day's tables.
type dayColumns struct{ events, deliveries, retries, erasures bulk.Columns }

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
	d.events.Reset(bulk.UUIDs, bulk.Int8s, bulk.UUIDs, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Byteas)
	d.deliveries.Reset(bulk.UUIDs, bulk.Int8s, bulk.UUIDs, bulk.UUIDs, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Byteas,
		bulk.Int2s, bulk.Int2s, bulk.Texts)
	d.retries.Reset(bulk.UUIDs, bulk.Byteas)
	retried := 0
	for _, r := range entries {
		if r.isRetry {
			d.retries[0].UUID(logid.Delivery(r.seq, 1))
			d.retries[1].Bytes(r.answer)
			retried++
			continue
		}
		e := d.events
		e[0].UUID(r.seq)
		e[1].Int8(r.id)
		e[2].UUID(r.Event.TenantID)
		e[3].Text(string(r.Event.Environment))
		e[4].Text(r.Event.Product)
		e[5].Text(r.Event.Type)
		e[6].OptionalText(r.Event.CorrelationID)
		e[7].Bytes(r.Body)
		o := d.deliveries
		o[0].UUID(logid.Delivery(r.seq, 1))
		o[1].Int8(r.id)
		o[2].UUID(r.Event.TenantID)
		o[3].UUID(r.IntegrationID)
		o[4].Text(string(r.Event.Environment))
		o[5].Text(r.Event.Product)
		o[6].Text(r.Event.Type)
		o[7].OptionalText(r.Event.CorrelationID)
		o[8].Bytes(r.answer)
		o[9].Int2(r.status)
		o[10].Int2(int16(r.code))
		o[11].OptionalText(r.reason)
	}
	if retried > 0 {
		statements.Add(settleRetried, d.retries)
	}
	d.queueErasures(statements, entries)
	if retried == len(entries) {
		return
	}
	statements.Add(`
		insert into hub.events_`+day+` (seq, id, tenant_id, environment, product, event_type, correlation_id, deliveries, body)
		select u.seq, u.id, u.tenant, u.environment, u.product, u.type, u.correlation_id, 1, u.body
		from unnest($1::uuid[], $2::int8[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[])
			u(seq, id, tenant, environment, product, type, correlation_id, body)`, d.events)
	statements.Add(`
		insert into hub.deliveries_`+day+` (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, response_body, status, status_code, reason,
			inbound, integration, attempts, spent, round_at, due_at, finished_at)
		select u.*, true, true, 1, 1, null, null, now()
		from unnest($1::uuid[], $2::int8[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bytea[], $10::int2[], $11::int2[], $12::text[]) u`, d.deliveries)
}

// queueErasures requests an erasure for each event about a deleted person. An event that
// failed is left out: its retry requests the erasure.
func (d *dayColumns) queueErasures(statements *bulk.Batch, entries []logEntry) {
	isReset := false
	for _, r := range entries {
		if r.Event.Type != events.TypePatientDeleted || r.status == statusFailed {
			continue
		}
		if !isReset {
			d.erasures.Reset(bulk.UUIDs, bulk.UUIDs, bulk.Texts)
			isReset = true
		}
		d.erasures[0].UUID(r.seq)
		d.erasures[1].UUID(r.Event.TenantID)
		d.erasures[2].Text(string(r.Event.Environment))
	}
	if isReset {
		statements.Add(erasure.Insert, d.erasures)
	}
}

// Answer returns the body that answers a peer's event.
func Answer(id string, outcome Outcome) []byte {
	return fmt.Appendf(nil, `{"received":true,"id":%q,"status":%q}`, id, outcome)
}
