package delivery

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// simulation runs a dispatcher's scheduler on a clock of its own: attempts take the time
// of their lane, and nothing is sent.
type simulation struct {
	*Dispatcher
	t        *testing.T
	now      time.Time
	duration map[uuid.UUID]time.Duration // of a target's attempts
	running  endings
	started  map[uuid.UUID]int           // attempts by tenant
	worst    map[uuid.UUID]time.Duration // by tenant: longest wait for a worker
}

func newSimulation(t *testing.T, concurrency, endpointConcurrency int) *simulation {
	t.Helper()
	s := &simulation{
		t: t, now: time.Unix(1767323045, 0), duration: make(map[uuid.UUID]time.Duration),
		started: make(map[uuid.UUID]int), worst: make(map[uuid.UUID]time.Duration),
	}
	s.Dispatcher = NewDispatcher(Config{Now: func() time.Time { return s.now }, Concurrency: concurrency, EndpointConcurrency: endpointConcurrency})
	return s
}

// targets returns new targets of a tenant whose attempts take so long.
func (s *simulation) targets(tenant uuid.UUID, n int, duration time.Duration) []uuid.UUID {
	targets := make([]uuid.UUID, n)
	for i := range targets {
		targets[i] = uuid.New()
		s.laneOf(targets[i], tenant)
		s.duration[targets[i]] = duration
	}
	return targets
}

// add queues a delivery of each target.
func (s *simulation) add(targets ...uuid.UUID) {
	for _, target := range targets {
		l := s.laneOf(target, uuid.Nil)
		l.push(LeasedDelivery{TargetID: target, ReadyAt: s.now})
		l.tenant.queued++
		s.queued++
		s.queueLane(l)
	}
	s.start()
}

// start starts every attempt that may start now.
func (s *simulation) start() {
	for next, ok := s.next(); ok; next, ok = s.next() {
		tenant := next.lane.tenant.id
		s.started[tenant]++
		s.worst[tenant] = max(s.worst[tenant], s.now.Sub(next.delivery.ReadyAt))
		heap.Push(&s.running, ending{next, s.now.Add(s.duration[next.lane.target])})
	}
}

// runUntil ends the attempts whose time comes until a moment.
func (s *simulation) runUntil(moment time.Time) {
	for len(s.running) > 0 && !s.running[0].at.After(moment) {
		end := heap.Pop(&s.running).(ending)
		s.now = end.at
		took := s.duration[end.lane.target]
		s.finish(end.assignment, laneUpdate{healthy: took < 10*time.Second, duration: took})
		s.start()
	}
	s.now = moment
}

// check compares the sums with their parts.
func (s *simulation) check() {
	running, queued := 0, 0
	for _, share := range s.tenants {
		running += share.running
		queued += share.queued
		require.GreaterOrEqual(s.t, min(share.running, share.queued), 0)
	}
	require.Equal(s.t, []int{s.inFlight, s.queued}, []int{running, queued})
	require.LessOrEqual(s.t, s.inFlight, s.Concurrency)
}

// ending is when an attempt ends; endings are a heap of them.
type ending struct {
	assignment
	at time.Time
}

type endings []ending

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e endings) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)        { *e = append(*e, x.(ending)) }
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// Whatever hostile tenants do, one with little work gets a worker at once.
func TestNeighboursOfHangingTenantsWaitForNobody(t *testing.T) {
	t.Parallel()
	for _, hostiles := range []int{1, 5, 20} {
		s := newSimulation(t, 1024, 64)
		hanging := make([][]uuid.UUID, hostiles)
		for i := range hanging {
			hanging[i] = s.targets(uuid.New(), 1400/hostiles, 10*time.Second)
		}
		neighbours := make([]uuid.UUID, 20)
		for i := range neighbours {
			neighbours[i] = s.targets(uuid.New(), 1, 5*time.Millisecond)[0]
		}
		start := s.now
		for round := range 400 { // 60 s
			s.runUntil(start.Add(time.Duration(round) * 150 * time.Millisecond))
			for _, targets := range hanging {
				if round < 10 {
					s.add(targets...)
				}
			}
			s.add(neighbours...)
		}
		for _, target := range neighbours {
			require.Zero(t, s.worst[s.lanes[target].tenant.id], "beside %d hanging tenants", hostiles)
		}
	}
}

// A tenant alone has half of the workers, n busy ones have the n+1-th part each, however
// many endpoints they have.
func TestTenantsShareTheWorkers(t *testing.T) {
	t.Parallel()
	for tenants, want := range map[int]int{1: 512, 2: 341, 3: 256, 6: 146} {
		s := newSimulation(t, 1024, 64)
		start := s.now
		ids := make([]uuid.UUID, tenants)
		for i := range ids {
			ids[i] = uuid.New()
			targets := s.targets(ids[i], 520*(1+i%2), 9*time.Second)
			for range 4 {
				s.add(targets...)
			}
		}
		s.runUntil(start.Add(19 * time.Second))
		for _, id := range ids {
			require.InDelta(t, want, s.shareOf(id).running, 8, "of %d tenants", tenants)
		}
	}
}

// Tenants take turns: one with many endpoints gets as many attempts as one with few.
func TestTenantsTakeTurns(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, 60, 60)
	large, small := uuid.New(), uuid.New()
	many, few := s.targets(large, 400, time.Second), s.targets(small, 40, time.Second)
	for range 20 {
		s.add(many...)
		s.add(few...)
	}
	s.runUntil(s.now.Add(20 * time.Second))
	require.InEpsilon(t, s.started[large], s.started[small], 0.1)
	for _, target := range many {
		require.Less(t, s.lanes[target].waiting(), 20, "and within a tenant each endpoint has its turn")
	}
}

// Many hanging endpoints of a tenant leave workers to the tenant's others.
func TestHangingEndpointsLeaveWorkersToTheirTenant(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, 1024, 64)
	tenant := uuid.New()
	hanging, alive := s.targets(tenant, 30, 10*time.Second), s.targets(tenant, 1, time.Millisecond)
	for range 100 {
		s.add(hanging...)
	}
	require.Less(t, s.inFlight, 512)
	before := s.started[tenant]
	s.add(alive...)
	require.Equal(t, before+1, s.started[tenant])
}

// An operator's limit of a tenant: below half it is the bound, above half it counts while
// no other tenant waits.
func TestWorkerLimitOfTenant(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{0: 32, 5: 5, 48: 48, 1000: 56} {
		s := newSimulation(t, 64, 64)
		tenant := uuid.New()
		s.shareOf(tenant).limits.InFlight = limit
		targets := s.targets(tenant, 64, 10*time.Second)
		s.add(targets...)
		require.Equal(t, want, s.inFlight, "limit %d", limit)
		if limit < 1000 {
			continue
		}
		s.add(targets...)
		other := s.targets(uuid.New(), 1, 10*time.Second)
		s.add(other...)
		require.Equal(t, 1, s.lanes[other[0]].running, "the last eighth is for those that hold little")
		busy := uuid.New()
		for range 4 {
			s.add(s.targets(busy, 32, 9*time.Second)...)
			s.add(targets...)
		}
		s.runUntil(s.now.Add(15 * time.Second))
		require.LessOrEqual(t, s.shareOf(tenant).running, 32, "no more than half while another waits")
		require.InDelta(t, s.shareOf(tenant).running, s.shareOf(busy).running, 2)
	}
}

// In any order of events no lane is forgotten, and all sums are right.
func TestSchedulerForgetsNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 12))
		s := newSimulation(t, 1+random.IntN(40), 1+random.IntN(8))
		var targets []uuid.UUID
		for range 1 + random.IntN(12) {
			tenant := uuid.New()
			if random.IntN(3) == 0 {
				s.shareOf(tenant).limits.InFlight = 1 + random.IntN(60)
			}
			targets = append(targets, s.targets(tenant, 1+random.IntN(12), time.Duration(1+random.IntN(12_000))*time.Millisecond)...)
		}
		added := 0
		for range 200 {
			for range random.IntN(12) {
				added++
				s.add(targets[random.IntN(len(targets))])
			}
			s.check()
			s.runUntil(s.now.Add(time.Duration(random.IntN(500)) * time.Millisecond))
		}
		s.runUntil(s.now.Add(24 * time.Hour))
		started := 0
		for _, n := range s.started {
			started += n
		}
		require.Equal(t, added, started, "seed %d", seed)
		require.Zero(t, s.queued+s.inFlight+s.turns.len(), "seed %d", seed)
	}
}
