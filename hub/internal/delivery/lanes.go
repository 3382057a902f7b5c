package delivery

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Bounds of what one process holds in memory.
const (
	maxQueued        = 16_384 // jobs of all targets
	maxIdleWorkers   = 64     // workers without work that are kept: a new one's stack has to grow first
	laneCapacity     = 2_048  // jobs of one healthy target
	breakerAfter     = 10     // failures in a row that open a target's breaker
	breakerDivisor   = 8      // an open breaker leaves 1/8 of the target's concurrency
	idleLaneInterval = time.Minute
	wakeInterval     = time.Second // at most one call for help to other processes, for one target
)

// lane is the queue of one target and its share of the workers. All fields are
// guarded by Dispatcher.mu.
type lane struct {
	target       uuid.UUID
	queue        []LeasedDelivery
	head         int           // queue[head:] waits
	reserved     int           // places promised to commits under way
	running      int           // attempts in flight
	failures     int           // in a row
	attemptTime  time.Duration // what an attempt takes, a moving average; 0 = not known
	awaitsWorker bool          // stands in Dispatcher.ready, waiting for a worker
	backlog      bool          // rows of this target stand in the database without a lease
	wokeOthersAt time.Time     // when other processes were last told of such rows
	interval     time.Duration // pacing: least time between starts; 0 = none
	nextAt       time.Time     // pacing: earliest next start
	timer        *time.Timer   // the wake-up for nextAt; nil = none is set
}

func (l *lane) waiting() int { return len(l.queue) - l.head }

// maxRunning is how many attempts may be in flight: the breaker's share after
// repeated failures, so that a dead target holds few workers.
func (l *lane) maxRunning(concurrency int) int {
	if l.failures >= breakerAfter {
		return max(1, concurrency/breakerDivisor)
	}
	return concurrency
}

// capacity is how many jobs may wait: those that can start before their leases are too
// old. One that cannot would be left alone until its lease has ended.
func (l *lane) capacity(concurrency int) int {
	capacity := laneCapacity
	if l.failures >= breakerAfter {
		capacity = 2 * l.maxRunning(concurrency)
	}
	if l.attemptTime > 0 {
		capacity = min(capacity, 1+int(time.Duration(l.maxRunning(concurrency))*(startWithin/2)/l.attemptTime))
	}
	if l.interval > 0 {
		capacity = min(capacity, 1+int(startWithin/2/l.interval))
	}
	return capacity
}

// freeCapacity is how many more jobs may be taken.
func (l *lane) freeCapacity(concurrency int) int {
	return l.capacity(concurrency) - l.waiting() - l.reserved
}

func (l *lane) push(job LeasedDelivery) {
	if l.head > 0 && l.head == len(l.queue) {
		l.queue, l.head = l.queue[:0], 0
	}
	l.queue = append(l.queue, job)
}

// unpop returns a job that was popped and not attempted to its place: the oldest
// stays first.
func (l *lane) unpop(job LeasedDelivery) {
	if l.head == 0 {
		l.queue = slices.Insert(l.queue, 0, LeasedDelivery{})
		l.head = 1
	}
	l.head--
	place := l.head
	for ; place+1 < len(l.queue) && older(l.queue[place+1], job) < 0; place++ {
		l.queue[place] = l.queue[place+1]
	}
	l.queue[place] = job
}

// older compares jobs by when they became due, and by their ids.
func older(a, b LeasedDelivery) int {
	return cmp.Or(a.ReadyAt.Compare(b.ReadyAt), bytes.Compare(a.ID[:], b.ID[:]))
}

func (l *lane) pop() LeasedDelivery {
	job := l.queue[l.head]
	l.queue[l.head] = LeasedDelivery{} // let the event go
	l.head++
	if l.head >= 512 && l.head*2 >= len(l.queue) {
		n := copy(l.queue, l.queue[l.head:])
		clear(l.queue[n:])
		l.queue, l.head = l.queue[:n], 0
	}
	return job
}

// isIdle reports whether nothing would be lost by forgetting the lane.
func (l *lane) isIdle(now time.Time) bool {
	return l.waiting() == 0 && l.reserved == 0 && l.running == 0 && !l.backlog && l.failures < breakerAfter && !now.Before(l.nextAt)
}
