package delivery

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/internal/delivery/client"
	"integrationhub/hub/internal/directory"
)

// AttemptLog stores the results of attempts. Record may block: that is the back-pressure
// on dispatch when the database cannot keep up. TrackLease registers a lease before the
// first attempt of its deliveries is recorded.
type AttemptLog interface {
	TrackLease(*CommitLease)
	Record(AttemptResult)
}

// Pacer grants, across all processes, the right to start one attempt at a paced
// target: at most one each interval. ok is false if another process just had it;
// wait is then the time until the next turn.
type Pacer interface {
	TakeTurn(ctx context.Context, target uuid.UUID, interval time.Duration) (wait time.Duration, ok bool)
}

// Config holds the dependencies and limits of a Dispatcher.
type Config struct {
	Pool                *pgxpool.Pool
	Directory           *directory.Directory
	Client              *client.Client
	Attempts            AttemptLog
	Pacer               Pacer // nil: this process only
	Logger              *slog.Logger
	Now                 func() time.Time
	WakeOthers          func(target uuid.UUID) // asks another process to claim rows left without a lease; nil: there is none
	Concurrency         int                    // attempts in flight, all targets
	EndpointConcurrency int                    // attempts in flight, one target
}

// Dispatcher keeps a bounded queue of leased deliveries and gives every target
// its share of the workers: a dead or slow target delays nobody else.
type Dispatcher struct {
	Config
	destinations sync.Map                           // URL → *client.Target
	erasing      atomic.Pointer[map[uuid.UUID]bool] // tenants whose payloads are being erased now; nil: none
	work         chan assignment                    // to idle workers; senders never wait
	hasTakenBack atomic.Bool                        // takenBack is not empty
	stopSignal   chan struct{}                      // closed when stopping begins: idle workers end

	mu             sync.Mutex
	lanes          map[uuid.UUID]*lane
	awaitingWorker []*lane // lanes that have work but no free worker, in turn
	queued         int     // deliveries waiting and places reserved
	inFlight       int
	idleWorkers    int                     // workers waiting for an assignment
	claiming       int                     // claims from the database under way
	expired        []LeasedDelivery        // not attempted because their leases were too old; the sweep releases them
	takenBack      map[uuid.UUID]time.Time // deliveries parked while they waited here, with their leases
	stopping       bool
	stopCond       *sync.Cond // inFlight or claiming fell while stopping

	wakeups chan uuid.UUID // targets with free capacity again, to be filled from the database
}

// NewDispatcher returns a dispatcher. No goroutine runs until it has work.
func NewDispatcher(config Config) *Dispatcher {
	d := &Dispatcher{
		Config: config, lanes: make(map[uuid.UUID]*lane), wakeups: make(chan uuid.UUID, 1024),
		work: make(chan assignment), stopSignal: make(chan struct{}),
	}
	d.stopCond = sync.NewCond(&d.mu)
	return d
}

// laneOf returns a target's lane, a new one if there is none. The caller holds mu.
func (d *Dispatcher) laneOf(target uuid.UUID) *lane {
	l := d.lanes[target]
	if l == nil {
		l = &lane{target: target}
		d.lanes[target] = l
	}
	return l
}

// Reserve takes a place in the queue for a delivery about to be committed.
func (d *Dispatcher) Reserve(target *directory.Target) bool {
	return d.reserveUpTo(target.ID, 1, paceInterval(target)) == 1
}

// reserveUpTo takes up to n places and returns how many it got. It sets the lane's pace
// first: a lane must not take more than can start while the leases are young.
func (d *Dispatcher) reserveUpTo(target uuid.UUID, n int, interval time.Duration) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.laneOf(target)
	if d.stopping {
		return 0
	}
	l.interval = interval
	n = max(0, min(n, l.freeCapacity(d.EndpointConcurrency), maxQueued-d.queued))
	l.reserved += n
	d.queued += n
	return n
}

// Release frees a reserved place.
func (d *Dispatcher) Release(target uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.laneOf(target).reserved--
	d.queued--
}

// Dispatch queues committed deliveries whose places were reserved. lease covers those
// without rows; nil if every one has a row.
func (d *Dispatcher) Dispatch(deliveries []LeasedDelivery, lease *CommitLease) {
	if lease != nil {
		d.Attempts.TrackLease(lease)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, delivery := range deliveries {
		l := d.laneOf(delivery.Target)
		l.reserved--
		l.push(delivery)
		d.startWorkers(l)
	}
}

// startWorkers starts workers for a lane up to its limit. The caller holds mu.
func (d *Dispatcher) startWorkers(l *lane) {
	for d.isRunnable(l) {
		if d.inFlight >= d.Concurrency {
			if !l.awaitsWorker {
				l.awaitsWorker = true
				d.awaitingWorker = append(d.awaitingWorker, l)
			}
			return
		}
		d.inFlight++
		assigned := assignment{l, d.popAndStart(l)}
		select {
		case d.work <- assigned:
			d.idleWorkers--
		default:
			go d.run(assigned)
		}
	}
}

// assignment is a worker's next attempt.
type assignment struct {
	lane     *lane
	delivery LeasedDelivery
}

// atWorkerLimit reports whether a lane has its share of the workers: its own limit, and only
// one attempt at a time while three quarters of all workers are busy, so that many
// slow targets together leave some to the others. The caller holds mu.
func (d *Dispatcher) atWorkerLimit(l *lane) bool {
	return l.running >= l.maxRunning(d.EndpointConcurrency) || l.running > 0 && d.inFlight >= d.Concurrency*3/4
}

// isRunnable reports whether a lane may start an attempt now. For a paced lane that has
// to wait it sets the timer. The caller holds mu.
func (d *Dispatcher) isRunnable(l *lane) bool {
	if l.waiting() == 0 || d.atWorkerLimit(l) || d.stopping {
		return false
	}
	if l.interval == 0 {
		return true
	}
	wait := l.nextAt.Sub(d.Now())
	if wait <= 0 {
		return true
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(wait, func() { d.resumeLane(l) })
	}
	return false
}

func (d *Dispatcher) resumeLane(l *lane) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l.timer = nil
	d.startWorkers(l)
}

// popAndStart removes a lane's next delivery and counts it as running. The caller holds mu.
func (d *Dispatcher) popAndStart(l *lane) LeasedDelivery {
	delivery := l.pop()
	l.running++
	d.queued--
	delivery.paced = l.interval > 0
	if delivery.paced {
		l.nextAt = d.Now().Add(l.interval)
	}
	if l.backlog && (l.waiting() == 0 || 2*l.freeCapacity(d.EndpointConcurrency) >= l.capacity(d.EndpointConcurrency)) {
		l.backlog = false
		d.Wake(l.target)
	}
	return delivery
}

// run is one worker: it makes attempts while there is work, and then waits for more
// unless enough workers are idle.
func (d *Dispatcher) run(assigned assignment) {
	w := &worker{}
	for {
		result := d.attempt(w, assigned.lane, assigned.delivery)
		var shouldWait bool
		assigned.lane, assigned.delivery, shouldWait = d.finishAndTakeNext(assigned.lane, assigned.delivery, result)
		switch {
		case assigned.lane != nil:
		case shouldWait:
			select {
			case assigned = <-d.work:
			case <-d.stopSignal:
				return
			}
		default:
			return
		}
	}
}

// finishAndTakeNext records a finished attempt in its lane and returns the worker's next
// delivery: first from lanes awaiting a worker, in turn, then from its own. If there is
// none, shouldWait reports whether the worker should wait for one.
func (d *Dispatcher) finishAndTakeNext(l *lane, finished LeasedDelivery, result laneUpdate) (next *lane, delivery LeasedDelivery, shouldWait bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l.running--
	l.update(result)
	if result.leaseTooOld {
		d.expired = append(d.expired, finished)
	}
	if result.pacedFor > 0 { // another process had this interval's turn
		l.nextAt = d.Now().Add(result.pacedFor) // this process's turn was not used
		l.unpop(finished)
		d.queued++
		if l.timer != nil && l.timer.Stop() { // it was set for later
			l.timer = time.AfterFunc(result.pacedFor, func() { d.resumeLane(l) })
		}
	}
	if d.stopping {
		d.inFlight--
		d.stopCond.Broadcast()
		return nil, LeasedDelivery{}, false
	}
	if len(d.awaitingWorker) > 0 && d.isRunnable(l) && !l.awaitsWorker {
		l.awaitsWorker = true
		d.awaitingWorker = append(d.awaitingWorker, l)
	}
	for len(d.awaitingWorker) > 0 {
		first := d.awaitingWorker[0]
		d.awaitingWorker = d.awaitingWorker[1:]
		first.awaitsWorker = false
		if d.isRunnable(first) {
			delivery := d.popAndStart(first)
			if d.isRunnable(first) {
				first.awaitsWorker = true
				d.awaitingWorker = append(d.awaitingWorker, first)
			}
			return first, delivery, false
		}
	}
	if d.isRunnable(l) {
		delivery := d.popAndStart(l)
		d.startWorkers(l) // the lane may have more than one worker's share now, as when its breaker closes
		return l, delivery, false
	}
	d.inFlight--
	if shouldWait = d.idleWorkers < maxIdleWorkers; shouldWait {
		d.idleWorkers++
	}
	return nil, LeasedDelivery{}, shouldWait
}

// takeLocalTurn takes a paced target's next turn in this process, for a delivery that
// started before its lane was paced. ok is false if another delivery has the turn; wait
// is then the time until the next.
func (d *Dispatcher) takeLocalTurn(l *lane, interval time.Duration) (wait time.Duration, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Now()
	if wait = l.nextAt.Sub(now); wait > 0 {
		return wait, false
	}
	l.interval, l.nextAt = interval, now.Add(interval)
	return 0, true
}

// update feeds a target's breaker and pacing with the outcome of an attempt.
func (l *lane) update(r laneUpdate) {
	switch {
	case r.skipped:
		l.backlog = true // claimed again once released, or when its lease ends
	case r.pacedFor > 0:
	case r.healthy:
		l.failures = 0
	default:
		l.failures++
	}
	if r.hasInterval {
		l.interval = r.interval
	}
	switch {
	case r.duration == 0:
	case l.attemptTime == 0:
		l.attemptTime = r.duration
	default:
		l.attemptTime = (7*l.attemptTime + r.duration) / 8
	}
}

// dropIdleLanes deletes lanes without work; called every idleLaneInterval.
func (d *Dispatcher) dropIdleLanes() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for target, l := range d.lanes {
		if l.isIdle(d.Now()) {
			delete(d.lanes, target)
		}
	}
}

// Depth returns how many deliveries wait in this process and how many attempts are in flight.
func (d *Dispatcher) Depth() (queued, inFlight int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.queued, d.inFlight
}

// beginClaim reports whether leases may still be taken. If so, endClaim must follow
// once they are queued, so that Stop misses none.
func (d *Dispatcher) beginClaim() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.stopping {
		d.claiming++
	}
	return !d.stopping
}

func (d *Dispatcher) endClaim() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.claiming--
	d.stopCond.Broadcast()
}

// StopAccepting starts no more attempts; those in flight go on. Deliveries accepted from
// now on are left to other processes.
func (d *Dispatcher) StopAccepting() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.beginStop()
}

// beginStop ends idle workers. The caller holds mu.
func (d *Dispatcher) beginStop() {
	if !d.stopping {
		d.stopping = true
		close(d.stopSignal)
	}
}

// Stop starts no more attempts, waits for those in flight until ctx ends, and
// returns the deliveries that were leased but not attempted. drained is false if
// attempts are still in flight.
func (d *Dispatcher) Stop(ctx context.Context) (unattempted []LeasedDelivery, drained bool) {
	unblock := context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.stopCond.Broadcast()
	})
	defer unblock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.beginStop()
	for (d.inFlight > 0 || d.claiming > 0) && ctx.Err() == nil {
		d.stopCond.Wait()
	}
	for _, l := range d.lanes {
		for l.waiting() > 0 {
			unattempted = append(unattempted, l.pop())
		}
	}
	return append(unattempted, d.stillLeased(d.expired)...), d.inFlight == 0
}
