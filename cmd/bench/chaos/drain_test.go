package chaos

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"integrationhub/cmd/bench/internal/receiver"
	"integrationhub/cmd/bench/internal/records"
)

const (
	drainedEvents   = 600
	unsettledEvents = 20 // arrivals of a drain after which the hub is killed, wherever it is
)

// drainFailpoints are the places at which a hub that drains is killed, with the pass. "" is
// wherever it is after some arrivals.
var drainFailpoints = []string{"drain_before_commit:3", "drain_after_commit:3", "during_post:10", "", "after_response:10", "before_attempt_row:3"}

// An endpoint was disabled and is enabled again. The hub is killed again and again while it
// drains what was parked meanwhile, in the middle of it: each parked delivery arrives all the
// same, again only where it was under way at a kill, and the drain ends.
func TestChaosKilledWhileDraining(t *testing.T) {
	t.Parallel()
	bed := newTestbed(t, receiver.Options{})
	replica := bed.newReplica("a")
	replica.startReady()
	bed.setUp(replica)
	endpoint, number := bed.subscribe(outageType)
	var arrived atomic.Int32
	bed.responders[number] = func(request *fasthttp.RequestCtx, _ records.Arrival) uint16 {
		arrived.Add(1)
		request.SetStatusCode(http.StatusOK)
		return http.StatusOK
	}
	enable := func(enabled bool) {
		t.Helper()
		settings := map[string]any{"url": bed.receiverURL + "/hook/" + strconv.FormatUint(uint64(number), 10), "event_types": []string{outageType}, "enabled": enabled}
		require.NoError(t, bed.api.Call(t.Context(), http.MethodPut, "/endpoints/"+endpoint, settings, nil))
	}
	enable(false)
	publisher := bed.startPublisher() // publishes only what publishOne sends
	for range drainedEvents {
		publisher.publishOne(replica, outageType)
	}
	count := func(status int) int {
		return bed.queryInt(`select count(*) from hub.deliveries where target_id = $1 and status = $2`, endpoint, status)
	}
	bed.await(leaseTime, "everything is parked", func() bool { return count(2) == drainedEvents })
	bed.awaitSettled(leaseTime)
	require.Zero(t, arrived.Load())

	kills := &killRecord{pendingAtKills: make(map[records.DeliveryKey]int)}
	for i, place := range drainFailpoints {
		replica.process.Kill()
		replica.start(place)
		if i == 0 {
			replica.awaitReady()
			enable(true)
		}
		before := arrived.Load()
		if place == "" {
			bed.await(leaseTime+recoveryTime, "the drain goes on", func() bool { return arrived.Load() >= before+unsettledEvents })
			replica.process.Kill()
		}
		replica.awaitKilled(place)
		kills.add(bed)
		parked, pending := count(2), count(0)
		t.Logf("killed at %q: %d parked, %d pending, %d delivered; %d arrived", place, parked, pending, count(1), arrived.Load()-before)
		require.Positive(t, parked, "in the middle of the drain")
		require.Equal(t, 1, bed.queryInt(`select count(*) from hub.drains where target_id = $1`, endpoint))
	}
	replica.startReady()
	took := bed.await(2*leaseTime+recoveryTime, "each is delivered", func() bool { return count(1) == drainedEvents })
	t.Logf("everything delivered %s after the last kill", took.Round(time.Millisecond))
	bed.await(2*leaseTime+recoveryTime, "the drain ends", func() bool { return bed.queryInt(`select count(*) from hub.drains`) == 0 })
	delivered := make(map[uint64]bool, drainedEvents)
	for _, arrival := range bed.deliveredAfter(number, time.Unix(0, 0)) {
		delivered[arrival.ID] = true
	}
	require.Len(t, delivered, drainedEvents, "each arrives at least once")
	bed.unparked, bed.isDraining = drainedEvents, true
	balance := bed.requireBalance(publisher, publisher.stop())
	require.Zero(t, balance.Waiting)
	require.Zero(t, balance.Lost)
	kills.requireExplained(bed)
	bed.requireNotLogged("panic")
}
