package store_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write dbgen/sums.txt anew, after sqlc has run")

const sums = "dbgen/sums.txt"

// What sqlc reads and writes is recorded by hash when it runs (make generate), so
// that changed SQL with old code, or code changed by hand, is found without
// building sqlc.
func TestGeneratedFiles(t *testing.T) {
	t.Parallel()
	got := hashes(t)
	if *update {
		require.NoError(t, os.WriteFile(sums, []byte(got), 0o644))
	}
	want, err := os.ReadFile(sums)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "the SQL and the code made of it do not fit: make generate")
}

func hashes(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, pattern := range []string{"sqlc.yaml", "schema.sql", "queries/*.sql", "../../migrations/*.sql", "dbgen/*.go"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(content), filepath.ToSlash(path))
		}
	}
	return b.String()
}
