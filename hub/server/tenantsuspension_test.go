package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A suspended tenant publishes nothing and changes nothing, in each process; what it published
// before arrives. Others notice nothing.
func TestSuspendedTenant(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n, second := p.start(t, nil), p.start(t, nil)
	stopped, other := n.account(), n.account()
	require.Nil(t, n.ok(200, "GET", "/tenants/"+stopped.tenant, "")["suspended_at"])
	hook := newHook(t, echo(200))
	to := stopped.endpoint(hook, "")
	before := stopped.publish("message.sent", `{"text":"Oi"}`)

	suspended := n.ok(200, "POST", "/tenants/"+stopped.tenant+"/suspend", "")
	require.NotNil(t, suspended["suspended_at"])
	require.Equal(t, suspended, n.ok(200, "POST", "/tenants/"+stopped.tenant+"/suspend", ""))
	require.Equal(t, suspended, n.ok(200, "GET", "/tenants/"+stopped.tenant, ""))
	stopped.settles(before, to, "delivered")
	for _, process := range []*node{n, second} {
		require.Eventually(t, func() bool {
			return process.call("POST", "/events", stopped.live, `{"event_type":"a.b","data":{}}`).status == 403
		}, soon, tick)
		process.refused(403, "tenant_suspended", "POST", "/events", stopped.live, `{"event_type":"a.b","data":{}}`)
		process.refused(403, "tenant_suspended", "GET", "/events", stopped.live, "")
		require.Equal(t, 202, process.call("POST", "/events", other.live, `{"event_type":"a.b","data":{}}`).status)
	}
	third := p.start(t, nil)
	third.refused(403, "tenant_suspended", "POST", "/events", stopped.live, `{"event_type":"a.b","data":{}}`)

	require.Nil(t, n.ok(200, "POST", "/tenants/"+stopped.tenant+"/resume", "")["suspended_at"])
	n.ok(200, "POST", "/tenants/"+stopped.tenant+"/resume", "")
	for _, process := range []*node{n, second, third} {
		require.Eventually(t, func() bool {
			return process.call("POST", "/events", stopped.live, `{"event_type":"a.b","data":{}}`).status == 202
		}, soon, tick)
	}
	n.refused(404, "not_found", "POST", "/tenants/"+mariaID+"/suspend", n.token, "")
	actions := []any{}
	for _, entry := range items(n.ok(200, "GET", "/audit?tenant_id="+stopped.tenant+"&resource=tenants", "")) {
		actions = append(actions, entry["action"])
	}
	require.Equal(t, []any{"tenants.resume", "tenants.suspend", "tenants.create"}, actions)
}
