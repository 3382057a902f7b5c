package delivery

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/directory"
)

// reserveAll reserves places at each of a tenant's targets until there is none.
func reserveAll(d *Dispatcher, tenant uuid.UUID, targets int, limits directory.Limits) (places int) {
	for target := range targets {
		receiver := &directory.Target{ID: uuid.NewSHA1(tenant, []byte{byte(target), byte(target >> 8)}), TenantID: tenant, Limits: limits, Enabled: true}
		for d.Reserve(receiver, hub.PriorityNormal) {
			places++
		}
	}
	return places
}

// A tenant fills half of the queue, the next one half of the rest: one that has nothing
// finds a place.
func TestTenantsShareTheQueue(t *testing.T) {
	t.Parallel()
	d := NewDispatcher(Config{Now: time.Now, Concurrency: 1024, EndpointConcurrency: 64})
	for _, want := range []int{8192, 4096, 2048, 16} {
		require.Equal(t, want, reserveAll(d, uuid.New(), 1400, directory.Limits{}))
	}
	require.Equal(t, 7, reserveAll(d, uuid.New(), 1400, directory.Limits{Queue: 7}))
	for range 60 {
		require.Positive(t, reserveAll(d, uuid.New(), 1400, directory.Limits{}))
	}
	require.LessOrEqual(t, d.QueuedCount(), maxQueued)
}

// Slow endpoints of a tenant together hold what its workers can start in time; one that
// holds nothing always gets a place.
func TestSlowLanesHoldWhatCanStartInTime(t *testing.T) {
	t.Parallel()
	d := NewDispatcher(Config{Now: time.Now, Concurrency: 1024, EndpointConcurrency: 64})
	tenant := uuid.New()
	lanes := make([]*lane, 1400)
	for i := range lanes {
		lanes[i] = d.laneOf(uuid.New(), tenant)
		lanes[i].attemptTime = 10 * time.Second
	}
	startable := 1 + 512*3/4
	held := 0
	for _, l := range lanes[:10] {
		held += d.reserveUpTo(l, hub.PriorityNormal, 10_000)
	}
	require.InDelta(t, startable, held, 10)
	for _, l := range lanes[1000:] {
		require.Equal(t, 1, d.reserveUpTo(l, hub.PriorityNormal, 16))
		require.Zero(t, d.reserveUpTo(l, hub.PriorityNormal, 16))
	}
	fast := d.laneOf(uuid.New(), tenant)
	require.Equal(t, 100, d.reserveUpTo(fast, hub.PriorityNormal, 100), "those that are not slow are not bounded")
}

// A lane whose tenant becomes known takes along what it holds.
func TestLaneMovesToItsTenant(t *testing.T) {
	t.Parallel()
	d := NewDispatcher(Config{Now: time.Now, Concurrency: 4, EndpointConcurrency: 4})
	target, tenant := uuid.New(), uuid.New()
	l := d.laneOf(target, uuid.Nil)
	require.Equal(t, 3, d.reserveUpTo(l, hub.PriorityNormal, 3))
	require.Same(t, l, d.laneOf(target, tenant))
	require.Equal(t, 3, d.shareOf(tenant).queued)
	require.Zero(t, d.shareOf(uuid.Nil).queued)
	d.release(l, hub.PriorityNormal, 3)
	d.dropIdleLanes()
	require.Empty(t, d.lanes)
	require.Empty(t, d.tenants)
}

// A tenant with a backlog at many endpoints does not fill the queue that all processes
// share with requests for help.
func TestWakeTasksAreBoundedByTenant(t *testing.T) {
	t.Parallel()
	now := time.Unix(1767323045, 0)
	woken := make(chan uuid.UUID, 100)
	d := NewDispatcher(Config{Now: func() time.Time { return now }, Concurrency: 1, EndpointConcurrency: 1, WakeOthers: func(target uuid.UUID) { woken <- target }})
	tenant, other := uuid.New(), uuid.New()
	for range 1400 {
		target := uuid.New()
		d.laneOf(target, tenant)
		d.AnnounceBacklog(target, hub.PriorityNormal)
	}
	for range maxWakesOfOthers {
		<-woken
	}
	d.laneOf(other, uuid.New())
	d.AnnounceBacklog(other, hub.PriorityNormal)
	require.Equal(t, other, <-woken)
	now = now.Add(wakeInterval)
	last := uuid.New()
	d.laneOf(last, tenant)
	d.AnnounceBacklog(last, hub.PriorityNormal)
	require.Equal(t, last, <-woken)
}

// Claims are made for the tenants in turn: one that waits behind 1,400 targets of another
// is in the first round, and so is one whose rows come later.
func TestClaimsTakeTurns(t *testing.T) {
	t.Parallel()
	d := NewDispatcher(Config{Now: time.Now, Concurrency: 1, EndpointConcurrency: 1})
	tenant := uuid.New()
	for range 1400 {
		l := d.laneOf(uuid.New(), tenant)
		d.queueClaim(l)
		d.queueClaim(l) // once is enough
	}
	rounds, total := 0, 0
	for len(d.claimSignal) > 0 {
		<-d.claimSignal
		neighbour := d.laneOf(uuid.New(), uuid.New())
		d.queueClaim(neighbour)
		lanes := d.nextClaims()
		require.Contains(t, lanes, neighbour)
		total += len(lanes)
		if rounds++; rounds == 44 {
			break
		}
	}
	require.Equal(t, 44*maxTargetsPerClaim, total)
}

func TestTurnQueueKeepsTheOrder(t *testing.T) {
	t.Parallel()
	var q turnQueue[int]
	pushed, popped := 0, 0
	for round := range 1000 {
		for range round % 7 {
			q.push(pushed)
			pushed++
		}
		for range min(q.len(), round%5) {
			require.Equal(t, popped, q.pop())
			popped++
		}
	}
	require.Equal(t, pushed-popped, q.len())
	for q.len() > 0 {
		require.Equal(t, popped, q.pop())
		popped++
	}
}

// One tenant's retries do not fill the queue of all: what goes beyond its quota is left
// to the sweep.
func TestRetryQuota(t *testing.T) {
	t.Parallel()
	q := newRetryQuota()
	now := time.Unix(1767323045, 0)
	tenant, other := uuid.New(), uuid.New()
	taken := 0
	for range 14_000 {
		if q.take(tenant, now.Add(time.Second), now) {
			taken++
		}
	}
	require.Equal(t, maxRetriesPerSecond, taken)
	require.True(t, q.take(other, now.Add(time.Second), now))
	for second := range 3600 { // as an endpoint's Retry-After may name any
		if q.take(tenant, now.Add(time.Duration(second+2)*time.Second), now) {
			taken++
		}
	}
	require.Equal(t, maxScheduledRetries, taken)
	for range taken {
		q.enqueued(tenant)
	}
	require.True(t, q.take(tenant, now.Add(5*time.Second), now))
	require.False(t, q.take(tenant, now.Add(time.Second), now), "enqueued ones still count")
	require.True(t, q.take(tenant, now.Add(4000*time.Second), now.Add(3999*time.Second)))
	require.Len(t, q.due, 1, "seconds that have passed are forgotten")
	require.Len(t, q.scheduled, 2)
	short := 0
	for range 14_000 {
		if q.takeShort(tenant, now.Add(5*time.Second), now) {
			short++
		}
	}
	require.Equal(t, maxShortPerSecond, short)
	require.True(t, q.takeShort(other, now.Add(5*time.Second), now))
	require.Len(t, q.scheduled, 2, "they do not wait for Redis")
}

func TestRetryTaskNamesTargetAndTenant(t *testing.T) {
	t.Parallel()
	key := waitingRetry{id: uuid.New(), attempts: 3, target: uuid.New(), tenant: uuid.New()}
	read, err := parseRetry(key.payload())
	require.NoError(t, err)
	require.Equal(t, key, read)
	read, err = parseRetry(key.payload()[:bareRetryPayload])
	require.NoError(t, err)
	require.Equal(t, waitingRetry{id: key.id, attempts: 3}, read)
	_, err = parseRetry(key.payload()[:21])
	require.Error(t, err)
}
