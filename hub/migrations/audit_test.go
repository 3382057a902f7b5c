package migrations_test

import (
	"context"
	"database/sql"
	"os"
	"testing"

	"github.com/google/uuid"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/migrations"
)

// auditMigration is the version of the migration that partitions the audit log.
const auditMigration = 61

// An audit log with entries becomes the first partition as it is: neither the table nor an
// index is written anew. Afterwards entries go on, into the months they belong to.
func TestAuditLogOfBeforeIsTheFirstPartition(t *testing.T) {
	t.Parallel()
	url := hubtest.EmptyDatabaseURL(t)
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	run := func(statement string, args ...any) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), statement, args...)
		require.NoError(t, err)
	}
	text := func(query string, args ...any) (value string) {
		t.Helper()
		require.NoError(t, db.QueryRowContext(t.Context(), query, args...).Scan(&value))
		return value
	}
	run(`create schema hub`)
	versions, err := database.NewStore(database.DialectPostgres, "hub.schema_version")
	require.NoError(t, err)
	provider, err := goose.NewProvider("", db, os.DirFS("."), goose.WithStore(versions))
	require.NoError(t, err)
	_, err = provider.UpTo(t.Context(), 18)
	require.NoError(t, err)
	const insert = `insert into hub.audit (id, actor_type, actor_id, action, resource, tenant_id, subject_id, status)
		select (left(hub.day_floor(($1::date + n % 900))::text, 24) || lpad(to_hex(n), 12, '0'))::uuid, 'key', 'k', 'a.b', 'a', gen_random_uuid(), 's', 200 from generate_series(1, $2::int) n`
	run(insert, "2024-01-31", 20_000)
	const content = `select count(*) || ' ' || md5(string_agg(concat_ws(' ', id, at, actor_type, actor_id, action, resource, tenant_id, subject_id, status), '' order by id)) from hub.audit`
	files := func(table string) string {
		return text(`select string_agg(replace(relname, $1, 'audit') || ' ' || relfilenode, ',' order by relname) from pg_class
			where (oid = ('hub.' || $1)::regclass or oid in (select indexrelid from pg_index where indrelid = ('hub.' || $1)::regclass)) and relname not like '%acts_idx'`, table)
	}
	before, filesBefore := text(content), files("audit")

	_, err = migrations.Up(t.Context(), url)
	require.NoError(t, err)
	require.Equal(t, before, text(content))
	require.Equal(t, filesBefore, files("audit_first"))
	require.Equal(t, "20000", text(`select count(*) from hub.audit where count = 1`))
	require.Equal(t, "true 6 6", text(`select concat_ws(' ', bool_and(indisvalid)::text, count(*), (select count(*) from pg_inherits where inhparent in (select indexrelid from pg_index where indrelid = 'hub.audit'::regclass)
		and inhrelid in (select indexrelid from pg_index where indrelid = 'hub.audit_first'::regclass))) from pg_index where indrelid = 'hub.audit'::regclass`))
	require.Equal(t, "0", text(`select count(*) from pg_constraint where conname = 'audit_boundary'`))
	require.Equal(t, text(`select hub.day_floor((date_trunc('month', now() at time zone 'UTC') + interval '2 months')::date)`), text(`select end_id from hub.audit_partitions() where name = 'audit_first'`))

	// An interruption may let any statement run again.
	run(`delete from hub.schema_version where version_id = $1`, auditMigration)
	run(`delete from hub.schema_version where version_id > $1`, auditMigration)
	provider, err = goose.NewProvider("", db, os.DirFS("."), goose.WithStore(versions), goose.WithDisableGlobalRegistry(true), goose.WithAllowOutofOrder(true))
	require.NoError(t, err)
	_, err = provider.ApplyVersion(t.Context(), auditMigration, true)
	require.NoError(t, err)
	require.Equal(t, before, text(content))

	entry := func(day string) string {
		t.Helper()
		id := uuid.New().String()
		return text(`insert into hub.audit (id, actor_type, action, resource, status) values ((left(hub.day_floor($1::date)::text, 24) || right($2, 12))::uuid, 'system', 'a.b', 'a', 200) returning (select relname from pg_class where oid = audit.tableoid)`, day, id)
	}
	today := text(`select (now() at time zone 'UTC')::date`)
	require.Equal(t, "audit_first", entry(today))
	month := text(`select date_trunc('month', now() at time zone 'UTC')::date + interval '3 months'`)
	require.Equal(t, text(`select 'audit_p' || to_char($1::timestamp, 'YYYYMM')`, month), entry(month))
	requireAppendOnly(t, db, text(`select 'hub.audit_p' || to_char($1::timestamp, 'YYYYMM')`, month))
}

// requireAppendOnly requires that entries stay as they are, in the log and in each
// partition: but for a count, which grows.
func requireAppendOnly(t *testing.T, db *sql.DB, partition string) {
	t.Helper()
	for _, table := range []string{"hub.audit", "hub.audit_first", partition} {
		for _, statement := range []string{
			`update ` + table + ` set status = 500`, `update ` + table + ` set count = count`, `update ` + table + ` set count = count - 1`,
			`update ` + table + ` set count = count + 1, status = 500`, `delete from ` + table, `truncate ` + table,
		} {
			_, err := db.ExecContext(context.Background(), statement)
			require.ErrorContains(t, err, "is append-only", statement)
		}
		_, err := db.ExecContext(context.Background(), `update `+table+` set count = count + 2`)
		require.NoError(t, err)
	}
}
