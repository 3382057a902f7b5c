package migrations_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/migrations"
)

// A later version adds its migrations to the schema of a product that an earlier one made.
// Products do not see each other's versions.
func TestUpgradeOfAProduct(t *testing.T) {
	t.Parallel()
	url := hubtest.EmptyDatabaseURL(t)
	files := fstest.MapFS{"00001_notes.sql": {Data: []byte("-- +goose Up\ncreate table notes (id integer);\n")}}
	for _, product := range []string{"notes", "pad-s"} {
		applied, err := migrations.UpProduct(t.Context(), url, product, files)
		require.NoError(t, err)
		require.Equal(t, []string{"00001_notes.sql"}, applied)
	}
	files["00002_text.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nalter table notes add column text text;\n")}
	for _, product := range []string{"notes", "pad-s"} {
		applied, err := migrations.UpProduct(t.Context(), url, product, files)
		require.NoError(t, err)
		require.Equal(t, []string{"00002_text.sql"}, applied)
		status, err := migrations.CheckProduct(t.Context(), url, product, files)
		require.NoError(t, err)
		require.Equal(t, migrations.Status{Current: 2, Target: 2}, status)
		applied, err = migrations.UpProduct(t.Context(), url, product, files)
		require.NoError(t, err)
		require.Empty(t, applied)
	}
}
