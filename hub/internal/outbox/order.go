package outbox

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/erasure"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/store/bulk"
)

// A delivery with an ordering key to an ordered target takes a place in the order of that
// key. The first one is the head and is sent as any other. Those behind it have rows that
// are due at infinity; the trigger hub.free_place makes the next one the head when the one
// before becomes final, in that transaction. A parked head keeps its place.

// orderPlace is the place of a delivery in the order of its target and key.
type orderPlace struct {
	number   int64 // 1 is the first that the key ever had; 0: no place
	isBehind bool  // others go first
}

// isOrdered reports whether the delivery to target i takes a place in an order.
func (p *preparedEvent) isOrdered(i int) bool { return p.OrderingKey != "" && p.targets[i].Ordered }

// isBehind reports whether the delivery to target i waits for others of its key.
func (p *preparedEvent) isBehind(i int) bool {
	return p.orderPlaces != nil && p.orderPlaces[i].isBehind
}

// mayBeDueLater reports whether the delivery to target i may become due only later: it is ordered,
// or a deletion that is held.
func (p *preparedEvent) mayBeDueLater(i int) bool { return p.isDeletion || p.isOrdered(i) }

// orderingKey returns the key by which the delivery to target i has a place; "" if it has none.
func (p *preparedEvent) orderingKey(i int) string {
	if p.isOrdered(i) {
		return p.OrderingKey
	}
	return ""
}

// hasOrdered reports whether a delivery of these events takes a place in an order.
func hasOrdered(events []*preparedEvent) bool {
	for _, event := range events {
		if event.OrderingKey == "" {
			continue
		}
		for i := range event.targets {
			if event.isOrdered(i) {
				return true
			}
		}
	}
	return false
}

// ordersOf returns the orders in which deliveries of these events take places.
func ordersOf(events []*preparedEvent) (orders []ledger.Order) {
	for _, event := range events {
		for i, target := range event.targets {
			if event.isOrdered(i) {
				orders = append(orders, ledger.Order{TargetID: target.ID, Key: event.OrderingKey})
			}
		}
	}
	return orders
}

// takePlacesSQL takes places for deliveries in the orders of their targets. The locks are
// taken in one order, so that two commits cannot wait for each other.
const takePlacesSQL = `
	insert into hub.ordering_keys as k (target_id, key, accepted, waiting, head)
	select u.target_id, u.key, count(*), count(*), (array_agg(u.id order by u.n))[1]
	from unnest($1::uuid[], $2::text[], $3::uuid[]) with ordinality u(target_id, key, id, n)
	group by 1, 2 order by 1, 2
	on conflict (target_id, key) do update set accepted = k.accepted + excluded.accepted, waiting = k.waiting + excluded.waiting,
		head = coalesce(k.head, excluded.head), used_at = now()
	returning target_id, key, accepted, waiting::bigint`

// places are those that a transaction took.
type places struct {
	counts  map[ledger.Order]int64 // how many
	next    map[ledger.Order]int64 // the number of the first one, then of those after it
	hasHead map[ledger.Order]bool  // others go first
}

// addOrderPlaces adds the statement that takes places for the ordered deliveries of prepared
// events. Once it ran, [places.assign] assigns them to the events. The keys stay locked until
// the transaction ends, so places are taken in the order of the commits.
func (r *rows) addOrderPlaces(batch *bulk.Batch, events []*preparedEvent) places {
	r.orderPlaces.Reset(bulk.UUIDs, bulk.Texts, bulk.UUIDs)
	taken := places{counts: make(map[ledger.Order]int64), next: make(map[ledger.Order]int64), hasHead: make(map[ledger.Order]bool)}
	for _, event := range events {
		event.orderPlaces = nil
		for i, target := range event.targets {
			if !event.isOrdered(i) {
				continue
			}
			taken.counts[ledger.Order{TargetID: target.ID, Key: event.OrderingKey}]++
			r.orderPlaces[0].UUID(target.ID)
			r.orderPlaces[1].Text(event.OrderingKey)
			r.orderPlaces[2].UUID(logid.Delivery(event.event.Seq, i+1))
		}
	}
	batch.AddQuery(takePlacesSQL, r.orderPlaces, func(values [][]byte) {
		order := ledger.Order{TargetID: uuid.UUID(values[0]), Key: string(values[1])}
		accepted, waiting := int64(binary.BigEndian.Uint64(values[2])), int64(binary.BigEndian.Uint64(values[3]))
		taken.next[order] = accepted - taken.counts[order] + 1
		taken.hasHead[order] = waiting > taken.counts[order]
	})
	return taken
}

// assign assigns events the places that were taken for them.
func (p places) assign(events []*preparedEvent) {
	for _, event := range events {
		for i, target := range event.targets {
			if !event.isOrdered(i) {
				continue
			}
			if event.orderPlaces == nil {
				event.orderPlaces = make([]orderPlace, len(event.targets))
			}
			order := ledger.Order{TargetID: target.ID, Key: event.OrderingKey}
			event.orderPlaces[i] = orderPlace{number: p.next[order], isBehind: p.hasHead[order]}
			p.next[order]++
			p.hasHead[order] = true
		}
	}
}

// reserveHeads reserves places in this process's queue for the heads of orders, as reserve
// does for what is not ordered. It returns the lease, a new one as of a time if there was none
// and one is needed.
func (o *Outbox) reserveHeads(events []*preparedEvent, lease *delivery.CommitLease, takenAt time.Time) *delivery.CommitLease {
	for _, event := range events {
		for i, target := range event.targets {
			if event.isDeletion || !event.isOrdered(i) || event.isBehind(i) || !o.dispatcher.Reserve(target, event.priority) {
				continue
			}
			if lease == nil {
				lease = newLease(takenAt)
			}
			event.hasQueuePlace[i] = true
			lease.WithoutRow++
		}
	}
	return lease
}

// addDueLaterInserts adds the rows of deliveries that may not be due at once: of ordered ones that the
// lease does not cover, with the places of those behind others, and of deletions.
func (r *rows) addDueLaterInserts(batch *bulk.Batch, events []*preparedEvent, partition string) {
	r.dueLater.Reset(bulk.UUIDs, bulk.Int8s, bulk.UUIDs, bulk.UUIDs, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Bools, bulk.Int2s, bulk.Texts, bulk.Bools, bulk.Bools)
	r.queued.Reset(bulk.UUIDs, bulk.Texts, bulk.Int8s, bulk.UUIDs)
	hasRows, hasQueued := false, false
	for _, event := range events {
		for i, target := range event.targets {
			if !event.mayBeDueLater(i) || event.hasQueuePlace[i] {
				continue
			}
			hasRows = true
			id := logid.Delivery(event.event.Seq, i+1)
			c := r.dueLater
			addDelivery(c, event, target, id)
			c[colDeliveryPriority].Int2(int16(event.priority))
			c[colDeliveryOrderingKey].OptionalText(event.orderingKey(i))
			c[colDeliveryBehind].Bool(event.isBehind(i))
			c[colDeliveryHeld].Bool(event.isDeletion)
			if event.isBehind(i) {
				hasQueued = true
				r.queued[0].UUID(target.ID)
				r.queued[1].Text(event.OrderingKey)
				r.queued[2].Int8(event.orderPlaces[i].number)
				r.queued[3].UUID(id)
			}
		}
	}
	if hasRows {
		batch.Add(`
			insert into hub.deliveries_`+partition+` (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, integration, priority, ordering_key, due_at)
			select id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, integration, priority, ordering_key,
				case when behind then 'infinity' when held then `+erasure.HoldUntilSQL+` else now() end
			from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::boolean[], $10::smallint[], $11::text[], $12::boolean[], $13::boolean[])
				u(id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, integration, priority, ordering_key, behind, held)`, r.dueLater)
	}
	if hasQueued {
		batch.Add(`
			insert into hub.ordering_queue (target_id, key, place, delivery_id)
			select * from unnest($1::uuid[], $2::text[], $3::bigint[], $4::uuid[])`, r.queued)
	}
}
