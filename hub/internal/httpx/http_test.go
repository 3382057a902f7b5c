package httpx

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/strictjson"
)

// served is a running server with every kind of error in it.
type served struct {
	addr string
	logs *hubtest.Buffer
}

type thingInput struct {
	ID   string `path:"id" format:"uuid"`
	Body struct {
		URL   string    `json:"url" format:"uri"`
		Count int8      `json:"count,omitempty" minimum:"0"`
		At    time.Time `json:"at,omitzero"`
		Owner uuid.UUID `json:"owner,omitzero"`
		Role  string    `json:"role,omitempty" enum:"admin,support"`
		Mail  string    `json:"mail,omitempty" format:"email"`
	}
}

// failures are what handlers return, by name.
var failures = map[string]error{
	"malformed":    hub.Errorf(hub.ErrMalformed, "bad_thing", "Not a thing."),
	"unauthorized": hub.Errorf(hub.ErrUnauthorized, "unauthorized", "Log in."),
	"forbidden":    hub.Errorf(hub.ErrForbidden, "scope_missing", "The key lacks a scope."),
	"missing":      fmt.Errorf("loading thing: %w", hub.ErrNotFound),
	"conflict":     fmt.Errorf("saving: %w", hub.Errorf(hub.ErrConflict, "prefix_taken", "Taken.").WithCause(errors.New("SQLSTATE 23505 canary"))),
	"invalid":      hub.Invalid("body.url", "must be an absolute http(s) URL"),
	"limited":      &hub.Error{Kind: hub.ErrRateLimited, Code: "rate_limited", Detail: "Slow down.", RetryAfter: 1500 * time.Millisecond},
	"peer":         hub.Errorf(hub.ErrPeer, "peer_failed", "They failed."),
	"unavailable":  hub.Errorf(hub.ErrUnavailable, "database_down", "Later.").WithCause(errors.New("dial canary")),
	"timeout":      hub.Errorf(hub.ErrPeerTimeout, "peer_timeout", "They slept."),
	"cancelled":    fmt.Errorf("querying: %w", context.Canceled),
	"deadline":     fmt.Errorf("querying: %w", context.DeadlineExceeded),
	"bug":          errors.New("password=canary"),
	"kindless":     &hub.Error{Kind: errors.New("canary"), Code: "x", Detail: "canary"},
}

// failure returns the error of a name. huma's own errors exist once InstallHuma has run.
func failure(name string) error {
	if name == "statuserror" {
		return huma.Error404NotFound("No such thing.")
	}
	return failures[name]
}

func serve(t *testing.T) served {
	t.Helper()
	logs := &hubtest.Buffer{}
	log := slog.New(slog.NewJSONHandler(logs, nil))
	app := fiber.New(fiber.Config{
		DisableStartupMessage: true, Immutable: true, BodyLimit: MaxBody,
		IdleTimeout: 30 * time.Second, ErrorHandler: ErrorHandler(log),
	})
	AnswerUnknownMethods(app)
	app.Use(RequestIDs(), Headers(publicURL), Body(strictjson.Rules{UniqueKeys: true}))
	app.Get("/raw/kept", func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderCacheControl, "max-age=60")
		return c.SendString("kept")
	})
	app.All("/raw/fail/:name", func(c *fiber.Ctx) error { return failure(c.Params("name")) })
	app.Post("/raw/echo", func(c *fiber.Ctx) error { return c.Send(c.Request().Body()) })

	cfg := huma.DefaultConfig("test", "1")
	cfg.DocsPath, cfg.CreateHooks = "", nil
	InstallHuma(&cfg, log)
	api := humafiber.New(app, cfg)
	huma.Register(api, huma.Operation{Method: http.MethodPost, Path: "/huma/fail/{name}"},
		func(_ context.Context, in *struct {
			Name string `path:"name"`
		}) (*struct{}, error) {
			return nil, failure(in.Name)
		})
	huma.Register(api, huma.Operation{Method: http.MethodPut, Path: "/huma/things/{id}"},
		func(ctx context.Context, _ *thingInput) (*struct{ Body map[string]string }, error) {
			return &struct{ Body map[string]string }{map[string]string{"request_id": RequestID(ctx)}}, nil
		})
	huma.Register(api, huma.Operation{Method: http.MethodPost, Path: "/huma/any"},
		func(_ context.Context, in *struct{ Body map[string]any }) (*struct{ Body int }, error) {
			return &struct{ Body int }{len(in.Body)}, nil
		})
	huma.Register(api, huma.Operation{Method: http.MethodGet, Path: "/huma/list"},
		func(_ context.Context, in *PageQuery) (*struct{ Body Page[int] }, error) {
			from := 0
			if key, err := DecodeCursor(in.Cursor); err != nil {
				return nil, err
			} else if key != nil {
				if _, err := fmt.Sscan(string(key), &from); err != nil {
					return nil, InvalidCursor()
				}
			}
			var rows []int
			for n := from; n < 120 && len(rows) <= in.Limit; n++ {
				rows = append(rows, n)
			}
			page := PageOf(rows, in.Limit, func(last int) []byte { return fmt.Append(nil, last+1) })
			return &struct{ Body Page[int] }{page}, nil
		})

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- app.Listener(Linger(listener)) }()
	t.Cleanup(func() {
		require.NoError(t, app.ShutdownWithTimeout(5*time.Second))
		require.NoError(t, <-done)
	})
	return served{addr: listener.Addr().String(), logs: logs}
}

type answer struct {
	status  int
	header  http.Header
	body    string
	problem Problem
}

// send makes one request; headers are name, value, name, value, …
func (s served) send(t *testing.T, method, path string, body io.Reader, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.addr+path, body)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := hubtest.HTTPClient.Transport.RoundTrip(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	got := answer{status: res.StatusCode, header: res.Header, body: string(raw)}
	if res.StatusCode >= 400 && method != http.MethodHead {
		requireProblem(t, &got)
	}
	return got
}

// requireProblem holds an error answer against the one shape.
func requireProblem(t *testing.T, got *answer) {
	t.Helper()
	require.Equal(t, []string{"nosniff"}, got.header.Values("X-Content-Type-Options"))
	require.Equal(t, []string{"no-store"}, got.header.Values("Cache-Control"))
	require.Equal(t, ProblemType, got.header.Get("Content-Type"), got.body)
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.body), &fields), got.body)
	require.Len(t, fields, 7, got.body)
	require.NoError(t, json.Unmarshal([]byte(got.body), &got.problem))
	p := got.problem
	require.Equal(t, "about:blank", p.Type)
	require.Equal(t, http.StatusText(got.status), p.Title)
	require.Equal(t, got.status, p.Status)
	require.NotEmpty(t, p.Detail)
	require.Regexp(t, `^[a-z0-9_]+$`, p.Code)
	require.NotNil(t, p.Errors)
	require.NotEmpty(t, p.RequestID)
	require.Equal(t, p.RequestID, got.header.Get(HeaderRequestID))
	require.NotContains(t, got.body, "canary")
}

const asJSON = "application/json"

func TestEveryKindThroughBothWays(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for name, want := range map[string]struct {
		status int
		code   string
		retry  string
	}{
		"malformed":    {400, "bad_thing", ""},
		"unauthorized": {401, "unauthorized", ""},
		"forbidden":    {403, "scope_missing", ""},
		"missing":      {404, "not_found", ""},
		"conflict":     {409, "prefix_taken", ""},
		"invalid":      {422, "validation_failed", ""},
		"limited":      {429, "rate_limited", "2"},
		"peer":         {502, "peer_failed", ""},
		"unavailable":  {503, "database_down", "1"},
		"timeout":      {504, "peer_timeout", ""},
		"cancelled":    {503, "unavailable", "1"},
		"deadline":     {503, "unavailable", "1"},
		"bug":          {500, "internal", ""},
		"kindless":     {500, "internal", ""},
		"statuserror":  {404, "not_found", ""},
	} {
		for _, way := range []string{"raw", "huma"} {
			got := s.send(t, "POST", "/"+way+"/fail/"+name, nil, HeaderRequestID, "req-"+name)
			require.Equal(t, want.status, got.status, "%s %s", way, got.body)
			require.Equal(t, want.code, got.problem.Code)
			require.Equal(t, want.retry, got.header.Get("Retry-After"))
			require.Equal(t, "req-"+name, got.problem.RequestID)
			require.Equal(t, want.status == 401, got.header.Get("WWW-Authenticate") != "")
			if name == "invalid" {
				require.Equal(t, []FieldProblem{{"body.url", "must be an absolute http(s) URL"}}, got.problem.Errors)
			}
		}
	}
	logs := s.logs.String()
	require.Equal(t, 2, strings.Count(logs, "password=canary"), "a bug is logged with its cause")
	require.Equal(t, 2, strings.Count(logs, "dial canary"))
	require.Contains(t, logs, `"request_id":"req-bug"`)
	require.NotContains(t, logs, "req-conflict", "what the caller did wrong is not our failure")
}

func TestRouterErrors(t *testing.T) {
	t.Parallel()
	s := serve(t)
	got := s.send(t, "GET", "/nope?canary=1", nil)
	require.Equal(t, 404, got.status)
	require.Equal(t, "not_found", got.problem.Code)

	got = s.send(t, "DELETE", "/raw/echo", nil)
	require.Equal(t, 405, got.status)
	require.Equal(t, "method_not_allowed", got.problem.Code)
	require.Equal(t, "POST", got.header.Get("Allow"))

	got = s.send(t, "GET", "/huma/any", nil)
	require.Equal(t, 405, got.status)
	require.Equal(t, "POST", got.header.Get("Allow"))

	got = s.send(t, "GET", "/raw/fail/bug", nil, "X-Big", strings.Repeat("canary", 10<<10))
	require.Equal(t, 431, got.status)
	require.Equal(t, "headers_too_large", got.problem.Code)
}

func TestServerErrorsQuoteNothing(t *testing.T) {
	t.Parallel()
	s := serve(t)
	conn, err := net.Dial("tcp", s.addr)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	_, err = io.WriteString(conn, "POST /raw/echo HTTP/1.1\r\nHost: x\r\nContent-Length: canary\r\n\r\n")
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	got := answer{status: res.StatusCode, header: res.Header, body: string(raw)}
	requireProblem(t, &got)
	require.Equal(t, 400, got.status)
}

func TestLocationsAreFitToBeShown(t *testing.T) {
	t.Parallel()
	require.Equal(t, "body.items[3].größe", printableLocation("body.items[3].größe"))
	require.Equal(t, "body.a\ufffdb\ufffdc\ufffd\ufffd", printableLocation("body.a\u202eb\x00c\n\xff"))
	exact := "body." + strings.Repeat("é", maxLocation-5)
	require.Equal(t, exact, printableLocation(exact))
	require.Equal(t, exact+"…", printableLocation(exact+"é"))
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	s := serve(t)
	put := func(id string) (header, seen string) {
		var body struct {
			ID string `json:"request_id"`
		}
		got := s.send(t, "PUT", "/huma/things/"+uuid.NewString(), strings.NewReader(`{"url":"http://x/"}`),
			"Content-Type", asJSON, HeaderRequestID, id)
		require.Equal(t, 200, got.status, got.body)
		require.NoError(t, json.Unmarshal([]byte(got.body), &body))
		return got.header.Get(HeaderRequestID), body.ID
	}
	longest := strings.Repeat("aZ09_-", 10) + "abcd"
	for _, id := range []string{"a", longest} {
		header, seen := put(id)
		require.Equal(t, id, header)
		require.Equal(t, id, seen)
	}
	made := map[string]bool{}
	for _, id := range []string{"", longest + "x", "a b", "a\"b", "é", "a/b", "<script>"} {
		header, seen := put(id)
		require.Equal(t, header, seen)
		require.Regexp(t, "^[0-9a-f]{24}$", header)
		made[header] = true
	}
	require.Len(t, made, 7)
}

func TestBodyRules(t *testing.T) {
	t.Parallel()
	s := serve(t)
	full := `"` + strings.Repeat("a", MaxBody-2) + `"`
	fullObject := `{"a":"` + strings.Repeat("a", MaxBody-8) + `"}`
	for _, test := range []struct {
		name, body string
		headers    []string
		status     int
		code       string
	}{
		{"plain", `{"a":1}`, []string{"Content-Type", asJSON}, 200, ""},
		{"charset", `{"a":1}`, []string{"Content-Type", "Application/JSON; charset=utf-8"}, 200, ""},
		{"suffix", `{"a":1}`, []string{"Content-Type", "application/vnd.x+json"}, 200, ""},
		{"identity", `{"a":1}`, []string{"Content-Type", asJSON, "Content-Encoding", "identity"}, 200, ""},
		{"no type", `{"a":1}`, nil, 415, "unsupported_media_type"},
		{"text", `{"a":1}`, []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		{"only suffix", `{"a":1}`, []string{"Content-Type", "application/+json"}, 415, "unsupported_media_type"},
		{"jsonx", `{"a":1}`, []string{"Content-Type", "application/jsonx"}, 415, "unsupported_media_type"},
		{"form", `a=1`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"},
		{"gzip", "\x1f\x8b\x08", []string{"Content-Type", asJSON, "Content-Encoding", "gzip"}, 415, "content_encoding_not_supported"},
		{"gzip list", `{"a":1}`, []string{"Content-Type", asJSON, "Content-Encoding", "identity, gzip"}, 415, "content_encoding_not_supported"},
		{"broken", `{"a":`, []string{"Content-Type", asJSON}, 400, "json_syntax"},
		{"duplicate", `{"a":1,"a":1}`, []string{"Content-Type", asJSON}, 400, "json_duplicate_key"},
		{"full", full, []string{"Content-Type", asJSON}, 200, ""},
		{"over", full + " ", []string{"Content-Type", asJSON}, 413, "too_large"},
	} {
		got := s.send(t, "POST", "/raw/echo", strings.NewReader(test.body), test.headers...)
		require.Equal(t, test.status, got.status, "%s: %.200s", test.name, got.body)
		require.Equal(t, test.code, got.problem.Code, test.name)
		if test.status == 200 {
			require.Equal(t, test.body, got.body)
		}
	}
	// Chunked: a reader whose length the client cannot know.
	chunked := struct{ io.Reader }{strings.NewReader(full + " ")}
	require.Equal(t, 413, s.send(t, "POST", "/raw/echo", chunked, "Content-Type", asJSON).status)
	chunked = struct{ io.Reader }{strings.NewReader(full)}
	require.Equal(t, 200, s.send(t, "POST", "/raw/echo", chunked, "Content-Type", asJSON).status)
	// Far over, with the length said first or not: the answer still arrives.
	for range 10 {
		far := strings.Repeat("a", 8<<20)
		require.Equal(t, 413, s.send(t, "POST", "/raw/echo", strings.NewReader(far), "Content-Type", asJSON).status)
		chunked = struct{ io.Reader }{strings.NewReader(far)}
		require.Equal(t, 413, s.send(t, "POST", "/raw/echo", chunked, "Content-Type", asJSON).status)
	}
	// huma takes a full body as well, and none where none is needed.
	require.Equal(t, 200, s.send(t, "POST", "/huma/any", strings.NewReader(fullObject), "Content-Type", asJSON).status)
	for _, media := range []string{"APPLICATION/JSON", "Application/Json; Charset=UTF-8", "application/Problem+JSON", " application/json ;charset=utf-8"} {
		require.Equal(t, 200, s.send(t, "POST", "/huma/any", strings.NewReader(`{"a":1}`), "Content-Type", media).status, media)
	}
	require.Equal(t, 415, s.send(t, "POST", "/huma/any", strings.NewReader(`{"a":1}`), "Content-Type", "TEXT/PLAIN").status)
	require.Equal(t, 400, s.send(t, "POST", "/huma/any", nil).status)
	require.Equal(t, 200, s.send(t, "POST", "/raw/echo", nil).status)
}

func TestTwoEncodingHeaders(t *testing.T) {
	t.Parallel()
	s := serve(t)
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.addr+"/raw/echo", strings.NewReader(`{}`))
	require.NoError(t, err)
	req.Header["Content-Type"] = []string{asJSON}
	req.Header["Content-Encoding"] = []string{"identity", "gzip"}
	res, err := hubtest.HTTPClient.Transport.RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 415, res.StatusCode)
}

func TestHumaValidationNeverEchoes(t *testing.T) {
	t.Parallel()
	s := serve(t)
	good := uuid.NewString()
	for _, test := range []struct {
		path, body string
		status     int
		fields     []FieldProblem
	}{
		{good, `{"url":"http://x/","count":"canary"}`, 422, []FieldProblem{{"body.count", "expected integer"}}},
		{good, `{"url":"::canary"}`, 422, []FieldProblem{{"body.url", "expected string to be RFC 3986 uri"}}},
		{good, `{"url":"http://x/","mail":"canary <"}`, 422, []FieldProblem{{"body.mail", "expected string to be RFC 5322 email"}}},
		{good, `{"url":"http://x/","role":"canary"}`, 422, []FieldProblem{{"body.role", `expected value to be one of "admin, support"`}}},
		{good, `{"url":"http://x/","at":"canary"}`, 422, []FieldProblem{{"body.at", "expected string to be RFC 3339 date-time"}}},
		{good, `{"url":"http://x/","owner":"canary"}`, 422, nil},
		{good, `{"url":"http://x/","count":1234567}`, 422, []FieldProblem{{"body", "does not have the documented form"}}},
		{good, `{"url":"http://x/","count":1e400}`, 400, []FieldProblem{{"body", "does not have the documented form"}}},
		{good, `{"count":1}`, 422, []FieldProblem{{"body.url", "is required"}}},
		{good, `"canary"`, 422, []FieldProblem{{"body", "expected object"}}},
		{"canary", `{"url":"http://x/"}`, 422, []FieldProblem{{"path.id", "expected string to be RFC 4122 uuid"}}},
	} {
		got := s.send(t, "PUT", "/huma/things/"+test.path, strings.NewReader(test.body), "Content-Type", asJSON)
		require.Equal(t, test.status, got.status, "%s %s", test.body, got.body)
		require.NotContains(t, got.body, "1234567")
		require.NotContains(t, got.body, "1e400")
		if test.fields != nil {
			require.Equal(t, test.fields, got.problem.Errors)
			require.Contains(t, got.problem.Detail, test.fields[0].Message)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	s := serve(t)
	var seen []int
	cursor, pages := "", 0
	for {
		got := s.send(t, "GET", "/huma/list?limit=50&cursor="+cursor, nil)
		require.Equal(t, 200, got.status, got.body)
		var page Page[int]
		require.NoError(t, json.Unmarshal([]byte(got.body), &page))
		seen = append(seen, page.Items...)
		if pages++; page.NextCursor == nil {
			require.Contains(t, got.body, `"next_cursor":null`)
			break
		}
		cursor = *page.NextCursor
	}
	require.Equal(t, 3, pages)
	require.Len(t, seen, 120)
	require.Equal(t, 119, seen[119])

	for _, query := range []string{"limit=0", "limit=201", "limit=-1", "limit=x", "limit=99999999999999999999", "limit=1.5"} {
		got := s.send(t, "GET", "/huma/list?"+query, nil)
		require.Equal(t, 422, got.status, query)
		require.Equal(t, "query.limit", got.problem.Errors[0].Location)
	}
	for _, query := range []string{"limit=1", "limit=200", ""} {
		require.Equal(t, 200, s.send(t, "GET", "/huma/list?"+query, nil).status, query)
	}
	for _, cursor := range []string{"!!!", "abc%00", "YWJ", "YQ==", strings.Repeat("A", 513)} {
		got := s.send(t, "GET", "/huma/list?cursor="+cursor, nil)
		require.Equal(t, 422, got.status, cursor)
		require.Equal(t, "invalid_cursor", got.problem.Code)
	}
	empty := PageOf(nil, 10, func(int) []byte { return nil })
	raw, err := json.Marshal(empty)
	require.NoError(t, err)
	require.JSONEq(t, `{"items":[],"next_cursor":null}`, string(raw))
}

func TestRetryAfterRoundsUp(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{
		-time.Second: "1", 0: "1", time.Millisecond: "1", time.Second: "1", time.Second + 1: "2", time.Hour: "3600",
	} {
		require.Equal(t, want, RetryAfter(wait), wait)
	}
}
