package outbox

import (
	"integrationhub/hub/events"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/erasure"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/store/bulk"
)

// rows turns prepared events into the columns of their inserts. Its buffers are
// reused from commit to commit. The rows of a day go straight into the day's
// tables: routing them through the parent tables costs locks on every partition.
type rows struct {
	events, deliveries []bulk.Columns // by day of the commit, mostly one
	deltas, lease      bulk.Columns
	erasures           bulk.Columns
	promised           []byte // the lease's deliveries, as hub.leases has them
}

// queue adds the inserts of prepared events to a batch, with rows for those of
// their deliveries that the lease does not stand for. The batch uses the buffers: it
// must have run before the next one is queued.
func (r *rows) queue(batch *bulk.Batch, all []*prepared, lease *delivery.CommitLease) {
	for day, rest := 0, all; len(rest) > 0; day++ {
		n := 1
		for n < len(rest) && logid.SameDay(rest[0].event.Seq, rest[n].event.Seq) {
			n++
		}
		if day == len(r.events) {
			r.events, r.deliveries = append(r.events, nil), append(r.deliveries, nil)
		}
		partition := logid.Partition(rest[0].event.Seq)
		queueEvents(batch, &r.events[day], rest[:n], partition)
		queueDeliveries(batch, &r.deliveries[day], rest[:n], partition)
		rest = rest[n:]
	}
	if lease != nil {
		r.queueLease(batch, all, lease)
	}
	if deliveriesOf(all) > 0 {
		r.queueDeltas(batch, all)
	}
	r.queueErasures(batch, all)
}

func deliveriesOf(all []*prepared) int {
	total := 0
	for _, p := range all {
		total += len(p.targets)
	}
	return total
}

func queueEvents(batch *bulk.Batch, columns *bulk.Columns, all []*prepared, partition string) {
	columns.Reset(eventTypes...)
	c := *columns
	for _, p := range all {
		c[colEventSeq].UUID(p.event.Seq)
		c[colEventEventID].Int8(p.event.IDBits)
		c[colEventTenantID].UUID(p.TenantID)
		c[colEventEnvironment].Text(string(p.Environment))
		c[colEventProduct].Text(p.Product)
		c[colEventEventType].Text(p.Type)
		c[colEventCorrelationID].OptionalText(p.CorrelationID)
		c[colEventDeliveries].Int4(int32(len(p.targets)))
		c[colEventBody].Bytes(p.event.Body)
	}
	batch.Add(`
		insert into hub.events_`+partition+` (seq, id, tenant_id, environment, product, event_type, correlation_id, deliveries, body)
		select * from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::integer[], $9::bytea[])`, c)
}

// queueDeliveries adds rows, due at once, for the deliveries without a place in this
// process's queue.
func queueDeliveries(batch *bulk.Batch, columns *bulk.Columns, all []*prepared, partition string) {
	columns.Reset(deliveryTypes...)
	c := *columns
	found := false
	for _, p := range all {
		for i, target := range p.targets {
			if p.hasPlace[i] {
				continue
			}
			found = true
			c[colDeliveryID].UUID(logid.Delivery(p.event.Seq, i+1))
			c[colDeliveryEventID].Int8(p.event.IDBits)
			c[colDeliveryTenantID].UUID(p.TenantID)
			c[colDeliveryTargetID].UUID(target.ID)
			c[colDeliveryEnvironment].Text(string(p.Environment))
			c[colDeliveryProduct].Text(p.Product)
			c[colDeliveryEventType].Text(p.Type)
			c[colDeliveryCorrelationID].OptionalText(p.CorrelationID)
			c[colDeliveryIntegration].Bool(target.Peer != nil)
		}
	}
	if found {
		batch.Add(`
			insert into hub.deliveries_`+partition+` (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, integration)
			select * from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::boolean[])`, c)
	}
}

// queueLease adds the row that stands for the deliveries this process takes on.
func (r *rows) queueLease(batch *bulk.Batch, all []*prepared, lease *delivery.CommitLease) {
	r.promised = r.promised[:0]
	for _, p := range all {
		for i, target := range p.targets {
			if p.hasPlace[i] {
				id := logid.Delivery(p.event.Seq, i+1)
				r.promised = append(append(r.promised, id[:]...), target.ID[:]...)
				kind := byte(0)
				if target.Peer != nil {
					kind = 1
				}
				r.promised = append(r.promised, kind)
			}
		}
	}
	r.lease.Reset(bulk.UUIDs, bulk.Byteas)
	r.lease[colLeaseID].UUID(lease.ID)
	r.lease[colLeaseDeliveries].Bytes(r.promised)
	batch.Add(`insert into hub.leases (id, deliveries) select * from unnest($1::uuid[], $2::bytea[])`, r.lease)
}

// queueErasures has the log cleared of the persons that events say were deleted.
func (r *rows) queueErasures(batch *bulk.Batch, all []*prepared) {
	found := false
	for _, p := range all {
		if p.Type != events.TypePatientDeleted {
			continue
		}
		if !found {
			r.erasures.Reset(bulk.UUIDs, bulk.UUIDs, bulk.Texts)
			found = true
		}
		r.erasures[colErasureSeq].UUID(p.event.Seq)
		r.erasures[colErasureTenantID].UUID(p.TenantID)
		r.erasures[colErasureEnvironment].Text(string(p.Environment))
	}
	if found {
		batch.Add(erasure.Insert, r.erasures)
	}
}

// queueDeltas counts what the commit accepts, by minute, tenant and target.
func (r *rows) queueDeltas(batch *bulk.Batch, all []*prepared) {
	r.deltas.Reset(deltaTypes...)
	c := r.deltas
	for d, count := range acceptedDeltas(all) {
		c[colDeltaBucket].Time(d.bucket)
		c[colDeltaTenantID].UUID(d.tenant)
		c[colDeltaTargetID].UUID(d.target)
		c[colDeltaProduct].Text(d.product)
		c[colDeltaAccepted].Int4(count)
	}
	batch.Add(`
		insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, accepted)
		select * from unnest($1::timestamptz[], $2::uuid[], $3::uuid[], $4::text[], $5::integer[])`, c)
}
