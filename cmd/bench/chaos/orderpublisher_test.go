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
	"integrationhub/hub"
	"integrationhub/hub/hubtest"
)

const (
	orderKeys       = 40
	orderPublishers = 8               // each with keys of its own
	orderEvents     = 10              // of each key at least
	orderBatch      = 3               // events of each of two keys in a request
	orderTimeout    = 2 * time.Second // of a request whose events have ids: another hub is asked then
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

// orderedPublishers publish the events of orderKeys keys from several connections to any hub,
// and number the events of each key. A request is sent until it is accepted; the next with its
// keys comes after that. Half of them give their events ids, half send batches.
type orderedPublishers struct {
	bed    *testbed
	header http.Header
	done   sync.WaitGroup

	mu       sync.Mutex
	accepted map[string]int // number of the last event of each key
}

// publisherMode is what the requests of a publisher are like.
type publisherMode struct {
	hasIDs  bool
	isBatch bool
}

// startOrdered starts publishers of the modes in turn. They publish until ctx ends and each key
// has had orderEvents.
func (bed *testbed) startOrdered(ctx context.Context, apiKey string, modes ...publisherMode) *orderedPublishers {
	p := &orderedPublishers{bed: bed, header: http.Header{hub.HeaderKey: {apiKey}}, accepted: make(map[string]int)}
	for n := range orderPublishers {
		mode := modes[n%len(modes)]
		var keys []string
		for k := n; k < orderKeys; k += orderPublishers {
			keys = append(keys, fmt.Sprintf("key-%d-%s", k, mode.name()))
		}
		p.done.Go(func() {
			for turn := 0; ctx.Err() == nil || !p.haveEnough(keys); turn++ {
				p.publish(ctx, mode, keys[turn%len(keys)], keys[(turn+1)%len(keys)])
			}
		})
	}
	return p
}

// name returns a part of the keys' names.
func (m publisherMode) name() string {
	return map[publisherMode]string{{}: "plain", {hasIDs: true}: "ids", {isBatch: true}: "batch", {true, true}: "ids-batch"}[m]
}

// last returns the number of the last accepted event of each key.
func (p *orderedPublishers) last() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.accepted)
}

// stop waits for the publishers, whose context has ended, and returns the number of the last
// event of each key.
func (p *orderedPublishers) stop() map[string]int {
	p.done.Wait()
	return p.last()
}

func (p *orderedPublishers) haveEnough(keys []string) bool {
	last := p.last()
	for _, key := range keys {
		if last[key] < orderEvents {
			return false
		}
	}
	return true
}

// publish publishes the next event of a key, or a batch with the next events of two.
func (p *orderedPublishers) publish(ctx context.Context, mode publisherMode, key, other string) {
	path, last := "/api/v1/events", p.last()
	var body any
	var count int
	next := make(map[string]int)
	if mode.isBatch {
		path += "/batch"
		var events []any
		for n := 1; n <= orderBatch; n++ {
			for _, key := range []string{key, other} {
				events = append(events, numberedEvent(key, last[key]+n, last[key]+1, mode.hasIDs))
				next[key] = last[key] + n
			}
		}
		body, count = map[string]any{"events": events}, len(events)
	} else {
		body, count = numberedEvent(key, last[key]+1, last[key]+1, mode.hasIDs), 1
		next[key] = last[key] + 1
	}
	for p.call(ctx, mode, path, body) != nil {
		time.Sleep(load.RefusalBackoff)
	}
	p.mu.Lock()
	maps.Copy(p.accepted, next)
	p.mu.Unlock()
	time.Sleep(*publishPause * time.Duration(count))
}

// call publishes to some hub. Events without ids are not sent again before there is an answer,
// or their hub is dead: a hub that is only late may accept them after later ones.
func (p *orderedPublishers) call(ctx context.Context, mode publisherMode, path string, body any) error {
	ctx = context.WithoutCancel(ctx)
	if mode.hasIDs {
		timed, cancel := context.WithTimeout(ctx, orderTimeout)
		defer cancel()
		ctx = timed
	}
	api := hubapi.Client{BaseURL: p.bed.replicas[rand.IntN(len(p.bed.replicas))].baseURL()}
	return api.CallPath(ctx, http.MethodPost, path, p.header, body, nil)
}

// numberedEvent returns event n of a key in a request that has those from a number on.
func numberedEvent(key string, n, from int, hasID bool) map[string]any {
	data := map[string]any{"key": key, "n": n}
	event := map[string]any{"event_type": "chaos.order", "ordering_key": key, "data": data}
	if hasID {
		event["id"] = hub.NewEventID()
	} else {
		data["from"] = from
	}
	return event
}

// newTenant makes a tenant and returns it with a key.
func (bed *testbed) newTenant() (tenant, apiKey string) {
	bed.t.Helper()
	tenant, err := bed.api.CreateTenant(bed.t.Context(), "Order")
	require.NoError(bed.t, err)
	apiKey, err = bed.api.CreateKey(bed.t.Context(), tenant)
	require.NoError(bed.t, err)
	return tenant, apiKey
}
