package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/filter"
)

// The filters of endpoints are evaluated in the goroutine of whoever publishes and never by a
// committer, which the publications of all tenants wait for. A committer that meets a filter without
// a result answers errNotEvaluated: the configuration changed since, or was not cached.

// Bounds of what filters cost, in the units of CEL. A simple one costs about 10, and a unit
// takes about an eighth of a microsecond (BenchmarkCost): at 100 requests a minute, as keys
// have them, a tenant can have a third of a processor.
const (
	maxEventCost   = 250_000   // of one event: the filters beyond it are errors
	maxRequestCost = 2_000_000 // of the events of one request, which is refused then; or of one transaction of a product
	costlyFilter   = 1_000     // filters beyond it come after the others
)

var (
	errNotEvaluated    = errors.New("a filter was not evaluated for the event")
	errEventCost       = fmt.Errorf("the filters of the event's endpoints cost too much together: more than %d steps", maxEventCost)
	errTransactionCost = errors.New("the filters of the endpoints cost too much for so many events at once")
)

// filterResults are the results of filters for a publication.
type filterResults struct {
	identity  *identity
	event     *filter.Event
	results   map[*filter.Filter]filter.Result
	cost      uint64
	unmatched int           // endpoints whose filter did not match at the last evaluation
	failed    []failedMatch // those of them whose filter could not be evaluated
}

// failedMatch is an endpoint whose filter could not be evaluated.
type failedMatch struct {
	endpoint uuid.UUID
	filter   *filter.Filter
	err      error
}

// identity is what the hub assigns an event.
type identity struct {
	id         string
	bits       uint64
	acceptedAt time.Time
}

// identityOf returns the identity that filters saw, or a new one.
func (o *Outbox) identityOf(ctx context.Context, p *Publication) (*identity, error) {
	if p.filterResults != nil {
		return p.filterResults.identity, nil
	}
	assigned := &identity{id: p.ID, acceptedAt: o.now()}
	assigned.bits, _ = hub.ParseEventID(p.ID) // checked on the way in
	if p.ID == "" {
		var err error
		if assigned.bits, assigned.acceptedAt, err = o.ids.Next(ctx, assigned.acceptedAt); err != nil {
			return nil, errUnavailable(err)
		}
		assigned.id = hub.FormatEventID(assigned.bits)
	}
	return assigned, nil
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
	if p.filterResults != nil {
		p.filterResults.unmatched, p.filterResults.failed = 0, nil
	}
	for _, target := range subscribers {
		if target.Filter == nil {
			kept = append(kept, target)
			continue
		}
		if p.filterResults == nil {
			return nil, errNotEvaluated
		}
		result, isKnown := p.filterResults.results[target.Filter]
		switch {
		case !isKnown:
			return nil, errNotEvaluated
		case result.Matches:
			kept = append(kept, target)
			continue
		case result.Err != nil:
			p.filterResults.failed = append(p.filterResults.failed, failedMatch{target.ID, target.Filter, result.Err})
		}
		p.filterResults.unmatched++
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
	var total uint64
	for i := range publications {
		cost, err := o.evaluate(ctx, publications[i:i+1], maxEventCost, errEventCost)
		if err != nil {
			return err
		}
		if total += cost; total > maxRequestCost {
			return errFiltersTooExpensive
		}
	}
	return nil
}

// evaluateInTx evaluates the filters of publications of one transaction, which holds locks and a
// connection meanwhile. What is too much are errors of the filters: the change that is published
// has happened. Each tenant has its part of what they may cost.
func (o *Outbox) evaluateInTx(ctx context.Context, publications []*Publication) error {
	byTenant := make(map[uuid.UUID][]*Publication)
	for _, p := range publications {
		if p.Targets == nil {
			byTenant[p.TenantID] = append(byTenant[p.TenantID], p)
		}
	}
	for _, own := range byTenant {
		limit := min(maxEventCost*len(own), maxRequestCost/len(byTenant))
		if _, err := o.evaluate(ctx, own, uint64(limit), errTransactionCost); err != nil {
			return err
		}
	}
	return nil
}

// evaluation is a filter that is evaluated for a publication.
type evaluation struct {
	publication *Publication
	filter      *filter.Filter
	cost        uint64 // the last time, for any event
}

// evaluate evaluates the filters of the subscribers of publications that have no result yet, and
// returns what they cost. Once all filters of these publications cost more than a limit, the
// others are errors. Those that cost much the last time come last: they leave the others theirs.
func (o *Outbox) evaluate(ctx context.Context, publications []*Publication, limit uint64, beyond error) (cost uint64, err error) {
	for _, p := range publications {
		if p.filterResults != nil {
			cost += p.filterResults.cost
		}
	}
	before := cost
	var costly []evaluation
	for _, p := range publications {
		subscribers, err := o.directory.Subscribers(ctx, p.TenantID, p.Environment, p.Type, p.Audience)
		if err != nil {
			return 0, err
		}
		for _, target := range subscribers {
			if target.Filter == nil {
				continue
			}
			if p.filterResults == nil {
				if p.filterResults, err = o.newFilterResults(ctx, p); err != nil {
					return 0, err
				}
			}
			if last := target.Filter.LastCost(); last > costlyFilter {
				costly = append(costly, evaluation{p, target.Filter, last})
			} else if cost, err = p.evaluateOne(ctx, target.Filter, cost, limit, beyond); err != nil {
				return 0, err
			}
		}
	}
	slices.SortStableFunc(costly, func(a, b evaluation) int { return cmp.Compare(a.cost, b.cost) })
	for _, e := range costly {
		if cost, err = e.publication.evaluateOne(ctx, e.filter, cost, limit, beyond); err != nil {
			return 0, err
		}
	}
	return cost - before, nil
}

// evaluateOne evaluates a filter for a publication, unless it has a result, and returns the cost
// of all so far. Where that is beyond the limit, the result is an error.
func (p *Publication) evaluateOne(ctx context.Context, f *filter.Filter, cost, limit uint64, beyond error) (uint64, error) {
	if _, isKnown := p.filterResults.results[f]; isKnown {
		return cost, nil
	}
	result := filter.Result{Err: beyond}
	if cost <= limit {
		var err error
		if result, err = f.Evaluate(ctx, p.filterResults.event); err != nil {
			return cost, errUnavailable(err)
		}
	}
	p.filterResults.results[f] = result
	p.filterResults.cost += result.Cost
	return cost + result.Cost, nil
}

func (o *Outbox) newFilterResults(ctx context.Context, p *Publication) (*filterResults, error) {
	assigned, err := o.identityOf(ctx, p)
	if err != nil {
		return nil, err
	}
	return &filterResults{
		identity: assigned, results: make(map[*filter.Filter]filter.Result),
		event: filter.NewEvent(hub.Event{
			ID: assigned.id, Product: p.Product, Type: p.Type, Time: p.timestamp(assigned.acceptedAt), CorrelationID: p.CorrelationID, Data: p.Data,
		}),
	}, nil
}

// countFiltered counts the deliveries of an accepted event that filters did not allow.
func (o *Outbox) countFiltered(p *Publication) {
	if p.filterResults == nil || p.filterResults.unmatched == 0 {
		return
	}
	o.recorder.CountFiltered(p.Product, p.filterResults.unmatched, len(p.filterResults.failed))
	if o.filterErrors == nil {
		return
	}
	for _, failed := range p.filterResults.failed {
		o.filterErrors.Count(failed.endpoint, failed.filter, failed.err)
	}
}
