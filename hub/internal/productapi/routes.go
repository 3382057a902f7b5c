package productapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"integrationhub/hub/internal/store"
	"integrationhub/hub/module"
)

// interfacePath is where the integration interface lies under a product's base.
const interfacePath = "/api/v1/integrations"

// Actions that the audit log and the guard know by name.
const (
	actionStatus     = "integrations.status"
	actionWebhook    = "integrations.webhook"
	actionRegister   = "integrations.register"
	actionUnregister = "integrations.unregister"
)

// registerRoutes serves the health check, the integration interface and, in their groups,
// the product's own operations, searches and actions.
func (p *Product) registerRoutes(router fiber.Router) {
	p.registerHealth(router)
	register(p.api, operation(http.MethodPost, "/api-keys", 200, "api-keys.create", "Issue an API key for another product", administrators), p.issueKey)
	register(p.api, operation(http.MethodGet, "/api-keys", 200, "api-keys.list", "List API keys", administrators), p.listKeys)
	register(p.api, operation(http.MethodDelete, "/api-keys/{id}", 204, "api-keys.revoke", "Revoke an API key at once", administrators), p.revokeKey)
	register(p.api, operation(http.MethodPost, "/api-keys/{id}/rotate", 201, "api-keys.rotate", "Replace an API key, the old one living on for a while", administrators), p.rotateKey)

	register(p.api, operation(http.MethodPost, "/connect", 200, "integrations.connect", "Connect another product", administrators), p.connectPeer)
	register(p.api, operation(http.MethodGet, "", 200, "integrations.list", "List integrations", administrators), p.listIntegrations)
	register(p.api, operation(http.MethodGet, "/status", 200, actionStatus, "Who this product is (key), or its integrations (bearer)", usersAndKeys), p.status)

	p.registerWebhookLogs(operation(http.MethodGet, "/webhook-logs", 200, "webhook-logs.list", "Search the log of webhooks, both directions, newest first", administrators))
	register(p.api, operation(http.MethodGet, "/webhook-logs/{id}", 200, "webhook-logs.get", "Show a delivery of the log with its attempts", administrators), p.getWebhookLog)
	register(p.api, operation(http.MethodPost, "/webhook-logs/{id}/retry", 202, "webhook-logs.retry", "Send a delivery again, at once; received ones cannot be sent again", administrators), p.retryWebhook)
	register(p.api, operation(http.MethodGet, "/audit-log", 200, "audit-log.list", "Who did what, newest first; both environments", administrators), p.listAuditLog)

	register(p.api, operation(http.MethodPost, "/webhook/register", 200, actionRegister, "Say where this product's events are to go", anyKey), p.registerPeer)
	register(p.api, operation(http.MethodPost, "/webhook/unregister", 200, actionUnregister, "End the integration the key is bound to", anyKey), p.unregisterPeer)
	webhook := operation(http.MethodPost, "/webhook", 200, actionWebhook, "Deliver an event", anyKey)
	huma.Register(p.documentOnly, webhook, func(context.Context, *webhookInput) (*struct{ Body ReceivedEvent }, error) { return nil, nil })
	router.Add(webhook.Method, webhook.Path, p.receiveWebhook)

	p.instance.RegisterRoutes(p.api)
	if provider, ok := p.instance.(module.SearchProvider); ok {
		provider.RegisterSearches(huma.NewGroup(p.api, interfacePath+"/search"))
	}
	if provider, ok := p.instance.(module.ActionProvider); ok {
		provider.RegisterActions(huma.NewGroup(p.api, interfacePath+"/action"))
	}

	// Last: these paths would match others.
	register(p.api, operation(http.MethodGet, "/{id}", 200, "integrations.get", "Show an integration", administrators), p.getIntegration)
	register(p.api, operation(http.MethodDelete, "/{id}", 200, "integrations.revoke", "End an integration and notify the other product", administrators), p.revokeIntegration)
	register(p.api, operation(http.MethodPost, "/{id}/test", 200, "integrations.test", "Ask the other product how it does, now", administrators), p.testIntegration)
	register(p.api, operation(http.MethodPost, "/{id}/rotate-secret", 200, "integrations.rotate-secret", "Make a new webhook secret and tell the other product; the response shows it once", administrators), p.rotateSecret)
	register(p.api, operation(http.MethodPost, "/{id}/disable", 200, "integrations.disable", "Pause an integration: its events are parked, and webhooks are refused, until it is enabled", administrators), p.disableIntegration)
	register(p.api, operation(http.MethodPost, "/{id}/enable", 200, "integrations.enable", "Resume a paused integration; what was parked is sent", administrators), p.enableIntegration)
}

// register serves an operation. A database that is away is a 503 whichever package met
// the error.
func register[I, O any](api huma.API, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		return out, store.Wrap(op.OperationID, err)
	})
}

// Who may call the hub's own operations.
var (
	administrators = []map[string][]string{{module.SchemeBearer: {module.RoleAdmin}}}
	anyKey         = []map[string][]string{{module.SchemeKey: {}}}
	usersAndKeys   = []map[string][]string{{module.SchemeBearer: {}}, {module.SchemeKey: {}}}
)

// operation describes one of the hub's own operations. The action is its id and its name
// in the audit log.
func operation(method, path string, status int, action, summary string, security []map[string][]string) huma.Operation {
	errors := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusServiceUnavailable}
	if method != http.MethodGet {
		errors = append(errors, http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if strings.Contains(path, "{") {
		errors = append(errors, http.StatusNotFound)
	}
	op := huma.Operation{
		OperationID: action, Method: method, Path: interfacePath + path, Summary: summary, DefaultStatus: status,
		Security: security, Errors: errors, Tags: []string{"integrations"}, Responses: make(map[string]*huma.Response),
	}
	docs.Operations[action].Describe(&op)
	return op
}

// documentOnlyAdapter is a huma adapter for operations that fiber handlers serve.
type documentOnlyAdapter struct{}

func (documentOnlyAdapter) Handle(*huma.Operation, func(huma.Context))   {}
func (documentOnlyAdapter) ServeHTTP(http.ResponseWriter, *http.Request) {}
