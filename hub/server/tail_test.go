package server_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// until returns the messages of a tail up to and including the wanted one.
func until(t *testing.T, messages <-chan map[string]any, wanted func(item map[string]any) bool) (got []map[string]any) {
	t.Helper()
	for {
		item := next(t, messages)
		if got = append(got, item); wanted(item) {
			return got
		}
	}
}

// of is a wanted message: of an event, with a status.
func of(event, status string) func(item map[string]any) bool {
	return func(item map[string]any) bool { return item["event_id"] == event && item["status"] == status }
}

// A tail shows what other processes do from its beginning on, each change once;
// also while Redis is down and changes are not announced.
func TestLiveTailSpansReplicas(t *testing.T) {
	t.Parallel()
	for name, redis := range map[string]string{"with Redis": hubtest.StartRedis(t).URL(), "without Redis": "redis://127.0.0.1:1/0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := placeAt(t, hubtest.DatabaseURL(t), redis)
			a := p.start(t, nil).account()
			second := p.start(t, nil)
			a.endpoint(newHook(t, nil), "")
			before := a.publish("a.before", `{}`)
			require.Eventually(t, func() bool { return p.count(t, `status = 1`) == 1 }, soon, tick)
			tails := []<-chan map[string]any{a.tail("", ""), second.tail("", "")}
			ids := a.batch(50, "a.b") // at once: the first process delivers what it accepted
			for _, messages := range tails {
				waiting := make(map[any]bool)
				for _, id := range ids {
					waiting[id] = true
				}
				for _, item := range until(t, messages, func(item map[string]any) bool {
					delete(waiting, item["event_id"])
					return len(waiting) == 0
				}) {
					require.NotEqual(t, before, item["event_id"], "earlier events are not sent")
					require.Equal(t, "delivered", item["status"])
				}
			}
			last := a.publish("a.last", `{}`)
			for _, messages := range tails {
				require.Len(t, until(t, messages, of(last, "delivered")), 1, "each change is sent once")
			}
		})
	}
}

// A client that reconnects, also to another process, receives what changed meanwhile,
// including deliveries older than the last one it saw.
func TestLiveTailCatchesUpWithRetries(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	second := p.start(t, nil)
	var healed atomic.Bool
	a.endpoint(newHook(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		if !healed.Load() {
			w.WriteHeader(500)
		}
	}), `"event_types":["a.old"]`)
	a.endpoint(newHook(t, nil), `"event_types":["a.new","a.last"]`)
	messages := a.tail("", "")
	old := a.publish("a.old", `{}`)
	until(t, messages, of(old, "pending"))
	recent := a.publish("a.new", `{}`)
	seen := until(t, messages, of(recent, "delivered"))
	position := seen[len(seen)-1]["position"].(string)
	healed.Store(true)
	require.Eventually(t, func() bool { return p.count(t, `status = 1`) == 2 }, 2*soon, tick)
	for _, n := range []*node{a.node, second} {
		again := until(t, n.tail("", position), of(old, "delivered"))
		require.Len(t, again, 1, "the last event seen is not sent again")
		filtered := n.tail("event_type=a.last", position)
		last := a.publish("a.last", `{}`)
		for _, item := range until(t, filtered, of(last, "delivered")) {
			require.Equal(t, "a.last", item["event_type"], "only what matches")
		}
	}
}
