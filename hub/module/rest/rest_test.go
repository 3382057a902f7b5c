package rest_test

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
	"integrationhub/hub/server"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// shelf is a small product with one table of routes.
type shelf struct{}

// Spec implements [module.Module].
func (shelf) Spec() module.Spec {
	return module.Spec{
		Name: "shelf", Title: "Shelf", KeyPrefix: "she", TenantPrefix: "shelf", Version: "1.0.0",
		Features: []string{"book.read"}, Receives: []string{}, Sends: []string{},
	}
}

// Migrations implements [module.Module].
func (shelf) Migrations() fs.FS { return os.DirFS("testdata") }

// Open implements [module.Module].
func (shelf) Open(context.Context, module.Host) (module.Instance, error) { return shelf{}, nil }

// Handle implements [module.Instance].
func (shelf) Handle(context.Context, pgx.Tx, hub.Event) error { return module.ErrIgnored }

// Authenticate implements [module.Instance]: a token is the user's role.
func (shelf) Authenticate(_ context.Context, token string) (module.Caller, error) {
	if token != "admin" && token != "staff" {
		return module.Caller{}, hub.Errorf(hub.ErrUnauthorized, "invalid_token", "Nobody has this token.")
	}
	return module.Caller{TenantID: uuid.New(), Environment: hub.Live, UserID: uuid.New(), Name: token, Role: token, Admin: token == "admin"}, nil
}

type book struct {
	Title rest.Nullable[string] `json:"title,omitempty" doc:"null: none"`
	Pages rest.Optional[int]    `json:"pages,omitempty"`
	Code  rest.Optional[code]   `json:"code,omitempty"`
	Sub   struct {
		Year int `json:"year,omitempty"`
	} `json:"sub,omitempty"`
}

// code is a value whose errors are public.
type code string

// UnmarshalJSON implements [json.Unmarshaler].
func (c *code) UnmarshalJSON(b []byte) error {
	if string(b) != `"good"` {
		return codeError("must be good")
	}
	*c = "good"
	return nil
}

type codeError string

func (e codeError) Error() string { return string(e) }

// PublicMessage implements [rest.PublicError].
func (e codeError) PublicMessage() string { return string(e) }

// bookResponse is a stored book.
type bookResponse struct {
	Title *string `json:"title"`
	Pages int     `json:"pages"`
	Code  code    `json:"code"`
}

// RegisterRoutes implements [module.Instance].
func (shelf) RegisterRoutes(api huma.API) {
	update := func(_ context.Context, in *struct{ Body book }) (*struct{ Body bookResponse }, error) {
		old := "old"
		out := bookResponse{Title: &old, Pages: 7}
		in.Body.Title.ApplyTo(&out.Title)
		in.Body.Pages.ApplyTo(&out.Pages)
		in.Body.Code.ApplyTo(&out.Code)
		return &struct{ Body bookResponse }{out}, nil
	}
	list := func(_ context.Context, in *rest.PageParams) (*struct{ Body rest.Page[int] }, error) {
		all := []int{1, 2, 3, 4, 5}
		start := min(in.Offset(), len(all))
		return &struct{ Body rest.Page[int] }{rest.NewPage(all[start:min(start+in.PerPage, len(all))], len(all), *in)}, nil
	}
	get := func(_ context.Context, in *rest.IDParam) (*struct{ Body bookResponse }, error) {
		return nil, rest.NotFoundIfNoRows("Book", pgx.ErrNoRows)
	}
	remove := func(context.Context, *struct{}) (*rest.NoContent, error) { return nil, context.DeadlineExceeded }
	me := func(ctx context.Context, _ *struct{}) (*struct{ Body []string }, error) {
		caller, err := rest.RequireCaller(ctx)
		return &struct{ Body []string }{rest.Map([]string{caller.Role}, strings.ToUpper)}, err
	}
	rest.Register(api, []rest.Route{
		rest.Put("/api/v1/books", rest.Anyone, 200, "books.tell", "Tell", rest.Handle(update)),
		rest.Get("/api/v1/books", rest.Anyone, 200, "books.list", "List", rest.Handle(list)),
		rest.Get("/api/v1/books/{id}", rest.Anyone, 200, "books.get", "Get", rest.Handle(get)),
		rest.Delete("/api/v1/books", rest.Anyone, 204, "books.delete", "Delete", rest.Handle(remove)),
		rest.Get("/api/v1/me", rest.User, 200, "me.get", "Me", rest.Handle(me)),
		rest.Get("/api/v1/nobody", rest.Anyone, 200, "me.nobody", "Nobody", rest.Handle(me)),
		rest.Get("/api/v1/admin", rest.Admin, 200, "me.admin", "Admin", rest.Handle(me)),
		rest.Get("/api/v1/shared", rest.User.OrKey("book.read"), 200, "me.shared", "Shared", rest.Handle(me)),
		rest.Get("/api/v1/limited", rest.Anyone, 200, "me.limited", "Limited", rest.Handle(me)),
	}, rest.Docs{Operations: map[string]rest.OperationDoc{"books.tell": {Text: "Says which book it is.", Errors: []string{"409 book_taken"}}}}, func(_ context.Context, r rest.Route) error {
		if r.ID == "me.limited" {
			limited := hub.Errorf(hub.ErrRateLimited, "rate_limited", "Not now.")
			limited.RetryAfter = 7 * time.Second
			return limited
		}
		return nil
	})
}

type client struct {
	t    *testing.T
	base string
}

// response is a response with its parsed body.
type response struct {
	status int
	header http.Header
	text   string
	body   map[string]any // of an object
}

func (c client) call(token, method, path, body string) response {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+"/api/v1"+path, strings.NewReader(body))
	require.NoError(c.t, err)
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := hubtest.HTTPClient.Do(req)
	require.NoError(c.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	got := response{status: res.StatusCode, header: res.Header, text: string(raw)}
	_ = json.Unmarshal(raw, &got.body) // some are lists
	return got
}

func TestBodies(t *testing.T) {
	t.Parallel()
	c := client{t, moduletest.Start(t, shelf{}, moduletest.Options{}).Base}
	for body, want := range map[string]string{
		`{}`:             `{"title":"old","pages":7,"code":""}`,
		`{"title":null}`: `{"title":null,"pages":7,"code":""}`,
		`{"title":"new","pages":8,"code":"good"}`:    `{"title":"new","pages":8,"code":"good"}`,
		`{"nobody":1,"sub":{"knows":2}}`:             `{"title":"old","pages":7,"code":""}`,
		`{"pages":0,"title":"","sub":{"year":2026}}`: `{"title":"","pages":0,"code":""}`,
	} {
		got := c.call("", "PUT", "/books", body)
		require.Equal(t, 200, got.status, got.text)
		require.JSONEq(t, want, got.text, body)
	}
	got := c.call("", "PUT", "/books", `{"code":"bad"}`)
	require.Equal(t, 422, got.status, got.text)
	fieldError := got.body["errors"].([]any)[0].(map[string]any)
	require.Equal(t, [2]any{"body.code", "must be good"}, [2]any{fieldError["location"], fieldError["message"]})
	for body, location := range map[string]string{
		`{"pages":null}`: "body.pages", `{"Pages":null}`: "body.Pages", `{"sub":null}`: "body.sub", `{"title":null,"sub":{"year":null}}`: "body.sub.year",
	} {
		got := c.call("", "PUT", "/books", body)
		require.Equal(t, 422, got.status, got.text)
		require.Equal(t, []any{map[string]any{"location": location, "message": "must not be null"}}, got.body["errors"], body)
	}
	got = c.call("", "PUT", "/books", `{"pages":"many"}`)
	require.Equal(t, 422, got.status, got.text)
	require.Contains(t, got.text, "body.pages")
}

func TestResponses(t *testing.T) {
	t.Parallel()
	c := client{t, moduletest.Start(t, shelf{}, moduletest.Options{}).Base}
	for query, want := range map[string]string{
		"":                    `{"items":[1,2,3,4,5],"total":5,"page":1,"per_page":20,"pages":1}`,
		"?per_page=2&page=3":  `{"items":[5],"total":5,"page":3,"per_page":2,"pages":3}`,
		"?per_page=5&page=99": `{"items":[],"total":5,"page":99,"per_page":5,"pages":1}`,
	} {
		got := c.call("", "GET", "/books"+query, "")
		require.Equal(t, 200, got.status, got.text)
		require.JSONEq(t, want, got.text, query)
	}
	for path, want := range map[string]struct {
		status int
		code   string
	}{
		"GET /books?per_page=101": {422, "validation_failed"}, "GET /books?page=0": {422, "validation_failed"},
		"GET /books/x": {422, "validation_failed"}, "GET /books/" + uuid.NewString(): {404, "not_found"},
		"DELETE /books": {503, "database_unavailable"}, "GET /nobody": {401, "unauthorized"}, "GET /limited": {429, "rate_limited"},
		"GET /me": {401, "unauthorized"}, "GET /shared": {401, "unauthorized"},
	} {
		method, rest, _ := strings.Cut(path, " ")
		got := c.call("", method, rest, "")
		require.Equal(t, want.status, got.status, "%s: %s", path, got.text)
		require.Equal(t, want.code, got.body["code"], path)
		if want.status == 429 {
			require.Equal(t, "7", got.header.Get("Retry-After"))
		}
	}
	got := c.call("", "GET", "/books/"+uuid.NewString(), "")
	require.Equal(t, "Book not found", got.body["detail"])
	for token, status := range map[string]int{"admin": 200, "staff": 403, "": 401} {
		got := c.call(token, "GET", "/admin", "")
		require.Equal(t, status, got.status, got.text)
	}
	got = c.call("staff", "GET", "/me", "")
	require.JSONEq(t, `["STAFF"]`, got.text)
}

// The document has every route's access and errors, and allows unknown members.
func TestDocument(t *testing.T) {
	t.Parallel()
	raw, err := server.ProductOpenAPI(t.Context(), shelf{})
	require.NoError(t, err)
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string           `json:"operationId"`
			Tags        []string         `json:"tags"`
			Security    []map[string]any `json:"security"`
			Responses   map[string]any   `json:"responses"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]map[string]any `json:"schemas"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(raw, &document))
	const path = "/api/v1"
	put, get, shared := document.Paths[path+"/books"]["put"], document.Paths[path+"/books/{id}"]["get"], document.Paths[path+"/shared"]["get"]
	require.Equal(t, "books.tell", put.OperationID)
	require.Equal(t, []string{"books"}, put.Tags)
	require.Empty(t, put.Security)
	require.Contains(t, put.Responses, "409")
	require.NotContains(t, put.Responses, "401")
	require.Contains(t, get.Responses, "404")
	require.NotContains(t, get.Responses, "409")
	require.Len(t, shared.Security, 2)
	require.Contains(t, shared.Responses, "403")
	body := document.Components.Schemas["Book"]
	require.NotNil(t, body, "%s", raw)
	require.Equal(t, true, body["additionalProperties"])
	require.NotContains(t, body, "required")
	require.Equal(t, []any{"string", "null"}, body["properties"].(map[string]any)["title"].(map[string]any)["type"])
}
