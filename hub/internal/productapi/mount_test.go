package productapi_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
	"integrationhub/hub/server"
)

// A product lies under its name, with its own schema, operations, pages and jobs; its
// tenants are the hub's tenants.
func TestProductIsMounted(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	health := call(t, "GET", n.url+"/notes/health", "")
	require.Equal(t, 200, health.status, health.text)
	require.Equal(t, map[string]any{"status": "ok", "service": "notes", "version": "1.2.3", "db": "connected", "redis": "connected"}, health.body)
	require.Equal(t, 200, call(t, "GET", n.url+"/health", "").status)

	owner := n.signUp("notes")
	require.Empty(t, owner.notes())
	require.Equal(t, 401, call(t, "GET", owner.base+"/api/v1/notes", "").status)
	require.Equal(t, 401, call(t, "GET", n.url+"/board/api/v1/notes", "", bearer(owner.admin)...).status, "another product's token")

	page := call(t, "GET", n.url+"/notes/docs", "")
	require.Contains(t, page.text, `src="/notes/docs/page.js"`)
	require.Equal(t, 200, call(t, "GET", n.url+"/notes/docs/page.js", "").status)
	document := call(t, "GET", n.url+"/notes/openapi.json", "")
	require.Equal(t, 200, document.status)
	paths := document.body["paths"].(map[string]any)
	for _, path := range []string{"/health", "/api/v1/notes", "/api/v1/integrations/connect", "/api/v1/integrations/webhook", "/api/v1/integrations/search/notes", "/api/v1/integrations/{id}"} {
		require.Contains(t, paths, path)
	}

	tenants := n.ok(200, "GET", "/api/v1/tenants?product=notes", "").body["items"].([]any)
	require.Len(t, tenants, 1)
	require.Equal(t, owner.id, tenants[0].(map[string]any)["id"])
	n.ok(422, "POST", "/api/v1/tenants", `{"product":"notes","name":"X"}`)
	for _, entry := range n.ok(200, "GET", "/api/v1/products", "").body["items"].([]any) {
		require.Equal(t, true, entry.(map[string]any)["hosted"])
	}
	require.Equal(t, "page GET /book/some-slug?lang=en to 127.0.0.1 of pt", call(t, "GET", n.url+"/book/some-slug?lang=en", "", "Accept-Language", "pt").text)

	var version int64
	require.NoError(t, n.db.QueryRow(context.Background(), `select max(version_id) from notes.schema_version`).Scan(&version))
	require.EqualValues(t, 1, version)
}

// Pages get the request as it is, and answer as they please.
func TestPages(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	got := call(t, "GET", n.url+"/book", "")
	require.Equal(t, 200, got.status)
	require.Equal(t, "no-store", got.header.Get("Cache-Control"), "by default")
	got = call(t, "POST", n.url+"/book/a%20b", "text")
	require.Equal(t, "page POST /book/a%20btext to 127.0.0.1 of ", got.text)
	require.Equal(t, 418, got.status)
	require.Equal(t, []string{"public, max-age=60"}, got.header.Values("Cache-Control"))
	require.Equal(t, []string{"a=1", "b=2"}, got.header.Values("Set-Cookie"))
	require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
	head := call(t, "HEAD", n.url+"/book/some-slug", "")
	require.Equal(t, 200, head.status)
	require.Empty(t, head.text)
	require.NotEqual(t, "0", head.header.Get("Content-Length"))

	broken := call(t, "GET", n.url+"/book/broken", "")
	require.Equal(t, 500, broken.status)
	require.Equal(t, "internal", broken.body["code"])
	require.NotContains(t, broken.text, "half")
	malformed := raw(t, n.url, "GET /book/%zz HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n")
	require.Contains(t, malformed, "400 Bad Request")
	require.Contains(t, malformed, `"code":"malformed"`)
}

// raw sends bytes to a server and returns all that it answers.
func raw(t *testing.T, url, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	return string(answer)
}

// Jobs run by themselves and on request; of those with one key one waits.
func TestJobs(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	runs := func(schema, payload string) (count int) {
		require.NoError(t, n.db.QueryRow(context.Background(), `select count(*) from `+schema+`.runs where payload = $1`, payload).Scan(&count))
		return count
	}
	require.Eventually(t, func() bool { return runs("notes", "tick") == 1 && runs("board", "tick") == 1 }, soon, tick)
	require.Equal(t, 202, call(t, "POST", n.url+"/notes/api/v1/echo", `{"author":"","text":"one"}`).status)
	require.Equal(t, 202, call(t, "POST", n.url+"/notes/api/v1/echo", `{"author":"","text":"two"}`).status)
	require.Eventually(t, func() bool { return runs("notes", "one") == 1 && runs("notes", "two") == 1 }, soon, tick)
	require.Zero(t, runs("board", "one"))
	var left int
	require.Eventually(t, func() bool {
		require.NoError(t, n.db.QueryRow(context.Background(), `select count(*) from hub.jobs where not repeats`).Scan(&left))
		return left == 0
	}, soon, tick)
}

// A product can lie elsewhere, have a listener of its own, or be switched off.
func TestProductsMove(t *testing.T) {
	t.Parallel()
	address, err := hubtest.FreeAddress()
	require.NoError(t, err)
	n := start(t, func(cfg *config.Config) {
		cfg.ProductPaths = config.Assignments{"notes": "/pads"}
		cfg.ProductListeners = config.Assignments{"board": address}
	})
	own := "http://" + address
	require.Equal(t, 404, call(t, "GET", n.url+"/notes/health", "").status)
	require.Equal(t, 404, call(t, "GET", n.url+"/board/health", "").status)
	require.Equal(t, "notes", call(t, "GET", n.url+"/pads/health", "").body["service"])
	require.Equal(t, "board", call(t, "GET", own+"/health", "").body["service"])
	require.Equal(t, 404, call(t, "GET", own+"/api/v1/tenants", "").status, "the hub's own interface is not there")

	// They find each other where they are, over HTTP.
	pad, board := n.signUpAt(n.url+"/pads"), n.signUpAt(own)
	made := n.ok(200, "POST", "/api/v1/integrations/link", `{"tenant_id":"`+pad.id+`","peer_tenant_id":"`+board.id+`"}`)
	both := made.body["integrations"].([]any)
	require.Len(t, both, 2, made.text)
	require.Equal(t, own+"/api/v1", both[0].(map[string]any)["api_url"])
	require.Equal(t, n.url+"/pads/api/v1", both[1].(map[string]any)["api_url"])
	require.Equal(t, n.url+"/pads/api/v1/integrations/webhook", both[1].(map[string]any)["peer_webhook_url"])

	off := start(t, func(cfg *config.Config) { cfg.Products = "board" })
	require.Equal(t, 404, call(t, "GET", off.url+"/notes/health", "").status)
	require.Equal(t, 200, call(t, "GET", off.url+"/board/health", "").status)
}

func TestUnknownProductInSettings(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.Load(config.Sources{})
	require.NoError(t, err)
	cfg.Listen, cfg.DataDir, cfg.Products = "127.0.0.1:0", t.TempDir(), "notse"
	cfg.DatabaseURL, cfg.RedisURL = config.Secret(hubtest.DatabaseURL(t)), config.Secret(hubtest.RedisURL(t))
	_, err = server.Start(context.Background(), server.Options{
		Config: cfg, Version: "test", Log: slog.New(slog.DiscardHandler), Modules: []module.Module{notes.New("notes")},
	})
	require.ErrorIs(t, err, server.ErrSetting)
	require.ErrorContains(t, err, "notse")
}
