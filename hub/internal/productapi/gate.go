package productapi

import (
	"context"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub/module"
	"integrationhub/hub/module/turns"
)

// How many requests of a tenant a process serves at once. A product has eight database connections,
// and the hub's routes share ten with operators: users and anonymous callers of a tenant do not fill
// them. Requests that call out hold a connection for moments only. Pages of a tenant count as
// operations without a login. A browser that asks for more at once does not notice: the rest waits.
const (
	maxUserRequests      = 4 // of a tenant's users
	maxReports           = 2 // of a tenant: they read a whole year
	maxHubRequests       = 6 // of a tenant's users, on the hub's routes
	maxAnonymousRequests = 3 // of the operations of a tenant that need no login
	maxCallsOut          = 8 // of a tenant's users, that wait for other systems
	maxAnonymousCallsOut = 4 // the same, without a login

	maxWaiting   = 1000 // requests that wait for a place of the same kind
	maxPlaceWait = 10 * time.Second
	reportPrefix = "reports." // of the operations that are reports, in every product
)

// paramSlug is the path parameter that names the tenant of pages without a login.
const paramSlug = "slug"

// gates bound the requests of each tenant that are under way, by what they take. Operations that
// wait for other systems have places of their own: where these hang, all else goes on.
type gates struct{ users, reports, hub, callsOut, anonymous, anonymousCallsOut *turns.Gate }

func newGates() gates {
	of := func(most int) *turns.Gate {
		return turns.New(turns.Limits{MaxActive: most, MaxWaiting: maxWaiting, MaxWait: maxPlaceWait})
	}
	return gates{
		users: of(maxUserRequests), reports: of(maxReports), hub: of(maxHubRequests), callsOut: of(maxCallsOut),
		anonymous: of(maxAnonymousRequests), anonymousCallsOut: of(maxAnonymousCallsOut),
	}
}

// enter begins a request, after it has waited for its turn; leave ends it. Its body has arrived
// before. Requests of keys are not counted, which have their rates.
func (g gates) enter(ctx huma.Context, info *requestInfo) (leave func(), err error) {
	op, tenant := ctx.Operation(), info.caller.TenantID.String()
	callsOut := op.Metadata[module.MetadataCallsOut] == true
	switch {
	case info.key != nil:
		return func() {}, nil
	case !info.isKnown:
		return g.enterAnonymous(ctx.Context(), ctx.Param(paramSlug), callsOut)
	case callsOut:
		return g.callsOut.Enter(ctx.Context(), tenant)
	case strings.HasPrefix(op.Path, interfacePath):
		return g.hub.Enter(ctx.Context(), tenant)
	case !strings.HasPrefix(op.OperationID, reportPrefix):
		return g.users.Enter(ctx.Context(), tenant)
	}
	leaveReports, err := g.reports.Enter(ctx.Context(), tenant) // first: what waits here holds no place of others
	if err != nil {
		return nil, err
	}
	leaveUsers, err := g.users.Enter(ctx.Context(), tenant)
	if err != nil {
		leaveReports()
		return nil, err
	}
	return func() { leaveUsers(); leaveReports() }, nil
}

// enterAnonymous is [gates.enter] for a request without a login; "" names no tenant.
func (g gates) enterAnonymous(ctx context.Context, slug string, callsOut bool) (leave func(), err error) {
	switch slug = strings.ToLower(slug); {
	case slug == "":
		return func() {}, nil
	case callsOut:
		return g.anonymousCallsOut.Enter(ctx, slug)
	}
	return g.anonymous.Enter(ctx, slug)
}

// EnterPage takes a place for one of the product's pages; see [module.EnterPage].
func (p *Product) EnterPage(ctx context.Context, slug string, callsOut bool) (leave func(), err error) {
	return p.gates.enterAnonymous(ctx, slug, callsOut)
}
