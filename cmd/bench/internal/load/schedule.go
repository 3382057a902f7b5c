package load

import (
	"context"
	"sync/atomic"
	"time"
)

// schedule yields the index and the due time (Unix ns, 0 = now) of each event to send.
// All connections range over the same schedule.
type schedule func(yield func(int, int64) bool)

// newSchedule returns the schedule of a load. In the closed loop a free connection gets
// the next event at once. At a fixed rate events are released when they are due. The
// latency counts from the due time even when no connection is free: a service that
// stalls cannot hide it by making the generator wait.
func newSchedule(ctx context.Context, l Spec) schedule {
	if l.Rate <= 0 {
		var next atomic.Int64
		return func(yield func(int, int64) bool) {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= l.Events || !yield(i, 0) {
					return
				}
			}
		}
	}
	type dueEvent struct {
		index int
		at    int64
	}
	queue := make(chan dueEvent, l.Events) // never blocks the clock
	go func() {
		defer close(queue)
		start := time.Now()
		for i := range l.Events {
			due := start.Add(time.Duration(float64(i) / l.Rate * float64(time.Second)))
			sleepUntil(due)
			if ctx.Err() != nil {
				return
			}
			queue <- dueEvent{i, due.UnixNano()}
		}
	}()
	return func(yield func(int, int64) bool) {
		for event := range queue {
			if !yield(event.index, event.at) {
				return
			}
		}
	}
}
