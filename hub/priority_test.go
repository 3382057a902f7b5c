package hub_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

func TestPriorities(t *testing.T) {
	t.Parallel()
	names := map[hub.Priority]string{hub.PriorityHigh: "high", hub.PriorityNormal: "normal", hub.PriorityBulk: "bulk"}
	for priority, name := range names {
		require.True(t, priority.Valid())
		require.Equal(t, name, priority.String())
	}
	require.Less(t, hub.PriorityHigh, hub.PriorityNormal)
	require.Less(t, hub.PriorityNormal, hub.PriorityBulk)
	require.Zero(t, hub.PriorityNormal, "what says nothing is normal")
	require.False(t, hub.Priority(-2).Valid())
	require.False(t, hub.Priority(2).Valid())
}
