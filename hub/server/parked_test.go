package server_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
	"integrationhub/hub/internal/ledger/ledgertest"
	"integrationhub/hub/internal/ledger/query"
)

// Nothing is skipped because of a switch: what happens while an endpoint is disabled is
// parked at once, and sent when it is enabled, oldest first. After 15 days it stops to
// collect.
func TestDisabledEndpointCollects(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h, other := newHook(t, nil), newHook(t, nil)
	endpoint, enabled := a.endpoint(h, `"enabled":false,"rate_per_minute":60`), a.endpoint(other, "")
	require.NotNil(t, a.ok(200, "GET", "/endpoints/"+endpoint, "")["disabled_at"])
	ids := a.batch(20, "a.b")
	require.Eventually(t, func() bool { return p.count(t, `status = 2 and reason = 'disabled' and attempts = 0`) == 20 }, soon, tick, "at once, whatever its rate")
	other.waitAll(ids)
	parked := a.delivery(ids[0], endpoint)
	require.Equal(t, []any{"parked", "disabled"}, []any{parked["status"], parked["reason"]})
	a.refused(409, "endpoint_disabled", "POST", "/deliveries/"+parked["id"].(string)+"/retry", a.token, "")
	settings := `{"url":"` + h.url + `","event_types":["*"],"enabled":`
	a.ok(200, "PUT", "/endpoints/"+endpoint, settings+`true}`)
	h.waitAll(ids)
	require.Eventually(t, func() bool { return p.count(t, `target_id = '`+endpoint+`' and status = 1`) == 20 }, soon, tick)
	require.Equal(t, ids[0], h.ids()[0])
	require.Len(t, h.arrivals(), 20, "each once")
	require.Len(t, other.arrivals(), 20)

	a.ok(200, "PUT", "/endpoints/"+endpoint, settings+`false}`)
	_, err := p.pool.Exec(t.Context(), `update hub.endpoints set abandoned_at = now() where id = $1`, endpoint)
	require.NoError(t, err)
	require.EqualValues(t, 1, a.ok(202, "POST", "/events", `{"event_type":"a.b","data":{}}`, a.live)["deliveries"], "the other's")
	now := a.ok(200, "PUT", "/endpoints/"+endpoint, settings+`true}`)
	require.Nil(t, now["abandoned_at"])
	require.Nil(t, now["disabled_at"])
	require.EqualValues(t, 2, a.ok(202, "POST", "/events", `{"event_type":"a.b","data":{}}`, a.live)["deliveries"])

	// DELETE fails what waits.
	a.ok(200, "PUT", "/endpoints/"+enabled, `{"url":"`+other.url+`","event_types":["*"],"enabled":false}`)
	id := a.publish("a.b", `{}`)
	a.settles(id, enabled, "parked")
	a.ok(204, "DELETE", "/endpoints/"+enabled, "")
	require.Equal(t, "endpoint_deleted", a.settles(id, enabled, "failed")["reason"])
	p.balance(t)
}

// What is parked goes out within a moment of enabling, also when the drainer is quicker than
// the configuration: it runs often here, for another endpoint drains and hangs.
func TestEnablingDrainsAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	release := make(chan struct{})
	defer close(release)
	slow, h := newHook(t, hanging(release)), newHook(t, nil)
	busy, endpoint := a.endpoint(slow, `"enabled":false`), a.endpoint(h, "")
	enable := func(id, url, types, enabled string) {
		a.ok(200, "PUT", "/endpoints/"+id, `{"url":"`+url+`","event_types":["`+types+`"],"enabled":`+enabled+`}`)
	}
	a.settles(a.publish("a.b", `{}`), busy, "parked")
	enable(busy, slow.url, "a.*", "true")
	require.Eventually(t, func() bool { return len(slow.arrivals()) > 0 }, soon, tick)
	for range 8 {
		enable(endpoint, h.url, "c.*", "false")
		id := a.publish("c.d", `{}`)
		a.settles(id, endpoint, "parked")
		enable(endpoint, h.url, "c.*", "true")
		start := time.Now()
		a.settles(id, endpoint, "delivered")
		require.Less(t, time.Since(start), soon/2, "not only after 30 s")
	}
}

// A receiver that was down for a while needs nobody: once it answers, what was parked
// follows by itself, oldest first.
func TestEndpointHealsByItself(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	var isDown atomic.Bool
	isDown.Store(true)
	h := newHook(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		if isDown.Load() {
			w.WriteHeader(503)
		}
	})
	endpoint := a.endpoint(h, "")
	ids := a.batch(15, "a.b")
	require.Eventually(t, func() bool { // the retries would take half a minute
		_, err := p.pool.Exec(t.Context(), `update hub.deliveries set spent = 3, next_attempt_at = null, due_at = now() where status = 0 and next_attempt_at is not null`)
		require.NoError(t, err)
		return p.count(t, `status = 2 and reason = 'retries_exhausted'`) == 15
	}, 2*soon, 5*tick)
	isDown.Store(false)
	before := len(h.arrivals())
	_, err := p.pool.Exec(t.Context(), `update hub.drains set due_at = now()`) // 30 s
	require.NoError(t, err)
	require.Eventually(t, func() bool { return p.count(t, `status = 1`) == 15 }, 2*soon, tick)
	require.Equal(t, ids[0], h.ids()[before], "the oldest is tried")
	require.Len(t, h.ids()[before:], 15, "each once")
	require.NotEmpty(t, endpoint)
}

// A delivery whose event is missing in the log is not sent empty: it fails and says why.
func TestDeliveryWithoutItsEvent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	endpoint := a.endpoint(h, `"enabled":false`)
	id := a.publish("a.b", `{}`)
	whole := a.publish("a.b", `{}`)
	parked := a.settles(id, endpoint, "parked")
	a.settles(whole, endpoint, "parked")
	_, err := p.pool.Exec(t.Context(), `delete from hub.events where seq = (overlay($1::text placing '0000' from 33))::uuid`, parked["id"])
	require.NoError(t, err)
	a.ok(200, "PUT", "/endpoints/"+endpoint, `{"url":"`+h.url+`","event_types":["*"]}`)
	require.Eventually(t, func() bool {
		return a.ok(200, "GET", "/deliveries/"+parked["id"].(string), "")["status"] == "failed"
	}, soon, tick)
	require.Equal(t, "payload_missing", a.ok(200, "GET", "/deliveries/"+parked["id"].(string), "")["reason"])
	a.settles(whole, endpoint, "delivered")
	require.Equal(t, []string{whole}, h.ids())
	require.Contains(t, a.call("GET", "/metrics", "", "").text, `hub_deliveries_settled_total{product="shop",status="failed"} 1`)
}

// What is parked outlives the retention of its day, without the rest of the day. It is
// erased with the person it is about, counted, and sent when its endpoint is enabled.
func TestParkedDeliveriesOutliveTheirDay(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.start(t, nil)
	a := first.account()
	h := newHook(t, nil)
	endpoint := a.endpoint(h, `"enabled":false`)
	for range 2 {
		a.endpoint(newHook(t, nil), "")
	}
	mariaEvent := a.publish("a.b", `{"patient_id":"`+mariaID+`","name":"`+mariaName+`"}`)
	ids := a.batch(5, "a.b")
	require.Eventually(t, func() bool { return p.count(t, `status = 2`) == 6 && p.count(t, `status = 1`) == 12 }, soon, tick)
	first.stop()
	for _, statement := range []string{ // five days pass
		`create function public.back(id uuid) returns uuid language sql as $$
			select (lpad(to_hex(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint - 5 * 86400000), 12, '0') || right(replace(id::text, '-', ''), 20))::uuid $$`,
		`select hub.ensure_partitions((now() at time zone 'UTC')::date - 6, 3)`,
		`update hub.events set seq = public.back(seq), created_at = created_at - interval '5 days'`,
		`update hub.deliveries set id = public.back(id), created_at = created_at - interval '5 days'`,
		`update hub.attempts set delivery_id = public.back(delivery_id)`,
		`update hub.rollup_deltas set bucket = bucket - interval '5 days'`,
		`update hub.statistics set bucket = bucket - interval '5 days'`,
	} {
		_, err := p.pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	balanced := func() {
		sums, err := ledgertest.DailyBalances(t.Context(), query.NewReader(p.pool))
		require.NoError(t, err)
		require.EqualValues(t, 18, sums[0].Accepted)
		for _, sum := range sums {
			require.True(t, sum.IsBalanced(), sum.String())
		}
	}
	second := p.start(t, func(c *config.Config) { c.Retention = 3 * 24 * time.Hour })
	require.Eventually(t, func() bool { return p.count(t, `true`) == 6 }, 2*soon, tick, "the others are dropped")
	balanced()
	parked := items(second.ok(200, "GET", "/deliveries?status=parked&endpoint_id="+endpoint, ""))
	require.Len(t, parked, 6)

	b := &account{node: second, tenant: a.tenant, live: a.live}
	b.publish("patient.deleted", mariaIs)
	require.Eventually(t, func() bool { return p.count(t, `status = 3 and reason = 'erased'`) == 1 }, 2*soon, tick)
	require.Equal(t, "erased", second.ok(200, "GET", "/deliveries/"+parked[5]["id"].(string), "")["reason"], "the oldest")
	p.erased(t, 1, false)
	second.ok(200, "PUT", "/endpoints/"+endpoint, `{"url":"`+h.url+`","event_types":["a.*"]}`)
	h.waitAll(ids)
	require.NotContains(t, h.times(), mariaEvent)
	balanced()
}
