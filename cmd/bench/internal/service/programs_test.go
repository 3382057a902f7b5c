package service

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The hub runs in a directory of its own, where a path from here would lead elsewhere.
func TestGivenHubIsFoundFromAnywhere(t *testing.T) {
	t.Parallel()
	p := Programs{HubBinary: "./bin/hub"}
	path, err := p.Hub(t.Context())
	require.NoError(t, err)
	here, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(here, "bin", "hub"), path)
}

// The version to compare with is that of its own checkout, the hub with a product as well.
func TestProgramsOfAnotherCheckout(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	for file, content := range map[string]string{
		"go.mod":                             "module integrationhub\n\ngo 1.24\n",
		"cmd/hub/main.go":                    "package main\n\nfunc main() { println(\"the hub of before\") }\n",
		"hub/hubtest/notes/hubnotes/main.go": "package main\n\nfunc main() { println(\"the notes of before\") }\n",
	} {
		path := filepath.Join(source, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	p := Programs{Source: source, Dir: t.TempDir()}
	hub, err := p.Hub(t.Context())
	require.NoError(t, err)
	notes, err := p.NotesHub(t.Context())
	require.NoError(t, err)
	for path, want := range map[string]string{hub: "the hub of before\n", notes: "the notes of before\n"} {
		printed, err := exec.CommandContext(t.Context(), path).CombinedOutput()
		require.NoError(t, err)
		require.Equal(t, want, string(printed))
	}

	elsewhere := Programs{Source: t.TempDir(), Dir: t.TempDir()}
	_, err = elsewhere.Hub(t.Context())
	require.ErrorContains(t, err, "building integrationhub/cmd/hub")
}
