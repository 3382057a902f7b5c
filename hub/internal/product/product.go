// Package product is what the hub puts under the base of a hosted product: the
// integration interface, the product's own operations, and the guard before both.
package product

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/inbox"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/reference"
	"integrationhub/hub/module"
)

// Limiter counts requests of keys and sets the RateLimit headers. Its errors are
// [hub.ErrRateLimited].
type Limiter interface {
	// Allow counts a request of a key.
	Allow(ctx context.Context, key keys.Principal, setHeader func(name, value string)) error
	// AllowIntegration counts it for the integration the key is bound to, which has
	// the same rate whatever the number of its keys.
	AllowIntegration(ctx context.Context, key keys.Principal, setHeader func(name, value string)) error
}

// Directory is the configuration as the process keeps it in memory.
type Directory interface {
	keys.Finder
	Integration(ctx context.Context, id uuid.UUID) (*directory.Integration, error)
	// Version tells configurations apart; Refresh brings it up to date.
	Version() int64
	Refresh(ctx context.Context) error
}

// Deps is what a mounted product stands on.
type Deps struct {
	Log            *slog.Logger
	Connect        *connect.Service
	Keys           *keys.Service
	Directory      Directory
	Limiter        Limiter
	Connectors     func(product string) hub.Connector
	Inbox          *inbox.Inbox
	Ledger         *query.Reader
	Audit          *audit.Recorder
	Received       func(outcome string) // counts an event of a peer, by what became of it
	Now            func() time.Time
	TrustedProxies []netip.Prefix
	Health         func(ctx context.Context) (database, redis bool)
	BaseURL        string // of the product, without a slash at the end
	Docs           bool   // serve /openapi.json and the reference page at /docs
}

// Product is a hosted product, mounted.
type Product struct {
	deps     Deps
	spec     module.Spec
	instance module.Instance
	api      huma.API
	// documentOnly documents what is served by fiber handlers of their own.
	documentOnly huma.API
	long         map[string]longBody // see LongBody
}

// integrations is where the integration interface lies under a product's base.
const integrations = "/api/v1/integrations"

// Mount puts a product on app under a path: "/clinic", or "" for a listener of its own.
func Mount(app *fiber.App, path string, spec module.Spec, instance module.Instance, deps Deps) (*Product, error) {
	p := &Product{deps: deps, spec: spec, instance: instance}
	settings := huma.DefaultConfig(spec.Title, spec.Version)
	settings.OpenAPIPath, settings.DocsPath, settings.SchemasPath = "", "", ""
	settings.CreateHooks = nil // no $schema in answers
	settings.Info.Description = introduction(spec)
	settings.Servers = []*huma.Server{{URL: deps.BaseURL}}
	settings.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		module.SchemeBearer: {Type: "http", Scheme: "bearer", Description: "Access token of a user of the product."},
		module.SchemeKey:    {Type: "apiKey", In: "header", Name: hub.HeaderKey, Description: "API key of a tenant, for another product's servers; never for browsers."},
	}
	settings.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	httpx.InstallHuma(&settings, deps.Log)
	router := app.Group(path)
	p.api = humafiber.NewWithGroup(app, router, settings)
	p.documentOnly = huma.NewAPI(settings, unserved{})
	p.api.UseMiddleware(p.guard)

	router.Get("/health", p.health)
	if deps.Docs {
		if err := reference.Mount(app, path, p.OpenAPI); err != nil {
			return nil, err
		}
	}
	p.keyRoutes()
	p.connectionRoutes()
	p.logRoutes()
	p.auditRoutes()
	p.peerRoutes(router)
	instance.RegisterRoutes(p.api)
	if searcher, ok := instance.(module.Searcher); ok {
		searcher.RegisterSearches(huma.NewGroup(p.api, integrations+"/search"))
	}
	if actor, ok := instance.(module.Actor); ok {
		actor.RegisterActions(huma.NewGroup(p.api, integrations+"/action"))
	}
	p.singleRoutes() // last: their paths would match others
	p.complete()
	var err error
	p.long, err = longBodies(spec.Name, path, p.api.OpenAPI())
	return p, err
}

// hubInternals begins the import path of the hub's own types.
const hubInternals = "integrationhub/hub/internal/"

// schemaName names a type in the document. The hub's own, errors aside, get a prefix:
// a product need not know which names are taken.
func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := huma.DefaultSchemaNamer(t, hint)
	if strings.HasPrefix(t.PkgPath(), hubInternals) && t != reflect.TypeFor[httpx.Problem]() {
		return "Hub" + name
	}
	return name
}

// OpenAPI is the OpenAPI 3.1 document of everything under the product's base.
func (p *Product) OpenAPI() ([]byte, error) {
	document, err := json.MarshalIndent(p.api.OpenAPI(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	return document, nil
}

// health answers as interface document 1 has it.
func (p *Product) health(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(c.UserContext(), 2*time.Second)
	defer cancel()
	database, redis := p.deps.Health(ctx)
	status, code := "ok", fiber.StatusOK
	if !database {
		status, code = "unavailable", fiber.StatusServiceUnavailable
	}
	return c.Status(code).JSON(fiber.Map{
		"status": status, "service": p.spec.Name, "version": p.spec.Version, "db": linked(database), "redis": linked(redis),
	})
}

func linked(up bool) string {
	if up {
		return "connected"
	}
	return "disconnected"
}

// Who may call the hub's own operations.
var (
	administrators = []map[string][]string{{module.SchemeBearer: {module.RoleAdmin}}}
	anyKey         = []map[string][]string{{module.SchemeKey: {}}}
	usersAndKeys   = []map[string][]string{{module.SchemeBearer: {}}, {module.SchemeKey: {}}}
)

// operation describes one of the hub's own operations; the action is its id and what
// the audit log calls it.
func operation(method, path string, status int, action, summary string, who []map[string][]string) huma.Operation {
	errors := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusServiceUnavailable}
	if len(who) > 0 && slices.ContainsFunc(who, func(one map[string][]string) bool { _, key := one[module.SchemeKey]; return key }) {
		errors = append(errors, http.StatusTooManyRequests)
	}
	if method != http.MethodGet {
		errors = append(errors, http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if strings.Contains(path, "{") {
		errors = append(errors, http.StatusNotFound)
	}
	return huma.Operation{
		OperationID: action, Method: method, Path: integrations + path, Summary: summary, DefaultStatus: status,
		Security: who, Errors: errors, Tags: []string{"integrations"}, Responses: map[string]*huma.Response{strconv.Itoa(status): {}},
	}
}

// unserved is a huma adapter for operations that are only documented.
type unserved struct{}

func (unserved) Handle(*huma.Operation, func(huma.Context))   {}
func (unserved) ServeHTTP(http.ResponseWriter, *http.Request) {}
