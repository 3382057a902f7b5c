package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A rate of a few deliveries a minute is longer than a lease may wait: they arrive all the same.
func TestSlowestRates(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	a.endpoint(h, `"rate_per_minute":3`)
	a.batch(3, "a.b")
	began := time.Now()
	require.Eventually(t, func() bool { return len(h.arrivals()) == 3 }, 90*time.Second, tick)
	t.Log(time.Since(began))
}
