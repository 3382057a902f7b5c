package chaos

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"integrationhub/cmd/bench/internal/receiver"
	"integrationhub/cmd/bench/internal/records"
)

// outageType is the event type of the endpoint that is down or defers.
const outageType = "chaos.day"

// delivery is a delivery in a response of the API.
type delivery struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Retries int    `json:"retries"`
}

// deliveries lists an endpoint's deliveries with a status ("" = any), at most a page.
func (bed *testbed) deliveries(endpoint, status string) []delivery {
	bed.t.Helper()
	var page struct {
		Items []delivery `json:"items"`
	}
	path := "/deliveries?limit=200&endpoint_id=" + endpoint
	if status != "" {
		path += "&status=" + status
	}
	require.NoError(bed.t, bed.api.Call(bed.t.Context(), http.MethodGet, path, nil, &page))
	return page.Items
}

// restartAt stops a hub by SIGTERM and starts it with its clock put forward. Sessions
// have expired by then: the test's client signs in again.
func (h *replica) restartAt(later time.Duration) {
	bed := h.bed
	bed.t.Helper()
	require.NoError(bed.t, h.process.Signal(syscall.SIGTERM))
	<-h.process.Exited()
	require.NoError(bed.t, h.process.Err(), h.process.LogTail())
	h.clockOffset = later
	h.startReady()
	h.requireClock()
	require.NoError(bed.t, bed.api.SignIn(bed.t.Context(), bed.password))
}

// publishOne publishes one event of a type and records it.
func (p *publisher) publishOne(h *replica, kind string) {
	h.bed.t.Helper()
	event := newEventOfType(p.next.Add(1), kind)
	p.post(&fasthttp.HostClient{Addr: h.address}, h.baseURL(), &event)
	require.EqualValues(h.bed.t, http.StatusAccepted, event.sent.Status)
	p.record(event)
}

// A receiver may defer a delivery with Retry-After for 24 hours, without using up
// attempts. Then the delivery is parked.
func TestChaosPutOffForADay(t *testing.T) {
	t.Parallel()
	bed := newTestbed(t, receiver.Options{})
	replica := bed.newReplica("a")
	replica.startReady()
	bed.setUp(replica)
	endpoint, number := bed.subscribe(outageType)
	var asked atomic.Int32
	var ready atomic.Bool
	bed.responders[number] = func(request *fasthttp.RequestCtx, _ records.Arrival) uint16 {
		status := [...]int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[asked.Add(1)%2]
		if ready.Load() {
			status = http.StatusOK
		}
		request.Response.Header.Set("Retry-After", "1")
		request.SetStatusCode(status)
		return uint16(status)
	}
	publisher := bed.startPublisher() // publishes only what publishOne sends
	publisher.publishOne(replica, outageType)
	awaitAttempts := func(n int32) {
		t.Helper()
		bed.await(recoveryTime, "it is attempted again", func() bool { return asked.Load() >= n })
	}
	awaitAttempts(6) // more than the four attempts there are
	delivery := bed.deliveries(endpoint, "")[0]
	require.Equal(t, "pending", delivery.Status)
	before := asked.Load()
	replica.restartAt(24*time.Hour - 75*time.Second)
	awaitAttempts(before + 1) // then it waits for the rest of the day, by the database's clock
	delivery = bed.deliveries(endpoint, "")[0]
	require.Equal(t, "pending", delivery.Status)
	require.GreaterOrEqual(t, delivery.Retries, 6)
	replica.restartAt(24*time.Hour + time.Minute)
	bed.await(2*recoveryTime, "it is parked", func() bool { return bed.deliveries(endpoint, "")[0].Status == "parked" })
	delivery = bed.deliveries(endpoint, "")[0]
	require.Equal(t, "deferred_too_long", delivery.Reason)
	ready.Store(true)
	require.NoError(t, bed.api.Call(t.Context(), http.MethodPost, "/deliveries/"+delivery.ID+"/retry", nil, nil))
	bed.await(recoveryTime, "it is delivered on request", func() bool { return bed.deliveries(endpoint, "")[0].Status == "delivered" })
	bed.unparked = 1
	balance := bed.requireBalance(publisher, publisher.stop())
	require.Zero(t, balance.Duplicated)
	require.Zero(t, balance.Waiting)
}

const (
	missedEvents      = 90  // while the receiver is down
	liveEvents        = 8   // during the drain
	attemptsPerMinute = 600 // rate limit of the endpoint afterwards

	firstTrial = 30 * time.Second // after the first parking, by the database's clock
)

// A receiver is down for a day. What it missed is parked; when it is back, the endpoint's
// drain sends that by itself, at the receiver's rate, oldest first. Live events to it and to
// other endpoints go on meanwhile.
func TestChaosReceiverDownForADay(t *testing.T) {
	t.Parallel()
	bed := newTestbed(t, receiver.Options{})
	replica := bed.newReplica("a")
	replica.startReady()
	bed.setUp(replica)
	endpoint, number := bed.subscribe(outageType)
	var up atomic.Bool
	bed.responders[number] = func(request *fasthttp.RequestCtx, _ records.Arrival) uint16 {
		status := http.StatusOK
		if !up.Load() {
			status = http.StatusBadGateway
		}
		request.SetStatusCode(status)
		return uint16(status)
	}
	publisher := bed.startPublisher()
	for range missedEvents {
		publisher.publishOne(replica, outageType)
	}
	bed.await(leaseTime+2*recoveryTime, "everything it missed is parked", func() bool { return len(bed.deliveries(endpoint, "parked")) == missedEvents })
	rate := map[string]any{"url": bed.receiverURL + "/hook/" + strconv.FormatUint(uint64(number), 10), "event_types": []string{outageType}, "rate_per_minute": attemptsPerMinute}
	require.NoError(t, bed.api.Call(t.Context(), http.MethodPut, "/endpoints/"+endpoint, rate, nil))
	back := time.Now()
	up.Store(true)
	replica.restartAt(24 * time.Hour)
	live := bed.startPublisherFrom(1<<40, replica.baseURL())
	bed.await(firstTrial+recoveryTime, "the drain has begun", func() bool { return len(bed.deliveredAfter(number, back)) > 0 })
	for range liveEvents {
		publisher.publishOne(replica, outageType)
		runLoad(time.Second)
	}
	bed.await(2*recoveryTime, "it has everything", func() bool { return len(bed.deliveredAfter(number, back)) == missedEvents+liveEvents })
	sent := slices.Concat(publisher.stop(), live.stop())
	bed.awaitSettled(recoveryTime)

	drained := bed.deliveredAfter(number, back)
	interval := time.Minute / attemptsPerMinute
	took := time.Duration(drained[len(drained)-1].ArrivedAt - drained[0].ArrivedAt)
	require.GreaterOrEqual(t, took, time.Duration(len(drained))*interval*9/10, "paced")
	require.Less(t, took, time.Duration(len(drained))*interval*3, "pacing is no standstill")
	newest, missed, alive := uint64(0), 0, 0
	for _, arrival := range drained {
		switch {
		case arrival.Number <= missedEvents:
			require.Greater(t, arrival.Number+2*endpointInFlight, newest, "oldest first, but for those that were taken up together")
			newest = max(newest, arrival.Number)
			missed++
		case missed < missedEvents:
			alive++
		}
	}
	require.Equal(t, missedEvents, missed)
	var neighbours []records.Sent
	for _, endpoint := range []uint32{0, 1} {
		for _, arrival := range bed.deliveredAfter(endpoint, back) {
			neighbours = append(neighbours, records.Sent{SentAt: arrival.SentAt, AnsweredAt: arrival.ArrivedAt})
		}
	}
	require.Greater(t, len(neighbours), 200, "enough for a percentile; a busy machine sends fewer")
	p99 := percentile(neighbours, 0.99)
	t.Logf("%d deliveries drained in %s, %d of %d live ones among them; %d of neighbours meanwhile, p99 %s", missedEvents, took.Round(time.Millisecond), alive, liveEvents, len(neighbours), p99)
	require.Less(t, p99, took/2, "neighbours do not wait behind the drain")
	bed.unparked = missedEvents
	balance := bed.requireBalance(publisher, sent)
	require.Zero(t, balance.Duplicated)
}

// A delivery that stays parked for 15 days is failed, with the reason, by both the hub's clock
// and the database's. A hub whose clock alone is as far says that one of them is wrong. The hub
// that accepts the event lives in the past, so that its id is old enough at the end.
func TestChaosParkedForTooLong(t *testing.T) {
	t.Parallel()
	const longest, hour = 15 * 24 * time.Hour, time.Hour
	bed := newTestbed(t, receiver.Options{})
	replica := bed.newReplica("a")
	replica.clockOffset = -longest - hour
	replica.startReady()
	bed.setUp(replica)
	publisher := bed.startPublisher()
	publisher.publishOne(replica, goneType)
	gone := bed.goneEndpoint
	bed.await(2*recoveryTime, "it is parked", func() bool { return len(bed.deliveries(gone, "parked")) == 1 })
	parkedFor := func(age time.Duration) {
		_, err := bed.pool.Exec(t.Context(), `update hub.deliveries set parked_at = now() - $1::interval, finished_at = now() - $1::interval where status = 2`, age)
		require.NoError(t, err)
	}
	parkedFor(longest - hour)
	replica.restartAt(3 * hour)
	bed.await(recoveryTime, "it says that its clock is wrong", func() bool {
		return strings.Contains(replica.process.LogTail(), "decides about what is too old to keep")
	})
	require.Equal(t, "parked", bed.deliveries(gone, "")[0].Status)
	replica.restartAt(0)
	require.Equal(t, "parked", bed.deliveries(gone, "")[0].Status)
	parkedFor(longest + hour)
	replica.restartAt(0)
	bed.await(recoveryTime, "it is given up", func() bool { return bed.deliveries(gone, "")[0].Status == "failed" })
	require.Equal(t, "expired", bed.deliveries(gone, "")[0].Reason)
	bed.unparked = 1
	bed.requireBalance(publisher, publisher.stop())
}

// deliveredAfter returns an endpoint's delivered requests after a moment, in order of arrival.
func (bed *testbed) deliveredAfter(endpoint uint32, after time.Time) []records.Arrival {
	var list []records.Arrival
	for _, arrival := range bed.receiver.Arrivals() {
		if arrival.Endpoint == endpoint && arrival.Delivered() && arrival.ArrivedAt > after.UnixNano() {
			list = append(list, arrival)
		}
	}
	return list
}
