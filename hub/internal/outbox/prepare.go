package outbox

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/logid"
)

// prepared is a publication with its ids, envelope and receivers.
type prepared struct {
	*Publication
	event    *delivery.Event
	targets  []*directory.Target
	hasPlace []bool // by target: has a place in this process's queue
}

// prepare resolves a publication against the configuration as cached now.
func (o *Outbox) prepare(ctx context.Context, p *Publication) (*prepared, error) {
	targets := p.Targets
	if targets == nil {
		if p.Key != nil {
			if _, err := o.directory.Revalidate(ctx, p.Key); err != nil {
				return nil, err
			}
		}
		var err error
		if targets, err = o.directory.Subscribers(ctx, p.TenantID, p.Environment, p.Type); err != nil {
			return nil, err
		}
	}
	if len(targets) > logid.MaxDeliveries {
		return nil, hub.Errorf(hub.ErrInvalid, "too_many_endpoints", "More than %d endpoints want this event.", logid.MaxDeliveries)
	}
	now, id := o.now(), p.ID
	bits, _ := hub.ParseEventID(id) // checked on the way in
	if id == "" {
		var err error
		if bits, now, err = o.ids.Next(ctx, now); err != nil {
			return nil, errUnavailable(err)
		}
		id = hub.FormatEventID(bits)
	}
	event := &delivery.Event{
		Seq: logid.NewSeq(now), ID: id, IDBits: toInt64(bits), TenantID: p.TenantID, Environment: p.Environment,
		Product: p.Product, Type: p.Type, CorrelationID: p.CorrelationID, Trace: p.Trace,
	}
	if !p.OccurredAt.IsZero() {
		now = p.OccurredAt
	}
	event.Body = hub.AppendEnvelope(make([]byte, 0, len(p.Data)+len(p.Type)+len(p.Product)+len(p.CorrelationID)+160), hub.Event{
		ID: id, Product: p.Product, Type: p.Type, Time: now, CorrelationID: p.CorrelationID, Data: p.Data,
	})
	return &prepared{Publication: p, event: event, targets: targets, hasPlace: make([]bool, len(targets))}, nil
}

// reserve reserves places in this process's queue and returns the lease of the deliveries
// that got one; nil if none did.
func (o *Outbox) reserve(events []*prepared) *delivery.CommitLease {
	lease := &delivery.CommitLease{TakenAt: o.now()}
	for _, event := range events {
		for i, target := range event.targets {
			if event.hasPlace[i] = o.dispatcher.Reserve(target); event.hasPlace[i] {
				lease.WithoutRow++
			}
		}
	}
	if lease.WithoutRow == 0 {
		return nil
	}
	lease.ID = logid.New(lease.TakenAt)
	return lease
}

// release frees the places after a failed commit.
func (o *Outbox) release(events []*prepared) {
	for _, event := range events {
		for i, target := range event.targets {
			if event.hasPlace[i] {
				o.dispatcher.Release(target.ID)
				event.hasPlace[i] = false
			}
		}
	}
}

// dispatchCommitted dispatches the stored deliveries. The lease's local time was taken before
// the commit, so it ends before the database's.
func (l *committer) dispatchCommitted(events []*prepared, lease *delivery.CommitLease) {
	total := countDeliveries(events)
	l.fanOut = total / max(1, len(events))
	deliveries := make([]delivery.LeasedDelivery, 0, total)
	now := l.now()
	for _, event := range events {
		for i, target := range event.targets {
			if !event.hasPlace[i] {
				l.dispatcher.AnnounceBacklog(target.ID)
				continue
			}
			deliveries = append(deliveries, delivery.LeasedDelivery{
				ID: logid.Delivery(event.event.Seq, i+1), Target: target.ID, IsIntegration: target.Peer != nil, Event: event.event,
				RoundAt: now, ReadyAt: now, LeasedAt: lease.TakenAt, CommitLease: lease,
			})
		}
		l.recorder.CountAccepted(event.Product, 1, len(event.targets))
	}
	l.dispatcher.Dispatch(deliveries, lease)
	failpoint.Here("after_dispatch")
}

// deltaKey is the minute, tenant and target that accepted deliveries are counted by.
type deltaKey struct {
	bucket  time.Time
	tenant  uuid.UUID
	target  uuid.UUID
	product string
}

func acceptedDeltas(events []*prepared) map[deltaKey]int32 {
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
