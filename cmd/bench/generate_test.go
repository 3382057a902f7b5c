package main

import (
	"io"
	"log"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
)

// serveHTTP runs a handler on a free loopback port and gives its base URL.
func serveHTTP(t *testing.T, handler fasthttp.RequestHandler) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &fasthttp.Server{
		Handler: handler, CloseOnShutdown: true,
		Logger: log.New(io.Discard, "", 0), // connections that break are what some tests are about
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = listener.Close() })
	return "http://" + listener.Addr().String()
}

// A slow service cannot hide behind a generator that waits for it: at a fixed
// rate every event counts from the moment it was due.
func TestFixedRateCountsFromTheDueTime(t *testing.T) {
	t.Parallel()
	const each = 30 * time.Millisecond
	base := serveHTTP(t, func(c *fasthttp.RequestCtx) {
		time.Sleep(each) //nolint:forbidigo // the slow service
		c.SetStatusCode(202)
		c.SetBodyString(`{"id":"evt_00000000000000ff","deliveries":3}`)
	})
	sent, err := generate(t.Context(), load{url: base, connections: 1, events: 10, rate: 200, size: 64})
	require.NoError(t, err)
	require.Len(t, sent, 10)
	for i, s := range sent {
		require.EqualValues(t, i, s.N)
		require.EqualValues(t, 5*time.Millisecond*time.Duration(i), s.At-sent[0].At, "due times are exact")
		require.GreaterOrEqual(t, s.Acked-s.At, int64(each)*int64(i+1)-int64(5*time.Millisecond)*int64(i))
		require.EqualValues(t, 0xff, s.ID)
		require.EqualValues(t, 3, s.Deliveries)
	}
}

func TestClosedLoop(t *testing.T) {
	t.Parallel()
	var inFlight, most, calls atomic.Int64
	base := serveHTTP(t, func(c *fasthttp.RequestCtx) {
		now := inFlight.Add(1)
		defer inFlight.Add(-1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		if string(c.Request.Header.Peek("X-Integration-Key")) != "k" {
			c.SetStatusCode(401)
			return
		}
		if calls.Add(1)%5 == 0 {
			c.SetStatusCode(503)
			return
		}
		c.SetStatusCode(202)
		c.SetBodyString(`{"id":"evt_00000000000000ff","deliveries":1}`)
	})
	sent, err := generate(t.Context(), load{url: base, key: "k", connections: 4, events: 100, size: 64, first: 50})
	require.NoError(t, err)
	require.LessOrEqual(t, most.Load(), int64(4))
	numbers := make(map[uint64]bool)
	for _, s := range sent {
		numbers[s.N] = true
		require.Equal(t, s.Accepted(), s.ID != 0)
	}
	require.Len(t, numbers, 100)
	require.True(t, numbers[50] && numbers[149])
	summary := summarize(sent)
	require.Equal(t, 100, summary.Sent)
	require.Equal(t, 80, summary.Accepted)
	require.Equal(t, map[string]int{"202": 80, "503": 20}, summary.Statuses)
}

func TestGeneratorStopsInTime(t *testing.T) {
	t.Parallel()
	base := serveHTTP(t, func(c *fasthttp.RequestCtx) { c.SetStatusCode(503) })
	sent, err := generate(t.Context(), load{url: base, connections: 2, events: 10_000, duration: 500 * time.Millisecond, size: 64})
	require.NoError(t, err)
	require.NotEmpty(t, sent)
	require.Less(t, len(sent), 1000)
}
