package chaos

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"integrationhub/cmd/bench/internal/receiver"
	"integrationhub/cmd/bench/internal/records"
)

// misbehavingType is the event type of the endpoints that misbehave.
const misbehavingType = "chaos.odd"

// redirectTarget is the number of the endpoint that redirects lead to. It is not subscribed.
const redirectTarget = 1000

// zeroReader is endless. It counts the bytes read where readBytes is set.
type zeroReader struct{ readBytes *atomic.Int64 }

func (z zeroReader) Read(p []byte) (int, error) {
	clear(p)
	if z.readBytes != nil {
		z.readBytes.Add(int64(len(p)))
	}
	return len(p), nil
}

// misbehavingReceivers is a testbed with an endpoint for each way to misbehave.
type misbehavingReceivers struct {
	*testbed
	stopping          chan struct{} // closed at the end: releases what hangs
	floodedBytes      atomic.Int64  // bytes written of endless bodies
	followedRedirects atomic.Int64  // requests at redirectTarget
	gzipBomb          []byte        // 100 MB when unpacked
}

func (bed *misbehavingReceivers) responderByName() map[string]responder {
	var seen sync.Map
	return map[string]responder{
		"hangs": func(*fasthttp.RequestCtx, records.Arrival) uint16 {
			<-bed.stopping
			return 0
		},
		"drips": func(request *fasthttp.RequestCtx, _ records.Arrival) uint16 { // a slowloris that responds
			conn := request.Conn()
			tick := time.NewTicker(200 * time.Millisecond)
			defer tick.Stop()
			for _, char := range []byte("HTTP/1.1 200 OK\r\nX-Slow: " + strings.Repeat("a", 1000)) {
				if _, err := conn.Write([]byte{char}); err != nil {
					break
				}
				<-tick.C
			}
			return 0
		},
		"floods": func(request *fasthttp.RequestCtx, _ records.Arrival) uint16 {
			request.SetBodyStream(io.LimitReader(zeroReader{&bed.floodedBytes}, 10<<30), 10<<30)
			return 200
		},
		"bombs": func(request *fasthttp.RequestCtx, _ records.Arrival) uint16 {
			request.Response.Header.Set("Content-Encoding", "gzip")
			request.SetBody(bed.gzipBomb)
			return 200
		},
		"redirects": func(request *fasthttp.RequestCtx, _ records.Arrival) uint16 {
			request.Response.Header.Set("Location", bed.receiverURL+"/hook/"+strconv.Itoa(redirectTarget))
			request.SetStatusCode(http.StatusFound)
			return http.StatusFound
		},
		"delays": func(request *fasthttp.RequestCtx, arrival records.Arrival) uint16 {
			if _, again := seen.LoadOrStore(arrival.ID, true); again {
				return 200
			}
			request.Response.Header.Set("Retry-After", "2")
			request.SetStatusCode(http.StatusTooManyRequests)
			return http.StatusTooManyRequests
		},
		"resets": func(request *fasthttp.RequestCtx, _ records.Arrival) uint16 {
			_ = request.Conn().(*net.TCPConn).SetLinger(0) // close with RST
			_ = request.Conn().Close()
			return 0
		},
	}
}

// A receiver can hang, drip, flood, bomb, redirect, defer or reset. Its attempts end in
// time, cost little and settle by the rules of delivery; other endpoints are not affected.
func TestChaosReceivers(t *testing.T) {
	t.Parallel()
	bed := &misbehavingReceivers{testbed: newTestbed(t, receiver.Options{}), stopping: make(chan struct{}), gzipBomb: gzipOfZeros(t, 100<<20)}
	t.Cleanup(func() { close(bed.stopping) })
	bed.hubSettings = []string{"HUB_DELIVERY_CONCURRENCY=256"} // more than the misbehaving endpoints together can occupy
	replica := bed.newReplica("a")
	replica.startReady()
	bed.setUp(replica)
	ids := make(map[string]string)
	bed.responders[redirectTarget] = func(*fasthttp.RequestCtx, records.Arrival) uint16 {
		bed.followedRedirects.Add(1)
		return 200
	}
	for name, behave := range bed.responderByName() { // nothing is sent yet, so the map has no readers
		id, number := bed.subscribe(misbehavingType)
		ids[name], bed.responders[number] = id, behave
	}
	const odd = endpointInFlight
	publisher := bed.startPublisher(replica.baseURL())
	client := &fasthttp.HostClient{Addr: replica.address, MaxConns: 1}
	for n := range uint64(odd) {
		event := newEventOfType(1<<40+n, misbehavingType)
		publisher.post(client, replica.baseURL(), &event)
		require.EqualValues(t, http.StatusAccepted, event.sent.Status)
		require.EqualValues(t, 2+len(ids), event.sent.Deliveries)
		publisher.record(event)
	}
	bed.await(20*time.Second, "the hanging attempts are given up", func() bool {
		return bed.queryInt(`select count(*) from hub.attempts a join hub.deliveries d on d.id = a.delivery_id
			where d.target_id = any($1)`, []string{ids["hangs"], ids["drips"]}) >= 2*odd
	})
	peak := residentMemory(t, replica.process.Pid())
	sent := publisher.stop()
	replica.process.Kill() // so that the log stands still
	bed.requireRules(ids, odd)
	require.Less(t, peak, int64(256<<20), "memory of the hub while it is flooded and bombed")
	require.Less(t, bed.floodedBytes.Load(), int64(odd*8<<20), "an endless body is not read, apart from what the kernel buffers")
	balance := bed.requireBalance(publisher, sent)
	require.Zero(t, balance.Duplicated)
	took := bed.wellBehavedP99()
	t.Logf("p99 of the well-behaved endpoints, from the send to the arrival: %s; hub's memory %d MB", took, peak>>20)
	require.Less(t, took, 5*time.Second, "nobody waits behind attempts that hang for ten seconds")
}

// requireRules fails the test unless the log of each endpoint obeys the rules of delivery.
func (bed *misbehavingReceivers) requireRules(ids map[string]string, odd int) {
	t := bed.t
	t.Helper()
	in := func(name, where string) int {
		return bed.queryInt(`select count(*) from hub.deliveries d where target_id = $1 and `+where, ids[name])
	}
	attempts := func(name, where string) int {
		return bed.queryInt(`
			select count(*) from (
				select delivery_id, error, total_us, response_body from hub.attempts
				union all
				select id, null, total_us, response_body from hub.deliveries where started_at is not null) a
			where delivery_id in (select id from hub.deliveries where target_id = $1) and `+where, ids[name])
	}
	for _, name := range []string{"hangs", "drips"} {
		require.Equal(t, odd, in(name, `status = 0 and status_code is null and attempts = 1`), name)
		require.Equal(t, odd, attempts(name, `error like '%timed out%' and total_us between 9900000 and 11000000`), name)
	}
	for _, name := range []string{"floods", "bombs"} {
		require.Equal(t, odd, in(name, `status = 1 and status_code = 200 and attempts = 1`), name)
		require.Equal(t, odd, attempts(name, `length(response_body) between 1 and 4096`), name)
	}
	require.Equal(t, odd, in("redirects", `status = 0 and status_code = 302 and spent >= 2`))
	require.Zero(t, bed.followedRedirects.Load(), "a redirect is never followed")
	require.Equal(t, odd, in("delays", `status = 1 and attempts = 2 and spent = 1`), "an attempt that was put off is not used up")
	require.Equal(t, odd, in("delays", `(select max(started_at) - min(started_at) from hub.attempts where delivery_id = d.id)
		between interval '2 seconds' and interval '4 seconds'`), "Retry-After: 2")
	require.Equal(t, odd, in("resets", `status = 0 and status_code is null and spent >= 2`))
	require.Equal(t, attempts("resets", `true`), attempts("resets", `error like '%the peer%'`))
}

// wellBehavedP99 is the p99 of the latency to the endpoints that behave.
func (bed *misbehavingReceivers) wellBehavedP99() time.Duration {
	var ways []records.Sent
	for _, a := range bed.receiver.Arrivals() {
		if a.Endpoint < 2 {
			ways = append(ways, records.Sent{SentAt: a.SentAt, AnsweredAt: a.ArrivedAt})
		}
	}
	return percentile(ways, 0.99)
}

func gzipOfZeros(t *testing.T, size int64) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := io.Copy(w, io.LimitReader(zeroReader{}, size))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return packed.Bytes()
}

// residentMemory is the high-water mark of a living process, in bytes.
func residentMemory(t *testing.T, pid int) int64 {
	t.Helper()
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(raw), "VmHWM:")
	require.True(t, found)
	kilobytes, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	require.NoError(t, err)
	return kilobytes << 10
}
