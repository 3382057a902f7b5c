//go:build quiet

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

// Tests with the tag quiet measure times: make test runs them last and alone.

// "PostgreSQL kill -9 and restart: … accepting again ≤ 10 s after it is back."
func TestHubAcceptsAgainIn10Seconds(t *testing.T) {
	killPostgresUnderLoad(t, 10*time.Second)
}

// "A revoked key is dead within a second on every replica", also for calls that commit nothing.
func TestRevokedKeyIsDeadWithinASecond(t *testing.T) {
	p := newPlace(t)
	first, second := p.start(t, nil), p.start(t, nil)
	a := first.account()
	require.Equal(t, 200, second.call("GET", "/endpoints", a.live, "").status)
	first.ok(204, "DELETE", "/keys/"+a.liveKeyID, "")
	require.Eventually(t, func() bool {
		return second.call("GET", "/endpoints", a.live, "").status == 401
	}, time.Second, tick)
}

// Hanging endpoints hold up no others, also where they could hold every worker. The scenario
// gateway-tenants of the bench measures how little.
func TestHangingEndpointsDelayNoOthers(t *testing.T) {
	a := newPlace(t).start(t, func(c *config.Config) {
		c.DeliveryConcurrency, c.EndpointConcurrency = 64, 16 // 10 × 16 > 64
		c.DeliveryTimeout = hangTime
	}).account()
	alive := newHook(t, nil)
	for range 90 {
		a.endpoint(alive, "")
	}
	const events = 20
	release := make(chan struct{})
	defer close(release)
	dead := newHook(t, hanging(release))
	for range 10 {
		a.endpoint(dead, "")
	}
	require.Less(t, slowest(a, alive, events, 90), 5*time.Second, "p99 of the others")
}

// "30 hanging endpoints of one tenant leave a neighbour's p99 under 1 s."
func TestNeighbourOfHangingEndpoints(t *testing.T) {
	n := newPlace(t).start(t, func(c *config.Config) { c.DeliveryTimeout = hangTime })
	neighbour, hostile := n.account(), n.account()
	alive := newHook(t, nil)
	neighbour.endpoint(alive, `"event_types":["a.b"]`)
	release := make(chan struct{})
	defer close(release)
	dead := newHook(t, hanging(release))
	for range 30 {
		hostile.endpoint(dead, "")
	}
	hostile.batch(20, "a.b")
	dead.wait(30)
	require.Less(t, slowest(neighbour, alive, 20, 1), time.Second)
}

// A tenant that repeats a call in a loop is slowed: 500 are taken at once, then 100 a second;
// another tenant is not. Publishing has no such pace.
func TestTenantInALoopIsSlowed(t *testing.T) {
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

	// More than 100 that wait are refused. Events are taken meanwhile. The first 250 may come
	// one after the other: they go on until one is refused.
	var refused atomic.Int32
	var group sync.WaitGroup
	deadline := time.Now().Add(time.Minute)
	for range 250 {
		group.Go(func() {
			for refused.Load() == 0 && time.Now().Before(deadline) {
				if got := n.call("GET", "/endpoints", looping.live, ""); got.status == http.StatusTooManyRequests && got.header.Get("Retry-After") == "1" {
					refused.Add(1)
					looping.publish("a.b", `{}`)
				}
			}
		})
	}
	group.Wait()
	require.Positive(t, refused.Load())
}
