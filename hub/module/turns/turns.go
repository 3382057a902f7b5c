// Package turns is a counting semaphore for each tenant, with a bounded queue: it limits what a
// tenant does at the same time in a process.
package turns

import (
	"context"
	"sync"
	"time"

	"integrationhub/hub"
)

// Limits are those of a [Gate], for each tenant.
type Limits struct {
	MaxActive  int           // under way at once
	MaxWaiting int           // waiting beside these
	MaxWait    time.Duration // for a place
}

// Gate limits what each tenant does at once. It is safe for concurrent use.
type Gate struct {
	limits  Limits
	mu      sync.Mutex
	tenants map[string]*places
}

// places are those of one tenant.
type places struct {
	taken chan struct{} // holds one value for each that is under way
	users int           // those under way, and those that wait
}

// New returns a gate with places for each tenant.
func New(limits Limits) *Gate {
	return &Gate{limits: limits, tenants: make(map[string]*places)}
}

// Enter takes a place of a tenant, or waits for one; leave frees it. It returns a
// [hub.ErrRateLimited] if none becomes free in time.
func (g *Gate) Enter(ctx context.Context, tenant string) (leave func(), err error) {
	p, isFull := g.acquire(tenant)
	if isFull {
		return nil, g.busyError()
	}
	select {
	case p.taken <- struct{}{}: // the usual case, without a timer
		return func() { <-p.taken; g.release(tenant, p) }, nil
	default:
	}
	timeout := time.NewTimer(g.limits.MaxWait)
	defer timeout.Stop()
	select {
	case p.taken <- struct{}{}:
		return func() { <-p.taken; g.release(tenant, p) }, nil
	case <-timeout.C:
		err = g.busyError()
	case <-ctx.Done():
		err = ctx.Err()
	}
	g.release(tenant, p)
	return nil, err
}

// acquire returns the places of a tenant and keeps them until release, unless too many wait for them.
func (g *Gate) acquire(tenant string) (p *places, isFull bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p = g.tenants[tenant]
	if p == nil {
		p = &places{taken: make(chan struct{}, g.limits.MaxActive)}
		g.tenants[tenant] = p
	}
	if p.users >= g.limits.MaxActive+g.limits.MaxWaiting {
		return nil, true
	}
	p.users++
	return p, false
}

func (g *Gate) release(tenant string, p *places) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(g.tenants, tenant)
	}
}

func (g *Gate) busyError() *hub.Error {
	limited := hub.Errorf(hub.ErrRateLimited, "rate_limited", "%d such requests of this account are under way already: wait until they have ended.", g.limits.MaxActive)
	limited.RetryAfter = time.Second
	return limited
}
