package limit

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A token bucket is kept as one time: when it will be full again (the generic cell rate
// algorithm). A request moves that time by one interval; it is refused if the bucket would
// lack more than it holds.

// takeToken takes a token from a bucket in Redis, by the clock of Redis. It returns the wait
// until there is one, 0 if it took one, and the time that the bucket lacks then, both in
// microseconds.
var takeToken = redis.NewScript(`
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, capacity = tonumber(ARGV[1]), tonumber(ARGV[2])
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now) + interval
local wait = full - capacity - now
if wait > 0 then return {wait, full - interval - now} end
redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
return {0, full - now}`)

// bucketRule is the rule of a token bucket.
type bucketRule struct {
	interval, capacity time.Duration // in which one token comes, and all
}

// AllowBurst takes a token of key from the bucket called name. The bucket holds burst tokens
// and is refilled evenly at rate. Refused requests take none.
func (l *Limiter) AllowBurst(ctx context.Context, name, key string, rate Rate, burst int64) Result {
	if rate.Limit == 0 {
		return Result{Allowed: true}
	}
	rule := bucketRule{interval: rate.Period / time.Duration(rate.Limit)}
	rule.capacity = rule.interval * time.Duration(burst)
	counter := name + ":" + key
	// Taken here as well, so that the bucket is not full when Redis is lost.
	wait, lack := l.buckets.take(counter, rule, l.now())
	if l.client != nil {
		isShared := l.withRedis(ctx, func(limited context.Context, _ bool) error {
			taken, err := takeToken.Run(limited, l.client, []string{l.prefix + ":bucket:" + counter}, rule.interval.Microseconds(), rule.capacity.Microseconds()).Int64Slice()
			if err == nil {
				wait, lack = time.Duration(taken[0])*time.Microsecond, time.Duration(taken[1])*time.Microsecond
			}
			return err
		})
		if !isShared && l.onLocal != nil {
			l.onLocal()
		}
	}
	seconds := (wait + time.Second - 1).Truncate(time.Second)
	return Result{
		Allowed: wait <= 0, Limit: rate.Limit, Remaining: max(0, int64((rule.capacity-lack)/rule.interval)), Period: rate.Period, ResetAfter: max(time.Second, seconds),
	}
}

// buckets are the token buckets of this process.
type buckets struct {
	mu      sync.Mutex
	full    map[string]time.Time // when a bucket will be full again
	cleaned time.Time
}

// take takes a token. It returns the wait until there is one, 0 or less if it took one, and
// the time that the bucket lacks then.
func (b *buckets) take(counter string, rule bucketRule, now time.Time) (wait, lack time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.full == nil {
		b.full = make(map[string]time.Time)
	}
	if now.Sub(b.cleaned) > cleanUpEvery {
		b.cleaned = now
		for key, full := range b.full {
			if full.Before(now) {
				delete(b.full, key)
			}
		}
	}
	full := b.full[counter]
	if full.Before(now) {
		full = now
	}
	wait = full.Add(rule.interval - rule.capacity).Sub(now)
	if wait > 0 {
		return wait, full.Sub(now)
	}
	b.full[counter] = full.Add(rule.interval)
	return 0, b.full[counter].Sub(now)
}
