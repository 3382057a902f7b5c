// Package turns bounds what each tenant does at the same time in a process: the rest waits for
// its turn.
package turns

import (
	"context"
	"sync"
	"time"

	"integrationhub/hub"
)

// Bounds are those of a [Gate].
type Bounds struct {
	Most    int           // what is under way at once
	Waiting int           // what waits beside it
	Wait    time.Duration // for a place
}

// Gate bounds what each tenant does at once. It is safe for concurrent use.
type Gate struct {
	bounds  Bounds
	mu      sync.Mutex
	tenants map[string]*places
}

// places are those of one tenant.
type places struct {
	taken chan struct{} // holds one value for each that is under way
	users int           // those under way, and those that wait
}

// New returns a gate with places for each tenant.
func New(bounds Bounds) *Gate {
	return &Gate{bounds: bounds, tenants: make(map[string]*places)}
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
	timeout := time.NewTimer(g.bounds.Wait)
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
		p = &places{taken: make(chan struct{}, g.bounds.Most)}
		g.tenants[tenant] = p
	}
	if p.users >= g.bounds.Most+g.bounds.Waiting {
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
	limited := hub.Errorf(hub.ErrRateLimited, "rate_limited", "%d such requests of this account are under way already: wait until they have ended.", g.bounds.Most)
	limited.RetryAfter = time.Second
	return limited
}
