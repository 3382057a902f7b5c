package connect_test

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/connect"
)

// A host that swallows packets is a failed connection, which a caller may repeat, and no call whose
// outcome is unknown.
func TestDialEndsBeforeTheCall(t *testing.T) {
	t.Parallel()
	silent := func(ctx context.Context, network, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Net: network, Err: context.Cause(ctx)}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://192.0.2.1/action/send-message", http.NoBody)
	require.NoError(t, err)
	_, err = hub.Exchange(connect.NewDoer(silent, "test"), request)
	require.ErrorIs(t, err, hub.ErrPeerTimeout)
	var dialling *net.OpError
	require.ErrorAs(t, err, &dialling)
	require.Equal(t, "dial", dialling.Op)
}
