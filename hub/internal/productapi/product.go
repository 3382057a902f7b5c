// Package productapi mounts a hosted product: the integration interface that the hub has for
// every product, the product's own operations, and the guard in front of both. All routes
// are in routes.go.
package productapi

import (
	"context"
	"log/slog"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/inbox"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/reference"
	"integrationhub/hub/module"
)

// Limiter counts requests of keys and users and sets the RateLimit headers. Its errors are
// [hub.ErrRateLimited].
type Limiter interface {
	// Allow counts a request of a key.
	Allow(ctx context.Context, key keys.Principal, setHeader func(name, value string)) error
	// AllowIntegration counts a request of the integration that the key is bound to,
	// whatever the number of its keys.
	AllowIntegration(ctx context.Context, key keys.Principal, setHeader func(name, value string)) error
	// AllowUsers counts a request of a tenant's users on the hub's routes.
	AllowUsers(ctx context.Context, tenant uuid.UUID, setHeader func(name, value string)) error
}

// Directory is this process's cache of the configuration.
type Directory interface {
	keys.Finder
	Integration(ctx context.Context, id uuid.UUID) (*integration.Peer, error)
	// Version grows when cached configuration changes; Refresh brings it up to date.
	Version() uint64
	Refresh(ctx context.Context) error
	// CheckActive is a [hub.ErrForbidden] if a tenant is suspended.
	CheckActive(tenant uuid.UUID) error
}

// Requeuer makes deliveries pending again.
type Requeuer interface {
	// Requeue makes one of the owner's deliveries pending and returns its target and its
	// tenant. It is a [hub.ErrConflict] if it cannot be sent again.
	Requeue(ctx context.Context, id uuid.UUID, owner query.Owner) (target, tenant uuid.UUID, err error)
}

// Deps is what a mounted product needs.
type Deps struct {
	Log            *slog.Logger
	Connect        *connect.Service
	Keys           *keys.Service
	Directory      Directory
	Limiter        Limiter
	Connectors     func(product string) hub.Connector
	Inbox          *inbox.Inbox
	Ledger         *query.Reader
	Requeuer       Requeuer
	Wake           func(target uuid.UUID) // sends what is due of a target
	Audit          *audit.Recorder
	Operators      Operators            // who alone create accounts; nil: anyone does
	OnReceived     func(outcome string) // called for each webhook with its outcome
	Now            func() time.Time
	TrustedProxies []netip.Prefix
	Health         func(ctx context.Context) (database, redis bool)
	BaseURL        string                  // of the product, without a slash at the end
	Docs           bool                    // serve /openapi.json and the reference page at /docs
	References     func() []reference.Link // to the references of the hub and its products; nil = none
}

// Product is a hosted product, mounted.
type Product struct {
	deps     Deps
	spec     module.Spec
	instance module.Instance
	api      huma.API
	// documentOnly is for operations that fiber handlers serve.
	documentOnly huma.API
	gates        gates
	longBodies   []longBody
	formErrors   []formErrors
}

// Mount serves a product on app under a path: "/clinic", or "" for a listener of its own.
func Mount(app *fiber.App, path string, spec module.Spec, instance module.Instance, deps Deps) (*Product, error) {
	p := &Product{deps: deps, spec: spec, instance: instance, gates: newGates()}
	settings := huma.DefaultConfig(spec.Title, spec.Version)
	settings.OpenAPIPath, settings.DocsPath, settings.SchemasPath = "", "", ""
	settings.CreateHooks = nil // no $schema in answers
	settings.Info.Description = descriptionOf(spec)
	settings.Servers = []*huma.Server{{URL: deps.BaseURL}}
	settings.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		module.SchemeBearer: {Type: "http", Scheme: "bearer", Description: "Access token of a user of the product."},
		module.SchemeKey:    {Type: "apiKey", In: "header", Name: hub.HeaderKey, Description: "API key of a tenant, for another product's servers; never for browsers."},
	}
	settings.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	httpx.InstallHuma(&settings, deps.Log)
	router := app.Group(path)
	p.api = humafiber.NewWithGroup(app, router, settings)
	p.documentOnly = huma.NewAPI(settings, documentOnlyAdapter{})
	p.api.UseMiddleware(p.guard)

	if deps.Docs {
		if err := reference.Mount(app, reference.Page{Path: path, Title: spec.Title, Write: p.OpenAPI, Links: deps.References}); err != nil {
			return nil, err
		}
	}
	p.registerRoutes(router)
	p.completeDocument()
	p.longBodies = findLongBodies(path, p.api.OpenAPI())
	p.formErrors = findFormErrors(path, p.api.OpenAPI())
	return p, nil
}

// hubInternals is the prefix of the import paths of the hub's own types.
const hubInternals = "integrationhub/hub/internal/"

// schemaName names a type in the OpenAPI document. The hub's own types, except errors,
// get a prefix, so that they cannot clash with a product's.
func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := huma.DefaultSchemaNamer(t, hint)
	if name == "Client" { // what generators call the client itself
		name = "ClientRecord"
	}
	if strings.HasPrefix(t.PkgPath(), hubInternals) && t != reflect.TypeFor[httpx.Problem]() {
		return "Hub" + name
	}
	return name
}

// OpenAPI returns the OpenAPI 3.1 document of everything under the product's base.
func (p *Product) OpenAPI() ([]byte, error) { return reference.Write(p.api.OpenAPI()) }
