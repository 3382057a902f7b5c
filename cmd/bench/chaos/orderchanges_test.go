package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/receiver"
)

const (
	changeRounds  = len(changeFailpoints)  // in each both replicas are killed
	changeTimeout = 500 * time.Millisecond // of one call: a discard waits for an attempt under way
)

// changeFailpoints are where the two replicas are killed in the next round, with the pass: what
// was parked drains whenever the endpoint is enabled. "" is wherever they are.
var changeFailpoints = [...][2]string{{"drain_before_commit:2", "drain_after_commit:2"}, {"on_parking:2", ""}, {}}

// orderedEvent is an event of [orderedPublishers].
type orderedEvent struct {
	Key string `json:"key"`
	N   int    `json:"n"`
}

// orderedReceiver records what an ordered endpoint gets, in the order in which it arrives. It
// answers the first attempt of every twentieth event with 500.
type orderedReceiver struct {
	url      string
	isGone   atomic.Bool // the next request is answered 410
	mu       sync.Mutex
	arrivals map[string][]orderedArrival // by key
	accepted map[orderedEvent]bool
}

// orderedArrival is an attempt of an event.
type orderedArrival struct {
	n        int
	accepted bool
}

func serveOrderedChanges(t *testing.T) *orderedReceiver {
	t.Helper()
	r := &orderedReceiver{arrivals: make(map[string][]orderedArrival), accepted: make(map[orderedEvent]bool)}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// ServeHTTP implements [http.Handler].
func (r *orderedReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var envelope struct {
		Data orderedEvent `json:"data"`
	}
	body, err := io.ReadAll(request.Body)
	if err != nil || json.Unmarshal(body, &envelope) != nil { // the hub that sent it was killed
		return
	}
	event := envelope.Data
	r.mu.Lock()
	defer r.mu.Unlock()
	earlier := r.arrivals[event.Key]
	isFirst := len(earlier) == 0 || event.N > earlier[len(earlier)-1].n
	status := http.StatusOK
	switch {
	case r.isGone.Swap(false):
		status = http.StatusGone
	case isFirst && event.N%20 == 3:
		status = http.StatusInternalServerError
	default:
		r.accepted[event] = true
	}
	r.arrivals[event.Key] = append(earlier, orderedArrival{event.N, status == http.StatusOK})
	w.WriteHeader(status)
}

// disorders returns what arrived out of order, in words. Before an event come all those of its
// key that have smaller numbers, unless they were discarded. An event that was accepted may
// come again, but after a later one only when it was sent again by wish.
func (r *orderedReceiver) disorders(discarded, again map[orderedEvent]bool) (disorders []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, arrivals := range r.arrivals {
		accepted, newest := make(map[int]bool), 0
		for _, arrival := range arrivals {
			if arrival.n < newest && !(accepted[arrival.n] && again[orderedEvent{key, arrival.n}]) {
				disorders = append(disorders, fmt.Sprintf("%s: %d arrived after %d", key, arrival.n, newest))
			}
			for n := newest; n < arrival.n; n++ {
				if n > 0 && !accepted[n] && !discarded[orderedEvent{key, n}] {
					disorders = append(disorders, fmt.Sprintf("%s: %d arrived before %d was accepted", key, arrival.n, n))
				}
			}
			newest = max(newest, arrival.n)
			accepted[arrival.n] = accepted[arrival.n] || arrival.accepted
		}
	}
	return disorders
}

// isAccepted reports whether an event was accepted.
func (r *orderedReceiver) isAccepted(event orderedEvent) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted[event]
}

// orderedEndpoint is an ordered endpoint whose state and deliveries a test changes. Calls fail
// while the hub they go to is away.
type orderedEndpoint struct {
	bed      *testbed
	id       string
	tenant   string
	receiver *orderedReceiver
}

// call calls the API of one of the hubs and reports whether it succeeded.
func (e *orderedEndpoint) call(ctx context.Context, method, path string, body any) bool {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	api := e.bed.api
	api.BaseURL = e.bed.replicas[rand.IntN(len(e.bed.replicas))].baseURL()
	return api.Call(ctx, method, path, body, nil) == nil
}

func (e *orderedEndpoint) setEnabled(ctx context.Context, enabled bool) bool {
	return e.call(ctx, http.MethodPut, "/endpoints/"+e.id, map[string]any{"url": e.receiver.url, "event_types": []string{"*"}, "ordered": true, "enabled": enabled})
}

// act discards or retries some delivery with one of the statuses, and reports whether it did.
func (e *orderedEndpoint) act(ctx context.Context, action string, statuses ...int) bool {
	var id string
	err := e.bed.pool.QueryRow(ctx, `select id from hub.deliveries where target_id = $1 and status = any($2) order by random() limit 1`, e.id, statuses).Scan(&id)
	return err == nil && e.call(ctx, http.MethodPost, "/deliveries/"+id+"/"+action, nil)
}

// discardHead discards the first delivery of some key.
func (e *orderedEndpoint) discardHead(ctx context.Context) {
	var id string
	err := e.bed.pool.QueryRow(ctx, `select head from hub.ordering_keys where target_id = $1 and waiting > 1 order by random() limit 1`, e.id).Scan(&id)
	if err == nil {
		e.call(ctx, http.MethodPost, "/deliveries/"+id+"/discard", nil)
	}
}

// change disables and enables the endpoint, has its receiver answer 410, discards what waits
// and sends deliveries again, until ctx ends.
func (e *orderedEndpoint) change(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		switch n % 6 {
		case 0:
			e.setEnabled(ctx, false)
			runLoad(time.Duration(rand.IntN(100)) * time.Millisecond)
		case 1:
			e.receiver.isGone.Store(true)
			runLoad(time.Duration(rand.IntN(100)) * time.Millisecond)
		case 2:
			e.act(ctx, "discard", 0, 2)
		case 3:
			e.discardHead(ctx)
		case 4:
			e.act(ctx, "retry", 0, 2)
		case 5:
			e.act(ctx, "retry", 1)
		}
		e.setEnabled(ctx, true)
	}
}

// events returns the endpoint's deliveries that match a condition, by their events.
func (e *orderedEndpoint) events(where string) map[orderedEvent]bool {
	e.bed.t.Helper()
	rows, err := e.bed.pool.Query(e.bed.t.Context(), `
		select body->'data'->>'key', (body->'data'->>'n')::int
		from hub.deliveries d join (select id, convert_from(body, 'utf8')::jsonb as body from hub.events where tenant_id = $2) e on e.id = d.event_id
		where d.target_id = $1 and `+where, e.id, e.tenant)
	require.NoError(e.bed.t, err)
	defer rows.Close()
	events := make(map[orderedEvent]bool)
	for rows.Next() {
		var event orderedEvent
		require.NoError(e.bed.t, rows.Scan(&event.Key, &event.N))
		events[event] = true
	}
	require.NoError(e.bed.t, rows.Err())
	return events
}

// endLeases makes the leases of killed hubs end now. No hub may run.
func (bed *testbed) endLeases() {
	bed.t.Helper()
	for _, statement := range []string{
		`update hub.leases set due_at = now()`,
		`update hub.deliveries set due_at = now() where status = 0 and due_at > now() and due_at < 'infinity'`,
	} {
		_, err := bed.pool.Exec(bed.t.Context(), statement)
		require.NoError(bed.t, err)
	}
}

// While both replicas are killed, one after the other, also when they drain what was parked,
// and Redis is emptied, an ordered endpoint is disabled and enabled, answers 410, and its
// deliveries are discarded and sent again: no event of a key arrives before an earlier one, but
// for those that were discarded, and nothing else is lost.
func TestChaosOrderChanges(t *testing.T) {
	t.Parallel()
	bed := newTestbed(t, receiver.Options{})
	bed.isDraining, bed.isResending = true, true
	first, second := bed.newReplica("a"), bed.newReplica("b")
	first.startReady()
	bed.setUp(first)
	second.startReady()
	tenant, apiKey := bed.newTenant()
	endpoint := &orderedEndpoint{bed: bed, tenant: tenant, receiver: serveOrderedChanges(t)}
	var made struct{ ID string }
	require.NoError(t, bed.api.Call(t.Context(), http.MethodPost, "/endpoints", map[string]any{"tenant_id": tenant, "url": endpoint.receiver.url, "event_types": []string{"*"}, "ordered": true}, &made))
	endpoint.id = made.ID

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	published := bed.startOrdered(ctx, apiKey, publisherMode{hasIDs: true}, publisherMode{hasIDs: true, isBatch: true})
	var changes sync.WaitGroup
	changes.Go(func() { endpoint.change(ctx) })
	killedAt := [2]string{} // where the hubs are killed, "" = wherever they are
	for round := range changeRounds * max(1, *killsPerFailpoint/3) {
		runLoad(time.Duration(500+rand.IntN(400)) * time.Millisecond)
		for n := range bed.replicas {
			replica := (round + n) % 2
			if killedAt[replica] == "" {
				bed.replicas[replica].process.Kill()
			}
			bed.replicas[replica].awaitKilled(killedAt[replica])
			if n == 0 && round%changeRounds == 1 {
				bed.redis.FlushAll()
			}
		}
		bed.endLeases()
		killedAt = changeFailpoints[round%changeRounds]
		first.start(killedAt[0])
		second.start(killedAt[1])
	}
	first.awaitReady()
	second.awaitReady()
	bed.await(recoveryTime, "a delivered one is sent again", func() bool { return endpoint.act(t.Context(), "retry", 1) })
	stop()
	changes.Wait()
	last := published.stop()
	endpoint.receiver.isGone.Store(false)
	took := bed.await(2*leaseTime, "everything is delivered or discarded", func() bool {
		if bed.queryInt(`select count(*) from hub.endpoints where id = $1 and not enabled`, endpoint.id) > 0 { // the last 410 came late
			endpoint.setEnabled(t.Context(), true)
		}
		_, err := bed.pool.Exec(t.Context(), `update hub.drains set due_at = now() where state = 'waiting'`) // trials begin after 30 s
		return err == nil && bed.queryInt(`select count(*) from hub.deliveries where target_id = $1 and status in (0, 2)`, endpoint.id) == 0
	})
	bed.awaitSettled(leaseTime + recoveryTime)

	discarded, again := endpoint.events(`d.reason = 'discarded'`), endpoint.events(`d.out_of_order`)
	require.Empty(t, endpoint.receiver.disorders(discarded, again))
	total := 0
	for key, n := range last {
		total += n
		for ; n > 0; n-- {
			event := orderedEvent{key, n}
			require.True(t, discarded[event] || endpoint.receiver.isAccepted(event), "%v is lost", event)
		}
	}
	parked := bed.queryInt(`select coalesce(sum(parked), 0) from (select parked from hub.rollup_deltas where target_id = $1 union all select parked from hub.statistics where scope_id = $1 and scope = 2 and width = 1) p`, endpoint.id)
	t.Logf("%d events, %d discarded, %d sent again out of order, %d times parked; settled %s after the last change", total, len(discarded), len(again), parked, took.Round(time.Millisecond))
	require.NotEmpty(t, discarded)
	require.NotEmpty(t, again)
	require.Positive(t, parked)
	require.Zero(t, bed.queryInt(`select coalesce(sum(waiting), 0) + (select count(*) from hub.ordering_queue) from hub.ordering_keys`), "no place is taken for ever")
	bed.requireSums()
	bed.requireNotLogged("panic")
}
