package inbox

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Another transaction may keep what an effect needs locked for long: the erasure of a person
// with many records, or an import. The events of other tenants must not wait for it. So writers
// wait for locks shortly. Then the events of that tenant leave the batch, and waiters store them,
// a tenant at a time, until commitTimeout is over. What arrives for the tenant meanwhile goes
// there too.

const (
	waiters           = 2   // transactions at once that wait for locks as long as it takes
	maxLocked         = 256 // events that wait for locks
	maxLockedOfTenant = 64  // of them, of one tenant
)

// How a transaction begins: those of writers wait for a lock shortly.
var (
	boundLockWaits = pgx.TxOptions{BeginQuery: "begin; set local lock_timeout = '100ms'"}
	waitForLocks   = pgx.TxOptions{BeginQuery: "begin; set local lock_timeout = 0"}
)

// errLocked is the cause of the refusal of an event that waited too long for locks, or that
// found too many waiting.
var errLocked = errors.New("another transaction keeps locked what the event needs")

// lockedEvents are events whose effect waits for locks of other transactions. It is safe for
// concurrent use.
type lockedEvents struct {
	log     *slog.Logger
	mu      sync.Mutex
	changed sync.Cond // of ready and closed
	tenants map[uuid.UUID]*lockedTenant
	ready   []*lockedTenant // have events, and no waiter serves them
	count   int             // events that are not answered
	closed  bool
}

// lockedTenant is a tenant with events that are not answered.
type lockedTenant struct {
	events     []*pendingEvent // that no waiter has taken
	unanswered int             // those and the ones that a waiter has taken
}

func newLockedEvents(log *slog.Logger) *lockedEvents {
	l := &lockedEvents{log: log, tenants: make(map[uuid.UUID]*lockedTenant)}
	l.changed.L = &l.mu
	return l
}

// add queues an event, or refuses it where too many wait.
func (l *lockedEvents) add(r *pendingEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tenant := l.tenants[r.Event.TenantID]
	if l.count >= maxLocked || tenant != nil && tenant.unanswered >= maxLockedOfTenant {
		r.refuse(errLocked)
		close(r.done)
		return
	}
	if tenant == nil {
		l.log.Warn("another transaction keeps locked what a received event needs; events of this tenant wait for it", "tenant_id", r.Event.TenantID)
		tenant = &lockedTenant{}
		l.tenants[r.Event.TenantID] = tenant
	}
	r.lockedAt = time.Now()
	if tenant.unanswered == 0 {
		l.ready = append(l.ready, tenant)
		l.changed.Signal()
	}
	tenant.events = append(tenant.events, r)
	tenant.unanswered++
	l.count++
}

// take waits for events and returns those of one tenant, which no other waiter serves until
// [lockedEvents.answer]. ok is false once the queue is closed and empty.
func (l *lockedEvents) take() (batch []*pendingEvent, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.ready) == 0 {
		if l.closed {
			return nil, false
		}
		l.changed.Wait()
	}
	tenant := l.ready[0]
	l.ready = l.ready[1:]
	batch, tenant.events = tenant.events, nil
	return batch, true
}

// answer answers the events that take returned.
func (l *lockedEvents) answer(batch []*pendingEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tenant := l.tenants[batch[0].Event.TenantID]
	tenant.unanswered -= len(batch)
	l.count -= len(batch)
	switch {
	case len(tenant.events) > 0:
		l.ready = append(l.ready, tenant)
		l.changed.Signal()
	case tenant.unanswered == 0:
		delete(l.tenants, batch[0].Event.TenantID)
	}
	answerAll(batch)
}

// hasTenant reports whether events of a tenant wait.
func (l *lockedEvents) hasTenant(tenant uuid.UUID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tenants[tenant] != nil
}

// close ends take once no event waits.
func (l *lockedEvents) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
}

// runWaiter stores events that wait for locks, until their queue is closed and empty.
func (w *writer) runWaiter() {
	for {
		batch, ok := w.locked.take()
		if !ok {
			return
		}
		w.storeLocked(batch)
		w.locked.answer(batch)
	}
}

// storeLocked stores the events of one tenant in one transaction; if that fails, each in its own.
// Those that have waited for commitTimeout are refused.
func (w *writer) storeLocked(batch []*pendingEvent) {
	err := w.transact(batch, waitForLocks, batch[0].lockedAt.Add(w.timeout))
	if err == nil {
		return
	}
	for i, r := range batch {
		deadline := r.lockedAt.Add(w.timeout)
		switch {
		case time.Now().After(deadline):
			r.refuse(errLocked)
			continue
		case len(batch) > 1:
			err = w.transact(batch[i:i+1], waitForLocks, deadline)
		}
		if err != nil {
			w.fail(r, err)
		}
	}
}
