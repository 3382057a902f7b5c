package migrations_test

import (
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/migrations"
)

// A start asks by its pool whether there is anything to migrate: in a new database, in one of
// this version, in one of a newer version, which is refused.
func TestPending(t *testing.T) {
	t.Parallel()
	url := hubtest.EmptyDatabaseURL(t)
	db, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	files := fstest.MapFS{"00001_notes.sql": {Data: []byte("-- +goose Up\ncreate table notes (id int);\n")}}
	pending := func() []bool {
		t.Helper()
		ofHub, err := migrations.Pending(t.Context(), db)
		require.NoError(t, err)
		ofProduct, err := migrations.PendingProduct(t.Context(), db, "notes", files)
		require.NoError(t, err)
		return []bool{ofHub, ofProduct}
	}
	require.Equal(t, []bool{true, true}, pending())
	_, err = migrations.Up(t.Context(), url)
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, pending())
	_, err = migrations.UpProduct(t.Context(), url, "notes", files)
	require.NoError(t, err)
	require.Equal(t, []bool{false, false}, pending())
	for _, table := range []string{"hub.schema_version", "notes.schema_version"} {
		_, err = db.Exec(t.Context(), `insert into `+table+` (version_id, is_applied) values (99999, true)`)
		require.NoError(t, err)
	}
	require.Equal(t, []bool{true, true}, pending())
	_, err = migrations.Up(t.Context(), url)
	require.ErrorContains(t, err, "run a newer hub")
	_, err = migrations.UpProduct(t.Context(), url, "notes", files)
	require.ErrorContains(t, err, "run a newer hub")
}
