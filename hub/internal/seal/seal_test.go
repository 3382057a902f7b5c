package seal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/seal"
)

func TestSeal(t *testing.T) {
	t.Parallel()
	box, err := seal.New(bytes.Repeat([]byte{7}, 32))
	require.NoError(t, err)
	sealed := box.Seal([]byte("whsec_secret"), "endpoint/1")
	require.Equal(t, byte(1), sealed[0])
	require.NotContains(t, string(sealed), "whsec_secret")
	require.NotEqual(t, sealed, box.Seal([]byte("whsec_secret"), "endpoint/1"), "each seal has its own nonce")
	plain, err := box.Open(sealed, "endpoint/1")
	require.NoError(t, err)
	require.Equal(t, "whsec_secret", string(plain))

	_, err = box.Open(sealed, "endpoint/2")
	require.ErrorIs(t, err, seal.ErrOpen)
	other, err := seal.New(bytes.Repeat([]byte{8}, 32))
	require.NoError(t, err)
	_, err = other.Open(sealed, "endpoint/1")
	require.ErrorIs(t, err, seal.ErrOpen)
	for i := range sealed {
		broken := bytes.Clone(sealed)
		broken[i] ^= 1
		_, err := box.Open(broken, "endpoint/1")
		require.ErrorIs(t, err, seal.ErrOpen, "byte %d", i)
		_, err = box.Open(sealed[:i], "endpoint/1")
		require.ErrorIs(t, err, seal.ErrOpen, "cut at %d", i)
	}
	empty, err := box.Open(box.Seal(nil, ""), "")
	require.NoError(t, err)
	require.Empty(t, empty)
}

func TestDerive(t *testing.T) {
	t.Parallel()
	box, err := seal.New(bytes.Repeat([]byte{7}, 32))
	require.NoError(t, err)
	require.Len(t, box.Derive("jwt"), 32)
	require.Equal(t, box.Derive("jwt"), box.Derive("jwt"))
	require.NotEqual(t, box.Derive("jwt"), box.Derive("seal"))
	_, err = seal.New(make([]byte, 31))
	require.Error(t, err)
}

func TestKeyFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "master.key")
	key, created, err := seal.LoadOrCreateKeyFile(path)
	require.NoError(t, err)
	require.True(t, created)
	require.Len(t, key, 32)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	reloaded, created, err := seal.LoadOrCreateKeyFile(path)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, key, reloaded)

	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing is left beside the key")

	require.NoError(t, os.Chmod(path, 0o644))
	_, _, err = seal.LoadOrCreateKeyFile(path)
	require.ErrorContains(t, err, "chmod 600")
	require.NoError(t, os.WriteFile(path, []byte("not a key"), 0o600))
	require.NoError(t, os.Chmod(path, 0o600))
	_, _, err = seal.LoadOrCreateKeyFile(path)
	require.ErrorContains(t, err, "64 hex digits")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "not a key", string(raw), "never overwritten")
}

func TestKeyFileRace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.key")
	keys := make(chan string, 16)
	for range cap(keys) {
		go func() {
			key, _, err := seal.LoadOrCreateKeyFile(path)
			if err != nil {
				key = []byte(err.Error())
			}
			keys <- string(key)
		}()
	}
	first := <-keys
	require.Len(t, first, 32)
	for range cap(keys) - 1 {
		require.Equal(t, first, <-keys, "processes that start together share one key")
	}
}
