package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSelect(t *testing.T) {
	t.Parallel()
	all, err := Select(nil)
	require.NoError(t, err)
	require.Len(t, all, len(All))
	floors, err := Select([]string{"floor-*", "gateway-idle"})
	require.NoError(t, err)
	require.Len(t, floors, 4)
	_, err = Select([]string{"nothing"})
	require.Error(t, err)
}
