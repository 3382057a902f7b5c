package delivery

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
)

// Bounds of what one process holds in memory.
const (
	maxQueued        = 16_384 // deliveries of all targets
	maxIdleWorkers   = 64     // workers kept without work: a new one's stack has to grow first
	laneCapacity     = 2_048  // deliveries of one healthy target
	breakerDivisor   = 8      // an open breaker leaves 1/8 of the target's concurrency
	idleLaneInterval = time.Minute
	breakerMemory    = time.Hour   // of the open breaker of a target without work: longer than the pause between two trials
	wakeInterval     = time.Second // minimum interval between wake tasks for one target; see also maxWakesOfOthers
)

// BreakerAfter is how many failed attempts in a row open a target's breaker.
const BreakerAfter = 10

// lane is the queue of one target and its share of the workers. All fields are
// guarded by Dispatcher.mu.
type lane struct {
	target       uuid.UUID
	tenant       *tenantShare
	queues       [priorityCount]turnQueue[LeasedDelivery] // by rank
	reserved     [priorityCount]int                       // places reserved by commits under way, by rank
	sinceBulk    int                                      // attempts that went before the bulk that waits
	running      int                                      // attempts in flight
	failures     int                                      // in a row
	attemptedAt  time.Time                                // when the last attempt ended
	destination  *destination                             // of the last attempt; nil: none yet
	attemptTime  time.Duration                            // moving average of an attempt's duration; 0 = unknown
	awaitsWorker bool                                     // is in tenantShare.ready
	awaitsClaim  bool                                     // is in tenantShare.claims
	backlog      prioritySet                              // priorities of which the database has rows for this target without a lease
	wokeOthersAt time.Time                                // when the last wake task was enqueued
	interval     time.Duration                            // pacing: least time between starts; 0 = none
	nextAt       time.Time                                // pacing: earliest next start
	timer        *time.Timer                              // fires at nextAt; nil = not set
}

func (l *lane) waiting() (n int) {
	for i := range l.queues {
		n += l.queues[i].len()
	}
	return n
}

// reservedPlaces returns how many places are reserved.
func (l *lane) reservedPlaces() (n int) {
	for _, reserved := range l.reserved {
		n += reserved
	}
	return n
}

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

// addReserved changes the number of places reserved for a priority, also in the tenant's
// share.
func (l *lane) addReserved(p hub.Priority, n int) {
	l.reserved[rank(p)] += n
	l.tenant.queued += n
}

// moveTo moves a lane and what it holds to another tenant's share: its tenant was not known
// when the lane was made.
func (l *lane) moveTo(t *tenantShare) {
	held := l.waiting() + l.reservedPlaces()
	l.tenant.lanes--
	l.tenant.queued -= held
	l.tenant.running -= l.running
	t.lanes++
	t.queued += held
	t.running += l.running
	l.tenant = t
}

// push queues a delivery behind those of its priority.
func (l *lane) push(delivery LeasedDelivery) { l.queues[rank(delivery.Priority)].push(delivery) }

// unpop returns a delivery that was popped and not attempted to its place: the oldest of
// its priority stays first.
func (l *lane) unpop(delivery LeasedDelivery) {
	q := &l.queues[rank(delivery.Priority)]
	if q.head == 0 {
		q.items = slices.Insert(q.items, 0, LeasedDelivery{})
		q.head = 1
	}
	q.head--
	place := q.head
	for ; place+1 < len(q.items) && older(q.items[place+1], delivery) < 0; place++ {
		q.items[place] = q.items[place+1]
	}
	q.items[place] = delivery
}

// older compares deliveries by when they became ready, then by id.
func older(a, b LeasedDelivery) int {
	return cmp.Or(a.ReadyAt.Compare(b.ReadyAt), bytes.Compare(a.ID[:], b.ID[:]))
}

// pop takes the delivery that is sent next.
func (l *lane) pop() LeasedDelivery { return l.queues[l.nextRank()].pop() }

// isIdle reports whether the lane holds no state and may be deleted.
func (l *lane) isIdle(now time.Time) bool {
	return l.waiting() == 0 && l.reservedPlaces() == 0 && l.running == 0 && l.backlog == 0 && !l.awaitsWorker && !l.awaitsClaim &&
		(l.failures < BreakerAfter || now.Sub(l.attemptedAt) >= breakerMemory) && !now.Before(l.nextAt)
}
