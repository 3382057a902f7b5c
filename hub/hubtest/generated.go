package hubtest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sums is where a store's package keeps what its code was made of.
const sums = "dbgen/sums.txt"

// RequireGeneratedSQL requires that the SQL of the store in the working directory and the code
// sqlc made of it fit. Both are recorded by hash when sqlc runs (make generate, which
// asks for update), so that changed SQL with old code, or code changed by hand, is found
// without building sqlc.
func RequireGeneratedSQL(t *testing.T, update bool) {
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
	if update {
		require.NoError(t, os.WriteFile(sums, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(sums)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "the SQL and the code made of it do not fit: make generate")
}
