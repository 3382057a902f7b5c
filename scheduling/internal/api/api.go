// Package api is the scheduling service's HTTP interface (interface document 1).
// [API.routes] is the one table of its routes; each resource has a file with its
// requests, answers and handlers.
package api

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/cashier"
	"integrationhub/scheduling/internal/mailroom"
	"integrationhub/scheduling/internal/picture"
	"integrationhub/scheduling/internal/public"
	"integrationhub/scheduling/internal/store"
)

// API is the interface.
type API struct {
	kit      module.Kit
	store    *store.Store
	cashier  *cashier.Cashier
	desk     *public.Desk
	office   *mailroom.Office
	pictures *picture.Intake
	rows     []route
}

// New makes the interface of an opened product.
func New(kit module.Kit, s *store.Store, c *cashier.Cashier, desk *public.Desk, office *mailroom.Office) *API {
	a := &API{kit: kit, store: s, cashier: c, desk: desk, office: office, pictures: picture.NewIntake()}
	a.rows = append(a.routes(), a.additions()...)
	if kit.Settings.Development {
		a.rows = append(a.rows, a.developers()...)
	}
	return a
}

// Routes registers every row of the table.
func (a *API) Routes(api huma.API) { a.register(api, a.rows) }

// Searches registers the rows below search/*.
func (a *API) Searches(api huma.API) { a.register(api, a.searches()) }

// Actions registers the rows below action/*.
func (a *API) Actions(api huma.API) { a.register(api, a.actions()) }

func (a *API) register(api huma.API, rows []route) {
	registry := api.OpenAPI().Components.Schemas
	registry.RegisterTypeAlias(reflect.TypeFor[booking.Cents](), reflect.TypeFor[float64]())
	registry.RegisterTypeAlias(reflect.TypeFor[uuid.UUID](), reflect.TypeFor[uuidSchema]())
	for _, row := range rows {
		op := row.operation()
		op.Middlewares = huma.Middlewares{a.limited(api, row)}
		row.bind(api, op)
		if op := find(api.OpenAPI(), op); op != nil && op.RequestBody != nil {
			for _, content := range op.RequestBody.Content {
				ignoreUnknown(registry, content.Schema, make(map[*huma.Schema]bool))
			}
		}
	}
}

// find gives the operation as it was registered: under a group's prefix.
func find(document *huma.OpenAPI, op huma.Operation) *huma.Operation {
	for path, item := range document.Paths {
		if !strings.HasSuffix(path, op.Path) {
			continue
		}
		for _, one := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if one != nil && one.OperationID == op.OperationID {
				return one
			}
		}
	}
	return nil
}

// ignoreUnknown lets request bodies have members that nobody knows.
func ignoreUnknown(registry huma.Registry, s *huma.Schema, seen map[*huma.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	if s.Ref != "" {
		ignoreUnknown(registry, registry.SchemaFromRef(s.Ref), seen)
		return
	}
	if s.Type == huma.TypeObject {
		if _, typed := s.AdditionalProperties.(*huma.Schema); !typed {
			s.AdditionalProperties = true
		}
	}
	for _, property := range s.Properties {
		ignoreUnknown(registry, property, seen)
	}
	ignoreUnknown(registry, s.Items, seen)
}

// uuidSchema says how ids look.
type uuidSchema struct{}

// Schema implements huma.SchemaProvider.
func (uuidSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "uuid"}
}

// handle binds a handler to its row. A database that is away is a 503, and errors
// of the rules bring their members, whichever handler ran into them.
func handle[I, O any](handler func(context.Context, *I) (*O, error)) func(huma.API, huma.Operation) {
	return func(api huma.API, op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
			out, err := handler(ctx, in)
			return out, told(dberr.Failed(op.OperationID, err))
		})
	}
}

// told gives errors of the rules the members that callers see.
func told(err error) error {
	var problem *hub.Error
	if err == nil || !errors.As(err, &problem) {
		return err
	}
	var slot *booking.SlotTakenError
	var transition *booking.TransitionError
	var window *booking.WindowClosedError
	members := hub.Members{}
	switch {
	case errors.As(err, &slot):
		alternatives := make([]alternative, len(slot.Alternatives))
		for i, s := range slot.Alternatives {
			alternatives[i] = alternative{s.Start, s.End, s.Professional}
		}
		members["alternatives"] = alternatives
	case errors.As(err, &transition):
		members["appointment_status"], members["allowed"] = transition.Status, transition.Allowed
	case errors.As(err, &window):
		members["deadline"] = window.Deadline
	default:
		return err
	}
	with := *problem
	with.Members = members
	return &with
}

// none is the answer without a body.
type none struct{}

// caller is who is signed in.
func caller(ctx context.Context) (module.Caller, error) {
	who, ok := module.CallerFrom(ctx)
	if !ok {
		return who, hub.Errorf(hub.ErrUnauthorized, "unauthorized", "Log in first, and send the access token as Authorization: Bearer.")
	}
	if who.Environment == hub.Test {
		return who, hub.Errorf(hub.ErrNotFound, "not_found", "There is no test data in this product.")
	}
	return who, nil
}

// orgID is the organization of who is signed in.
func orgID(ctx context.Context) (uuid.UUID, error) {
	who, err := caller(ctx)
	return who.TenantID, err
}

// org loads the organization of who is signed in.
func (a *API) org(ctx context.Context) (store.Org, error) {
	id, err := orgID(ctx)
	if err != nil {
		return store.Org{}, err
	}
	return a.store.Org(ctx, id)
}

// staff is who is signed in, as the history names them.
func staff(ctx context.Context) store.Actor {
	who, _ := module.CallerFrom(ctx)
	if who.UserID == uuid.Nil {
		return store.Actor{Kind: booking.ByConnected}
	}
	return store.Actor{Kind: booking.Staff, User: &who.UserID, Manager: who.Admin}
}

// missing is the answer to an id that is not there for whoever asks.
func missing(what string) *hub.Error {
	return hub.Errorf(hub.ErrNotFound, "not_found", "%s not found", what)
}

// or404 names what a row that is not there would have been.
func or404(what string, err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return missing(what)
	}
	return err
}

// changedOne is nil where a statement changed a row.
func changedOne(what string, rows int64, err error) error {
	if err == nil && rows == 0 {
		return missing(what)
	}
	return err
}

// ByID is the path of a single thing.
type ByID struct {
	ID uuid.UUID `path:"id" format:"uuid"`
}

// Paging asks for a page of a list.
type Paging struct {
	Page    int `query:"page" minimum:"1" maximum:"100000" default:"1"`
	PerPage int `query:"per_page" minimum:"1" maximum:"100" default:"20"`
}

// Page is one page of a list.
type Page[T any] struct {
	Items   []T `json:"items" nullable:"false"`
	Total   int `json:"total"`
	Page    int `json:"page"`
	PerPage int `json:"per_page"`
	Pages   int `json:"pages"`
}

func pageOf[T any](items []T, total int, p Paging) Page[T] {
	if items == nil {
		items = []T{}
	}
	return Page[T]{Items: items, Total: total, Page: p.Page, PerPage: p.PerPage, Pages: (total + p.PerPage - 1) / p.PerPage}
}

// listOutput is a whole list.
type listOutput[T any] struct {
	Total int `header:"X-Total-Count"`
	Body  []T
}

func listed[A, B any](rows []A, convert func(A) B) *listOutput[B] {
	return &listOutput[B]{len(rows), mapped(rows, convert)}
}

func (p Paging) offset() int { return (p.Page - 1) * p.PerPage }

// versionOf reads If-Match.
func versionOf(header string) (*int, error) {
	if header == "" || header == "*" {
		return nil, nil
	}
	n, err := strconv.Atoi(strings.Trim(strings.TrimPrefix(header, "W/"), `"`))
	if err != nil {
		return nil, hub.Invalid("header.If-Match", "must be a version")
	}
	return &n, nil
}

// mapped converts a list.
func mapped[A, B any](list []A, convert func(A) B) []B {
	out := make([]B, len(list))
	for i, one := range list {
		out[i] = convert(one)
	}
	return out
}

// Methods of the table.
const (
	get  = http.MethodGet
	post = http.MethodPost
	put  = http.MethodPut
	del  = http.MethodDelete
)
