package chaos

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/receiver"
)

// timingTolerance is what parallel tests may add to a latency.
const timingTolerance = 50 * time.Millisecond

// Losing Redis, or everything in it, delays retries and does nothing else.
func TestChaosRedis(t *testing.T) {
	t.Parallel()
	bed := newTestbed(t, receiver.Options{FailFirst: 0.3, FailStatus: 500})
	replica := bed.newReplica("a")
	bed.redis.Stop()
	t.Logf("ready after %s without Redis", replica.startReady().Round(time.Millisecond))
	bed.setUp(replica)
	began := time.Now()
	publisher := bed.startPublisher(replica.baseURL())
	runLoad(2 * time.Second)
	down := time.Now()
	bed.redis.Start()
	runLoad(4 * time.Second) // clients reconnect within a second or two
	flushed := time.Now()
	for range 10 {
		bed.redis.FlushAll()
		runLoad(200 * time.Millisecond)
	}
	stopped := time.Now()
	bed.redis.Stop()
	runLoad(2 * time.Second)
	ended := time.Now()
	bed.redis.Start()
	sent := publisher.stop()
	baseline := percentile(publisher.sentBetween(down, flushed), 0.99)
	without := map[string]time.Duration{
		"down from the start": percentile(publisher.sentBetween(began, down), 0.99),
		"flushed":             percentile(publisher.sentBetween(flushed, stopped), 0.99),
		"stopped":             percentile(publisher.sentBetween(stopped, ended), 0.99),
	}
	t.Logf("p99 of accepting: with Redis %s, %v", baseline, without)
	for what, p99 := range without {
		require.Less(t, p99, 2*baseline+timingTolerance, "p99 of accepting with Redis %s", what)
	}
	for status, n := range publisher.responseCounts(replica.baseURL()) {
		require.True(t, status == http.StatusAccepted || status == http.StatusOK, "%d answers of %d: accepting goes on without Redis", n, status)
	}
	// Nothing was killed, so no lease has to end: retries wait one second, and the
	// sweep is at most a few late.
	t.Logf("everything settled %s after the end", bed.awaitSettled(recoveryTime).Round(time.Millisecond))
	balance := bed.requireBalance(publisher, sent)
	require.Zero(t, balance.Duplicated)
	require.Zero(t, balance.Unanswered)
	require.LessOrEqual(t, bed.queryInt(`select count(*) from hub.deliveries where attempts > 2 and status = 1`), balance.Duplicated, "a lost retry is not one more attempt")
}
