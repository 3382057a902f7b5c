package main_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file that is no master key, or that others can read, is a mistake of the configuration, and is
// said once.
func TestUnusableMasterKeyFile(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	env := also(serverEnv(c.dir, databaseURL(t), ""), "HUB_REDIS_URL", "", "HUB_MASTER_KEY", "")
	path := filepath.Join(c.dir, "data", "master.key")
	for wrong, file := range map[string]struct {
		content string
		mode    os.FileMode
	}{
		path + " does not hold 64 hex digits":      {"garbage\n", 0o600},
		path + " can be read by others (mode 640)": {hex.EncodeToString(make([]byte, 32)), 0o640},
	} {
		c.writeFile("data/master.key", file.content)
		require.NoError(t, os.Chmod(path, file.mode))
		refused := c.among(env).run("serve")
		refused.requireFails(3, wrong)
		require.Equal(t, 1, strings.Count(refused.stderr, "reading the master key"), refused.stderr)
	}
}

// A master key that was lost is noticed at the start, also where nothing but a product's data is
// encrypted with it. The hub makes no other one in its place.
func TestMasterKeyOfAProduct(t *testing.T) {
	t.Parallel()
	database := databaseURL(t)
	c := newCLI(t)
	env := also(serverEnv(c.dir, database, ""), "HUB_REDIS_URL", "", "HUB_MASTER_KEY", "")
	s := c.serve(env)
	kept := filepath.Join(s.dataDir, "master.key")
	require.Contains(t, s.Output(), "made a master key")
	require.Zero(t, s.terminate(t))
	key, err := os.ReadFile(kept)
	require.NoError(t, err)

	require.NoError(t, os.Remove(kept))
	s = c.serve(env)
	require.Contains(t, s.Output(), "made a master key", "nothing is encrypted yet")
	s.signUp(t, "/clinic", `{"clinic_name":"Clínica Sol","name":"Bia","email":"bia@example.com","password":"correct horse"}`).
		do(201, "POST", "/patients", `{"name":"Ana Souza","phone":"+5511987654321","cpf":"529.982.247-25"}`)
	require.Zero(t, s.terminate(t))
	newer, err := os.ReadFile(kept)
	require.NoError(t, err)
	require.NotEqual(t, key, newer)

	require.NoError(t, os.Remove(kept))
	c.among(env).run("serve").requireFails(3, "is not the key that the secrets in this database were encrypted with; there is no "+kept)
	require.NoFileExists(t, kept)
	require.NoError(t, os.WriteFile(kept, []byte(hex.EncodeToString(make([]byte, 32))), 0o600))
	c.among(env).run("serve").requireFails(3, "is not the key that the secrets in this database were encrypted with")
	require.FileExists(t, kept)
	require.NoError(t, os.WriteFile(kept, newer, 0o600))
	c.serve(env)
}
