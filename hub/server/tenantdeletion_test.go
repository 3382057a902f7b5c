package server_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// "keys and endpoints end at once, data erased by a job, audited": what waited for a deleted
// tenant's endpoints fails, its payloads and the answers to them go, of both environments;
// another tenant keeps all of it.
func TestDeletedTenantIsErased(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, nil)
	gone, other := n.account(), n.account()
	var open atomic.Bool
	done, busy := newHook(t, echo(200)), newHook(t, putOff("600", &open))
	to, busyTo := gone.endpoint(done, `"ordered":true,"event_types":["message.*"]`), gone.endpoint(busy, `"ordered":true,"event_types":["waiting.*"]`)
	testsTo, theirsTo := gone.endpoint(done, `"environment":"test"`), other.endpoint(newHook(t, nil), "")
	data := `{"name":"` + mariaName + `","email":"` + mariaEmail + `"}`
	delivered := gone.call("POST", "/events", gone.live, `{"event_type":"message.sent","ordering_key":"`+mariaID+`","correlation_id":"call-`+mariaID+`","data":`+data+`}`, "Idempotency-Key", mariaEmail).body["id"].(string)
	waiting := gone.publishOrdered("waiting.event", mariaEmail, data)
	deletion := gone.publish("patient.deleted", mariaIs) // its own erasure waits for the deletion event's receivers
	test := gone.ok(202, "POST", "/events", `{"event_type":"a.b","data":`+data+`}`, gone.test)["id"].(string)
	kept := other.publish("message.sent", `{"text":"Outra"}`)
	gone.settles(delivered, to, "delivered")
	gone.settles(test, testsTo, "delivered")
	other.settles(kept, theirsTo, "delivered")
	busy.wait(1)

	removed := n.ok(200, "DELETE", "/tenants/"+gone.tenant, "")
	require.Equal(t, map[string]any{"id": gone.tenant, "product": "shop", "name": "Tenant", "keys": 2.0, "endpoints": 3.0}, removed)
	n.refused(401, "invalid_key", "POST", "/events", gone.live, `{"event_type":"a.b","data":{}}`)
	n.refused(404, "not_found", "GET", "/tenants/"+gone.tenant, n.token, "")
	n.refused(404, "not_found", "DELETE", "/tenants/"+gone.tenant, n.token, "")
	n.refused(404, "not_found", "GET", "/endpoints/"+to, n.token, "")

	require.Eventually(t, func() bool {
		var open int
		require.NoError(t, p.pool.QueryRow(context.Background(), `select count(*) from hub.erasures where finished_at is null`).Scan(&open))
		return open == 0
	}, 2*soon, 5*tick)
	for id, to := range map[string]string{delivered: to, test: testsTo} {
		detail := n.delivery(id, to)
		require.Equal(t, erasedPayload, detail["payload"])
		require.Equal(t, "delivered", detail["status"])
	}
	require.Equal(t, "failed", n.delivery(waiting, busyTo)["status"])
	require.Equal(t, erasedPayload, n.ok(200, "GET", "/events/"+deletion, "")["payload"])
	for _, needle := range []string{mariaName, mariaEmail, mariaID, "11987654321"} {
		require.Empty(t, hubtest.FindInDatabase(t, p.database, needle), needle)
	}
	require.Equal(t, "Outra", n.delivery(kept, theirsTo)["payload"].(map[string]any)["data"].(map[string]any)["text"])
	entries := items(n.ok(200, "GET", "/audit?tenant_id="+gone.tenant+"&resource=tenants", ""))
	actions := map[any]int{}
	for _, entry := range entries {
		require.Equal(t, gone.tenant, entry["resource_id"])
		actions[entry["action"]]++
	}
	require.Equal(t, 2, actions["payloads.erase"], "one of each environment: %v", actions)
	require.GreaterOrEqual(t, actions["tenants.delete"], 1)
	p.balance(t)
	require.Len(t, busy.arrivals(), 1)

	// Its product stays until the last tenant is gone.
	n.refused(409, "product_has_tenants", "DELETE", "/products/shop", n.token, "")
	n.ok(200, "DELETE", "/tenants/"+other.tenant, "")
	require.Equal(t, "shop", n.ok(200, "DELETE", "/products/shop", "")["name"])
	n.refused(404, "not_found", "DELETE", "/products/shop", n.token, "")
	n.account() // name and prefix are free again
}
