package server_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/config"
)

// attemptsOf are the attempts of a delivery's detail.
func attemptsOf(detail map[string]any) []map[string]any {
	var list []map[string]any
	for _, attempt := range detail["attempts"].([]any) {
		list = append(list, attempt.(map[string]any))
	}
	return list
}

// "Every delivery carries Content-Type, X-Webhook-Signature, and also the Standard
// Webhooks headers …; both secrets during a rotation." (Each hook checks them.)
func TestDeliveryIsSignedInBothSchemes(t *testing.T) {
	t.Parallel()
	a := newPlace(t).start(t, nil).account()
	h := newHook(t, nil)
	const chosen = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	endpoint := a.endpoint(h, `"secret":"`+chosen+`"`)
	id := a.publish("a.b", `{}`)
	got := h.wait(1)[0]
	require.Equal(t, "application/json", got.header.Get("Content-Type"))
	require.Equal(t, id, got.header.Get("webhook-id"))
	require.Empty(t, got.header.Get("X-Integration-Key"), "plain endpoints get no key")
	require.Len(t, strings.Fields(got.header.Get("webhook-signature")), 1)

	rotated := a.ok(200, "POST", "/endpoints/"+endpoint+"/rotate-secret", `{"overlap_seconds":3600}`)["secret"].(string)
	require.NotEqual(t, chosen, rotated)
	h.trust(rotated)
	a.publish("a.b", `{}`)
	got = h.wait(2)[1]
	require.Len(t, strings.Fields(got.header.Get("webhook-signature")), 2, "both secrets sign")
	require.True(t, hub.VerifyBody(got.header.Get("X-Webhook-Signature"), got.body, rotated), "the new secret signs the body")
	for _, secret := range []string{chosen, rotated} {
		require.True(t, hub.VerifyStandard(got.header.Get("webhook-signature"), got.id, got.header.Get("webhook-timestamp"), got.body, time.Now(), secret))
	}
	h.trust(a.ok(200, "POST", "/endpoints/"+endpoint+"/rotate-secret", `{"overlap_seconds":0}`)["secret"].(string))
	a.publish("a.b", `{}`)
	require.Len(t, strings.Fields(h.wait(3)[2].header.Get("webhook-signature")), 1, "0 forgets the old one at once")

	ping := a.ok(202, "POST", "/endpoints/"+endpoint+"/ping", ``)["id"].(string)
	require.Contains(t, string(h.wait(4)[3].body), `"event_type":"hub.ping"`)
	a.settles(ping, endpoint, "delivered")
}

// "X-Webhook-Signature has room for one. Say so where it is rotated …, and let the caller
// choose when that header changes": the old secret makes it until the overlap ends.
func TestRotationSwitchesTheBodySignatureWhenAsked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	endpoint := a.endpoint(h, "")
	old := h.secrets[0]
	rotate := func(body string) map[string]any {
		made := a.ok(200, "POST", "/endpoints/"+endpoint+"/rotate-secret", body)
		h.trust(made["secret"].(string))
		return made
	}
	// signs reports which of two secrets signed the next delivery, in each header.
	arrived := 0
	signs := func(secrets ...string) (body, standard []bool) {
		a.publish("a.b", `{}`)
		arrived++
		got := h.wait(arrived)[arrived-1]
		for _, secret := range secrets {
			body = append(body, hub.VerifyBody(got.header.Get("X-Webhook-Signature"), got.body, secret))
			standard = append(standard, hub.VerifyStandard(got.header.Get("webhook-signature"), got.id, got.header.Get("webhook-timestamp"), got.body, time.Now(), secret))
		}
		return body, standard
	}
	made := rotate(`{"overlap_seconds":3600,"switch":"end"}`)
	require.Equal(t, "end", made["switch"])
	require.Contains(t, made["notices"].([]any)[0], "X-Webhook-Signature has room for one signature: it is made with the previous secret until "+made["previous_secret_until"].(string)[:16])
	body, standard := signs(old, made["secret"].(string))
	require.Equal(t, []bool{true, false}, body)
	require.Equal(t, []bool{true, true}, standard)
	require.Equal(t, "end", a.ok(200, "GET", "/endpoints/"+endpoint, "")["switch"])

	_, err := p.pool.Exec(context.Background(), `update hub.endpoints set previous_expires_at = now() - interval '1 second'`) // the overlap ends
	require.NoError(t, err)
	body, standard = signs(old, made["secret"].(string))
	require.Equal(t, []bool{false, true}, body)
	require.Equal(t, []bool{false, true}, standard)

	for _, request := range []string{`{"overlap_seconds":3600}`, `{"overlap_seconds":3600,"switch":"now"}`} {
		old = made["secret"].(string)
		made = rotate(request)
		require.Equal(t, "now", made["switch"])
		require.Contains(t, made["notices"].([]any)[0], "made with the new secret from now on")
		body, standard = signs(old, made["secret"].(string))
		require.Equal(t, []bool{false, true}, body)
		require.Equal(t, []bool{true, true}, standard)
	}
	made = rotate(`{"overlap_seconds":0,"switch":"end"}`)
	require.Nil(t, made["switch"], "without an overlap there is nothing to choose")
	require.Empty(t, made["notices"])

	// To a plain secret and back: each header carries what its secrets can make.
	old, plain := made["secret"].(string), strings.Repeat("plain ", 5)
	made = rotate(`{"secret":"` + plain + `"}`)
	require.Len(t, made["notices"], 3)
	body, standard = signs(old, plain)
	require.Equal(t, []bool{false, true}, body)
	require.Equal(t, []bool{true, false}, standard)
	made = rotate(`{"switch":"end"}`)
	body, standard = signs(plain, made["secret"].(string))
	require.Equal(t, []bool{true, false}, body)
	require.Equal(t, []bool{false, true}, standard)
}

// "1 attempt + 3 retries, waiting 1 s, 5 s, 25 s between them (never early, at most
// 1.5 s late)." "After the last retry: parked … on request (endpoints)."
func TestRetriesWaitAndThenPark(t *testing.T) {
	t.Parallel()
	a := newPlace(t).start(t, nil).account()
	h := newHook(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n <= 4 {
			w.WriteHeader(500)
			_, _ = w.Write([]byte("out of order"))
		}
	})
	endpoint := a.endpoint(h, "")
	id := a.publish("a.b", `{"n":1}`)
	waiting := a.settles(id, endpoint, "pending")
	got := h.wait(4)
	for i, wait := range []time.Duration{time.Second, 5 * time.Second, 25 * time.Second} {
		gap := got[i+1].at.Sub(got[i].at)
		require.GreaterOrEqual(t, gap, wait, "retry %d is early", i+1)
		require.LessOrEqual(t, gap, wait+1500*time.Millisecond+lateAllowance, "retry %d is late", i+1)
		require.Equal(t, got[0].body, got[i+1].body, "the same bytes each time")
	}
	parked := a.settles(id, endpoint, "parked")
	require.Equal(t, waiting["id"], parked["id"])
	require.Equal(t, "retries_exhausted", parked["reason"])
	require.EqualValues(t, 3, parked["retries"])
	require.EqualValues(t, 500, parked["status_code"])
	require.Equal(t, "out of order", parked["response_body"])
	require.Nil(t, parked["next_attempt_at"])
	require.Len(t, attemptsOf(parked), 4)
	for i, attempt := range attemptsOf(parked) {
		require.EqualValues(t, i+1, attempt["number"])
		require.Positive(t, attempt["phases"].(map[string]any)["total_ms"])
	}
	retried := a.ok(202, "POST", "/deliveries/"+parked["id"].(string)+"/retry", "")
	require.Equal(t, map[string]any{"id": parked["id"], "status": "pending"}, retried)
	done := a.settles(id, endpoint, "delivered")
	require.EqualValues(t, 4, done["retries"])
	a.ok(202, "POST", "/deliveries/"+parked["id"].(string)+"/retry", "")
	require.Equal(t, got[0].body, h.wait(6)[5].body, "a delivered one can be sent again, the same bytes")
}

// lateAllowance is for the test machine only: its cores are shared.
const lateAllowance = 700 * time.Millisecond

// "429 and 503 with Retry-After do not use up an attempt"; without it they do.
func TestRetryAfterUsesUpNoAttempt(t *testing.T) {
	t.Parallel()
	a := newPlace(t).start(t, nil).account()
	h := newHook(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		switch {
		case n <= 3:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(429)
		case n <= 6:
			w.Header().Set("Retry-After", time.Now().Add(2*time.Second).UTC().Format(http.TimeFormat))
			w.WriteHeader(503)
		}
	})
	endpoint := a.endpoint(h, "")
	id := a.publish("a.b", `{}`)
	done := a.settles(id, endpoint, "delivered")
	require.EqualValues(t, 6, done["retries"], "six put off, more than the three retries there are")
	got := h.arrivals()
	for i := 1; i < len(got); i++ {
		require.GreaterOrEqual(t, got[i].at.Sub(got[i-1].at), 950*time.Millisecond)
	}
	plain := newHook(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 1 {
			w.WriteHeader(503)
		}
	})
	second := a.endpoint(plain, "")
	id = a.publish("a.b", `{}`)
	detail := a.settles(id, second, "delivered")
	require.EqualValues(t, 1, detail["retries"])
}

// "410 disables the endpoint and parks with reason gone."
func TestGoneDisablesTheEndpoint(t *testing.T) {
	t.Parallel()
	a := newPlace(t).start(t, nil).account()
	h := newHook(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 1 {
			w.WriteHeader(410)
		}
	})
	endpoint := a.endpoint(h, "")
	id := a.publish("a.b", `{}`)
	parked := a.settles(id, endpoint, "parked")
	require.Equal(t, "gone", parked["reason"])
	now := a.ok(200, "GET", "/endpoints/"+endpoint, "")
	require.Equal(t, false, now["enabled"])
	require.Equal(t, "gone", now["disabled_reason"])
	next := a.ok(202, "POST", "/events", `{"event_type":"a.b","data":{}}`, a.live)
	require.EqualValues(t, 1, next["deliveries"], "what is parked counts")
	require.Equal(t, "gone", a.settles(next["id"].(string), endpoint, "parked")["reason"])
	a.refused(409, "endpoint_disabled", "POST", "/deliveries/"+parked["id"].(string)+"/retry", a.token, "")
	a.ok(200, "PUT", "/endpoints/"+endpoint, `{"url":"`+h.url+`","event_types":["*"],"enabled":true}`)
	a.settles(id, endpoint, "delivered")
	a.settles(next["id"].(string), endpoint, "delivered")
	require.Equal(t, []string{id, id, next["id"].(string)}, h.ids(), "by itself, oldest first")
}

// The body of a 410 may be cut short: the status says that the endpoint is gone.
func TestGoneWithoutTheRestOfItsBody(t *testing.T) {
	t.Parallel()
	a := newPlace(t).start(t, nil).account()
	h := newHook(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Length", "50")
		w.WriteHeader(410)
		_, _ = w.Write([]byte("gone"))
	})
	endpoint := a.endpoint(h, "")
	parked := a.settles(a.publish("a.b", `{}`), endpoint, "parked")
	require.Equal(t, "gone", parked["reason"])
	require.EqualValues(t, 410, parked["status_code"])
	require.Len(t, h.arrivals(), 1)
	require.Equal(t, "gone", a.ok(200, "GET", "/endpoints/"+endpoint, "")["disabled_reason"])
}

// "2xx is success; 3xx is a failure and is never followed; 10 s from dial to the end
// of the response"; "a body over 64 KiB is cut and the status counts; one that has
// not ended by the deadline is a time-out."
func TestAnswersThatAreNoSuccess(t *testing.T) {
	t.Parallel()
	a := newPlace(t).start(t, func(c *config.Config) { c.DeliveryTimeout = time.Second }).account()
	elsewhere := newHook(t, nil)
	redirecting := newHook(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 1 {
			w.Header().Set("Location", elsewhere.url)
			w.WriteHeader(307)
		}
	})
	dripping := newHook(t, func(w http.ResponseWriter, r *http.Request, n int) {
		for n == 1 && r.Context().Err() == nil {
			_, _ = w.Write([]byte("."))
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	silent := newHook(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			hanging(nil)(w, r, n)
		}
	})
	huge := newHook(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		for range 64 {
			_, _ = w.Write([]byte(strings.Repeat("x", 8<<10)))
		}
	})
	odd := newHook(t, answering(299))
	hooks := []*hook{redirecting, dripping, silent, huge, odd}
	endpoints := make([]string, len(hooks))
	for i, h := range hooks {
		endpoints[i] = a.endpoint(h, "")
	}
	id := a.publish("a.b", `{}`)
	details := make([]map[string]any, len(hooks))
	for i := range hooks {
		details[i] = a.settles(id, endpoints[i], "delivered")
	}
	require.Empty(t, elsewhere.arrivals(), "a redirect is never followed")
	first := attemptsOf(details[0])[0]
	require.EqualValues(t, 307, first["status_code"])
	for _, i := range []int{1, 2} {
		list := attemptsOf(details[i])
		require.Len(t, list, 2)
		require.Contains(t, list[0]["error"], "timed out", "%v", list[0])
		total := list[0]["phases"].(map[string]any)["total_ms"].(float64)
		require.InDelta(t, 1000, total, 600)
	}
	require.EqualValues(t, 0, details[3]["retries"])
	require.Len(t, details[3]["response_body"], 4<<10, "4 KiB kept")
	require.EqualValues(t, 0, details[4]["retries"])
}

// "Parked on a disabled endpoint, failed on a deleted one": what waits when its
// endpoint goes is settled with the reason, and nothing is sent any more.
func TestWaitingDeliveriesOfEndpointsThatGo(t *testing.T) {
	t.Parallel()
	a := newPlace(t).start(t, nil).account()
	h, other := newHook(t, answering(500)), newHook(t, answering(500))
	deleted, disabled := a.endpoint(h, ""), a.endpoint(other, "")
	id := a.publish("a.b", `{}`)
	h.wait(1)
	other.wait(1)
	a.ok(204, "DELETE", "/endpoints/"+deleted, "")
	a.ok(200, "PUT", "/endpoints/"+disabled, `{"url":"`+other.url+`","event_types":["*"],"enabled":false}`)
	failed := a.settles(id, deleted, "failed")
	require.Equal(t, "endpoint_deleted", failed["reason"])
	require.Equal(t, "disabled", a.settles(id, disabled, "parked")["reason"])
	require.Len(t, h.arrivals(), 1)
	require.Len(t, other.arrivals(), 1)
	require.EqualValues(t, 0, failed["retries"], "what was not sent is no attempt")
	require.Len(t, attemptsOf(failed), 1)
}

// "The hub paces each … below its peer's limit before attempting", over all processes.
func TestPacingHoldsOverProcesses(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	second := p.start(t, nil)
	h := newHook(t, nil)
	a.endpoint(h, `"rate_per_minute":60`)
	for i := range 6 {
		n := []*node{a.node, second}[i%2]
		n.ok(202, "POST", "/events", `{"event_type":"a.b","data":{}}`, a.live)
	}
	requirePaced(t, h.wait(6), time.Second)
}

// Without Redis every process paces by itself, from the first delivery on.
func TestPacingHoldsWithoutRedis(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.redis = "redis://127.0.0.1:1/0"
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	a.endpoint(h, `"rate_per_minute":60`)
	a.batch(6, "a.b")
	requirePaced(t, h.wait(6), time.Second)
}

func requirePaced(t *testing.T, got []arrival, interval time.Duration) {
	t.Helper()
	for i := 1; i < len(got); i++ {
		// Arrivals jitter by what sending takes, up to some 300 ms on a busy machine; the
		// sum of the gaps may not shrink.
		require.GreaterOrEqual(t, got[i].at.Sub(got[i-1].at), interval/2, "gap %d", i)
	}
	total := got[len(got)-1].at.Sub(got[0].at)
	require.GreaterOrEqual(t, total, time.Duration(len(got)-1)*interval-interval/2)
	require.LessOrEqual(t, total, time.Duration(len(got)-1)*interval*2, "pacing is no standstill")
}

// Endpoints of one host share connections, which are kept for all that were in flight at once.
func TestEndpointsOfAHostShareConnections(t *testing.T) {
	t.Parallel()
	n := newPlace(t).start(t, func(c *config.Config) { c.DeliveryConcurrency, c.EndpointConcurrency = 64, 1 })
	a := n.account()
	const endpoints = 20
	var mu sync.Mutex
	connections := map[string]bool{}
	var together sync.WaitGroup
	h := newHook(t, func(_ http.ResponseWriter, r *http.Request, _ int) {
		mu.Lock()
		connections[r.RemoteAddr] = true
		mu.Unlock()
		together.Done()
		together.Wait()
	})
	var ids []string
	for range endpoints {
		ids = append(ids, a.endpoint(h, ""))
	}
	for range 3 {
		together.Add(endpoints)
		event := a.publish("a.b", `{}`)
		for _, id := range ids {
			n.settles(event, id, "delivered")
		}
	}
	require.Len(t, connections, endpoints)
}
