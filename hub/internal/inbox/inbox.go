// Package inbox stores events that peers sent. Each is stored in one transaction with its
// effect in the product and its entry in the audit log. Events that arrive while
// a transaction commits share the next one.
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
	"integrationhub/hub/module"
)

const (
	writers       = 2    // transactions at once: a slow effect delays its own writer only
	maxBatch      = 128  // events in one transaction
	queueLength   = 1024 // events waiting for a writer
	commitTimeout = 10 * time.Second
)

// Outcome is the result of receiving an event.
type Outcome string

// The outcomes, as the answers to peers have them.
const (
	Accepted  Outcome = "accepted"
	Duplicate Outcome = "duplicate" // the same id and body were received before
	Ignored   Outcome = "ignored"   // stored, and the product does not handle it
)

// Handler applies an event's effect: the product's Handle.
type Handler func(ctx context.Context, tx pgx.Tx, e hub.Event) error

// Screener says what of an event may be stored: the product's ScreenEvent.
type Screener func(ctx context.Context, tx pgx.Tx, e hub.Event) (module.Screening, error)

// Item is an event whose signature and format were checked.
type Item struct {
	IntegrationID uuid.UUID
	Event         hub.Event
	Body          []byte            // as it was received
	Hash          [sha256.Size]byte // of the body
	IsHandled     bool              // the product handles events of this type
	Audit         audit.Entry       // of the request
}

// Inbox stores the events of one product. It is safe for concurrent use.
type Inbox struct {
	pool   *pgxpool.Pool
	handle Handler
	screen Screener // nil: everything may be stored
	log    *slog.Logger
	now    func() time.Time
	queue  chan *pendingEvent
	locked *lockedEvents
	stop   chan struct{}

	timeout          time.Duration // commitTimeout
	writing, waiting sync.WaitGroup
}

// pendingEvent is an item that waits for its commit.
type pendingEvent struct {
	Item
	id           int64     // the event id's 64 bits
	seq          uuid.UUID // of the event in the log
	isRedelivery bool      // its effect failed before: the log has it
	screening    module.Screening
	outcome      Outcome
	err          error
	done         chan struct{}
	lockedAt     time.Time // when it began to wait for locks; zero: it does not
}

// New starts the inbox's writers; Close ends them. Transactions run on pool, whose
// search_path has the product's schema. screen may be nil.
func New(pool *pgxpool.Pool, handle Handler, screen Screener, log *slog.Logger, now func() time.Time) *Inbox {
	b := &Inbox{pool: pool, handle: handle, screen: screen, log: log, now: now, queue: make(chan *pendingEvent, queueLength), locked: newLockedEvents(log), stop: make(chan struct{}), timeout: commitTimeout}
	for range writers {
		b.writing.Go(func() { (&writer{Inbox: b}).run() })
	}
	for range waiters {
		b.waiting.Go(func() { (&writer{Inbox: b}).runWaiter() })
	}
	return b
}

// Close waits until the queued events are stored. Store must not be called afterwards.
func (b *Inbox) Close() {
	close(b.stop)
	b.writing.Wait()
	b.locked.close()
	b.waiting.Wait()
}

// errBusy answers a peer while commits cannot keep up or the database is away.
func errBusy(cause error) error {
	e := hub.Errorf(hub.ErrUnavailable, "database_unavailable", "It is not certain that the event was stored: send it again, it is taken once.")
	e.RetryAfter = time.Second
	return e.WithCause(cause)
}

// Store stores an event with its effect and returns after the commit. Another body under
// the same id is a [hub.ErrConflict]. An error of the product's Handle is returned
// unchanged; then only the failure is stored.
func (b *Inbox) Store(_ context.Context, item Item) (Outcome, error) {
	bits, _ := hub.ParseEventID(item.Event.ID) // checked on the way in
	r := &pendingEvent{Item: item, id: int64(bits), seq: logid.NewSeq(b.now()), done: make(chan struct{})}
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
func (w *writer) run() {
	var batch []*pendingEvent
	for {
		batch = batch[:0]
		select {
		case r := <-w.queue:
			batch = w.appendFree(batch, r)
		case <-w.stop:
			select {
			case r := <-w.queue:
				batch = w.appendFree(batch, r)
			default:
				return
			}
		}
	fill:
		for len(batch) < maxBatch {
			select {
			case r := <-w.queue:
				batch = w.appendFree(batch, r)
			default:
				break fill
			}
		}
		w.storeAll(batch)
	}
}

// appendFree appends an event to a batch, unless events of its tenant wait for locks: then it
// waits with them.
func (w *writer) appendFree(batch []*pendingEvent, r *pendingEvent) []*pendingEvent {
	if w.locked.hasTenant(r.Event.TenantID) {
		w.locked.add(r)
		return batch
	}
	return append(batch, r)
}
