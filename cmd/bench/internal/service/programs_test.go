package service

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The hub runs in a directory of its own, where a path from here would lead elsewhere.
func TestGivenHubIsFoundFromAnywhere(t *testing.T) {
	t.Parallel()
	p := NewPrograms("", "./bin/hub", "")
	path, err := p.Hub(t.Context())
	require.NoError(t, err)
	here, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(here, "bin", "hub"), path)
}
