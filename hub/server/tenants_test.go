package server_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
)

// A tenant whose many endpoints all hang keeps no other tenant waiting: neither for
// workers, nor for places, nor for retries. A tenant's own limit holds beside it.
func TestHangingTenantDelaysNoOthers(t *testing.T) {
	t.Parallel()
	n := newPlace(t).start(t, func(c *config.Config) {
		c.DeliveryConcurrency, c.EndpointConcurrency = 64, 16
	})
	neighbour, hostile := n.account(), n.account()
	alive := newHook(t, nil)
	neighbour.endpoint(alive, `"event_types":["a.b"]`)
	const events = 20
	before := slowest(neighbour, alive, events, 1)

	dead := newHook(t, hanging(nil))
	for range 100 { // each may have 16 of the 64 workers
		hostile.endpoint(dead, "")
	}
	hostile.batch(3, "a.b")
	dead.wait(20)

	limited := n.account()
	limited.ok(200, "PUT", "/tenants/"+limited.tenant, `{"name":"Limited","limits":{"in_flight":3}}`)
	var mu sync.Mutex
	inFlight, most := 0, 0
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		inFlight += n
		most = max(most, inFlight)
	}
	slow := newHook(t, func(_ http.ResponseWriter, r *http.Request, _ int) {
		count(1)
		<-r.Context().Done()
		count(-1)
	})
	limited.endpoint(slow, "")
	limited.batch(30, "a.b")
	slow.wait(3)
	var refused atomic.Bool
	failing := newHook(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		if refused.CompareAndSwap(false, true) {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	neighbour.endpoint(failing, `"event_types":["retried"]`)
	began := time.Now()
	neighbour.publish("retried", `{}`)
	beside := slowest(neighbour, alive, events, 1)
	require.Less(t, beside, max(time.Second, 3*before), "p99 of the neighbour; without hanging endpoints it was %s", before)
	arrivals := failing.wait(2)
	require.Less(t, arrivals[1].at.Sub(began), 6*time.Second, "the neighbour's retry")
	mu.Lock()
	defer mu.Unlock()
	// Three are in flight, and those whose end the receiver has not noticed yet.
	require.LessOrEqual(t, most, 6, "attempts in flight of a tenant with a limit of its own; without it 16")
}

// A tenant that repeats a call in a loop is slowed: 500 are taken at once, then 100 a second;
// another tenant is not. Publishing has no such pace.
func TestTenantInALoopIsSlowed(t *testing.T) {
	t.Parallel()
	n := newPlace(t).start(t, nil)
	looping, other := n.account(), n.account()
	const together = 8
	loop := func(a *account, count int, request func()) time.Duration {
		began := time.Now()
		var group sync.WaitGroup
		for range together {
			group.Go(func() {
				for range count / together {
					request()
				}
			})
		}
		group.Wait()
		return time.Since(began)
	}
	list := func(a *account) func() {
		return func() { a.ok(200, "GET", "/endpoints", "", a.live) }
	}
	first := loop(looping, 800, list(looping))
	require.GreaterOrEqual(t, first, 2900*time.Millisecond, "300 wait for 10 ms each")
	took := make(chan time.Duration)
	go func() { took <- loop(looping, 400, list(looping)) }()
	others := loop(other, 400, list(other))
	slowed := <-took
	require.GreaterOrEqual(t, first+slowed, 6800*time.Millisecond, "700 of 1,200 waited")
	require.Less(t, others, slowed, "another tenant does not wait")

	// More than 100 that wait are refused. Events are taken meanwhile.
	var refused atomic.Int32
	var group sync.WaitGroup
	for range 250 {
		group.Go(func() {
			if got := n.call("GET", "/endpoints", looping.live, ""); got.status == http.StatusTooManyRequests && got.header.Get("Retry-After") == "1" {
				refused.Add(1)
				looping.publish("a.b", `{}`)
			}
		})
	}
	group.Wait()
	require.Positive(t, refused.Load())
}
