package delivery

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// RedisPacer paces targets across all processes: whoever sets a target's key
// first has the turn, and the key's life is the interval.
type RedisPacer struct {
	Client redis.UniversalClient
}

// pacerTimeout bounds what a slow Redis can cost an attempt.
const pacerTimeout = 200 * time.Millisecond

// Permit implements [Pacer]. Without Redis every process paces by itself.
func (p RedisPacer) Permit(ctx context.Context, target uuid.UUID, interval time.Duration) (time.Duration, bool) {
	if interval < time.Millisecond { // finer than Redis can keep time
		return 0, true
	}
	ctx, cancel := context.WithTimeout(ctx, pacerTimeout)
	defer cancel()
	key := "hub:pace:" + target.String()
	first, err := p.Client.SetNX(ctx, key, 1, interval).Result()
	if err != nil || first {
		return 0, true
	}
	left, err := p.Client.PTTL(ctx, key).Result()
	if err != nil || left <= 0 {
		left = interval / 10
	}
	return left + time.Millisecond, false // Redis tells whole ones, rounded down
}
