// Package outbox makes events durable: an event and its deliveries are stored in one
// transaction, and concurrent publications share one commit. Publishers are answered after
// the commit, never before.
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
	"integrationhub/hub/internal/logid"
)

const (
	maxPublishes  = 256  // publications in one commit
	maxDeliveries = 4096 // deliveries in one commit, about
	queueLength   = 4096 // publications waiting for a committer
	commitTimeout = 10 * time.Second
)

// Publication is an event to be stored and fanned out.
type Publication struct {
	Key            *directory.Key // the publisher's key; nil for the hub itself
	TenantID       uuid.UUID
	Environment    hub.Environment
	Product        string
	Type           string
	CorrelationID  string
	OccurredAt     time.Time           // when it happened; zero = now
	Data           []byte              // JSON object; copied into the envelope before Publish returns
	ID             string              // chosen by the publisher, or ""
	IdempotencyKey string              // stored idempotency key, or "": not idempotent
	BodyHash       [sha256.Size]byte   // of the request, for idempotent publications
	Targets        []*directory.Target // nil: every subscriber
	Trace          *trace.SpanContext  // parent of the attempts' spans; nil = not traced
}

// Result is the result of one publication.
type Result struct {
	ID         string
	Deliveries int
	Duplicate  bool // the same publication was accepted before; this is its first result
}

// Dispatcher sends deliveries once they are committed.
type Dispatcher interface {
	// Reserve takes a place in this process's queue for a target. false means that there
	// is none: the delivery needs a row.
	Reserve(target *directory.Target) bool
	// Release frees a reserved place.
	Release(target uuid.UUID)
	// Dispatch queues committed deliveries whose places were reserved. lease covers the
	// ones without rows; nil if every one has a row.
	Dispatch(jobs []delivery.LeasedDelivery, lease *delivery.CommitLease)
	// AnnounceBacklog wakes this process and others for rows of a target without a place.
	AnnounceBacklog(target uuid.UUID)
}

// Recorder counts what was accepted.
type Recorder interface {
	CountAccepted(product string, events, deliveries int)
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

	plain      chan *request // no idempotency keys: straight inserts
	idempotent chan *request
	stop       chan struct{}
	ended      chan struct{} // closed when the committers have ended
	done       sync.WaitGroup
}

// request is one call. Its publications are stored together or not at all.
type request struct {
	publications []*Publication
	results      []Result
	done         chan error
}

// New starts the committers; Close ends them.
func New(pool *pgxpool.Pool, dir *directory.Directory, dispatcher Dispatcher, recorder Recorder, log *slog.Logger, now func() time.Time) *Outbox {
	o := &Outbox{
		pool: pool, directory: dir, dispatcher: dispatcher, recorder: recorder, log: log, now: now,
		plain: make(chan *request, queueLength), idempotent: make(chan *request, queueLength),
		stop: make(chan struct{}), ended: make(chan struct{}),
	}
	o.ids = logid.NewEventIDs(o.nextNode)
	plain, idempotent := &committer{Outbox: o}, &committer{Outbox: o}
	o.done.Go(func() { plain.run(o.plain, plain.commitPlain) })
	o.done.Go(func() { idempotent.run(o.idempotent, idempotent.commitIdempotent) })
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

// Publish stores one publication and waits for its commit.
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

// PublishAll stores publications together, all or nothing, and waits for the commit.
func (o *Outbox) PublishAll(ctx context.Context, publications []*Publication) ([]Result, error) {
	r := &request{publications: publications, done: make(chan error, 1)}
	queue := o.plain
	for _, p := range publications {
		if p.IdempotencyKey != "" {
			queue = o.idempotent
		}
	}
	select {
	case <-o.stop:
		return nil, errUnavailable(errClosed)
	default:
	}
	select {
	case queue <- r:
	default:
		return nil, errUnavailable(errors.New("the commit queue is full"))
	}
	if err := o.awaitAnswer(r); err != nil {
		return nil, err
	}
	return r.results, nil
}

var errClosed = errors.New("the hub is stopping")

// awaitAnswer waits for a queued request's answer even if the caller gives up: it may be
// committed. A request that came after the committers ended is a [hub.ErrUnavailable].
func (o *Outbox) awaitAnswer(r *request) error {
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

// committer commits batches, one at a time: a full one costs less than two half ones.
type committer struct {
	*Outbox
	rows   rows
	fanOut int // deliveries of one publication, in the last commit
}

// run commits batches from a queue until the outbox is closed and the queue empty.
func (l *committer) run(queue chan *request, commit func(context.Context, []*request)) {
	var batch []*request
	for {
		batch = batch[:0]
		select {
		case r := <-queue:
			batch = append(batch, r)
		case <-l.stop:
			select {
			case r := <-queue:
				batch = append(batch, r)
			default:
				return
			}
		}
		size, limit := len(batch[0].publications), max(1, min(maxPublishes, maxDeliveries/max(1, l.fanOut)))
	fill:
		for size < limit {
			select {
			case r := <-queue:
				batch = append(batch, r)
				size += len(r.publications)
			default:
				break fill
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
		commit(ctx, batch)
		cancel()
	}
}

func (r *request) answer(err error) { r.done <- err }
