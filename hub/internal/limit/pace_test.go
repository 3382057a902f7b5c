package limit

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// A pace of 100 a second takes 5 at once; then each waits 10 ms longer than the one before,
// and the fourth that would wait is refused. Keys do not wait for each other.
func TestPace(t *testing.T) {
	t.Parallel()
	now := time.Now()
	pace := NewPace(100, 5, 3)
	pace.now = func() time.Time { return now }
	waits := func(key string, expected ...time.Duration) {
		t.Helper()
		for i, interval := range expected {
			wait, refusal := pace.turn(key)
			require.NoError(t, refusal)
			require.Equal(t, interval, max(0, wait), "request %d", i+1)
		}
	}
	const ms = time.Millisecond
	waits("a", 0, 0, 0, 0, 0, 10*ms, 20*ms, 30*ms)
	_, refusal := pace.turn("a")
	var limited *hub.Error
	require.ErrorAs(t, refusal, &limited)
	require.ErrorIs(t, limited.Kind, hub.ErrRateLimited)
	require.Equal(t, time.Second, limited.RetryAfter)
	waits("b", 0)
	now = now.Add(20 * ms)
	waits("a", 20*ms, 30*ms)
	now = now.Add(time.Minute)
	waits("a", 0, 0, 0, 0, 0, 10*ms)
}

func TestPaceWaits(t *testing.T) {
	t.Parallel()
	pace := NewPace(20, 1, 100)
	start := time.Now()
	for range 5 {
		require.NoError(t, pace.Wait(t.Context(), "a"))
	}
	require.GreaterOrEqual(t, time.Since(start), 200*time.Millisecond)
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, pace.Wait(ended, "a"), context.Canceled)
}
