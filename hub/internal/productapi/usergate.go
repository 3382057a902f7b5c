package productapi

import (
	"sync"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
)

// maxUserRequests is how many requests of a tenant's users a process serves at once on the routes
// of the hub. These share a few database connections with operators and with the audit log of all
// products, and anyone may become a user. A browser sends no more at once.
const maxUserRequests = 6

// userGate bounds the requests of each tenant's users that are under way.
type userGate struct {
	mu   sync.Mutex
	busy map[uuid.UUID]int // by tenant
}

// enter begins a request of a tenant's user; leave ends it. It is a [hub.ErrRateLimited] while
// [maxUserRequests] are under way.
func (g *userGate) enter(tenant uuid.UUID) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy[tenant] >= maxUserRequests {
		limited := hub.Errorf(hub.ErrRateLimited, "rate_limited", "%d requests of this account are under way already: wait for one of them.", maxUserRequests)
		limited.RetryAfter = time.Second
		return nil, limited
	}
	if g.busy == nil {
		g.busy = make(map[uuid.UUID]int)
	}
	g.busy[tenant]++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.busy[tenant]--; g.busy[tenant] == 0 {
			delete(g.busy, tenant)
		}
	}, nil
}
