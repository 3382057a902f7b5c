package chaos

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/receiver"
)

// While PostgreSQL is down nothing is accepted, and responses have Retry-After. What was
// accepted before is still stored.
func TestChaosPostgresKilled(t *testing.T) {
	t.Parallel()
	bed := newTestbed(t, receiver.Options{FailFirst: 0.05, FailStatus: 500})
	replica := bed.newReplica("a")
	replica.startReady()
	bed.setUp(replica)
	publisher := bed.startPublisher(replica.baseURL())
	const kills = 3
	for i := range kills {
		runLoad(time.Second)
		bed.postgres.Kill()
		gone := time.Now()
		before := publisher.responseCounts(replica.baseURL())[http.StatusServiceUnavailable]
		bed.await(10*time.Second, "a 503", func() bool {
			return publisher.responseCounts(replica.baseURL())[http.StatusServiceUnavailable] > before
		})
		code, err := statusOf(replica.baseURL() + "/ready")
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, code)
		code, err = statusOf(replica.baseURL() + "/health")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, "the hub itself lives")
		runLoad(time.Second)
		starting := time.Now()
		// A backend outlives its killed server by a moment, and what it commits then is
		// durable: the balance at the end shows that.
		for _, sent := range publisher.sentBetween(gone.Add(backendGrace), starting) {
			require.False(t, sent.Accepted(), "an event was accepted %s after PostgreSQL had gone", time.Unix(0, sent.AnsweredAt).Sub(gone))
		}
		bed.postgres.Start()
		back := time.Now()
		bed.await(recoveryTime, "events are accepted again", func() bool {
			_, again := publisher.firstAcceptedAfter(back)
			return again
		})
		again, _ := publisher.firstAcceptedAfter(back)
		t.Logf("kill %d: PostgreSQL away for %s, accepting %s after it was back", i+1,
			back.Sub(gone).Round(time.Millisecond), again.Sub(back).Round(time.Millisecond))
	}
	sent := publisher.stop()
	t.Logf("answers: %v; settled after %s", publisher.responseCounts(replica.baseURL()), bed.awaitSettled(leaseTime+recoveryTime).Round(time.Millisecond))
	balance := bed.requireBalance(publisher, sent)
	// An attempt that was made is stored when the database is back: nothing that is
	// in flight is repeated, unless its lease ended meanwhile.
	require.LessOrEqual(t, balance.Duplicated, kills*maxUnstored)
	require.Zero(t, publisher.responseCounts(replica.baseURL())[0], "the hub answers, whatever happens to its database")
}

// backendGrace is how long a backend may outlive its server.
const backendGrace = 3 * time.Second

// PostgreSQL is away for longer than leases last: what was attempted before is stored when it
// is back, and not attempted again.
func TestChaosPostgresAwayForLong(t *testing.T) {
	t.Parallel()
	bed := newTestbed(t, receiver.Options{})
	replica := bed.newReplica("a")
	replica.startReady()
	bed.setUp(replica)
	publisher := bed.startPublisher(replica.baseURL())
	runLoad(time.Second)
	bed.postgres.Kill()
	sent := publisher.stop()
	runLoad(leaseTime + 2*time.Second)
	bed.postgres.Start()
	replica.awaitReady()
	t.Logf("answers: %v; settled after %s", publisher.responseCounts(replica.baseURL()), bed.awaitSettled(leaseTime+recoveryTime).Round(time.Millisecond))
	require.Zero(t, bed.requireBalance(publisher, sent).Duplicated)
}
