// Package inbox stores events that peers sent, each together with its effect in the
// product and its entry in the audit log. Events that arrive while a transaction is
// being committed share the next one.
package inbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/logid"
)

const (
	lanes         = 2    // transactions at once: a slow effect delays its own lane only
	maxBatch      = 128  // events in one transaction
	queueLength   = 1024 // events waiting for a lane
	commitTimeout = 10 * time.Second
)

// Outcome says what became of an event.
type Outcome string

// The outcomes, as peers are told.
const (
	Accepted  Outcome = "accepted"
	Duplicate Outcome = "duplicate" // the same id and body came before
	Ignored   Outcome = "ignored"   // stored, and of no concern to the product
)

// Handler takes in an event: the product's Handle.
type Handler func(ctx context.Context, tx pgx.Tx, e hub.Event) error

// Item is an event whose signature and form are good.
type Item struct {
	IntegrationID uuid.UUID
	Event         hub.Event
	Body          []byte            // as it came
	Hash          [sha256.Size]byte // of the body
	Known         bool              // the product handles events of this type
	Audit         audit.Entry       // of the request that brought it
}

// Inbox stores the events of one product. It is safe for concurrent use.
type Inbox struct {
	pool   *pgxpool.Pool
	handle Handler
	log    *slog.Logger
	now    func() time.Time
	queue  chan *request
	stop   chan struct{}
	done   sync.WaitGroup
}

// request is an item on its way.
type request struct {
	Item
	id      int64     // the event id's 64 bits
	seq     uuid.UUID // of the event in the log
	again   bool      // it failed before: it has its row in the log
	outcome Outcome
	err     error
	done    chan struct{}
}

// New starts the lanes; Close ends them. Transactions run on pool, whose search_path
// has the product's schema.
func New(pool *pgxpool.Pool, handle Handler, log *slog.Logger, now func() time.Time) *Inbox {
	b := &Inbox{pool: pool, handle: handle, log: log, now: now, queue: make(chan *request, queueLength), stop: make(chan struct{})}
	for range lanes {
		b.done.Go(func() { (&lane{Inbox: b}).run() })
	}
	return b
}

// Close waits for what was queued to be stored. Store must not be called any more.
func (b *Inbox) Close() {
	close(b.stop)
	b.done.Wait()
}

// errBusy answers a peer when commits cannot keep up or the database is away.
func errBusy(cause error) error {
	e := hub.Errorf(hub.ErrUnavailable, "database_unavailable", "It is not certain that the event was stored: send it again, it is taken once.")
	e.RetryAfter = time.Second
	return e.WithCause(cause)
}

// Store makes an event durable with its effect and returns after the commit. Another
// body under the same id is a [hub.ErrConflict]; an error of the product's Handle
// comes back as it is, and nothing was stored but that it came and failed.
func (b *Inbox) Store(_ context.Context, item Item) (Outcome, error) {
	bits, _ := hub.ParseEventID(item.Event.ID) // checked on the way in
	r := &request{Item: item, id: int64(bits), seq: logid.NewSeq(b.now()), done: make(chan struct{})}
	select {
	case b.queue <- r:
	default:
		return "", errBusy(errors.New("the queue of received events is full"))
	}
	// Once queued it may be stored whatever becomes of the caller: wait for it.
	<-r.done
	return r.outcome, r.err
}

// run stores batches until the inbox is closed and the queue empty.
func (l *lane) run() {
	var batch []*request
	for {
		batch = batch[:0]
		select {
		case r := <-l.queue:
			batch = append(batch, r)
		case <-l.stop:
			select {
			case r := <-l.queue:
				batch = append(batch, r)
			default:
				return
			}
		}
	fill:
		for len(batch) < maxBatch {
			select {
			case r := <-l.queue:
				batch = append(batch, r)
			default:
				break fill
			}
		}
		l.storeAll(batch)
		for _, r := range batch {
			close(r.done)
		}
	}
}
