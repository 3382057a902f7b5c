//go:build unix

package hubtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// endsKilled is the environment variable that makes TestEndsKilled do so.
const endsKilled = "HUBTEST_ENDS_KILLED"

// TestEndsKilled is the killed run of TestKilledRunsFilesAreRemoved: it writes the path of its
// directory and kills itself. Otherwise it passes.
func TestEndsKilled(t *testing.T) {
	t.Parallel()
	if os.Getenv(endsKilled) == "" {
		return
	}
	_, err := os.Stdout.WriteString(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGKILL))
}

// The directories of a killed run's tests are removed by the next run, and not by one beside
// which it lives: this test's own stays.
func TestKilledRunsFilesAreRemoved(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	run := func(test string) (output string, err error) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", test)
		cmd.Env = append(os.Environ(), "TMPDIR="+temp, endsKilled+"=1")
		raw, err := cmd.Output()
		return string(raw), err
	}
	dir, err := run("^TestEndsKilled$")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal())
	require.DirExists(t, dir, "it was killed")
	require.Contains(t, dir, temp)

	_, err = run("^$")
	require.NoError(t, err)
	require.NoDirExists(t, dir)
	left, err := filepath.Glob(filepath.Join(temp, "hub-test-*", "tmp-*"))
	require.NoError(t, err)
	require.Empty(t, left, "and a run that ends by itself removes its own")
	require.DirExists(t, temp)
}
