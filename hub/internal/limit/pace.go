package limit

import (
	"context"
	"fmt"
	"time"
)

// Pace spaces the requests of each key in this process: a burst is taken at once, later
// ones wait until their time comes, and are refused when too many wait. A client in a loop is
// slowed to the pace and costs its neighbors no more than that.
type Pace struct {
	interval       time.Duration // between requests after a burst
	burst, waiting int64         // requests taken at once, and waiting at most

	buckets buckets
	now     func() time.Time
}

// NewPace returns a pace of perSecond requests after a burst, with waiting requests at most.
func NewPace(perSecond, burst, waiting int64) *Pace {
	return &Pace{interval: time.Second / time.Duration(perSecond), burst: burst, waiting: waiting, now: time.Now}
}

// Wait returns when the next request of key may be handled, nil, or a 429 at once when too
// many wait; with ctx's end it returns ctx's error.
func (p *Pace) Wait(ctx context.Context, key string) error {
	wait, refusal := p.turn(key)
	if refusal != nil || wait <= 0 {
		return refusal
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for a turn: %w", ctx.Err())
	}
}

// turn reserves the next turn of key, and returns how far away it is.
func (p *Pace) turn(key string) (wait time.Duration, refusal error) {
	rule := bucketRule{interval: p.interval, capacity: p.interval * time.Duration(p.burst+p.waiting)}
	missing, lack := p.buckets.take(key, rule, p.now())
	if missing > 0 {
		return 0, Result{Limit: int64(time.Second / p.interval), Period: time.Second, ResetAfter: (missing + time.Second - 1).Truncate(time.Second)}.Err()
	}
	return lack - p.interval*time.Duration(p.burst), nil
}
