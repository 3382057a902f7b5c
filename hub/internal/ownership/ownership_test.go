//go:build unix

package ownership_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
	"integrationhub/hub/internal/ownership"
	"integrationhub/hub/internal/seal"
)

// What root writes into somebody's data directory is theirs; elsewhere it stays root's.
func TestFilesOfRootKeepTheDirectorysOwner(t *testing.T) {
	t.Parallel()
	const nobody = 65534
	theirs, own := t.TempDir(), t.TempDir()
	want := uint32(os.Geteuid())
	if want == 0 {
		require.NoError(t, os.Chown(theirs, nobody, nobody))
		want = nobody
	}
	for _, dir := range []string{theirs, own} {
		if dir == own {
			want = uint32(os.Geteuid())
		}
		_, created, err := seal.LoadOrCreateKeyFile(filepath.Join(dir, "master.key"))
		require.NoError(t, err)
		require.True(t, created)
		require.NoError(t, config.WriteLocal(dir, config.Local{PID: os.Getpid()}))
		for _, name := range []string{"master.key", "local.json"} {
			uid, _, ok := ownership.Of(filepath.Join(dir, name))
			require.True(t, ok)
			require.Equal(t, want, uid, name)
		}
	}
	_, _, ok := ownership.Of(filepath.Join(own, "nothing"))
	require.False(t, ok)
}
