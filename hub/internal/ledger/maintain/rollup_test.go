package maintain_test

import (
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/ledger/query"
)

// Minutes are kept for five weeks, half hours for longer: what is asked by half hours
// stays the same.
func TestStatisticsGetCoarser(t *testing.T) {
	t.Parallel()
	pool, ctx := hubtest.Database(t), t.Context()
	reader := query.NewReader(pool)
	clock := hubtest.NewClock(time.Now())
	m := maintain.NewMaintenance(pool, slog.New(slog.DiscardHandler), clock.Now, 30*day, nobody)
	at := clock.Now().UTC().Truncate(time.Hour).Add(7 * time.Minute)
	_, err := pool.Exec(ctx, `insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, accepted, delivered, latency)
		values ($1, gen_random_uuid(), gen_random_uuid(), 'shop', 3, 2, '{20,20}')`, at)
	require.NoError(t, err)
	require.NoError(t, m.RollUp(ctx))
	ask := func(bucket time.Duration) (accepted int64, p50 bool) {
		buckets, err := reader.Stats(ctx, query.StatsQuery{From: at.Truncate(time.Hour), To: at.Truncate(time.Hour).Add(time.Hour), Bucket: bucket})
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
		require.NoError(t, m.EnforceRetention(ctx))
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
	reader := query.NewReader(pool)
	m := maintain.NewMaintenance(pool, slog.New(slog.DiscardHandler), time.Now, 30*day, nobody)
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
	filters := []query.StatsQuery{
		{}, {Product: "shop"}, {Product: "hub"}, {TenantID: &tenants[0]}, {TargetID: &targets[1]}, {Product: "shop", TargetID: &targets[2]},
		{Product: "hub", TenantID: &tenants[1]}, {TenantID: &tenants[0], TargetID: &targets[0]}, {TenantID: &tenants[1], TargetID: &targets[0]},
		{TenantID: &targets[0]}, {TargetID: &tenants[0]}, {Product: "none"},
	}
	var queries []query.StatsQuery
	for _, q := range filters {
		for _, when := range []struct{ since, until, bucket time.Duration }{
			{0, 2 * time.Hour, 30 * time.Minute}, {13 * time.Minute, 74 * time.Minute, 30 * time.Minute}, {0, 5 * time.Minute, 30 * time.Minute},
			{0, 90 * time.Minute, time.Minute}, {13 * time.Minute, 47 * time.Minute, time.Minute},
			{0, 2 * time.Hour, 3 * time.Hour}, {-time.Hour, 61 * time.Minute, 3 * time.Hour}, {0, 12 * time.Hour, 12 * time.Hour},
		} {
			q.From, q.To, q.Bucket = from.Add(when.since), from.Add(when.until), when.bucket
			queries = append(queries, q)
		}
	}
	read := func() (all [][]query.BucketCounts) {
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
	require.NoError(t, m.RollUp(ctx))
	require.Equal(t, before, read(), "folding changes no answer, percentiles included")
	add()
	mixed := read()
	require.NoError(t, m.RollUp(ctx))
	require.NoError(t, m.RollUp(ctx))
	require.Equal(t, mixed, read())
	var left int
	require.NoError(t, pool.QueryRow(ctx, `select count(*) from hub.rollup_deltas`).Scan(&left))
	require.Zero(t, left)
}
