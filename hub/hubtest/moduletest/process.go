//go:build unix

package moduletest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/module"
)

const (
	startTimeout = 2 * time.Minute // of a process on a busy machine
	startTick    = 20 * time.Millisecond
)

// hubBinary builds the hub as it is delivered, once.
var hubBinary = sync.OnceValues(func() (string, error) {
	return hubtest.BuildProgram("hub", "integrationhub/cmd/hub")
})

// HubProcess is the hub as it is delivered, in a process of its own that tests kill.
type HubProcess struct {
	*hubtest.Process
	T        *testing.T
	DB       *pgxpool.Pool
	binary   string
	address  string
	dir      string
	database string
	redis    string
	settings []string
}

// StartHubProcess starts the hub with databases of its own. Settings are as in the
// environment: "HUB_KEY_RATE=0".
func StartHubProcess(t *testing.T, settings ...string) *HubProcess {
	t.Helper()
	hubtest.SkipShort(t)
	return StartHubProcessOn(t, migratedDatabase(t), hubtest.RedisURL(t), settings...)
}

// migratedDatabase returns the URL of a database with the schema of every product: copying it
// takes less than migrating at each test's start.
func migratedDatabase(t *testing.T) string {
	t.Helper()
	root, files := os.DirFS(hubtest.ModuleRoot()), fstest.MapFS{}
	names, err := fs.Glob(root, "*/migrations/*")
	require.NoError(t, err)
	for _, name := range names {
		content, err := fs.ReadFile(root, name)
		require.NoError(t, err)
		files[name] = &fstest.MapFile{Data: content}
	}
	binary, err := hubBinary()
	require.NoError(t, err)
	return hubtest.PreparedDatabaseURL(t, "every product", files, func(ctx context.Context, url string) error {
		migrate := exec.CommandContext(ctx, binary, "migrate")
		migrate.Env = append(ownEnvironment(), "HUB_DATA_DIR="+t.TempDir(), "HUB_DATABASE_URL="+url, "HUB_REDIS_URL="+hubtest.RedisURL(t), masterKey)
		if out, err := migrate.CombinedOutput(); err != nil {
			return fmt.Errorf("migrating the template: %w\n%s", err, out)
		}
		return nil
	})
}

const masterKey = "HUB_MASTER_KEY=MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// ownEnvironment is the environment without settings of the hub.
func ownEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(text string) bool { return strings.HasPrefix(text, "HUB_") })
}

// StartHubProcessOn is [StartHubProcess] with servers that the test breaks.
func StartHubProcessOn(t *testing.T, database, redis string, settings ...string) *HubProcess {
	t.Helper()
	hubtest.SkipShort(t)
	binary, err := hubBinary()
	require.NoError(t, err)
	address, err := hubtest.FreeAddress()
	require.NoError(t, err)
	k := &HubProcess{T: t, binary: binary, address: address, dir: t.TempDir(), database: database, redis: redis, settings: settings}
	k.DB, err = pgxpool.New(t.Context(), k.database)
	require.NoError(t, err)
	t.Cleanup(k.DB.Close)
	k.Restart()
	return k
}

// Restart starts the hub again once it is gone.
func (k *HubProcess) Restart() {
	k.T.Helper()
	cmd := exec.Command(k.binary, "serve")
	cmd.Env = append(ownEnvironment(), "HUB_LISTEN="+k.address, "HUB_DATA_DIR="+k.dir, "HUB_DATABASE_URL="+k.database, "HUB_REDIS_URL="+k.redis, masterKey)
	cmd.Env = append(cmd.Env, k.settings...)
	k.Process = hubtest.RunProcess(k.T, "hub", k.dir, cmd)
	require.Eventually(k.T, func() bool {
		res, err := hubtest.HTTPClient.Get("http://" + k.address + "/ready")
		if err != nil {
			return false
		}
		require.NoError(k.T, res.Body.Close())
		return res.StatusCode == 200
	}, startTimeout, startTick, "the hub does not start: %s", k.LogTail())
}

// Product returns one of its products.
func (k *HubProcess) Product(name string) *Hub {
	k.T.Helper()
	return Attach(k.T, name, "http://"+k.address, "http://"+k.address+"/"+name, module.Host{Pool: k.DB})
}

// KillAndRestart kills the hub and starts it again; jobs that ran go on at once, not when the
// killed process's leases are over.
func (k *HubProcess) KillAndRestart(jobs ...string) {
	k.T.Helper()
	k.Kill()
	k.Exec(`update hub.jobs set leased_to = now() - interval '1 second' where job = any($1) and leased_to is not null`, jobs)
	k.Restart()
}

// FileNames returns the paths of the files that a product keeps for itself, half-written ones
// included.
func (k *HubProcess) FileNames(product string) (paths []string) {
	k.T.Helper()
	require.NoError(k.T, filepath.WalkDir(k.dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.HasSuffix(filepath.Dir(path), filepath.Join(product, "private")) {
			paths = append(paths, path)
		}
		return err
	}))
	return paths
}

// TemporaryFiles returns the paths of the temporary files that hold something, of whatever
// process has run in its data directory.
func (k *HubProcess) TemporaryFiles() (paths []string) {
	k.T.Helper()
	_ = filepath.WalkDir(filepath.Join(k.dir, "tmp"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && !strings.HasSuffix(path, ".lock") {
			paths = append(paths, path)
		}
		return nil // it may be removed meanwhile
	})
	return paths
}

// Count returns a number from the database of the process.
func (k *HubProcess) Count(sql string, args ...any) (n int) {
	k.T.Helper()
	require.NoError(k.T, k.DB.QueryRow(k.T.Context(), sql, args...).Scan(&n))
	return n
}

// AwaitCount waits until a count is above one, and returns it.
func (k *HubProcess) AwaitCount(above int, sql string, args ...any) (n int) {
	k.T.Helper()
	require.Eventually(k.T, func() bool {
		n = k.Count(sql, args...)
		return n > above
	}, 2*startTimeout, startTick, "%s stays at %d: %s", sql, above, k.LogTail())
	return n
}

// Exec changes the database of the process.
func (k *HubProcess) Exec(sql string, args ...any) {
	k.T.Helper()
	_, err := k.DB.Exec(k.T.Context(), sql, args...)
	require.NoError(k.T, err)
}
