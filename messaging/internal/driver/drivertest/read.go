package drivertest

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// readAll returns the content of a file and closes it.
func readAll(t *testing.T, file io.ReadCloser) string {
	t.Helper()
	content, err := io.ReadAll(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	return string(content)
}
