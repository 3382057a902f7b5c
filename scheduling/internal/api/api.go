// Package api is the HTTP API of the scheduling product: docs/interfaces/scheduling.md.
// [API.routes] is the route table. Each resource has a file with its requests,
// responses and handlers.
package api

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/accounts"
	"integrationhub/hub/module/picture"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/notify"
	"integrationhub/scheduling/internal/payment"
	"integrationhub/scheduling/internal/publicbooking"
	"integrationhub/scheduling/internal/store"
)

// API holds the handlers of the scheduling HTTP API.
type API struct {
	host          module.Host
	store         *store.Store
	payments      *payment.Service
	publicBooking *publicbooking.Service
	notifier      *notify.Notifier
	accounts      *accounts.Authenticator
	images        *picture.Processor
}

// New returns the API of an opened product.
func New(host module.Host, db *store.Store, payments *payment.Service, publicBooking *publicbooking.Service, notifier *notify.Notifier) *API {
	return &API{host: host, store: db, payments: payments, publicBooking: publicBooking, notifier: notifier, accounts: accounts.New(host, accountOptions, userStore{db}), images: picture.NewProcessor(pictureLimits)}
}

// Accounts returns the authenticator of the product's users.
func (a *API) Accounts() *accounts.Authenticator { return a.accounts }

// RegisterRoutes registers the routes of [API.routes].
func (a *API) RegisterRoutes(api huma.API) { a.register(api, a.routes()) }

// RegisterSearches registers the routes below search/*.
func (a *API) RegisterSearches(api huma.API) { a.register(api, a.searchRoutes()) }

// RegisterActions registers the routes below action/*.
func (a *API) RegisterActions(api huma.API) { a.register(api, a.actionRoutes()) }

func (a *API) register(api huma.API, rows []rest.Route) {
	api.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[booking.Cents](), reflect.TypeFor[float64]())
	rest.Register(api, rows, docs, a.checkRateLimit)
}

// handle binds a handler to its route. Domain errors get their extension members by
// [mapError].
func handle[I, O any](handler func(context.Context, *I) (*O, error)) rest.Binder {
	return rest.Handle(func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		return out, mapError(err)
	})
}

// mapError adds the extension members that callers see to a domain error: alternatives,
// allowed transitions or the deadline.
func mapError(err error) error {
	var apiErr *hub.Error
	if err == nil || !errors.As(err, &apiErr) {
		return err
	}
	var slotTaken *booking.SlotTakenError
	var transition *booking.TransitionError
	var windowClosed *booking.WindowClosedError
	members := hub.Extensions{}
	switch {
	case errors.As(err, &slotTaken):
		alternatives := make([]alternative, len(slotTaken.Alternatives))
		for i, slot := range slotTaken.Alternatives {
			alternatives[i] = alternative{slot.Start, slot.End, slot.Professional}
		}
		members["alternatives"] = alternatives
	case errors.As(err, &transition):
		members["appointment_status"], members["allowed"] = transition.Status, transition.Allowed
	case errors.As(err, &windowClosed):
		members["deadline"] = windowClosed.Deadline
	default:
		return err
	}
	extended := *apiErr
	extended.Extensions = members
	return &extended
}

type noContent = rest.NoContent

// ByID is the path parameter of a single resource.
type ByID = rest.IDParam

// Paging holds the query parameters of a paged list.
type Paging = rest.PageParams

// Page is a page of a list.
type Page[T any] = rest.Page[T]

// toPage converts paging for the store.
func toPage(paging Paging) store.Page {
	return store.Page{Limit: paging.PerPage, Offset: paging.Offset()}
}

// requireCaller returns the signed-in caller. The product has no test environment: test
// callers get 404.
func requireCaller(ctx context.Context) (module.Caller, error) {
	caller, err := rest.RequireCaller(ctx)
	if err == nil && caller.Environment == hub.Test {
		return caller, hub.Errorf(hub.ErrNotFound, "not_found", "There is no test data in this product.")
	}
	return caller, err
}

// callerOrgID returns the ID of the caller's organization.
func callerOrgID(ctx context.Context) (uuid.UUID, error) {
	caller, err := requireCaller(ctx)
	return caller.TenantID, err
}

// loadOrg loads the caller's organization.
func (a *API) loadOrg(ctx context.Context) (store.Org, error) {
	id, err := callerOrgID(ctx)
	if err != nil {
		return store.Org{}, err
	}
	return a.store.LoadOrg(ctx, id)
}

// currentActor returns the caller as the appointment history records them.
func currentActor(ctx context.Context) store.Actor {
	caller, _ := module.CallerFrom(ctx)
	if caller.UserID == uuid.Nil {
		return store.Actor{Kind: booking.ActorIntegration}
	}
	return store.Actor{Kind: booking.ActorStaff, User: &caller.UserID, Manager: caller.Admin}
}

// requireRowChanged returns a 404 error if a statement changed no row.
func requireRowChanged(what string, rows int64, err error) error {
	if err == nil && rows == 0 {
		return hub.NotFound(what)
	}
	return err
}

// listOutput is the response of an unpaged list.
type listOutput[T any] struct {
	Total int `header:"X-Total-Count"`
	Body  []T
}

func toListOutput[A, B any](rows []A, convert func(A) B) *listOutput[B] {
	return &listOutput[B]{len(rows), rest.Map(rows, convert)}
}

// parseIfMatch parses an If-Match header. It returns nil if any version matches.
func parseIfMatch(header string) (*int, error) {
	if header == "" || header == "*" {
		return nil, nil
	}
	version, err := strconv.Atoi(strings.Trim(strings.TrimPrefix(header, "W/"), `"`))
	if err != nil {
		return nil, hub.Invalid("header.If-Match", "must be a version")
	}
	return &version, nil
}
