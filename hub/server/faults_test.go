package server_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/module/dberr"
)

// balance requires accepted = delivered + parked + pending + failed.
func (p place) balance(t *testing.T) (accepted, pending int) {
	t.Helper()
	var stand int
	require.NoError(t, p.pool.QueryRow(context.Background(), `
		select (select coalesce(sum(accepted), 0) from (select accepted from hub.statistics where width = 1 and scope = 2 union all select accepted from hub.rollup_deltas) a),
		       (select count(*) from hub.deliveries where status between 0 and 3) + n, (select count(*) from hub.deliveries where status = 0) + n
		from (select count(*) as n from hub.promised p where not exists (select from hub.deliveries d where d.id = p.id)) p`).
		Scan(&accepted, &stand, &pending))
	require.Equal(t, accepted, stand, "accepted = delivered + parked + pending + failed")
	return accepted, pending
}

// unfold inserts rows for the deliveries of leases.
func (p place) unfold(t *testing.T) {
	t.Helper()
	for {
		_, err := p.pool.Exec(context.Background(), `select hub.unfold_leases(array(select id from hub.leases))`)
		if dberr.Code(err) == dberr.DeadlockDetected {
			continue // the hub was making the same rows
		}
		require.NoError(t, err)
		return
	}
}

// failingFirst fails the first arrival of every event.
func failingFirst() func(http.ResponseWriter, *http.Request, int) {
	var seen sync.Map
	return func(w http.ResponseWriter, r *http.Request, _ int) {
		if _, again := seen.LoadOrStore(r.Header.Get("webhook-id"), true); !again {
			w.WriteHeader(500)
		}
	}
}

// deferringFirst puts the first attempt of each event off for two seconds: retries with a delay
// that the receiver names pass through Redis.
func deferringFirst() func(http.ResponseWriter, *http.Request, int) {
	var seen sync.Map
	return func(w http.ResponseWriter, r *http.Request, _ int) {
		if _, again := seen.LoadOrStore(r.Header.Get("webhook-id"), true); !again {
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(503)
		}
	}
}

// "with Redis down from the start": the hub starts, accepts, delivers, and the sweep
// retries; when Redis comes, it is used.
func TestRedisDownFromTheStart(t *testing.T) {
	t.Parallel()
	redis := hubtest.StartRedis(t)
	redis.Stop()
	p := placeAt(t, hubtest.DatabaseURL(t), redis.URL())
	a := p.start(t, nil).account()
	require.Equal(t, 200, a.call("GET", "/ready", "", "").status)
	h := newHook(t, deferringFirst())
	endpoint := a.endpoint(h, "")
	ids := a.batch(20, "a.b")
	for _, id := range ids[:3] {
		require.EqualValues(t, 1, a.settles(id, endpoint, "delivered")["retries"])
	}
	for _, id := range ids {
		require.LessOrEqual(t, h.times()[id], 2)
	}
	redis.Start()
	require.Eventually(t, func() bool {
		id := a.publish("a.b", `{}`)
		h.waitAll([]string{id})
		before := len(redis.Client(t).Keys(context.Background(), "asynq:{deliveries:*").Val())
		return before > 0
	}, soon, 100*time.Millisecond, "retries are put into Redis again")
	require.Eventually(t, func() bool { _, pending := p.balance(t); return pending == 0 }, soon, 5*tick)
}

// Short retries need no Redis: they are on time without one.
func TestShortRetriesWithoutRedis(t *testing.T) {
	t.Parallel()
	redis := hubtest.StartRedis(t)
	redis.Stop()
	p := placeAt(t, hubtest.DatabaseURL(t), redis.URL())
	a := p.start(t, nil).account()
	h := newHook(t, failingFirst())
	endpoint := a.endpoint(h, "")
	for _, id := range a.batch(20, "a.b") {
		require.EqualValues(t, 1, a.settles(id, endpoint, "delivered")["retries"])
	}
	require.Zero(t, p.count(t, `id in (select delivery_id from hub.attempts a where number = 1 and exists (
		select from hub.attempts b where b.delivery_id = a.delivery_id and b.number = 2 and b.started_at < a.started_at + interval '1 second'))`), "none is early")
	require.Positive(t, p.count(t, `id in (select delivery_id from hub.attempts a where number = 1 and exists (
		select from hub.attempts b where b.delivery_id = a.delivery_id and b.number = 2 and b.started_at < a.started_at + interval '2.5 seconds'))`), "the sweep makes them three seconds after")
}

// "after FLUSHALL": retries that wait are made by the sweep, at most some seconds
// late, and none twice.
func TestFlushallLosesNothing(t *testing.T) {
	t.Parallel()
	redis := hubtest.StartRedis(t)
	p := placeAt(t, hubtest.DatabaseURL(t), redis.URL())
	a := p.start(t, nil).account()
	h := newHook(t, deferringFirst())
	a.endpoint(h, "")
	ids := a.batch(50, "a.b")
	h.waitAll(ids)
	redis.FlushAll()
	require.Eventually(t, func() bool { return p.count(t, `status = 1`) == 50 }, soon, 5*tick)
	for _, id := range ids {
		require.Equal(t, 2, h.times()[id])
	}
	accepted, _ := p.balance(t)
	require.Equal(t, 50, accepted)
	ids = a.batch(20, "a.b") // and the clock goes on
	h.waitAll(ids)
	require.Eventually(t, func() bool { return p.count(t, `status = 1`) == 70 }, soon, 5*tick)
}

// "PostgreSQL kill -9 and restart: 503 + Retry-After, never a false 2xx"; everything answered
// 202 arrives. [TestHubAcceptsAgainIn10Seconds] measures how soon.
func TestPostgresIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	killPostgresUnderLoad(t, 2*soon)
}

// killPostgresUnderLoad requires that a hub accepts events again so long after PostgreSQL is back.
func killPostgresUnderLoad(t *testing.T, acceptsWithin time.Duration) {
	t.Helper()
	postgres := hubtest.StartPostgres(t)
	p := placeAt(t, postgres.URL(), hubtest.RedisURL(t))
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	a.endpoint(h, "")
	var mu sync.Mutex
	var accepted []string
	var other []string
	var refused, sent atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("evt_%016x", sent.Add(1))
				body := `{"event_type":"a.b","data":{}` // every second one keyed
				if sent.Load()%2 == 0 {
					body += `,"id":"` + id + `"`
				}
				got, err := a.try("POST", "/events", a.live, body+`}`)
				mu.Lock()
				switch {
				case err == nil && got.status == 202:
					accepted = append(accepted, got.body["id"].(string))
				case err == nil && got.status == 503 && got.header.Get("Retry-After") != "":
					refused.Add(1)
				default:
					other = append(other, fmt.Sprint(got.status, got.text, err))
				}
				mu.Unlock()
			}
		})
	}
	progress := func() int { mu.Lock(); defer mu.Unlock(); return len(accepted) }
	require.Eventually(t, func() bool { return progress() > 200 }, soon, tick)
	postgres.Kill()
	require.Eventually(t, func() bool { return refused.Load() > 0 }, soon, tick)
	require.Equal(t, 503, a.call("GET", "/ready", "", "").status)
	require.Equal(t, 200, a.call("GET", "/health", "", "").status)
	postgres.Start()
	back, had := time.Now(), progress()
	require.Eventually(t, func() bool { return progress() > had+200 }, acceptsWithin, tick, "accepting again")
	t.Logf("accepting again %s after PostgreSQL", time.Since(back).Round(time.Millisecond))
	close(stop)
	wg.Wait()
	require.Empty(t, other, "202, or 503 with Retry-After")
	h.waitAll(accepted) // leases of what was under way end after 30 s
	require.Eventually(t, func() bool { _, pending := p.balance(t); return pending == 0 }, 2*soon, 5*tick)
}

// hangTime is how long an endpoint that hangs takes one of the workers.
const hangTime = 40 * time.Second

// slowest publishes events five times a second, each to so many endpoints that take
// them at once, and returns the 99th percentile of the time until they arrived.
func slowest(a *account, h *hook, events, endpoints int) time.Duration {
	seen := len(h.arrivals())
	published := make(map[string]time.Time)
	next := time.NewTicker(200 * time.Millisecond)
	defer next.Stop()
	for range events {
		<-next.C
		at := time.Now()
		published[a.publish("a.b", `{}`)] = at
	}
	var took []time.Duration
	for _, received := range h.wait(seen + events*endpoints)[seen:] {
		took = append(took, received.at.Sub(published[received.id]))
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}

// "a breaker after repeated failures": then a dead endpoint has an eighth of its
// share in flight; it closes with the first success.
func TestBreaker(t *testing.T) {
	t.Parallel()
	a := newPlace(t).start(t, func(c *config.Config) { c.DeliveryTimeout = time.Second }).account()
	var inFlight, most atomic.Int64
	var open, healed atomic.Bool
	h := newHook(t, func(_ http.ResponseWriter, r *http.Request, _ int) {
		if healed.Load() {
			return
		}
		now := inFlight.Add(1)
		defer inFlight.Add(-1)
		if open.Load() && now > most.Load() {
			most.Store(now)
		}
		<-r.Context().Done()
	})
	a.endpoint(h, "")
	a.batch(200, "a.b")
	h.wait(64)
	require.Eventually(t, func() bool { return len(h.arrivals()) > 64 && inFlight.Load() <= 8 }, soon, tick)
	open.Store(true)
	n := len(h.arrivals())
	h.wait(n + 12)
	// 64/8 are in flight, and those the receiver has not yet noticed the end of: on a
	// busy machine several. Without the breaker all 64 are.
	require.Less(t, most.Load(), int64(32))
	healed.Store(true)
	require.Eventually(t, func() bool { return len(h.times()) == 200 }, 2*soon, tick, "and everything is delivered")
}

// More than a process holds for one endpoint waits in the database and is delivered
// all the same, each once.
func TestOverflowIsDelivered(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, func(c *config.Config) { c.DeliveryTimeout = 14 * time.Second }).account()
	release := make(chan struct{})
	h := newHook(t, hanging(release))
	a.endpoint(h, "")
	ids := a.batch(3000, "a.b")
	require.Greater(t, p.count(t, `status = 0 and due_at <= now()`), 500, "some have no place in the process")
	require.Contains(t, a.call("GET", "/metrics", "", "").text, "hub_queue_depth")
	close(release)
	h.waitAll(ids)
	for id, n := range h.times() {
		require.Equal(t, 1, n, id)
	}
	require.Eventually(t, func() bool { return p.count(t, `status = 1`) == 3000 }, soon, 5*tick)
	p.balance(t)
}

// A hub whose time to stop is used up by receivers that hang leaves what waits to others all the
// same.
func TestStopWithoutTime(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.start(t, func(c *config.Config) { c.EndpointConcurrency = 4; c.ShutdownGrace = 500 * time.Millisecond })
	a := first.account()
	release := make(chan struct{})
	defer close(release)
	h := newHook(t, hanging(release))
	a.endpoint(h, "")
	a.batch(100, "a.b")
	h.wait(4)
	first.stop()
	require.Len(t, h.arrivals(), 4)
	require.Equal(t, 96, p.count(t, `status = 0 and due_at <= now()`))
}

// A Redis that hangs does not delay what a stopping hub leaves to others.
func TestStopWhileRedisHangs(t *testing.T) {
	t.Parallel()
	redis := hubtest.StartRedis(t)
	p := placeAt(t, hubtest.DatabaseURL(t), redis.URL())
	first := p.start(t, func(c *config.Config) { c.EndpointConcurrency = 4; c.ShutdownGrace = 5 * time.Second })
	a := first.account()
	release := make(chan struct{})
	h := newHook(t, hanging(release))
	a.endpoint(h, "")
	a.batch(100, "a.b")
	h.wait(4)
	redis.Freeze()
	stopped := make(chan struct{})
	go func() { first.stop(); close(stopped) }()
	require.Eventually(t, func() bool { return p.count(t, `status = 0 and due_at <= now()`) == 96 }, 5*time.Second, tick)
	redis.Thaw()
	close(release)
	<-stopped
}

// "Stop: in-flight finishes, nothing lost, leases given back": /ready is 503 at once,
// and another hub delivers the rest without waiting for the leases to end.
func TestStopIsGraceful(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.start(t, func(c *config.Config) { c.EndpointConcurrency = 4; c.ShutdownGrace = 10 * time.Second })
	a := first.account()
	release := make(chan struct{})
	h := newHook(t, hanging(release))
	a.endpoint(h, "")
	ids := a.batch(300, "a.b")
	h.wait(4)
	stopped := make(chan struct{})
	go func() { first.stop(); close(stopped) }()
	require.Eventually(t, func() bool {
		got, err := first.try("GET", "/ready", "", "")
		return err == nil && got.status == 503 && got.header.Get("Retry-After") != ""
	}, soon, tick, "not ready at once")
	require.Eventually(t, func() bool { _, err := first.try("GET", "/health", "", ""); return err != nil }, soon, tick)
	require.Eventually(t, func() bool { return p.count(t, `status = 0 and due_at <= now()`) == 296 }, soon, tick, "what waits is due for others while four receivers hang")
	close(release)
	<-stopped
	require.Len(t, h.arrivals(), 4, "nothing new is started")
	require.Equal(t, 4, p.count(t, `status = 1`), "in-flight work is finished and stored")
	require.Equal(t, 296, p.count(t, `status = 0 and due_at <= now()`), "leases are given back")
	p.start(t, nil)
	began := time.Now()
	h.waitAll(ids)
	require.Less(t, time.Since(began), 20*time.Second, "nobody waits for a lease of 30 s to end")
	for id, n := range h.times() {
		require.Equal(t, 1, n, id)
	}
	require.NotContains(t, strings.ToLower(first.log.String()), "panic")
}
