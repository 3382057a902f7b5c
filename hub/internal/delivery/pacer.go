package delivery

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// RedisPacer paces targets across all processes: Redis stores the time of each target's
// next turn, by its own clock.
type RedisPacer struct {
	Client redis.UniversalClient

	timeout time.Duration // of a turn; 0: pacerTimeout
}

// pacerTimeout bounds what a slow Redis can cost an attempt.
const pacerTimeout = 200 * time.Millisecond

// takeTurnScript takes a turn or returns how many microseconds are left until the next. The
// moment is a value, not the life of a key: in-process Redis ages keys in coarse
// steps, which halved some rates. A wait longer than the interval means that Redis's
// clock was put back, or that the pace has changed.
var takeTurnScript = redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local wait = tonumber(redis.call('GET', KEYS[1]) or '0') - now
if wait > 0 and wait <= tonumber(ARGV[1]) then return wait end
redis.call('SET', KEYS[1], string.format('%.0f', now + ARGV[1]), 'PX', math.ceil(ARGV[1] / 1000) + 1000)
return 0`)

// TakeTurn implements [Pacer]. Without Redis every process paces by itself.
func (p RedisPacer) TakeTurn(ctx context.Context, target uuid.UUID, interval time.Duration) (time.Duration, bool) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(p.timeout, pacerTimeout))
	defer cancel()
	wait, err := takeTurnScript.Run(ctx, p.Client, []string{"hub:turn:" + target.String()}, interval.Microseconds()).Int64()
	if err != nil || wait <= 0 {
		return 0, true
	}
	return time.Duration(wait) * time.Microsecond, false
}
