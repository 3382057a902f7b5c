package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// Health, the reference and the rules for browsers follow docs/interfaces/scheduling.md.
func TestHealthReferenceAndOrigins(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganization(t)
	require.Equal(t, object{"status": "ok", "service": "scheduling", "version": "1.0.0", "db": "connected", "redis": "connected"}, org.As("").OK(200, "GET", org.Hub.Base+"/health", nil))
	require.Contains(t, schedulingtest.GetPage(t, org.Hub.Base+"/docs"), "<html")
	require.Contains(t, schedulingtest.GetPage(t, org.Hub.Base+"/openapi.json"), `"openapi": "3.1`)
	production := schedulingtest.NewOrganizationAlone(t, "HUB_ENV=production", "HUB_PUBLIC_URL=https://hub.example.com", "HUB_KEY_RATE=100-M")
	for path, status := range map[string]int{"/docs": 404, "/openapi.json": 404, "/health": 200} {
		require.Equal(t, status, production.As("").Call("GET", production.Hub.Base+path, nil).Status, path)
	}
	preflight := func(origin string) http.Header {
		return org.As("").Call("OPTIONS", "/clients", nil, "Origin", origin, "Access-Control-Request-Method", "GET",
			"Access-Control-Request-Headers", "authorization, x-integration-key").Header
	}
	allowed := preflight(org.Hub.URL)
	require.Equal(t, org.Hub.URL, allowed.Get("Access-Control-Allow-Origin"))
	require.NotContains(t, strings.ToLower(allowed.Get("Access-Control-Allow-Headers")), "integration-key", "keys belong to servers")
	require.Empty(t, preflight("https://evil.example.com").Get("Access-Control-Allow-Origin"))
	require.True(t, slices.ContainsFunc(org.Operations(), func(op operation) bool { return op.ID == "integrations.webhook" }))
}
