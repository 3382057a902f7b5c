// Package api is the clinic's HTTP interface. [API.routes] is the one table of its routes.
// Each resource has a file with its requests, responses and handlers.
package api

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/erasure"
	"integrationhub/clinic/internal/exports"
	"integrationhub/clinic/internal/imports"
	"integrationhub/clinic/internal/inbox"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module"
	"integrationhub/hub/module/accounts"
	"integrationhub/hub/module/rest"
)

// API serves the interface.
type API struct {
	host          module.Host
	store         *store.Store
	inbox         *inbox.Service
	erasure       *erasure.Service
	imports       *imports.Service
	exports       *exports.Service
	authenticator *accounts.Authenticator
}

// New returns the API of an opened product.
func New(host module.Host, s *store.Store, inboxService *inbox.Service, erasureService *erasure.Service, importService *imports.Service) *API {
	a := &API{host: host, store: s, inbox: inboxService, erasure: erasureService, imports: importService, authenticator: accounts.New(host, accountOptions, userStore{s})}
	a.exports = exports.New(host, s, exportSource{a})
	return a
}

// Exports returns the bulk exports, which read the API's resources.
func (a *API) Exports() *exports.Service { return a.exports }

// Authenticator returns the logins of the clinic's users.
func (a *API) Authenticator() *accounts.Authenticator { return a.authenticator }

// RegisterRoutes registers every row of the table.
func (a *API) RegisterRoutes(api huma.API) { a.register(api, a.routes()) }

// RegisterSearches registers the rows below search/*.
func (a *API) RegisterSearches(api huma.API) { a.register(api, a.searchRoutes()) }

// RegisterActions registers the rows below action/*.
func (a *API) RegisterActions(api huma.API) { a.register(api, a.actionRoutes()) }

func (a *API) register(api huma.API, rows []rest.Route) {
	api.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[care.Amount](), reflect.TypeFor[float64]())
	rest.Register(api, rest.Map(rows, func(r rest.Route) rest.Route {
		bind := r.Bind
		r.Bind = func(api huma.API, op huma.Operation) {
			op.Middlewares = append(op.Middlewares, setPatientSubject)
			bind(api, op)
		}
		return r
	}), docs, a.checkRateLimit)
}

// patientPaths begin the paths whose id is a patient's.
var patientPaths = []string{"/api/v1/patients/{id}", fhirPath + "/Patient/{id}"}

// setPatientSubject sets the audit entry's patient from the path, unless the response is 404.
func setPatientSubject(ctx huma.Context, next func(huma.Context)) {
	next(ctx)
	if !slices.ContainsFunc(patientPaths, func(path string) bool { return strings.HasPrefix(ctx.Operation().Path, path) }) {
		return
	}
	if id, err := uuid.Parse(ctx.Param("id")); err == nil && ctx.Status() != http.StatusNotFound {
		module.SetSubject(ctx.Context(), id.String())
	}
}

// checkRateLimit is a rate limit error if a user, or an address that signs up, made too many
// requests. The hub limits those of keys.
func (a *API) checkRateLimit(ctx context.Context, r rest.Route) error {
	caller, isAuthenticated := module.CallerFrom(ctx)
	switch {
	case isAuthenticated && caller.UserID != uuid.Nil:
		return a.host.RateLimiter.Allow(ctx, "users", caller.TenantID.String())
	case r.ID == "auth.register":
		return a.host.RateLimiter.Allow(ctx, "sign-ups", module.ClientIP(ctx))
	}
	return nil
}

// requestScope returns the scope of a request's data, and its caller.
func requestScope(ctx context.Context) (store.Scope, module.Caller, error) {
	caller, err := rest.RequireCaller(ctx)
	return store.Scope{Clinic: caller.TenantID, Env: caller.Environment}, caller, err
}
