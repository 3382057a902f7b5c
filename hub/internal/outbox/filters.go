package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/filter"
)

// The filters of endpoints are evaluated in the goroutine of whoever publishes and never by a
// committer, which everybody's publications wait for. A committer that meets a filter without
// a result answers errNotEvaluated: the configuration changed since, or was not cached.

// Bounds of what filters cost, in the units of CEL. A simple one costs about 10, and a unit
// takes about an eighth of a microsecond (BenchmarkCost): at 100 requests a minute, as keys
// have them, a tenant can have a third of a processor.
const (
	maxEventCost   = 250_000   // of one event: the filters beyond it are errors
	maxRequestCost = 2_000_000 // of the events of one request, which is refused then
)

var (
	errNotEvaluated = errors.New("a filter was not evaluated for the event")
	errEventCost    = fmt.Errorf("the filters of the event's endpoints cost too much together: more than %d steps", maxEventCost)
)

// filtering is what filters say about a publication.
type filtering struct {
	identity  *identity
	event     *filter.Event
	results   map[*filter.Filter]filter.Result
	cost      uint64
	unmatched int           // endpoints of the last look at the subscribers that do not get it
	failed    []failedMatch // those of them whose filter could not be evaluated
}

// failedMatch is an endpoint whose filter could not be evaluated.
type failedMatch struct {
	endpoint uuid.UUID
	filter   *filter.Filter
	err      error
}

// identity is what the hub gives an event.
type identity struct {
	id         string
	bits       uint64
	acceptedAt time.Time
}

// identityOf returns the identity that filters saw, or a new one.
func (o *Outbox) identityOf(ctx context.Context, p *Publication) (*identity, error) {
	if p.filtering != nil {
		return p.filtering.identity, nil
	}
	its := &identity{id: p.ID, acceptedAt: o.now()}
	its.bits, _ = hub.ParseEventID(p.ID) // checked on the way in
	if p.ID == "" {
		var err error
		if its.bits, its.acceptedAt, err = o.ids.Next(ctx, its.acceptedAt); err != nil {
			return nil, errUnavailable(err)
		}
		its.id = hub.FormatEventID(its.bits)
	}
	return its, nil
}

// timestamp returns the time in the envelope of an event that is accepted at a time.
func (p *Publication) timestamp(acceptedAt time.Time) time.Time {
	if p.OccurredAt.IsZero() {
		return acceptedAt
	}
	return p.OccurredAt
}

// matching returns the subscribers without a filter and those whose filter matches. It is
// errNotEvaluated if a filter has no result yet.
func (p *Publication) matching(subscribers []*directory.Target) ([]*directory.Target, error) {
	kept := subscribers[:0]
	if p.filtering != nil {
		p.filtering.unmatched, p.filtering.failed = 0, nil
	}
	for _, target := range subscribers {
		if target.Filter == nil {
			kept = append(kept, target)
			continue
		}
		if p.filtering == nil {
			return nil, errNotEvaluated
		}
		result, isKnown := p.filtering.results[target.Filter]
		switch {
		case !isKnown:
			return nil, errNotEvaluated
		case result.Matches:
			kept = append(kept, target)
			continue
		case result.Err != nil:
			p.filtering.failed = append(p.filtering.failed, failedMatch{target.ID, target.Filter, result.Err})
		}
		p.filtering.unmatched++
	}
	return kept, nil
}

// evaluateCached evaluates the filters of publications, as far as the cache knows the
// subscribers.
func (o *Outbox) evaluateCached(ctx context.Context, publications []*Publication) error {
	if first := publications[0]; first.Targets != nil || !o.directory.HasCachedFilters(first.TenantID, first.Environment) {
		return nil
	}
	return o.evaluateAll(ctx, publications)
}

// evaluateAll evaluates the filters of publications of one request. More than they may cost
// together is a [hub.ErrInvalid].
func (o *Outbox) evaluateAll(ctx context.Context, publications []*Publication) error {
	var cost uint64
	for _, p := range publications {
		if err := o.evaluate(ctx, p, &cost); err != nil {
			return err
		}
		if cost > maxRequestCost {
			return hub.Errorf(hub.ErrInvalid, "filters_too_expensive", "The filters of the endpoints cost too much for so many events; publish fewer of them at once.")
		}
	}
	return nil
}

// evaluate evaluates the filters of a publication's subscribers that have no result yet, and
// adds what they cost to cost, unless it is nil.
func (o *Outbox) evaluate(ctx context.Context, p *Publication, cost *uint64) error {
	subscribers, err := o.directory.Subscribers(ctx, p.TenantID, p.Environment, p.Type, p.Audience)
	if err != nil {
		return err
	}
	for _, target := range subscribers {
		if target.Filter == nil {
			continue
		}
		if p.filtering == nil {
			if p.filtering, err = o.newFiltering(ctx, p); err != nil {
				return err
			}
		}
		if _, isKnown := p.filtering.results[target.Filter]; isKnown {
			continue
		}
		result := filter.Result{Err: errEventCost}
		if p.filtering.cost <= maxEventCost {
			if result, err = target.Filter.Evaluate(ctx, p.filtering.event); err != nil {
				return errUnavailable(err)
			}
		}
		p.filtering.results[target.Filter] = result
		p.filtering.cost += result.Cost
		if cost != nil {
			*cost += result.Cost
		}
	}
	return nil
}

func (o *Outbox) newFiltering(ctx context.Context, p *Publication) (*filtering, error) {
	its, err := o.identityOf(ctx, p)
	if err != nil {
		return nil, err
	}
	return &filtering{
		identity: its, results: make(map[*filter.Filter]filter.Result),
		event: filter.NewEvent(hub.Event{
			ID: its.id, Product: p.Product, Type: p.Type, Time: p.timestamp(its.acceptedAt), CorrelationID: p.CorrelationID, Data: p.Data,
		}),
	}, nil
}

// countFiltered counts the deliveries of an accepted event that filters did not allow.
func (o *Outbox) countFiltered(p *Publication) {
	if p.filtering == nil || p.filtering.unmatched == 0 {
		return
	}
	o.recorder.CountFiltered(p.Product, p.filtering.unmatched, len(p.filtering.failed))
	if o.filterErrors == nil {
		return
	}
	for _, failed := range p.filtering.failed {
		o.filterErrors.Count(failed.endpoint, failed.filter, failed.err)
	}
}
