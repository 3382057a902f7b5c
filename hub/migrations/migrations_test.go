package migrations_test

import (
	"context"
	"database/sql"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/migrations"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// What was counted before statistics had several widths and scopes counts on.
func TestStatisticsOfBeforeAreKept(t *testing.T) {
	t.Parallel()
	url := hubtest.EmptyDatabaseURL(t)
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	versions, err := database.NewStore(database.DialectPostgres, "hub.schema_version")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `create schema hub`)
	require.NoError(t, err)
	provider, err := goose.NewProvider("", db, os.DirFS("."), goose.WithStore(versions))
	require.NoError(t, err)
	_, err = provider.UpTo(t.Context(), 2)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `
		insert into hub.rollups (bucket, tenant_id, target_id, product, accepted, delivered, failed, parked, attempts, errors, latency)
		select timestamptz '2026-11-20 10:00Z' + minute * interval '1 minute', lpad((target / 2)::text, 32, '1')::uuid, lpad(target::text, 32, '2')::uuid,
			product, 1, 2, 3, 4, 5, 6, case when target = 1 then '{}' else array[1, 0, target] end::integer[]
		from generate_series(0, 59) minute, generate_series(1, 3) target, unnest(array['shop', 'hub']) product`)
	require.NoError(t, err)
	_, err = migrations.Up(t.Context(), url)
	require.NoError(t, err)
	for _, test := range []struct {
		where        string
		rows         int
		accepted     int
		errors       int
		firstLatency string
	}{
		{`width = 30 and scope = 0 and product = ''`, 2, 360, 6 * 360, "{120,0,300}"},
		{`width = 30 and scope = 0 and product = 'hub'`, 2, 180, 6 * 180, "{60,0,150}"},
		{`width = 1 and scope = 0 and product = ''`, 60, 360, 6 * 360, "{4,0,10}"},
		{`width = 30 and scope = 1`, 8, 360, 6 * 360, "{}"},
		{`width = 30 and scope = 2`, 12, 360, 6 * 360, "{}"},
		{`width = 1 and scope = 2`, 360, 360, 6 * 360, "{}"},
		{`width = 30 and scope = 2 and scope_id = lpad('3', 32, '2')::uuid and tenant_id = lpad('1', 32, '1')::uuid and product = 'shop'`, 2, 60, 360, "{30,0,90}"},
	} {
		var rows, accepted, errors int
		var latency string
		require.NoError(t, db.QueryRowContext(t.Context(), `
			select count(*), sum(accepted), sum(errors), (array_agg(latency::text order by bucket, scope_id))[1] from hub.statistics where `+test.where).
			Scan(&rows, &accepted, &errors, &latency))
		require.Equal(t, []any{test.rows, test.accepted, test.errors, test.firstLatency}, []any{rows, accepted, errors, latency}, test.where)
	}
}

// Products index by trigrams, whichever of them asked for the extension first: a product of
// the version before made it in its own schema.
func TestTrigramsAreInEveryPath(t *testing.T) {
	t.Parallel()
	url := hubtest.EmptyDatabaseURL(t)
	db, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	_, err = db.Exec(t.Context(), `create schema scheduling; create extension pg_trgm with schema scheduling;
		create table scheduling.clients (name text); create index clients_search on scheduling.clients using gin (name scheduling.gin_trgm_ops)`)
	require.NoError(t, err)
	_, err = migrations.Up(t.Context(), url)
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), `create schema messaging; set search_path = messaging, public; create table contacts (name text);
		create index contacts_search on contacts using gin (name gin_trgm_ops)`)
	require.NoError(t, err)
	var isValid bool
	require.NoError(t, db.QueryRow(t.Context(), `select indisvalid from pg_index where indexrelid = 'scheduling.clients_search'::regclass`).Scan(&isValid))
	require.True(t, isValid)
}

// Integrations that were made before order are not ordered; those made from then on are.
func TestIntegrationsOfBeforeAreNotOrdered(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	migration, err := os.ReadFile("00084_ordered_integrations.sql")
	require.NoError(t, err)
	insert := `
		with tenant as (insert into hub.tenants (id, product, name) values (gen_random_uuid(), 'shop', 'Shop') returning id)
		insert into hub.integrations (id, tenant_id, environment, product, status, webhook_url) select gen_random_uuid(), id, 'live', 'crm', 'active', '' from tenant`
	for _, statement := range []string{
		`insert into hub.products (name, prefix, title) values ('shop', 'shp', 'Shop')`,
		`alter table hub.integrations drop column ordered cascade`, // as before the migration, but for a trigger
		`create trigger config_changed after update on hub.integrations for each row execute function hub.record_config_change()`,
		insert,
		string(migration),
		insert,
	} {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	var ordered []bool
	require.NoError(t, pool.QueryRow(t.Context(), `select array_agg(ordered order by created_at) from hub.integrations`).Scan(&ordered))
	require.Equal(t, []bool{false, true}, ordered)
}

// Alerts about a product that was deleted or renamed before alerts followed it end, and with
// them their endpoints; all others stay.
func TestAlertsOfNoProductEnd(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	migration, err := os.ReadFile("00086_alerts_of_products.sql")
	require.NoError(t, err)
	for _, statement := range []string{
		`alter table hub.alerts drop constraint alerts_product_fkey`, // as before the migration
		`insert into hub.products (name, prefix, title) values ('shop', 'shp', 'Shop')`,
		`insert into hub.alerts (id, kind, target, events, product) select gen_random_uuid(), kind, 'https://example.com/' || coalesce(product, 'all'), '{hub.*}', product
			from unnest('{email,webhook}'::text[]) kind, unnest(array['shop', 'gone', null]) product`,
		`insert into hub.endpoints (id, tenant_id, environment, url, event_types, secret) select id, '00000000-0000-0000-0000-000000000000', 'live', target, events, '' from hub.alerts where kind = 'webhook'`,
		string(migration),
	} {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	var alerts, endpoints []string
	require.NoError(t, pool.QueryRow(t.Context(), `select array_agg(target order by target) from hub.alerts`).Scan(&alerts))
	require.Equal(t, []string{"https://example.com/all", "https://example.com/all", "https://example.com/shop", "https://example.com/shop"}, alerts)
	require.NoError(t, pool.QueryRow(t.Context(), `select array_agg(url order by url) from hub.endpoints where deleted_at is null`).Scan(&endpoints))
	require.Equal(t, []string{"https://example.com/all", "https://example.com/shop"}, endpoints)
}
