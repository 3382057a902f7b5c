package delivery

import (
	"context"
	"time"
)

const (
	longestShortDelay = 5 * time.Second
	shortDelaySlot    = 50 * time.Millisecond // retries due within it are claimed together: what a claim costs does not depend on how many it is for
	maxShortDelayed   = 16384                 // retries that wait for one delay
)

// shortDelays hold the retries whose delay this process waits out itself, by delay. A task in
// Redis for each would cost more than the attempt. If the process dies, the sweep of another
// sends them late.
type shortDelays map[time.Duration]chan scheduledRetry

func newShortDelays() shortDelays {
	delays := make(shortDelays)
	for _, delay := range retryDelays {
		if delay <= longestShortDelay {
			delays[delay] = make(chan scheduledRetry, maxShortDelayed)
		}
	}
	return delays
}

// add queues a retry with one of the delays, unless too many wait.
func (s shortDelays) add(key waitingRetry, delay time.Duration, now time.Time) {
	select {
	case s[delay] <- scheduledRetry{key, slotAfter(now.Add(delay))}:
	default:
	}
}

// slotAfter returns the next full slot after a time: no retry is early.
func slotAfter(at time.Time) time.Time { return at.Add(shortDelaySlot).Truncate(shortDelaySlot) }

// run passes on the retries of each delay when they are due, until ctx ends. Those of one
// delay become due in the order in which they were added.
func (s shortDelays) run(ctx context.Context, due chan<- waitingRetry) {
	for _, waiting := range s {
		go passWhenDue(ctx, waiting, due)
	}
}

func passWhenDue(ctx context.Context, waiting <-chan scheduledRetry, due chan<- waitingRetry) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case retry := <-waiting:
			if wait := time.Until(retry.at); wait > 0 {
				timer.Reset(wait)
				select {
				case <-timer.C:
				case <-ctx.Done():
					return
				}
			}
			select {
			case due <- retry.waitingRetry:
			case <-ctx.Done():
				return
			}
		}
	}
}
