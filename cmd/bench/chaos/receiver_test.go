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

// oddType is the type of the events that endless and hostile receivers subscribed to.
const oddType = "chaos.odd"

// trap is the number of the endpoint where redirects lead; nobody subscribed it.
const trap = 1000

// zeros is endless and counts what is taken of it, where it is told to.
type zeros struct{ taken *atomic.Int64 }

func (z zeros) Read(p []byte) (int, error) {
	clear(p)
	if z.taken != nil {
		z.taken.Add(int64(len(p)))
	}
	return len(p), nil
}

// oddWorld is a world with one endpoint for each way to misbehave.
type oddWorld struct {
	*world
	ended   chan struct{} // closed at the end: releases what hangs
	flooded atomic.Int64  // bytes the hub's machine took of endless bodies
	trapped atomic.Int64  // requests where a redirect leads to
	bomb    []byte        // 100 MB when unpacked
}

func (w *oddWorld) behaviours() map[string]behaviour {
	var seen sync.Map
	return map[string]behaviour{
		"hangs": func(*fasthttp.RequestCtx, records.Arrival) uint16 {
			<-w.ended
			return 0
		},
		"drips": func(c *fasthttp.RequestCtx, _ records.Arrival) uint16 { // slowloris, backwards
			conn := c.Conn()
			tick := time.NewTicker(200 * time.Millisecond)
			defer tick.Stop()
			for _, b := range []byte("HTTP/1.1 200 OK\r\nX-Slow: " + strings.Repeat("a", 1000)) {
				if _, err := conn.Write([]byte{b}); err != nil {
					break
				}
				<-tick.C
			}
			return 0
		},
		"floods": func(c *fasthttp.RequestCtx, _ records.Arrival) uint16 {
			c.SetBodyStream(io.LimitReader(zeros{&w.flooded}, 10<<30), 10<<30)
			return 200
		},
		"bombs": func(c *fasthttp.RequestCtx, _ records.Arrival) uint16 {
			c.Response.Header.Set("Content-Encoding", "gzip")
			c.SetBody(w.bomb)
			return 200
		},
		"redirects": func(c *fasthttp.RequestCtx, _ records.Arrival) uint16 {
			c.Response.Header.Set("Location", w.hooks+"/hook/"+strconv.Itoa(trap))
			c.SetStatusCode(http.StatusFound)
			return http.StatusFound
		},
		"delays": func(c *fasthttp.RequestCtx, a records.Arrival) uint16 {
			if _, again := seen.LoadOrStore(a.ID, true); again {
				return 200
			}
			c.Response.Header.Set("Retry-After", "2")
			c.SetStatusCode(http.StatusTooManyRequests)
			return http.StatusTooManyRequests
		},
		"resets": func(c *fasthttp.RequestCtx, _ records.Arrival) uint16 {
			_ = c.Conn().(*net.TCPConn).SetLinger(0) // close with RST
			_ = c.Conn().Close()
			return 0
		},
	}
}

// A receiver can hang, drip, flood, bomb, redirect, put off or reset: it is cut
// off in time, costs little, is judged by the rules, and its neighbours do not
// notice.
func TestChaosReceivers(t *testing.T) {
	t.Parallel()
	w := &oddWorld{world: newWorld(t, receiver.Options{}), ended: make(chan struct{}), bomb: gzipOfZeros(t, 100<<20)}
	t.Cleanup(func() { close(w.ended) })
	w.settings = []string{"HUB_DELIVERY_CONCURRENCY=256"} // more than the odd ones together may take
	h := w.newHub("a")
	h.ready()
	w.furnish(h)
	ids := make(map[string]string)
	w.odd[trap] = func(*fasthttp.RequestCtx, records.Arrival) uint16 {
		w.trapped.Add(1)
		return 200
	}
	for name, behave := range w.behaviours() { // nothing is sent yet, so the map has no readers
		id, number := w.endpoint(oddType)
		ids[name], w.odd[number] = id, behave
	}
	const odd = endpointInFlight
	p := w.publish(h.base())
	client := &fasthttp.HostClient{Addr: h.address, MaxConns: 1}
	for n := range uint64(odd) {
		e := chaosEventOf(1<<40+n, oddType)
		p.post(client, h.base(), &e)
		require.EqualValues(t, http.StatusAccepted, e.sent.Status)
		require.EqualValues(t, 2+len(ids), e.sent.Deliveries)
		p.keep(e)
	}
	w.await(20*time.Second, "the hanging attempts are given up", func() bool {
		return w.count(`select count(*) from hub.attempts a join hub.deliveries d on d.id = a.delivery_id
			where d.target_id = any($1)`, []string{ids["hangs"], ids["drips"]}) >= 2*odd
	})
	peak := residentMemory(t, h.process.Pid())
	sent := p.stop()
	h.process.Kill() // so that the log stands still
	w.checkOdd(ids, odd)
	require.Less(t, peak, int64(256<<20), "memory of the hub while it is flooded and bombed")
	require.Less(t, w.flooded.Load(), int64(odd*8<<20), "an endless body is not read, apart from what the kernel buffers")
	b := w.balance(p, sent)
	require.Zero(t, b.Duplicated)
	took := w.neighbours()
	t.Logf("p99 of the well-behaved endpoints, from the send to the arrival: %s; hub's memory %d MB", took, peak>>20)
	require.Less(t, took, time.Second)
}

// checkOdd holds the log of each odd endpoint to the rules of delivery.
func (w *oddWorld) checkOdd(ids map[string]string, odd int) {
	t := w.t
	t.Helper()
	in := func(name, where string) int {
		return w.count(`select count(*) from hub.deliveries d where target_id = $1 and `+where, ids[name])
	}
	attempts := func(name, where string) int {
		return w.count(`
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
	require.Zero(t, w.trapped.Load(), "a redirect is never followed")
	require.Equal(t, odd, in("delays", `status = 1 and attempts = 2 and spent = 1`), "an attempt that was put off is not used up")
	require.Equal(t, odd, in("delays", `(select max(started_at) - min(started_at) from hub.attempts where delivery_id = d.id)
		between interval '2 seconds' and interval '4 seconds'`), "Retry-After: 2")
	require.Equal(t, odd, in("resets", `status = 0 and status_code is null and spent >= 2`))
	require.Equal(t, attempts("resets", `true`), attempts("resets", `error like '%the peer%'`))
}

// neighbours is the p99 of the way from the publisher to the endpoints that behave.
func (w *oddWorld) neighbours() time.Duration {
	var ways []records.Sent
	for _, a := range w.receiver.Arrivals() {
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
	_, err := io.Copy(w, io.LimitReader(zeros{}, size))
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
