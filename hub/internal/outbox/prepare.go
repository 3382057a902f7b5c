package outbox

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/subject"
)

// preparedEvent is a publication with its ids, envelope and receivers.
type preparedEvent struct {
	*Publication
	event         *delivery.Event
	priority      hub.Priority // the publication's, or that of its type
	isDeletion    bool         // a person's deletion: sent when what is under way about the person has ended
	targets       []*directory.Target
	hasQueuePlace []bool       // by target: has a place in this process's queue
	orderPlaces   []orderPlace // by target, in the order of its key; nil: none of them is ordered, or not taken yet
	subjects      string       // who it is about, as an array for hub.events; "": about no person, or its product is not hosted
}

// resolveReceivers returns the receivers of each publication of a request by the configuration as
// cached now, and how many deliveries that makes. It stops at the tenant's limit: a list
// that nobody may have is not made.
func (o *Outbox) resolveReceivers(ctx context.Context, publications []*Publication) (targets [][]*directory.Target, deliveries int, err error) {
	targets = make([][]*directory.Target, len(publications))
	for i, p := range publications {
		if targets[i], err = o.receivers(ctx, p); err != nil {
			return nil, 0, err
		}
		if len(targets[i]) == 0 {
			continue
		}
		limit := o.maxRequestDeliveries
		if own := targets[i][0].Limits.DeliveriesPerRequest; own > 0 {
			limit = own
		}
		deliveries += len(targets[i])
		if deliveries > limit || len(targets[i]) > logid.MaxDeliveries {
			return nil, 0, tooManyDeliveries(min(limit, logid.MaxDeliveries))
		}
	}
	return targets, deliveries, nil
}

// receivers returns the targets that a publication is delivered to; errNotEvaluated if a
// filter among them was not evaluated for it.
func (o *Outbox) receivers(ctx context.Context, p *Publication) ([]*directory.Target, error) {
	if p.Targets != nil {
		return p.Targets, nil
	}
	if p.Key != nil {
		key, err := o.directory.Revalidate(ctx, p.Key)
		if err != nil {
			return nil, err
		}
		if err := p.validate(key.Validation); err != nil {
			return nil, err
		}
	}
	subscribers, err := o.directory.Subscribers(ctx, p.TenantID, p.Environment, p.Type, p.Audience)
	if err != nil {
		return nil, err
	}
	return p.matching(subscribers)
}

// prepareEvents prepares publications for their receivers.
func (o *Outbox) prepareEvents(ctx context.Context, publications []*Publication, targets [][]*directory.Target) ([]*preparedEvent, error) {
	events := make([]*preparedEvent, len(publications))
	for i, publication := range publications {
		var err error
		if events[i], err = o.prepare(ctx, publication, targets[i]); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// prepare prepares a publication for its receivers.
func (o *Outbox) prepare(ctx context.Context, p *Publication, targets []*directory.Target) (*preparedEvent, error) {
	its, err := o.identityOf(ctx, p)
	if err != nil {
		return nil, err
	}
	id, bits, now := its.id, its.bits, its.acceptedAt
	event := &delivery.Event{
		Seq: logid.NewSeq(now), ID: id, IDBits: toInt64(bits), TenantID: p.TenantID, Environment: p.Environment,
		Product: p.Product, Type: p.Type, CorrelationID: p.CorrelationID, Trace: p.Trace,
	}
	event.Body = hub.AppendEnvelope(make([]byte, 0, len(p.Data)+len(p.Type)+len(p.Product)+len(p.CorrelationID)+160), hub.Event{
		ID: id, Product: cmp.Or(p.ExampleOf, p.Product), Type: p.Type, Time: p.timestamp(now), CorrelationID: p.CorrelationID, Data: p.Data,
	})
	result := &preparedEvent{Publication: p, event: event, priority: priorityOf(p), isDeletion: isDeletion(p), targets: targets, hasQueuePlace: make([]bool, len(targets))}
	if slices.Contains(o.hosted, p.Product) {
		result.subjects = subject.Array(subject.Scope{TenantID: p.TenantID, Environment: p.Environment}.Terms(p.Data))
	}
	return result, nil
}

// isDeletion reports whether a publication is the deletion of a person, which starts an erasure.
func isDeletion(p *Publication) bool {
	return p.Type == events.TypePatientDeleted && p.ExampleOf == ""
}

// priorityOf returns the priority of a publication's deliveries. A deletion goes before all
// that waits, whoever publishes it; so does a ping.
func priorityOf(p *Publication) hub.Priority {
	if p.Type == events.TypePatientDeleted || p.Type == delivery.TypePing || p.ExampleOf != "" {
		return hub.PriorityHigh
	}
	return p.Priority
}

// reserve reserves places in this process's queue and returns the lease of the deliveries
// that got one; nil if none did.
func (o *Outbox) reserve(events []*preparedEvent) *delivery.CommitLease {
	lease := newLease(o.now())
	for _, event := range events {
		for i, target := range event.targets {
			if event.isDeletion || event.isOrdered(i) {
				continue // reserveHeads does for ordered ones, once it is known which they are
			}
			if event.hasQueuePlace[i] = o.dispatcher.Reserve(target, event.priority); event.hasQueuePlace[i] {
				lease.WithoutRow++
			}
		}
	}
	if lease.WithoutRow == 0 {
		return nil
	}
	return lease
}

// newLease returns a lease that covers nothing yet.
func newLease(takenAt time.Time) *delivery.CommitLease {
	return &delivery.CommitLease{ID: logid.New(takenAt), TakenAt: takenAt}
}

// release frees the places after a failed commit.
func (o *Outbox) release(events []*preparedEvent) {
	for _, event := range events {
		for i, target := range event.targets {
			if event.hasQueuePlace[i] {
				o.dispatcher.Release(target.ID, event.priority)
				event.hasQueuePlace[i] = false
			}
		}
	}
}

// dispatchCommitted dispatches the stored deliveries. The lease's local time was taken before
// the commit, so it ends before the database's.
func (c *committer) dispatchCommitted(events []*preparedEvent, lease *delivery.CommitLease) {
	deliveries := make([]delivery.LeasedDelivery, 0, countDeliveries(events))
	now := c.outbox.now()
	for _, event := range events {
		for i, target := range event.targets {
			if !event.hasQueuePlace[i] {
				if !event.isDeletion && !event.isBehind(i) {
					c.outbox.dispatcher.AnnounceBacklog(target.ID, event.priority)
				}
				continue
			}
			deliveries = append(deliveries, delivery.LeasedDelivery{
				ID: logid.Delivery(event.event.Seq, i+1), TargetID: target.ID, IsIntegration: target.Peer != nil, Priority: event.priority, Event: event.event,
				RoundAt: now, ReadyAt: now, LeasedAt: lease.TakenAt, CommitLease: lease, OrderingKey: event.orderingKey(i),
			})
		}
		c.outbox.recorder.CountAccepted(event.Product, 1, len(event.targets))
		c.outbox.countFiltered(event.Publication)
	}
	c.outbox.dispatcher.Dispatch(deliveries, lease)
	failpoint.Here("after_dispatch")
}

// deltaKey is the minute, tenant and target that accepted deliveries are counted by.
type deltaKey struct {
	bucket  time.Time
	tenant  uuid.UUID
	target  uuid.UUID
	product string
}

func acceptedDeltas(events []*preparedEvent) map[deltaKey]int32 {
	counts := make(map[deltaKey]int32)
	for _, event := range events {
		bucket := logid.Time(event.event.Seq).Truncate(time.Minute)
		for _, target := range event.targets {
			counts[deltaKey{bucket, event.TenantID, target.ID, event.Product}]++
		}
	}
	return counts
}

// toInt64 returns the 64 bits of an event id as PostgreSQL's signed bigint.
func toInt64(bits uint64) int64 {
	if bits > math.MaxInt64 {
		return -int64(math.MaxUint64-bits) - 1
	}
	return int64(bits)
}
