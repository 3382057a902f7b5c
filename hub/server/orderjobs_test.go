package server_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
)

// parkAfter makes a tenant's delivery that waits for a retry park at its next failure.
func (p place) parkAfter(t *testing.T, a *account, eventType string) {
	t.Helper()
	p.pendingRetry(t, a, eventType)
	_, err := p.pool.Exec(t.Context(), `
		update hub.deliveries set spent = 3, due_at = now() where tenant_id = $1 and event_type = $2 and next_attempt_at is not null`, a.tenant, eventType)
	require.NoError(t, err)
}

// The first delivery of a key is parked, a replay makes it pending, and the replay is cancelled
// before an attempt: it does not hold up the others for ever, but is tried as other parked ones.
func TestCancelledReplayHoldsUpNoOrder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, func(c *config.Config) { c.EndpointConcurrency = 1 }).account()
	var open atomic.Bool
	release := make(chan struct{})
	h := newHook(t, nil)
	h.respond = func(w http.ResponseWriter, r *http.Request, n int) {
		switch body := string(h.arrivals()[n-1].body); {
		case strings.Contains(body, "hangs"):
			hanging(release)(w, r, n)
		case !open.Load():
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
	endpoint := a.endpoint(h, `"ordered":true`)
	var ids []string
	for n := range 3 {
		ids = append(ids, a.publishNumbered("k", n+1))
	}
	p.parkAfter(t, a, "a.b")
	head := a.settles(ids[0], endpoint, "parked")
	require.Equal(t, "retries_exhausted", head["reason"])
	a.publish("other.event", `{"text":"hangs"}`) // takes the only place
	require.Eventually(t, func() bool { return strings.Contains(string(h.arrivals()[len(h.arrivals())-1].body), "hangs") }, soon, tick)
	_, err := p.pool.Exec(t.Context(), `delete from hub.drains`) // nothing was parked any more
	require.NoError(t, err)

	replay := a.ok(202, "POST", "/replays", `{"filter":{"endpoint_id":"`+endpoint+`","status":"parked"}}`)["id"].(string)
	a.settles(ids[0], endpoint, "pending")
	a.ok(200, "POST", "/replays/"+replay+"/cancel", "")
	head = a.settles(ids[0], endpoint, "parked")
	require.Equal(t, "replay_cancelled", head["reason"])
	waiting := head["waiting"].(map[string]any)
	require.Equal(t, []any{"trial_scheduled", 2.0}, []any{waiting["cause"], waiting["holds_up"]})
	require.Contains(t, waiting["release"], "time")

	open.Store(true)
	close(release)
	_, err = p.pool.Exec(t.Context(), `update hub.drains set due_at = now()`)
	require.NoError(t, err)
	a.settles(ids[2], endpoint, "delivered")
	got := h.ids()
	require.Equal(t, ids, got[len(got)-3:])
	requireNoPlaces(t, p)
	require.Eventually(t, func() bool { return a.ok(200, "GET", "/replays/"+replay, "")["done"] == 1.0 }, soon, tick, "what the end of the replay parked is settled")
	p.balance(t)
}

// A replay sends what is final out of order, and says so; the first of a key that it sends
// again keeps its place, and what is behind it is not sent.
func TestReplayOfAnOrder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	var refuses atomic.Bool
	h := newHook(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		if refuses.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	endpoint := a.endpoint(h, `"ordered":true`)
	var ids []string
	publish := func() { ids = append(ids, a.publishNumbered("k", len(ids)+1)) }
	publish()
	publish()
	plain := a.publish("a.b", `{}`)
	a.settles(plain, endpoint, "delivered")
	a.settles(ids[1], endpoint, "delivered")
	a.refused(409, "delivery_settled", "POST", "/deliveries/"+a.delivery(ids[1], endpoint)["id"].(string)+"/discard", a.token, "")
	refuses.Store(true)
	publish()
	publish()
	p.parkAfter(t, a, "a.b")
	a.settles(ids[2], endpoint, "parked")
	refuses.Store(false)
	before := len(h.arrivals())

	replay := a.replayEnds(a.ok(202, "POST", "/replays", `{"filter":{"endpoint_id":"`+endpoint+`"}}`)["id"].(string))
	require.Equal(t, []any{"done", 4.0}, []any{replay["status"], replay["delivered"]}, "what is behind does not belong to it: %v", replay)
	a.settles(ids[3], endpoint, "delivered")
	for i, outOfOrder := range []bool{true, true, false, false} {
		require.Equal(t, outOfOrder, a.settles(ids[i], endpoint, "delivered")["out_of_order"], i)
	}
	require.Equal(t, false, a.settles(plain, endpoint, "delivered")["out_of_order"], "it was in none")
	times := map[string]int{}
	for _, arrival := range h.arrivals()[before:] {
		times[arrival.id]++
	}
	require.Equal(t, map[string]int{ids[0]: 1, ids[1]: 1, ids[2]: 1, ids[3]: 1, plain: 1}, times)
	requireNoPlaces(t, p)
	p.balance(t)
}

// A replay does not send what was discarded: others of its key have passed.
func TestReplayLeavesOutDiscarded(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	endpoint := a.endpoint(h, `"ordered":true,"enabled":false`)
	discarded, passed := a.publishNumbered("k", 1), a.publishNumbered("k", 2)
	head := a.settles(discarded, endpoint, "parked")
	a.ok(200, "POST", "/deliveries/"+head["id"].(string)+"/discard", "")
	a.ok(200, "PUT", "/endpoints/"+endpoint, `{"url":"`+h.url+`","event_types":["*"],"ordered":true}`)
	a.settles(passed, endpoint, "delivered")
	replay := a.replayEnds(a.ok(202, "POST", "/replays", `{"filter":{"endpoint_id":"`+endpoint+`"}}`)["id"].(string))
	require.Equal(t, []any{"done", 1.0}, []any{replay["status"], replay["delivered"]}, "%v", replay)
	require.Equal(t, "discarded", a.settles(discarded, endpoint, "failed")["reason"])
	h.wait(2)
	for _, arrival := range h.arrivals() {
		require.Equal(t, passed, arrival.id)
	}
	require.Len(t, h.arrivals(), 2)
	p.balance(t)
}

// A recovery of an ordered endpoint sends out of order, and says so of what has a key. The
// orders of what is published meanwhile are not touched.
func TestRecoveryOfAnOrder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	a.endpoint(newHook(t, nil), "")
	var missed []string
	for n := range 3 {
		missed = append(missed, a.publishNumbered("k", n+1))
	}
	plain := a.publish("a.b", `{}`)
	var open atomic.Bool
	h := newHook(t, nil)
	h.respond = refusing(h, `"n":4`, &open)
	endpoint := a.endpoint(h, `"ordered":true`)
	head, behind := a.publishNumbered("k", 4), a.publishNumbered("k", 5)
	p.pendingRetry(t, a, "a.b")
	replay := a.replayEnds(a.ok(202, "POST", "/endpoints/"+endpoint+"/recover", `{"since":"2026-01-01T00:00:00Z"}`)["id"].(string))
	require.Equal(t, []any{"done", 4.0}, []any{replay["status"], replay["delivered"]}, "%v", replay)
	for _, id := range missed {
		require.Equal(t, true, a.settles(id, endpoint, "delivered")["out_of_order"])
	}
	require.Equal(t, false, a.settles(plain, endpoint, "delivered")["out_of_order"])
	require.Equal(t, head, a.delivery(head, endpoint)["event_id"])
	require.Equal(t, true, a.delivery(behind, endpoint)["behind_in_order"], "it waits for its head alone")
	open.Store(true)
	a.settles(behind, endpoint, "delivered")
	require.Equal(t, behind, h.ids()[len(h.ids())-1])
	for _, id := range []string{head, behind} {
		require.Equal(t, false, a.delivery(id, endpoint)["out_of_order"])
	}
	requireNoPlaces(t, p)
	p.balance(t)
}
