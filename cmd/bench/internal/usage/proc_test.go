package usage

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	stat, ok := parseStat([]byte("7 (a) b (c) S 3 7 7 0 -1 4194560 1 2 3 4 100 50 20 5 20 0 1 0 99 0 0"))
	require.True(t, ok)
	require.Equal(t, procStat{parent: 3, cpu: 1750 * time.Millisecond}, stat)
	_, ok = parseStat([]byte("7 (a) S 3"))
	require.False(t, ok)
}

// A child that has ended stays counted in its parent: so do the backends
// PostgreSQL has ended.
func TestCPUOfEndedChildren(t *testing.T) {
	t.Parallel()
	// A shell that runs and waits for a busy child, says so, and lives on.
	shell := exec.Command("sh", "-c", `sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; echo done; read wait`)
	in, err := shell.StdinPipe()
	require.NoError(t, err)
	out, err := shell.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, shell.Start())
	said := make([]byte, 5)
	_, err = out.Read(said)
	require.NoError(t, err)
	cpu, err := processTreesCPU(map[string]int{"shell": shell.Process.Pid, "self": os.Getpid()})
	require.NoError(t, err)
	require.GreaterOrEqual(t, cpu["shell"], 50*time.Millisecond)
	require.GreaterOrEqual(t, cpu["self"], cpu["shell"], "a tree holds its subtrees")
	require.NoError(t, in.Close())
	_ = shell.Wait() // read fails at the end of its input
}

func TestMemoryWatch(t *testing.T) {
	t.Parallel()
	m, ok := ReadMemory(os.Getpid())
	require.True(t, ok)
	require.GreaterOrEqual(t, m.Peak, m.Resident)
	require.Positive(t, m.Anonymous)
	child := exec.Command("sleep", "60")
	require.NoError(t, child.Start())
	peaks := MonitorMemory(map[string]int{"child": child.Process.Pid}).Stop()
	require.Positive(t, peaks["child"])
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
}
