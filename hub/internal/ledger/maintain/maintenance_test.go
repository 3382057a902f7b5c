package maintain_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/logid"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

const day = 24 * time.Hour

// nobody is for tests in which nothing is given up.
func nobody(string, int) { panic("nothing was to be given up") }

// "Retention … dropped by partition": days before it go, payloads included, unless
// something in them still waits for an attempt or is parked.
func TestRetentionDropsDaysThatAreDone(t *testing.T) {
	t.Parallel()
	pool, ctx := hubtest.Database(t), t.Context()
	clock := hubtest.NewClock(time.Now().UTC().Truncate(day).Add(12 * time.Hour))
	m := maintain.NewMaintenance(pool, slog.New(slog.DiscardHandler), clock.Now, 3*day, nobody)
	_, err := pool.Exec(ctx, `select hub.ensure_partitions($1::date, 10)`, clock.Now().Add(-10*day))
	require.NoError(t, err)
	add := func(age time.Duration, status int) uuid.UUID {
		id := logid.Delivery(logid.NewSeq(clock.Now().Add(-age)), 1)
		_, err := pool.Exec(ctx, `
			insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, status, finished_at)
			values ($1, 1, $1, $1, 'live', 'shop', 'a.b', $2::smallint, case when $2::smallint <> 0 then $3::timestamptz end)`, id, status, clock.Now().Add(-age))
		require.NoError(t, err)
		return id
	}
	there := func(id uuid.UUID) (found bool) {
		require.NoError(t, pool.QueryRow(ctx, `select exists (select from hub.deliveries where id = $1)`, id).Scan(&found))
		return found
	}
	inTime, edge, old := add(time.Hour, 1), add(3*day, 1), add(4*day, 1)
	waiting, besides, parked := add(5*day, 0), add(5*day, 1), add(6*day, 2)
	failed := add(7*day, 3)
	require.NoError(t, m.EnforceRetention(ctx))
	require.True(t, there(inTime))
	require.True(t, there(edge), "whole days only")
	require.False(t, there(old))
	require.False(t, there(failed))
	require.True(t, there(waiting))
	require.True(t, there(besides))
	require.True(t, there(parked), "nothing is ever dropped silently")
	_, err = pool.Exec(ctx, `update hub.deliveries set status = 1 where id = any($1)`, []uuid.UUID{waiting, parked})
	require.NoError(t, err)
	require.NoError(t, m.EnforceRetention(ctx))
	require.False(t, there(waiting))
	require.False(t, there(parked))
	require.True(t, there(edge))
}

// "after 15 d in the park: failed"; "ids are kept 45 d".
func TestWhatIsTooOld(t *testing.T) {
	t.Parallel()
	pool, ctx := hubtest.Database(t), t.Context()
	clock := hubtest.NewClock(time.Now())
	m := maintain.NewMaintenance(pool, slog.New(slog.DiscardHandler), clock.Now, 400*day, func(string, int) {})
	id := logid.Delivery(logid.NewSeq(clock.Now()), 1)
	_, err := pool.Exec(ctx, `
		insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, status, reason, finished_at)
		values ($1, 1, $1, $1, 'live', 'shop', 'a.b', 2, 'retries_exhausted', now())`, id)
	require.NoError(t, err)
	_, err = pool.Exec(ctx, `
		insert into hub.idempotency (tenant_id, environment, key, body_hash, seq, event_id, deliveries, created_at)
		values ($1, 'live', 'k', '', $1, 1, 1, $2)`, id, clock.Now())
	require.NoError(t, err)
	state := func() (status int, reason string, keys int) {
		require.NoError(t, pool.QueryRow(ctx, `select status, reason, (select count(*) from hub.idempotency) from hub.deliveries`).Scan(&status, &reason, &keys))
		return status, reason, keys
	}
	expect := func(wantStatus int, wantReason string, wantKeys int) {
		t.Helper()
		require.NoError(t, m.EnforceRetention(ctx))
		status, reason, keys := state()
		require.Equal(t, []any{wantStatus, wantReason, wantKeys}, []any{status, reason, keys})
	}
	clock.Advance(15*day - time.Minute)
	expect(2, "retries_exhausted", 1)
	clock.Advance(2 * time.Minute)
	expect(3, "expired", 1)
	keys := func(retention time.Duration) (n int) {
		t.Helper()
		require.NoError(t, maintain.NewMaintenance(pool, slog.New(slog.DiscardHandler), clock.Now, retention, nil).EnforceRetention(ctx))
		require.NoError(t, pool.QueryRow(ctx, `select count(*) from hub.idempotency`).Scan(&n))
		return n
	}
	clock.Advance(30*day - 2*time.Minute)
	require.Equal(t, 1, keys(30*day))
	clock.Advance(2 * time.Minute)
	require.Equal(t, 1, keys(60*day), "as long as the events they lead to")
	require.Zero(t, keys(30*day))
}

// What has not been in use for 15 days stops to collect, which is announced once. It begins
// again when it is in use.
func TestUnusedTargetsAreAbandoned(t *testing.T) {
	t.Parallel()
	d := newDrainTest(t)
	clock, abandoned := hubtest.NewClock(time.Now()), 0
	m := maintain.NewMaintenance(d.pool, slog.New(slog.DiscardHandler), clock.Now, 400*day, nobody).OnAbandoned(func(n int) { abandoned += n })
	d.exec(`insert into hub.integrations (id, tenant_id, environment, product, status, webhook_url) values ($1, $1, 'live', 'crm', 'inactive', '')`, d.target[0])
	d.exec(`update hub.endpoints set enabled = false where id = $1`, d.target[0])
	enforce := func() (endpoint, integration, announced int) {
		require.NoError(t, m.EnforceRetention(t.Context()))
		require.NoError(t, d.pool.QueryRow(t.Context(), `
			select (select count(*) from hub.endpoints where abandoned_at is not null), (select count(*) from hub.integrations where abandoned_at is not null),
				(select count(*) from hub.audit where action in ('endpoints.abandon', 'integrations.abandon') and tenant_id = $1)`, d.target[0]).Scan(&endpoint, &integration, &announced))
		return endpoint, integration, announced
	}
	clock.Advance(15*day - time.Minute)
	endpoint, integration, announced := enforce()
	require.Equal(t, []int{0, 0, 0}, []int{endpoint, integration, announced})
	clock.Advance(2 * time.Minute)
	for range 2 {
		endpoint, integration, announced = enforce()
		require.Equal(t, []int{1, 1, 2, 2}, []int{endpoint, integration, announced, abandoned})
	}
	var version, later int
	require.NoError(t, d.pool.QueryRow(t.Context(), `select version from hub.config_version`).Scan(&version))
	d.exec(`update hub.endpoints set enabled = true`)
	d.exec(`update hub.integrations set status = 'active'`)
	endpoint, integration, _ = enforce()
	require.Equal(t, []int{0, 0}, []int{endpoint, integration})
	require.NoError(t, d.pool.QueryRow(t.Context(), `select version from hub.config_version`).Scan(&later))
	require.Greater(t, later, version)
}

// What is given up is counted, in the statistics and for the metrics, once, and more
// of it than one statement takes.
func TestWhatIsGivenUpIsCounted(t *testing.T) {
	t.Parallel()
	pool, ctx := hubtest.Database(t), t.Context()
	clock := hubtest.NewClock(time.Now())
	counts := map[string]int{}
	m := maintain.NewMaintenance(pool, slog.New(slog.DiscardHandler), clock.Now, 400*day, func(product string, n int) { counts[product] += n })
	const many = 5003
	_, err := pool.Exec(ctx, `
		insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, status, finished_at)
		select (left($1::uuid::text, 24) || lpad(to_hex(n), 12, '0'))::uuid, n, $1::uuid, $1::uuid, 'live', case when n % 1000 = 0 then 'rare' else 'shop' end, 'a.b', 2, now()
		from generate_series(1, $2::integer) n`, logid.Floor(clock.Now()), many)
	require.NoError(t, err)
	require.NoError(t, m.EnforceRetention(ctx))
	require.Empty(t, counts)
	clock.Advance(15*day + time.Minute)
	require.NoError(t, m.EnforceRetention(ctx))
	require.NoError(t, m.EnforceRetention(ctx))
	require.Equal(t, map[string]int{"shop": many - 5, "rare": 5}, counts)
	var failed, counted int
	require.NoError(t, pool.QueryRow(ctx, `
		select (select count(*) from hub.deliveries where status = 3 and reason = 'expired'), (select sum(failed) from hub.rollup_deltas)`).Scan(&failed, &counted))
	require.Equal(t, []int{many, many}, []int{failed, counted})
}
