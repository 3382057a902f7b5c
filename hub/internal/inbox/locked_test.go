package inbox

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/audit"
)

// lockingProduct is a product whose effects need the advisory lock of their tenant. It counts how
// often an effect began.
type lockingProduct struct {
	*Inbox
	t     *testing.T
	db    *pgxpool.Pool
	mu    sync.Mutex
	began map[uuid.UUID]int
}

const lockTenantSQL = `select pg_advisory_xact_lock(hashtextextended($1::text, 0))`

func newLockingProduct(t *testing.T) *lockingProduct {
	t.Helper()
	p := &lockingProduct{t: t, db: hubtest.Database(t), began: make(map[uuid.UUID]int)}
	p.Inbox = New(p.db, func(ctx context.Context, tx pgx.Tx, e hub.Event) error {
		p.begin(e.TenantID)
		if e.Type == "wrong" {
			return hub.Errorf(hub.ErrConflict, "wrong", "Wrong.")
		}
		_, err := tx.Exec(ctx, lockTenantSQL, e.TenantID)
		return err
	}, nil, slog.New(slog.DiscardHandler), time.Now)
	return p
}

func (p *lockingProduct) begin(tenant uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.began[tenant]++
}

func (p *lockingProduct) begun(tenant uuid.UUID) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.began[tenant]
}

// waitingEvents returns how many events wait for locks.
func (p *lockingProduct) waitingEvents() int {
	p.locked.mu.Lock()
	defer p.locked.mu.Unlock()
	return p.locked.count
}

// lock keeps the tenant's lock until the returned function is called.
func (p *lockingProduct) lock(tenant uuid.UUID) (unlock func()) {
	p.t.Helper()
	conn, err := pgx.ConnectConfig(context.Background(), p.db.Config().ConnConfig)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	lock, err := conn.Begin(context.Background())
	require.NoError(p.t, err)
	_, err = lock.Exec(context.Background(), lockTenantSQL, tenant)
	require.NoError(p.t, err)
	return func() { require.NoError(p.t, lock.Rollback(context.Background())) }
}

// stored is what became of an event.
type stored struct {
	outcome Outcome
	err     error
}

// event returns an event of a tenant's integration, which has the tenant's id.
func (p *lockingProduct) event(tenant uuid.UUID, eventType string) Item {
	body := []byte(uuid.NewString())
	return Item{
		IntegrationID: tenant, Event: hub.Event{ID: hub.NewEventID(), TenantID: tenant, Environment: hub.Live, Product: "messaging", Type: eventType}, Body: body, Hash: sha256.Sum256(body),
		IsHandled: true, Audit: audit.Entry{ActorType: audit.ActorKey, Action: "integrations.webhook", Resource: "integrations", Status: 200},
	}
}

// send stores an event in the background.
func (p *lockingProduct) send(item Item) chan stored {
	done := make(chan stored, 1)
	go func() {
		outcome, err := p.Store(context.Background(), item)
		done <- stored{outcome, err}
	}()
	return done
}

func (p *lockingProduct) sendMany(n int, tenant uuid.UUID) (list []chan stored) {
	for range n {
		list = append(list, p.send(p.event(tenant, "a.b")))
	}
	return list
}

func (p *lockingProduct) requireAccepted(list []chan stored) {
	p.t.Helper()
	for _, done := range list {
		got := <-done
		require.NoError(p.t, got.err)
		require.Equal(p.t, Accepted, got.outcome)
	}
}

// While other transactions keep locked what the events of two tenants need, as erasures do, those
// wait, more of them than there are writers; the events of others are stored, also those that came
// in one batch with a wrong one. Later events of the locked tenants cost the writers nothing.
// Afterwards all are stored, and the tenants are served as before.
func TestLockedTenantsDelayNoOther(t *testing.T) {
	t.Parallel()
	p := newLockingProduct(t)
	t.Cleanup(p.Close)
	locked, alsoLocked, free := uuid.New(), uuid.New(), uuid.New()
	unlock, unlockOther := p.lock(locked), p.lock(alsoLocked)
	wrong := p.send(p.event(free, "wrong"))
	waiting := append(p.sendMany(30, locked), p.sendMany(30, alsoLocked)...)
	for range 50 {
		p.requireAccepted(p.sendMany(1, free))
	}
	require.ErrorIs(t, (<-wrong).err, hub.ErrConflict)
	require.Eventually(t, func() bool { return p.locked.hasTenant(locked) && p.locked.hasTenant(alsoLocked) }, time.Minute, time.Millisecond)
	before := p.begun(locked)
	for range 20 {
		queued := p.waitingEvents()
		waiting = append(waiting, p.sendMany(1, locked)...)
		require.Eventually(t, func() bool { return p.waitingEvents() > queued }, time.Minute, time.Millisecond)
	}
	require.Less(t, p.begun(locked)-before, 5, "writers try later events of a locked tenant")
	p.requireAccepted(p.sendMany(1, free))
	for _, done := range waiting {
		require.Empty(t, done, "stored, or given up, before the events of others")
	}
	// A writer tries some events of a tenant before its lock is known to be kept, and a waiter one.
	require.Less(t, p.begun(locked)+p.begun(alsoLocked), 2*(2*writers+2)+1, "each event was tried")
	unlock()
	unlockOther()
	p.requireAccepted(waiting)
	require.Eventually(t, func() bool { return !p.locked.hasTenant(locked) }, time.Minute, time.Millisecond)
	p.requireAccepted(p.sendMany(10, locked))
}

// A tenant whose events wait has a limit, so that others can wait too; what is beyond it, and what
// waited for as long as a transaction may take, is the peer's to send again. It is stored then.
func TestEventsWaitForLocksSoMuchOnly(t *testing.T) {
	t.Parallel()
	p := newLockingProduct(t)
	t.Cleanup(p.Close)
	locked, other := uuid.New(), uuid.New()
	unlock, unlockOther := p.lock(locked), p.lock(other)
	waiting := p.sendMany(1, locked)
	require.Eventually(t, func() bool { return p.locked.hasTenant(locked) }, time.Minute, time.Millisecond)
	waiting = append(waiting, p.sendMany(maxLockedOfTenant-1, locked)...)
	require.Eventually(t, func() bool { return p.waitingEvents() == maxLockedOfTenant }, time.Minute, time.Millisecond)
	beyond := p.event(locked, "a.b")
	got := <-p.send(beyond)
	require.ErrorIs(t, got.err, hub.ErrUnavailable)
	others := p.sendMany(1, other)
	require.Eventually(t, func() bool { return p.locked.hasTenant(other) }, time.Minute, time.Millisecond)
	for _, done := range append(waiting, others...) {
		require.ErrorIs(t, (<-done).err, hub.ErrUnavailable, "after commitTimeout")
	}
	unlock()
	unlockOther()
	outcome, err := p.Store(context.Background(), beyond)
	require.NoError(t, err)
	require.Equal(t, Accepted, outcome)
}

// Closing waits for the events that wait for locks.
func TestCloseStoresWhatWaitsForLocks(t *testing.T) {
	t.Parallel()
	p := newLockingProduct(t)
	locked := uuid.New()
	unlock := p.lock(locked)
	waiting := p.sendMany(3, locked)
	require.Eventually(t, func() bool { return p.locked.hasTenant(locked) }, time.Minute, time.Millisecond)
	closed := make(chan struct{})
	go func() { p.Close(); close(closed) }()
	unlock()
	p.requireAccepted(waiting)
	<-closed
}

// A tenant's events are served by one waiter at a time, in the order in which they came.
func TestWaitersServeATenantEach(t *testing.T) {
	t.Parallel()
	l := newLockedEvents(slog.New(slog.DiscardHandler))
	event := func(tenant uuid.UUID) *pendingEvent {
		return &pendingEvent{Item: Item{Event: hub.Event{TenantID: tenant}}, done: make(chan struct{})}
	}
	a, b := uuid.New(), uuid.New()
	first, second, third, others := event(a), event(a), event(a), event(b)
	l.add(first)
	l.add(second)
	batch, ok := l.take()
	require.True(t, ok)
	require.Equal(t, []*pendingEvent{first, second}, batch)
	l.add(third)
	l.add(others)
	next, _ := l.take()
	require.Equal(t, []*pendingEvent{others}, next, "the first tenant is being served")
	l.answer(batch)
	<-second.done
	rest, _ := l.take()
	require.Equal(t, []*pendingEvent{third}, rest)
	l.answer(rest)
	l.answer(next)
	require.False(t, l.hasTenant(a) || l.hasTenant(b))
	l.close()
	_, ok = l.take()
	require.False(t, ok)
	for tenant := range maxLocked / maxLockedOfTenant {
		id := uuid.NewSHA1(a, []byte(fmt.Sprint(tenant)))
		for range maxLockedOfTenant {
			l.add(event(id))
		}
	}
	refused := event(b)
	l.add(refused)
	<-refused.done
	require.ErrorIs(t, refused.err, hub.ErrUnavailable)
}
