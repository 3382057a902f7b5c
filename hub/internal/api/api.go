// Package api is the hub's own HTTP interface, /api/v1. [API.routes] is the one table of
// its routes. Each resource has a file with its requests, responses and handlers.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/alerts"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/auth"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/limit"
	"integrationhub/hub/internal/lookup"
	"integrationhub/hub/internal/mail"
	"integrationhub/hub/internal/reference"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// Publisher stores an event for a single endpoint, regardless of its subscriptions.
type Publisher interface {
	PublishTo(ctx context.Context, ping Ping) (eventID string, err error)
}

// Ping is an event for one endpoint.
type Ping struct {
	TenantID    uuid.UUID
	Environment hub.Environment
	EndpointID  uuid.UUID
	ExampleOf   string // product of the example that is sent; "": of a ping
	EventType   string
	Data        []byte // JSON object
}

// KeyLimiter counts a request of a key and sets the RateLimit-* headers. It returns a
// [hub.ErrRateLimited] once the key has used up its rate.
type KeyLimiter interface {
	Allow(ctx context.Context, key keys.Principal, setHeader func(name, value string)) error
	// Wait returns when the key's tenant has a turn, or a [hub.ErrRateLimited] at once when
	// too many of its requests wait.
	Wait(ctx context.Context, key keys.Principal) error
}

// KeyUse reads how much of its rate a key has used, without counting a request.
type KeyUse interface {
	KeyUse(ctx context.Context, keyID uuid.UUID, integration *uuid.UUID, rate limit.Rate) limit.Result
}

// LookupLimiter counts an operator's lookups and sets the RateLimit-* headers. It returns
// a [hub.ErrRateLimited] once there are too many.
type LookupLimiter interface {
	AllowLookup(ctx context.Context, operator string, setHeader func(name, value string)) error
}

// Deps are the dependencies of the interface.
type Deps struct {
	Log            *slog.Logger
	Auth           *auth.Service
	Keys           *keys.Service
	KeyFinder      keys.Finder // looks up keys: Keys, or a cache in front of it
	KeyLimiter     KeyLimiter  // nil = keys are not limited
	KeyUse         KeyUse      // nil = the use of keys is not known
	Registry       *registry.Registry
	Endpoints      *registry.Endpoints
	Alerts         *alerts.Service
	EventTypes     *registry.EventTypes
	Connect        *connect.Service
	Audit          *audit.Recorder
	Publisher      Publisher
	Publish        fiber.Handler // POST /events; checks credentials itself
	PublishBatch   fiber.Handler // POST /events/batch, likewise
	Ledger         *query.Reader
	Replays        *maintain.Replays
	Requeuer       *maintain.Requeuer
	Discarder      *maintain.Discarder
	Tail           *query.Tail
	Lookup         *lookup.Service
	LookupLimiter  LookupLimiter                           // nil = lookups are not limited
	Mail           *mail.Outbox                            // emails that developers may read; nil = none, as in production
	Examine        func(ctx context.Context) []HealthCheck // checks the installation; nil = nothing to check
	Wake           func(target uuid.UUID)                  // has the dispatcher fetch a target's due deliveries
	Now            func() time.Time
	Stopping       <-chan struct{}         // closed when the hub stops, which ends live tails
	SecureCookies  bool                    // the console's session is for https only
	TrustedProxies []netip.Prefix          // whose X-Forwarded-For is trusted
	Version        string                  // of the hub, for the OpenAPI document
	Docs           bool                    // serve /openapi.json and the reference page at /docs
	References     func() []reference.Link // to the references of the hub and its products; nil = none
}

// API is the mounted interface.
type API struct {
	deps        Deps
	huma        huma.API
	rows        []rest.Route
	app         *fiber.App
	tenantTails tailCounter
	// documentOnly documents rows that are served by raw fiber handlers.
	documentOnly huma.API
}

// New mounts every route on app. The app's error handler must be [httpx.ErrorHandler] and
// its body limit [httpx.MaxBody]; [httpx.RequestIDs] must run before.
func New(app *fiber.App, deps Deps) (*API, error) {
	a := &API{deps: deps, app: app}
	settings := huma.DefaultConfig(Title, deps.Version)
	settings.OpenAPIPath, settings.DocsPath, settings.SchemasPath = "", "", "" // package reference serves them
	settings.CreateHooks = nil                                                 // no $schema in answers
	settings.Formats = httpx.JSONFormats()
	settings.Info.Description = description
	settings.Servers = []*huma.Server{{URL: "/", Description: "This hub"}}
	settings.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		module.SchemeBearer: {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "Access token of an operator, from POST /api/v1/auth/login."},
		module.SchemeKey:    {Type: "apiKey", In: "header", Name: hub.HeaderKey, Description: "API key of a tenant. Keys belong to servers, never to browsers."},
		schemeSession:       a.sessionScheme(),
	}
	httpx.InstallHuma(&settings, deps.Log)
	a.huma = humafiber.New(app, settings)
	a.documentOnly = huma.NewAPI(settings, unserved{})
	a.rows = a.routes()
	for _, row := range a.rows {
		a.mount(row)
	}
	rest.DocumentNullable(a.huma.OpenAPI().Components.Schemas)
	for _, tag := range tags {
		if !slices.ContainsFunc(a.rows, func(row rest.Route) bool { return row.Tag() == tag.name }) {
			continue
		}
		settings.Tags = append(settings.Tags, &huma.Tag{Name: tag.name, Description: tag.doc})
	}
	if deps.Docs {
		if err := reference.Mount(app, reference.Page{Title: Title, Write: a.OpenAPI, Links: deps.References}); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Title is the name of the interface.
const Title = "Integration Hub"

const description = `Accepts events from products and delivers them, signed, to everyone who wants them.

Errors are application/problem+json with a stable ` + "`code`" + `; lists are pages with ` + "`next_cursor`" + `.`

// OpenAPI returns the OpenAPI 3.1 document of the interface, as JSON.
func (a *API) OpenAPI() ([]byte, error) { return reference.Write(a.huma.OpenAPI()) }

// Document returns the OpenAPI 3.1 document of a development hub, without a running hub.
func Document(version string) ([]byte, error) {
	a, err := New(fiber.New(fiber.Config{DisableStartupMessage: true}), Deps{
		Version: version, Log: slog.New(slog.DiscardHandler), Mail: mail.New(mail.Config{}),
	})
	if err != nil {
		return nil, err
	}
	return a.OpenAPI()
}

// mount documents a row and binds it behind the guard.
func (a *API) mount(row rest.Route) {
	op := operation(row)
	op.Middlewares = huma.Middlewares{a.guard(row)}
	row.Bind(a.huma, op)
	a.complete(op)
}

// operation describes a row for huma and the OpenAPI document.
func operation(row rest.Route) huma.Operation {
	op := huma.Operation{
		OperationID: row.ID, Method: row.Method, Path: row.Path, Summary: row.Summary, Responses: make(map[string]*huma.Response),
		Tags: []string{row.Tag()}, DefaultStatus: row.Status, Errors: errorsOf(row), Security: row.Access,
	}
	if row.Access.Credentials().Bearer {
		op.Security = append(slices.Clone(op.Security), map[string][]string{schemeSession: {}})
	}
	docs.Operations[row.ID].Describe(&op)
	return op
}

// complete adds to the documentation of a bound row what huma cannot know: additional
// success statuses, and responses that are not JSON.
func (a *API) complete(op huma.Operation) {
	own := op.Responses[strconv.Itoa(op.DefaultStatus)]
	switch op.OperationID {
	case "events.publish", "events.publish-batch":
		op.Responses["200"] = &huma.Response{Description: "All of it was accepted before, with the same id or Idempotency-Key: the first response", Content: own.Content}
	case "replays.create", "endpoints.recover":
		own.Description, own.Content = "The job that was started", a.content(reflect.TypeFor[maintain.Replay]())
		op.Responses["200"] = &huma.Response{Description: "Dry run: the count", Content: a.content(reflect.TypeFor[ReplayCount]())}
	case actionStream:
		own.Description = `Messages named "delivery", each with a delivery as its data; the id names the delivery and its change`
		own.Content = map[string]*huma.MediaType{eventStream: own.Content["application/json"]}
	}
}

// content documents a response body of a type.
func (a *API) content(of reflect.Type) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: a.huma.OpenAPI().Components.Schemas.Schema(of, true, "")}}
}

// errorsOf lists the error statuses of a row.
func errorsOf(row rest.Route) []int {
	list := []int{http.StatusBadRequest, http.StatusNotFound, http.StatusServiceUnavailable}
	list = append(list, http.StatusUnauthorized)
	accepted := row.Access.Credentials()
	if !accepted.None {
		list = append(list, http.StatusForbidden)
	}
	switch row.ID { // these call a peer
	case actionConnect, actionLink, "integrations.rotate-secret":
		list = append(list, http.StatusUnprocessableEntity, http.StatusBadGateway, http.StatusGatewayTimeout)
	}
	if accepted.Key || isLogin(row) || isLookup(row.ID) {
		list = append(list, http.StatusTooManyRequests)
	}
	if row.Method != http.MethodGet {
		list = append(list, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	return list
}

// unserved is a huma adapter for operations that are only documented.
type unserved struct{}

func (unserved) Handle(*huma.Operation, func(huma.Context))   {}
func (unserved) ServeHTTP(http.ResponseWriter, *http.Request) {}
