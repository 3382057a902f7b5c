package chaos

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/receiver"
)

// freezeTime is longer than the hub waits for a commit, and shorter than a lease.
const freezeTime = 14 * time.Second

// A PostgreSQL that hangs is worse than one that is dead: connections stay open without a
// response. Publishers get 503 and never a false 2xx. When PostgreSQL goes on, so does the
// hub, by itself.
func TestChaosPostgresHangs(t *testing.T) {
	t.Parallel()
	bed := newTestbed(t, receiver.Options{FailFirst: 0.05, FailStatus: 500})
	replica := bed.newReplica("a")
	replica.startReady()
	bed.setUp(replica)
	publisher := bed.startPublisher(replica.baseURL())
	runLoad(time.Second)
	before := publisher.responseCounts(replica.baseURL())[http.StatusServiceUnavailable]
	bed.postgres.Freeze()
	frozen := time.Now()
	refused := bed.await(freezeTime, "a 503", func() bool {
		return publisher.responseCounts(replica.baseURL())[http.StatusServiceUnavailable] > before
	})
	code, err := statusOf(replica.baseURL() + "/ready")
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, code)
	code, err = statusOf(replica.baseURL() + "/health")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, "the hub itself lives")
	runLoad(time.Until(frozen.Add(freezeTime)))
	thawing := time.Now()
	for _, sent := range publisher.sentBetween(frozen, thawing) {
		require.False(t, sent.Accepted(), "an event was accepted %s after PostgreSQL had stopped", time.Unix(0, sent.AnsweredAt).Sub(frozen))
	}
	bed.postgres.Thaw()
	bed.await(10*time.Second, "events are accepted again", func() bool {
		_, again := publisher.firstAcceptedAfter(thawing)
		return again
	})
	again, _ := publisher.firstAcceptedAfter(thawing)
	t.Logf("first 503 after %s, accepting %s after it went on", refused.Round(time.Millisecond), again.Sub(thawing).Round(time.Millisecond))
	sent := publisher.stop()
	t.Logf("answers: %v; settled after %s", publisher.responseCounts(replica.baseURL()), bed.awaitSettled(leaseTime+recoveryTime).Round(time.Millisecond))
	balance := bed.requireBalance(publisher, sent)
	require.LessOrEqual(t, balance.Duplicated, maxUnstored)
	require.Zero(t, publisher.responseCounts(replica.baseURL())[0], "the hub answers, whatever happens to its database")
}
