package console_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
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

// Who has a phone number, and every delivery that touched them.
func TestLookupInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := startHosting(t, []module.Module{notes.New("notes"), notes.New("board")})
	writer, token := c.signUp("notes", "Pine Clinic")
	owner, _ := c.signUp("board", "Oak Studio")
	c.ok(200, "POST", "/integrations/link", object{"tenant_id": writer, "peer_tenant_id": owner})
	c.note("notes", token, "+5511987654321 Maria Silva", "delivered")
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

// "With 1,000,000 deliveries the log's first page is drawn in under 1 s and scrolling 20 pages
// keeps under 150 MB."
func TestMillionDeliveriesInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := start(t)
	shop := c.shop(1)
	pool, err := pgxpool.New(t.Context(), string(c.options.Config.DatabaseURL))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	const perDay = 250_000
	for age := range 4 {
		day := time.Now().UTC().AddDate(0, 0, -age)
		_, err = pool.Exec(t.Context(), `select hub.ensure_partitions($1::date, 1)`, day)
		require.NoError(t, err)
		for _, statement := range []string{
			`insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body)
				select (left(hub.day_floor($1::date)::text, 24) || lpad(to_hex(n * 65536), 12, '0'))::uuid, n, $2, 'live', 'shop', 'order.created', 1, '{"id":"evt","data":{"order":1,"note":"a payload of some length, as webhooks have"}}'
				from generate_series(1, $3::bigint) n where $4::uuid is not null`,
			`insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, status, status_code, attempts, started_at, finished_at, created_at)
				select (left(hub.day_floor($1::date)::text, 24) || lpad(to_hex(n * 65536 + 1), 12, '0'))::uuid, n, $2, $4, 'live', 'shop', case when n = 7 then 'order.rare' else 'order.created' end,
					case when n = 77 then 'story-77' end, case when n % 20000 = 0 then 3 else 1 end, case when n % 20000 = 0 then 500 else 200 end, 1, now(), now(), now()
				from generate_series(1, $3::bigint) n`,
		} {
			_, err = pool.Exec(t.Context(), statement, day, shop.tenant, perDay, shop.endpoint)
			require.NoError(t, err)
		}
	}
	var count int
	require.NoError(t, pool.QueryRow(t.Context(), `select count(*) from hub.deliveries`).Scan(&count))
	require.GreaterOrEqual(t, count, 1_000_000)
	_, err = pool.Exec(t.Context(), `analyze hub.deliveries`)
	require.NoError(t, err)
	hubtest.RunInBrowser(t, "hub/console/browser/million.mjs", c.visited())
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
