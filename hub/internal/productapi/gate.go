package productapi

import (
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub/module"
	"integrationhub/hub/module/turns"
)

// How many requests a process serves at once. A product has eight database connections, and the
// hub's routes share ten with operators: no tenant holds them all, nor do callers of its API without
// a login. A browser that asks for more at once does not notice: the rest waits.
const (
	maxUserRequests     = 4 // of a tenant's users
	maxReports          = 2 // of a tenant: they read a whole year
	maxHubRequests      = 6 // of a tenant's users, on the hub's routes
	maxStrangerRequests = 3 // of the operations of a tenant that need no login
	maxSlowRequests     = 8 // of a tenant's users, that wait for other systems and hold no connection meanwhile
	maxSlowStrangers    = 4 // the same, of strangers

	maxWaiting   = 1000 // requests that wait for a place of the same kind
	placeWait    = 10 * time.Second
	reportPrefix = "reports." // of the operations that are reports, in every product
)

// paramSlug is the path parameter that names the tenant of pages without a login.
const paramSlug = "slug"

// gates bound the requests of each tenant that are under way, by what they take. Operations that
// wait for other systems have places of their own: where these hang, all else goes on.
type gates struct{ users, reports, hub, slow, strangers, slowStrangers *turns.Gate }

func newGates() gates {
	of := func(most int) *turns.Gate {
		return turns.New(turns.Bounds{Most: most, Waiting: maxWaiting, Wait: placeWait})
	}
	return gates{
		users: of(maxUserRequests), reports: of(maxReports), hub: of(maxHubRequests), slow: of(maxSlowRequests),
		strangers: of(maxStrangerRequests), slowStrangers: of(maxSlowStrangers),
	}
}

// enter begins a request, after it has waited for its turn; leave ends it. Its body has arrived
// before. Requests of keys are not counted, which have their rates.
func (g gates) enter(ctx huma.Context, info *requestInfo) (leave func(), err error) {
	op, tenant := ctx.Operation(), info.caller.TenantID.String()
	isSlow := op.Metadata[module.MetadataCallsOut] == true
	switch slug := strings.ToLower(ctx.Param(paramSlug)); {
	case !info.isKnown && slug == "" || info.key != nil:
		return func() {}, nil
	case !info.isKnown && isSlow:
		return g.slowStrangers.Enter(ctx.Context(), slug)
	case !info.isKnown:
		return g.strangers.Enter(ctx.Context(), slug)
	case isSlow:
		return g.slow.Enter(ctx.Context(), tenant)
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
