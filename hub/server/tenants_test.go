package server_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
)

// A tenant whose many endpoints all hang keeps no other tenant waiting: neither for
// workers, nor for places, nor for retries.
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
}
