// Package outbox makes events durable: an event and its deliveries are stored in
// one transaction, and concurrent publishes share one commit. A publisher is
// answered after the commit, never before.
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
	queueLength   = 4096 // publications waiting for a lane
	commitTimeout = 10 * time.Second
)

// Publication is an event to be stored and fanned out.
type Publication struct {
	Key            *directory.Key // whose key published it; nil for the hub itself
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
	Trace          *trace.SpanContext  // what the attempts' spans hang on; nil = not traced
}

// Result is the answer to one publication.
type Result struct {
	ID         string
	Deliveries int
	Duplicate  bool // the same publication was accepted before; this is its first answer
}

// Dispatcher takes deliveries to their receivers once they are committed.
type Dispatcher interface {
	// Reserve takes a place in this process's queue for a target; false means the
	// row is left for whoever has room.
	Reserve(target *directory.Target) bool
	// Release returns a reserved place back.
	Release(target uuid.UUID)
	// Dispatch queues committed deliveries whose places were reserved; leased stands
	// for them in the database.
	Dispatch(jobs []delivery.LeasedDelivery, lease *delivery.CommitLease)
	// AnnounceBacklog tells that committed deliveries of a target were left without a place.
	AnnounceBacklog(target uuid.UUID)
}

// Recorder counts what was accepted.
type Recorder interface {
	CountAccepted(product string, events, deliveries int)
}

// Outbox is safe for concurrent use.
type Outbox struct {
	pool      *pgxpool.Pool
	directory *directory.Directory
	dispatch  Dispatcher
	record    Recorder
	log       *slog.Logger
	now       func() time.Time
	ids       *logid.EventIDs

	plain chan *request // no idempotency keys: straight inserts
	keyed chan *request
	stop  chan struct{}
	ended chan struct{} // closed when nothing will be committed any more
	done  sync.WaitGroup
}

// request is one call: its publications are stored together or not at all.
type request struct {
	publications []*Publication
	results      []Result
	done         chan error
}

// New starts the commit lanes; Close ends them.
func New(pool *pgxpool.Pool, dir *directory.Directory, dispatch Dispatcher, record Recorder, log *slog.Logger, now func() time.Time) *Outbox {
	o := &Outbox{
		pool: pool, directory: dir, dispatch: dispatch, record: record, log: log, now: now,
		plain: make(chan *request, queueLength), keyed: make(chan *request, queueLength),
		stop: make(chan struct{}), ended: make(chan struct{}),
	}
	o.ids = logid.NewEventIDs(o.node)
	plain, keyed := &lane{Outbox: o}, &lane{Outbox: o}
	o.done.Go(func() { plain.run(o.plain, plain.commitPlain) })
	o.done.Go(func() { keyed.run(o.keyed, keyed.commitKeyed) })
	return o
}

// node returns a generator of event ids its number.
func (o *Outbox) node(ctx context.Context) (number uint64, err error) {
	err = o.pool.QueryRow(ctx, `select nextval('hub.event_nodes')`).Scan(&number)
	return number, err
}

// Close waits for what was queued to be committed. Whoever publishes afterwards is
// told that it is unavailable.
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

// errUnavailable answers a publisher when commits cannot keep up or the database is away.
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
			queue = o.keyed
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
	if err := o.wait(r); err != nil {
		return nil, err
	}
	return r.results, nil
}

var errClosed = errors.New("the hub is stopping")

// wait waits for a queued request's answer, whatever happens to the caller: it may
// be committed. One that came too late for the lanes gets none.
func (o *Outbox) wait(r *request) error {
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

// lane commits batches, one at a time: a full one costs less than two half ones.
type lane struct {
	*Outbox
	rows   rows
	fanOut int // deliveries of one publication, as the last commit had it
}

// run commits batches from a queue until the outbox is closed and the queue empty.
func (l *lane) run(queue chan *request, commit func(context.Context, []*request)) {
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
