package delivery

import (
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

// slotAfter returns the next full slot after a time: no retry is early. The result has the
// monotonic clock of the time, which Truncate would strip: a wall clock that is put back delays
// no retry.
func slotAfter(at time.Time) time.Time {
	return at.Add(shortDelaySlot - time.Duration(at.UnixNano())%shortDelaySlot)
}
