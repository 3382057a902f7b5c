package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// redisLogEvery is the minimum interval of [redisLog]: while Redis is down, its client
// logs every failed connection.
const redisLogEvery = 10 * time.Second

// redisLog receives the log of go-redis, which otherwise goes to standard error. go-redis
// has one logger per process: that of the hub that was started last.
type redisLog struct {
	log *slog.Logger
	now func() time.Time

	mu      sync.Mutex
	last    time.Time // of the last line written
	dropped int       // since then
}

// Printf implements go-redis' logger.
func (r *redisLog) Printf(ctx context.Context, format string, v ...any) {
	r.mu.Lock()
	now, dropped := r.now(), r.dropped
	if !r.last.IsZero() && now.Sub(r.last) < redisLogEvery {
		r.dropped++
		r.mu.Unlock()
		return
	}
	r.last, r.dropped = now, 0
	r.mu.Unlock()
	r.log.WarnContext(ctx, "the Redis client reports trouble", "detail", fmt.Sprintf(format, v...), "left_out", dropped)
}
