package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/store"
)

// access tells which operators may call a row.
type access int

const (
	anyone    access = iota // no credentials
	operators               // both roles: reading, retrying, replaying, one's own session
	admins                  // administrators only
	keysOnly                // no operator, only keys with the row's scope
)

// noKeys is the scope of rows that no key may call.
const noKeys = ""

// route is one row of the table. Its action is the operation's id and what the audit
// log calls it: resource, dot, verb.
type route struct {
	method  string
	path    string
	allow   access
	scope   string // keys with this scope may call it too
	status  int    // of success
	action  string
	summary string
	bind    binder
}

// Security schemes of the OpenAPI document.
const (
	schemeBearer = "bearer"
	schemeKey    = "key"
)

// actionLogin is recorded in the audit log also when it fails.
const actionLogin = "auth.login"

// Handshakes, which wait for a peer.
const (
	actionConnect = "integrations.connect"
	actionLink    = "integrations.link"
)

// actionLookup reads what people told products: it is limited for each operator, and
// recorded in the audit log though it changes nothing.
const actionLookup = "lookup.phone"

// actionStream is answered with [eventStream] instead of JSON.
const actionStream = "events.stream"

const (
	get    = http.MethodGet
	post   = http.MethodPost
	put    = http.MethodPut
	remove = http.MethodDelete
)

// routes is the table of the whole interface.
func (a *API) routes() []route {
	rows := []route{
		{post, "/api/v1/auth/login", anyone, noKeys, 200, actionLogin, "Log in with e-mail address and password", handle(a.login)},
		{post, "/api/v1/auth/refresh", anyone, noKeys, 200, "auth.refresh", "Trade a refresh token for new tokens", handle(a.refresh)},
		{post, "/api/v1/auth/logout", operators, noKeys, 204, "auth.logout", "End this login", handle(a.logout)},
		{get, "/api/v1/auth/me", operators, noKeys, 200, "auth.me", "Who is logged in", handle(a.me)},

		{get, "/api/v1/operators", operators, noKeys, 200, "operators.list", "List operators", handle(a.listOperators)},
		{post, "/api/v1/operators", admins, noKeys, 201, "operators.create", "Make an operator", handle(a.createOperator)},
		{put, "/api/v1/operators/{id}", admins, noKeys, 200, "operators.update", "Change an operator", handle(a.updateOperator)},
		{remove, "/api/v1/operators/{id}", admins, noKeys, 204, "operators.delete", "Delete an operator", handle(a.deleteOperator)},

		{get, "/api/v1/products", operators, noKeys, 200, "products.list", "List products", handle(a.listProducts)},
		{post, "/api/v1/products", admins, noKeys, 201, "products.create", "Register an external product", handle(a.createProduct)},

		{get, "/api/v1/tenants", operators, noKeys, 200, "tenants.list", "List tenants", handle(a.listTenants)},
		{post, "/api/v1/tenants", admins, noKeys, 201, "tenants.create", "Make a tenant of an external product", handle(a.createTenant)},
		{get, "/api/v1/tenants/{id}", operators, noKeys, 200, "tenants.get", "Show a tenant", handle(a.getTenant)},

		{get, "/api/v1/keys", operators, noKeys, 200, "keys.list", "List API keys", handle(a.listKeys)},
		{post, "/api/v1/keys", admins, noKeys, 201, "keys.create", "Make an API key; the answer shows it once", handle(a.createKey)},
		{remove, "/api/v1/keys/{id}", admins, noKeys, 204, "keys.revoke", "Revoke an API key at once", handle(a.revokeKey)},
		{post, "/api/v1/keys/{id}/rotate", admins, noKeys, 201, "keys.rotate", "Replace an API key, the old one living on for a while", handle(a.rotateKey)},

		{get, "/api/v1/integrations", operators, noKeys, 200, "integrations.list", "List integrations of all tenants", handle(a.listIntegrations)},
		{post, "/api/v1/integrations/connect", admins, noKeys, 200, actionConnect, "Connect a tenant to a peer product", handle(a.connectIntegration)},
		{post, "/api/v1/integrations/link", admins, noKeys, 200, actionLink, "Connect two tenants that both live in this hub", handle(a.linkIntegrations)},
		{get, "/api/v1/integrations/{id}", operators, noKeys, 200, "integrations.get", "Show an integration", handle(a.getIntegration)},
		{remove, "/api/v1/integrations/{id}", admins, noKeys, 200, "integrations.revoke", "End an integration; the peer is told", handle(a.revokeIntegration)},
		{post, "/api/v1/integrations/{id}/test", admins, noKeys, 200, "integrations.test", "Ask the peer how it does, now", handle(a.testIntegration)},
		{post, "/api/v1/integrations/{id}/rotate-secret", admins, noKeys, 200, "integrations.rotate-secret", "Make a new webhook secret and tell the peer; the answer shows it once", handle(a.rotateIntegrationSecret)},
		{post, "/api/v1/integrations/{id}/enable", admins, noKeys, 200, "integrations.enable", "Take an integration into use again", handle(a.enableIntegration)},
		{post, "/api/v1/integrations/{id}/disable", admins, noKeys, 200, "integrations.disable", "Stop an integration until it is enabled", handle(a.disableIntegration)},

		{get, "/api/v1/endpoints", operators, keys.ScopeEndpoints, 200, "endpoints.list", "List endpoints", handle(a.listEndpoints)},
		{post, "/api/v1/endpoints", admins, keys.ScopeEndpoints, 201, "endpoints.create", "Subscribe an endpoint; the answer shows its secret once", handle(a.createEndpoint)},
		{get, "/api/v1/endpoints/{id}", operators, keys.ScopeEndpoints, 200, "endpoints.get", "Show an endpoint", handle(a.getEndpoint)},
		{put, "/api/v1/endpoints/{id}", admins, keys.ScopeEndpoints, 200, "endpoints.update", "Replace an endpoint's settings, keeping its secret", handle(a.updateEndpoint)},
		{remove, "/api/v1/endpoints/{id}", admins, keys.ScopeEndpoints, 204, "endpoints.delete", "Delete an endpoint", handle(a.deleteEndpoint)},
		{post, "/api/v1/endpoints/{id}/rotate-secret", admins, keys.ScopeEndpoints, 200, "endpoints.rotate-secret", "Give an endpoint a new secret; the answer shows it once", handle(a.rotateEndpointSecret)},
		{post, "/api/v1/endpoints/{id}/ping", admins, keys.ScopeEndpoints, 202, "endpoints.ping", "Send hub.ping to an endpoint", handle(a.pingEndpoint)},

		{post, "/api/v1/events", keysOnly, keys.ScopePublish, 202, "events.publish", "Publish an event", raw[publishInput, publishOutput](a.deps.Publish)},
		{post, "/api/v1/events/batch", keysOnly, keys.ScopePublish, 202, "events.publish-batch", "Publish up to 500 events, all or none", raw[publishBatchInput, publishBatchOutput](a.deps.PublishBatch)},
		{get, "/api/v1/events", operators, noKeys, 200, "events.list", "List events", handle(a.listEvents)},
		{get, "/api/v1/events/stream", operators, noKeys, 200, actionStream, "Watch deliveries live (server-sent events)", guarded[streamInput, streamOutput](a, a.stream)},
		{get, "/api/v1/events/{id}", operators, noKeys, 200, "events.get", "Show an event", handle(a.getEvent)},

		{get, "/api/v1/deliveries", operators, noKeys, 200, "deliveries.list", "Search the delivery log", handle(a.listDeliveries)},
		{get, "/api/v1/deliveries/{id}", operators, noKeys, 200, "deliveries.get", "Show a delivery with its attempts", handle(a.getDelivery)},
		{post, "/api/v1/deliveries/{id}/retry", operators, noKeys, 202, "deliveries.retry", "Send a delivery again, with a new round of attempts", handle(a.retryDelivery)},

		{post, "/api/v1/replays", operators, noKeys, 202, "replays.create", "Count what matches, or send it all again", handle(a.createReplay)},
		{get, "/api/v1/replays", operators, noKeys, 200, "replays.list", "List replays", handle(a.listReplays)},
		{get, "/api/v1/replays/{id}", operators, noKeys, 200, "replays.get", "Show a replay and its progress", handle(a.getReplay)},
		{post, "/api/v1/replays/{id}/cancel", operators, noKeys, 200, "replays.cancel", "Stop a replay", handle(a.cancelReplay)},

		{get, "/api/v1/stats", operators, noKeys, 200, "stats.get", "Counts and latencies by time bucket", handle(a.stats)},

		{get, "/api/v1/lookup", operators, noKeys, 200, actionLookup, "Find people and deliveries by a phone number", handle(a.lookup)},

		{get, "/api/v1/audit", operators, noKeys, 200, "audit.list", "Read the audit log", handle(a.listAudit)},
	}
	if a.deps.Mail != nil {
		rows = append(rows, route{get, "/api/v1/dev/mail", operators, noKeys, 200, "dev.mail", "Look at mail that was sent (development only)", handle(a.listMail)})
	}
	return rows
}

// tags head the sections of the reference, in this order; the name is the part of
// an action before its dot.
var tags = []struct{ name, doc string }{
	{"auth", "Operators log in with a password. Access tokens are short-lived; a refresh token is good for one use, and using it twice ends the login."},
	{"operators", "The people at the console: `admin` does everything, `support` reads, retries and replays."},
	{"products", "What sends and receives events. Hosted products are part of this hub, external ones are registered by name."},
	{"tenants", "A customer's account in one product."},
	{"keys", "Credentials of a tenant's servers. Shown once, stored as a hash."},
	{"integrations", "A tenant connected to a peer product: keys, secret and health of both directions."},
	{"endpoints", "Plain webhook subscriptions of a tenant."},
	{"events", "What happened in a product. Publishing answers when the event is durable; it is then delivered to everyone who wants it."},
	{"deliveries", "One event on its way to one receiver: up to four attempts, then parked. Nothing is dropped silently."},
	{"replays", "Durable jobs that send many deliveries again."},
	{"stats", "Counts and latencies from rollups."},
	{"lookup", "What is known about a person's phone number, in all products. Limited for each operator, and recorded."},
	{"audit", "Who did what, append-only."},
	{"dev", "For developers; not there in production."},
}

func tagOf(action string) string {
	resource, _, _ := strings.Cut(action, ".")
	return resource
}

// mount is where rows are bound.
type mount struct {
	api      huma.API   // documents and serves
	document huma.API   // documents only, into the same document
	app      *fiber.App // serves
	guard    func(row route) func(huma.Context, func(huma.Context))
}

// binder puts a row's handler in its place.
type binder func(place mount, row route, op huma.Operation)

// handle serves a row through huma, behind the guard of its row.
func handle[I, O any](handler func(context.Context, *I) (*O, error)) binder {
	return func(place mount, row route, op huma.Operation) {
		op.Middlewares = huma.Middlewares{place.guard(row)}
		huma.Register(place.api, op, func(ctx context.Context, in *I) (*O, error) {
			out, err := handler(ctx, in)
			// A database that is away is a 503 whichever package ran into it.
			return out, store.Failed(row.action, err)
		})
	}
}

// raw serves a row by a fiber handler that checks its callers itself, as the hot
// path does; I and O describe it in the OpenAPI document.
func raw[I, O any](handler fiber.Handler) binder {
	return func(place mount, row route, op huma.Operation) {
		huma.Register(place.document, op, func(context.Context, *I) (*O, error) { return nil, nil })
		place.app.Add(row.method, strings.NewReplacer("{", ":", "}", "").Replace(row.path), handler)
	}
}

// guarded serves a row by a fiber handler behind the same admission as huma's rows;
// I and O describe it in the OpenAPI document.
func guarded[I, O any](a *API, handler func(c *fiber.Ctx, about *request) error) binder {
	return func(place mount, row route, op huma.Operation) {
		raw[I, O](func(c *fiber.Ctx) error {
			about := &request{clientIP: httpx.ClientIP(c, a.deps.TrustedProxies)}
			if err := a.admit(c.UserContext(), c, row, about); err != nil {
				return err
			}
			return handler(c, about)
		})(place, row, op)
	}
}
