package inbox

import (
	"errors"
	"log/slog"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Another transaction may keep what an effect needs locked for long: the erasure of a person
// with many records, or an import. The events of other tenants must not wait for it. So a batch
// waits for locks shortly. Then the events of that tenant leave it, and waiters store them one by
// one, until commitTimeout is over for each. What arrives for the tenant meanwhile goes there too.

const (
	waiters      = 2   // transactions at once that wait for locks as long as it takes
	lockedLength = 256 // events waiting for a waiter
)

// How a transaction begins: most wait for a lock shortly.
var (
	boundLockWaits = pgx.TxOptions{BeginQuery: "begin; set local lock_timeout = '100ms'"}
	waitForLocks   = pgx.TxOptions{}
)

// errLocked is the cause of the refusal of an event while too many wait for locks.
var errLocked = errors.New("too many received events wait for what other transactions keep locked")

// lockedEvents are events whose effect waits for locks of other transactions.
type lockedEvents struct {
	queue   chan *pendingEvent
	log     *slog.Logger
	mu      sync.Mutex
	tenants map[uuid.UUID]int // how many events of each are not answered yet
}

func newLockedEvents(log *slog.Logger) *lockedEvents {
	return &lockedEvents{queue: make(chan *pendingEvent, lockedLength), log: log, tenants: make(map[uuid.UUID]int)}
}

// add queues an event, or answers it where too many wait.
func (l *lockedEvents) add(r *pendingEvent) {
	l.mu.Lock()
	if l.tenants[r.Event.TenantID]++; l.tenants[r.Event.TenantID] == 1 {
		l.log.Warn("another transaction keeps locked what a received event needs; events of this tenant wait for it", "tenant_id", r.Event.TenantID)
	}
	l.mu.Unlock()
	select {
	case l.queue <- r:
	default:
		r.outcome, r.err = "", errBusy(errLocked)
		l.answer(r)
	}
}

// answer ends the wait of an event.
func (l *lockedEvents) answer(r *pendingEvent) {
	l.mu.Lock()
	if l.tenants[r.Event.TenantID]--; l.tenants[r.Event.TenantID] == 0 {
		delete(l.tenants, r.Event.TenantID)
	}
	l.mu.Unlock()
	close(r.done)
}

// hasTenant reports whether events of a tenant wait.
func (l *lockedEvents) hasTenant(tenant uuid.UUID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tenants[tenant] > 0
}

// runWaiter stores events that wait for locks, until the queue is closed and empty.
func (w *writer) runWaiter() {
	for r := range w.locked.queue {
		if err := w.transact([]*pendingEvent{r}, waitForLocks); err != nil {
			w.fail(r, err)
		}
		w.locked.answer(r)
	}
}
