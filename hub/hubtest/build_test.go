//go:build unix

package hubtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// A program is built anew when it has changed and only then, and what a test was given stays
// as it is.
func TestBuiltProgramsAreShared(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "main.go")
	name := filepath.Base(filepath.Dir(filepath.Dir(source))) // this run's
	kept := filepath.Join(hubtest.ModuleRoot(), ".cache", "test", name)
	t.Cleanup(func() {
		require.NoError(t, os.Remove(kept))
		require.NoError(t, os.Remove(kept+".lock"))
	})
	build := func(output string) string {
		t.Helper()
		require.NoError(t, os.WriteFile(source, []byte("package main\n\nfunc main() { print(\""+output+"\") }\n"), 0o600))
		path, err := hubtest.BuildProgram(name, source)
		require.NoError(t, err)
		return path
	}
	requireOutput := func(want, program string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), program).CombinedOutput()
		require.NoError(t, err)
		require.Equal(t, want, string(out))
	}
	first := build("first")
	linked, err := os.Stat(kept)
	require.NoError(t, err)
	same := build("first")
	still, err := os.Stat(kept)
	require.NoError(t, err)
	require.True(t, os.SameFile(linked, still), "what has not changed is not linked again")
	second := build("second")
	requireOutput("first", first)
	requireOutput("first", same)
	requireOutput("second", second)

	_, err = hubtest.BuildProgram(name, filepath.Join(t.TempDir(), "absent.go"))
	require.ErrorContains(t, err, "absent.go")
}
