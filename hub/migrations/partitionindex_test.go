package migrations_test

import (
	"database/sql"
	"os"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/migrations"
)

// A table with rows gets the index of due deliveries partition by partition, whatever an
// interrupted migration left.
func TestDueIndexIsMadeByPartition(t *testing.T) {
	t.Parallel()
	url := hubtest.EmptyDatabaseURL(t)
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	run := func(statement string) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	run(`create schema hub`)
	versions, err := database.NewStore(database.DialectPostgres, "hub.schema_version")
	require.NoError(t, err)
	provider, err := goose.NewProvider("", db, os.DirFS("."), goose.WithStore(versions))
	require.NoError(t, err)
	_, err = provider.UpTo(t.Context(), 18)
	require.NoError(t, err)
	run(`insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type)
		select hub.day_floor((now() at time zone 'UTC')::date), 1, gen_random_uuid(), gen_random_uuid(), 'live', 'shop', 'a.b'`)
	// An interrupted migration: the parent's index, one attached, one that is not valid.
	const definition = ` ((case when status = 0 then due_at end)) where case when status = 0 then due_at end is not null`
	run(`create index deliveries_due_at on only hub.deliveries` + definition)
	run(`select hub.ensure_partitions((now() at time zone 'UTC')::date + 8, 1)`)
	run(`do $$ begin execute format('create index %1$s_due_at_idx on hub.%1$s (due_at)', 'deliveries_p' || to_char(now() at time zone 'UTC', 'YYYYMMDD')); end $$`)

	_, err = migrations.Up(t.Context(), url)
	require.NoError(t, err)
	run(`select hub.ensure_partitions((now() at time zone 'UTC')::date + 9, 1)`)
	var isValid bool
	var partitions, indexed int
	require.NoError(t, db.QueryRowContext(t.Context(), `
		select (select indisvalid from pg_index where indexrelid = 'hub.deliveries_due_at'::regclass),
			(select count(*) from pg_inherits where inhparent = 'hub.deliveries'::regclass),
			(select count(*) from pg_inherits i join pg_index x on x.indexrelid = i.inhrelid
			 where i.inhparent = 'hub.deliveries_due_at'::regclass and x.indisvalid)`).Scan(&isValid, &partitions, &indexed))
	require.True(t, isValid)
	require.Equal(t, 11, partitions)
	require.Equal(t, partitions, indexed)
}
