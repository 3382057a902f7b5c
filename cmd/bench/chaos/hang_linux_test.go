package chaos

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/receiver"
)

// hangTime is longer than the hub waits for a commit, and shorter than a lease.
const hangTime = 14 * time.Second

// A PostgreSQL that hangs is worse than one that is dead: connections stay open
// and say nothing. Publishers are told to come back, none is told a false 2xx,
// and when it goes on, so does the hub, by itself.
func TestChaosPostgresHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, receiver.Options{FailFirst: 0.05, FailStatus: 500})
	h := w.newHub("a")
	h.ready()
	w.furnish(h)
	p := w.publish(h.base())
	loadFor(time.Second)
	before := p.answered(h.base())[http.StatusServiceUnavailable]
	w.postgres.Freeze()
	frozen := time.Now()
	refused := w.await(hangTime, "a 503", func() bool { return p.answered(h.base())[http.StatusServiceUnavailable] > before })
	code, err := statusOf(h.base() + "/ready")
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, code)
	code, err = statusOf(h.base() + "/health")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, "the hub itself lives")
	loadFor(time.Until(frozen.Add(hangTime)))
	thawing := time.Now()
	for _, s := range p.between(frozen, thawing) {
		require.False(t, s.Accepted(), "an event was accepted %s after PostgreSQL had stopped", time.Unix(0, s.AnsweredAt).Sub(frozen))
	}
	w.postgres.Thaw()
	w.await(10*time.Second, "events are accepted again", func() bool {
		_, again := p.acceptedAfter(thawing)
		return again
	})
	again, _ := p.acceptedAfter(thawing)
	t.Logf("first 503 after %s, accepting %s after it went on", refused.Round(time.Millisecond), again.Sub(thawing).Round(time.Millisecond))
	sent := p.stop()
	t.Logf("answers: %v; settled after %s", p.answered(h.base()), w.drain(leaseTime+recoverTime).Round(time.Millisecond))
	b := w.balance(p, sent)
	require.LessOrEqual(t, b.Duplicated, unstored)
	require.Zero(t, p.answered(h.base())[0], "the hub answers, whatever happens to its database")
}
