// Package outbox makes events durable: an event and its deliveries are stored in one
// transaction, and concurrent publications share one commit. Publishers get their results
// after the commit, never before.
package outbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/eventtype"
	"integrationhub/hub/internal/filter"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/module"
)

const (
	maxPublications = 256  // of a commit, unless one request has more
	maxDeliveries   = 4096 // of a commit, unless one request has more: those have a committer of their own
	commitTimeout   = 10 * time.Second
	largeTimeout    = time.Minute // of a commit with more than maxDeliveries
)

// Publication is an event to be stored and fanned out.
type Publication struct {
	Key            *directory.Key // the publisher's key; nil for the hub itself
	TenantID       uuid.UUID
	Environment    hub.Environment
	Product        string
	ExampleOf      string // set for pings that carry an example: the product whose type it is. The envelope names that product; the log names the hub
	Type           string
	CorrelationID  string
	OrderingKey    string                // "": no order
	OccurredAt     time.Time             // when it happened; zero = now
	Data           []byte                // JSON object; copied into the envelope before Publish returns
	ID             string                // chosen by the publisher, or ""
	IdempotencyKey string                // stored idempotency key, or "": not idempotent
	BodyHash       [sha256.Size]byte     // of the request, for idempotent publications
	Targets        []*directory.Target   // nil: every subscriber in the audience
	Audience       module.Audience       // of a product's event
	Priority       hub.Priority          // of its deliveries; deletions and pings are always high
	Location       string                // of the event in the request, such as body.events[3]; for refusals
	Violations     []eventtype.Violation // of its type's schema, by Key.Validation
	Allowance      *eventtype.Allowance  // of the request; set with Key
	Trace          *trace.SpanContext    // parent of the attempts' spans; nil = not traced

	filterResults *filterResults // nil: no filter was evaluated
}

// Result is the result of one publication.
type Result struct {
	ID         string
	Deliveries int
	Duplicate  bool // the same publication was accepted before; this is its first result
}

// Dispatcher sends deliveries once they are committed.
type Dispatcher interface {
	// Reserve takes a place in this process's queue for a delivery to a target. false means
	// that there is none: the delivery needs a row.
	Reserve(target *directory.Target, priority hub.Priority) bool
	// Release frees a reserved place.
	Release(target uuid.UUID, priority hub.Priority)
	// Dispatch queues committed deliveries whose places were reserved. lease covers the
	// ones without rows; nil if every one has a row.
	Dispatch(deliveries []delivery.LeasedDelivery, lease *delivery.CommitLease)
	// AnnounceBacklog notes that a target has rows without a place, and has a process claim them.
	AnnounceBacklog(target uuid.UUID, priority hub.Priority)
}

// Recorder counts what was accepted.
type Recorder interface {
	CountAccepted(product string, events, deliveries int)
	// CountInvalid counts events whose data does not agree with the schema of their type.
	CountInvalid(product, outcome string, events int)
	// CountFiltered counts deliveries that filters did not allow, and how many of them
	// because the filter could not be evaluated.
	CountFiltered(product string, unmatched, errors int)
	// CountTooManyDeliveries counts a request that would make more deliveries than its tenant
	// may make at once.
	CountTooManyDeliveries(product string)
	// CountTooExpensiveFilters counts a request whose filters cost too much.
	CountTooExpensiveFilters(product string)
}

// Outbox is safe for concurrent use.
type Outbox struct {
	pool       *pgxpool.Pool
	directory  *directory.Directory
	dispatcher Dispatcher
	recorder   Recorder
	log        *slog.Logger
	now        func() time.Time
	ids        *logid.EventIDs
	// The most deliveries of one request, unless its tenant has a limit of its own.
	maxRequestDeliveries int
	hosted               []string           // products whose events are found by who they are about
	types                *eventtype.Catalog // that hosted products' events are checked against; nil = none
	filterErrors         *filter.Errors     // nil = they are not kept

	plain      *queue // no idempotency keys: straight inserts
	idempotent *queue
	large      *queue // of either kind, with more than maxDeliveries
	locked     *lockedRequests
	stop       chan struct{}
	ended      chan struct{} // closed when the committers have ended
	done       sync.WaitGroup
}

// request is one call. Its publications are of one tenant. They are stored together or not
// at all.
type request struct {
	publications []*Publication
	results      []Result
	done         chan error
	estimate     int // deliveries at most, 0 where the cache does not know
	conflicts    int // commits that failed because its tenant changed

	lockedSince  time.Time // when a key of it, or of another request of its tenant, was locked
	lockTries    int       // how often it was tried since, waiting for the lock
	hasLockedKey bool      // an idempotency key of it was claimed by another transaction under way
	onComplete   func()    // called when the request is complete; nil = nothing
}

// isIdempotent reports whether a publication of the request has an idempotency key.
func (r *request) isIdempotent() bool {
	for _, p := range r.publications {
		if p.IdempotencyKey != "" {
			return true
		}
	}
	return false
}

// New starts the committers; Close ends them. maxDeliveries is how many deliveries one
// request may make, unless its tenant has a limit of its own.
func New(pool *pgxpool.Pool, dir *directory.Directory, dispatcher Dispatcher, recorder Recorder, log *slog.Logger, now func() time.Time, maxDeliveries int) *Outbox {
	o := &Outbox{
		pool: pool, directory: dir, dispatcher: dispatcher, recorder: recorder, log: log, now: now, maxRequestDeliveries: maxDeliveries,
		plain: newQueue(), idempotent: newQueue(), large: newQueue(), locked: newLockedRequests(log),
		stop: make(chan struct{}), ended: make(chan struct{}),
	}
	o.ids = logid.NewEventIDs(o.nextNode)
	plain, idempotent := &committer{outbox: o}, &committer{outbox: o}
	var small sync.WaitGroup
	small.Go(func() {
		plain.run(o.plain, o.stop, func(ctx context.Context, batch []*request) { plain.commitPlain(ctx, batch, divertTenants) })
	})
	small.Go(func() {
		idempotent.run(o.idempotent, o.stop, func(ctx context.Context, batch []*request) { idempotent.commitIdempotent(ctx, batch, divertTenants) })
	})
	smallEnded := make(chan struct{}) // nothing more comes to the large ones' queue
	o.done.Go(func() {
		small.Wait()
		close(smallEnded)
	})
	large, largeEnded := &committer{outbox: o, isLarge: true}, make(chan struct{})
	o.done.Go(func() {
		large.run(o.large, smallEnded, large.commitLarge)
		close(largeEnded)
	})
	locked := &committer{outbox: o, isLarge: true}
	o.done.Go(func() { locked.run(o.locked.queue, largeEnded, locked.commitLocked) })
	return o
}

// SetSubjectProducts sets the products whose events the log finds by the persons they are about.
// It must be called before anything is published.
func (o *Outbox) SetSubjectProducts(products []string) *Outbox {
	o.hosted = products
	return o
}

// SetEventTypes sets the types that events of hosted products are checked against. Those that do
// not agree are counted. It must be called before anything is published.
func (o *Outbox) SetEventTypes(types *eventtype.Catalog) *Outbox {
	o.types = types
	return o
}

// SetFilterErrors sets where filters that could not be evaluated are recorded, by endpoint. It must
// be called before anything is published.
func (o *Outbox) SetFilterErrors(errors *filter.Errors) *Outbox {
	o.filterErrors = errors
	return o
}

// nextNode returns the node number of a new generator of event ids.
func (o *Outbox) nextNode(ctx context.Context) (number uint64, err error) {
	err = o.pool.QueryRow(ctx, `select nextval('hub.event_nodes')`).Scan(&number)
	return number, err
}

// Close waits until queued publications are committed. Later ones are a
// [hub.ErrUnavailable].
func (o *Outbox) Close() {
	close(o.stop)
	o.done.Wait()
	close(o.ended)
}

// Publish stores an event with its deliveries and returns after the commit. The dispatcher then
// sends them.
func (o *Outbox) Publish(ctx context.Context, p *Publication) (Result, error) {
	results, err := o.PublishAll(ctx, []*Publication{p})
	if err != nil {
		return Result{}, err
	}
	return results[0], nil
}

// errUnavailable returns the error for publishers when commits cannot keep up or the
// database is away.
func errUnavailable(cause error) error {
	e := hub.Errorf(hub.ErrUnavailable, "database_unavailable", "It is not certain that the event was stored: send it again. With an id or an Idempotency-Key of yours it is stored once.")
	e.RetryAfter = time.Second
	return e.WithCause(cause)
}

// PublishAll is [Outbox.Publish] for several events, all or none of which are stored.
func (o *Outbox) PublishAll(ctx context.Context, publications []*Publication) ([]Result, error) {
	if len(publications) == 0 {
		return nil, nil
	}
	results, err := o.evaluateAndStore(ctx, publications)
	switch {
	case errors.Is(err, errTooManyDeliveries):
		o.recorder.CountTooManyDeliveries(publications[0].Product)
	case errors.Is(err, errFiltersTooExpensive):
		o.recorder.CountTooExpensiveFilters(publications[0].Product)
	}
	return results, err
}

func (o *Outbox) evaluateAndStore(ctx context.Context, publications []*Publication) ([]Result, error) {
	if err := o.evaluateCached(ctx, publications); err != nil {
		return nil, err
	}
	for range maxConflicts {
		results, err := o.enqueue(publications)
		if !errors.Is(err, errNotEvaluated) {
			return results, err
		}
		if err := o.evaluateAll(ctx, publications); err != nil {
			return nil, err
		}
	}
	return nil, errUnavailable(errKeptChanging)
}

// enqueue queues publications for a committer and waits for the commit.
func (o *Outbox) enqueue(publications []*Publication) ([]Result, error) {
	r := &request{publications: publications, done: make(chan error, 1)}
	if first := publications[0]; first.Targets == nil {
		r.estimate = len(publications) * o.directory.CachedTargets(first.TenantID, first.Environment)
	} else {
		r.estimate = len(publications) * len(first.Targets)
	}
	queue := o.plain
	if r.isIdempotent() {
		queue = o.idempotent
	}
	select {
	case <-o.stop:
		return nil, errUnavailable(errClosed)
	default:
	}
	if !queue.push(r) {
		return nil, errUnavailable(errors.New("the commit queue is full"))
	}
	err := o.awaitCommit(r)
	o.countViolations(publications, err)
	if err != nil {
		return nil, err
	}
	return r.results, nil
}

var errClosed = errors.New("the hub is stopping")

// awaitCommit waits until a queued request is complete, even if the caller stops waiting: it may
// be committed. A request that came after the committers ended is a [hub.ErrUnavailable].
func (o *Outbox) awaitCommit(r *request) error {
	select {
	case err := <-r.done:
		return err
	case <-o.ended:
	}
	select {
	case err := <-r.done:
		return err
	default:
		return errUnavailable(errClosed)
	}
}

// complete ends the wait of the request's caller: its results are set, or err says why it was
// not stored.
func (r *request) complete(err error) {
	if r.onComplete != nil {
		r.onComplete()
	}
	r.done <- err
}
