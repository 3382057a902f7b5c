package ledger_test

import (
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/logid"
)

const day = 24 * time.Hour

// nobody is for tests in which nothing is given up.
func nobody(string, int) { panic("nothing was to be given up") }

// "Retention … dropped by partition": days before it go, payloads included, unless
// something in them still waits, for an attempt or in the park.
func TestRetentionDropsDaysThatAreDone(t *testing.T) {
	t.Parallel()
	pool, ctx := hubtest.Database(t), t.Context()
	clock := hubtest.NewClock(time.Now().UTC().Truncate(day).Add(12 * time.Hour))
	m := ledger.NewMaintenance(pool, slog.New(slog.DiscardHandler), clock.Now, 3*day, nobody)
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
	require.NoError(t, m.Tidy(ctx))
	require.True(t, there(inTime))
	require.True(t, there(edge), "whole days only")
	require.False(t, there(old))
	require.False(t, there(failed))
	require.True(t, there(waiting))
	require.True(t, there(besides))
	require.True(t, there(parked), "nothing is ever dropped silently")
	_, err = pool.Exec(ctx, `update hub.deliveries set status = 1 where id = any($1)`, []uuid.UUID{waiting, parked})
	require.NoError(t, err)
	require.NoError(t, m.Tidy(ctx))
	require.False(t, there(waiting))
	require.False(t, there(parked))
	require.True(t, there(edge))
}

// "after 15 d in the park: failed"; "ids are kept 45 d".
func TestWhatIsTooOld(t *testing.T) {
	t.Parallel()
	pool, ctx := hubtest.Database(t), t.Context()
	clock := hubtest.NewClock(time.Now())
	m := ledger.NewMaintenance(pool, slog.New(slog.DiscardHandler), clock.Now, 400*day, func(string, int) {})
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
		require.NoError(t, m.Tidy(ctx))
		status, reason, keys := state()
		require.Equal(t, []any{wantStatus, wantReason, wantKeys}, []any{status, reason, keys})
	}
	clock.Advance(15*day - time.Minute)
	expect(2, "retries_exhausted", 1)
	clock.Advance(2 * time.Minute)
	expect(3, "parked_too_long", 1)
	keys := func(retention time.Duration) (n int) {
		t.Helper()
		require.NoError(t, ledger.NewMaintenance(pool, slog.New(slog.DiscardHandler), clock.Now, retention, nil).Tidy(ctx))
		require.NoError(t, pool.QueryRow(ctx, `select count(*) from hub.idempotency`).Scan(&n))
		return n
	}
	clock.Advance(30*day - 2*time.Minute)
	require.Equal(t, 1, keys(30*day))
	clock.Advance(2 * time.Minute)
	require.Equal(t, 1, keys(60*day), "as long as the events they lead to")
	require.Zero(t, keys(30*day))
}

// What is given up is counted, in the statistics and for the metrics, once, and more
// of it than one statement takes.
func TestWhatIsGivenUpIsCounted(t *testing.T) {
	t.Parallel()
	pool, ctx := hubtest.Database(t), t.Context()
	clock := hubtest.NewClock(time.Now())
	counts := map[string]int{}
	m := ledger.NewMaintenance(pool, slog.New(slog.DiscardHandler), clock.Now, 400*day, func(product string, n int) { counts[product] += n })
	const many = 5003
	_, err := pool.Exec(ctx, `
		insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, status, finished_at)
		select (left($1::uuid::text, 24) || lpad(to_hex(n), 12, '0'))::uuid, n, $1::uuid, $1::uuid, 'live', case when n % 1000 = 0 then 'rare' else 'shop' end, 'a.b', 2, now()
		from generate_series(1, $2::integer) n`, logid.Floor(clock.Now()), many)
	require.NoError(t, err)
	require.NoError(t, m.Tidy(ctx))
	require.Empty(t, counts)
	clock.Advance(15*day + time.Minute)
	require.NoError(t, m.Tidy(ctx))
	require.NoError(t, m.Tidy(ctx))
	require.Equal(t, map[string]int{"shop": many - 5, "rare": 5}, counts)
	var failed, counted int
	require.NoError(t, pool.QueryRow(ctx, `
		select (select count(*) from hub.deliveries where status = 3 and reason = 'parked_too_long'), (select sum(failed) from hub.rollup_deltas)`).Scan(&failed, &counted))
	require.Equal(t, []int{many, many}, []int{failed, counted})
}

// Minutes are kept for five weeks, half hours for longer: what is asked by half hours
// stays the same.
func TestStatisticsGetCoarser(t *testing.T) {
	t.Parallel()
	pool, ctx := hubtest.Database(t), t.Context()
	reader := ledger.NewReader(pool)
	clock := hubtest.NewClock(time.Now())
	m := ledger.NewMaintenance(pool, slog.New(slog.DiscardHandler), clock.Now, 30*day, nobody)
	at := clock.Now().UTC().Truncate(time.Hour).Add(7 * time.Minute)
	_, err := pool.Exec(ctx, `insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, accepted, delivered, latency)
		values ($1, gen_random_uuid(), gen_random_uuid(), 'shop', 3, 2, '{20,20}')`, at)
	require.NoError(t, err)
	require.NoError(t, m.Fold(ctx))
	ask := func(bucket time.Duration) (accepted int64, p50 bool) {
		buckets, err := reader.Stats(ctx, ledger.StatsQuery{From: at.Truncate(time.Hour), To: at.Truncate(time.Hour).Add(time.Hour), Bucket: bucket})
		require.NoError(t, err)
		for _, b := range buckets {
			accepted, p50 = accepted+b.Accepted, p50 || b.P50 != nil
		}
		return accepted, p50
	}
	for _, age := range []struct {
		passes                time.Duration
		byMinutes, byHalfHour int64
	}{{34 * day, 3, 3}, {2 * day, 0, 3}, {363 * day, 0, 3}, {2 * day, 0, 0}} {
		clock.Advance(age.passes)
		require.NoError(t, m.Tidy(ctx))
		accepted, p50 := ask(time.Minute)
		require.Equal(t, []any{age.byMinutes, age.byMinutes > 0}, []any{accepted, p50})
		accepted, p50 = ask(30 * time.Minute)
		require.Equal(t, []any{age.byHalfHour, age.byHalfHour > 0}, []any{accepted, p50})
	}
}

// "time buckets of success and failure …, from rollups": the same before, during and
// after folding, pings of the same endpoint and minute apart.
func TestStatsAreTheSameBeforeAndAfterFolding(t *testing.T) {
	t.Parallel()
	pool, ctx := hubtest.Database(t), t.Context()
	reader := ledger.NewReader(pool)
	m := ledger.NewMaintenance(pool, slog.New(slog.DiscardHandler), time.Now, 30*day, nobody)
	from := time.Now().UTC().Truncate(12 * time.Hour)
	tenants, targets := []uuid.UUID{uuid.New(), uuid.New()}, []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	random := rand.New(rand.NewPCG(5, 6))
	type delta struct {
		at             time.Time
		tenant, target int
		product        string
		n              [6]int
	}
	var deltas []delta
	add := func() {
		for range 300 {
			d := delta{from.Add(time.Duration(random.IntN(90)) * time.Minute), 0, random.IntN(3), []string{"shop", "hub"}[random.IntN(2)],
				[6]int{random.IntN(9), random.IntN(3), random.IntN(2), random.IntN(2), random.IntN(9), random.IntN(5)}}
			d.tenant = d.target / 2
			latency := make([]int32, d.n[1])
			for i := range latency {
				latency[i] = int32(20 + random.IntN(20))
			}
			_, err := pool.Exec(ctx, `insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, accepted, delivered, failed, parked, attempts, errors, latency)
				values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, d.at, tenants[d.tenant], targets[d.target], d.product,
				d.n[0], d.n[1], d.n[2], d.n[3], d.n[4], d.n[5], latency)
			require.NoError(t, err)
			deltas = append(deltas, d)
		}
	}
	whose := []ledger.StatsQuery{
		{}, {Product: "shop"}, {Product: "hub"}, {TenantID: &tenants[0]}, {TargetID: &targets[1]}, {Product: "shop", TargetID: &targets[2]},
		{Product: "hub", TenantID: &tenants[1]}, {TenantID: &tenants[0], TargetID: &targets[0]}, {TenantID: &tenants[1], TargetID: &targets[0]},
		{TenantID: &targets[0]}, {TargetID: &tenants[0]}, {Product: "none"},
	}
	var queries []ledger.StatsQuery
	for _, q := range whose {
		for _, when := range []struct{ since, until, bucket time.Duration }{
			{0, 2 * time.Hour, 30 * time.Minute}, {13 * time.Minute, 74 * time.Minute, 30 * time.Minute}, {0, 5 * time.Minute, 30 * time.Minute},
			{0, 90 * time.Minute, time.Minute}, {13 * time.Minute, 47 * time.Minute, time.Minute},
			{0, 2 * time.Hour, 3 * time.Hour}, {-time.Hour, 61 * time.Minute, 3 * time.Hour}, {0, 12 * time.Hour, 12 * time.Hour},
		} {
			q.From, q.To, q.Bucket = from.Add(when.since), from.Add(when.until), when.bucket
			queries = append(queries, q)
		}
	}
	read := func() (all [][]ledger.StatsBucket) {
		for _, q := range queries {
			buckets, err := reader.Stats(ctx, q)
			require.NoError(t, err)
			require.Equal(t, q.From.Truncate(q.Bucket), buckets[0].At)
			require.Less(t, buckets[len(buckets)-1].At, q.To)
			require.GreaterOrEqual(t, buckets[len(buckets)-1].At.Add(q.Bucket), q.To)
			for i, b := range buckets {
				var want [6]int
				for _, d := range deltas {
					if (q.Product == "" || q.Product == d.product) && (q.TenantID == nil || *q.TenantID == tenants[d.tenant]) &&
						(q.TargetID == nil || *q.TargetID == targets[d.target]) && !d.at.Before(b.At) && d.at.Before(b.At.Add(q.Bucket)) && d.at.Before(q.To) {
						for k := range want {
							want[k] += d.n[k]
						}
					}
				}
				got := [6]int{int(b.Accepted), int(b.Delivered), int(b.Failed), int(b.Parked), int(b.Attempts), int(b.Errors)}
				require.Equal(t, want, got, "bucket %d of %+v", i, q)
				require.Equal(t, want[1] > 0, b.P50 != nil)
			}
			all = append(all, buckets)
		}
		return all
	}
	add()
	before := read()
	require.NoError(t, m.Fold(ctx))
	require.Equal(t, before, read(), "folding changes no answer, percentiles included")
	add()
	mixed := read()
	require.NoError(t, m.Fold(ctx))
	require.NoError(t, m.Fold(ctx))
	require.Equal(t, mixed, read())
	var left int
	require.NoError(t, pool.QueryRow(ctx, `select count(*) from hub.rollup_deltas`).Scan(&left))
	require.Zero(t, left)
}
