package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
)

// publishNumbered publishes event n of a key.
func (a *account) publishNumbered(key string, n int) string {
	a.t.Helper()
	return a.ok(202, "POST", "/events", fmt.Sprintf(`{"event_type":"a.b","ordering_key":%q,"data":{"key":%q,"n":%d}}`, key, key, n), a.live)["id"].(string)
}

// An ordered endpoint gets the events of one key one at a time, in the order of their
// acceptance, whichever of two processes accepted them, whatever fails; keys do not wait for
// each other. Afterwards no place is taken.
func TestOrderHoldsThroughFailures(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	other := &account{node: p.start(t, nil), live: a.live}
	var seen hubtest.Sequences
	h := newHook(t, nil)
	h.respond = func(w http.ResponseWriter, _ *http.Request, n int) {
		key, number, _ := seen.Arrive(h.arrivals()[n-1].body)
		if n%13 == 5 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		seen.Accept(key, number)
	}
	a.endpoint(h, `"ordered":true`)
	const keys, events = 5, 30
	var publishing sync.WaitGroup
	for k := range keys {
		publishing.Go(func() {
			for n := 1; n <= events; n++ {
				[]*account{a, other}[n%2].publishNumbered(fmt.Sprintf("key %d", k), n)
			}
		})
	}
	publishing.Wait()
	require.Eventually(t, func() bool { return p.count(t, `status = 1 and ordering_key is not null`) == keys*events }, 10*soon, tick)
	require.Empty(t, seen.Disorders())
	require.Len(t, seen.Accepted(), keys)
	for key, n := range seen.Accepted() {
		require.Equal(t, events, n, key)
	}
	require.Greater(t, len(h.arrivals()), keys*events, "some failed first")
	requireNoPlaces(t, p)
	p.balance(t)
}

// requireNoPlaces requires that no order has a delivery that waits.
func requireNoPlaces(t *testing.T, p place) {
	t.Helper()
	var waiting, queued int
	require.NoError(t, p.pool.QueryRow(t.Context(), `select (select coalesce(sum(waiting), 0) from hub.ordering_keys), (select count(*) from hub.ordering_queue)`).Scan(&waiting, &queued))
	require.Zero(t, waiting)
	require.Zero(t, queued)
}

// While a transaction keeps an ordering key locked, events of other tenants are accepted, sent
// and settled. Once it ends, what waited for it goes on, and in order.
func TestLockedKeyHoldsUpNoOtherTenant(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, nil)
	blocked, other := n.account(), n.account()
	release := make(chan struct{})
	slow, prompt := newHook(t, hanging(release)), newHook(t, nil)
	endpoint, neighbour := blocked.endpoint(slow, `"ordered":true`), other.endpoint(prompt, `"ordered":true`)
	ids := []string{blocked.publishNumbered("k", 1)}
	slow.wait(1)
	lock, err := p.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = lock.Rollback(t.Context()) }()
	_, err = lock.Exec(t.Context(), `select from hub.ordering_keys where target_id = $1 for update`, endpoint)
	require.NoError(t, err)
	close(release) // the first is delivered, and cannot be settled
	published := make(chan string, 2)
	go func() {
		defer close(published)
		for k := 2; k <= 3; k++ {
			body := fmt.Sprintf(`{"event_type":"a.b","id":%q,"ordering_key":"k","data":{"n":%d}}`, hub.NewEventID(), k)
			for {
				if got, err := n.try("POST", "/events", blocked.live, body); err == nil && got.status < 300 { // 503 after 10 s
					published <- got.body["id"].(string)
					break
				}
			}
		}
	}()
	for k := range 5 {
		other.settles(other.publishNumbered("k", k+1), neighbour, "delivered")
	}
	require.Empty(t, published)
	require.Equal(t, "pending", blocked.delivery(ids[0], endpoint)["status"])
	require.NoError(t, lock.Rollback(t.Context()))
	for id := range published {
		ids = append(ids, id)
	}
	for _, id := range ids {
		blocked.settles(id, endpoint, "delivered")
	}
	require.Equal(t, ids, slow.ids())
	requireNoPlaces(t, p)
	p.balance(t)
}

// While the first one of a key is parked, those behind it wait and say for whom; other keys
// do not wait. Discarding the first lets the next pass. Deleting the endpoint ends all.
func TestBehindInOrder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	endpoint := a.endpoint(h, `"ordered":true,"enabled":false`)
	var ids []string
	for n := range 5 {
		ids = append(ids, a.publishNumbered("k", n+1))
	}
	head := a.settles(ids[0], endpoint, "parked")
	require.Equal(t, "k", head["ordering_key"])
	third := a.settles(ids[2], endpoint, "pending")
	waiting := third["waiting"].(map[string]any)
	require.Equal(t, []any{"behind_in_order", head["id"], 2.0}, []any{waiting["cause"], waiting["behind"], waiting["ahead"]})
	require.Contains(t, waiting["explanation"], head["id"])
	require.EqualValues(t, 4, head["waiting"].(map[string]any)["holds_up"])
	require.EqualValues(t, 0, waiting["holds_up"])
	require.Equal(t, []any{false, true}, []any{head["behind_in_order"], third["behind_in_order"]})
	second := a.delivery(ids[1], endpoint)
	metrics := p.start(t, nil).call("GET", "/metrics", "", "").text // another process counts at once
	for _, line := range []string{`hub_deliveries_behind{product="shop"} 4`, `hub_deliveries_pending{product="shop"} 0`, `hub_oldest_pending_seconds{product="shop"} 0`, `hub_deliveries_parked{product="shop"} 1`} {
		require.Contains(t, metrics, "\n"+line+"\n")
	}

	// Discarding: one that is behind, and the head.
	require.Equal(t, "discarded", a.ok(200, "POST", "/deliveries/"+second["id"].(string)+"/discard", "")["reason"])
	require.Equal(t, "discarded", a.settles(ids[1], endpoint, "failed")["reason"])
	a.refused(409, "delivery_settled", "POST", "/deliveries/"+second["id"].(string)+"/discard", a.token, "")
	a.ok(200, "POST", "/deliveries/"+head["id"].(string)+"/discard", "")
	third = a.settles(ids[2], endpoint, "parked")
	require.Equal(t, "disabled", third["reason"], "it is the head now")
	require.Equal(t, false, third["behind_in_order"])
	require.EqualValues(t, 2, third["waiting"].(map[string]any)["holds_up"])
	a.settles(ids[3], endpoint, "pending")

	a.ok(200, "PUT", "/endpoints/"+endpoint, `{"url":"`+h.url+`","event_types":["*"],"ordered":true}`)
	h.waitAll(ids[2:])
	require.Equal(t, ids[2:], h.ids(), "drained in order")
	a.settles(ids[4], endpoint, "delivered")
	a.refused(409, "discarded", "POST", "/deliveries/"+head["id"].(string)+"/retry", a.token, "")
	requireNoPlaces(t, p)

	// A retry by hand of what was settled is out of order, and takes no place.
	require.Equal(t, false, a.delivery(ids[2], endpoint)["out_of_order"])
	a.ok(202, "POST", "/deliveries/"+third["id"].(string)+"/retry", "")
	require.Equal(t, true, a.settles(ids[2], endpoint, "delivered")["out_of_order"])
	requireNoPlaces(t, p)

	a.ok(200, "PUT", "/endpoints/"+endpoint, `{"url":"`+h.url+`","event_types":["*"],"ordered":true,"enabled":false}`)
	ids = nil
	for n := range 4 {
		ids = append(ids, a.publishNumbered("k", n+10))
	}
	a.settles(ids[0], endpoint, "parked")
	a.ok(204, "DELETE", "/endpoints/"+endpoint, "")
	for _, id := range ids {
		require.Equal(t, "endpoint_deleted", a.settles(id, endpoint, "failed")["reason"])
	}
	requireNoPlaces(t, p)
	p.balance(t)
}

// Without a key, or without the switch, nothing waits for another delivery.
func TestNoOrderWithoutKeyOrSwitch(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	release := make(chan struct{})
	first := true
	var mu sync.Mutex
	hangFirst := func(w http.ResponseWriter, r *http.Request, n int) {
		mu.Lock()
		hang := first
		first = false
		mu.Unlock()
		if hang {
			hanging(release)(w, r, n)
		}
	}
	defer close(release)
	ordered, plain := newHook(t, hangFirst), newHook(t, nil)
	a.endpoint(ordered, `"ordered":true,"event_types":["no.key"]`)
	a.endpoint(plain, `"event_types":["a.b"]`)
	for range 3 {
		a.publish("no.key", `{}`)
		a.publishNumbered("k", 1)
	}
	ordered.wait(3)
	plain.wait(3)
	requireNoPlaces(t, p)
	a.refused(422, "validation_failed", "POST", "/events", a.live, `{"event_type":"a.b","ordering_key":"","data":{}}`)
	a.refused(400, "json_null_character", "POST", "/events", a.live, `{"event_type":"a.b","ordering_key":"a\u0000b","data":{}}`)
	a.refused(422, "validation_failed", "POST", "/events", a.live, `{"event_type":"a.b","ordering_key":7,"data":{}}`)
	a.ok(202, "POST", "/events", `{"event_type":"a.b","ordering_key":"`+strings.Repeat("é", 100)+`","data":{}}`, a.live)
	got := a.refused(422, "validation_failed", "POST", "/events", a.live, `{"event_type":"a.b","ordering_key":"`+strings.Repeat("é", 101)+`","data":{}}`)
	require.Contains(t, got.text, "must have at most 200 bytes")
}
