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

// Why a delivery waits, and two of its attempts beside each other.
func TestWaitingInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := start(t)
	shop := c.shop(1)
	c.ok(201, "POST", "/endpoints", object{"tenant_id": shop.tenant, "url": "http://127.0.0.1:9/", "event_types": []string{"order.kept"}, "enabled": false})
	kept := c.ok(202, "POST", "/events", object{"event_type": "order.kept", "data": object{}}, "X-Integration-Key", shop.key)["id"].(string)
	visited := c.visited()
	var parked []any
	require.Eventually(t, func() bool {
		parked = c.ok(200, "GET", "/deliveries?status=parked&event_id="+kept, nil)["items"].([]any)
		return len(parked) == 1
	}, 30*time.Second, 50*time.Millisecond)
	refused := c.ok(200, "GET", "/deliveries?event_type=order.refused", nil)["items"].([]any)
	visited["parked"], visited["refused"] = parked[0].(object)["id"], refused[0].(object)["id"]
	hubtest.RunInBrowser(t, "hub/console/browser/waiting.mjs", visited)
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
	}, 30*time.Second, 50*time.Millisecond)
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
	}, 30*time.Second, 50*time.Millisecond)
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
	visited["key"] = shop.key
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
