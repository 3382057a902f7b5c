package delivery

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// keeper is a dispatcher that keeps leases, and a first attempt whose lease it keeps.
func keeper(now time.Time) (*Dispatcher, AttemptResult) {
	d := NewDispatcher(Config{Now: func() time.Time { return now }, Concurrency: 8, EndpointConcurrency: 4})
	quota := newRetryQuota()
	d.kept = newKeptRetries(&quota)
	lease := &CommitLease{ID: uuid.New(), TakenAt: now.Add(-100 * time.Millisecond), WithoutRow: 1}
	return d, AttemptResult{
		LeasedDelivery: LeasedDelivery{ID: uuid.New(), TargetID: uuid.New(), Event: &Event{TenantID: uuid.New(), Body: []byte("{}")}, CommitLease: lease},
		Sent:           true, StatusCode: 500, KeepsLease: true,
		Decision: Decision{Status: Pending, Wait: time.Second, CountedAttempts: 1},
	}
}

// useUpShare counts as many retries of a tenant as may be due in the seconds to come.
func useUpShare(d *Dispatcher, tenant uuid.UUID) {
	for range maxShortPerSecond {
		now := time.Now()
		for second := range 4 {
			d.kept.quota.takeShort(tenant, now.Add(time.Duration(second)*time.Second), now)
		}
	}
}

func TestTryKeepLease(t *testing.T) {
	t.Parallel()
	now := time.Unix(1767323045, 0)
	for name, test := range map[string]struct {
		change func(*Dispatcher, *AttemptResult)
		want   bool
	}{
		"first retry":          {func(*Dispatcher, *AttemptResult) {}, true},
		"delivered":            {func(_ *Dispatcher, a *AttemptResult) { a.Decision = Decision{Status: Delivered} }, false},
		"parked":               {func(_ *Dispatcher, a *AttemptResult) { a.Decision.Status = Parked }, false},
		"second retry":         {func(_ *Dispatcher, a *AttemptResult) { a.PriorAttempts, a.Decision.Wait = 1, 5*time.Second }, false},
		"later first retry":    {func(_ *Dispatcher, a *AttemptResult) { a.Decision.Wait = 2 * time.Second }, false},
		"no request":           {func(_ *Dispatcher, a *AttemptResult) { a.Sent = false }, false},
		"has a row":            {func(_ *Dispatcher, a *AttemptResult) { a.CommitLease = nil }, false},
		"head of an order":     {func(_ *Dispatcher, a *AttemptResult) { a.OrderingKey = "k" }, false},
		"lease almost too old": {func(_ *Dispatcher, a *AttemptResult) { a.CommitLease.TakenAt = now.Add(-749 * time.Millisecond) }, true},
		"lease too old":        {func(_ *Dispatcher, a *AttemptResult) { a.CommitLease.TakenAt = now.Add(-750 * time.Millisecond) }, false},
		"payloads up to bound": {func(d *Dispatcher, _ *AttemptResult) { d.kept.bytes.Store(maxKeptBytes - 1) }, true},
		"payloads of others":   {func(d *Dispatcher, _ *AttemptResult) { d.kept.bytes.Store(maxKeptBytes) }, false},
		"share of its tenant":  {func(d *Dispatcher, a *AttemptResult) { useUpShare(d, a.Event.TenantID) }, false},
		"share of another":     {func(d *Dispatcher, _ *AttemptResult) { useUpShare(d, uuid.New()) }, true},
		"no scheduler":         {func(d *Dispatcher, _ *AttemptResult) { d.kept = nil }, false},
		"as many as there may be": {func(d *Dispatcher, a *AttemptResult) {
			for range maxKept {
				require.True(t, d.kept.add(scheduledRetry{waitingRetry: waitingRetry{kept: &a.LeasedDelivery}}))
			}
			require.False(t, d.kept.add(scheduledRetry{waitingRetry: waitingRetry{kept: &a.LeasedDelivery}}))
			require.EqualValues(t, maxKept*2, d.kept.bytes.Load())
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, a := keeper(now)
			test.change(d, &a)
			require.Equal(t, test.want, d.tryKeepLease(&a))
		})
	}
}

// The retry of a kept delivery has what a row would say, and is due after its delay.
func TestKeptRetry(t *testing.T) {
	t.Parallel()
	d, a := keeper(time.Now())
	r := &RetryScheduler{dispatcher: d, quota: newRetryQuota(), shortDelays: newShortDelays()}
	a.Phases.Total, a.paced = 42*time.Millisecond, true
	r.Schedule([]AttemptResult{a})
	require.Empty(t, r.shortDelays[time.Second])
	retry := <-d.kept.waiting
	require.Equal(t, waitingRetry{id: a.ID, attempts: 1, target: a.TargetID, tenant: a.Event.TenantID, kept: retry.kept}, retry.waitingRetry)
	require.GreaterOrEqual(t, time.Until(retry.at), 900*time.Millisecond)
	require.Equal(t, retry.at, retry.kept.ReadyAt)
	require.Equal(t, 1, retry.kept.PriorAttempts)
	require.Equal(t, 1, retry.kept.CountedAttempts)
	require.False(t, retry.kept.paced)
	require.Equal(t, PreviousAttempt{StatusCode: 500, Duration: 42 * time.Millisecond}, *retry.kept.Previous)
	require.EqualValues(t, 2, d.kept.bytes.Load())
	d.kept.subtractBytes([]waitingRetry{retry.waitingRetry}, []waitingRetry{retry.waitingRetry})
	require.EqualValues(t, 2, d.kept.bytes.Load(), "it is tried again")
	d.kept.subtractBytes([]waitingRetry{retry.waitingRetry}, nil)
	require.Zero(t, d.kept.bytes.Load())

	a.CommitLease.Materialized = true
	r.Schedule([]AttemptResult{a})
	require.Empty(t, d.kept.waiting)
	require.Nil(t, (<-r.shortDelays[time.Second]).kept, "it has a row by now")
}

// storeLease stores a lease that covers a delivery of an event.
func storeLease(t *testing.T, pool *pgxpool.Pool, a AttemptResult) {
	t.Helper()
	entry := append(append(append([]byte{}, a.ID[:]...), a.TargetID[:]...), 0)
	_, err := pool.Exec(t.Context(), `insert into hub.leases (id, deliveries) values ($1, $2)`, a.CommitLease.ID, entry)
	require.NoError(t, err)
}

// A due retry is taken where its lease is there and free, tried again while the lease is locked
// or cannot be read, and claimed as any other once the lease is gone.
func TestTakeKept(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	d, free := keeper(time.Now())
	d.Pool = pool
	_, locked := keeper(time.Now())
	_, gone := keeper(time.Now())
	keyOf := func(a AttemptResult) waitingRetry {
		return waitingRetry{id: a.ID, attempts: 1, kept: a.afterAttempt(time.Now())}
	}
	withRow := waitingRetry{id: uuid.New(), attempts: 1}
	storeLease(t, pool, free)
	storeLease(t, pool, locked)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = tx.Exec(t.Context(), `select from hub.leases where id = $1 for update`, locked.CommitLease.ID)
	require.NoError(t, err)

	retries := []waitingRetry{keyOf(free), keyOf(locked), keyOf(gone), withRow}
	kept, again, others, err := d.takeKept(t.Context(), retries)
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.Equal(t, free.ID, kept[0].ID)
	require.Equal(t, retries[1:2], again)
	require.Equal(t, retries[2:], others)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	kept, again, others, err = d.takeKept(ended, retries)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, kept)
	require.Equal(t, retries[:3], again)
	require.Equal(t, retries[3:], others)
}

// A tenant whose share is used up leaves its kept retries to the sweep: they get rows that are due.
func TestKeptRetriesWithoutPlace(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	d, a := keeper(time.Now())
	d.Pool = pool
	storeEvent(t, pool, &a)
	storeLease(t, pool, a)
	share := d.laneOf(a.TargetID, a.Event.TenantID).tenant
	for d.tenantPlaces(share) > 0 {
		share.queued++
		d.queued++
	}
	again, err := d.claimRetries(t.Context(), []waitingRetry{{id: a.ID, attempts: 1, target: a.TargetID, tenant: a.Event.TenantID, kept: a.afterAttempt(time.Now())}})
	require.NoError(t, err)
	require.Empty(t, again)
	var due, leases int
	require.NoError(t, pool.QueryRow(t.Context(), `
		select (select count(*) from hub.deliveries where id = $1 and status = 0 and due_at <= now()), (select count(*) from hub.leases)`, a.ID).Scan(&due, &leases))
	require.Equal(t, []int{1, 0}, []int{due, leases})
}

// A reader inserts the row of a kept delivery when its retry is due and not begun: the process
// that holds the lease claims the row, unless another one has since.
func TestKeptRetryWhoseRowAReaderInserts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  string
		claimed int
	}{
		"leased here":          {`select 1`, 1},
		"claimed by another":   {`update hub.deliveries set due_at = round_at + interval '31 seconds'`, 0},
		"requeued and claimed": {`update hub.deliveries set round_at = now(), due_at = now() + interval '30 seconds'`, 0},
		"delivered":            {`update hub.deliveries set status = 1`, 0},
		"attempted since":      {`update hub.deliveries set attempts = 2`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := hubtest.Database(t)
			d, a := keeper(time.Now())
			d.Pool = pool
			storeEvent(t, pool, &a)
			storeLease(t, pool, a)
			storeFirstAttempt(t, pool, a.ID, 0, `select hub.unfold_leases(array(select id from hub.leases))`, test.change)
			retry := waitingRetry{id: a.ID, attempts: 1, target: a.TargetID, tenant: a.Event.TenantID, kept: a.afterAttempt(time.Now())}
			claimed, err := d.claimRows(t.Context(), []waitingRetry{retry})
			require.NoError(t, err)
			require.Len(t, claimed, test.claimed)
			retry.kept = nil
			claimed, err = d.claimRows(t.Context(), []waitingRetry{retry})
			require.NoError(t, err)
			require.Empty(t, claimed, "only once, and by the holder of the lease")
		})
	}
}

// storeFirstAttempt stores the failed attempt of a kept delivery with a retry after some time, and
// runs statements.
func storeFirstAttempt(t *testing.T, pool *pgxpool.Pool, delivery uuid.UUID, wait time.Duration, then ...string) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `
		insert into hub.attempts (delivery_id, started_at, queue_us, dns_us, connect_us, tls_us, first_byte_us, total_us, signature, number, counted_attempts, next_attempt_at)
		values ($1, now(), 0, 0, 0, 0, 0, 0, '', 1, 1, now() + $2 * interval '1 microsecond')`, delivery, wait.Microseconds())
	require.NoError(t, err)
	for _, statement := range append([]string{`update hub.leases set has_attempts = true`}, then...) {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

// A process that stops makes the deliveries due for others whose retries wait in it, wherever they
// wait, and none that another process has claimed since.
func TestStopReleasesKeptRetries(t *testing.T) {
	t.Parallel()
	const unfold = `select hub.unfold_leases(array(select id from hub.leases))`
	for name, test := range map[string]struct {
		wait  time.Duration
		then  []string
		isDue string
	}{
		"without a row":        {isDue: `due_at <= now()`},
		"leased here":          {then: []string{unfold}, isDue: `due_at <= now()`},
		"not due":              {wait: time.Hour, isDue: `next_attempt_at > now() + interval '59 minutes' and due_at = next_attempt_at + interval '2 s'`},
		"claimed by another":   {then: []string{unfold, `update hub.deliveries set due_at = round_at + interval '31 seconds'`}, isDue: `due_at = round_at + interval '31 seconds'`},
		"requeued and claimed": {then: []string{unfold, `update hub.deliveries set round_at = now(), due_at = now() + interval '30 seconds'`}, isDue: `due_at > now() + interval '10 seconds'`},
		"delivered":            {then: []string{unfold, `update hub.deliveries set status = 1, due_at = '2100-01-01'`}, isDue: `due_at = '2100-01-01'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for place, hold := range map[string]func(*RetryScheduler, waitingRetry){
				"waiting": func(r *RetryScheduler, retry waitingRetry) {
					r.dispatcher.kept.add(scheduledRetry{retry, time.Now().Add(time.Hour)})
				},
				"due":     func(r *RetryScheduler, retry waitingRetry) { r.due <- retry },
				"in hand": func(r *RetryScheduler, retry waitingRetry) { r.addUnclaimed(retry) },
				"stopping": func(r *RetryScheduler, retry waitingRetry) {
					r.dispatcher.StopStarting()
					again, err := r.dispatcher.claimRetries(t.Context(), []waitingRetry{retry})
					require.NoError(t, err)
					require.Empty(t, again)
				},
			} {
				pool := hubtest.Database(t)
				d, a := keeper(time.Now())
				d.Pool = pool
				d.stopSignal = make(chan struct{})
				storeEvent(t, pool, &a)
				storeLease(t, pool, a)
				storeFirstAttempt(t, pool, a.ID, test.wait, test.then...)
				r := &RetryScheduler{dispatcher: d, due: make(chan waitingRetry, 1)}
				retry := waitingRetry{id: a.ID, attempts: 1, target: a.TargetID, tenant: a.Event.TenantID, kept: a.afterAttempt(time.Now())}
				hold(r, retry)
				r.releaseUnclaimed()
				var n int
				require.NoError(t, pool.QueryRow(t.Context(), `select count(*) from hub.deliveries where attempts = 1 and `+test.isDue).Scan(&n))
				require.Equal(t, 1, n, place)
			}
		})
	}
}

// storeEvent stores the event of an attempt's delivery, and sets the delivery's id to one of it.
func storeEvent(t *testing.T, pool *pgxpool.Pool, a *AttemptResult) {
	t.Helper()
	var seq uuid.UUID
	err := pool.QueryRow(t.Context(), `
		insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body)
		values ((overlay(hub.day_floor((now() at time zone 'UTC')::date)::text placing '0001' from 20))::uuid, 7, $1, 'test', 'shop', 'a.b', 1, '{}') returning seq`,
		a.Event.TenantID).Scan(&seq)
	require.NoError(t, err)
	a.Event.Seq = seq
	a.ID = seq
	a.ID[15] = 1
}

// What cannot be kept after all gets its row at once, for the sweep.
func TestUnkeptRetriesGetRows(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	d, a := keeper(time.Now())
	d.Pool = pool
	storeEvent(t, pool, &a)
	storeLease(t, pool, a)
	r := &RetryScheduler{dispatcher: d, quota: newRetryQuota(), shortDelays: newShortDelays()}
	for range maxKept {
		require.True(t, d.kept.add(scheduledRetry{waitingRetry: waitingRetry{kept: &a.LeasedDelivery}}))
	}
	r.Schedule([]AttemptResult{a})
	require.Len(t, d.kept.waiting, maxKept)
	require.EqualValues(t, maxKept*2, d.kept.bytes.Load())
	var id uuid.UUID
	err := pool.QueryRow(t.Context(), `select id from hub.deliveries where status = 0`).Scan(&id)
	require.NotErrorIs(t, err, pgx.ErrNoRows)
	require.NoError(t, err)
	require.Equal(t, a.ID, id)
}
