// Package clinic is the clinic-management product of docs/interfaces/clinic.md, as a
// product that a hub hosts.
package clinic

import (
	"context"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	_ "time/tzdata" // clinics have time zones, and machines may know none

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/api"
	"integrationhub/clinic/internal/erasure"
	"integrationhub/clinic/internal/imports"
	"integrationhub/clinic/internal/inbox"
	"integrationhub/clinic/internal/jobs"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/migrations"
	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/hub/module/accounts"
)

// Module is the product.
type Module struct{}

// New returns the product.
func New() Module { return Module{} }

var _ module.Module = Module{}

// Spec implements [module.Module].
func (Module) Spec() module.Spec {
	return module.Spec{
		Name: "clinic", Title: "Clinic", Description: description, KeyPrefix: "cli", TenantPrefix: "clinic", Version: "1.0.0", Features: api.Features(),
		Receives: inbox.EventTypes(),
		Sends:    events.FromClinic(),
		Limits:   append(accounts.RateLimits(), accounts.InvitationLimits()...),
	}
}

// description introduces the API in its OpenAPI document.
const description = `Patients, records, appointments, payments and what connected products did with a patient; a FHIR R4 facade to read them.

Logging in: ` + "`POST /api/v1/auth/register`" + ` makes a clinic with its first administrator, ` + "`POST /api/v1/auth/login`" + ` logs a user in. Both return an access token, which is sent with requests, and a refresh token, which ` + "`POST /api/v1/auth/refresh`" + ` trades for a new pair once.

Roles: administrators may do everything; staff works with patients, and neither manages users, professionals and integrations, nor imports, exports or erases patients.

Lists are pages: ` + "`page`" + ` and ` + "`per_page`" + ` ask for one, and the response has ` + "`items`" + ` and ` + "`total`" + `. Users and professionals are plain lists. Below ` + "`/fhir`" + ` errors are an OperationOutcome, and searches go on at the links ` + "`next`" + ` and ` + "`prev`" + `.

Tax ids (CPF) are masked, and reading a patient's data is on record.`

// Migrations implements [module.Module].
func (Module) Migrations() fs.FS { return migrations.FS() }

// Open implements [module.Module].
func (Module) Open(_ context.Context, host module.Host) (module.Instance, error) {
	clinicStore := store.New(host)
	inboxService := inbox.New(host, clinicStore)
	erasureService, importService := erasure.New(host, clinicStore, inboxService), imports.New(host, clinicStore)
	a := api.New(host, clinicStore, inboxService, erasureService, importService)
	return &instance{
		api: a, store: clinicStore, inbox: inboxService,
		jobs: slices.Concat(a.Authenticator().Jobs(), a.Exports().Jobs(), jobs.List(clinicStore, inboxService, erasureService, importService)),
	}, nil
}

// instance is the opened product.
type instance struct {
	api   *api.API
	store *store.Store
	inbox *inbox.Service
	jobs  []module.Job
}

var (
	_ module.Instance       = (*instance)(nil)
	_ module.SearchProvider = (*instance)(nil)
	_ module.ActionProvider = (*instance)(nil)
	_ module.PhoneSearcher  = (*instance)(nil)
	_ module.EmailSearcher  = (*instance)(nil)
	_ module.CPFSearcher    = (*instance)(nil)
	_ module.PersonFinder   = (*instance)(nil)
	_ module.JobProvider    = (*instance)(nil)
	_ module.EventScreener  = (*instance)(nil)
	_ module.PageProvider   = (*instance)(nil)
	_ module.ErrorFormatter = (*instance)(nil)
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
func (*instance) PersonIDMember() string { return "patient_id" }

// FindPerson implements [module.PersonFinder].
func (i *instance) FindPerson(ctx context.Context, tenant uuid.UUID, environment hub.Environment, id uuid.UUID) (module.Person, error) {
	return i.store.LogPerson(ctx, store.Scope{Clinic: tenant, Env: environment}, id)
}

// EraseTenant implements [module.TenantEraser].
func (i *instance) EraseTenant(ctx context.Context, tenant uuid.UUID) error {
	return i.store.EraseClinic(ctx, tenant)
}

// Jobs implements [module.JobProvider].
func (i *instance) Jobs() []module.Job { return i.jobs }

// Pages implements [module.PageProvider].
func (i *instance) Pages() map[string]http.Handler {
	pages := i.api.Authenticator().Pages()
	maps.Copy(pages, api.LinkPages())
	return pages
}

// ScreenEvent implements [module.EventScreener].
func (i *instance) ScreenEvent(ctx context.Context, tx pgx.Tx, e hub.Event) (module.Screening, error) {
	return i.inbox.ScreenEvent(ctx, tx, e)
}

// Handle implements [module.Instance].
func (i *instance) Handle(ctx context.Context, tx pgx.Tx, e hub.Event) error {
	return i.inbox.Receive(ctx, tx, e)
}

// ErrorFormats implements [module.ErrorFormatter].
func (i *instance) ErrorFormats() map[string]module.ErrorFormat { return api.ErrorFormats() }
