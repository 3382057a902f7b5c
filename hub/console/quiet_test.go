//go:build quiet

package console_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// Tests with the tag quiet measure times: make test runs them last and alone.

// "With 1,000,000 deliveries the log's first page is drawn in under 1 s and scrolling 20 pages
// keeps under 150 MB."
func TestMillionDeliveriesInABrowser(t *testing.T) {
	c := start(t)
	shop := c.shop(1)
	pool, err := pgxpool.New(t.Context(), string(c.options.Config.DatabaseURL))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	const perDay = 250_000
	for age := range 4 {
		day := time.Now().UTC().AddDate(0, 0, -age)
		_, err = pool.Exec(t.Context(), `select hub.ensure_partitions($1::date, 1)`, day)
		require.NoError(t, err)
		for _, statement := range []string{
			`insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body)
				select (left(hub.day_floor($1::date)::text, 24) || lpad(to_hex(n * 65536), 12, '0'))::uuid, n, $2, 'live', 'shop', 'order.created', 1, '{"id":"evt","data":{"order":1,"note":"a payload of some length, as webhooks have"}}'
				from generate_series(1, $3::bigint) n where $4::uuid is not null`,
			`insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, status, status_code, attempts, started_at, finished_at, created_at)
				select (left(hub.day_floor($1::date)::text, 24) || lpad(to_hex(n * 65536 + 1), 12, '0'))::uuid, n, $2, $4, 'live', 'shop', case when n = 7 then 'order.rare' else 'order.created' end,
					case when n = 77 then 'story-77' end, case when n % 20000 = 0 then 3 else 1 end, case when n % 20000 = 0 then 500 else 200 end, 1, now(), now(), now()
				from generate_series(1, $3::bigint) n`,
		} {
			_, err = pool.Exec(t.Context(), statement, day, shop.tenant, perDay, shop.endpoint)
			require.NoError(t, err)
		}
	}
	var count int
	require.NoError(t, pool.QueryRow(t.Context(), `select count(*) from hub.deliveries`).Scan(&count))
	require.GreaterOrEqual(t, count, 1_000_000)
	_, err = pool.Exec(t.Context(), `analyze hub.deliveries`)
	require.NoError(t, err)
	hubtest.RunInBrowser(t, "hub/console/browser/million.mjs", c.visited())
}
