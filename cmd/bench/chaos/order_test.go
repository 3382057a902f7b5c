package chaos

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/load"
	"integrationhub/cmd/bench/internal/receiver"
	"integrationhub/hub"
	"integrationhub/hub/hubtest"
)

const (
	orderKeys       = 40
	orderPublishers = 8 // each with keys of its own
	orderKills      = 4
	orderEvents     = 10 // of each key at least
)

// serveOrdered starts a receiver that answers the first attempt of every tenth event with
// 500, and returns its URL.
func serveOrdered(t *testing.T, seen *hubtest.Sequences) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil { // the hub that sent it was killed
			return
		}
		key, n, isFirst := seen.Arrive(body)
		if isFirst && n%10 == 3 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		seen.Accept(key, n)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// publishInOrder publishes the events of some keys, in turn, to either hub until ctx ends and
// each key has had orderEvents. Each is sent until it is accepted; the next of its key comes after that. It returns the
// number of the last event of each key.
func (bed *testbed) publishInOrder(ctx context.Context, apiKey string, keys []string) map[string]int {
	published := make(map[string]int, len(keys))
	header := http.Header{hub.HeaderKey: {apiKey}}
	for turn := 0; ctx.Err() == nil || turn < orderEvents*len(keys); turn++ {
		key := keys[turn%len(keys)]
		body := map[string]any{"event_type": "chaos.order", "id": hub.NewEventID(), "ordering_key": key, "data": map[string]any{"key": key, "n": published[key] + 1}}
		for {
			api := hubapi.Client{BaseURL: bed.replicas[rand.IntN(len(bed.replicas))].baseURL()}
			if api.CallPath(context.WithoutCancel(ctx), http.MethodPost, "/api/v1/events", header, body, nil) == nil {
				break
			}
			time.Sleep(load.RefusalBackoff)
		}
		published[key]++
		time.Sleep(*publishPause)
	}
	return published
}

// Two replicas are killed in turn, Redis is emptied, one clock is wrong, and a tenth of the
// attempts fail: on an ordered endpoint no event of a key ever arrives before an earlier one,
// and nothing that was accepted is lost.
func TestChaosOrder(t *testing.T) {
	t.Parallel()
	bed := newTestbed(t, receiver.Options{})
	first, second := bed.newReplica("a"), bed.newReplica("b")
	second.clockOffset = 45 * time.Second
	first.startReady()
	bed.setUp(first)
	second.startReady()
	tenant, err := bed.api.CreateTenant(t.Context(), "Order")
	require.NoError(t, err)
	apiKey, err := bed.api.CreateKey(t.Context(), tenant)
	require.NoError(t, err)
	var seen hubtest.Sequences
	endpoint := map[string]any{"tenant_id": tenant, "url": serveOrdered(t, &seen), "event_types": []string{"*"}, "ordered": true}
	require.NoError(t, bed.api.Call(t.Context(), http.MethodPost, "/endpoints", endpoint, nil))

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	published := make(map[string]int)
	var mu sync.Mutex
	var publishers sync.WaitGroup
	for p := range orderPublishers {
		var keys []string
		for k := p; k < orderKeys; k += orderPublishers {
			keys = append(keys, fmt.Sprintf("key-%d", k))
		}
		publishers.Go(func() {
			last := bed.publishInOrder(ctx, apiKey, keys)
			mu.Lock()
			defer mu.Unlock()
			for key, n := range last {
				published[key] = n
			}
		})
	}
	for n := range orderKills {
		runLoad(time.Duration(300+rand.IntN(700)) * time.Millisecond)
		replica := bed.replicas[n%2]
		replica.process.Kill()
		if n%3 == 1 {
			bed.redis.FlushAll()
		}
		replica.startReady()
	}
	runLoad(time.Second)
	stop()
	publishers.Wait()
	total := 0
	for _, n := range published {
		total += n
	}
	took := bed.await(3*leaseTime+recoveryTime, "everything is delivered", func() bool { return maps.Equal(seen.Accepted(), published) })
	bed.awaitSettled(leaseTime + recoveryTime)
	arrivals, repeats := seen.Arrivals()
	t.Logf("%d events of %d keys, %d arrivals, %d repeats; all accepted %s after the last", total, orderKeys, arrivals, repeats, took.Round(time.Millisecond))
	require.Empty(t, seen.Disorders())
	require.GreaterOrEqual(t, total, orderEvents*orderKeys)
	require.Zero(t, bed.queryInt(`select coalesce(sum(waiting), 0) + (select count(*) from hub.ordering_queue) from hub.ordering_keys`), "no place is taken for ever")
	bed.requireSums()
	bed.requireNotLogged("panic")
}
