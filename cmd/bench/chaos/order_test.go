package chaos

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/load"
	"integrationhub/cmd/bench/internal/receiver"
	"integrationhub/hub"
	"integrationhub/hub/hubtest"
)

// orderFailpoints are the places where hubs are killed that publish to an ordered endpoint, at
// a random one of the first passes: before, within and after a commit, and before and within
// the settlement.
var orderFailpoints = []failpointPasses{{"before_commit", 10}, {"places_taken", 10}, {"after_commit", 10}, {"after_response", 30}, {"before_attempt_row", 10}}

// A request of largeEvents events to an ordered endpoint and largeEndpoints others has more
// deliveries than the hub stores together with other requests.
const (
	largeType      = "chaos.large"
	largeEvents    = 500
	largeKeys      = 20
	largeEndpoints = 8
)

// killLarge publishes one large request, whose hub is killed while it commits it and before it
// answers. The function it returns waits until the request is accepted, and returns the number
// of the last event of each key.
func (bed *testbed) killLarge(tenant, apiKey string, h *replica) (accepted func() map[string]int) {
	bed.t.Helper()
	hole := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	bed.t.Cleanup(hole.Close)
	for range largeEndpoints {
		require.NoError(bed.t, bed.api.Call(bed.t.Context(), http.MethodPost, "/endpoints", map[string]any{"tenant_id": tenant, "url": hole.URL, "event_types": []string{largeType}}, nil))
	}
	numbers, events := make(map[string]int), make([]any, largeEvents)
	for i := range events {
		key := fmt.Sprintf("large-%d", i%largeKeys)
		numbers[key]++
		event := numberedEvent(key, numbers[key], 0, true)
		event["event_type"] = largeType
		events[i] = event
	}
	var publishing sync.WaitGroup
	publish := func() {
		api := hubapi.Client{BaseURL: h.baseURL()}
		for api.CallPath(context.WithoutCancel(bed.t.Context()), http.MethodPost, "/api/v1/events/batch", http.Header{hub.HeaderKey: {apiKey}}, map[string]any{"events": events}, nil) != nil {
			time.Sleep(load.RefusalBackoff)
		}
	}
	h.process.Kill()
	h.start("places_taken:1")
	publishing.Go(publish)
	h.awaitKilled("places_taken")
	h.start("after_commit:1")
	h.awaitKilled("after_commit")
	return func() map[string]int {
		publishing.Wait()
		return numbers
	}
}

// killAtFailpoints kills the hubs at the places in turn, and starts them again. Redis is
// emptied meanwhile.
func (bed *testbed) killAtFailpoints(places []failpointPasses) {
	bed.t.Helper()
	for n, place := range places {
		replica := bed.replicas[n%len(bed.replicas)]
		if n >= len(bed.replicas) {
			replica.awaitKilled(places[n-len(bed.replicas)].name)
		}
		replica.start(place.random())
		if n == len(places)/2 {
			bed.redis.FlushAll()
		}
	}
	for n := max(0, len(places)-len(bed.replicas)); n < len(places); n++ {
		bed.replicas[n%len(bed.replicas)].awaitKilled(places[n].name)
	}
	for _, replica := range bed.replicas {
		replica.startReady()
	}
}

// freeze stops a hub while it has ordering keys locked. PostgreSQL ends its session, and the
// keys of publishers that ask the other hub go on. The function it returns lets the frozen hub
// go on once its leases have ended.
func (bed *testbed) freeze(h *replica, publishers *orderedPublishers) (thaw func()) {
	bed.t.Helper()
	idle := func() bool {
		return bed.queryInt(`select count(*) from pg_stat_activity where application_name = 'hub-engine' and state = 'idle in transaction' and state_change < now() - interval '1 second'`) > 0
	}
	h.process.Kill()
	h.start(failpointPasses{"places_taken", 10}.random() + ":stop")
	// The session is seen for seconds only: a busy machine may miss it, but not the process.
	bed.await(2*leaseTime, "a hub is frozen", func() bool { return h.process.IsStopped() })
	frozen, before := time.Now(), publishers.last()
	ended := bed.await(recoveryTime, "PostgreSQL ends its session", func() bool { return time.Since(frozen) > 2*time.Second && !idle() })
	passed := bed.await(recoveryTime, "all keys go on", func() bool {
		for key, n := range publishers.last() {
			if strings.Contains(key, "ids") && n == before[key] {
				return false
			}
		}
		return true
	})
	bed.t.Logf("a hub was frozen; its session ended %s after that was seen, all keys had gone on %s later", ended.Round(time.Millisecond), passed.Round(time.Millisecond))
	return func() {
		bed.await(2*leaseTime, "its leases end", func() bool { return time.Since(frozen) > leaseTime+time.Second })
		require.NoError(bed.t, h.process.Signal(syscall.SIGCONT))
		h.awaitReady()
	}
}

// Two replicas are killed at places in their code and at random moments, PostgreSQL is killed,
// Redis is emptied, one clock is wrong, a tenth of the attempts fail, and at last one replica is
// frozen for longer than its leases: on an ordered endpoint no event of a key ever arrives
// before an earlier one, and nothing that was accepted is lost. Events are published with and
// without ids, one by one, in batches, and in a request with more deliveries than fit into a
// commit with others.
func TestChaosOrder(t *testing.T) {
	t.Parallel()
	bed := newTestbed(t, receiver.Options{})
	first, second := bed.newReplica("a"), bed.newReplica("b")
	second.clockOffset = 45 * time.Second
	first.startReady()
	bed.setUp(first)
	tenant, apiKey := bed.newTenant()
	seen := hubtest.Sequences{AllowLate: true}
	endpoint := map[string]any{"tenant_id": tenant, "url": serveOrdered(t, &seen), "event_types": []string{"*"}, "ordered": true}
	require.NoError(t, bed.api.Call(t.Context(), http.MethodPost, "/endpoints", endpoint, nil))
	large := bed.killLarge(tenant, apiKey, first)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	publishers := bed.startOrdered(ctx, apiKey, publisherMode{}, publisherMode{hasIDs: true}, publisherMode{isBatch: true}, publisherMode{hasIDs: true, isBatch: true})
	for range max(1, *killsPerFailpoint/3) {
		bed.killAtFailpoints(orderFailpoints)
		runLoad(time.Duration(200+rand.IntN(500)) * time.Millisecond)
		first.process.Kill()
		first.startReady()
	}
	bed.postgres.Kill()
	runLoad(200 * time.Millisecond)
	bed.postgres.Start()
	runLoad(500 * time.Millisecond)
	_, _, late := seen.Arrivals()
	require.Zero(t, late, "only one that was frozen sends an accepted event after a later one")
	thaw := bed.freeze(second, publishers)
	stop()
	thaw()
	published := publishers.stop()
	maps.Copy(published, large())
	total := 0
	for _, n := range published {
		total += n
	}
	took := bed.await(3*leaseTime+recoveryTime, "everything is delivered", func() bool { return maps.Equal(seen.Accepted(), published) })
	bed.awaitSettled(leaseTime + recoveryTime)
	arrivals, repeats, late := seen.Arrivals()
	t.Logf("%d events of %d keys, %d arrivals, %d repeats, %d of them after a later event; all accepted %s after the last", total, len(published), arrivals, repeats, late, took.Round(time.Millisecond))
	require.Empty(t, seen.Disorders())
	require.LessOrEqual(t, late, attemptsInFlight, "only what the frozen one was about to send")
	require.GreaterOrEqual(t, total, orderEvents*orderKeys)
	require.Zero(t, bed.queryInt(`select coalesce(sum(waiting), 0) + (select count(*) from hub.ordering_queue) from hub.ordering_keys`), "no place is taken for ever")
	bed.requireSums()
	bed.requireNotLogged("panic")
}
