package httpx

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/module"
)

// Of X-Forwarded-For counts the last address that is no trusted proxy, and only behind
// a trusted one.
func TestClientIP(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32")}
	for name, request := range map[string]struct{ remote, forwarded, want string }{
		"no proxy":                     {"203.0.113.9", "", "203.0.113.9"},
		"a client that forges":         {"203.0.113.9", "198.51.100.7", "203.0.113.9"},
		"behind a proxy":               {"10.0.0.1", "198.51.100.7", "198.51.100.7"},
		"behind two":                   {"10.0.0.1", "198.51.100.7, 192.0.2.1", "198.51.100.7"},
		"forged before the proxies":    {"10.0.0.1", "127.0.0.1, 198.51.100.7,10.1.1.1", "198.51.100.7"},
		"forged by the last":           {"10.0.0.1", "198.51.100.7, 203.0.113.9", "203.0.113.9"},
		"only proxies":                 {"10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"},
		"a proxy that says nothing":    {"10.0.0.1", "", "10.0.0.1"},
		"a proxy that says nonsense":   {"10.0.0.1", "198.51.100.7, unknown", "10.0.0.1"},
		"nonsense before an address":   {"10.0.0.1", "unknown, 198.51.100.7", "198.51.100.7"},
		"nonsense before a proxy":      {"10.0.0.1", "198.51.100.7, unknown, 10.0.0.2", "10.0.0.2"},
		"an IPv4 address in IPv6 form": {"::ffff:10.0.0.1", "::ffff:198.51.100.7", "198.51.100.7"},
		"an interface of the proxy":    {"10.0.0.1", "fe80::1%eth0", "fe80::1"},
	} {
		app := fiber.New()
		ctx := &fasthttp.RequestCtx{}
		ctx.Init(&fasthttp.Request{}, &net.TCPAddr{IP: net.ParseIP(request.remote), Port: 1}, nil)
		if request.forwarded != "" {
			ctx.Request.Header.Set("X-Forwarded-For", request.forwarded)
		}
		c := app.AcquireCtx(ctx)
		require.Equal(t, request.want, ClientIP(c, trusted), name)
		app.ReleaseCtx(c)
	}
}

// An origin is scheme and host in lower case, and the port unless it is the scheme's own.
func TestOriginOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://Hub.Example/path": "https://hub.example", "http://hub.example:80": "http://hub.example", "https://hub.example:443/": "https://hub.example",
		"http://hub.example:443": "http://hub.example:443", "https://hub.example:80": "https://hub.example:80", "http://hub.example:8080": "http://hub.example:8080",
		"": "", "hub.example": "", "//hub.example": "", "https:///path": "", "https://hub example": "", "mailto:a@hub.example": "",
	} {
		require.Equal(t, want, originOf(address), address)
	}
}

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]bool{
		"application/json": true, "Application/JSON; charset=utf-8": true, " application/json ;x": true, "application/fhir+json": true, "application/a+json": true,
		"application/+json": false, "application/xml": false, "text/json": false, "text/x+json": false, "application/jsonx": false, "": false,
	} {
		require.Equal(t, want, isJSON(string(mediaType([]byte(contentType)))), contentType)
	}
}

// 1 to 64 letters, digits, _ and -.
func TestValidRequestIDs(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"": false, "a": true, "azAZ09_-": true, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false,
		"/": false, ":": false, "@": false, "[": false, "`": false, "{": false, "a b": false, "é": false, "a.b": false,
	} {
		require.Equal(t, want, isValidRequestID(id), "%q", id)
	}
}

func TestCursorBounds(t *testing.T) {
	t.Parallel()
	longest := []byte(strings.Repeat("x", CursorMax/4*3))
	require.Len(t, EncodeCursor(longest), CursorMax)
	key, err := DecodeCursor(EncodeCursor(longest))
	require.NoError(t, err)
	require.Equal(t, longest, key)
	key, err = DecodeCursor("")
	require.NoError(t, err)
	require.Nil(t, key)
	for _, invalid := range []string{EncodeCursor(append(longest, 'x')), "a", "YQ==", "YR", "Y Q", "YQ\n", "?"} {
		_, err := DecodeCursor(invalid)
		require.ErrorIs(t, err, hub.ErrInvalid, invalid)
	}
}

// A page has its limit of items, and a cursor only if a further item follows.
func TestPageBounds(t *testing.T) {
	t.Parallel()
	last := func(row int) []byte { return []byte{byte(row)} }
	require.Equal(t, Page[int]{Items: []int{}}, PageOf(nil, 2, last))
	require.Equal(t, Page[int]{Items: []int{7, 8}}, PageOf([]int{7, 8}, 2, last))
	next := EncodeCursor([]byte{8})
	require.Equal(t, Page[int]{Items: []int{7, 8}, NextCursor: &next}, PageOf([]int{7, 8, 9}, 2, last))
}

// Room for uploads is given up to the last byte, and given back when a body is handled or
// can no longer arrive.
func TestReservations(t *testing.T) {
	t.Parallel()
	now := time.Unix(1767323045, 0)
	u := NewUploads(100, func() time.Time { return now })
	first, ok := u.reserve(60, false, uuid.Nil)
	require.True(t, ok)
	_, ok = u.reserve(41, false, uuid.Nil)
	require.False(t, ok, "a byte too many")
	second, ok := u.reserve(40, false, uuid.Nil)
	require.True(t, ok, "the last byte")
	require.Equal(t, 100, u.reservedBytes())
	u.startHandling(first)
	now = now.Add(longTimeout - 1)
	_, ok = u.reserve(1, false, uuid.Nil)
	require.False(t, ok, "the second may still arrive")
	now = now.Add(1)
	third, ok := u.reserve(40, false, uuid.Nil)
	require.True(t, ok, "the second can no longer arrive")
	_, ok = u.reserve(1, false, uuid.Nil)
	require.False(t, ok, "the first is being handled, however long")
	u.startHandling(second)
	u.release(first)
	u.release(third)
	require.Zero(t, u.reservedBytes(), "what expired does not come back")
}

// Strangers' bodies and those of users take no room from each other.
func TestOpenReservations(t *testing.T) {
	t.Parallel()
	now := time.Unix(1767323045, 0)
	u := NewUploads(100, func() time.Time { return now })
	open, ok := u.reserve(maxOpenBytes, true, uuid.Nil)
	require.True(t, ok)
	_, ok = u.reserve(1, true, uuid.Nil)
	require.False(t, ok)
	_, ok = u.reserve(100, false, uuid.Nil)
	require.True(t, ok)
	u.startHandling(open)
	now = now.Add(openTimeout)
	_, ok = u.reserve(1, true, uuid.Nil)
	require.False(t, ok, "it is being handled")
	u.release(open)
	_, ok = u.reserve(maxOpenBytes, true, uuid.Nil)
	require.True(t, ok)
	now = now.Add(openTimeout)
	_, ok = u.reserve(1, true, uuid.Nil)
	require.True(t, ok, "the body can no longer arrive")
	require.Equal(t, 101, u.reservedBytes(), "that of a user still may")
}

// A tenant has half of the room, however many bodies it sends: the rest is for others.
func TestReservationsOfATenant(t *testing.T) {
	t.Parallel()
	u := NewUploads(100, time.Now)
	tenant, other := uuid.New(), uuid.New()
	_, ok := u.reserve(51, false, tenant)
	require.False(t, ok)
	_, ok = u.reserve(30, false, tenant)
	require.True(t, ok)
	second, ok := u.reserve(20, false, tenant)
	require.True(t, ok)
	_, ok = u.reserve(1, false, tenant)
	require.False(t, ok, "the half is taken")
	_, ok = u.reserve(50, false, other)
	require.True(t, ok, "another tenant's half is free")
	u.startHandling(second)
	_, ok = u.reserve(1, false, tenant)
	require.False(t, ok, "one is being handled")
	u.release(second)
	_, ok = u.reserve(20, false, tenant)
	require.True(t, ok)
}

// Which bodies are given room: forms that are longer than fiber takes, as far as allowed.
func TestAdmissions(t *testing.T) {
	t.Parallel()
	const form = "multipart/form-data; boundary=x"
	tenant := uuid.New()
	for name, request := range map[string]struct {
		contentType string
		length      int
		admission   Admission
		maxBytes    int // of the answer
		reserved    int
	}{
		"a long form":               {form, 150, Admission{MaxBytes: 200}, 200, 150},
		"in capitals":               {"Multipart/Form-Data; boundary=x", 150, Admission{MaxBytes: 200}, 200, 150},
		"the longest form":          {form, 200, Admission{MaxBytes: 200}, 200, 200},
		"a longer form":             {form, 201, Admission{MaxBytes: 200}, 0, 0},
		"of unknown length":         {form, -1, Admission{MaxBytes: 200}, 200, 200},
		"the longest ordinary form": {form, 100, Admission{MaxBytes: 200}, 0, 0},
		"the shortest long form":    {form, 101, Admission{MaxBytes: 200}, 200, 101},
		"an empty form":             {form, 0, Admission{MaxBytes: 200}, 0, 0},
		"for administrators only":   {form, 150, Admission{MaxBytes: 200, AdminOnly: true}, 0, 0},
		"nothing is allowed":        {form, 150, Admission{}, 0, 0},
		"no form":                   {"application/json", 150, Admission{MaxBytes: 200}, 0, 0},
		"open":                      {"application/json", 150, Admission{MaxBytes: 200, Open: true}, 200, 150},
		"open, the longest":         {"application/json", 200, Admission{MaxBytes: 200, Open: true}, 200, 200},
		"open, too long":            {"application/json", 201, Admission{MaxBytes: 200, Open: true}, 0, 0},
		"open, of unknown length":   {"application/json", -1, Admission{MaxBytes: 200, Open: true}, 0, 0},
		"nearly a form":             {"multipart/form-dat", 150, Admission{MaxBytes: 200}, 0, 0},
		"exactly a form":            {"multipart/form-data", 150, Admission{MaxBytes: 200}, 200, 150},
		"no room":                   {form, 401, Admission{MaxBytes: 500}, 0, 0},
		"the last room":             {form, 400, Admission{MaxBytes: 500}, 500, 400},
		"a tenant's half":           {form, 200, Admission{MaxBytes: 500, Tenant: tenant}, 500, 200},
		"more than a tenant's half": {form, 201, Admission{MaxBytes: 500, Tenant: tenant}, 0, 0},
	} {
		app := fiber.New(fiber.Config{BodyLimit: 100})
		u := NewUploads(400, time.Now)
		u.BodyLimits(app, func(method, path, authorization string) Admission {
			require.Equal(t, []string{"POST", "/files", "Bearer x"}, []string{method, path, authorization}, name)
			return request.admission
		})
		header := &fasthttp.RequestHeader{}
		header.SetMethod("POST")
		header.SetRequestURI("/files?a=b")
		header.Set("Authorization", "Bearer x")
		header.SetContentType(request.contentType)
		header.SetContentLength(request.length)
		require.Equal(t, request.maxBytes, app.Server().HeaderReceived(header).MaxRequestBodySize, name)
		require.Equal(t, request.reserved, u.reservedBytes(), name)
	}
}

// Rules that were there before are asked where a further rule allows nothing.
func TestFurtherBodyLimits(t *testing.T) {
	t.Parallel()
	app := fiber.New(fiber.Config{BodyLimit: 100})
	u := NewUploads(400, time.Now)
	for _, admitted := range []string{"/a", "/b"} {
		u.BodyLimits(app, func(_, path, _ string) Admission {
			if path == admitted {
				return Admission{MaxBytes: 200}
			}
			return Admission{}
		})
	}
	for path, want := range map[string]int{"/a": 200, "/b": 200, "/c": 0} {
		header := &fasthttp.RequestHeader{}
		header.SetMethod("POST")
		header.SetRequestURI(path)
		header.SetContentType("multipart/form-data; boundary=x")
		header.SetContentLength(150)
		require.Equal(t, want, app.Server().HeaderReceived(header).MaxRequestBodySize, path)
	}
}

// A broken form is refused in the form of its operation's errors, whichever product of the app
// was mounted last.
func TestFormErrorsOfEachProduct(t *testing.T) {
	t.Parallel()
	u := NewUploads(400, time.Now)
	app := fiber.New(fiber.Config{BodyLimit: 100, DisableStartupMessage: true, ErrorHandler: u.ErrorHandler(ErrorHandler(slog.New(slog.DiscardHandler)))})
	for _, product := range []string{"/a", "/b"} {
		u.BodyLimits(app, func(string, string, string) Admission { return Admission{} })
		u.AdaptErrors(app, func(_, path string) module.ErrorAdapter {
			if path != product {
				return nil
			}
			return func(e module.ErrorResponse) (int, hub.Extensions) { return e.Status, hub.Extensions{"of": product} }
		})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- app.Listener(listener) }()
	for path, want := range map[string]any{"/a": "/a", "/b": "/b", "/c": nil} {
		res, err := hubtest.HTTPClient.Post("http://"+listener.Addr().String()+path, "multipart/form-data; boundary=x", strings.NewReader("--x\r\ncut"))
		require.NoError(t, err)
		var body map[string]any
		require.NoError(t, json.NewDecoder(res.Body).Decode(&body))
		require.NoError(t, res.Body.Close())
		require.Equal(t, []any{400, want}, []any{res.StatusCode, body["of"]}, path)
	}
	require.NoError(t, app.Shutdown())
	require.NoError(t, <-done)
}

func TestLocationsAreCut(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		strings.Repeat("é", maxLocation): strings.Repeat("é", maxLocation), strings.Repeat("é", maxLocation+1): strings.Repeat("é", maxLocation) + "…", "a\x00b": "a\ufffdb", "": "",
	} {
		require.Equal(t, want, printableLocation(location))
	}
}

// Of many invalid inputs the first 20 are listed, and all are counted.
func TestInvalidInputsAreCut(t *testing.T) {
	t.Parallel()
	for count, want := range map[int]string{1: "Wrong: body.a is wrong", maxFields: "Wrong: body.a is wrong (and 19 more)", maxFields + 1: "Wrong: body.a is wrong (and 20 more)"} {
		var errs []error
		for range count {
			errs = append(errs, &huma.ErrorDetail{Location: "body.a", Message: "is wrong"})
		}
		errs = append(errs, errors.New("not about an input"))
		var problem *Problem
		require.ErrorAs(t, humaError(http.StatusUnprocessableEntity, "Wrong", errs...), &problem)
		require.Len(t, problem.Errors, min(count, maxFields))
		require.Equal(t, want, problem.Detail)
	}
}

// huma's own limits on bodies are lifted; those an operation sets are kept.
func TestHumaLimitsAreLifted(t *testing.T) {
	t.Parallel()
	cfg := huma.DefaultConfig("test", "1")
	InstallHuma(&cfg, slog.New(slog.DiscardHandler))
	for _, limits := range []struct {
		bytes, wantBytes int64
		wait, wantWait   time.Duration
	}{{1 << 20, -1, 5 * time.Second, -1}, {1 << 10, 1 << 10, time.Second, time.Second}} {
		op := &huma.Operation{MaxBodyBytes: limits.bytes, BodyReadTimeout: limits.wait}
		cfg.OnAddOperation[len(cfg.OnAddOperation)-1](nil, op)
		require.Equal(t, limits.wantBytes, op.MaxBodyBytes)
		require.Equal(t, limits.wantWait, op.BodyReadTimeout)
	}
}

func TestDetailsNameTheFirstInput(t *testing.T) {
	t.Parallel()
	field := FieldProblem{Location: "body.url", Message: "is required"}
	require.Equal(t, "Wrong", withFirstField("Wrong", nil, 0))
	require.Equal(t, "Wrong: body.url is required", withFirstField("Wrong", []FieldProblem{field}, 1))
	require.Equal(t, "Wrong: body.url is required (and 1 more)", withFirstField("Wrong", []FieldProblem{field, field}, 2))
	require.Equal(t, "Wrong: body.url is required (and 30 more)", withFirstField("Wrong", []FieldProblem{field}, 31))
	require.Equal(t, "Wrong: is required", withFirstField("Wrong", []FieldProblem{{Message: "is required"}}, 1))
}

// Retry-After is in whole seconds, rounded up; a 503 has one always, others only if the error does.
func TestRetries(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{0: "1", -time.Second: "1", 1: "1", time.Second: "1", time.Second + 1: "2", time.Minute: "60"} {
		require.Equal(t, want, RetryAfter(wait), wait)
	}
	for name, failure := range map[string]struct {
		err  error
		want time.Duration
	}{
		"a 503":             {hub.Errorf(hub.ErrUnavailable, "", ""), time.Second},
		"a 503 with a wait": {&hub.Error{Kind: hub.ErrUnavailable, RetryAfter: time.Minute}, time.Minute},
		"a 503 without":     {&hub.Error{Kind: hub.ErrUnavailable, RetryAfter: -1}, time.Second},
		"a 429":             {&hub.Error{Kind: hub.ErrRateLimited, RetryAfter: time.Minute}, time.Minute},
		"a 422":             {hub.Invalid("body", "is wrong"), 0},
		"a cancellation":    {context.Canceled, time.Second},
		"a deadline":        {context.DeadlineExceeded, time.Second},
		"a bug":             {errors.New("bug"), 0},
	} {
		problem, wait := ProblemOf(failure.err, "id")
		require.Equal(t, failure.want, wait, name)
		set := ""
		problem.headers(func(header, value string) {
			if header == fiber.HeaderRetryAfter {
				set = value
			}
		})
		require.Equal(t, wait > 0, set != "", name)
	}
}

// Failures of the hub are logged as errors, those of peers as warnings, those of callers not.
func TestProblemsAreLogged(t *testing.T) {
	t.Parallel()
	for status, level := range map[int]string{400: "", 422: "", 499: "", 500: "level=ERROR", 501: "level=WARN", 502: "level=WARN", 503: "level=WARN"} {
		for _, cause := range []error{nil, errors.New("cause")} {
			var logs strings.Builder
			problem := newProblem(status, "", "", 0, cause)
			logProblem(t.Context(), slog.New(slog.NewTextHandler(&logs, nil)), &problem, http.MethodGet, "/x")
			require.Equal(t, level == "", logs.String() == "", status)
			require.Contains(t, logs.String(), level)
			require.Equal(t, level != "" && cause != nil, strings.Contains(logs.String(), "error=cause"))
		}
	}
}

// reservedBytes returns how many bytes are reserved now.
func (u *Uploads) reservedBytes() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	sum := 0
	for _, reserved := range u.reservations {
		sum += reserved.bytes
	}
	return sum
}
