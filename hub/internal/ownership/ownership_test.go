//go:build unix

package ownership_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
	"integrationhub/hub/internal/files"
	"integrationhub/hub/internal/ownership"
	"integrationhub/hub/internal/seal"
	"integrationhub/hub/module"
)

// What root writes into another user's data directory belongs to that user; elsewhere it stays root's.
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
		store, err := files.Open(t.Context(), "file://"+filepath.Join(dir, "missing", "files"), "")
		require.NoError(t, err)
		_, err = store.For("shop").Put(t.Context(), module.Picture{Type: "image/png", Content: []byte("x")})
		require.NoError(t, err)
		require.NoError(t, store.BlobsFor("shop").Put(t.Context(), uuid.New(), strings.NewReader("x")))
		require.NoError(t, store.Close())
		var regular int
		require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			require.NoError(t, err)
			uid, _, ok := ownership.Of(path)
			require.True(t, ok)
			require.Equal(t, want, uid, path)
			if entry.Type().IsRegular() {
				regular++
			}
			return nil
		}))
		require.Equal(t, 4, regular, "key, token, picture, private file")
	}
	_, _, ok := ownership.Of(filepath.Join(own, "nothing"))
	require.False(t, ok)
	file := filepath.Join(own, "master.key")
	for _, path := range []string{file, filepath.Join(file, "below")} {
		require.Error(t, ownership.MkdirAll(path, 0o700), "a file is no directory")
	}
	require.NoError(t, ownership.MkdirAll(own, 0o700))
}
