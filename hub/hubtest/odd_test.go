package hubtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// With names, the odd values are in members of these, at any depth, and nowhere else.
func TestOddBodies(t *testing.T) {
	t.Parallel()
	valid := map[string]any{"a": "1", "list": []any{map[string]any{"b": map[string]any{"c": "2"}, "d": "3"}}}
	all, err := OddBodies(valid)
	require.NoError(t, err)
	require.Len(t, all, 3*len(oddValues())+4*len(oddInsteadOfContainer()), "of a, c and d; of the body, list, its item and b")
	inB, err := OddBodies(valid, "b", "missing")
	require.NoError(t, err)
	require.Len(t, inB, len(oddValues())+len(oddInsteadOfContainer()), "of c; of b")
	for _, body := range inB {
		require.True(t, strings.HasPrefix(body, `{"a":"1","list":[{"b":`) && strings.HasSuffix(body, `,"d":"3"}]}`), "%.60s", body)
	}
}
