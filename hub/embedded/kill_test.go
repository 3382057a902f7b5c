//go:build unix

package embedded_test

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each round kills the hub at another moment; in some the server is killed too,
// and its remains are a zombie or reaped, as PID 1 pleases.
func TestAcknowledgedRowsSurviveKill(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "pg")
	acknowledged := 0
	for round, kill := range []struct {
		after      int // rows
		server     bool
		reapServer bool
	}{{1, false, true}, {60, true, false}, {20, true, true}, {0, false, false}, {200, false, false}, {35, true, false}} {
		h := startHolder(t, dir, nil)
		require.GreaterOrEqual(t, h.found, acknowledged, "round %d lost rows", round)
		for range kill.after {
			acknowledged = h.read(t, "row")
		}
		if kill.server {
			require.NoError(t, syscall.Kill(h.pid, syscall.SIGKILL))
		}
		acknowledged = max(acknowledged, h.kill())
		if kill.reapServer {
			reap(h.pid)
		}
	}
	p := start(t, config(t, dir))
	require.False(t, p.IsNewCluster())
	require.Equal(t, "true", query(t, p.URL(), "select (count(*) = max(n) and max(n) >= "+strconv.Itoa(acknowledged)+")::text from kept"))
}

// reap waits for the orphan and takes its exit status, where it is ours to take.
func reap(pid int) {
	var status syscall.WaitStatus
	_, _ = syscall.Wait4(pid, &status, 0, nil)
}

func TestServerEndsWithItsHub(t *testing.T) {
	t.Parallel()
	h := startHolder(t, filepath.Join(t.TempDir(), "pg"), nil)
	h.read(t, "row")
	require.True(t, alive(h.pid))
	h.kill()
	require.Eventually(t, func() bool { return !alive(h.pid) }, 10*time.Second, 10*time.Millisecond)
}

// A connection that computes does not notice that its server died, and holds
// the cluster's shared memory.
func TestTakesOverFromBusyOrphan(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "pg")
	h := startHolder(t, dir, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, holderBusy+"=1") })
	h.read(t, "row")
	// The hub first stands still, so that it cannot close the connection.
	require.NoError(t, h.cmd.Process.Signal(syscall.SIGSTOP))
	require.NoError(t, syscall.Kill(h.pid, syscall.SIGKILL))
	h.kill()

	began := time.Now()
	p := start(t, config(t, dir))
	require.Less(t, time.Since(began), 20*time.Second)
	require.Equal(t, "0", query(t, p.URL(), "select count(*)::text from kept"))
}
