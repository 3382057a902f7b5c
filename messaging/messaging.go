// Package messaging is the messaging platform of docs/interfaces/messaging.md, as a product
// that a hub hosts.
package messaging

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"time"
	_ "time/tzdata" // companies have time zones, and machines may know none

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/hub/module/accounts"
	"integrationhub/hub/module/dberr"
	"integrationhub/messaging/internal/api"
	"integrationhub/messaging/internal/appointments"
	"integrationhub/messaging/internal/autoreply"
	"integrationhub/messaging/internal/campaigns"
	"integrationhub/messaging/internal/contactlinks"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/driver/bridge"
	"integrationhub/messaging/internal/driver/cloud"
	"integrationhub/messaging/internal/driver/sandbox"
	"integrationhub/messaging/internal/imports"
	"integrationhub/messaging/internal/inbound"
	"integrationhub/messaging/internal/jobs"
	"integrationhub/messaging/internal/media"
	"integrationhub/messaging/internal/outbound"
	"integrationhub/messaging/internal/realtime"
	"integrationhub/messaging/internal/schedules"
	"integrationhub/messaging/internal/sessions"
	"integrationhub/messaging/internal/store"
	"integrationhub/messaging/migrations"
)

// Module is the product.
type Module struct{}

// New returns the product.
func New() Module { return Module{} }

var _ module.Module = Module{}

// Spec implements [module.Module].
func (Module) Spec() module.Spec {
	return module.Spec{
		Name: "messaging", Title: "Messaging", Description: description, KeyPrefix: "msg", KeyHeader: "apikey", TenantPrefix: "company", Version: "1.0.0", Features: api.Features(),
		Receives: []string{events.TypePatientCreated, events.TypePatientUpdated, events.TypePatientDeleted}, Sends: events.FromMessaging(),
		Limits: rateLimits(), AccessTTL: 15 * time.Minute, RefreshTTL: 7 * 24 * time.Hour,
	}
}

// rateLimits are the limits of requests: the platform counts those of each user, and not
// those of a whole company.
func rateLimits() []module.RateLimit {
	limits := slices.DeleteFunc(accounts.RateLimits(), func(l module.RateLimit) bool { return l.Name == "users" })
	return append(limits, module.RateLimit{Name: "users", Max: 600, Period: time.Minute}, module.RateLimit{Name: "sends", Max: 60, Period: time.Minute, Burst: 20})
}

// description introduces the API in its OpenAPI document.
const description = `Tickets, contacts and messages of a company, over connections to chat networks.

Logging in: ` + "`POST /auth/signup`" + ` makes a company with its first administrator, ` + "`POST /auth/login`" + ` logs a user in. Both return a token, which is sent with requests, and a refresh token, which ` + "`POST /auth/refresh_token`" + ` trades for a new pair once.

Programs send messages with ` + "`POST /api/messages/send`" + ` and an API token of the company.

Errors have a member ` + "`error`" + ` with the platform's name of the error, such as ` + "`ERR_NO_TICKET_FOUND`" + `. Lists have ` + "`count`" + ` and ` + "`hasMore`" + `; ` + "`pageNumber`" + ` begins at 1.`

// Migrations implements [module.Module].
func (Module) Migrations() fs.FS { return migrations.FS() }

// Open implements [module.Module].
func (Module) Open(_ context.Context, host module.Host) (module.Instance, error) {
	webhookData := &api.WebhookData{}
	messagingStore, drivers := store.New(host, webhookData), &driver.Drivers{}
	files := media.New(host, messagingStore)
	webhookData.Media = files
	outboundService := outbound.New(host, messagingStore, drivers, files)
	calendar := appointments.New(host)
	replies := autoreply.New(host, messagingStore, outboundService, calendar)
	inboundService := inbound.New(host, messagingStore, drivers, files, replies)
	streams := realtime.New(host, messagingStore)
	services := api.Services{
		Store: messagingStore, Outbound: outboundService, Drivers: drivers, Realtime: streams, Sessions: sessions.New(host, messagingStore, drivers),
		Imports: imports.New(host, messagingStore), Media: files, Replies: replies, Appointments: calendar,
	}
	if host.Settings.CloudAPIURL != "" { // it is empty where only the OpenAPI document is made
		network, err := cloud.New(host, inboundService, host.Settings.CloudAPIURL, host.Settings.CloudAPIVersion)
		if err != nil {
			return nil, err
		}
		services.Cloud = network
		drivers.Add(network)
	}
	services.Bridge = bridge.New(host, inboundService)
	drivers.Add(services.Bridge)
	if host.Settings.Development {
		services.Sandbox = sandbox.New(host, inboundService)
		drivers.Add(services.Sandbox)
	}
	work := jobs.Services{
		Outbound: outboundService, Inbound: inboundService, Realtime: streams, Sessions: services.Sessions, Imports: services.Imports, Replies: replies,
		Schedules: schedules.New(host, messagingStore), Campaigns: campaigns.New(host, messagingStore, outboundService), Store: messagingStore, ContactLinks: contactlinks.New(host, messagingStore),
		Sandbox: services.Sandbox,
	}
	a := api.New(host, services)
	return &instance{api: a, store: messagingStore, sessions: services.Sessions, log: host.Log, jobs: append(a.Authenticator().Jobs(), jobs.List(work)...)}, nil
}

// instance is the opened product.
type instance struct {
	api      *api.API
	store    *store.Store
	sessions *sessions.Service
	log      *slog.Logger
	jobs     []module.Job
}

var (
	_ module.Instance       = (*instance)(nil)
	_ module.SearchProvider = (*instance)(nil)
	_ module.ActionProvider = (*instance)(nil)
	_ module.PhoneSearcher  = (*instance)(nil)
	_ module.EmailSearcher  = (*instance)(nil)
	_ module.JobProvider    = (*instance)(nil)
	_ module.PageProvider   = (*instance)(nil)

	_ module.RouteErrorAdapter = (*instance)(nil)
)

// RegisterRoutes implements [module.Instance].
func (i *instance) RegisterRoutes(api huma.API) { i.api.RegisterRoutes(api) }

// Authenticate implements [module.Instance].
func (i *instance) Authenticate(ctx context.Context, token string) (module.Caller, error) {
	return i.api.Authenticate(ctx, token)
}

// AdaptRouteError implements [module.RouteErrorAdapter].
func (i *instance) AdaptRouteError(e module.ErrorResponse) (status int, members hub.Extensions) {
	return api.AdaptError(e)
}

// EraseTenant implements [module.TenantEraser]. It ends the sessions of the company's
// connections first: a network that does not respond keeps its own.
func (i *instance) EraseTenant(ctx context.Context, tenant uuid.UUID) error {
	company, err := i.store.CompanyByTenant(ctx, tenant)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return dberr.Wrap("finding a company", err)
	}
	connections, err := i.store.Connections(ctx, company.ID)
	if err != nil {
		return dberr.Wrap("listing the connections of a company", err)
	}
	for _, connection := range connections {
		if err := i.sessions.Stop(ctx, connection); err != nil {
			i.log.WarnContext(ctx, "the session of a deleted company's connection could not be ended", "connection_id", connection.ID, "error", err)
		}
	}
	return i.store.EraseCompany(ctx, company.ID)
}

// Jobs implements [module.JobProvider].
func (i *instance) Jobs() []module.Job { return i.jobs }

// Pages implements [module.PageProvider].
func (i *instance) Pages() map[string]http.Handler { return i.api.Authenticator().Pages() }

// Handle implements [module.Instance].
func (i *instance) Handle(ctx context.Context, tx pgx.Tx, event hub.Event) error {
	return i.store.Join(tx).HandleEvent(ctx, event)
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
