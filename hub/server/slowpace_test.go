package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// At a rate of a few deliveries a minute a turn is further away than a lease lasts. Each delivery
// and each retry has its turn all the same, with two hubs that share the turns, and none is lost.
func TestSlowestRates(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	p.start(t, nil)
	h := newHook(t, failingFirst())
	a.endpoint(h, `"rate_per_minute":3`)
	a.batch(2, "a.b")
	require.Eventually(t, func() bool { return len(h.arrivals()) == 4 }, 2*soon, tick)
	arrivals := h.arrivals()
	for i := range arrivals[1:] {
		require.InDelta(t, 20, arrivals[i+1].at.Sub(arrivals[i].at).Seconds(), 4)
	}
	require.Eventually(t, func() bool { return p.count(t, `status = 1 and attempts = 2`) == 2 }, soon, tick)
}
