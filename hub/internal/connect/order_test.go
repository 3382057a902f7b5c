package connect_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/integration"
)

// Integrations keep order from the beginning, whichever side connected. An administrator's
// choice stays when the peer registers again.
func TestIntegrationsAreOrdered(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	ctx := t.Context()
	who := b.issuePrincipal(hub.Live)
	accepted, err := b.Accept(ctx, who, registration(p, someSecret))
	require.NoError(t, err)
	require.True(t, b.get(accepted.IntegrationID).Ordered, "the peer connected")
	require.True(t, b.connected(p).Ordered)

	for _, change := range []struct{ ordered, changes bool }{{true, false}, {false, true}, {false, false}} {
		view, changed, err := b.SetOrdered(ctx, accepted.IntegrationID, change.ordered)
		require.NoError(t, err)
		require.Equal(t, change.changes, changed)
		require.Equal(t, change.ordered, view.Ordered)
	}
	require.False(t, b.connected(p).Ordered, "connected again")
	_, err = b.Accept(ctx, who, registration(p, someSecret))
	require.NoError(t, err)
	require.False(t, b.get(accepted.IntegrationID).Ordered)

	_, _, err = b.SetOrdered(ctx, uuid.New(), true)
	refused(t, hub.ErrNotFound, "not_found", err)
	_, err = b.Revoke(ctx, accepted.IntegrationID, integration.Filter{})
	require.NoError(t, err)
	_, _, err = b.SetOrdered(ctx, accepted.IntegrationID, true)
	refused(t, hub.ErrConflict, "integration_revoked", err)
}
