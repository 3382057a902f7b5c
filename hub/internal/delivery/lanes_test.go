package delivery

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/directory"
)

// What a lane holds must be able to start before its leases are too old.
func TestLaneHoldsWhatCanStartInTime(t *testing.T) {
	t.Parallel()
	const concurrency = 64
	for name, c := range map[string]struct {
		lane lane
		want int
	}{
		"nothing known":     {lane{}, laneCapacity},
		"fast":              {lane{attemptTime: time.Millisecond}, laneCapacity},
		"a second each":     {lane{attemptTime: time.Second}, 481},
		"hangs":             {lane{attemptTime: 10 * time.Second}, 49},
		"hangs, breaker":    {lane{attemptTime: 10 * time.Second, failures: BreakerAfter}, 7},
		"refuses at once":   {lane{attemptTime: time.Microsecond, failures: BreakerAfter}, 2 * concurrency / breakerDivisor},
		"one in 2 seconds":  {lane{interval: 2 * time.Second}, 4},
		"one in an hour":    {lane{interval: time.Hour}, 1},
		"paced and slow":    {lane{interval: 10 * time.Millisecond, attemptTime: time.Second}, 481},
		"some are reserved": {lane{attemptTime: time.Second, reserved: [priorityCount]int{9, 81, 100}}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, c.lane.freeCapacity(concurrency, hub.PriorityNormal))
		})
	}
}

// A paced target gets no more places than can start in time from its first delivery on,
// when nothing was sent to it yet: the rest waits for room, not for the end of a lease.
func TestLaneKnowsItsPaceFromTheBeginning(t *testing.T) {
	t.Parallel()
	d := NewDispatcher(Config{Now: time.Now, Concurrency: 64, EndpointConcurrency: 64})
	places := 0
	for target := (&directory.Target{ID: uuid.New(), RatePerMinute: 600, Enabled: true}); d.Reserve(target, hub.PriorityNormal); {
		places++
	}
	require.Equal(t, 76, places)
}

// What could not start in time is given back while the lease is certainly ours.
func TestLateJobsAreGivenBack(t *testing.T) {
	t.Parallel()
	now := time.Unix(1767323045, 0)
	d := NewDispatcher(Config{Now: func() time.Time { return now }, Concurrency: 1, EndpointConcurrency: 1})
	target := uuid.New()
	jobs := []LeasedDelivery{
		{ID: uuid.UUID{1}, TargetID: target, Event: &Event{}, LeasedAt: now.Add(-startWithin - time.Second)},
		{ID: uuid.UUID{2}, TargetID: target, Event: &Event{}, LeasedAt: now.Add(-LeaseDuration + time.Second)},
	}
	d.enqueueClaimed(jobs)
	require.Eventually(t, func() bool { return d.QueuedCount() == 0 && d.InFlightCount() == 0 }, time.Minute, time.Millisecond)
	require.True(t, d.Stop(t.Context()))
	left := d.TakeUnattempted()
	require.Equal(t, []uuid.UUID{{1}}, []uuid.UUID{left[0].ID})
	require.Len(t, left, 1)
}

func TestLaneLearnsHowLongAttemptsTake(t *testing.T) {
	t.Parallel()
	l := &lane{}
	l.update(laneUpdate{duration: 800 * time.Millisecond})
	require.Equal(t, 800*time.Millisecond, l.attemptTime, "the first attempt is all that is known")
	l.update(laneUpdate{skipped: true})
	require.Equal(t, 800*time.Millisecond, l.attemptTime, "what was not attempted took no time")
	l.update(laneUpdate{duration: 1600 * time.Millisecond})
	require.Equal(t, 900*time.Millisecond, l.attemptTime)
}

// A sweep that finds no room must not ask itself again at once.
func TestFillWithoutRoomDoesNotKickItself(t *testing.T) {
	t.Parallel()
	d := NewDispatcher(Config{Now: time.Now, Concurrency: 1, EndpointConcurrency: 1})
	d.Directory = directory.New(hubtest.Database(t), nil, nil, slog.New(slog.DiscardHandler), time.Now)
	d.queued = maxQueued
	target := uuid.New()
	d.wake(target, setOf(hub.PriorityNormal)|setOf(hub.PriorityBulk))
	<-d.claimSignal
	require.NoError(t, d.claimRound(t.Context()))
	require.Empty(t, d.claimSignal)
	require.NotZero(t, d.lanes[target].backlog, "it is remembered that rows wait")
}

// A job that was held back keeps its place: receivers get the oldest first.
func TestLanePutsBackInOrder(t *testing.T) {
	t.Parallel()
	l := &lane{}
	jobs := make([]LeasedDelivery, 6)
	for i := range jobs {
		jobs[i] = LeasedDelivery{ID: uuid.UUID{byte(i)}, ReadyAt: time.Unix(int64(i/2), 0)} // pairs become due at once
		l.push(jobs[i])
	}
	first, second, third := l.pop(), l.pop(), l.pop()
	l.unpop(second)
	l.unpop(third)
	l.unpop(first)
	require.Equal(t, len(jobs), l.waiting())
	for i := range jobs {
		require.Equal(t, jobs[i].ID, l.pop().ID)
	}
	l.unpop(jobs[0])
	require.Equal(t, 1, l.waiting())
	require.Equal(t, jobs[0].ID, l.pop().ID)
	empty := &lane{}
	empty.unpop(jobs[1])
	require.Equal(t, jobs[1].ID, empty.pop().ID)
}

// What was not sent says nothing about the receiver: the breaker stays as it is.
func TestBreaker(t *testing.T) {
	t.Parallel()
	l := lane{}
	for range BreakerAfter {
		l.update(laneUpdate{})
	}
	for _, unsent := range []laneUpdate{{notSent: true}, {skipped: true}, {pacedFor: time.Second}} {
		l.update(unsent)
		require.Equal(t, BreakerAfter, l.failures, unsent)
	}
	l.update(laneUpdate{healthy: true})
	require.Zero(t, l.failures)
}

// A receiver's URL is parsed once while its lane is in use. Lanes without work are dropped with
// it: those of receivers that failed to the end, such as ones that were removed, after an hour.
func TestLanesOfReceiversThatAreGone(t *testing.T) {
	t.Parallel()
	s, w := newSimulation(t, 4, 4), &worker{}
	attempt := func(target uuid.UUID, url string, isHealthy bool) *destination {
		s.running = nil
		s.add(target)
		assigned := s.running[0].assignment
		w.request.url, w.destination = url, assigned.destination
		_, err := w.destinationOf(&directory.Target{ID: target})
		require.NoError(t, err)
		s.finish(assigned, laneUpdate{healthy: isHealthy, duration: time.Millisecond, destination: w.destination})
		return w.destination
	}
	tenant := uuid.New()
	targets := s.targets(tenant, 20, time.Millisecond)
	for i, target := range targets {
		url := "https://example.com/" + target.String()
		first := attempt(target, url, i%2 == 0)
		for range BreakerAfter {
			require.Same(t, first, attempt(target, url, i%2 == 0))
		}
		require.NotSame(t, first, attempt(target, url+"/moved", i%2 == 0))
	}
	require.Len(t, s.lanes, len(targets))
	s.dropIdleLanes()
	require.Len(t, s.lanes, len(targets)/2, "those with an open breaker stay")
	s.now = s.now.Add(breakerMemory)
	s.dropIdleLanes()
	require.Empty(t, s.lanes)
	require.Empty(t, s.tenants)
}
