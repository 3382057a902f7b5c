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
		c.DeliveryConcurrency, c.EndpointConcurrency, c.DeliveryTimeout = 64, 16, hangTime
	})
	neighbour, hostile := n.account(), n.account()
	alive := newHook(t, nil)
	neighbour.endpoint(alive, `"event_types":["a.b"]`)
	const events = 20
	release := make(chan struct{})
	defer close(release)
	dead := newHook(t, hanging(release))
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
	require.Less(t, slowest(neighbour, alive, events, 1), hangTime/2, "p99 of the neighbour")
	arrivals := failing.wait(2)
	require.Less(t, arrivals[1].at.Sub(began), hangTime, "the neighbour's retry")
	mu.Lock()
	defer mu.Unlock()
	// Three are in flight, and those whose end the receiver has not noticed yet.
	require.LessOrEqual(t, most, 6, "attempts in flight of a tenant with a limit of its own; without it 16")
}
