package limit

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/httpx"
)

var hundred = Rate{Limit: 100, Period: time.Minute}

// observed is a limiter with its reports and a clock that the test moves.
type observed struct {
	*Limiter
	logs  *bytes.Buffer
	local atomic.Int64
	ahead atomic.Int64 // nanoseconds the clock is ahead
}

// observe returns a limiter that waits for an answer of Redis as long as a busy machine needs.
func observe(t *testing.T, options *redis.Options) *observed {
	t.Helper()
	return observeWaiting(t, options, 30*time.Second)
}

func observeWaiting(t *testing.T, options *redis.Options, timeout time.Duration) *observed {
	t.Helper()
	o := &observed{logs: &bytes.Buffer{}}
	o.Limiter = newLimiter(Config{
		Redis: options, Log: slog.New(slog.NewTextHandler(o.logs, nil)),
		OnLocalDecision: func() { o.local.Add(1) },
	}, timeout)
	o.now = func() time.Time { return time.Now().Add(time.Duration(o.ahead.Load())) }
	t.Cleanup(func() { require.NoError(t, o.Close()) })
	return o
}

// take makes n requests and returns how many were allowed.
func (o *observed) take(t *testing.T, key string, n int) (allowed int) {
	t.Helper()
	for range n {
		if o.Allow(t.Context(), "key", key, hundred).Allowed {
			allowed++
		}
	}
	return allowed
}

func TestParseRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Rate{
		"0": {}, "100-M": {100, time.Minute}, "10-S": {10, time.Second}, "1-H": {1, time.Hour}, "1000000-D": {1_000_000, 24 * time.Hour},
	} {
		rate, err := ParseRate("body.rate", text)
		require.NoError(t, err, text)
		require.Equal(t, want, rate)
		require.Equal(t, text, rate.String())
	}
	for _, text := range []string{"", "100", "-M", "0-M", "-1-M", "+1-M", "1-m", "1-W", "1-", "01-M", "1-M-M", " 1-M", "1.5-M", "1e3-M", "1000001-M", "99999999999999999999-M", "00"} {
		_, err := ParseRate("body.rate", text)
		require.ErrorIs(t, err, hub.ErrInvalid, "%q", text)
		require.ErrorContains(t, err, "body.rate")
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	o := observe(t, nil)
	first := o.Allow(t.Context(), "key", "a", hundred)
	require.True(t, first.Allowed)
	require.Equal(t, int64(99), first.Remaining)
	require.Equal(t, int64(100), first.Limit)
	require.Equal(t, time.Minute, first.ResetAfter)
	require.NoError(t, first.Err())
	require.Equal(t, 99, o.take(t, "a", 150))
	refused := o.Allow(t.Context(), "key", "a", hundred)
	require.False(t, refused.Allowed)
	require.Zero(t, refused.Remaining)
	var entry *hub.Error
	require.ErrorAs(t, refused.Err(), &entry)
	require.ErrorIs(t, entry, hub.ErrRateLimited)
	require.Equal(t, refused.ResetAfter, entry.RetryAfter)
	require.Zero(t, refused.ResetAfter%time.Second)

	require.True(t, o.Allow(t.Context(), "login", "a", hundred).Allowed, "limits of other names are apart")
	require.Equal(t, 100, o.take(t, "b", 150), "so are other keys")
	for range 1000 {
		require.Equal(t, Result{Allowed: true}, o.Allow(t.Context(), "key", "a", Rate{}))
	}
	require.Zero(t, o.local.Load(), "counting here is no fallback where there is no Redis")
}

func TestReplicasCountTogether(t *testing.T) {
	t.Parallel()
	server := newRedis(t).start()
	replicas := []*observed{observe(t, server.options()), observe(t, server.options()), observe(t, server.options())}
	var allowed atomic.Int64
	var done sync.WaitGroup
	for _, replica := range replicas {
		for range 4 {
			done.Go(func() { allowed.Add(int64(replica.take(t, "a", 25))) })
		}
	}
	done.Wait()
	for _, replica := range replicas {
		require.Zero(t, replica.local.Load(), "%s", replica.logs)
		require.Empty(t, replica.logs.String())
	}
	require.Equal(t, int64(100), allowed.Load())
}

func TestPeriodEnds(t *testing.T) {
	t.Parallel()
	server := newRedis(t).start()
	rate := Rate{Limit: 2, Period: time.Second}
	for _, o := range []*observed{observe(t, server.options()), observe(t, nil)} {
		require.Eventually(t, func() bool { return !o.Allow(t.Context(), "key", "a", rate).Allowed }, time.Minute, time.Millisecond)
		require.Eventually(t, func() bool { return o.Allow(t.Context(), "key", "a", rate).Allowed }, time.Minute, 20*time.Millisecond)
	}
}

func TestRedisLosesEverything(t *testing.T) {
	t.Parallel()
	server := newRedis(t).start()
	o := observe(t, server.options())
	require.Equal(t, 100, o.take(t, "a", 101))
	client := server.client()
	require.NoError(t, client.FlushAll(t.Context()).Err())
	require.NoError(t, client.ScriptFlush(t.Context()).Err())
	require.Equal(t, 100, o.take(t, "a", 101), "the scripts are loaded again")
	require.Zero(t, o.local.Load())
}

func TestRedisDownFromTheStart(t *testing.T) {
	t.Parallel()
	server := newRedis(t)
	o := observe(t, server.options())
	require.Equal(t, 100, o.take(t, "a", 150))
	require.Equal(t, int64(150), o.local.Load())
	server.start()
	require.Zero(t, o.take(t, "a", 1), "not tried again at once")
	o.ahead.Add(int64(downTime))
	require.Zero(t, o.take(t, "a", 1), "what was counted here while it was away counts on")
	require.Equal(t, 100, o.take(t, "b", 150), "counted in Redis from here on")
	require.Equal(t, int64(151), o.local.Load())
	require.Equal(t, 1, strings.Count(o.logs.String(), "per process"), o.logs)
	require.Equal(t, 1, strings.Count(o.logs.String(), "in Redis again"), o.logs)
}

func TestRedisDiesAndComesBack(t *testing.T) {
	t.Parallel()
	server := newRedis(t).start()
	o := observe(t, server.options())
	for round := range 2 {
		o.logs.Reset()
		require.Equal(t, 1, o.take(t, "a", 1))
		require.Empty(t, o.logs.String())
		server.kill()
		require.Equal(t, 20, o.take(t, "a", 20))
		o.ahead.Add(int64(downTime))
		require.Equal(t, 20, o.take(t, "a", 20), "tried again, still down")
		server.start()
		o.ahead.Add(int64(downTime))
		require.Equal(t, 1, o.take(t, "a", 1))
		require.Equal(t, 1, strings.Count(o.logs.String(), "per process"), o.logs)
		require.Equal(t, 1, strings.Count(o.logs.String(), "in Redis again"), o.logs)
		// What is shown is what counts: Redis has the two requests of this round that it saw.
		require.Equal(t, int64(100-42*(round+1)), o.Peek(t.Context(), "key", "a", hundred).Remaining)
	}
	require.Equal(t, int64(80), o.local.Load())
}

func TestRedisHangs(t *testing.T) {
	t.Parallel()
	server := newRedis(t).start()
	o := observeWaiting(t, server.options(), redisTimeout)
	require.Equal(t, 1, o.take(t, "a", 1))
	frozen := time.Now()
	o.now = func() time.Time { return frozen }
	server.signal(syscall.SIGSTOP)
	// If each of these waited for Redis they would take 200 s.
	start := time.Now()
	require.Equal(t, 99, o.take(t, "a", 2000), "what was allowed before it hung counts")
	require.Less(t, time.Since(start), 10*time.Second)
	require.Equal(t, int64(2000), o.local.Load())
	server.signal(syscall.SIGCONT)
	o.now = func() time.Time { return frozen.Add(downTime) }
	o.take(t, "a", 1)
	require.Equal(t, int64(2000), o.local.Load(), "%s", o.logs)
}

// A Redis that takes connections and never answers, from the start: of many
// requests at once one finds out, and so again each time it is tried.
func TestRedisHangsFromTheStart(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var tried atomic.Int64
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			tried.Add(1)
			t.Cleanup(func() { _ = conn.Close() })
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		accepting.Wait()
	})
	o := observeWaiting(t, &redis.Options{Addr: listener.Addr().String()}, redisTimeout)
	frozen := time.Now()
	o.now = func() time.Time { return frozen.Add(time.Duration(o.ahead.Load())) }
	for round := range int64(3) {
		var done sync.WaitGroup
		for range 200 {
			done.Go(func() { o.take(t, "a", 1) })
		}
		done.Wait()
		require.Equal(t, 200*(round+1), o.local.Load())
		require.Equal(t, round+1, tried.Load())
		o.ahead.Add(int64(downTime))
	}
	require.Equal(t, 1, strings.Count(o.logs.String(), "per process"), o.logs)
}

func TestCancelledCallersSayNothingAboutRedis(t *testing.T) {
	t.Parallel()
	server := newRedis(t).start()
	o := observe(t, server.options())
	require.Equal(t, 1, o.take(t, "a", 1))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	o.Allow(cancelled, "key", "a", hundred)
	require.Empty(t, o.logs.String())
	require.Zero(t, o.retry.Load())
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	o := observe(t, nil)
	app := fiber.New(fiber.Config{ErrorHandler: httpx.ErrorHandler(slog.New(slog.DiscardHandler))})
	app.Get("/:rate", func(c *fiber.Ctx) error {
		rate, err := ParseRate("path.rate", c.Params("rate"))
		if err != nil {
			return err
		}
		result := o.Allow(c.UserContext(), "key", c.Params("rate"), rate)
		SetHeaders(c.Set, result)
		return result.Err()
	})
	get := func(rate string) (int, http.Header) {
		res, err := app.Test(httptest.NewRequest(http.MethodGet, "/"+rate, nil), -1)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode, res.Header
	}
	for i := range 3 {
		status, header := get("3-M")
		require.Equal(t, 200, status)
		require.Equal(t, "3", header.Get("RateLimit-Limit"))
		require.Equal(t, strconv.Itoa(2-i), header.Get("RateLimit-Remaining"))
		require.Equal(t, "3;w=60", header.Get("RateLimit-Policy"))
		require.Empty(t, header.Get("Retry-After"))
	}
	status, header := get("3-M")
	require.Equal(t, 429, status)
	require.Equal(t, "0", header.Get("RateLimit-Remaining"))
	require.Equal(t, header.Get("RateLimit-Reset"), header.Get("Retry-After"))
	wait, err := strconv.Atoi(header.Get("Retry-After"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, wait, 1)
	require.LessOrEqual(t, wait, 60)
	require.Equal(t, "application/problem+json", header.Get("Content-Type"))

	status, header = get("0")
	require.Equal(t, 200, status)
	require.Empty(t, header.Get("RateLimit-Limit"))
	status, _ = get("many")
	require.Equal(t, 422, status)
}

func BenchmarkAllowMemory(b *testing.B) {
	l := New(Config{})
	for b.Loop() {
		l.Allow(b.Context(), "key", "0198c0de-1111-7222-8333-444455556666", hundred)
	}
}
