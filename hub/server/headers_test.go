package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
)

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	n := newPlace(t).start(t, func(cfg *config.Config) { cfg.PublicURL = "https://hub.example.com" })
	const own = "https://hub.example.com"
	preflight := func(origin string) answer {
		return n.call("OPTIONS", "/events", "", "", "Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "x-integration-key")
	}
	got := preflight(own)
	require.Equal(t, 204, got.status)
	require.Equal(t, own, got.header.Get("Access-Control-Allow-Origin"))
	require.NotContains(t, got.header.Get("Access-Control-Allow-Headers"), "Integration-Key")
	require.Empty(t, preflight("https://evil.example").header.Get("Access-Control-Allow-Origin"))

	for _, path := range []string{"/deliveries", "/nowhere", "/health", "/ready"} {
		got := n.call("GET", path, n.token, "", "Origin", own)
		require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"), path)
		require.Equal(t, "no-store", got.header.Get("Cache-Control"), path)
		require.Equal(t, own, got.header.Get("Access-Control-Allow-Origin"), path)
	}
	// HEAD is GET without its body: of the interface, the health, and a stream, which it does not wait for.
	for _, path := range []string{"/deliveries", "/events/stream", "/health", "/ready"} {
		head := n.call("HEAD", path, n.token, "")
		require.Equal(t, 200, head.status, path)
		require.Empty(t, head.text, path)
	}
	require.Equal(t, 401, n.call("HEAD", "/deliveries", "", "").status)
	n.refused(401, "invalid_key", "POST", "/events", "", "{}")
	n.refused(405, "method_not_allowed", "FOO", "/events", "", "")
	n.refused(405, "method_not_allowed", "PATCH", "/events", "", "")
}
