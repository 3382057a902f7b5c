package load

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"integrationhub/cmd/bench/internal/benchtest"
)

// A slow service cannot hide behind a generator that waits for it: at a fixed
// rate every event counts from the moment it was due.
func TestFixedRateCountsFromTheDueTime(t *testing.T) {
	t.Parallel()
	const each = 30 * time.Millisecond
	base := benchtest.ServeHTTP(t, func(c *fasthttp.RequestCtx) {
		time.Sleep(each) //nolint:forbidigo // the slow service
		c.SetStatusCode(202)
		c.SetBodyString(`{"id":"evt_00000000000000ff","deliveries":3}`)
	})
	sent, err := Generate(t.Context(), Spec{URL: base, Connections: 1, Events: 10, Rate: 200, Size: 64})
	require.NoError(t, err)
	require.Len(t, sent, 10)
	for i, s := range sent {
		require.EqualValues(t, i, s.Number)
		require.EqualValues(t, 5*time.Millisecond*time.Duration(i), s.SentAt-sent[0].SentAt, "due times are exact")
		require.GreaterOrEqual(t, s.AnsweredAt-s.SentAt, int64(each)*int64(i+1)-int64(5*time.Millisecond)*int64(i))
		require.EqualValues(t, 0xff, s.ID)
		require.EqualValues(t, 3, s.Deliveries)
	}
}

func TestClosedLoop(t *testing.T) {
	t.Parallel()
	var inFlight, most, calls atomic.Int64
	base := benchtest.ServeHTTP(t, func(c *fasthttp.RequestCtx) {
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
	sent, err := Generate(t.Context(), Spec{URL: base, Keys: []string{"k"}, Connections: 4, Events: 100, Size: 64, First: 50})
	require.NoError(t, err)
	require.LessOrEqual(t, most.Load(), int64(4))
	numbers := make(map[uint64]bool)
	for _, s := range sent {
		numbers[s.Number] = true
		require.Equal(t, s.Accepted(), s.ID != 0)
	}
	require.Len(t, numbers, 100)
	require.True(t, numbers[50] && numbers[149])
	summary := Summarize(sent)
	require.Equal(t, 100, summary.Sent)
	require.Equal(t, 80, summary.Accepted)
	require.Equal(t, map[string]int{"202": 80, "503": 20}, summary.Statuses)
}

func TestGeneratorStopsInTime(t *testing.T) {
	t.Parallel()
	base := benchtest.ServeHTTP(t, func(c *fasthttp.RequestCtx) { c.SetStatusCode(503) })
	sent, err := Generate(t.Context(), Spec{URL: base, Connections: 2, Events: 10_000, Duration: 500 * time.Millisecond, Size: 64})
	require.NoError(t, err)
	require.NotEmpty(t, sent)
	require.Less(t, len(sent), 1000)
}
