package scratch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/scratch"
)

// The directories of ended processes are removed; those of processes that run, and what does
// not have the prefix, stay.
func TestRemovesDirectoriesOfEndedProcesses(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	turn := filepath.Join(parent, "turn.lock")
	for _, name := range []string{"p-dead", "q-other"} {
		require.NoError(t, os.MkdirAll(filepath.Join(parent, name, "below"), 0o700))
	}
	first, err := scratch.Make(parent, "p-", turn)
	require.NoError(t, err)
	second, err := scratch.Make(parent, "p-", turn)
	require.NoError(t, err)
	require.NoDirExists(t, filepath.Join(parent, "p-dead"))
	for _, dir := range []string{first.Path, second.Path, filepath.Join(parent, "q-other", "below")} {
		require.DirExists(t, dir)
	}
	first.Remove()
	require.NoDirExists(t, first.Path)
	require.DirExists(t, second.Path)
	second.Remove()
}
