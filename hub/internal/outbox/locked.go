package outbox

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/ledger"
)

// Other transactions may keep the key of an order, or an idempotency key, locked for long: a
// product's until it ends, that of a process that is frozen or cut off until PostgreSQL ends
// its session. The commits of others must not wait for it. So a commit waits for keys shortly;
// then the requests whose keys are locked leave it, and a committer of their own tries them
// until they are stored, or commitTimeout is over. What their tenants publish with such keys
// meanwhile goes there too.

// oneByOneLockWaitSQL is ledger.BoundLockWaitsSQL for many requests that are stored one by one.
const oneByOneLockWaitSQL = `select set_config('lock_timeout', '10ms', true)`

// errLocked is the cause of the refusal of a request whose keys stay locked.
var errLocked = errors.New("another transaction keeps an ordering key or an idempotency key locked")

// lockedRequests are requests that wait for keys that other transactions have locked.
type lockedRequests struct {
	*queue
	log     *slog.Logger
	timeout time.Duration // after which one is refused
	mu      sync.Mutex
	tenants map[uuid.UUID]int // requests that are not complete yet, of each
}

func newLockedRequests(log *slog.Logger) *lockedRequests {
	return &lockedRequests{queue: newQueue(), log: log, timeout: commitTimeout, tenants: make(map[uuid.UUID]int)}
}

// add queues a request, or refuses it if it has waited for too long.
func (l *lockedRequests) add(r *request) {
	if r.lockedSince.IsZero() {
		tenant := r.publications[0].TenantID
		r.lockedSince, r.onComplete = time.Now(), func() { l.count(tenant, -1) }
		l.count(tenant, 1)
	}
	if time.Since(r.lockedSince) > l.timeout || !l.push(r) {
		r.complete(errUnavailable(errLocked))
	}
}

// count changes how many requests of a tenant wait.
func (l *lockedRequests) count(tenant uuid.UUID, change int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tenants[tenant] == 0 {
		l.log.Warn("another transaction keeps an ordering key or an idempotency key locked; requests of this tenant wait for it", "tenant_id", tenant)
	}
	if l.tenants[tenant] += change; l.tenants[tenant] == 0 {
		delete(l.tenants, tenant)
	}
}

// hasTenant reports whether requests of a tenant wait.
func (l *lockedRequests) hasTenant(tenant uuid.UUID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tenants[tenant] > 0
}

// lockPolicy is what a committer does with prepared requests whose keys may be locked.
type lockPolicy int

const (
	// divertTenants hands requests with keys to the committer of locked requests while others of
	// their tenants wait there.
	divertTenants lockPolicy = iota
	// collectLocked leaves out the requests whose keys are locked now, as stillLocked.
	collectLocked
	// waitForLocks leaves out none: the commit waits for the locks.
	waitForLocks
)

// setAsideLocked leaves out the requests that wait for locked keys, by a policy. It returns the
// others, which are stored now.
func (c *committer) setAsideLocked(ctx context.Context, requests []*preparedRequest, policy lockPolicy) []*preparedRequest {
	switch policy {
	case divertTenants:
		return slices.DeleteFunc(requests, c.divert)
	case collectLocked:
		free, locked, err := c.splitLocked(ctx, requests)
		if err != nil {
			return requests // the commit fails too, and completes them
		}
		for _, r := range locked {
			c.stillLocked = append(c.stillLocked, r.request)
		}
		return free
	case waitForLocks:
	}
	return requests
}

// divert hands a request with keys to the committer of locked requests if others of its tenant
// wait there. It reports whether it did.
func (c *committer) divert(r *preparedRequest) bool {
	waits := (r.isIdempotent() || hasOrdered(r.events)) && c.outbox.locked.hasTenant(r.publications[0].TenantID)
	if waits {
		c.outbox.locked.add(r.request)
	}
	return waits
}

// splitLocked splits requests by whether their keys are free. Of an ordering key that no
// committed transaction used this is not known: it counts as locked.
func (c *committer) splitLocked(ctx context.Context, requests []*preparedRequest) (free, locked []*preparedRequest, err error) {
	states, err := ledger.OrderStates(ctx, c.outbox.pool, ordersOf(eventsOf(requests)))
	if err != nil {
		return nil, nil, err
	}
	for _, r := range requests {
		if r.hasLockedKey || slices.ContainsFunc(ordersOf(r.events), func(order ledger.Order) bool { return !states[order].IsFree }) {
			locked = append(locked, r)
		} else {
			free = append(free, r)
		}
	}
	return free, locked, nil
}

// storeOneByOne stores requests one by one, as another transaction claims the idempotency key of
// one of them. That one waits.
func (c *committer) storeOneByOne(ctx context.Context, snapshot string, requests []*preparedRequest) {
	if len(requests) == 1 {
		requests[0].hasLockedKey = true
		c.outbox.locked.add(requests[0].request)
		return
	}
	for _, r := range requests {
		c.storeClaimingKeys(ctx, snapshot, []*preparedRequest{r}, oneByOneLockWaitSQL)
	}
}

// commitLocked stores the requests of a batch whose keys are free by now. Of the others it
// tries the one that was tried least, waiting for the lock.
func (c *committer) commitLocked(ctx context.Context, batch []*request) {
	c.stillLocked = nil
	c.commitPlainAndIdempotent(ctx, batch, collectLocked)
	if len(c.stillLocked) > 0 {
		next := slices.MinFunc(c.stillLocked, func(a, b *request) int { return cmp.Compare(a.lockTries, b.lockTries) })
		for _, r := range c.stillLocked {
			if r != next {
				c.outbox.locked.add(r)
			}
		}
		next.lockTries++
		c.commitPlainAndIdempotent(ctx, []*request{next}, waitForLocks)
	}
	c.rows = rows{} // its buffers have the size of the largest
}

// commitPlainAndIdempotent stores requests of both kinds.
func (c *committer) commitPlainAndIdempotent(ctx context.Context, batch []*request, policy lockPolicy) {
	var plain, idempotent []*request
	for _, r := range batch {
		if r.isIdempotent() {
			idempotent = append(idempotent, r)
		} else {
			plain = append(plain, r)
		}
	}
	c.commitIdempotent(ctx, idempotent, policy)
	c.commitPlain(ctx, plain, policy)
}
