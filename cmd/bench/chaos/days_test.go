package chaos

import (
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"integrationhub/cmd/bench/internal/receiver"
	"integrationhub/cmd/bench/internal/records"
)

// dayType is the type of the events for the endpoint a test keeps from answering.
const dayType = "chaos.day"

// found is a delivery as the API shows it.
type found struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Retries int    `json:"retries"`
}

// deliveries asks the API for the deliveries of an endpoint, at most a page.
func (w *world) deliveries(endpoint, status string) []found {
	w.t.Helper()
	var page struct {
		Items []found `json:"items"`
	}
	path := "/deliveries?limit=200&endpoint_id=" + endpoint
	if status != "" {
		path += "&status=" + status
	}
	require.NoError(w.t, w.api.Call(w.t.Context(), http.MethodGet, path, nil, &page))
	return page.Items
}

// restartAt stops a hub as an operator does and starts it with its clock so much
// later than the world's; whoever calls its API logs in anew.
func (h *hubUnderTest) restartAt(later time.Duration) {
	w := h.world
	w.t.Helper()
	require.NoError(w.t, h.process.Signal(syscall.SIGTERM))
	<-h.process.Exited()
	require.NoError(w.t, h.process.Err(), h.process.LogTail())
	h.clock = later
	h.ready()
	h.requireClock()
	require.NoError(w.t, w.api.SignIn(w.t.Context(), w.password))
}

// sendOne publishes one event of a type and keeps it for the ledger.
func (p *publisher) sendOne(h *hubUnderTest, kind string) {
	h.world.t.Helper()
	e := chaosEventOf(p.next.Add(1), kind)
	p.post(&fasthttp.HostClient{Addr: h.address}, h.base(), &e)
	require.EqualValues(h.world.t, http.StatusAccepted, e.sent.Status)
	p.keep(e)
}

// A receiver may put a delivery off with Retry-After for 24 hours, and not longer;
// none of that uses up an attempt. Then the delivery is parked, and not lost.
func TestChaosPutOffForADay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, receiver.Options{})
	h := w.newHub("a")
	h.ready()
	w.furnish(h)
	endpoint, number := w.endpoint(dayType)
	var asked atomic.Int32
	var ready atomic.Bool
	w.odd[number] = func(c *fasthttp.RequestCtx, _ records.Arrival) uint16 {
		status := [...]int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[asked.Add(1)%2]
		if ready.Load() {
			status = http.StatusOK
		}
		c.Response.Header.Set("Retry-After", "1")
		c.SetStatusCode(status)
		return uint16(status)
	}
	p := w.publish() // nothing by itself
	p.sendOne(h, dayType)
	more := func(n int32) {
		t.Helper()
		until := asked.Load() + n
		w.await(recoverTime, "it is attempted again", func() bool { return asked.Load() >= until })
	}
	more(6) // more than the four attempts there are
	delivery := w.deliveries(endpoint, "")[0]
	require.Equal(t, "pending", delivery.Status)
	h.restartAt(23*time.Hour + 55*time.Minute)
	more(3)
	delivery = w.deliveries(endpoint, "")[0]
	require.Equal(t, "pending", delivery.Status)
	require.GreaterOrEqual(t, delivery.Retries, 7)
	h.restartAt(24*time.Hour + time.Minute)
	w.await(recoverTime, "it is parked", func() bool { return w.deliveries(endpoint, "")[0].Status == "parked" })
	delivery = w.deliveries(endpoint, "")[0]
	require.Equal(t, "deferred_too_long", delivery.Reason)
	ready.Store(true)
	require.NoError(t, w.api.Call(t.Context(), http.MethodPost, "/deliveries/"+delivery.ID+"/retry", nil, nil))
	w.await(recoverTime, "it is delivered on request", func() bool { return w.deliveries(endpoint, "")[0].Status == "delivered" })
	w.released = 1
	b := w.balance(p, p.stop())
	require.Zero(t, b.Duplicated)
	require.Zero(t, b.Waiting)
}

const (
	dayEvents = 90  // what a receiver misses in its day
	dayLive   = 8   // what it is sent while it gets that
	dayRate   = 600 // attempts a minute it takes afterwards
)

// A receiver is down for a day. What it missed is parked; when it is back, a
// replay drains that at the receiver's rate, oldest first, while live events go
// on, here and to the others. What nobody asks for within 15 days is failed.
func TestChaosReceiverDownForADay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, receiver.Options{})
	h := w.newHub("a")
	h.ready()
	w.furnish(h)
	endpoint, number := w.endpoint(dayType)
	var up atomic.Bool
	w.odd[number] = func(c *fasthttp.RequestCtx, _ records.Arrival) uint16 {
		status := http.StatusOK
		if !up.Load() {
			status = http.StatusBadGateway
		}
		c.SetStatusCode(status)
		return uint16(status)
	}
	p := w.publish()
	for range dayEvents {
		p.sendOne(h, dayType)
	}
	w.await(leaseTime+2*recoverTime, "everything it missed is parked", func() bool { return len(w.deliveries(endpoint, "parked")) == dayEvents })
	h.restartAt(24 * time.Hour)
	up.Store(true)
	rate := map[string]any{"url": w.hooks + "/hook/" + strconv.FormatUint(uint64(number), 10), "event_types": []string{dayType}, "rate_per_minute": dayRate}
	require.NoError(t, w.api.Call(t.Context(), http.MethodPut, "/endpoints/"+endpoint, rate, nil))
	filter := map[string]any{"endpoint_id": endpoint, "status": "parked"}
	var dry struct {
		Count int `json:"count"`
	}
	require.NoError(t, w.api.Call(t.Context(), http.MethodPost, "/replays", map[string]any{"filter": filter, "dry_run": true}, &dry))
	require.Equal(t, dayEvents, dry.Count)
	back := time.Now()
	require.NoError(t, w.api.Call(t.Context(), http.MethodPost, "/replays", map[string]any{"filter": filter}, nil))
	live := w.publishFrom(1<<40, h.base())
	w.await(recoverTime, "the drain has begun", func() bool { return len(w.taken(number, back)) > 0 })
	for range dayLive {
		p.sendOne(h, dayType)
		loadFor(time.Second)
	}
	w.await(2*recoverTime, "it has everything", func() bool { return len(w.taken(number, back)) == dayEvents+dayLive })
	sent := slices.Concat(p.stop(), live.stop())
	w.drain(recoverTime)

	drained := w.taken(number, back)
	interval := time.Minute / dayRate
	took := time.Duration(drained[len(drained)-1].ArrivedAt - drained[0].ArrivedAt)
	require.GreaterOrEqual(t, took, time.Duration(len(drained))*interval*9/10, "paced")
	require.Less(t, took, time.Duration(len(drained))*interval*3, "pacing is no standstill")
	newest, missed, early := uint64(0), 0, 0
	for _, a := range drained {
		switch {
		case a.Number <= dayEvents:
			require.Greater(t, a.Number+2*endpointInFlight, newest, "oldest first, but for those that were taken up together")
			newest = max(newest, a.Number)
			missed++
		case missed < dayEvents:
			early++
		}
	}
	require.Equal(t, dayEvents, missed)
	var neighbours []records.Sent
	for _, endpoint := range []uint32{0, 1} {
		for _, a := range w.taken(endpoint, back) {
			neighbours = append(neighbours, records.Sent{SentAt: a.SentAt, AnsweredAt: a.ArrivedAt})
		}
	}
	require.Greater(t, len(neighbours), 1000)
	p99 := percentile(neighbours, 0.99)
	t.Logf("%d deliveries drained in %s, %d of %d live ones among them; %d of neighbours meanwhile, p99 %s", dayEvents, took.Round(time.Millisecond), early, dayLive, len(neighbours), p99)
	require.Less(t, p99, time.Second)
	w.released = dayEvents
	b := w.balance(p, sent)
	require.Zero(t, b.Duplicated)
}

// What nobody asks for within 15 days in the park is failed, with the reason.
func TestChaosParkedForTooLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, receiver.Options{})
	h := w.newHub("a")
	h.ready()
	w.furnish(h)
	p := w.publish()
	p.sendOne(h, goneType)
	gone := w.gone
	w.await(recoverTime, "it is parked", func() bool { return len(w.deliveries(gone, "parked")) == 1 })
	h.restartAt(15*24*time.Hour - time.Hour)
	require.Equal(t, "parked", w.deliveries(gone, "")[0].Status)
	h.restartAt(15*24*time.Hour + time.Hour)
	w.await(recoverTime, "it is given up", func() bool { return w.deliveries(gone, "")[0].Status == "failed" })
	require.Equal(t, "parked_too_long", w.deliveries(gone, "")[0].Reason)
	w.released = 1
	w.balance(p, p.stop())
}

// taken gives what an endpoint took after a moment, as it came.
func (w *world) taken(endpoint uint32, after time.Time) []records.Arrival {
	var list []records.Arrival
	for _, a := range w.receiver.Arrivals() {
		if a.Endpoint == endpoint && a.Delivered() && a.ArrivedAt > after.UnixNano() {
			list = append(list, a)
		}
	}
	return list
}
