package productapi

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// Document returns the OpenAPI 3.1 document of everything under a product's base, without
// a running hub. The product's address in it is its usual path.
func Document(ctx context.Context, m module.Module) ([]byte, error) {
	spec, log := m.Spec(), slog.New(slog.DiscardHandler)
	instance, err := m.Open(ctx, module.Host{Sealer: nullSealer{}, Log: log, Now: time.Now})
	if err != nil {
		return nil, fmt.Errorf("opening product %s: %w", spec.Name, err)
	}
	p, err := Mount(fiber.New(fiber.Config{DisableStartupMessage: true}), "/"+spec.Name, spec, instance, Deps{Log: log, BaseURL: "/" + spec.Name})
	if err != nil {
		return nil, err
	}
	return p.OpenAPI()
}

// completeDocument documents what operations have in common, the product's own included.
func (p *Product) completeDocument() {
	document := p.api.OpenAPI()
	for _, item := range document.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op != nil && rest.Access(op.Security).Credentials().Bearer {
				op.Parameters = append(op.Parameters, &huma.Param{
					Name: HeaderEnvironment, In: "header", Description: "For users: which data is meant. Keys have an environment of their own.",
					Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{string(hub.Live), string(hub.Test)}, Default: string(hub.Live)},
				})
			}
		}
	}
	for _, tag := range docs.Tags {
		if !slices.ContainsFunc(document.Tags, func(known *huma.Tag) bool { return known.Name == tag.Name }) {
			document.Tags = append(document.Tags, &huma.Tag{Name: tag.Name, Description: tag.Description})
		}
	}
	schemas := document.Components.Schemas
	connected := schemas.SchemaFromRef(schemas.Schema(reflect.TypeFor[Connected](), true, "").Ref)
	tenantID := p.spec.TenantPrefix + "_id"
	connected.Properties[tenantID] = &huma.Schema{Type: huma.TypeString, Format: "uuid", Description: "The same as tenant_id"}
	connected.Required = append(connected.Required, tenantID)
	p.documentShapes(document)
}

// documentShapes documents the answers whose shape depends on the product or the caller: to
// connecting, and of the status.
func (p *Product) documentShapes(document *huma.OpenAPI) {
	schemas := document.Components.Schemas
	connected, list := schemas.Schema(reflect.TypeFor[Connected](), true, ""), schemas.Schema(reflect.TypeFor[ConnectedList](), true, "")
	if presenter, ok := p.instance.(module.Presenter); ok {
		connected = schemas.Schema(reflect.TypeOf(presenter.PresentConnect(module.Integration{})), true, "")
		list = schemas.Schema(reflect.TypeOf(presenter.PresentStatus(nil)), true, "")
	}
	peer := schemas.Schema(reflect.TypeFor[PeerStatus](), true, "")
	shape := schemas.SchemaFromRef(peer.Ref)
	for member, description := range map[string]string{"_id": "The tenant as this product names it", "_name": "The same as tenant_name"} {
		shape.Properties[p.spec.TenantPrefix+member] = &huma.Schema{Type: huma.TypeString, Description: description}
		shape.Required = append(shape.Required, p.spec.TenantPrefix+member)
	}
	slices.Sort(shape.Required)
	for path, schema := range map[string]*huma.Schema{"/connect": connected, "/status": {AnyOf: []*huma.Schema{peer, list}}} {
		item := document.Paths[interfacePath+path]
		for _, operation := range []*huma.Operation{item.Get, item.Post} {
			if operation != nil {
				operation.Responses["200"].Content["application/json"].Schema = schema
			}
		}
	}
}

// descriptionOf returns how a product's API is used: its own description and what all
// products have in common.
func descriptionOf(spec module.Spec) string {
	common := []string{
		"Callers: users send `Authorization: Bearer` and the access token of a login. Connected products send `X-Integration-Key` and a key with the scopes that an operation asks for; administrators make keys at `POST /api/v1/integrations/api-keys`, or by connecting a product.",
		"Environments: live and test data never mix. A key has its environment; a user's request is for live data unless `X-Environment: test` says otherwise.",
		"Errors are `application/problem+json` with a stable `code` for programs, a `detail` for people, the wrong inputs in `errors` (never their values), and a `request_id`, which stands in the header `X-Request-Id` as well. 401: who calls is not known; 403: they may not; 404: it is not there, or another customer's; 409: it clashes with what is there; 422: an input breaks a rule.",
		"Limits: 429 says in `Retry-After` how many seconds to wait; a 503 does too, and may simply be sent again. Responses to keys, and to users on the routes below `/api/v1/integrations`, have `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`. Bodies are JSON of 1 MiB at most where nothing else is said.",
	}
	return strings.TrimSpace(spec.Description + "\n\n" + strings.Join(common, "\n\n"))
}

// nullSealer serves products that derive keys when they are opened. It encrypts nothing.
type nullSealer struct{}

// Seal implements [module.Sealer].
func (nullSealer) Seal([]byte, string) []byte { return nil }

// Open implements [module.Sealer].
func (nullSealer) Open([]byte, string) ([]byte, error) { return nil, nil }

// Derive implements [module.Sealer].
func (nullSealer) Derive(string) []byte { return make([]byte, 32) }
