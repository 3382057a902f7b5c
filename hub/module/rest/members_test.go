package rest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module/rest"
)

// decode returns a member of a body as it was sent.
func decode[T any](t *testing.T, sent string) (member T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(sent), &member))
	return member
}

func TestOptional(t *testing.T) {
	t.Parallel()
	var absent rest.Optional[int]
	set, null := decode[rest.Optional[int]](t, `5`), decode[rest.Optional[int]](t, `null`)
	require.Equal(t, [3]bool{true, false, false}, [3]bool{set.HasValue(), null.HasValue(), absent.HasValue()})
	require.Equal(t, 5, *set.Pointer())
	require.Nil(t, absent.Pointer())
	target := 7
	absent.ApplyTo(&target)
	null.ApplyTo(&target)
	require.Equal(t, 7, target)
	set.ApplyTo(&target)
	require.Equal(t, 5, target)
	for i, want := range []string{"5", "null", "null"} {
		raw, err := json.Marshal([]rest.Optional[int]{set, null, absent}[i])
		require.NoError(t, err)
		require.Equal(t, want, string(raw))
	}
}

func TestNullable(t *testing.T) {
	t.Parallel()
	var absent rest.Nullable[int]
	set, null := decode[rest.Nullable[int]](t, `5`), decode[rest.Nullable[int]](t, `null`)
	require.Equal(t, [3]bool{true, false, false}, [3]bool{set.HasValue(), null.HasValue(), absent.HasValue()})
	number, zero := 7, 7
	target := &number
	absent.ApplyTo(&target)
	absent.ApplyOrZero(&zero)
	require.Equal(t, [2]int{7, 7}, [2]int{*target, zero})
	set.ApplyTo(&target)
	set.ApplyOrZero(&zero)
	require.Equal(t, [2]int{5, 5}, [2]int{*target, zero})
	null.ApplyTo(&target)
	null.ApplyOrZero(&zero)
	require.Nil(t, target)
	require.Zero(t, zero)
	for i, want := range []string{"5", "null", "null"} {
		raw, err := json.Marshal([]rest.Nullable[int]{set, null, absent}[i])
		require.NoError(t, err)
		require.Equal(t, want, string(raw))
	}
	merged := set
	absent.MergeInto(&merged)
	require.Equal(t, 5, merged.Value)
	null.MergeInto(&merged)
	require.False(t, merged.Set)
	set.MergeInto(&merged)
	require.True(t, merged.HasValue())
}
