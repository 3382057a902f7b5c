package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// aboutMaria is data about the patient whose data is erased.
const aboutMaria = `{"name":"` + mariaName + `","phone":"(11) 98765-4321"}`

// in returns the hub for a subtest.
func (n *node) in(t *testing.T) *node {
	its := *n
	its.t = t
	return &its
}

// erasureOf waits until all of a tenant's erasures have come to a moment.
func (p place) erasureOf(t *testing.T, a *account, moment string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var reached bool
		require.NoError(t, p.pool.QueryRow(t.Context(), `select coalesce(bool_and(`+moment+` is not null), false) from hub.erasures where tenant_id = $1`, a.tenant).Scan(&reached))
		return reached
	}, 2*soon, tick, moment)
}

// pendingRetry waits until a tenant has a delivery of a type that waits for a retry.
func (p place) pendingRetry(t *testing.T, a *account, eventType string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return p.count(t, fmt.Sprintf(`tenant_id = '%s' and event_type = '%s' and status = 0 and next_attempt_at is not null`, a.tenant, eventType)) > 0
	}, soon, tick)
}

// refusing returns a respond that asks for a second's patience about what contains a text.
func refusing(h *hook, text string, open *atomic.Bool) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, r *http.Request, n int) {
		if strings.Contains(string(h.arrivals()[n-1].body), text) {
			putOff("1", open)(w, r, n)
		}
	}
}

// requireNothingAfter requires that a hook got nothing about the person after the deletion.
func requireNothingAfter(t *testing.T, h *hook, deletion string) {
	t.Helper()
	at := slices.Index(h.ids(), deletion)
	require.GreaterOrEqual(t, at, 0)
	for _, later := range h.arrivals()[at+1:] {
		require.NotContains(t, string(later.body), mariaName)
	}
}

// "A person's deletion goes first: what waits about that person fails as erased, the deletion
// waits for an attempt in flight only."
func TestDeletionGoesFirst(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n, other := p.start(t, nil), p.start(t, nil)
	n.account() // makes the product
	t.Run("cases", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, place, *account, *node){
			"attempt under way": deletionWaitsForAttempt, "retry": deletionPassesRetry, "behind in order": deletionPassesOrder,
			"head in order": deletionFreesOrder, "with a key": deletionKeepsOrder,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, p, n.in(t).account(), other.in(t))
			})
		}
	})
	p.balance(t)
	requireNoPlaces(t, p)
}

// An attempt is under way in another process than the one that accepts the deletion. It fails,
// and is not made again. A receiver that has none under way does not wait.
func deletionWaitsForAttempt(t *testing.T, p place, a *account, other *node) {
	release := make(chan struct{})
	slow, idle := newHook(t, nil), newHook(t, nil)
	slow.respond = func(w http.ResponseWriter, r *http.Request, n int) {
		if strings.Contains(string(slow.arrivals()[n-1].body), mariaName) {
			hanging(release)(w, r, n)
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
	slowly, idly := a.endpoint(slow, ""), a.endpoint(idle, `"event_types":["patient.deleted"]`)
	created := a.publish("patient.created", aboutMaria)
	slow.wait(1)
	deletion := (&account{node: other, live: a.live}).publish("patient.deleted", mariaIs)
	a.settles(deletion, idly, "delivered")
	require.Len(t, slow.arrivals(), 1, "the deletion waits")
	waiting := a.delivery(deletion, slowly)["waiting"].(map[string]any)
	require.Equal(t, "behind_others", waiting["cause"])
	require.Contains(t, waiting["explanation"], "about the person")
	close(release)
	a.settles(deletion, slowly, "delivered")
	p.erasureOf(t, a, "erased_at")
	require.Equal(t, []string{created, deletion}, slow.ids())
	detail := a.delivery(created, slowly)
	require.Equal(t, []any{"failed", "erased"}, []any{detail["status"], detail["reason"]})
	require.Len(t, attemptsOf(detail), 1)
}

// A first attempt failed; the next one would be made a second later.
func deletionPassesRetry(t *testing.T, p place, a *account, _ *node) {
	h := newHook(t, nil)
	h.respond = refusing(h, mariaName, new(atomic.Bool))
	endpoint := a.endpoint(h, "")
	created := a.publish("patient.created", aboutMaria)
	p.pendingRetry(t, a, "patient.created")
	deletion := a.publish("patient.deleted", mariaIs)
	a.settles(deletion, endpoint, "delivered")
	p.erasureOf(t, a, "erased_at")
	require.Equal(t, "erased", a.settles(created, endpoint, "failed")["reason"])
	requireNothingAfter(t, h, deletion)
}

// What is behind another person's event in order would be sent when that one is delivered.
func deletionPassesOrder(t *testing.T, p place, a *account, _ *node) {
	var open atomic.Bool
	h := newHook(t, nil)
	h.respond = refusing(h, "João", &open)
	endpoint := a.endpoint(h, `"ordered":true`)
	publish := func(eventType, key, data string) string {
		return a.ok(202, "POST", "/events", fmt.Sprintf(`{"event_type":%q,"ordering_key":%q,"data":%s}`, eventType, key, data), a.live)["id"].(string)
	}
	head := publish("patient.created", "family", `{"name":"João"}`)
	behind := publish("patient.created", "family", aboutMaria)
	last := publish("patient.updated", "family", `{"name":"Rui"}`)
	p.pendingRetry(t, a, "patient.created")
	deletion := a.publish("patient.deleted", mariaIs)
	a.settles(deletion, endpoint, "delivered")
	open.Store(true)
	a.settles(last, endpoint, "delivered")
	require.Equal(t, "erased", a.settles(behind, endpoint, "failed")["reason"])
	require.Empty(t, attemptsOf(a.delivery(behind, endpoint)))
	require.Less(t, slices.Index(h.ids(), head), slices.Index(h.ids(), last))
	p.erasureOf(t, a, "erased_at")
	requireNothingAfter(t, h, deletion)
}

// Those behind the person's event pass when that one fails.
func deletionFreesOrder(t *testing.T, p place, a *account, _ *node) {
	h := newHook(t, nil)
	endpoint := a.endpoint(h, `"ordered":true,"enabled":false`)
	var ids []string
	for _, data := range []string{aboutMaria, `{"name":"João"}`, aboutMaria, `{"name":"Rui"}`} {
		ids = append(ids, a.ok(202, "POST", "/events", `{"event_type":"patient.created","ordering_key":"family","data":`+data+`}`, a.live)["id"].(string))
	}
	a.settles(ids[0], endpoint, "parked")
	deletion := a.publish("patient.deleted", mariaIs)
	require.Equal(t, "erased", a.settles(ids[0], endpoint, "failed")["reason"])
	require.Equal(t, "erased", a.settles(ids[2], endpoint, "failed")["reason"])
	a.settles(deletion, endpoint, "parked")
	a.ok(200, "PUT", "/endpoints/"+endpoint, `{"url":"`+h.url+`","event_types":["*"],"ordered":true}`)
	a.settles(ids[3], endpoint, "delivered")
	a.settles(deletion, endpoint, "delivered")
	got := slices.DeleteFunc(h.ids(), func(id string) bool { return id == deletion })
	require.Equal(t, []string{ids[1], ids[3]}, got)
	p.erasureOf(t, a, "erased_at")
}

// A deletion with an ordering key is in order: later events of the key wait for it.
// It is held all the same.
func deletionKeepsOrder(t *testing.T, p place, a *account, _ *node) {
	release := make(chan struct{})
	h := newHook(t, nil)
	retried := refusing(h, "calls", new(atomic.Bool))
	h.respond = func(w http.ResponseWriter, r *http.Request, n int) {
		if strings.Contains(string(h.arrivals()[n-1].body), "hangs") {
			hanging(release)(w, r, n)
			return
		}
		retried(w, r, n)
	}
	endpoint := a.endpoint(h, `"ordered":true`)
	publish := func(eventType, data string) string {
		return a.ok(202, "POST", "/events", fmt.Sprintf(`{"event_type":%q,"ordering_key":"maria","data":%s}`, eventType, data), a.live)["id"].(string)
	}
	a.publish("message.sent", strings.Replace(aboutMaria, `{`, `{"text":"calls",`, 1))
	p.pendingRetry(t, a, "message.sent")
	first := publish("patient.created", strings.Replace(aboutMaria, `{`, `{"text":"hangs",`, 1))
	require.Eventually(t, func() bool { return h.times()[first] == 1 }, soon, tick)
	deletion := publish("patient.deleted", mariaIs)
	after := publish("patient.created", `{"name":"Maria"}`)
	p.erasureOf(t, a, "screened_at")
	require.Zero(t, h.times()[deletion])
	require.Equal(t, "behind_in_order", a.delivery(deletion, endpoint)["waiting"].(map[string]any)["cause"])
	close(release)
	a.settles(after, endpoint, "delivered")
	ids := h.ids()
	require.True(t, slices.IsSortedFunc([]string{first, deletion, after}, func(x, y string) int { return slices.Index(ids, x) - slices.Index(ids, y) }))
	p.erasureOf(t, a, "erased_at")
	requireNothingAfter(t, h, deletion)
}
