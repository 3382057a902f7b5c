package maintain_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/ledger/query"
)

// soon is how long what does not wait may take on a busy machine.
const soon = time.Minute

// ended returns a context of a caller who does not wait.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// tooMany requires the refusal of a count, with a time after which it may be tried again.
func tooMany(t *testing.T, err error) {
	t.Helper()
	var refusal *hub.Error
	require.ErrorAs(t, err, &refusal)
	require.ErrorIs(t, err, hub.ErrRateLimited)
	require.Equal(t, "too_many_replays", refusal.Code)
	require.Positive(t, refusal.RetryAfter)
}

// Counts that take long hold few connections, whoever asks for how many: a tenant counts one at a
// time, and so do operators. What others do goes on.
func TestCountsLeaveConnectionsToOthers(t *testing.T) {
	t.Parallel()
	d := newDrainTest(t)
	tenant, neighbour := d.target[0], d.target[1]
	ids := d.park(3, tenant)
	recovery := maintain.Recovery{EndpointID: tenant, Since: time.Now().Add(-time.Hour)}
	own, other := query.Owner{TenantID: &tenant, Environment: "live"}, query.Owner{TenantID: &neighbour, Environment: "live"}

	// Whoever counts what a recovery sends waits for this lock, and nobody else does.
	slow, err := d.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = slow.Rollback(context.WithoutCancel(t.Context())) }() // where the test fails
	_, err = slow.Exec(t.Context(), `lock table hub.tenants in access exclusive mode`)
	require.NoError(t, err)
	type result struct {
		count int64
		err   error
	}
	start := func(count func() (int64, error)) <-chan result {
		done := make(chan result, 1)
		go func() {
			n, err := count()
			done <- result{n, err}
		}()
		return done
	}
	blocked := func(n int) {
		require.Eventually(t, func() bool {
			var waiting int
			require.NoError(t, d.pool.QueryRow(t.Context(), `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).Scan(&waiting))
			return waiting == n
		}, soon, time.Millisecond)
	}
	first := start(func() (int64, error) { return d.CountRecovery(t.Context(), recovery, own) })
	blocked(1)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	for range 20 {
		_, err := d.CountRecovery(ctx, recovery, own)
		tooMany(t, err)
		_, err = d.CreateRecovery(ctx, recovery, maintain.Creator{Owner: own})
		tooMany(t, err)
		_, err = d.Count(ctx, query.Filter{TenantID: &tenant}, own)
		tooMany(t, err)
		_, err = d.Create(ctx, query.Filter{TenantID: &tenant}, maintain.Creator{Owner: own})
		tooMany(t, err)
	}
	n, err := d.Count(t.Context(), query.Filter{EndpointID: &tenant, Status: "parked"}, other)
	require.NoError(t, err, "another tenant")
	require.EqualValues(t, len(ids), n)

	// Operators and another tenant do not take more together than two connections.
	var others []<-chan result
	for range 5 {
		others = append(others, start(func() (int64, error) { return d.CountRecovery(t.Context(), recovery, query.Owner{}) }))
	}
	blocked(2)
	_, err = d.CountRecovery(ended(t), recovery, other)
	tooMany(t, err)
	others = append(others, start(func() (int64, error) { return d.CountRecovery(t.Context(), recovery, other) }))
	d.round() // a trial
	require.Len(t, d.pending(tenant), 1)
	listed, err := d.List(t.Context(), other, nil, 10)
	require.NoError(t, err)
	require.Empty(t, listed)
	blocked(2)

	require.NoError(t, slow.Rollback(t.Context()))
	for _, done := range append(others, first) {
		answer := <-done
		require.NoError(t, answer.err, "they waited for each other")
		require.Zero(t, answer.count)
	}
	_, err = d.CountRecovery(t.Context(), recovery, own)
	require.NoError(t, err)
}

// A count ends after some time, and after some steps of an endpoint's filter.
func TestCountsAreBounded(t *testing.T) {
	t.Parallel()
	j := newReplayTest(t)
	target := j.target[0]
	j.exec(`update hub.endpoints set filter = 'event.data.n.exists(x, x == 49)' where id = $1`, target)
	list := "[0"
	for n := 1; n < 50; n++ {
		list += fmt.Sprint(",", n)
	}
	const events = 1200 // more than one statement reads
	j.exec(`
		insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body)
		select (left($1::uuid::text, 24) || lpad(to_hex(n), 8, '0') || '0000')::uuid, n, $2, 'live', 'shop', 'a.b', 0,
			convert_to('{"id":"evt_0000000000000001","product":"shop","event_type":"a.b","timestamp":"2026-01-02T03:04:05Z","data":{"n":' || $3::text || '}}', 'UTF8')
		from generate_series(1, $4::integer) n`, uuid.Must(uuid.NewV7()), target, list+"]", events)
	recovery := maintain.Recovery{EndpointID: target, Since: time.Now().Add(-time.Hour)}
	ctx, cancel := context.WithTimeout(t.Context(), 3*soon)
	defer cancel()
	count := func() (int64, error) { return j.CountRecovery(ctx, recovery, query.Owner{}) }
	n, err := count()
	require.NoError(t, err)
	require.EqualValues(t, events, n)
	tooLarge := func(err error) {
		t.Helper()
		var refusal *hub.Error
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, "range_too_large", refusal.Code)
	}
	j.LimitCounts(time.Minute, 50*events/2)
	_, err = count()
	tooLarge(err)
	_, err = j.CreateRecovery(ctx, recovery, maintain.Creator{Label: "test"})
	tooLarge(err)
	j.LimitCounts(time.Minute, 1_000_000)
	job, err := j.CreateRecovery(ctx, recovery, maintain.Creator{Label: "test"})
	require.NoError(t, err)
	require.EqualValues(t, events, job.Total)

	j.LimitCounts(50*time.Millisecond, 1_000_000)
	whileLocked := func(table string, work func()) {
		lock, err := j.pool.Begin(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, lock.Rollback(context.WithoutCancel(t.Context()))) }()
		_, err = lock.Exec(t.Context(), `lock table `+table+` in access exclusive mode`)
		require.NoError(t, err)
		work()
	}
	whileLocked("hub.tenants", func() {
		_, err := count()
		tooLarge(err)
	})
	whileLocked("hub.deliveries", func() {
		_, err := j.Count(ctx, query.Filter{EndpointID: &target}, query.Owner{})
		tooLarge(err)
		_, err = j.Create(ctx, query.Filter{EndpointID: &target}, maintain.Creator{Label: "test"})
		tooLarge(err)
	})
}
