package console_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// administration fills a hub and visits a part of the screens of administration.
func administration(t *testing.T, part string) {
	t.Helper()
	hubtest.SkipShort(t)
	c := start(t)
	c.shop(1)
	c.ok(201, "POST", "/operators", object{"email": "bea@example.com", "name": "Bea", "role": "support", "password": adminPassword})
	if part == "support" { // a list without rows would have no buttons anyway
		c.ok(201, "POST", "/alerts", object{"kind": "webhook", "target": "https://example.com/alerts", "events": []string{"hub.*"}})
	}
	visited := c.visited()
	visited["part"] = part
	hubtest.RunInBrowser(t, "hub/console/browser/administration.mjs", visited)
}

// "API keys: shown once, then prefix…last4, last used, use against the limit; create, rotate, revoke".
func TestKeysInABrowser(t *testing.T) {
	t.Parallel()
	administration(t, "keys")
}

// "Audit without the noise of health checks and webhooks received unless asked for".
func TestAuditInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c, writer, owner := startProducts(t)
	made := c.ok(200, "POST", "/integrations/link", object{"tenant_id": writer, "peer_tenant_id": owner})["integrations"].([]any)
	c.ok(200, "POST", "/integrations/"+made[0].(object)["id"].(string)+"/test", nil)
	c.ok(201, "POST", "/operators", object{"email": "bea@example.com", "name": "Bea", "role": "support", "password": adminPassword})
	visited := c.visited()
	visited["part"] = "audit"
	hubtest.RunInBrowser(t, "hub/console/browser/administration.mjs", visited)
}

// "Operators and access: create, role, disable, delete".
func TestOperatorsInABrowser(t *testing.T) {
	t.Parallel()
	administration(t, "operators")
}

// API tokens are made, shown once, and ended.
func TestTokensInABrowser(t *testing.T) {
	t.Parallel()
	administration(t, "tokens")
}

// Alerts are made, for all, a product's tenants or one tenant, tested, changed and deleted; the
// hub's own events are offered; the secret of a webhook is replaced and shown once.
func TestAlertsInABrowser(t *testing.T) {
	t.Parallel()
	administration(t, "alerts")
}

// "Products and tenants: list, limits", the title of a product, Suspend and Resume, and Delete with
// the name typed to confirm. The audit log has who suspended.
func TestTenantsInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c, _, _ := startProducts(t)
	shop := c.shop(1)
	visited := c.visited()
	visited["part"] = "tenants"
	hubtest.RunInBrowser(t, "hub/console/browser/administration.mjs", visited)
	c.ok(404, "GET", "/tenants/"+shop.tenant, nil)
	require.Len(t, c.ok(200, "GET", "/audit?action=tenants.suspend", nil)["items"], 1)
	require.Len(t, c.ok(200, "GET", "/audit?action=tenants.resume", nil)["items"], 1)
	names := fmt.Sprint(c.ok(200, "GET", "/products", nil)["items"])
	require.NotContains(t, names, "name:shop")
	require.Contains(t, names, "name:lab")
}

// "Mail: rendered letters, in a sandboxed iframe".
func TestMailInABrowser(t *testing.T) {
	t.Parallel()
	administration(t, "mail")
}

// Support reads everything and changes nothing.
func TestSupportInABrowser(t *testing.T) {
	t.Parallel()
	administration(t, "support")
}

// "Endpoints: URL, types, health, secret rotation, ping, recover, enable; signature debugger". A
// ping sends hub.ping, or the example of a chosen event type.
func TestEndpointsInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := start(t)
	r := newReceiver(t)
	tenant, endpoint := c.bakery(r)
	require.NotEmpty(t, tenant)
	c.ok(201, "POST", "/event-types", object{"product": "shop", "name": "order.created", "example": object{"order": 4711}})
	c.ok(201, "POST", "/event-types", object{"product": "shop", "name": "order.paid"})
	c.ok(201, "POST", "/products", object{"name": "desk", "prefix": "desk"})
	c.ok(201, "POST", "/event-types", object{"product": "desk", "name": "ticket.opened", "example": object{"ticket": 1}})
	visited := c.visited()
	visited["receiver"], visited["endpoint"], visited["secret"] = r.server.URL, endpoint["id"], endpoint["secret"]
	visited["certificate"], visited["certificate_key"] = hubtest.NewAuthority(t).Issue("hub.example.com", time.Now().Add(time.Hour))
	hubtest.RunInBrowser(t, "hub/console/browser/endpoints.mjs", visited)
	require.NotEmpty(t, c.ok(200, "GET", "/deliveries?event_type=hub.ping", nil)["items"])
	pinged := c.ok(200, "GET", "/deliveries/"+c.delivery("event_type=order.created").(string), nil)
	require.Contains(t, fmt.Sprint(pinged["payload"]), "order:4711")
}

// Event types: list by product, detail with schema and example, create and edit with what is
// wrong with the JSON, deprecated mark; the endpoint's form offers the names; validation of a
// product.
func TestEventTypesInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := start(t)
	c.ok(201, "POST", "/products", object{"name": "shop", "prefix": "shop", "title": "Shop"})
	c.ok(201, "POST", "/tenants", object{"product": "shop", "name": "Corner Bakery"})
	hubtest.RunInBrowser(t, "hub/console/browser/eventtypes.mjs", c.visited())
	require.Contains(t, fmt.Sprint(c.ok(200, "GET", "/products", nil)["items"]), "validation:reject")
	require.NotContains(t, fmt.Sprint(c.ok(200, "GET", "/event-types", nil)["items"]), "order.created")
}

// receiver refuses everything until it is opened; then it takes some and lets the others wait.
type receiver struct {
	server   *httptest.Server
	mu       sync.Mutex
	takes    int
	open     bool
	released chan struct{}
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{released: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/open", func(w http.ResponseWriter, _ *http.Request) { r.set(100); w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		r.mu.Lock()
		r.takes--
		open, takes := r.open, r.takes
		r.mu.Unlock()
		switch {
		case !open:
			w.WriteHeader(http.StatusInternalServerError)
		case takes < 0:
			select {
			case <-r.released:
			case <-q.Context().Done():
			}
		}
	})
	r.server = httptest.NewServer(mux)
	t.Cleanup(func() { r.release(); r.server.Close() })
	return r
}

func (r *receiver) set(takes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open, r.takes = true, takes
}

// release answers what waits.
func (r *receiver) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.released:
	default:
		close(r.released)
	}
}

// bakery makes a tenant with an endpoint at a receiver.
func (c *console) bakery(r *receiver) (tenant string, endpoint object) {
	c.t.Helper()
	c.ok(201, "POST", "/products", object{"name": "shop", "prefix": "shop"})
	tenant = c.ok(201, "POST", "/tenants", object{"product": "shop", "name": "Corner Bakery"})["id"].(string)
	endpoint = c.ok(201, "POST", "/endpoints", object{"tenant_id": tenant, "url": r.server.URL + "/hook", "event_types": []string{"*"}, "description": "Warehouse"})
	return tenant, endpoint
}

// failures publishes 300 events that the receiver refuses, and waits until each was tried four
// times. One of them may be on a trial.
func (c *console) failures(tenant string) {
	c.t.Helper()
	key := c.ok(201, "POST", "/keys", object{"tenant_id": tenant, "environment": "live", "name": "server"})["api_key"].(string)
	for range 3 {
		batch := make([]object, 100)
		for i := range batch {
			batch[i] = object{"event_type": "order.created", "data": object{"order": i}}
		}
		c.ok(202, "POST", "/events/batch", object{"events": batch}, "X-Integration-Key", key)
	}
	require.Eventually(c.t, func() bool {
		return c.ok(200, "POST", "/replays", object{"filter": object{"status": "parked"}, "dry_run": true})["count"].(float64) >= 299
	}, 5*time.Minute, 200*time.Millisecond)
}

// "Replay: filter → exact count → confirm → progress, cancel, result; survives a reload and a
// restart".
func TestReplayInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := start(t)
	r := newReceiver(t)
	tenant, _ := c.bakery(r)
	c.failures(tenant)
	visited := c.visited()
	visited["receiver"], visited["part"] = r.server.URL, "start"
	hubtest.RunInBrowser(t, "hub/console/browser/replays.mjs", visited)
	c.restart()
	visited["url"], visited["part"] = c.url, "running"
	visited["replay"] = c.ok(200, "GET", "/replays", nil)["items"].([]any)[0].(object)["id"]
	hubtest.RunInBrowser(t, "hub/console/browser/replays.mjs", visited)
	r.release()
	visited["part"] = "done"
	hubtest.RunInBrowser(t, "hub/console/browser/replays.mjs", visited)
}

// "a support task list (…; send 300 failed ones again and stop halfway; find who revoked a key;
// …; rotate a secret) each done in a browser test in at most 6 interactions, counted there".
func TestAdministrationTasksInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := start(t)
	r := newReceiver(t)
	tenant, _ := c.bakery(r)
	c.failures(tenant)
	key := c.ok(201, "POST", "/keys", object{"tenant_id": tenant, "name": "old server"})
	c.ok(201, "POST", "/operators", object{"email": "bea@example.com", "name": "Bea", "role": "admin", "password": adminPassword})
	token := c.ok(200, "POST", "/auth/login", object{"email": "bea@example.com", "password": adminPassword}, "X-Forwarded-For", "10.30.0.1")["access_token"].(string)
	c.ok(204, "DELETE", "/keys/"+key["id"].(string), nil, "Authorization", "Bearer "+token)
	visited := c.visited()
	visited["receiver"] = r.server.URL
	hubtest.RunInBrowser(t, "hub/console/browser/administration-tasks.mjs", visited)
	r.release()
}
