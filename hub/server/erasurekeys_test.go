package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// publishOrdered publishes an event with an ordering key.
func (a *account) publishOrdered(eventType, key, data string) string {
	a.t.Helper()
	return a.ok(202, "POST", "/events", fmt.Sprintf(`{"event_type":%q,"ordering_key":%q,"data":%s}`, eventType, key, data), a.live)["id"].(string)
}

// "What the hub's delivery log has of the person" includes the ordering keys that publishers
// chose, also of events that do not mention the person otherwise. Other keys stay, with the order.
func TestErasureOfOrderingKeys(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	var open atomic.Bool
	busy := newHook(t, putOff("1", &open))
	done, plain := a.endpoint(newHook(t, nil), `"ordered":true,"event_types":["done.*","patient.deleted"]`), a.endpoint(newHook(t, nil), `"event_types":["plain.*"]`)
	busyTo := a.endpoint(busy, `"ordered":true,"event_types":["waiting.*"]`)
	delivered := map[string]string{
		a.publishOrdered("done.a", mariaEmail, `{"email":"`+mariaEmail+`"}`): done,
		a.publishOrdered("done.b", "order-"+mariaEmail, `{"total":1}`):       done,
		a.publishOrdered("plain.a", "+55 11 98765-4321", `{"total":2}`):      plain,
	}
	nobody := a.publishOrdered("nobody.wants", mariaID, `{}`)
	kept := a.publishOrdered("done.c", "order-1042", `{"total":3}`)
	named := a.publishOrdered("done.d", "order-1042", `{"email":"`+mariaEmail+`"}`)
	for id, to := range delivered {
		a.settles(id, to, "delivered")
	}
	a.settles(kept, done, "delivered")
	a.settles(named, done, "delivered")
	head, behind := a.publishOrdered("waiting.a", mariaEmail, `{"n":1}`), a.publishOrdered("waiting.b", mariaEmail, `{"n":2}`)
	first, second := a.publishOrdered("waiting.c", "other", `{"n":3}`), a.publishOrdered("waiting.d", "other", `{"n":4}`)
	busy.wait(2)
	p.pendingRetry(t, a, "waiting.a")

	deletion := a.publishOrdered("patient.deleted", mariaEmail, mariaIs)
	p.erased(t, 1, true)
	require.Nil(t, a.delivery(deletion, done)["ordering_key"], "it goes with the event, once that was sent")
	for _, id := range []string{head, behind} {
		require.Equal(t, "erased", a.settles(id, busyTo, "failed")["reason"])
	}
	for id, to := range delivered {
		detail := a.delivery(id, to)
		require.Equal(t, erasedPayload, detail["payload"])
		require.Nil(t, detail["ordering_key"])
	}
	for _, id := range []string{nobody, head, behind, deletion} {
		require.Equal(t, erasedPayload, a.ok(200, "GET", "/events/"+id, "")["payload"])
	}
	require.NotEqual(t, erasedPayload, a.delivery(kept, done)["payload"])
	require.Equal(t, erasedPayload, a.delivery(named, done)["payload"])
	for _, id := range []string{kept, named} {
		require.Equal(t, "order-1042", a.delivery(id, done)["ordering_key"], "it names nobody")
	}
	for _, needle := range []string{mariaEmail, "98765-4321", mariaID} {
		require.Empty(t, hubtest.FindInDatabase(t, p.database, needle), needle)
	}

	open.Store(true)
	for _, id := range []string{first, second} {
		require.Equal(t, "other", a.settles(id, busyTo, "delivered")["ordering_key"])
	}
	requireNoPlaces(t, p)
	p.balance(t)
}

// An attempt with the person's key is under way when the deletion is accepted. A newer event of
// that key waits for its end, and stays with its key: it is new.
func TestErasedOrderingKeyIsInUseUntilTheAttemptEnds(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	release := make(chan struct{})
	h := newHook(t, nil)
	h.respond = func(w http.ResponseWriter, r *http.Request, n int) {
		if strings.Contains(string(h.arrivals()[n-1].body), "hangs") {
			hanging(release)(w, r, n)
		}
	}
	to := a.endpoint(h, `"ordered":true,"event_types":["a.b"]`)
	first, behind := a.publishOrdered("a.b", mariaEmail, `{"text":"hangs"}`), a.publishOrdered("a.b", mariaEmail, `{"text":"old"}`)
	h.wait(1)
	a.publish("patient.deleted", mariaIs)
	require.Equal(t, "erased", a.settles(behind, to, "failed")["reason"])
	p.erasureOf(t, a, "started_at")
	later := []string{a.publishOrdered("a.b", mariaEmail, `{"text":"new"}`), a.publishOrdered("a.b", mariaEmail, `{"text":"newer"}`)}
	require.Eventually(t, func() bool {
		var isExamined bool
		require.NoError(t, p.pool.QueryRow(t.Context(), `select upto is null and cardinality(held) > 0 from hub.erasures`).Scan(&isExamined))
		return isExamined
	}, 2*soon, tick)
	require.Equal(t, "behind_in_order", a.delivery(later[0], to)["waiting"].(map[string]any)["cause"])
	close(release)
	p.erased(t, 1, true)
	for _, id := range later {
		require.Equal(t, mariaEmail, a.settles(id, to, "delivered")["ordering_key"])
	}
	require.Equal(t, append([]string{first}, later...), h.ids())
	for _, id := range []string{first, behind} {
		require.Nil(t, a.delivery(id, to)["ordering_key"])
	}
	requireNoPlaces(t, p)
	p.balance(t)
}
