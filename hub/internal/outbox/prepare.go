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

// prepared is a publication that has its ids, its envelope and its receivers.
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
		Seq: logid.NewSeq(now), ID: id, IDBits: signed(bits), TenantID: p.TenantID, Environment: p.Environment,
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

// reserve asks for places in this process's queue and gives the lease of the
// deliveries that got one; nil where none did.
func (o *Outbox) reserve(all []*prepared) *delivery.CommitLease {
	lease := &delivery.CommitLease{TakenAt: o.now()}
	for _, p := range all {
		for i, target := range p.targets {
			if p.hasPlace[i] = o.dispatch.Reserve(target); p.hasPlace[i] {
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

// release returns the places back after a commit that did not happen.
func (o *Outbox) release(all []*prepared) {
	for _, p := range all {
		for i, target := range p.targets {
			if p.hasPlace[i] {
				o.dispatch.Release(target.ID)
				p.hasPlace[i] = false
			}
		}
	}
}

// committed hands the stored deliveries on. The lease was taken before the commit,
// so locally it ends before the database's.
func (l *lane) committed(all []*prepared, lease *delivery.CommitLease) {
	total := deliveriesOf(all)
	l.fanOut = total / max(1, len(all))
	jobs := make([]delivery.LeasedDelivery, 0, total)
	now := l.now()
	for _, p := range all {
		for i, target := range p.targets {
			if !p.hasPlace[i] {
				l.dispatch.AnnounceBacklog(target.ID)
				continue
			}
			jobs = append(jobs, delivery.LeasedDelivery{
				ID: logid.Delivery(p.event.Seq, i+1), Target: target.ID, IsIntegration: target.Peer != nil, Event: p.event,
				RoundAt: now, ReadyAt: now, LeasedAt: lease.TakenAt, CommitLease: lease,
			})
		}
		l.record.CountAccepted(p.Product, 1, len(p.targets))
	}
	l.dispatch.Dispatch(jobs, lease)
	failpoint.Here("after_dispatch")
}

// delta counts what a commit accepted, by minute, tenant and target.
type delta struct {
	bucket  time.Time
	tenant  uuid.UUID
	target  uuid.UUID
	product string
}

func acceptedDeltas(all []*prepared) map[delta]int32 {
	counts := make(map[delta]int32)
	for _, p := range all {
		bucket := logid.Time(p.event.Seq).Truncate(time.Minute)
		for _, target := range p.targets {
			counts[delta{bucket, p.TenantID, target.ID, p.Product}]++
		}
	}
	return counts
}

// signed keeps the 64 bits of an event id in PostgreSQL's signed bigint.
func signed(bits uint64) int64 {
	if bits > math.MaxInt64 {
		return -int64(math.MaxUint64-bits) - 1
	}
	return int64(bits)
}
