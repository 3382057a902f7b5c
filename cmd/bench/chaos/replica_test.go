package chaos

import (
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"integrationhub/cmd/bench/internal/receiver"
	"integrationhub/cmd/bench/internal/records"
)

// Of two replicas one is killed and does not come back: the other delivers what
// it held.
func TestChaosReplicaKilled(t *testing.T) {
	t.Parallel()
	bed := newTestbed(t, receiver.Options{FailFirst: 0.05, FailStatus: 500})
	first, second := bed.newReplica("a"), bed.newReplica("b")
	first.startReady()
	bed.setUp(first)
	second.startReady()
	bed.api.BaseURL = second.baseURL()
	publisher := bed.startPublisher(first.baseURL(), second.baseURL())
	runLoad(2 * time.Second)
	first.process.Kill()
	killed := time.Now()
	runLoad(2 * time.Second)
	sent := publisher.stop()
	drained := bed.awaitSettled(leaseTime + recoveryTime)
	t.Logf("settled %s after one of two was killed", time.Since(killed).Round(time.Millisecond))
	require.Less(t, drained, time.Minute)
	balance := bed.requireBalance(publisher, sent)
	require.LessOrEqual(t, balance.Duplicated, maxUnstored)
	require.NotEmpty(t, publisher.responseCounts(second.baseURL()))
	for status, n := range publisher.responseCounts(second.baseURL()) {
		require.True(t, status == http.StatusAccepted || status == http.StatusOK, "%d answers of %d from the replica that lives", n, status)
	}
	oldest := bed.queryInt(`select coalesce(extract(epoch from max(finished_at - created_at)), 0)::int from hub.deliveries where status = 1`)
	require.Less(t, oldest, 60, "seconds the slowest delivery took")
}

// A replica that gets SIGTERM turns unready, finishes its attempts and releases its leases
// to the other. A client that follows Connection: close sees no error, and nothing is sent
// twice.
func TestChaosTerminated(t *testing.T) {
	t.Parallel()
	bed := newTestbed(t, receiver.Options{})
	var slow atomic.Bool
	slow.Store(true)
	for endpoint := range uint32(2) {
		bed.responders[endpoint] = func(*fasthttp.RequestCtx, records.Arrival) uint16 {
			if slow.Load() {
				time.Sleep(100 * time.Millisecond)
			}
			return http.StatusOK
		}
	}
	first, second := bed.newReplica("a"), bed.newReplica("b")
	first.startReady()
	bed.setUp(first)
	second.startReady()
	publisher := bed.startPublisher(first.baseURL(), second.baseURL())
	held := 0
	bed.await(leaseTime, "more deliveries wait than can be in flight", func() bool {
		held = bed.queryInt(`select count(*) from hub.deliveries where status = 0`)
		return held > 20*attemptsInFlight
	})
	began := time.Now()
	require.NoError(t, first.process.Signal(syscall.SIGTERM))
	unready := bed.await(time.Second, "it is not ready", func() bool {
		code, err := statusOf(first.baseURL() + "/ready")
		return err != nil || code == http.StatusServiceUnavailable
	})
	select {
	case <-first.process.Exited():
	case <-time.After(20 * time.Second):
		require.Fail(t, "did not stop", first.process.LogTail())
	}
	took := time.Since(began)
	require.NoError(t, first.process.Err(), first.process.LogTail())
	require.Less(t, took, 15*time.Second)
	slow.Store(false)
	runLoad(500 * time.Millisecond)
	sent := publisher.stop()
	t.Logf("%d deliveries waited; not ready after %s, ended after %s; answers of it %v, of the other %v", held,
		unready.Round(time.Millisecond), took.Round(time.Millisecond), publisher.responseCounts(first.baseURL()), publisher.responseCounts(second.baseURL()))
	for _, base := range []string{first.baseURL(), second.baseURL()} {
		for status, n := range publisher.responseCounts(base) {
			require.True(t, status == http.StatusAccepted || status == http.StatusOK, "%d answers of %d from %s", n, status, base)
		}
	}
	// Leases were released: the other replica need not wait until they run out.
	t.Logf("the other settled everything %s later", bed.awaitSettled(leaseTime*9/10).Round(time.Millisecond))
	balance := bed.requireBalance(publisher, sent)
	require.Zero(t, balance.Duplicated)
	require.Zero(t, balance.Unanswered)
}
