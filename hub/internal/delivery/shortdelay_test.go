package delivery

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Retries with a short delay are passed on when they are due, in the order in which they were
// added, and none before.
func TestShortDelays(t *testing.T) {
	t.Parallel()
	delays, due := newShortDelays(), make(chan waitingRetry, 10)
	require.Contains(t, delays, time.Second)
	require.Contains(t, delays, 5*time.Second)
	require.NotContains(t, delays, 25*time.Second)
	r := &RetryScheduler{due: due}
	for _, waiting := range delays {
		go r.forwardWhenDue(t.Context(), waiting)
	}
	later, first, second := waitingRetry{id: uuid.New()}, waitingRetry{id: uuid.New()}, waitingRetry{id: uuid.New()}
	now := time.Now()
	delays.add(later, 5*time.Second, now.Add(-3*time.Second)) // two seconds from now
	delays.add(first, time.Second, now)
	delays.add(second, time.Second, now.Add(100*time.Millisecond))
	for i, expected := range []waitingRetry{first, second, later} {
		require.Equal(t, expected, <-due)
		require.GreaterOrEqual(t, time.Since(now), []time.Duration{time.Second, 1100 * time.Millisecond, 2 * time.Second}[i])
	}
}

// A backlog of short retries is bounded: the others are left to the sweep.
func TestShortDelaysAreBounded(t *testing.T) {
	t.Parallel()
	delays := newShortDelays()
	for range maxShortDelayed + 5 {
		delays.add(waitingRetry{id: uuid.New()}, time.Second, time.Now())
	}
	require.Len(t, delays[time.Second], maxShortDelayed)
}

// One tenant's short retries take its share of the places, not those of others; a delay that
// is none of them is left to Redis.
func TestShortRetriesOfATenantAreBounded(t *testing.T) {
	t.Parallel()
	r := &RetryScheduler{quota: newRetryQuota(), shortDelays: newShortDelays()}
	now, tenant := time.Unix(1767323045, 0), uuid.New()
	for range maxShortPerSecond + 500 {
		require.True(t, r.scheduleShort(waitingRetry{id: uuid.New(), tenant: tenant}, time.Second, now))
	}
	require.Len(t, r.shortDelays[time.Second], maxShortPerSecond)
	require.True(t, r.scheduleShort(waitingRetry{id: uuid.New(), tenant: uuid.New()}, time.Second, now))
	require.Len(t, r.shortDelays[time.Second], maxShortPerSecond+1)
	require.False(t, r.scheduleShort(waitingRetry{id: uuid.New(), tenant: tenant}, 25*time.Second, now))
}
