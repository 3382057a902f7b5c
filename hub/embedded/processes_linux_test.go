package embedded_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/embedded"
)

// Where the working directory of a process may not be read, its arguments say which data it has:
// any other PostgreSQL of the machine may have the process id by now.
func TestArgumentsNameTheData(t *testing.T) {
	t.Parallel()
	cfg := config(t, filepath.Join(t.TempDir(), "pg"))
	p := start(t, cfg)
	require.True(t, embedded.IsStartedOn(p.Pid(), filepath.Join(cfg.Dir, "cluster")))
	require.True(t, embedded.IsStartedOn(p.Pid(), filepath.Join(cfg.Dir, "..", "pg", "cluster")+"/."))
	require.False(t, embedded.IsStartedOn(p.Pid(), t.TempDir()))
	require.False(t, embedded.IsStartedOn(1, filepath.Join(cfg.Dir, "cluster")))
}
