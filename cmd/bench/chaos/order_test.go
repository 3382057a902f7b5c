package chaos

import (
	"context"
	"encoding/json"
	"fmt"
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
)

const (
	orderKeys       = 40
	orderPublishers = 8 // each with keys of its own
	orderKills      = 4
	orderEvents     = 10 // of each key at least
)

// orderedReceiver checks that the events of each key arrive in the order of their numbers.
type orderedReceiver struct {
	url       string
	mu        sync.Mutex
	newest    map[string]int // the highest number that arrived
	accepted  map[string]int // the highest number that was answered 200
	arrivals  int
	repeats   int
	disorders []string
}

// serveOrdered starts a receiver that answers the first attempt of every tenth event with 500.
func serveOrdered(t *testing.T) *orderedReceiver {
	t.Helper()
	r := &orderedReceiver{newest: make(map[string]int), accepted: make(map[string]int)}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// ServeHTTP checks one arrival. A repeat of the newest is allowed, an earlier one is not, and
// none may come before the one before it was accepted.
func (r *orderedReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var envelope struct {
		Data struct {
			Key string `json:"key"`
			N   int    `json:"n"`
		} `json:"data"`
	}
	err := json.NewDecoder(request.Body).Decode(&envelope)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arrivals++
	at := envelope.Data
	switch {
	case err != nil:
		r.disorders = append(r.disorders, err.Error())
	case at.N < r.newest[at.Key] || at.N > r.accepted[at.Key]+1:
		r.disorders = append(r.disorders, fmt.Sprintf("%s: %d arrived after %d had arrived and %d was accepted", at.Key, at.N, r.newest[at.Key], r.accepted[at.Key]))
	case at.N <= r.accepted[at.Key]:
		r.repeats++
	}
	isFirst := at.N > r.newest[at.Key]
	r.newest[at.Key] = max(r.newest[at.Key], at.N)
	if isFirst && at.N%10 == 3 {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	r.accepted[at.Key] = max(r.accepted[at.Key], at.N)
}

// acceptedAll reports whether the newest of each key was accepted.
func (r *orderedReceiver) acceptedAll(published map[string]int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, n := range published {
		if r.accepted[key] < n {
			return false
		}
	}
	return true
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
	r := serveOrdered(t)
	endpoint := map[string]any{"tenant_id": tenant, "url": r.url, "event_types": []string{"*"}, "ordered": true}
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
	took := bed.await(3*leaseTime+recoveryTime, "everything is delivered", func() bool { return r.acceptedAll(published) })
	bed.awaitSettled(leaseTime + recoveryTime)
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Logf("%d events of %d keys, %d arrivals, %d repeats; all accepted %s after the last", total, orderKeys, r.arrivals, r.repeats, took.Round(time.Millisecond))
	require.Empty(t, r.disorders)
	require.GreaterOrEqual(t, total, orderEvents*orderKeys)
	require.Zero(t, bed.queryInt(`select coalesce(sum(waiting), 0) + (select count(*) from hub.ordering_queue) from hub.ordering_keys`), "no place is taken for ever")
	bed.requireSums()
	bed.requireNotLogged("panic")
}
