package pointer_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/module/pointer"
)

func TestNilIfZero(t *testing.T) {
	t.Parallel()
	require.Nil(t, pointer.NilIfZero(""))
	require.Nil(t, pointer.NilIfZero(uuid.Nil))
	require.Equal(t, "a", *pointer.NilIfZero("a"))
}

func TestValueOrZero(t *testing.T) {
	t.Parallel()
	require.Empty(t, pointer.ValueOrZero[string](nil))
	require.Equal(t, 7, pointer.ValueOrZero(new(7)))
}
