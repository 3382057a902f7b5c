//go:build unix

package clinic_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module"
)

// hubBinary builds the hub as it is delivered, once.
var hubBinary = sync.OnceValues(func() (string, error) {
	dir, err := hubtest.SharedDir("clinichub")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "hub")
	if out, err := exec.Command("go", "build", "-o", binary, "integrationhub/cmd/hub").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the hub: %w\n%s", err, out)
	}
	return binary, nil
})

// killable is the hub as it is delivered, in a process of its own.
type killable struct {
	*hubtest.Process
	t        *testing.T
	binary   string
	address  string
	dir      string
	database string
	redis    string
	db       *pgxpool.Pool
}

// startKillable starts the hub on servers of its own.
func startKillable(t *testing.T) *killable {
	t.Helper()
	hubtest.SkipShort(t)
	binary, err := hubBinary()
	require.NoError(t, err)
	address, err := hubtest.FreeAddress()
	require.NoError(t, err)
	k := &killable{t: t, binary: binary, address: address, dir: t.TempDir(), database: hubtest.DatabaseURL(t), redis: hubtest.RedisURL(t)}
	k.db, err = pgxpool.New(t.Context(), k.database)
	require.NoError(t, err)
	t.Cleanup(k.db.Close)
	k.start()
	return k
}

// start starts the hub again once it is gone.
func (k *killable) start() {
	k.t.Helper()
	cmd := exec.Command(k.binary, "serve")
	for _, one := range os.Environ() {
		if !strings.HasPrefix(one, "HUB_") {
			cmd.Env = append(cmd.Env, one)
		}
	}
	cmd.Env = append(cmd.Env, "HUB_LISTEN="+k.address, "HUB_DATA_DIR="+k.dir, "HUB_DATABASE_URL="+k.database, "HUB_REDIS_URL="+k.redis,
		"HUB_MASTER_KEY="+base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef")))
	k.Process = hubtest.RunProcess(k.t, "hub", k.dir, cmd)
	require.Eventually(k.t, func() bool {
		res, err := client.Get("http://" + k.address + "/ready")
		if err != nil {
			return false
		}
		require.NoError(k.t, res.Body.Close())
		return res.StatusCode == 200
	}, 2*soon, tick, "the hub does not start: %s", k.LogTail())
}

// practice registers a clinic there.
func (k *killable) practice() *practice {
	k.t.Helper()
	return practiceAt(k.t, &moduletest.Hub{URL: "http://" + k.address, Base: "http://" + k.address + "/clinic", Host: module.Host{Pool: k.db}})
}

// killed kills the hub and starts it again; a job that ran goes on at once, not when the
// killed process's lease is over.
func (k *killable) killed(job string) {
	k.t.Helper()
	k.Kill()
	k.exec(`update hub.jobs set leased_to = now() - interval '1 second' where job = $1 and leased_to is not null`, job)
	k.start()
}

func (k *killable) exec(sql string, args ...any) {
	k.t.Helper()
	_, err := k.db.Exec(k.t.Context(), sql, args...)
	require.NoError(k.t, err)
}
