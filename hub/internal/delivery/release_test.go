package delivery

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/logid"
)

// claimAll returns a dispatcher that has claimed n due deliveries of a target, and them.
func claimAll(t *testing.T, n int) (*Dispatcher, []LeasedDelivery) {
	t.Helper()
	d := NewDispatcher(Config{Pool: hubtest.Database(t), Now: time.Now, Concurrency: 1, EndpointConcurrency: 1})
	target := uuid.New()
	fillBacklog(t, d, uuid.New(), target, 0, n, 0)
	claimed, err := d.claim(t.Context(), claimTargetsSQL, []uuid.UUID{target}, []int16{int16(hub.PriorityNormal)}, []int32{int32(n)})
	require.NoError(t, err)
	require.Len(t, claimed, n)
	require.Zero(t, count(t, d.Pool, `hub.deliveries where due_at <= now()`))
	return d, claimed
}

// What another process has claimed since, or someone has settled, is not released with the rest.
func TestReleaseOnlyOwnLeases(t *testing.T) {
	t.Parallel()
	d, claimed := claimAll(t, 3)
	_, err := d.Pool.Exec(t.Context(), `update hub.deliveries set due_at = due_at + interval '1 microsecond' where id = $1`, claimed[0].ID)
	require.NoError(t, err)
	_, err = d.Pool.Exec(t.Context(), `update hub.deliveries set status = 1 where id = $1`, claimed[1].ID)
	require.NoError(t, err)
	require.NoError(t, d.ReleaseLeases(t.Context(), claimed))
	var due uuid.UUID
	require.NoError(t, d.Pool.QueryRow(t.Context(), `select id from hub.deliveries where due_at <= now()`).Scan(&due))
	require.Equal(t, claimed[2].ID, due)
}

// What could not be released, or was claimed and could not be read, is released by a later sweep:
// nobody waits for the end of a lease because the database was away for a second.
func TestFailedReleasesAreRepeated(t *testing.T) {
	t.Parallel()
	d, claimed := claimAll(t, 2)
	d.giveBack(claimed...)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, d.releaseExpired(ended))
	require.NoError(t, d.releaseExpired(t.Context()))
	require.Equal(t, 2, count(t, d.Pool, `hub.deliveries where due_at <= now()`))
	require.Empty(t, d.expired)

	_, err := d.Pool.Exec(t.Context(), `alter table `+tableOf("hub.events", []uuid.UUID{logid.Seq(claimed[0].ID)})+` rename to hidden`)
	require.NoError(t, err)
	_, err = d.claim(t.Context(), claimTargetsSQL, []uuid.UUID{claimed[0].TargetID}, []int16{0}, []int32{2})
	require.ErrorContains(t, err, "reading events")
	require.Zero(t, count(t, d.Pool, `hub.deliveries where due_at <= now()`))
	require.NoError(t, d.releaseExpired(t.Context()))
	require.Equal(t, 2, count(t, d.Pool, `hub.deliveries where due_at <= now()`))
}

// Retries of kept deliveries whose rows cannot be claimed now are due again a moment later.
func TestKeptRetriesWhoseRowsAreLocked(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	d, a := keeper(time.Now())
	d.Pool, d.kept = pool, newKeptRetries(&retryQuota{})
	a.LeasedAt = time.Now()
	storeEvent(t, pool, &a)
	storeLease(t, pool, a)
	storeFirstAttempt(t, pool, a.ID, 0, `select hub.unfold_leases(array(select id from hub.leases))`)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `select from hub.deliveries for update`)
	require.NoError(t, err)
	retry := waitingRetry{id: a.ID, attempts: 1, target: a.TargetID, tenant: a.Event.TenantID, kept: a.afterAttempt(time.Now())}
	again, err := d.claimRetries(t.Context(), []waitingRetry{retry})
	require.NoError(t, err)
	require.Empty(t, again)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Zero(t, count(t, pool, `hub.deliveries where due_at <= now()`))
	require.NoError(t, d.releaseExpired(t.Context()))
	require.Equal(t, 1, count(t, pool, `hub.deliveries where due_at <= now()`))
}

// A stopping dispatcher returns what it holds and no process else: not what is settled, nor what
// another one may have claimed by now.
func TestTakeUnattempted(t *testing.T) {
	t.Parallel()
	now := time.Now()
	d := NewDispatcher(Config{Now: func() time.Time { return now }, Attempts: &recordedAttempts{}, Concurrency: 1, EndpointConcurrency: 1})
	d.StopStarting()
	delivery := func(n byte, age time.Duration) LeasedDelivery {
		return LeasedDelivery{ID: uuid.UUID{n}, TargetID: uuid.UUID{9}, Event: &Event{Seq: uuid.UUID{n}}, LeasedAt: now.Add(-age)}
	}
	d.enqueueClaimed([]LeasedDelivery{delivery(1, 0), delivery(2, 0), delivery(3, LeaseDuration)})
	d.giveBack(delivery(4, 0), delivery(5, LeaseDuration))
	d.FailErased([]uuid.UUID{{2}})
	var ids []byte
	for _, taken := range d.TakeUnattempted() {
		ids = append(ids, taken.ID[0])
	}
	require.ElementsMatch(t, []byte{1, 4}, ids)
	require.Zero(t, d.QueuedCount())
	require.Empty(t, d.TakeUnattempted(), "once")
}

type recordedAttempts struct{ results []AttemptResult }

func (r *recordedAttempts) TrackLease(*CommitLease)     {}
func (r *recordedAttempts) AwaitStored(context.Context) {}
func (r *recordedAttempts) Record(a AttemptResult)      { r.results = append(r.results, a) }

// A paced target takes a delivery only when its turn is near, since a lease does not last for a
// minute. An attempt that is not made uses up no turn.
func TestPacedTargetsTakeWhatStartsInTime(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, 4, 4)
	target := &directory.Target{ID: uuid.New(), TenantID: uuid.New(), RatePerMinute: 1, Enabled: true}
	l := s.laneOf(target.ID, target.TenantID)
	l.interval = time.Minute
	next := func(leasedAt time.Time) assignment {
		l.push(LeasedDelivery{TargetID: target.ID, LeasedAt: leasedAt})
		l.tenant.queued++
		s.queued++
		s.queueLane(l)
		assigned, ok := s.next()
		require.True(t, ok)
		return assigned
	}
	began := s.now
	s.finish(next(began), laneUpdate{healthy: true, hasInterval: true, interval: time.Minute})
	require.False(t, s.Reserve(target, hub.PriorityNormal), "the next turn is in a minute")
	placed, unplaced := s.reserveRetries([]waitingRetry{{target: target.ID, tenant: target.TenantID, kept: &LeasedDelivery{}}})
	require.Empty(t, placed)
	require.Len(t, unplaced, 1, "nor does a retry take a place")
	s.now = began.Add(time.Minute - startWithin/2)
	require.True(t, s.Reserve(target, hub.PriorityNormal))
	s.Release(target.ID, hub.PriorityNormal)

	s.now = began.Add(time.Minute)
	s.finish(next(began), laneUpdate{skipped: true})
	require.Equal(t, s.now, l.nextAt, "its turn is still there")
	require.Len(t, s.expired, 1)
	s.finish(next(s.now), laneUpdate{pacedFor: time.Minute, hasInterval: true, interval: time.Minute})
	require.Len(t, s.expired, 2, "another process has the turn: the lease does not last until the next")
	require.Zero(t, l.waiting())
}

// What waits for a time is not delayed by a wall clock that is put back.
func TestSlotsHaveAMonotonicClock(t *testing.T) {
	t.Parallel()
	now := time.Now()
	slot := slotAfter(now)
	require.Contains(t, slot.String(), "m=+")
	require.Zero(t, slot.UnixNano()%int64(shortDelaySlot))
	require.Greater(t, slot.Sub(now), time.Duration(0))
	require.LessOrEqual(t, slot.Sub(now), shortDelaySlot)
}

// A row that another transaction holds is not waited for: its lease runs out, the others are due at
// once.
func TestReleaseSkipsLockedRows(t *testing.T) {
	t.Parallel()
	d, claimed := claimAll(t, 3)
	tx, err := d.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = tx.Exec(t.Context(), `select from hub.deliveries where id = $1 for update`, claimed[1].ID)
	require.NoError(t, err)
	d.giveBack(claimed...)
	require.NoError(t, d.releaseExpired(t.Context()))
	require.Equal(t, 2, count(t, d.Pool, `hub.deliveries where due_at <= now()`))
}

// A sweep that cannot release leases finds what is due all the same. One that failed to scan a
// backlog reads only what came due since the last scan.
func TestSweepContinuesAfterFailures(t *testing.T) {
	t.Parallel()
	d, claimed := claimAll(t, 1)
	d.giveBack(claimed...)
	_, err := d.Pool.Exec(t.Context(), `alter function hub.unfold_leases rename to hidden`)
	require.NoError(t, err)
	target := uuid.New()
	fillBacklog(t, d, uuid.New(), target, 0, 1, 0)
	require.ErrorContains(t, d.sweepAll(t.Context()), "unfold_leases")
	require.Contains(t, d.lanes, target)

	d.dueScan.completeAt = d.Now()
	require.True(t, d.dueScan.since(d.Now()).IsZero(), "a scan of everything")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, d.findDue(ended))
	require.False(t, d.dueScan.since(d.Now()).IsZero())
	require.True(t, d.dueScan.since(d.Now().Add(maxScanInterval)).IsZero())
}
