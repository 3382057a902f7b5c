package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
)

// failing answers 500 to every attempt.
func failing(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(500) }

// Who looks between the first attempt and its retry sees both, and can discard the delivery: the
// retry is not made.
func TestDiscardBeforeTheFirstRetry(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, failing)
	endpoint := a.endpoint(h, "")
	began := time.Now()
	id := a.publish("a.b", `{}`)
	require.Eventually(t, func() bool { // looked at past the hub, which would insert the row
		var stored bool
		return p.pool.QueryRow(t.Context(), `select exists (select from hub.attempts)`).Scan(&stored) == nil && stored
	}, soon, tick)
	detail := a.settles(id, endpoint, "pending")
	if time.Since(began) < time.Second { // else the retry may be under way
		require.EqualValues(t, 0, detail["retries"])
		require.EqualValues(t, 500, detail["status_code"])
		require.NotNil(t, detail["next_attempt_at"])
		require.Len(t, attemptsOf(detail), 1)
	}
	require.Equal(t, "discarded", a.ok(200, "POST", "/deliveries/"+detail["id"].(string)+"/discard", "")["reason"])
	sent := len(h.arrivals())
	later := a.publish("a.b", `{}`)
	for h.times()[later] < 2 {
		h.wait(len(h.arrivals()) + 1)
	}
	require.Equal(t, sent, h.times()[id], "retries of later events come after its own")
}

// A hub that stops between the first attempt and its retry leaves a row for the next one.
func TestStopBeforeTheFirstRetry(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.start(t, nil)
	a := first.account()
	h := newHook(t, failingFirst())
	a.endpoint(h, "")
	ids := a.batch(50, "a.b")
	h.wait(50)
	first.stop()
	var leases, attempted int
	require.NoError(t, p.pool.QueryRow(t.Context(), `
		select (select count(*) from hub.leases), (select count(*) from hub.deliveries where attempts > 0)`).Scan(&leases, &attempted))
	require.Equal(t, []int{0, 50}, []int{leases, attempted})
	p.start(t, nil)
	began := time.Now()
	require.Eventually(t, func() bool { return p.count(t, `status = 1 and attempts = 2`) == 50 }, soon, tick)
	require.Less(t, time.Since(began), 20*time.Second, "nobody waits for a lease of 30 s to end")
	for _, id := range ids {
		require.Equal(t, 2, h.times()[id])
	}
}

// A hub that ends an attempt for longer than the delay makes no retries meanwhile: they are due for
// the next hub within the two seconds that a sweep lets pass. The attempts fail half a second after the stop began, so that the hub
// starts none a second after it.
func TestStopLongerThanTheFirstDelay(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.start(t, func(c *config.Config) { c.ShutdownGrace, c.EndpointConcurrency = soon, 32 })
	a := first.account()
	release, stopping := make(chan struct{}), make(chan struct{})
	failFirst := failingFirst()
	slow, h := newHook(t, hanging(release)), newHook(t, func(w http.ResponseWriter, r *http.Request, n int) {
		<-stopping
		<-time.After(500 * time.Millisecond)
		failFirst(w, r, n)
	})
	a.endpoint(slow, `"event_types":["slow"]`)
	a.endpoint(h, `"event_types":["a.b"]`)
	a.publish("slow", `{}`)
	slow.wait(1)
	ids := a.batch(20, "a.b")
	h.wait(20)
	stopped := make(chan struct{})
	go func() { first.stop(); close(stopped) }()
	require.Eventually(t, func() bool { // a stopping hub is not ready, then serves nothing
		got, err := first.try("GET", "/ready", "", "")
		return err != nil || got.status == 503
	}, soon, tick)
	close(stopping)
	require.Eventually(t, func() bool { // every retry is due
		var attempts, notDue int
		err := p.pool.QueryRow(t.Context(), `
			select (select count(*) from hub.attempts where number = 1 and status_code = 500), (select count(*) from hub.attempts where next_attempt_at > now()) +
				(select count(*) from hub.deliveries where next_attempt_at is not null and due_at > now())`).Scan(&attempts, &notDue)
		return err == nil && attempts == 20 && notDue == 0
	}, soon, tick)
	close(release)
	<-stopped
	left := p.count(t, `status = 0 and attempts = 1 and status_code = 500 and due_at <= now() + interval '2 seconds'`)
	require.Equal(t, 20, left+p.count(t, `status = 1 and attempts = 2`), "those with a retry in the second in which a stopping hub still serves")
	require.NotZero(t, left)
	p.start(t, nil)
	began := time.Now()
	for _, id := range ids {
		require.Eventually(t, func() bool { return h.times()[id] == 2 }, soon, tick)
	}
	require.Less(t, time.Since(began), 20*time.Second, "nobody waits for a lease of 30 s to end")
}

// However often someone reads the log meanwhile, which inserts rows, each retry is made once and
// none is early or waits for a lease to end.
func TestReadersDoNotRepeatRetries(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, nil)
	a := n.account()
	h := newHook(t, failingFirst())
	endpoint := a.endpoint(h, "")
	began := time.Now()
	var ids []string
	for range 40 {
		ids = append(ids, a.batch(10, "a.b")...)
		a.ok(200, "GET", "/deliveries?status=pending&endpoint_id="+endpoint, "")
	}
	for p.count(t, `status = 1 and attempts = 2`) < len(ids) {
		require.Less(t, time.Since(began), soon)
		a.ok(200, "GET", "/deliveries?status=pending&endpoint_id="+endpoint, "")
	}
	require.Less(t, time.Since(began), 25*time.Second, "no retry waits for a lease of 30 s to end")
	for _, id := range ids {
		require.Equal(t, 2, h.times()[id])
	}
	require.Zero(t, p.count(t, `exists (select from hub.attempts a join hub.attempts b using (delivery_id)
		where a.delivery_id = deliveries.id and a.number = 1 and b.number = 2 and b.started_at < a.started_at + interval '1 second')`), "none is early")
}
