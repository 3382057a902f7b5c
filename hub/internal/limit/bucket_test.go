package limit

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// burst takes tokens until there is none, and returns how many there were.
func (o *observed) burst(t *testing.T, key string) (taken int, refused Result) {
	t.Helper()
	for range 100 {
		result := o.AllowBurst(t.Context(), "sends", key, Rate{60, time.Minute}, 20)
		if !result.Allowed {
			return taken, result
		}
		taken++
	}
	return taken, refused
}

// A bucket holds 20 tokens and gets one each second; refused requests take none.
func TestBucketInMemory(t *testing.T) {
	t.Parallel()
	o := observe(t, nil)
	start := time.Now()
	now := start
	o.now = func() time.Time { return now }
	require.Equal(t, int64(19), o.AllowBurst(t.Context(), "sends", "first", Rate{60, time.Minute}, 20).Remaining)
	taken, refused := o.burst(t, "a")
	require.Equal(t, 20, taken)
	require.Equal(t, Result{Limit: 60, Period: time.Minute, ResetAfter: time.Second}, refused)
	for range 50 {
		require.False(t, o.AllowBurst(t.Context(), "sends", "a", Rate{60, time.Minute}, 20).Allowed)
	}
	now = start.Add(time.Second - time.Millisecond)
	taken, refused = o.burst(t, "a")
	require.Zero(t, taken)
	require.Equal(t, time.Second, refused.ResetAfter, "rounded up")
	now = start.Add(5 * time.Second)
	taken, _ = o.burst(t, "a")
	require.Equal(t, 5, taken)
	taken, _ = o.burst(t, "b")
	require.Equal(t, 20, taken, "of its own")
	now = start.Add(10 * time.Minute)
	taken, _ = o.burst(t, "a")
	require.Equal(t, 20, taken, "it holds no more")
	require.Len(t, o.buckets.full, 1, "full ones are forgotten")
	require.True(t, o.AllowBurst(t.Context(), "sends", "a", Rate{}, 20).Allowed, "no limit")
	slow := o.AllowBurst(t.Context(), "slow", "a", Rate{1, time.Minute}, 1)
	require.True(t, slow.Allowed)
	require.Equal(t, time.Minute, o.AllowBurst(t.Context(), "slow", "a", Rate{1, time.Minute}, 1).ResetAfter)
}

// Processes share a bucket in Redis; without Redis each goes on with its own.
func TestBucketInRedis(t *testing.T) {
	t.Parallel()
	server := newRedis(t).start()
	mine, other := observe(t, server.options()), observe(t, server.options())
	begin := time.Now()
	first, refused := mine.burst(t, "a")
	second, _ := other.burst(t, "a")
	require.GreaterOrEqual(t, first, 20)
	require.LessOrEqual(t, first+second, 21+int(time.Since(begin)/time.Second))
	require.Equal(t, time.Second, refused.ResetAfter)
	lives, err := redis.NewClient(server.options()).PTTL(t.Context(), mine.prefix+":bucket:sends:a").Result()
	require.NoError(t, err)
	require.Positive(t, lives, "it is forgotten once it is full")
	server.kill()
	taken, _ := mine.burst(t, "a")
	require.LessOrEqual(t, taken, 1+int(time.Since(begin)/time.Second), "not full again")
	require.Positive(t, mine.local.Load())
}
