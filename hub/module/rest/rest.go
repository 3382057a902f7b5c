// Package rest has the common parts of HTTP APIs: tables of routes, optional and
// nullable fields of bodies, field errors, and pages of lists.
package rest

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
)

// Route is one row of a table of routes: the hub's, or a product's.
type Route struct {
	Method, Path string
	Access       Access
	Status       int    // of success
	ID           string // operation id and action in the audit log: resource, dot, verb ("patients.create")
	Summary      string
	Bind         Binder
}

// Get returns a row that reads.
func Get(path string, access Access, status int, id, summary string, bind Binder) Route {
	return Route{http.MethodGet, path, access, status, id, summary, bind}
}

// Post returns a row that creates something, or acts.
func Post(path string, access Access, status int, id, summary string, bind Binder) Route {
	return Route{http.MethodPost, path, access, status, id, summary, bind}
}

// Put returns a row that changes something.
func Put(path string, access Access, status int, id, summary string, bind Binder) Route {
	return Route{http.MethodPut, path, access, status, id, summary, bind}
}

// Delete returns a row that deletes something.
func Delete(path string, access Access, status int, id, summary string, bind Binder) Route {
	return Route{http.MethodDelete, path, access, status, id, summary, bind}
}

// Tag returns the resource of the row: the part of its id before the dot.
func (r Route) Tag() string {
	resource, _, _ := strings.Cut(r.ID, ".")
	return resource
}

// Handle returns the [Binder] of a handler. Database errors of the handler are mapped by
// [dberr.Wrap].
func Handle[I, O any](handler func(context.Context, *I) (*O, error)) Binder {
	return func(api huma.API, op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
			out, err := handler(ctx, in)
			return out, dberr.Wrap(op.OperationID, err)
		})
	}
}

// SignUpNote is what the description of an operation of [SignUp] ends with.
const SignUpNote = " Where sign-up is closed (`HUB_SIGN_UP`), the request needs `Authorization: Bearer` and a token of an operator of the hub with the role admin."

// SignUpErrors returns the errors of an operation of [SignUp] for its description, its own first.
func SignUpErrors(own ...string) []string {
	return append(own, "401 invalid_token", "403 user_creation_disabled, admin_only")
}

// CallingOut returns the [Binder] of an operation that waits for other systems.
func CallingOut(bind Binder) Binder { return withMetadata(module.MetadataCallsOut, bind) }

// withMetadata sets a key of an operation's Metadata to true.
func withMetadata(key string, bind Binder) Binder {
	return func(api huma.API, op huma.Operation) {
		metadata := map[string]any{key: true}
		maps.Copy(metadata, op.Metadata)
		op.Metadata = metadata
		bind(api, op)
	}
}

// SignUp returns the [Binder] of an operation that creates an account, which the hub can leave to
// its operators.
func SignUp(bind Binder) Binder {
	return withMetadata(module.MetadataSignUp, func(api huma.API, op huma.Operation) {
		op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden)
		bind(api, op)
	})
}

// Limiter returns an error for a request that exceeds a rate limit.
type Limiter func(ctx context.Context, r Route) error

// Register registers a table of routes, described by docs. Unknown members of request bodies
// are allowed.
func Register(api huma.API, rows []Route, docs Docs, limit Limiter) {
	registry := api.OpenAPI().Components.Schemas
	registry.RegisterTypeAlias(reflect.TypeFor[uuid.UUID](), reflect.TypeFor[uuidSchema]())
	for _, row := range rows {
		op := row.operation()
		docs.Operations[row.ID].Describe(&op)
		op.Middlewares = huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
			err := limit(ctx.Context(), row)
			if err == nil {
				err = checkIdempotencyKey(ctx)
			}
			if err != nil {
				_ = huma.WriteErr(api, ctx, http.StatusInternalServerError, "", err) // the status is the error's own
				return
			}
			next(ctx)
		}}
		row.Bind(api, op)
		documented := find(api.OpenAPI(), op)
		if documented == nil {
			continue
		}
		documentParameterErrors(documented)
		if documented.RequestBody != nil {
			for _, content := range documented.RequestBody.Content {
				allowUnknown(registry, content.Schema, make(map[*huma.Schema]bool))
			}
		}
	}
	DocumentNullable(registry)
	docs.describeTags(api.OpenAPI(), rows)
}

// headerIdempotencyKey names a request that must take effect once.
const headerIdempotencyKey = "Idempotency-Key"

// checkIdempotencyKey refuses a blank Idempotency-Key where the operation has one. A client
// whose variable is not set believes that it may send the request again.
func checkIdempotencyKey(ctx huma.Context) error {
	isOfOperation := slices.ContainsFunc(ctx.Operation().Parameters, func(p *huma.Param) bool { return p.Name == headerIdempotencyKey })
	if !isOfOperation || strings.TrimSpace(ctx.Header(headerIdempotencyKey)) != "" {
		return nil
	}
	isSent := false
	ctx.EachHeader(func(name, _ string) { isSent = isSent || strings.EqualFold(name, headerIdempotencyKey) })
	if !isSent {
		return nil
	}
	return hub.Invalid("header."+headerIdempotencyKey, "must not be empty: leave the header out, or give a key")
}

func (r Route) operation() huma.Operation {
	errors := []int{422, 429, 503}
	if len(r.Access) > 0 {
		errors = append(errors, 401, 403)
	}
	if r.Method != http.MethodGet {
		errors = append(errors, 400, 409, 413, 415)
	}
	if strings.Contains(r.Path, "{") {
		errors = append(errors, 404)
	}
	return huma.Operation{
		OperationID: r.ID, Method: r.Method, Path: r.Path, Summary: r.Summary, DefaultStatus: r.Status,
		Security: r.Access, Errors: errors, Tags: []string{r.Tag()},
	}
}

// find returns the operation as registered, which may be under a group's prefix.
func find(document *huma.OpenAPI, op huma.Operation) *huma.Operation {
	for path, item := range document.Paths {
		if !strings.HasSuffix(path, op.Path) {
			continue
		}
		for _, candidate := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if candidate != nil && candidate.OperationID == op.OperationID {
				return candidate
			}
		}
	}
	return nil
}

// allowUnknown allows unknown members in the objects of a schema.
func allowUnknown(registry huma.Registry, s *huma.Schema, seen map[*huma.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	if s.Ref != "" {
		allowUnknown(registry, registry.SchemaFromRef(s.Ref), seen)
		return
	}
	if s.Type == huma.TypeObject {
		if _, isMap := s.AdditionalProperties.(*huma.Schema); !isMap {
			s.AdditionalProperties = true
		}
	}
	for _, property := range s.Properties {
		allowUnknown(registry, property, seen)
	}
	allowUnknown(registry, s.Items, seen)
}

// uuidSchema is the schema of uuid.UUID.
type uuidSchema struct{}

// Schema implements huma.SchemaProvider.
func (uuidSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "uuid"}
}

// NoContent is a response without a body.
type NoContent struct{}

// IDParam is the path parameter of a single resource.
type IDParam struct {
	ID uuid.UUID `path:"id" format:"uuid" doc:"UUID that names it in paths"`
}

// PageParams selects a page of a list, in a query or in a body.
type PageParams struct {
	Page    int `query:"page" json:"page,omitempty" minimum:"1" maximum:"100000" default:"1" doc:"Which part of the list, from 1"`
	PerPage int `query:"per_page" json:"per_page,omitempty" minimum:"1" maximum:"100" default:"20" doc:"Most entries that a page has"`
}

// Offset returns the number of items before the page.
func (p PageParams) Offset() int { return (p.Page - 1) * p.PerPage }

// Page is one page of a list.
type Page[T any] struct {
	Items   []T `json:"items" nullable:"false" doc:"Entries of this page"`
	Total   int `json:"total" doc:"How many entries all pages have"`
	Page    int `json:"page" doc:"Which part of the list, from 1"`
	PerPage int `json:"per_page" doc:"Most entries that a page has"`
	Pages   int `json:"pages" doc:"How many parts the list has"`
}

// NewPage returns a page; total is the number of items in the whole list.
func NewPage[T any](items []T, total int, p PageParams) Page[T] {
	if items == nil {
		items = []T{}
	}
	return Page[T]{Items: items, Total: total, Page: p.Page, PerPage: p.PerPage, Pages: (total + p.PerPage - 1) / p.PerPage}
}

// Map converts a list; the result is never nil.
func Map[A, B any](list []A, convert func(A) B) []B {
	out := make([]B, len(list))
	for i, item := range list {
		out[i] = convert(item)
	}
	return out
}

// RequireCaller returns the caller of the request, or [hub.ErrUnauthorized] if it is not
// authenticated.
func RequireCaller(ctx context.Context) (module.Caller, error) {
	caller, ok := module.CallerFrom(ctx)
	if !ok {
		return caller, hub.Errorf(hub.ErrUnauthorized, "unauthorized", "Log in first, and send the access token as Authorization: Bearer.")
	}
	return caller, nil
}

// NotFoundIfNoRows maps [pgx.ErrNoRows] to [hub.NotFound] and returns other errors unchanged.
func NotFoundIfNoRows(what string, err error) error {
	return dberr.MapNoRows(err, hub.NotFound(what))
}
