//go:build unix

package hubtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// Processes copy the same cluster, with what was prepared in it, and write into their own; what
// is prepared of other files is another cluster.
func TestClustersAreCopied(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	prepared := 0
	prepare := func(ctx context.Context, url string) error {
		prepared++
		db, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		defer db.Close(ctx)
		_, err = db.Exec(ctx, `create table prepared as select 7 as x`)
		return err
	}
	files := fstest.MapFS{"00001_a.sql": {Data: []byte(t.TempDir())}} // of this run, as the name is
	p := preparation{"copied", files, prepare}
	sum, err := clusterSum(p)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, os.RemoveAll(filepath.Join(ModuleRoot(), ".cache", "test", "cluster-"+sum)))
	})
	var identities []int64
	for range 2 {
		dir, err := inMemory.make("pg")
		require.NoError(t, err)
		require.NoError(t, copyCluster(ctx, dir, p))
		server, err := startServer(ctx, dir)
		require.NoError(t, err)
		t.Cleanup(func() { _ = server.Stop(ctx) })
		db, err := pgx.Connect(ctx, urlOf(server.URL(), p.database()))
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close(ctx) })
		var identity int64
		var version, x int
		require.NoError(t, db.QueryRow(ctx, `select system_identifier from pg_control_system()`).Scan(&identity))
		require.NoError(t, db.QueryRow(ctx, `select max(version_id) from hub.schema_version`).Scan(&version))
		require.NoError(t, db.QueryRow(ctx, `select sum(x) from prepared`).Scan(&x))
		require.Positive(t, version)
		require.Equal(t, 7, x)
		_, err = db.Exec(ctx, `insert into prepared values (1)`)
		require.NoError(t, err)
		identities = append(identities, identity)
	}
	require.Equal(t, identities[0], identities[1])
	require.Equal(t, 1, prepared)

	others := map[string]bool{sum: true}
	for _, other := range []preparation{
		{}, {"copied", nil, prepare}, {"other", files, prepare}, {"copied", fstest.MapFS{"00001_a.sql": {Data: []byte("b")}}, prepare},
	} {
		sum, err := clusterSum(other)
		require.NoError(t, err)
		others[sum] = true
	}
	require.Len(t, others, 4, "a preparation without files is none")
}

// Of many clusters the newest are kept, and none of another day.
func TestOldClustersAreRemoved(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	now := time.Now()
	for i := range maxClusters + 3 {
		path := filepath.Join(parent, fmt.Sprintf("cluster-%02d", i)) // 00 is the newest
		require.NoError(t, os.MkdirAll(filepath.Join(path, "base"), 0o700))
		made := now.Add(-time.Duration(i) * time.Minute)
		if i == 1 {
			made = now.Add(-clusterLifetime - time.Hour)
		}
		require.NoError(t, os.Chtimes(path, made, made))
	}
	removeOldClusters(parent)
	kept, err := filepath.Glob(filepath.Join(parent, "cluster-*"))
	require.NoError(t, err)
	require.Len(t, kept, maxClusters-1, "the next one has a place")
	require.Contains(t, kept, filepath.Join(parent, "cluster-00"))
	require.NotContains(t, kept, filepath.Join(parent, "cluster-01"))
}
