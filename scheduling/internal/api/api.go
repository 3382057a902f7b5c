// Package api is the scheduling service's HTTP interface (interface document 1).
// [API.routes] is the one table of its routes; each resource has a file with its
// requests, answers and handlers.
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
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/imageupload"
	"integrationhub/scheduling/internal/notify"
	"integrationhub/scheduling/internal/payment"
	"integrationhub/scheduling/internal/publicbooking"
	"integrationhub/scheduling/internal/store"
)

// API is the interface.
type API struct {
	host          module.Host
	store         *store.Store
	payments      *payment.Service
	publicBooking *publicbooking.PublicBooking
	notifier      *notify.Notifier
	accounts      *accounts.Authenticator
	images        *imageupload.Processor
}

// New returns the API of an opened product.
func New(host module.Host, db *store.Store, payments *payment.Service, publicBooking *publicbooking.PublicBooking, notifier *notify.Notifier) *API {
	return &API{host: host, store: db, payments: payments, publicBooking: publicBooking, notifier: notifier, accounts: accounts.New(host, accountOptions, userStore{db}), images: imageupload.NewProcessor()}
}

// Accounts is the desk that logs users in.
func (a *API) Accounts() *accounts.Authenticator { return a.accounts }

// RegisterRoutes registers every row of the table.
func (a *API) RegisterRoutes(api huma.API) { a.register(api, a.routes()) }

// RegisterSearches registers the rows below search/*.
func (a *API) RegisterSearches(api huma.API) { a.register(api, a.searchRoutes()) }

// RegisterActions registers the rows below action/*.
func (a *API) RegisterActions(api huma.API) { a.register(api, a.actionRoutes()) }

func (a *API) register(api huma.API, rows []rest.Route) {
	api.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[booking.Cents](), reflect.TypeFor[float64]())
	rest.Register(api, rows, a.checkRateLimit)
}

// handle binds a handler to its row; errors of the rules bring their members.
func handle[I, O any](handler func(context.Context, *I) (*O, error)) rest.Binder {
	return rest.Handle(func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		return out, mapError(err)
	})
}

// mapError gives errors of the rules the members that callers see.
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

// ByID is the path of a single thing.
type ByID = rest.IDParam

// Paging asks for a page of a list.
type Paging = rest.PageParams

// Page is one page of a list.
type Page[T any] = rest.Page[T]

// requireCaller is who is signed in.
func requireCaller(ctx context.Context) (module.Caller, error) {
	caller, err := rest.RequireCaller(ctx)
	if err == nil && caller.Environment == hub.Test {
		return caller, hub.Errorf(hub.ErrNotFound, "not_found", "There is no test data in this product.")
	}
	return caller, err
}

// callerOrgID is the organization of who is signed in.
func callerOrgID(ctx context.Context) (uuid.UUID, error) {
	caller, err := requireCaller(ctx)
	return caller.TenantID, err
}

// loadOrg loads the organization of who is signed in.
func (a *API) loadOrg(ctx context.Context) (store.Org, error) {
	id, err := callerOrgID(ctx)
	if err != nil {
		return store.Org{}, err
	}
	return a.store.LoadOrg(ctx, id)
}

// currentActor is who is signed in, as the history names them.
func currentActor(ctx context.Context) store.Actor {
	caller, _ := module.CallerFrom(ctx)
	if caller.UserID == uuid.Nil {
		return store.Actor{Kind: booking.IntegrationActor}
	}
	return store.Actor{Kind: booking.Staff, User: &caller.UserID, Manager: caller.Admin}
}

// requireRowChanged is nil where a statement changed a row.
func requireRowChanged(what string, rows int64, err error) error {
	if err == nil && rows == 0 {
		return hub.NotFound(what)
	}
	return err
}

// listOutput is a whole list.
type listOutput[T any] struct {
	Total int `header:"X-Total-Count"`
	Body  []T
}

func toListOutput[A, B any](rows []A, convert func(A) B) *listOutput[B] {
	return &listOutput[B]{len(rows), rest.Map(rows, convert)}
}

// parseIfMatch reads If-Match.
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
