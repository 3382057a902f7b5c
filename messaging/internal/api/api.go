// Package api is the product's HTTP interface. [API.routes] is the one table of its routes.
// Each resource has a file with its requests, responses and handlers.
package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/accounts"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/appointments"
	"integrationhub/messaging/internal/autoreply"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/driver/bridge"
	"integrationhub/messaging/internal/driver/cloud"
	"integrationhub/messaging/internal/driver/sandbox"
	"integrationhub/messaging/internal/imports"
	"integrationhub/messaging/internal/media"
	"integrationhub/messaging/internal/outbound"
	"integrationhub/messaging/internal/realtime"
	"integrationhub/messaging/internal/sessions"
	"integrationhub/messaging/internal/store"
)

// API serves the interface.
type API struct {
	host          module.Host
	store         *store.Store
	outbound      *outbound.Service
	drivers       *driver.Drivers
	realtime      *realtime.Service
	sessions      *sessions.Service
	sandbox       *sandbox.Network // nil outside of development
	cloud         *cloud.Driver
	bridge        *bridge.Driver
	authenticator *accounts.Authenticator
	imports       *imports.Service
	media         *media.Service
	replies       *autoreply.Service
	appointments  *appointments.Service
	importGate    *importGate
}

// Services are what the API calls.
type Services struct {
	Store        *store.Store
	Outbound     *outbound.Service
	Drivers      *driver.Drivers
	Realtime     *realtime.Service
	Sessions     *sessions.Service
	Sandbox      *sandbox.Network // nil outside of development
	Cloud        *cloud.Driver
	Bridge       *bridge.Driver
	Imports      *imports.Service
	Media        *media.Service
	Replies      *autoreply.Service
	Appointments *appointments.Service
}

// New returns the API of an opened product.
func New(host module.Host, s Services) *API {
	return &API{host, s.Store, s.Outbound, s.Drivers, s.Realtime, s.Sessions, s.Sandbox, s.Cloud, s.Bridge, accounts.New(host, accountOptions, userStore{s.Store}), s.Imports, s.Media, s.Replies, s.Appointments, newImportGate()}
}

// Authenticator returns the logins of the companies' users.
func (a *API) Authenticator() *accounts.Authenticator { return a.authenticator }

// RegisterRoutes registers every row of the table.
func (a *API) RegisterRoutes(api huma.API) {
	rest.Register(api, rest.Map(a.Routes(), withPlatformErrors), docs, a.checkRateLimit)
}

// checkRateLimit returns a rate limit error if a user, or an address that signs up, made too
// many requests. The hub limits those of keys.
func (a *API) checkRateLimit(ctx context.Context, r rest.Route) error {
	caller, isAuthenticated := module.CallerFrom(ctx)
	switch {
	case isAuthenticated && caller.UserID != uuid.Nil:
		return a.host.RateLimiter.Allow(ctx, limitUsers, caller.UserID.String())
	case r.ID == "auth.signup":
		return a.host.RateLimiter.Allow(ctx, "sign-ups", module.ClientIP(ctx))
	}
	return nil
}

// userPrincipal is the user of a request.
type userPrincipal struct {
	scope store.Scope
	user  store.User
}

// requireUser returns the user of a request.
func (a *API) requireUser(ctx context.Context) (userPrincipal, error) {
	caller, err := rest.RequireCaller(ctx)
	if err != nil {
		return userPrincipal{}, err
	}
	user, err := a.store.UserByUID(ctx, caller.UserID)
	if err == nil {
		err = a.renewOnline(ctx, user)
	}
	return userPrincipal{store.Scope{Company: user.CompanyID, Tenant: caller.TenantID}, user}, err
}

// onlineTime is how long a user counts as online after a call, or after its stream ended.
const onlineTime = 2 * time.Minute

// renewOnline stores that a user is online, once in half of that time.
func (a *API) renewOnline(ctx context.Context, user store.User) error {
	now := a.host.Now()
	if user.OnlineUntil != nil && user.OnlineUntil.After(now.Add(onlineTime/2)) {
		return nil
	}
	return a.store.RenewUserOnline(ctx, now.Add(onlineTime), user.UID)
}

// viewerOf returns which tickets a user sees; nil stands for every ticket.
func (a *API) viewerOf(ctx context.Context, user userPrincipal) (*store.Viewer, error) {
	return viewerIn(ctx, a.store, user)
}

// queueReader reads the queues of users: the store, or a transaction.
type queueReader interface {
	QueueIDsOfUser(ctx context.Context, companyID, userID int64) ([]int64, error)
}

// viewerIn is [API.viewerOf] with what a reader finds.
func viewerIn(ctx context.Context, reader queueReader, user userPrincipal) (*store.Viewer, error) {
	if user.user.Profile == profileAdmin {
		return nil, nil
	}
	queues, err := reader.QueueIDsOfUser(ctx, user.scope.Company, user.user.ID)
	return viewerWith(user.user, queues), err
}

// viewerWith is [API.viewerOf] for a user whose queues are known.
func viewerWith(user store.User, queues []int64) *store.Viewer {
	if user.Profile == profileAdmin {
		return nil
	}
	return &store.Viewer{UserID: user.ID, Queues: queues, AllTickets: user.AllTickets}
}

// errNoPermission is the error of a user without the right to do something.
func errNoPermission() *hub.Error {
	return hub.Errorf(hub.ErrForbidden, "no_permission", "You have no permission for this.")
}

// IDParam is the path parameter of a single resource.
type IDParam struct {
	ID int64 `path:"id" minimum:"1" maximum:"9007199254740991" doc:"Id of the resource" example:"17"`
}

// Message is a response for people.
type Message struct {
	Message string `json:"message" doc:"What was done"`
}

type messageOutput struct{ Body Message }

// notFound returns the error for an id that is not there for the caller; the code is the
// platform's without ERR_.
func notFound(code, what string) *hub.Error {
	return hub.Errorf(hub.ErrNotFound, code, "There is no %s with this id.", what)
}

// refused returns the error of a request that cannot be carried out: a 400 with a code of the
// platform.
func refused(code, detail string) *hub.Error { return hub.Errorf(hub.ErrMalformed, code, "%s", detail) }
