package query_test

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// waitingDelivery is a delivery that waits, and how long ago its event was accepted.
type waitingDelivery struct {
	target   uuid.UUID
	product  string
	priority hub.Priority
	age      time.Duration
	isBehind bool // another of its ordering key
}

// storeWaiting stores deliveries that wait.
func storeWaiting(t *testing.T, pool *pgxpool.Pool, now time.Time, deliveries []waitingDelivery) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `select hub.ensure_partitions((now() at time zone 'UTC')::date - 3, 4)`)
	require.NoError(t, err)
	tenant := uuid.New()
	_, err = pool.CopyFrom(t.Context(), pgx.Identifier{"hub", "deliveries"},
		[]string{"id", "event_id", "tenant_id", "target_id", "environment", "product", "event_type", "priority", "created_at", "due_at"},
		pgx.CopyFromSlice(len(deliveries), func(i int) ([]any, error) {
			d, at := deliveries[i], now.Add(-deliveries[i].age)
			due := pgtype.Timestamptz{Time: at.Add(time.Second), Valid: true}
			if d.isBehind {
				due = pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
			}
			return []any{logid.Delivery(logid.NewSeq(at), 1), i, tenant, d.target, "live", d.product, "a.b", d.priority, at, due}, nil
		}))
	require.NoError(t, err)
}

// pendingGauges returns the metrics of what waits, by name and product.
func pendingGauges(t *testing.T, reader *query.Reader) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	require.NoError(t, registry.Register(query.NewPendingCollector(reader, time.Now)))
	families, err := registry.Gather()
	require.NoError(t, err)
	gauges := make(map[string]float64)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			gauges[family.GetName()+" "+metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
		}
	}
	return gauges
}

// More bulk deliveries wait than are counted, all older than the others. The ages of the others
// are found behind them, also where they wait since another day, by receivers with bulk ones
// and without, and of a product of which none was counted.
func TestOldestPendingBehindBulk(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	now := time.Now()
	imported, quiet, other := uuid.New(), uuid.New(), uuid.New()
	var deliveries []waitingDelivery
	for i := range 150 { // hasty readers count 100
		deliveries = append(deliveries, waitingDelivery{target: imported, product: "clinic", priority: hub.PriorityBulk, age: 30*time.Hour - time.Duration(i)*time.Second})
	}
	deliveries = append(deliveries,
		waitingDelivery{target: imported, product: "clinic", priority: hub.PriorityNormal, age: 7 * time.Minute},
		waitingDelivery{target: imported, product: "clinic", priority: hub.PriorityNormal, age: time.Minute},
		waitingDelivery{target: quiet, product: "clinic", priority: hub.PriorityHigh, age: 9 * time.Minute},
		waitingDelivery{target: quiet, product: "clinic", priority: hub.PriorityNormal, age: 20 * time.Minute, isBehind: true},
		waitingDelivery{target: other, product: "shop", priority: hub.PriorityNormal, age: 26 * time.Hour},
		waitingDelivery{target: other, product: "shop", priority: hub.PriorityNormal, age: time.Minute})
	storeWaiting(t, pool, now, deliveries)
	reader := query.NewReader(pool)
	for name, reader := range map[string]*query.Reader{"all are counted": reader, "bulk hides the others": reader.Hasty()} {
		gauges := pendingGauges(t, reader)
		require.InDelta(t, 9*60, gauges["hub_oldest_pending_seconds clinic"], 60, name)
		require.InDelta(t, 26*60*60, gauges["hub_oldest_pending_seconds shop"], 60, name)
		require.InDelta(t, 1, gauges["hub_deliveries_behind clinic"], 0, name)
	}
	require.InDelta(t, 100, pendingGauges(t, reader.Hasty())["hub_bulk_deliveries_pending clinic"], 0)
}

// Of many deliveries that wait without being bulk the oldest is found as before: by its id.
func TestOldestPendingOfMany(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	var deliveries []waitingDelivery
	for i := range 150 {
		deliveries = append(deliveries, waitingDelivery{target: uuid.New(), product: "shop", priority: hub.PriorityNormal, age: time.Duration(1+i) * time.Minute})
	}
	storeWaiting(t, pool, time.Now(), deliveries)
	gauges := pendingGauges(t, query.NewReader(pool).Hasty())
	require.InDelta(t, 150*60, gauges["hub_oldest_pending_seconds shop"], 60)
	require.InDelta(t, 100, gauges["hub_deliveries_pending shop"], 0)
}

// What it costs to find the oldest follows the receivers and what else waits, not the bulk,
// whatever PostgreSQL knows of the table.
func TestOldestPendingReadsNoBulk(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	now := time.Now().UTC()
	day := now.Truncate(24 * time.Hour)
	noon := day.Add(12 * time.Hour)
	var deliveries []waitingDelivery
	for n := range 10 {
		target := uuid.New()
		for i := range 2000 {
			deliveries = append(deliveries, waitingDelivery{target: target, product: "shop", priority: hub.PriorityBulk, age: time.Duration(n*2000+i) * time.Millisecond})
		}
		deliveries = append(deliveries, waitingDelivery{target: target, product: "shop", priority: hub.PriorityNormal})
	}
	storeWaiting(t, pool, noon, deliveries)
	for _, statement := range []string{`select`, `analyze hub.deliveries`, `vacuum hub.deliveries`} {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err)
		plan, err := query.NewReader(pool).ExplainOldestOfDay(t.Context(), day)
		require.NoError(t, err)
		hit := regexp.MustCompile(`Buffers: shared hit=(\d+)`).FindStringSubmatch(plan)
		require.NotNil(t, hit, plan)
		buffers, err := strconv.Atoi(hit[1])
		require.NoError(t, err)
		require.Less(t, buffers, 20*8, "after %q: each of ten receivers is looked up twice\n%s", statement, plan)
	}
}
