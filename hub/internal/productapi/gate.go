package productapi

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub"
)

// How many requests a process serves at once. A product has eight database connections, and the
// hub's routes share a few with operators: no tenant holds them all, nor do strangers. A browser
// that asks for more at once does not notice: the rest waits.
const (
	maxUserRequests     = 4 // of a tenant's users
	maxReports          = 2 // of a tenant: they read a whole year
	maxStrangerRequests = 3 // of the pages of a tenant that need no login

	maxWaiting   = 1000 // requests that wait for a place of the same kind
	placeWait    = 10 * time.Second
	reportPrefix = "reports." // of the operations that are reports, in every product
)

// paramSlug is the path parameter that names the tenant of pages without a login.
const paramSlug = "slug"

// gates bound the requests of each tenant that are under way.
type gates struct{ users, reports, strangers *gate }

func newGates() gates {
	return gates{newGate(maxUserRequests, placeWait), newGate(maxReports, placeWait), newGate(maxStrangerRequests, placeWait)}
}

// enter begins a request, after it has waited for its turn; leave ends it. Its body has arrived
// before. Requests of keys are not counted, which have their rates.
func (g gates) enter(ctx huma.Context, info *requestInfo) (leave func(), err error) {
	tenant := info.caller.TenantID.String()
	switch {
	case !info.isKnown && ctx.Param(paramSlug) != "":
		return g.strangers.enter(ctx.Context(), strings.ToLower(ctx.Param(paramSlug)))
	case !info.isKnown || info.key != nil:
		return func() {}, nil
	case !strings.HasPrefix(ctx.Operation().OperationID, reportPrefix):
		return g.users.enter(ctx.Context(), tenant)
	}
	leaveReports, err := g.reports.enter(ctx.Context(), tenant) // first: what waits here holds no place of others
	if err != nil {
		return nil, err
	}
	leaveUsers, err := g.users.enter(ctx.Context(), tenant)
	if err != nil {
		leaveReports()
		return nil, err
	}
	return func() { leaveUsers(); leaveReports() }, nil
}

// gate bounds the requests of each tenant. It is safe for concurrent use.
type gate struct {
	most    int
	wait    time.Duration
	mu      sync.Mutex
	tenants map[string]*places
}

// places are those of one tenant.
type places struct {
	taken chan struct{} // holds one value for each request under way
	users int           // requests under way, and those that wait
}

func newGate(most int, wait time.Duration) *gate {
	return &gate{most: most, wait: wait, tenants: make(map[string]*places)}
}

// enter takes a place, or waits for one; leave frees it. It is a [hub.ErrRateLimited] if none
// becomes free in time.
func (g *gate) enter(ctx context.Context, tenant string) (leave func(), err error) {
	p, isFull := g.acquire(tenant)
	if isFull {
		return nil, g.busyError()
	}
	select {
	case p.taken <- struct{}{}: // the usual case, without a timer
		return func() { <-p.taken; g.release(tenant, p) }, nil
	default:
	}
	timeout := time.NewTimer(g.wait)
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
func (g *gate) acquire(tenant string) (p *places, isFull bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p = g.tenants[tenant]
	if p == nil {
		p = &places{taken: make(chan struct{}, g.most)}
		g.tenants[tenant] = p
	}
	if p.users >= g.most+maxWaiting {
		return nil, true
	}
	p.users++
	return p, false
}

func (g *gate) release(tenant string, p *places) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(g.tenants, tenant)
	}
}

func (g *gate) busyError() *hub.Error {
	limited := hub.Errorf(hub.ErrRateLimited, "rate_limited", "%d such requests of this account are under way already: wait for one of them.", g.most)
	limited.RetryAfter = time.Second
	return limited
}
