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
	maxQueued     = 16_384 // jobs of all targets
	maxResting    = 64     // workers without work that are kept: a new one's stack has to grow first
	laneQueue     = 2_048  // jobs of one healthy target
	breakerAfter  = 10     // failures in a row that open a target's breaker
	breakerShare  = 8      // an open breaker leaves 1/8 of the target's concurrency
	laneIdleSweep = time.Minute
	wakeEvery     = time.Second // at most one call for help to other processes, for one target
)

// lane is the queue of one target and its share of the workers. All fields are
// guarded by Dispatcher.mu.
type lane struct {
	target       uuid.UUID
	queue        []Job
	head         int           // queue[head:] waits
	reserved     int           // places promised to commits under way
	running      int           // attempts in flight
	failures     int           // in a row
	attemptTime  time.Duration // what an attempt takes, a moving average; 0 = not known
	ready        bool          // stands in Dispatcher.ready, waiting for a worker
	backlog      bool          // rows of this target stand in the database without a lease
	wokeOthersAt time.Time     // when other processes were last told of such rows
	interval     time.Duration // pacing: least time between starts; 0 = none
	nextAt       time.Time     // pacing: earliest next start
	timer        *time.Timer   // the wake-up for nextAt; nil = none is set
}

func (l *lane) waiting() int { return len(l.queue) - l.head }

// limit is how many attempts may be in flight: the breaker's share after
// repeated failures, so that a dead target holds few workers.
func (l *lane) limit(concurrency int) int {
	if l.failures >= breakerAfter {
		return max(1, concurrency/breakerShare)
	}
	return concurrency
}

// size is how many jobs may wait: those that can start before their leases are too
// old. One that cannot would be left alone until its lease has ended.
func (l *lane) size(concurrency int) int {
	size := laneQueue
	if l.failures >= breakerAfter {
		size = 2 * l.limit(concurrency)
	}
	if l.attemptTime > 0 {
		size = min(size, 1+int(time.Duration(l.limit(concurrency))*(startWithin/2)/l.attemptTime))
	}
	if l.interval > 0 {
		size = min(size, 1+int(startWithin/2/l.interval))
	}
	return size
}

// room is how many more jobs may be taken.
func (l *lane) room(concurrency int) int {
	return l.size(concurrency) - l.waiting() - l.reserved
}

func (l *lane) push(job Job) {
	if l.head > 0 && l.head == len(l.queue) {
		l.queue, l.head = l.queue[:0], 0
	}
	l.queue = append(l.queue, job)
}

// putBack returns a job that was popped and not attempted to its place: the oldest
// stays first.
func (l *lane) putBack(job Job) {
	if l.head == 0 {
		l.queue = slices.Insert(l.queue, 0, Job{})
		l.head = 1
	}
	l.head--
	at := l.head
	for ; at+1 < len(l.queue) && older(l.queue[at+1], job) < 0; at++ {
		l.queue[at] = l.queue[at+1]
	}
	l.queue[at] = job
}

// older compares jobs by when they became due, and by their ids.
func older(a, b Job) int {
	return cmp.Or(a.DueAt.Compare(b.DueAt), bytes.Compare(a.ID[:], b.ID[:]))
}

func (l *lane) pop() Job {
	job := l.queue[l.head]
	l.queue[l.head] = Job{} // let the event go
	l.head++
	if l.head >= 512 && l.head*2 >= len(l.queue) {
		n := copy(l.queue, l.queue[l.head:])
		clear(l.queue[n:])
		l.queue, l.head = l.queue[:n], 0
	}
	return job
}

// idle reports whether nothing would be lost by forgetting the lane.
func (l *lane) idle(now time.Time) bool {
	return l.waiting() == 0 && l.reserved == 0 && l.running == 0 && !l.backlog && l.failures < breakerAfter && !now.Before(l.nextAt)
}
