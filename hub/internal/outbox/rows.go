package outbox

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/directory"
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
	assertion          bulk.Columns
	orderPlaces        bulk.Columns // deliveries that take a place in an order
	dueLater, queued   bulk.Columns // of a day: deliveries with rows that may not be due at once, and those behind others
	leaseEntries       []byte       // the lease's deliveries, as hub.leases has them
}

// addAssertion adds the statement that fails if a tenant changed since a snapshot.
func (r *rows) addAssertion(batch *bulk.Batch, snapshot string, events []*preparedEvent) {
	r.assertion.Reset(bulk.Texts, bulk.UUIDs, bulk.Texts)
	r.assertion[0].Text(snapshot)
	seenTenants, seenProducts := make(map[uuid.UUID]bool, len(events)), make(map[string]bool, 1)
	for _, event := range events {
		if !seenTenants[event.TenantID] {
			seenTenants[event.TenantID] = true
			r.assertion[1].UUID(event.TenantID)
		}
		if !seenProducts[event.Product] {
			seenProducts[event.Product] = true
			r.assertion[2].Text(event.Product)
		}
	}
	batch.Add(directory.AssertUnchangedSQL, r.assertion)
}

// insertInParts inserts prepared events in a transaction, at most maxDeliveries at a time
// unless one event has more.
func (r *rows) insertInParts(ctx context.Context, tx pgx.Tx, events []*preparedEvent, lease *delivery.CommitLease) error {
	if lease != nil && countDeliveries(events) > maxDeliveries {
		batch := &bulk.Batch{}
		r.addLeaseInsert(batch, events, lease)
		if err := batch.RunOn(ctx, tx.Conn()); err != nil {
			return fmt.Errorf("storing the lease of %d deliveries: %w", lease.WithoutRow, err)
		}
		lease = nil // it is stored
	}
	for len(events) > 0 {
		n, deliveries := 1, len(events[0].targets)
		for n < len(events) && deliveries+len(events[n].targets) <= maxDeliveries {
			deliveries += len(events[n].targets)
			n++
		}
		batch := &bulk.Batch{}
		r.addStatements(batch, events[:n], lease)
		if err := batch.RunOn(ctx, tx.Conn()); err != nil {
			return fmt.Errorf("storing %d events: %w", n, err)
		}
		events = events[n:]
	}
	return nil
}

// addStatements adds the inserts of prepared events to a batch, with rows for the
// deliveries that the lease does not cover. The batch uses the buffers: it must have run
// before the next one is queued.
func (r *rows) addStatements(batch *bulk.Batch, events []*preparedEvent, lease *delivery.CommitLease) {
	mayBeDueLater := hasOrdered(events) || hasDeletion(events)
	for day, rest := 0, events; len(rest) > 0; day++ {
		n := 1
		for n < len(rest) && logid.SameDay(rest[0].event.Seq, rest[n].event.Seq) {
			n++
		}
		if day == len(r.events) {
			r.events, r.deliveries = append(r.events, nil), append(r.deliveries, nil)
		}
		partition := logid.Partition(rest[0].event.Seq)
		addEventInserts(batch, &r.events[day], rest[:n], partition)
		addDeliveryInserts(batch, &r.deliveries[day], rest[:n], partition)
		if mayBeDueLater {
			r.addDueLaterInserts(batch, rest[:n], partition)
		}
		rest = rest[n:]
	}
	if lease != nil {
		r.addLeaseInsert(batch, events, lease)
	}
	if countDeliveries(events) > 0 {
		r.addDeltaInserts(batch, events)
	}
	r.addErasureInserts(batch, events)
}

func countDeliveries(events []*preparedEvent) int {
	total := 0
	for _, event := range events {
		total += len(event.targets)
	}
	return total
}

// hasPriorities reports whether an event's priority is not normal. The statements for those
// that are normal, which nearly all are, do not name the column.
func hasPriorities(events []*preparedEvent) bool {
	return slices.ContainsFunc(events, func(event *preparedEvent) bool { return event.priority != hub.PriorityNormal })
}

func addEventInserts(batch *bulk.Batch, columns *bulk.Columns, events []*preparedEvent, partition string) {
	types, column, parameter := eventTypes, "", ""
	withPriority := hasPriorities(events)
	if withPriority {
		types, column, parameter = append(eventTypes[:len(eventTypes):len(eventTypes)], bulk.Int2s), ", priority", ", $12::smallint[]"
	}
	columns.Reset(types...)
	c := *columns
	for _, event := range events {
		c[colEventSeq].UUID(event.event.Seq)
		c[colEventEventID].Int8(event.event.IDBits)
		c[colEventTenantID].UUID(event.TenantID)
		c[colEventEnvironment].Text(string(event.Environment))
		c[colEventProduct].Text(event.Product)
		c[colEventEventType].Text(event.Type)
		c[colEventCorrelationID].OptionalText(event.CorrelationID)
		c[colEventDeliveries].Int4(int32(len(event.targets)))
		c[colEventBody].Bytes(event.event.Body)
		c[colEventSubjects].OptionalText(event.subjects)
		c[colEventOrderingKey].OptionalText(event.OrderingKey)
		if withPriority {
			c[colEventPriority].Int2(int16(event.priority))
		}
	}
	batch.Add(`
		insert into hub.events_`+partition+` (seq, id, tenant_id, environment, product, event_type, correlation_id, deliveries, body, subjects, ordering_key`+column+`)
		select u.seq, u.id, u.tenant, u.environment, u.product, u.type, u.correlation_id, u.deliveries, u.body, u.subjects::bigint[], u.ordering_key`+column+`
		from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::integer[], $9::bytea[], $10::text[], $11::text[]`+parameter+`)
			u(seq, id, tenant, environment, product, type, correlation_id, deliveries, body, subjects, ordering_key`+column+`)`, c)
}

// addDeliveryInserts adds rows, due at once, for the deliveries without a place in this
// process's queue.
func addDeliveryInserts(batch *bulk.Batch, columns *bulk.Columns, events []*preparedEvent, partition string) {
	types, column, parameter := deliveryTypes, "", ""
	withPriority := hasPriorities(events)
	if withPriority {
		types, column, parameter = append(deliveryTypes[:len(deliveryTypes):len(deliveryTypes)], bulk.Int2s), ", priority", ", $10::smallint[]"
	}
	columns.Reset(types...)
	c := *columns
	hasRows := false
	for _, event := range events {
		for i, target := range event.targets {
			if event.hasQueuePlace[i] || event.mayBeDueLater(i) {
				continue
			}
			hasRows = true
			addDelivery(c, event, target, logid.Delivery(event.event.Seq, i+1))
			if withPriority {
				c[colDeliveryPriority].Int2(int16(event.priority))
			}
		}
	}
	if hasRows {
		batch.Add(`
			insert into hub.deliveries_`+partition+` (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, integration`+column+`)
			select * from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::boolean[]`+parameter+`)`, c)
	}
}

// addDelivery appends the values of a delivery to columns that begin with deliveryTypes.
func addDelivery(c bulk.Columns, event *preparedEvent, target *directory.Target, id uuid.UUID) {
	c[colDeliveryID].UUID(id)
	c[colDeliveryEventID].Int8(event.event.IDBits)
	c[colDeliveryTenantID].UUID(event.TenantID)
	c[colDeliveryTargetID].UUID(target.ID)
	c[colDeliveryEnvironment].Text(string(event.Environment))
	c[colDeliveryProduct].Text(event.Product)
	c[colDeliveryEventType].Text(event.Type)
	c[colDeliveryCorrelationID].OptionalText(event.CorrelationID)
	c[colDeliveryIntegration].Bool(target.Peer != nil)
}

// addLeaseInsert adds the lease, which covers the deliveries with a place.
func (r *rows) addLeaseInsert(batch *bulk.Batch, events []*preparedEvent, lease *delivery.CommitLease) {
	r.leaseEntries = r.leaseEntries[:0]
	for _, event := range events {
		for i, target := range event.targets {
			if event.hasQueuePlace[i] {
				id := logid.Delivery(event.event.Seq, i+1)
				r.leaseEntries = append(append(r.leaseEntries, id[:]...), target.ID[:]...)
				isIntegration := byte(0)
				if target.Peer != nil {
					isIntegration = 1
				}
				r.leaseEntries = append(r.leaseEntries, isIntegration)
			}
		}
	}
	r.lease.Reset(bulk.UUIDs, bulk.Byteas)
	r.lease[colLeaseID].UUID(lease.ID)
	r.lease[colLeaseDeliveries].Bytes(r.leaseEntries)
	batch.Add(`insert into hub.leases (id, deliveries) select * from unnest($1::uuid[], $2::bytea[])`, r.lease)
}

// hasDeletion reports whether an event is the deletion of a person.
func hasDeletion(events []*preparedEvent) bool {
	return slices.ContainsFunc(events, func(event *preparedEvent) bool { return event.isDeletion })
}

// addErasureInserts requests an erasure for each patient.deleted event that is no example.
func (r *rows) addErasureInserts(batch *bulk.Batch, events []*preparedEvent) {
	hasRows := false
	for _, event := range events {
		if !event.isDeletion {
			continue
		}
		if !hasRows {
			r.erasures.Reset(bulk.UUIDs, bulk.UUIDs, bulk.Texts)
			hasRows = true
		}
		r.erasures[colErasureSeq].UUID(event.event.Seq)
		r.erasures[colErasureTenantID].UUID(event.TenantID)
		r.erasures[colErasureEnvironment].Text(string(event.Environment))
	}
	if hasRows {
		batch.Add(erasure.RequestSQL, r.erasures)
	}
}

// addDeltaInserts counts what the commit accepts, by minute, tenant and target.
func (r *rows) addDeltaInserts(batch *bulk.Batch, events []*preparedEvent) {
	r.deltas.Reset(deltaTypes...)
	c := r.deltas
	for key, count := range acceptedDeltas(events) {
		c[colDeltaBucket].Time(key.bucket)
		c[colDeltaTenantID].UUID(key.tenant)
		c[colDeltaTargetID].UUID(key.target)
		c[colDeltaProduct].Text(key.product)
		c[colDeltaAccepted].Int4(count)
	}
	batch.Add(`
		insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, accepted)
		select * from unnest($1::timestamptz[], $2::uuid[], $3::uuid[], $4::text[], $5::integer[])`, c)
}
