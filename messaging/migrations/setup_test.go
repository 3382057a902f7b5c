package migrations_test

import (
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	hubmigrations "integrationhub/hub/migrations"
	"integrationhub/messaging/migrations"
)

// schemaBefore returns a database whose schema is as it was before a version, with one company, and
// the provider of the migrations that follow.
func schemaBefore(t *testing.T, version int64) (*pgxpool.Pool, *goose.Provider) {
	t.Helper()
	url := hubtest.EmptyDatabaseURL(t)
	_, err := hubmigrations.Up(t.Context(), url)
	require.NoError(t, err)
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	execute(t, pool, `create schema messaging`)
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS())
	require.NoError(t, err)
	_, err = provider.UpTo(t.Context(), version-1)
	require.NoError(t, err)
	execute(t, pool, `insert into messaging.companies (tenant_id, name) values (gen_random_uuid(), 'Studio')`)
	return pool, provider
}

// execute runs a statement.
func execute(t *testing.T, pool *pgxpool.Pool, statement string, args ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), statement, args...)
	require.NoError(t, err)
}
