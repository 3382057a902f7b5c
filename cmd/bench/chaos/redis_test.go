package chaos

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/receiver"
)

// What parallel tests may add to a latency: little to the median, much to the slowest
// requests.
const (
	medianTolerance = 50 * time.Millisecond
	p99Tolerance    = time.Second
)

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
	latencies := func(from, until time.Time) (median, p99 time.Duration) {
		list := publisher.sentBetween(from, until)
		return percentile(list, 0.5), percentile(list, 0.99)
	}
	baseMedian, baseP99 := latencies(down, flushed)
	t.Logf("accepting with Redis: median %s, p99 %s", baseMedian, baseP99)
	for what, span := range map[string][2]time.Time{"down from the start": {began, down}, "flushed": {flushed, stopped}, "stopped": {stopped, ended}} {
		median, p99 := latencies(span[0], span[1])
		t.Logf("accepting with Redis %s: median %s, p99 %s", what, median, p99)
		require.Less(t, median, 2*baseMedian+medianTolerance, "median of accepting with Redis %s", what)
		require.Less(t, p99, 2*baseP99+p99Tolerance, "p99 of accepting with Redis %s", what)
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
