package chaos

import (
	"fmt"
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

// loadFor lets the publisher work for a while: load is the fault's background,
// not something to wait for.
func loadFor(d time.Duration) { time.Sleep(d) }

// busyMachine is what other tests on the same cores may add to a time.
const busyMachine = 50 * time.Millisecond

// Losing everything in Redis, or Redis itself, costs punctuality of retries and
// nothing else.
func TestChaosRedis(t *testing.T) {
	t.Parallel()
	w := newWorld(t, receiver.Options{FailFirst: 0.3, FailStatus: 500})
	h := w.newHub("a")
	w.redis.Stop()
	t.Logf("ready after %s without Redis", h.ready().Round(time.Millisecond))
	w.furnish(h)
	began := time.Now()
	p := w.publish(h.base())
	loadFor(2 * time.Second)
	down := time.Now()
	w.redis.Start()
	loadFor(4 * time.Second) // clients find their way back within a second or two
	flushed := time.Now()
	for range 10 {
		w.redis.FlushAll()
		loadFor(200 * time.Millisecond)
	}
	stopped := time.Now()
	w.redis.Stop()
	loadFor(2 * time.Second)
	ended := time.Now()
	w.redis.Start()
	sent := p.stop()
	baseline := percentile(p.between(down, flushed), 0.99)
	without := map[string]time.Duration{
		"down from the start": percentile(p.between(began, down), 0.99),
		"flushed":             percentile(p.between(flushed, stopped), 0.99),
		"stopped":             percentile(p.between(stopped, ended), 0.99),
	}
	t.Logf("p99 of accepting: with Redis %s, %v", baseline, without)
	for what, p99 := range without {
		require.Less(t, p99, 2*baseline+busyMachine, "p99 of accepting with Redis %s", what)
	}
	for status, n := range p.answered(h.base()) {
		require.True(t, status == http.StatusAccepted || status == http.StatusOK, "%d answers of %d: accepting goes on without Redis", n, status)
	}
	// Nobody was killed, so no lease has to end: retries wait one second, and the
	// sweep is at most a few late.
	t.Logf("everything settled %s after the end", w.drain(recoverTime).Round(time.Millisecond))
	b := w.balance(p, sent)
	require.Zero(t, b.Duplicated)
	require.Zero(t, b.Unanswered)
	require.LessOrEqual(t, w.count(`select count(*) from hub.deliveries where attempts > 2 and status = 1`), b.Duplicated, "a lost retry is not one more attempt")
}

// While PostgreSQL is away nothing is accepted and clients are told when to come
// back; what had been accepted is still there.
func TestChaosPostgresKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, receiver.Options{FailFirst: 0.05, FailStatus: 500})
	h := w.newHub("a")
	h.ready()
	w.furnish(h)
	p := w.publish(h.base())
	const kills = 3
	for i := range kills {
		loadFor(time.Second)
		w.postgres.Kill()
		gone := time.Now()
		before := p.answered(h.base())[http.StatusServiceUnavailable]
		w.await(10*time.Second, "a 503", func() bool { return p.answered(h.base())[http.StatusServiceUnavailable] > before })
		code, err := statusOf(h.base() + "/ready")
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, code)
		code, err = statusOf(h.base() + "/health")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, "the hub itself lives")
		loadFor(time.Second)
		starting := time.Now()
		// A backend outlives its killed server by a moment, and what it commits then is
		// durable: the balance at the end shows that.
		for _, s := range p.between(gone.Add(outlive), starting) {
			require.False(t, s.Accepted(), "an event was accepted %s after PostgreSQL had gone", time.Unix(0, s.AnsweredAt).Sub(gone))
		}
		w.postgres.Start()
		back := time.Now()
		w.await(10*time.Second, "events are accepted again", func() bool {
			_, again := p.acceptedAfter(back)
			return again
		})
		again, _ := p.acceptedAfter(back)
		t.Logf("kill %d: PostgreSQL away for %s, accepting %s after it was back", i+1,
			back.Sub(gone).Round(time.Millisecond), again.Sub(back).Round(time.Millisecond))
	}
	sent := p.stop()
	t.Logf("answers: %v; settled after %s", p.answered(h.base()), w.drain(leaseTime+recoverTime).Round(time.Millisecond))
	b := w.balance(p, sent)
	// An attempt that was made is stored when the database is back: nothing that is
	// in flight is repeated, unless its lease ended meanwhile.
	require.LessOrEqual(t, b.Duplicated, kills*unstored)
	require.Zero(t, p.answered(h.base())[0], "the hub answers, whatever happens to its database")
}

// outlive is how long a backend may go on without its server.
const outlive = 500 * time.Millisecond

func statusOf(url string) (int, error) {
	client := &http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		return 0, fmt.Errorf("asking %s: %w", url, err)
	}
	return resp.StatusCode, resp.Body.Close()
}

// Of two replicas one is killed and does not come back: the other delivers what
// it held.
func TestChaosReplicaKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, receiver.Options{FailFirst: 0.05, FailStatus: 500})
	a, b := w.newHub("a"), w.newHub("b")
	a.ready()
	w.furnish(a)
	b.ready()
	w.api.BaseURL = b.base()
	p := w.publish(a.base(), b.base())
	loadFor(2 * time.Second)
	a.process.Kill()
	killed := time.Now()
	loadFor(2 * time.Second)
	sent := p.stop()
	drained := w.drain(leaseTime + recoverTime)
	t.Logf("settled %s after one of two was killed", time.Since(killed).Round(time.Millisecond))
	require.Less(t, drained, time.Minute)
	balance := w.balance(p, sent)
	require.LessOrEqual(t, balance.Duplicated, unstored)
	require.NotEmpty(t, p.answered(b.base()))
	for status, n := range p.answered(b.base()) {
		require.True(t, status == http.StatusAccepted || status == http.StatusOK, "%d answers of %d from the replica that lives", n, status)
	}
	oldest := w.count(`select coalesce(extract(epoch from max(finished_at - created_at)), 0)::int from hub.deliveries where status = 1`)
	require.Less(t, oldest, 60, "seconds the slowest delivery took")
}

// A replica that is asked to stop says so, finishes what it has and gives the
// rest to the other: a client that follows Connection: close sees no error, and
// nothing is sent twice.
func TestChaosTerminated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, receiver.Options{})
	var slow atomic.Bool
	slow.Store(true)
	for endpoint := range uint32(2) {
		w.odd[endpoint] = func(*fasthttp.RequestCtx, records.Arrival) uint16 {
			if slow.Load() {
				time.Sleep(100 * time.Millisecond)
			}
			return http.StatusOK
		}
	}
	a, b := w.newHub("a"), w.newHub("b")
	a.ready()
	w.furnish(a)
	b.ready()
	p := w.publish(a.base(), b.base())
	held := 0
	w.await(leaseTime, "more deliveries wait than can be in flight", func() bool {
		held = w.count(`select count(*) from hub.deliveries where status = 0`)
		return held > 20*attemptsInFlight
	})
	began := time.Now()
	require.NoError(t, a.process.Signal(syscall.SIGTERM))
	unready := w.await(time.Second, "it is not ready", func() bool {
		code, err := statusOf(a.base() + "/ready")
		return err != nil || code == http.StatusServiceUnavailable
	})
	select {
	case <-a.process.Exited():
	case <-time.After(20 * time.Second):
		require.Fail(t, "did not stop", a.process.LogTail())
	}
	took := time.Since(began)
	require.NoError(t, a.process.Err(), a.process.LogTail())
	require.Less(t, took, 15*time.Second)
	slow.Store(false)
	loadFor(500 * time.Millisecond)
	sent := p.stop()
	t.Logf("%d deliveries waited; not ready after %s, ended after %s; answers of it %v, of the other %v", held,
		unready.Round(time.Millisecond), took.Round(time.Millisecond), p.answered(a.base()), p.answered(b.base()))
	for _, base := range []string{a.base(), b.base()} {
		for status, n := range p.answered(base) {
			require.True(t, status == http.StatusAccepted || status == http.StatusOK, "%d answers of %d from %s", n, status, base)
		}
	}
	// Leases were given back: the other need not wait for their end.
	t.Logf("the other settled everything %s later", w.drain(leaseTime/2).Round(time.Millisecond))
	balance := w.balance(p, sent)
	require.Zero(t, balance.Duplicated)
	require.Zero(t, balance.Unanswered)
}
