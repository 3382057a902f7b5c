package httpx

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
)

// publicURL is where the tests' pages are.
const publicURL = "https://Hub.example.com:443/base/"

func TestPagesOfTheHubMayCallIt(t *testing.T) {
	t.Parallel()
	s := serve(t)
	const own = "https://hub.example.com"
	for _, path := range []string{"/raw/echo", "/huma/list", "/nowhere"} {
		got := s.send(t, http.MethodOptions, path, nil, "Origin", own, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,x-integration-key")
		require.Equal(t, 204, got.status, path)
		require.Equal(t, own, got.header.Get("Access-Control-Allow-Origin"))
		require.Equal(t, "GET, POST, PUT, DELETE", got.header.Get("Access-Control-Allow-Methods"))
		allowed := strings.ToLower(got.header.Get("Access-Control-Allow-Headers"))
		for _, name := range []string{"authorization", "idempotency-key", "if-match"} {
			require.Contains(t, allowed, name)
		}
		require.NotContains(t, allowed, "x-integration-key", "keys belong to servers")
		require.NotContains(t, allowed, "*")
		require.Empty(t, got.header.Get("Access-Control-Allow-Credentials"))
		require.Equal(t, "Origin", got.header.Get("Vary"))
	}
	got := s.send(t, http.MethodGet, "/huma/list", nil, "Origin", own)
	require.Equal(t, 200, got.status)
	require.Equal(t, "v1", got.header.Get("X-Integration-Hub"))
	require.Equal(t, "v1", s.send(t, http.MethodGet, "/nowhere", nil).header.Get("X-Integration-Hub"))
	require.Equal(t, own, got.header.Get("Access-Control-Allow-Origin"))
	for _, name := range []string{"X-Total-Count", "Link", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy", "Retry-After", "X-Request-Id"} {
		require.Contains(t, strings.Split(got.header.Get("Access-Control-Expose-Headers"), ", "), name)
	}
	require.Equal(t, own, s.send(t, http.MethodGet, "/nowhere", nil, "Origin", own).header.Get("Access-Control-Allow-Origin"), "its errors can be read too")
	require.Equal(t, 405, s.send(t, http.MethodOptions, "/raw/echo", nil, "Origin", own).status, "no preflight")
}

func TestForeignPagesMayNot(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, origin := range []string{
		"https://evil.example", "http://hub.example.com", "https://hub.example.com:8443", "https://hub.example.com.evil.example",
		"https://evil.hub.example.com", "null", "*", "https://hub.example.com/",
	} {
		preflight := s.send(t, http.MethodOptions, "/huma/list", nil, "Origin", origin, "Access-Control-Request-Method", "GET")
		plain := s.send(t, http.MethodGet, "/huma/list", nil, "Origin", origin)
		require.Equal(t, []int{204, 200}, []int{preflight.status, plain.status})
		for _, got := range []answer{preflight, plain} {
			for name := range got.header {
				require.False(t, strings.HasPrefix(name, "Access-Control-"), "%s for %s", name, origin)
			}
			require.Equal(t, "Origin", got.header.Get("Vary"))
		}
	}
	require.Empty(t, originOf(""))
	require.Empty(t, originOf("hub.example.com"))
	require.Equal(t, "http://127.0.0.1:8080", originOf("http://127.0.0.1:8080"))
}

func TestAnswersAreNeitherGuessedNorKept(t *testing.T) {
	t.Parallel()
	s := serve(t)
	got := s.send(t, http.MethodGet, "/huma/list", nil)
	require.Equal(t, []string{"nosniff"}, got.header.Values("X-Content-Type-Options"))
	require.Equal(t, []string{"no-store"}, got.header.Values("Cache-Control"))
	require.Empty(t, got.header.Get("Vary"))
	kept := s.send(t, http.MethodGet, "/raw/kept", nil)
	require.Equal(t, []string{"max-age=60"}, kept.header.Values("Cache-Control"), "unless a handler says otherwise")
	require.Equal(t, 413, s.send(t, http.MethodPost, "/raw/echo", strings.NewReader(strings.Repeat(" ", MaxBody+1)), "Content-Type", asJSON).status)
}

func TestUnknownMethods(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, method := range []string{"FOO", "get", "PROPFIND", "POSTT"} {
		got := s.send(t, method, "/huma/list", nil, HeaderRequestID, "mine")
		require.Equal(t, 405, got.status, method)
		require.Equal(t, "method_not_allowed", got.problem.Code)
		require.Equal(t, "mine", got.problem.RequestID)
		require.Contains(t, got.header.Get("Allow"), "GET, HEAD, POST")
	}
}

// HEAD is GET without its body, also for what is refused.
func TestHead(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for path, status := range map[string]int{"/huma/list": 200, "/raw/kept": 200, "/nope": 404, "/raw/echo": 405} {
		full, head := s.send(t, http.MethodGet, path, nil), s.send(t, http.MethodHead, path, nil)
		require.Equal(t, status, full.status, path)
		require.Equal(t, status, head.status, path)
		require.Empty(t, head.body, path)
		for _, name := range []string{"Content-Type", "Content-Length", "Cache-Control", "Allow"} {
			require.Equal(t, full.header.Get(name), head.header.Get(name), "%s of %s", name, path)
		}
		require.NotEqual(t, "0", head.header.Get("Content-Length"), path)
	}
	require.Equal(t, "GET, HEAD", s.send(t, http.MethodDelete, "/huma/list", nil).header.Get("Allow"))
}

// What a server's request costs more, which is every event's.
func BenchmarkHeaders(b *testing.B) {
	app := fiber.New()
	c := app.AcquireCtx(&fasthttp.RequestCtx{})
	defer app.ReleaseCtx(c)
	header := &c.Response().Header
	b.ReportAllocs()
	for b.Loop() {
		setFixedHeaders(header)
		if len(c.Request().Header.Peek(fiber.HeaderOrigin)) != 0 {
			b.Fatal("an origin")
		}
	}
}
