package delivery

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery/client"
	"integrationhub/hub/internal/directory"
)

// AttemptLog stores the results of attempts. Record may block: that is the back-pressure
// on dispatch when the database cannot keep up. TrackLease registers a lease before the
// first attempt of its deliveries is recorded. AwaitStored waits while what was recorded
// cannot be stored, or until ctx ends.
type AttemptLog interface {
	TrackLease(*CommitLease)
	Record(AttemptResult)
	AwaitStored(ctx context.Context)
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
	WakeOthers          func(target uuid.UUID) // has one process, perhaps this one, claim rows left without a lease; nil: there is no other process
	Concurrency         int                    // attempts in flight, all targets
	EndpointConcurrency int                    // attempts in flight, one target
}

// Dispatcher keeps a bounded queue of leased deliveries and offers every target
// its share of the workers: a dead or slow target delays nobody else.
type Dispatcher struct {
	Config
	erasing      atomic.Pointer[map[uuid.UUID]bool] // tenants whose payloads are being erased now; nil: none
	work         chan assignment                    // to idle workers; senders never wait
	hasWithdrawn atomic.Bool                        // withdrawn is not empty
	stopSignal   chan struct{}                      // closed when stopping begins: idle workers end
	kept         *keptRetries                       // set with a RetryScheduler; nil: every failed delivery gets its row

	mu          sync.Mutex
	lanes       map[uuid.UUID]*lane
	tenants     map[uuid.UUID]*tenantShare
	turns       turnQueue[*tenantShare] // tenants with work that awaits a worker
	claimTurns  turnQueue[*tenantShare] // tenants with due rows to be claimed
	queued      int                     // deliveries waiting and places reserved
	inFlight    int
	idleWorkers int                     // workers waiting for an assignment
	claiming    int                     // claims from the database under way
	expired     []LeasedDelivery        // not attempted because their leases were too old; the sweep releases them
	withdrawn   map[uuid.UUID]time.Time // deliveries settled while they waited here, with their leases
	stopping    bool
	stopCond    *sync.Cond // inFlight or claiming fell while stopping

	claimSignal chan struct{} // has a value while claimTurns may have tenants
	dueScan     dueScan       // used by the sweep alone
	sweptAt     atomic.Int64  // when the sweep last succeeded, in nanoseconds since 1970; 0: not yet
}

// NewDispatcher returns a dispatcher. No goroutine runs until it has work.
func NewDispatcher(config Config) *Dispatcher {
	d := &Dispatcher{
		Config: config, lanes: make(map[uuid.UUID]*lane), tenants: make(map[uuid.UUID]*tenantShare),
		work: make(chan assignment), stopSignal: make(chan struct{}), claimSignal: make(chan struct{}, 1),
	}
	d.stopCond = sync.NewCond(&d.mu)
	return d
}

// laneOf returns a target's lane, a new one if there is none. tenant is uuid.Nil if it is
// not known. The caller holds mu.
func (d *Dispatcher) laneOf(target, tenant uuid.UUID) *lane {
	l := d.lanes[target]
	if l == nil {
		l = &lane{target: target, tenant: d.shareOf(tenant)}
		l.tenant.lanes++
		d.lanes[target] = l
	}
	if tenant != uuid.Nil && l.tenant.id != tenant {
		l.moveTo(d.shareOf(tenant))
	}
	return l
}

// shareOf returns a tenant's share, a new one if there is none. The caller holds mu.
func (d *Dispatcher) shareOf(tenant uuid.UUID) *tenantShare {
	t := d.tenants[tenant]
	if t == nil {
		t = &tenantShare{id: tenant}
		d.tenants[tenant] = t
	}
	return t
}

// Reserve takes a place in the queue for a delivery about to be committed. One of high
// priority gets a place where the target's others get none any more, unless many such wait.
func (d *Dispatcher) Reserve(target *directory.Target, priority hub.Priority) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.laneOf(target.ID, target.TenantID)
	l.tenant.limits = target.Limits
	l.interval = paceInterval(target)
	return d.reserveUpTo(l, priority, 1) == 1
}

// reserveUpTo takes up to n places for a priority and returns how many it got. The lane's
// pace is set before: a lane must not take more than can start while the leases are young.
// The caller holds mu.
func (d *Dispatcher) reserveUpTo(l *lane, priority hub.Priority, n int) int {
	if d.stopping {
		return 0
	}
	n = min(n, d.freePlaces(l, priority))
	l.addReserved(priority, n)
	d.queued += n
	return n
}

// Release frees a reserved place.
func (d *Dispatcher) Release(target uuid.UUID, priority hub.Priority) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.release(d.laneOf(target, uuid.Nil), priority, 1)
}

// release frees places reserved for a priority. The caller holds mu.
func (d *Dispatcher) release(l *lane, priority hub.Priority, n int) {
	l.addReserved(priority, -n)
	d.queued -= n
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
		l := d.laneOf(delivery.TargetID, uuid.Nil)
		l.reserved[rank(delivery.Priority)]--
		l.push(delivery)
		d.queueLane(l)
	}
	d.startWorkers()
}

// dropIdleLanes deletes lanes without work; called every idleLaneInterval.
func (d *Dispatcher) dropIdleLanes() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for target, l := range d.lanes {
		if l.isIdle(d.Now()) {
			delete(d.lanes, target)
			l.tenant.lanes--
		}
	}
	for id, t := range d.tenants {
		if t.lanes == 0 && !t.inTurn && !t.inClaims {
			delete(d.tenants, id)
		}
	}
}

// WaitingTenants returns how many tenants have work that awaits a worker.
func (d *Dispatcher) WaitingTenants() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.turns.len()
}

// QueuedCount returns how many deliveries wait in this process.
func (d *Dispatcher) QueuedCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.queued
}

// InFlightCount returns how many attempts are in flight in this process.
func (d *Dispatcher) InFlightCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inFlight
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

// StopStarting starts no more attempts; those in flight go on. Deliveries committed from
// now on are left to other processes.
func (d *Dispatcher) StopStarting() {
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

// isStopping reports whether no more attempts are started.
func (d *Dispatcher) isStopping() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stopping
}

// Stop starts no more attempts, and waits for those in flight until ctx ends. allEnded is false
// if attempts are still in flight.
func (d *Dispatcher) Stop(ctx context.Context) (allEnded bool) {
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
	return d.inFlight == 0
}

// TakeUnattempted removes what waits here, of a dispatcher that starts no more attempts, and
// returns those deliveries of it that this process has leased.
func (d *Dispatcher) TakeUnattempted() []LeasedDelivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	unattempted := d.expired
	d.expired = nil
	for _, l := range d.lanes {
		for l.waiting() > 0 {
			delivery := l.pop()
			l.tenant.queued--
			d.queued--
			if !d.takeWithdrawn(delivery) { // else it is settled
				unattempted = append(unattempted, delivery)
			}
		}
	}
	return d.stillLeased(unattempted)
}
