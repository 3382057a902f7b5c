package limit

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"github.com/ulule/limiter/v3"
)

// A refusal is stricter than a permission; else the count that leaves less is.
func TestStricter(t *testing.T) {
	t.Parallel()
	for name, counts := range map[string]struct {
		a, b limiter.Context
		want bool
	}{
		"refused and allowed":        {limiter.Context{Reached: true}, limiter.Context{Remaining: 0}, true},
		"refused though more left":   {limiter.Context{Reached: true, Remaining: 9}, limiter.Context{Remaining: 1}, true},
		"allowed and refused":        {limiter.Context{Remaining: 1}, limiter.Context{Reached: true}, false},
		"allowed with less":          {limiter.Context{Remaining: 0}, limiter.Context{Reached: true, Remaining: 5}, false},
		"both allowed, less left":    {limiter.Context{Remaining: 1}, limiter.Context{Remaining: 2}, true},
		"both allowed, as much left": {limiter.Context{Remaining: 2}, limiter.Context{Remaining: 2}, false},
		"both allowed, more left":    {limiter.Context{Remaining: 3}, limiter.Context{Remaining: 2}, false},
		"both refused":               {limiter.Context{Reached: true}, limiter.Context{Reached: true}, false},
		"both refused, less left":    {limiter.Context{Reached: true, Remaining: 1}, limiter.Context{Reached: true, Remaining: 2}, true},
	} {
		require.Equal(t, counts.want, stricter(counts.a, counts.b), name)
	}
}

// The period ends in whole seconds, rounded up: at least one, at most the period.
func TestResetAfter(t *testing.T) {
	t.Parallel()
	l := New(Config{})
	reset := time.Unix(1767323045, 0)
	for before, want := range map[time.Duration]time.Duration{ // the store's end is rounded down: it may be a second later
		9 * time.Second: 10 * time.Second, 9*time.Second + 1: 11 * time.Second, 9*time.Second - 1: 10 * time.Second, 0: time.Second, -time.Minute: time.Second, time.Hour: time.Minute,
	} {
		l.now = func() time.Time { return reset.Add(-before) }
		require.Equal(t, want, l.result(hundred, limiter.Context{Reset: reset.Unix()}).ResetAfter, before)
	}
}

func TestRateStrings(t *testing.T) {
	t.Parallel()
	for want, rate := range map[string]Rate{"0": {Period: time.Minute}, "1-M": {Limit: 1, Period: time.Minute}, "1000000-D": {Limit: maxLimit, Period: 24 * time.Hour}} {
		require.Equal(t, want, rate.String())
	}
}

// A decision waits for Redis once, and shortly.
func TestRedisIsTriedOnce(t *testing.T) {
	t.Parallel()
	l := New(Config{Redis: &redis.Options{Network: "unix", Addr: "nowhere"}})
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	require.Zero(t, l.client.Options().MaxRetries)
	require.Equal(t, redisTimeout, l.client.Options().ReadTimeout)
}
