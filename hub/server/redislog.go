package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// redisLogEvery spaces the lines of [redisLog]: while Redis is away its client
// writes one for every connection it does not get.
const redisLogEvery = 10 * time.Second

// redisLog takes what go-redis would write to standard error by itself. The client
// has one logger for the whole process: the last hub that was started.
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
