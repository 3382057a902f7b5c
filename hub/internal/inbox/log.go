package inbox

import (
	"fmt"

	"integrationhub/hub"
	"integrationhub/hub/internal/erasure"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/store/bulk"
)

// columns are the buffers of a lane's inserts, reused from batch to batch.
type columns struct {
	received, audit bulk.Columns
	days            []dayColumns
}

// dayColumns are those of one day's tables.
type dayColumns struct{ events, deliveries, erasures bulk.Columns }

// queueLog adds what came to the log, as it came: an event, and its one delivery,
// inbound. Rows go into the day's tables by name, as everywhere on the way of events.
func (l *lane) queueLog(statements *bulk.Batch, batch []*request) {
	days := make(map[string][]*request, 1)
	for _, r := range batch {
		if r.outcome == Accepted || r.outcome == Ignored {
			day := logid.Partition(r.seq)
			days[day] = append(days[day], r)
		}
	}
	used := 0
	for day, came := range days {
		if used == len(l.columns.days) {
			l.columns.days = append(l.columns.days, dayColumns{})
		}
		l.columns.days[used].queue(statements, day, came)
		used++
	}
}

func (d *dayColumns) queue(statements *bulk.Batch, day string, came []*request) {
	d.events.Reset(bulk.UUIDs, bulk.Int8s, bulk.UUIDs, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Byteas)
	d.deliveries.Reset(bulk.UUIDs, bulk.Int8s, bulk.UUIDs, bulk.UUIDs, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Byteas)
	for _, r := range came {
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
		o[8].Bytes(Answer(r.Event.ID, r.outcome))
	}
	statements.Add(`
		insert into hub.events_`+day+` (seq, id, tenant_id, environment, product, event_type, correlation_id, deliveries, body)
		select u.seq, u.id, u.tenant, u.environment, u.product, u.type, u.story, 1, u.body
		from unnest($1::uuid[], $2::int8[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[])
			u(seq, id, tenant, environment, product, type, story, body)`, d.events)
	statements.Add(`
		insert into hub.deliveries_`+day+` (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, response_body,
			inbound, integration, status, attempts, spent, status_code, round_at, due_at, finished_at)
		select u.*, true, true, 1, 1, 1, 200, null, null, now()
		from unnest($1::uuid[], $2::int8[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bytea[]) u`, d.deliveries)
	d.queueErasures(statements, came)
}

// queueErasures has the log cleared of the persons that events say were deleted.
func (d *dayColumns) queueErasures(statements *bulk.Batch, came []*request) {
	found := false
	for _, r := range came {
		if r.Event.Type != hub.PatientDeleted {
			continue
		}
		if !found {
			d.erasures.Reset(bulk.UUIDs, bulk.UUIDs, bulk.Texts)
			found = true
		}
		d.erasures[0].UUID(r.seq)
		d.erasures[1].UUID(r.Event.TenantID)
		d.erasures[2].Text(string(r.Event.Environment))
	}
	if found {
		statements.Add(erasure.Insert, d.erasures)
	}
}

// Answer is what the peer is told about an event.
func Answer(id string, outcome Outcome) []byte {
	return fmt.Appendf(nil, `{"received":true,"id":%q,"status":%q}`, id, outcome)
}
