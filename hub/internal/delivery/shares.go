package delivery

import (
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/directory"
)

const (
	slowAttempt          = time.Second // lanes with slower attempts hold no more than can start in time
	maxWakesOfOthers     = 16          // wake tasks of one tenant per wakeInterval
	reserveDivisor       = 8           // the last 1/8 of workers and places are for tenants that hold little
	maxPlacesFromReserve = 16          // places a tenant may hold where only the reserve is left
)

// tenantShare is what one tenant holds of the dispatcher: workers, places in the queue and
// turns. All fields are guarded by Dispatcher.mu.
type tenantShare struct {
	id          uuid.UUID        // uuid.Nil: targets whose tenant is not known yet
	limits      directory.Limits // as of the last delivery; 0 is half
	lanes       int              // of this tenant
	running     int              // attempts in flight
	queued      int              // deliveries waiting and places reserved
	attemptTime time.Duration    // moving average of an attempt's duration; 0 = unknown
	progressAt  time.Time        // when an attempt last ended, or the first of those in flight started
	ready       turnQueue[*lane] // lanes with work that await a worker
	inTurn      bool             // is in Dispatcher.turns
	claims      turnQueue[*lane] // lanes whose due rows are to be claimed
	inClaims    bool             // is in Dispatcher.claimTurns
	wakes       int              // wake tasks since wokeAt
	wokeAt      time.Time
}

// fairShare returns how much of a pool one holder may have: no more than what it leaves
// free for the others, and no more than the limit. A sole holder gets half, n busy holders
// get 1/(n+1) each. So there is always something left for a holder with nothing.
func fairShare(held, free, limit int) int {
	return min(limit, (held+free+1)/2)
}

// workerShare returns how many attempts a tenant may have in flight now. A limit above
// half of the workers counts only while no other tenant waits. The caller holds mu.
func (d *Dispatcher) workerShare(t *tenantShare) int {
	free := d.Concurrency - d.inFlight
	half := (d.Concurrency + 1) / 2
	if t.limits.InFlight > half && !d.othersWait(t) {
		return min(t.limits.InFlight, t.running+free)
	}
	limit := half
	if t.limits.InFlight > 0 {
		limit = min(half, t.limits.InFlight)
	}
	return fairShare(t.running, free, limit)
}

// mayStart reports whether a tenant may start an attempt now. The last workers are for
// tenants with nothing in flight and for those whose attempts end quickly: many tenants
// whose receivers hang at once leave them to the others. The caller holds mu.
func (d *Dispatcher) mayStart(t *tenantShare) bool {
	if t.running >= d.workerShare(t) {
		return false
	}
	if d.Concurrency-d.inFlight > d.Concurrency/reserveDivisor || t.running == 0 {
		return true
	}
	return t.attemptTime > 0 && t.attemptTime < slowAttempt && d.Now().Sub(t.progressAt) < slowAttempt
}

// othersWait reports whether another tenant has work and waits for a worker. The caller
// holds mu.
func (d *Dispatcher) othersWait(t *tenantShare) bool {
	waiting := d.turns.len()
	if t.inTurn {
		waiting--
	}
	return waiting > 0
}

// freePlaces returns how many more deliveries of a priority a lane may take. The bounds of
// its tenant and of the process apply beside its own, except for the first of high priority.
// A paced lane takes none until its next turn is near: a lease does not last for a minute.
// The caller holds mu.
func (d *Dispatcher) freePlaces(l *lane, priority hub.Priority) int {
	if l.interval > 0 && l.nextAt.Sub(d.Now()) > startWithin/2 {
		return 0
	}
	t := l.tenant
	places := min(l.freeCapacity(d.EndpointConcurrency, priority), d.tenantPlaces(t))
	if l.attemptTime >= slowAttempt {
		// The tenant's slow lanes share its workers: together they hold what can start in
		// time. A lane without any may hold one, so that each has its turn.
		startable := 1 + int(time.Duration(d.workerShare(t))*(startWithin/2)/l.attemptTime) - t.queued
		if l.waiting()+l.reservedPlaces() == 0 {
			startable = max(1, startable)
		}
		places = min(places, startable)
	}
	if priority == hub.PriorityHigh && l.occupied(priority) == 0 {
		places = max(places, 1)
	}
	return max(0, places)
}

// mayClaim reports whether a lane has a backlog and a place for it. The caller holds mu.
func (d *Dispatcher) mayClaim(l *lane) bool {
	for _, priority := range claimOrder {
		if l.backlog.has(priority) && d.freePlaces(l, priority) > 0 {
			return true
		}
	}
	return false
}

// tenantPlaces returns how many more places in the queue a tenant may take. The caller
// holds mu.
func (d *Dispatcher) tenantPlaces(t *tenantShare) int {
	free := maxQueued - d.queued
	limit := (maxQueued + 1) / 2
	if t.limits.Queue > 0 {
		limit = t.limits.Queue
	}
	if free <= maxQueued/reserveDivisor {
		limit = min(limit, maxPlacesFromReserve)
	}
	return min(free, fairShare(t.queued, free, limit)-t.queued)
}

// mayWakeOthers counts a wake task of a tenant. It returns false where the tenant has had
// its share of them: the sweeps of the other processes find the rows within a second.
func (t *tenantShare) mayWakeOthers(now time.Time) bool {
	if now.Sub(t.wokeAt) >= wakeInterval {
		t.wokeAt, t.wakes = now, 0
	}
	t.wakes++
	return t.wakes <= maxWakesOfOthers
}

// turnQueue is a first-in, first-out queue that reuses its memory.
type turnQueue[T any] struct {
	items []T
	head  int // items[head:] wait
}

func (q *turnQueue[T]) len() int { return len(q.items) - q.head }

// waiting returns what waits, in order. It is valid until the queue changes.
func (q *turnQueue[T]) waiting() []T { return q.items[q.head:] }

func (q *turnQueue[T]) push(item T) {
	if len(q.items) == cap(q.items) && q.head >= (len(q.items)+1)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, item)
}

func (q *turnQueue[T]) pop() T {
	var none T
	item := q.items[q.head]
	q.items[q.head] = none
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return item
}
