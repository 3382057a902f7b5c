// Package scheduling is the multi-tenant online scheduling service, as a product that
// a hub hosts. docs/interfaces/scheduling.md describes its interface.
package scheduling

import (
	"context"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	_ "time/tzdata" // organizations have time zones, and machines may know none

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/hub/module/accounts"
	"integrationhub/scheduling/internal/api"
	"integrationhub/scheduling/internal/jobs"
	"integrationhub/scheduling/internal/notify"
	"integrationhub/scheduling/internal/payment"
	"integrationhub/scheduling/internal/publicbooking"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/migrations"
	"integrationhub/scheduling/pages"
)

// Module is the product.
type Module struct{}

// New returns the product.
func New() Module { return Module{} }

var _ module.Module = Module{}

// Spec implements [module.Module].
func (Module) Spec() module.Spec {
	return module.Spec{
		Name: "scheduling", Title: "Scheduling", Description: description, KeyPrefix: "sch", TenantPrefix: "org", Version: "1.0.0", Features: api.Features(),
		Receives: []string{events.TypePatientCreated, events.TypePatientUpdated, events.TypePatientDeleted, events.TypePaymentReceived},
		Sends:    events.FromScheduling(),
		Limits:   slices.Concat(accounts.RateLimits(), accounts.InvitationLimits(), publicbooking.RateLimits()),
	}
}

// description introduces the API.
const description = `Services, professionals and their calendars, appointments, clients, payments, loyalty and reports; the calls behind the public booking pages need no login.

Logging in: ` + "`POST /api/v1/auth/register`" + ` makes an organization with its owner, ` + "`POST /api/v1/auth/login`" + ` logs a user in. Both return an access token, which is sent with requests, and a refresh token, which ` + "`POST /api/v1/auth/refresh`" + ` trades for a new pair once.

Roles: owners and administrators may do everything; staff books and works with clients, and changes neither the organization and its users nor the loyalty program.

There is no test data in this product: with ` + "`X-Environment: test`" + ` users find nothing of its own, only integrations and their keys.

Lists that can be long are pages: ` + "`page`" + ` and ` + "`per_page`" + ` ask for one, and the response has ` + "`items`" + ` and ` + "`total`" + `. Plain lists have the header ` + "`X-Total-Count`" + `.`

// Migrations implements [module.Module].
func (Module) Migrations() fs.FS { return migrations.FS() }

// Open implements [module.Module].
func (Module) Open(_ context.Context, host module.Host) (module.Instance, error) {
	db := store.New(host)
	payments, err := payment.New(host, db)
	if err != nil {
		return nil, err
	}
	publicBooking := publicbooking.New(host, db, payments)
	notifier := notify.New(host, db, publicBooking)
	i := &instance{api: api.New(host, db, payments, publicBooking, notifier), store: db, pages: pages.New(host, publicBooking)}
	i.jobs = slices.Concat(jobs.List(jobs.NewMaintenance(host, db), payments, notifier), i.api.Accounts().Jobs())
	return i, nil
}

// instance is an opened product.
type instance struct {
	api   *api.API
	store *store.Store
	pages *pages.Pages
	jobs  []module.Job
}

var (
	_ module.Instance       = (*instance)(nil)
	_ module.SearchProvider = (*instance)(nil)
	_ module.ActionProvider = (*instance)(nil)
	_ module.Presenter      = (*instance)(nil)
	_ module.PhoneSearcher  = (*instance)(nil)
	_ module.EmailSearcher  = (*instance)(nil)
	_ module.CPFSearcher    = (*instance)(nil)
	_ module.PersonFinder   = (*instance)(nil)
	_ module.PageProvider   = (*instance)(nil)
	_ module.JobProvider    = (*instance)(nil)
)

// RegisterRoutes implements [module.Instance].
func (i *instance) RegisterRoutes(api huma.API) { i.api.RegisterRoutes(api) }

// Authenticate implements [module.Instance].
func (i *instance) Authenticate(ctx context.Context, token string) (module.Caller, error) {
	return i.api.Authenticate(ctx, token)
}

// RegisterSearches implements [module.SearchProvider].
func (i *instance) RegisterSearches(api huma.API) { i.api.RegisterSearches(api) }

// RegisterActions implements [module.ActionProvider].
func (i *instance) RegisterActions(api huma.API) { i.api.RegisterActions(api) }

// PresentConnect implements [module.Presenter].
func (i *instance) PresentConnect(integration module.Integration) any {
	return api.ToIntegration(integration)
}

// PresentStatus implements [module.Presenter].
func (i *instance) PresentStatus(integrations []module.Integration) any {
	return api.ToIntegrations(integrations)
}

// SearchPhone implements [module.PhoneSearcher].
func (i *instance) SearchPhone(ctx context.Context, phone string) ([]module.PersonMatch, error) {
	return i.api.SearchPhone(ctx, phone)
}

// SearchEmail implements [module.EmailSearcher].
func (i *instance) SearchEmail(ctx context.Context, email string) ([]module.PersonMatch, error) {
	return i.api.SearchEmail(ctx, email)
}

// SearchCPFEnd implements [module.CPFSearcher].
func (i *instance) SearchCPFEnd(ctx context.Context, lastTwo string) ([]module.PersonMatch, error) {
	return i.api.SearchCPFEnd(ctx, lastTwo)
}

// PersonIDMember implements [module.PersonFinder].
func (*instance) PersonIDMember() string { return "client_id" }

// FindPerson implements [module.PersonFinder].
func (i *instance) FindPerson(ctx context.Context, tenant uuid.UUID, _ hub.Environment, id uuid.UUID) (module.Person, error) {
	return i.store.LogPerson(ctx, tenant, id)
}

// Pages implements [module.PageProvider].
func (i *instance) Pages() map[string]http.Handler {
	handlers := map[string]http.Handler{pages.Root: i.pages}
	maps.Copy(handlers, i.api.Accounts().Pages())
	maps.Copy(handlers, api.LinkPages())
	return handlers
}

// Handle implements [module.Instance].
func (i *instance) Handle(ctx context.Context, tx pgx.Tx, event hub.Event) error {
	return i.store.Join(tx).HandleEvent(ctx, event)
}

// EraseTenant implements [module.TenantEraser].
func (i *instance) EraseTenant(ctx context.Context, tenant uuid.UUID) error {
	return i.store.EraseOrganization(ctx, tenant)
}

// Jobs implements [module.JobProvider].
func (i *instance) Jobs() []module.Job { return i.jobs }
