package api

import (
	"context"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/module/rest"
)

// Callers of the rows, besides keys.
var (
	operators = rest.User  // both roles: reading, retrying, replaying, one's own session
	admins    = rest.Admin // administrators only
)

// actionLogin is recorded in the audit log even if it fails.
const actionLogin = "auth.login"

// Handshakes, which wait for a peer.
const (
	actionConnect = "integrations.connect"
	actionLink    = "integrations.link"
)

// actionLookup reads personal data: it is rate limited for each operator, and recorded in
// the audit log although it changes nothing.
const actionLookup = "lookup.phone"

// actionPostLookup is the same with the number in the request's body.
const actionPostLookup = "lookup.search"

func isLookup(action string) bool { return action == actionLookup || action == actionPostLookup }

// actionStream responds with [eventStream] instead of JSON.
const actionStream = "events.stream"

// operatorRoutes are the rows of logins and of those who log in.
func (a *API) operatorRoutes() []rest.Route {
	return []rest.Route{
		rest.Post("/api/v1/auth/login", rest.Anyone, 200, actionLogin, "Log in with e-mail address and password", rest.Handle(a.login)),
		rest.Post("/api/v1/auth/refresh", rest.Anyone, 200, "auth.refresh", "Trade a refresh token for new tokens", rest.Handle(a.refresh)),
		rest.Post("/api/v1/auth/logout", operators, 204, "auth.logout", "End this login", rest.Handle(a.logout)),
		rest.Get("/api/v1/auth/me", operators, 200, "auth.me", "Who is logged in", rest.Handle(a.me)),

		rest.Post("/api/v1/session", rest.Anyone, 200, actionSession, "Log a browser in: the response sets the session's cookie", rest.Handle(a.createSession)),
		rest.Get("/api/v1/session", operators, 200, "session.get", "Who is logged in, and the token that the browser's writes need", rest.Handle(a.getSession)),
		rest.Delete("/api/v1/session", operators, 204, "session.delete", "End this login, and remove the cookie", rest.Handle(a.deleteSession)),

		rest.Get("/api/v1/operators", operators, 200, "operators.list", "List operators", rest.Handle(a.listOperators)),
		rest.Post("/api/v1/operators", admins, 201, "operators.create", "Make an operator", rest.Handle(a.createOperator)),
		rest.Put("/api/v1/operators/{id}", admins, 200, "operators.update", "Change an operator", rest.Handle(a.updateOperator)),
		rest.Delete("/api/v1/operators/{id}", admins, 204, "operators.delete", "Delete an operator", rest.Handle(a.deleteOperator)),

		rest.Get("/api/v1/tokens", admins, 200, "tokens.list", "List API tokens", rest.Handle(a.listTokens)),
		rest.Post("/api/v1/tokens", admins, 201, "tokens.create", "Make an API token for a program; the response shows it once", rest.Handle(a.createToken)),
		rest.Delete("/api/v1/tokens/{id}", admins, 204, "tokens.delete", "End an API token at once", rest.Handle(a.deleteToken)),
	}
}

// routes is the table of the whole interface, ordered by resource.
func (a *API) routes() []rest.Route {
	rows := []rest.Route{
		rest.Get("/api/v1/products", operators, 200, "products.list", "List products", rest.Handle(a.listProducts)),
		rest.Post("/api/v1/products", admins, 201, "products.create", "Register an external product", rest.Handle(a.createProduct)),
		rest.Put("/api/v1/products/{name}", admins, 200, "products.update", "Replace an external product's title and validation", rest.Handle(a.updateProduct)),
		rest.Delete("/api/v1/products/{name}", admins, 200, "products.delete", "Delete an external product that has no tenants", rest.Handle(a.deleteProduct)),

		rest.Get("/api/v1/tenants", operators, 200, "tenants.list", "List tenants", rest.Handle(a.listTenants)),
		rest.Post("/api/v1/tenants", admins, 201, "tenants.create", "Make a tenant of an external product", rest.Handle(a.createTenant)),
		rest.Get("/api/v1/tenants/{id}", operators, 200, "tenants.get", "Show a tenant", rest.Handle(a.getTenant)),
		rest.Put("/api/v1/tenants/{id}", admins, 200, "tenants.update", "Replace a tenant's name, reference and limits", rest.Handle(a.updateTenant)),
		rest.Post("/api/v1/tenants/{id}/suspend", admins, 200, "tenants.suspend", "Stop a tenant until it is resumed", rest.Handle(a.suspendTenant)),
		rest.Post("/api/v1/tenants/{id}/resume", admins, 200, "tenants.resume", "End the suspension of a tenant", rest.Handle(a.resumeTenant)),
		rest.Delete("/api/v1/tenants/{id}", admins, 200, "tenants.delete", "Delete a tenant with its keys and endpoints, and erase its log", rest.Handle(a.deleteTenant)),

		rest.Get("/api/v1/keys", operators, 200, "keys.list", "List API keys", rest.Handle(a.listKeys)),
		rest.Post("/api/v1/keys", admins, 201, "keys.create", "Make an API key; the response shows it once", rest.Handle(a.createKey)),
		rest.Delete("/api/v1/keys/{id}", admins, 204, "keys.revoke", "Revoke an API key at once", rest.Handle(a.revokeKey)),
		rest.Post("/api/v1/keys/{id}/rotate", admins, 201, "keys.rotate", "Replace an API key, the old one living on for a while", rest.Handle(a.rotateKey)),

		rest.Get("/api/v1/integrations", operators, 200, "integrations.list", "List integrations of all tenants", rest.Handle(a.listIntegrations)),
		rest.Post("/api/v1/integrations/connect", admins, 200, actionConnect, "Connect a tenant to a peer product", rest.Handle(a.connectIntegration)),
		rest.Post("/api/v1/integrations/link", admins, 200, actionLink, "Connect two tenants that both live in this hub", rest.Handle(a.linkIntegrations)),
		rest.Get("/api/v1/integrations/{id}", operators, 200, "integrations.get", "Show an integration", rest.Handle(a.getIntegration)),
		rest.Put("/api/v1/integrations/{id}", admins, 200, "integrations.update", "Change whether an integration keeps the order of its events", rest.Handle(a.updateIntegration)),
		rest.Delete("/api/v1/integrations/{id}", admins, 200, "integrations.revoke", "End an integration and notify the peer", rest.Handle(a.revokeIntegration)),
		rest.Post("/api/v1/integrations/{id}/test", admins, 200, "integrations.test", "Ask the peer how it does, now", rest.Handle(a.testIntegration)),
		rest.Post("/api/v1/integrations/{id}/rotate-secret", admins, 200, "integrations.rotate-secret", "Make a new webhook secret and tell the peer; the response shows it once", rest.Handle(a.rotateIntegrationSecret)),
		rest.Post("/api/v1/integrations/{id}/enable", admins, 200, "integrations.enable", "Take an integration into use again", rest.Handle(a.enableIntegration)),
		rest.Post("/api/v1/integrations/{id}/disable", admins, 200, "integrations.disable", "Stop an integration until it is enabled", rest.Handle(a.disableIntegration)),

		rest.Post("/api/v1/events", rest.Key(keys.ScopePublish), 202, "events.publish", "Publish an event", raw[publishInput, publishOutput](a, a.deps.Publish)),
		rest.Post("/api/v1/events/batch", rest.Key(keys.ScopePublish), 202, "events.publish-batch", "Publish up to 500 events, all or none", raw[publishBatchInput, publishBatchOutput](a, a.deps.PublishBatch)),
		rest.Get("/api/v1/events", operators.OrKey(keys.ScopeReadLog), 200, "events.list", "List events", rest.Handle(a.listEvents)),
		rest.Get("/api/v1/events/stream", operators.OrKey(keys.ScopeReadLog), 200, actionStream, "Watch deliveries live (server-sent events)", guarded[streamInput, streamOutput](a, a.stream)),
		rest.Get("/api/v1/events/{id}", operators.OrKey(keys.ScopeReadLog), 200, "events.get", "Show an event", rest.Handle(a.getEvent)),

		rest.Get("/api/v1/deliveries", operators.OrKey(keys.ScopeReadLog), 200, "deliveries.list", "Search the delivery log", rest.Handle(a.listDeliveries)),
		rest.Get("/api/v1/deliveries/{id}", operators.OrKey(keys.ScopeReadLog), 200, "deliveries.get", "Show a delivery with its attempts", rest.Handle(a.getDelivery)),
		rest.Post("/api/v1/deliveries/{id}/discard", admins, 200, "deliveries.discard", "Fail a delivery that waits, so that those behind it pass", rest.Handle(a.discardDelivery)),
		rest.Post("/api/v1/deliveries/{id}/retry", operators.OrKey(keys.ScopeRetry), 202, "deliveries.retry", "Send a delivery again, with a new round of attempts", rest.Handle(a.retryDelivery)),

		rest.Post("/api/v1/replays", operators.OrKey(keys.ScopeRetry), 202, "replays.create", "Count what matches, or send it all again", rest.Handle(a.createReplay)),
		rest.Get("/api/v1/replays", operators.OrKey(keys.ScopeReadLog), 200, "replays.list", "List replays", rest.Handle(a.listReplays)),
		rest.Get("/api/v1/replays/{id}", operators.OrKey(keys.ScopeReadLog), 200, "replays.get", "Show a replay and its progress", rest.Handle(a.getReplay)),
		rest.Post("/api/v1/replays/{id}/cancel", operators.OrKey(keys.ScopeRetry), 200, "replays.cancel", "Stop a replay", rest.Handle(a.cancelReplay)),

		rest.Get("/api/v1/stats", operators, 200, "stats.get", "Counts and latencies by time bucket", rest.Handle(a.stats)),
		rest.Get("/api/v1/stats/backlog", operators, 200, "stats.backlog", "What waits: pending and parked deliveries, and the oldest", rest.Handle(a.backlog)),
		rest.Get("/api/v1/stats/receivers", operators, 200, "stats.receivers", "Attempts and errors of each receiver, by hour, in the last 24 hours", rest.Handle(a.receiverStats)),

		rest.Get("/api/v1/health", operators, 200, "health.get", "Examine the installation: database, queue, sweep, clock, versions", rest.Handle(a.health)),

		rest.Get("/api/v1/lookup", operators, 200, actionLookup, "Find people and deliveries by phone number, e-mail address or the end of a CPF", rest.Handle(a.lookup)),
		rest.Post("/api/v1/lookup", operators, 200, actionPostLookup, "Find people and deliveries by what is not part of the address", rest.Handle(a.postLookup)),

		rest.Get("/api/v1/audit", operators, 200, "audit.list", "Read the audit log", rest.Handle(a.listAudit)),
	}
	return slices.Concat(a.operatorRoutes(), rows, a.endpointRoutes(), a.eventTypeRoutes(), a.alertRoutes(), a.mailRoutes())
}

// endpointRoutes are those of endpoints.
func (a *API) endpointRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/api/v1/endpoints", operators.OrKey(keys.ScopeEndpoints), 200, "endpoints.list", "List endpoints", rest.Handle(a.listEndpoints)),
		rest.Post("/api/v1/endpoints", admins.OrKey(keys.ScopeEndpoints), 201, "endpoints.create", "Subscribe an endpoint; the response shows its secret once", rest.Handle(a.createEndpoint)),
		rest.Get("/api/v1/endpoints/{id}", operators.OrKey(keys.ScopeEndpoints), 200, "endpoints.get", "Show an endpoint", rest.Handle(a.getEndpoint)),
		rest.Put("/api/v1/endpoints/{id}", admins.OrKey(keys.ScopeEndpoints), 200, "endpoints.update", "Replace an endpoint's settings, keeping its secret", rest.Handle(a.updateEndpoint)),
		rest.Delete("/api/v1/endpoints/{id}", admins.OrKey(keys.ScopeEndpoints), 204, "endpoints.delete", "Delete an endpoint", rest.Handle(a.deleteEndpoint)),
		rest.Post("/api/v1/endpoints/{id}/rotate-secret", admins.OrKey(keys.ScopeEndpoints), 200, "endpoints.rotate-secret", "Give an endpoint a new secret; the response shows it once", rest.Handle(a.rotateEndpointSecret)),
		rest.Post("/api/v1/endpoints/{id}/recover", operators.OrKey(keys.ScopeRetry), 202, "endpoints.recover", "Count the stored events that an endpoint has no delivery of, or send them to it", rest.Handle(a.recoverEndpoint)),
		rest.Post("/api/v1/endpoints/{id}/check-signature", operators.OrKey(keys.ScopeEndpoints), 200, "endpoints.check-signature", "Find why a receiver refuses the signature of a webhook", rest.Handle(a.checkSignature)),
		rest.Post("/api/v1/endpoints/{id}/match", operators.OrKey(keys.ScopeEndpoints), 200, "endpoints.match", "Find whether an endpoint would get an event, without sending it", rest.Handle(a.matchEndpoint)),
		rest.Post("/api/v1/endpoints/{id}/ping", admins.OrKey(keys.ScopeEndpoints), 202, "endpoints.ping", "Send hub.ping, or the example of an event type, to an endpoint", rest.Handle(a.pingEndpoint)),
	}
}

// mailRoutes are there in development, where mail is shown instead of sent.
func (a *API) mailRoutes() []rest.Route {
	if a.deps.Mail == nil {
		return nil
	}
	return []rest.Route{rest.Get("/api/v1/dev/mail", admins, 200, "dev.mail", "Look at mail that was sent (development only)", rest.Handle(a.listMail))}
}

// tags are the sections of the reference page, in this order. The name is a row's
// resource: the part of its id before the dot.
var tags = []struct{ name, doc string }{
	{"auth", "Operators log in with a password. Access tokens are short-lived; a refresh token is good for one use, and using it twice ends the login."},
	{"session", "The console's login: a cookie that scripts cannot read, for 12 hours. Writes repeat a token in a header; access tokens need neither."},
	{"operators", "The people at the console: `admin` does everything, `support` reads, retries and replays."},
	{"tokens", "Credentials of programs that administer the hub, such as a back end that makes tenants and keys. Shown once, stored as a hash."},
	{"products", "What sends and receives events. Hosted products are part of this hub, external ones are registered by name."},
	{"event-types", "What the data of each type of event looks like: JSON Schemas, examples, and OpenAPI documents of them."},
	{"tenants", "A customer's account in one product."},
	{"keys", "Credentials of a tenant's servers. Shown once, stored as a hash."},
	{"integrations", "A tenant connected to a peer product: keys, secret and health of both directions."},
	{"endpoints", "Plain webhook subscriptions of a tenant."},
	{"alerts", "Where operators are notified of operational events: by e-mail or webhook."},
	{"events", "What happened in a product. Publishing responds when the event is durable; it is then delivered to everyone who wants it."},
	{"deliveries", "One event on its way to one receiver: up to four attempts, then parked. Nothing is dropped silently."},
	{"replays", "Durable jobs that send many deliveries again."},
	{"stats", "Counts and latencies from rollups."},
	{"health", "The state of the installation, for operators. Load balancers ask /ready."},
	{"lookup", "What is known about a person, in all products: by phone number, e-mail address or the last two digits of a CPF. Limited for each operator, and recorded."},
	{"audit", "Who did what, append-only."},
	{"dev", "For developers; not there in production."},
}

// raw serves a row by a fiber handler that checks its callers itself, as the hot
// path does; I and O describe it in the OpenAPI document.
func raw[I, O any](a *API, handler fiber.Handler) rest.Binder {
	return func(_ huma.API, op huma.Operation) {
		huma.Register(a.documentOnly, op, func(context.Context, *I) (*O, error) { return nil, nil })
		a.app.Add(op.Method, strings.NewReplacer("{", ":", "}", "").Replace(op.Path), handler)
	}
}

// guarded serves a row by a fiber handler behind the same admission as huma's rows;
// I and O describe it in the OpenAPI document.
func guarded[I, O any](a *API, handler func(c *fiber.Ctx, info *requestInfo) error) rest.Binder {
	return func(api huma.API, op huma.Operation) {
		row := a.rows[slices.IndexFunc(a.rows, func(row rest.Route) bool { return row.ID == op.OperationID })]
		raw[I, O](a, func(c *fiber.Ctx) error {
			info := &requestInfo{clientIP: httpx.ClientIP(c, a.deps.TrustedProxies)}
			if err := a.admit(c.UserContext(), c, row, info); err != nil {
				return err
			}
			return handler(c, info)
		})(api, op)
	}
}
