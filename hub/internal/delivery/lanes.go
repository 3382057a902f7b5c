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
	maxQueued        = 16_384 // deliveries of all targets
	maxIdleWorkers   = 64     // workers kept without work: a new one's stack has to grow first
	laneCapacity     = 2_048  // deliveries of one healthy target
	maxPings         = 16     // pings of one target that wait beyond its capacity
	breakerDivisor   = 8      // an open breaker leaves 1/8 of the target's concurrency
	idleLaneInterval = time.Minute
	wakeInterval     = time.Second // minimum interval between wake tasks for one target; see also maxWakesOfOthers
)

// BreakerAfter is how many failed attempts in a row open a target's breaker.
const BreakerAfter = 10

// lane is the queue of one target and its share of the workers. All fields are
// guarded by Dispatcher.mu.
type lane struct {
	target       uuid.UUID
	tenant       *tenantShare
	queue        []LeasedDelivery
	head         int           // queue[head:] waits
	reserved     int           // places reserved by commits under way
	running      int           // attempts in flight
	failures     int           // in a row
	attemptTime  time.Duration // moving average of an attempt's duration; 0 = unknown
	awaitsWorker bool          // is in tenantShare.ready
	awaitsClaim  bool          // is in tenantShare.claims
	backlog      bool          // the database has rows of this target without a lease
	wokeOthersAt time.Time     // when the last wake task was enqueued
	interval     time.Duration // pacing: least time between starts; 0 = none
	nextAt       time.Time     // pacing: earliest next start
	timer        *time.Timer   // fires at nextAt; nil = not set
}

func (l *lane) waiting() int { return len(l.queue) - l.head }

// maxRunning returns how many attempts may be in flight: the breaker's share after
// repeated failures, so that a dead target holds few workers.
func (l *lane) maxRunning(concurrency int) int {
	if l.failures >= BreakerAfter {
		return max(1, concurrency/breakerDivisor)
	}
	return concurrency
}

// capacity returns how many deliveries may wait: those that can start before their
// leases are too old. Any other would be stuck until its lease ends.
func (l *lane) capacity(concurrency int) int {
	capacity := laneCapacity
	if l.failures >= BreakerAfter {
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

// freeCapacity returns how many more deliveries may be taken.
func (l *lane) freeCapacity(concurrency int) int {
	return l.capacity(concurrency) - l.waiting() - l.reserved
}

// addReserved changes the number of reserved places, also in the tenant's share.
func (l *lane) addReserved(n int) {
	l.reserved += n
	l.tenant.queued += n
}

// moveTo moves a lane and what it holds to another tenant's share: its tenant was not known
// when the lane was made.
func (l *lane) moveTo(t *tenantShare) {
	held := l.waiting() + l.reserved
	l.tenant.lanes--
	l.tenant.queued -= held
	l.tenant.running -= l.running
	t.lanes++
	t.queued += held
	t.running += l.running
	l.tenant = t
}

// push queues a delivery: a ping behind the pings that wait, any other behind all.
func (l *lane) push(delivery LeasedDelivery) {
	if l.head > 0 && l.head == len(l.queue) {
		l.queue, l.head = l.queue[:0], 0
	}
	if !delivery.isPing() {
		l.queue = append(l.queue, delivery)
		return
	}
	l.queue = slices.Insert(l.queue, l.head+l.pings(), delivery)
}

// pings returns how many pings wait. They are the first of the queue.
func (l *lane) pings() (n int) {
	for l.head+n < len(l.queue) && l.queue[l.head+n].isPing() {
		n++
	}
	return n
}

// unpop returns a delivery that was popped and not attempted to its place: the oldest
// stays first, behind pings.
func (l *lane) unpop(delivery LeasedDelivery) {
	if l.head == 0 {
		l.queue = slices.Insert(l.queue, 0, LeasedDelivery{})
		l.head = 1
	}
	l.head--
	place := l.head
	for ; place+1 < len(l.queue) && goesBefore(l.queue[place+1], delivery); place++ {
		l.queue[place] = l.queue[place+1]
	}
	l.queue[place] = delivery
}

// goesBefore reports whether a delivery that waits is sent before another one.
func goesBefore(waiting, other LeasedDelivery) bool {
	if waiting.isPing() != other.isPing() {
		return waiting.isPing()
	}
	return older(waiting, other) < 0
}

// older compares deliveries by when they became ready, then by id.
func older(a, b LeasedDelivery) int {
	return cmp.Or(a.ReadyAt.Compare(b.ReadyAt), bytes.Compare(a.ID[:], b.ID[:]))
}

func (l *lane) pop() LeasedDelivery {
	delivery := l.queue[l.head]
	l.queue[l.head] = LeasedDelivery{} // release the event's memory
	l.head++
	if l.head >= 512 && l.head*2 >= len(l.queue) {
		n := copy(l.queue, l.queue[l.head:])
		clear(l.queue[n:])
		l.queue, l.head = l.queue[:n], 0
	}
	return delivery
}

// isIdle reports whether the lane holds no state and may be deleted.
func (l *lane) isIdle(now time.Time) bool {
	return l.waiting() == 0 && l.reserved == 0 && l.running == 0 && !l.backlog && !l.awaitsWorker && !l.awaitsClaim && l.failures < BreakerAfter && !now.Before(l.nextAt)
}
