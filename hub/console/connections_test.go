package console_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
)

// startProducts runs a hub that hosts notes and board, each with one account.
func startProducts(t *testing.T) (c *console, writer, owner string) {
	t.Helper()
	c = startHosting(t, []module.Module{notes.New("notes"), notes.New("board")})
	signUp := func(product, name string) string {
		response, text := c.call("POST", "/"+product+"/api/v1/auth/register", object{"name": name})
		require.Equal(t, 201, response.StatusCode, text)
		tenants := c.ok(200, "GET", "/tenants?product="+product, nil)["items"].([]any)
		return tenants[0].(object)["id"].(string)
	}
	return c, signUp("notes", "Pine Clinic"), signUp("board", "Oak Studio")
}

// The overview: bars that lead into the log, latencies, what waits, what fails.
func TestOverviewInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := start(t)
	c.shop(20)
	hubtest.RunInBrowser(t, "hub/console/browser/overview.mjs", c.visited())
}

// The list of integrations, and everything that can be done with one.
func TestIntegrationsInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c, writer, owner := startProducts(t)
	made := c.ok(200, "POST", "/integrations/link", object{"tenant_id": writer, "peer_tenant_id": owner})["integrations"].([]any)
	c.ok(201, "POST", "/operators", object{"email": "bea@example.com", "name": "Bea", "role": "support", "password": adminPassword})
	visited := c.visited()
	visited["integration"] = made[0].(object)["id"]
	visited["support"] = "bea@example.com"
	hubtest.RunInBrowser(t, "hub/console/browser/integrations.mjs", visited)
	require.NotNil(t, c.ok(200, "GET", "/integrations/"+made[0].(object)["id"].(string), nil)["revoked_at"])
}

// "Connecting two takes two clicks", and "one error per step with its real cause and fix".
func TestConnectInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c, _, owner := startProducts(t)
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	const closed = "http://127.0.0.1:1/api/v1" // no other test takes this port
	key := c.ok(201, "POST", "/keys", object{"tenant_id": owner, "environment": "live"})["api_key"]
	visited := c.visited()
	visited["key"], visited["elsewhere"], visited["closed"] = key, elsewhere.URL+"/api/v1", closed
	hubtest.RunInBrowser(t, "hub/console/browser/connect.mjs", visited)
	connected := c.ok(200, "GET", "/integrations?status=active", nil)["items"].([]any)
	require.Len(t, connected, 2)
}

// Accounts and their connections, as a diagram and an equal table.
func TestMapInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c, writer, owner := startProducts(t)
	c.ok(200, "POST", "/integrations/link", object{"tenant_id": writer, "peer_tenant_id": owner})
	hubtest.RunInBrowser(t, "hub/console/browser/map.mjs", c.visited())
}

// The state of the installation.
func TestHealthInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	hubtest.RunInBrowser(t, "hub/console/browser/health.mjs", start(t).visited())
}
