//go:build unix

package clinic_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// A hub that is killed in the middle of an import goes on with it: every patient is
// there once, and told of once.
func TestImportSurvivesKills(t *testing.T) {
	t.Parallel()
	binary, err := hubBinary()
	require.NoError(t, err)
	address, err := hubtest.FreeAddress()
	require.NoError(t, err)
	dir, database, redis := t.TempDir(), hubtest.DatabaseURL(t), hubtest.RedisURL(t)
	db, err := pgxpool.New(t.Context(), database)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	start := func() *hubtest.Process {
		cmd := exec.Command(binary, "serve")
		for _, one := range os.Environ() {
			if !strings.HasPrefix(one, "HUB_") {
				cmd.Env = append(cmd.Env, one)
			}
		}
		cmd.Env = append(cmd.Env, "HUB_LISTEN="+address, "HUB_DATA_DIR="+dir, "HUB_DATABASE_URL="+database, "HUB_REDIS_URL="+redis,
			"HUB_MASTER_KEY="+base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef")))
		process := hubtest.Run(t, "hub", dir, cmd)
		require.Eventually(t, func() bool {
			res, err := client.Get("http://" + address + "/ready")
			if err != nil {
				return false
			}
			require.NoError(t, res.Body.Close())
			return res.StatusCode == 200
		}, 2*soon, tick, "the hub does not start: %s", process.Log())
		return process
	}
	process := start()
	p := practiceAt(t, &moduletest.Hub{URL: "http://" + address, Base: "http://" + address + "/clinic", Kit: module.Kit{Pool: db}})
	const patients = 4000
	made := p.upload("csv", people(patients))
	require.Equal(t, 202, made.status, made.text)
	id := made.body["id"].(string)
	far := 0
	for range 3 {
		require.Eventually(t, func() bool {
			row := p.count(`select processed from (select created + updated + skipped + failed as processed from clinic.imports where clinic_id = $1) i`)
			ahead := row > far
			far = max(far, row)
			return ahead
		}, 2*soon, tick)
		require.Less(t, far, patients, "it was killed in the middle")
		process.Kill()
		_, err := db.Exec(t.Context(), `update hub.jobs set leased_to = now() - interval '1 second' where job = 'import' and leased_to is not null`) // or wait for 45 seconds
		require.NoError(t, err)
		process = start()
	}
	require.Eventually(t, func() bool { return p.get("/imports/" + id)["status"] == "done" }, 4*soon, tick)
	counts(t, p.get("/imports/"+id), patients, 0, 0, 0)
	require.Equal(t, patients, p.count(`select count(distinct cpf_hmac) from clinic.patients where clinic_id = $1`))
	require.Equal(t, patients, p.count(`select count(*) from clinic.patients where clinic_id = $1`))
	require.Equal(t, patients, p.count(`select count(*) from hub.events where tenant_id = $1 and event_type = 'patient.created'`))
	require.Equal(t, patients, p.count(`select count(distinct convert_from(body, 'UTF8')::jsonb->'data'->>'patient_id') from hub.events where tenant_id = $1`))
}

// What an import holds in memory does not grow with its file.
func TestImportMemory(t *testing.T) { //nolint:paralleltest // it measures the process's memory
	p := newPractice(t)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // what pools held goes with the second
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		return now.HeapInuse
	}
	before := heap()
	id := func() string {
		file := "nome;cpf;obs\n" + strings.Repeat("Ana Souza;529.982.247-25;"+strings.Repeat("x", 1500)+"\n", 10_000) // 15 MB
		made := p.upload("csv", file)
		require.Equal(t, 202, made.status, made.text)
		return made.body["id"].(string)
	}()
	var most uint64
	looks := 0
	require.Eventually(t, func() bool {
		got := p.get("/imports/" + id)
		most = max(most, heap())
		looks++
		return got["status"] == "done"
	}, 4*soon, tick)
	counts(t, p.get("/imports/"+id), 1, 0, 9999, 0)
	require.Greater(t, looks, 3, "it was looked at while it ran")
	t.Logf("heap in use: %d KiB before, %d KiB at most while 15 MB were read", before>>10, most>>10)
	require.Less(t, most, before+8<<20)
}
