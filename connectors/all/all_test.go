package all_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/connectors/all"
)

// Every directory with a connector is on the list, under its own name.
func TestListIsComplete(t *testing.T) {
	t.Parallel()
	var listed, there []string
	for _, connector := range all.List() {
		listed = append(listed, connector.Spec().Name)
	}
	entries, err := os.ReadDir("..")
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != "all" && entry.Name() != "internal" {
			there = append(there, entry.Name())
		}
	}
	require.Equal(t, there, listed)
}
