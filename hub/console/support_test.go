package console_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
)

// delivery waits for the only delivery that a filter of the log finds, and returns its id.
func (c *console) delivery(filter string) any {
	c.t.Helper()
	var found []any
	require.Eventually(c.t, func() bool {
		found = c.ok(200, "GET", "/deliveries?"+filter, nil)["items"].([]any)
		return len(found) == 1
	}, eventually, tick)
	return found[0].(object)["id"]
}

// ordered makes an ordered endpoint and returns deliveries to it: one that is out of order, then
// those of a key, of which the first is parked as the endpoint is disabled.
func (c *console) ordered(shop shop) (endpoint string, outOfOrder any, ids []any) {
	c.t.Helper()
	settings := object{"tenant_id": shop.tenant, "url": shop.receiver + "/ordered", "event_types": []string{"stock.*"}, "ordered": true}
	endpoint = idOf(c.ok(201, "POST", "/endpoints", settings))
	to := "endpoint_id=" + endpoint
	publish := func(eventType string) string {
		event := object{"event_type": eventType, "ordering_key": "sku-7", "data": object{}}
		return c.ok(202, "POST", "/events", event, "X-Integration-Key", shop.key)["id"].(string)
	}
	outOfOrder = c.delivery(to + "&status=delivered&event_id=" + publish("stock.counted"))
	c.ok(202, "POST", "/deliveries/"+outOfOrder.(string)+"/retry", nil)
	delete(settings, "tenant_id")
	settings["enabled"] = false
	c.ok(200, "PUT", "/endpoints/"+endpoint, settings)
	ids = []any{c.delivery(to + "&status=parked&event_id=" + publish("stock.taken"))}
	for range 2 {
		ids = append(ids, c.delivery(to+"&status=pending&event_id="+publish("stock.taken")))
	}
	return endpoint, outOfOrder, ids
}

// Why a delivery waits, its priority, its place in an order, which an administrator can end, and
// two of its attempts beside each other.
func TestWaitingInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := start(t)
	shop := c.shop(1)
	c.ok(201, "POST", "/endpoints", object{"tenant_id": shop.tenant, "url": "http://127.0.0.1:9/", "event_types": []string{"order.kept"}, "enabled": false})
	kept := c.ok(202, "POST", "/events", object{"event_type": "order.kept", "data": object{}}, "X-Integration-Key", shop.key)["id"].(string)
	visited := c.visited()
	visited["parked"] = c.delivery("status=parked&event_id=" + kept)
	refused := c.ok(200, "GET", "/deliveries?event_type=order.refused", nil)["items"].([]any)
	require.Equal(t, false, refused[0].(object)["behind_in_order"], "it waits for its retry")
	visited["refused"] = refused[0].(object)["id"]
	ping := c.ok(202, "POST", "/endpoints/"+shop.endpoint+"/ping", nil)["id"].(string)
	visited["ping"] = c.delivery("event_id=" + ping)
	late := idOf(c.ok(201, "POST", "/endpoints", object{"tenant_id": shop.tenant, "url": shop.receiver + "/late", "event_types": []string{"order.created"}}))
	c.ok(202, "POST", "/endpoints/"+late+"/recover", object{"since": time.Now().Add(-time.Hour)})
	visited["bulk"] = c.delivery("endpoint_id=" + late)
	endpoint, outOfOrder, inOrder := c.ordered(shop)
	visited["ordered"], visited["outOfOrder"], visited["inOrder"] = endpoint, outOfOrder, inOrder
	c.ok(201, "POST", "/operators", object{"email": "bea@example.com", "name": "Bea", "role": "support", "password": adminPassword})
	hubtest.RunInBrowser(t, "hub/console/browser/waiting.mjs", visited)
	require.Equal(t, "discarded", c.ok(200, "GET", "/deliveries/"+inOrder[0].(string), nil)["reason"])
	require.Equal(t, "parked", c.ok(200, "GET", "/deliveries/"+inOrder[1].(string), nil)["status"], "it is the first now")
}

// Everything with one correlation id, in the order of time.
func TestJourneyInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := start(t)
	shop := c.shop(1)
	c.ok(201, "POST", "/endpoints", object{"tenant_id": shop.tenant, "url": shop.receiver + "/paid", "event_types": []string{"order.paid"}})
	paid := c.ok(202, "POST", "/events", object{"event_type": "order.paid", "correlation_id": "order-77", "data": object{}}, "X-Integration-Key", shop.key)["id"].(string)
	require.Eventually(t, func() bool {
		return len(c.ok(200, "GET", "/deliveries?status=delivered&event_id="+paid, nil)["items"].([]any)) == 2
	}, time.Minute, 50*time.Millisecond)
	hubtest.RunInBrowser(t, "hub/console/browser/journey.mjs", c.visited())
}

// note publishes a note of a tenant that startProducts made, and waits until its delivery has a
// status.
func (c *console) note(product, token, text, status string) {
	c.t.Helper()
	response, answer := c.call("POST", "/"+product+"/api/v1/publish", object{"author": "", "text": text}, "Authorization", "Bearer "+token)
	require.Equal(c.t, 202, response.StatusCode, answer)
	require.Eventually(c.t, func() bool {
		return len(c.ok(200, "GET", "/deliveries?direction=outbound&status="+status, nil)["items"].([]any)) > 0
	}, time.Minute, 50*time.Millisecond)
}

// signUp makes an account of a product and returns its tenant and token.
func (c *console) signUp(product, name string) (tenant, token string) {
	c.t.Helper()
	response, text := c.call("POST", "/"+product+"/api/v1/auth/register", object{"name": name})
	require.Equal(c.t, http.StatusCreated, response.StatusCode, text)
	made := c.parse(text)
	return made["tenant_id"].(string), made["token"].(string)
}

// Who has a phone number, an e-mail address or a CPF that ends so, and every delivery that touched
// them.
func TestLookupInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := startHosting(t, []module.Module{notes.New("notes"), notes.New("board")})
	writer, token := c.signUp("notes", "Pine Clinic")
	owner, _ := c.signUp("board", "Oak Studio")
	c.ok(200, "POST", "/integrations/link", object{"tenant_id": writer, "peer_tenant_id": owner})
	c.note("notes", token, "+5511987654321 Maria Silva", "delivered")
	c.note("notes", token, "maria.souza@example.com Maria Souza", "delivered")
	c.note("notes", token, "patient Paulo Lima 529.982.247-25", "delivered")
	hubtest.RunInBrowser(t, "hub/console/browser/lookup.mjs", c.visited())
}

// Deliveries as they settle: 200 a second, and nothing moves under the pointer.
func TestLiveTailInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := start(t)
	shop := c.shop(40)
	visited := c.visited()
	visited["key"], visited["token"] = shop.key, c.token
	hubtest.RunInBrowser(t, "hub/console/browser/tail.mjs", visited)
}

// The tasks of support, each in at most six interactions.
func TestSupportTasksInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := startHosting(t, []module.Module{notes.New("notes"), notes.New("board"), notes.New("wall")})
	writer, token := c.signUp("notes", "Pine Clinic")
	owner, _ := c.signUp("board", "Oak Studio")
	c.signUp("wall", "Elm House")
	linked := c.ok(200, "POST", "/integrations/link", object{"tenant_id": writer, "peer_tenant_id": owner})["integrations"].([]any)
	c.shop(1)
	for _, side := range linked { // what is for the peer is parked
		if side.(object)["tenant_id"] == writer {
			c.ok(200, "POST", "/integrations/"+side.(object)["id"].(string)+"/disable", nil)
		}
	}
	c.note("notes", token, "+5511987654321 Maria Silva", "parked")
	hubtest.RunInBrowser(t, "hub/console/browser/support-tasks.mjs", c.visited())
}
