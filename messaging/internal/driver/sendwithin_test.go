package driver_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/driver/cloud"
)

// A call has a limit of its own, whatever the caller's is. After it nobody knows whether the
// network has the message, and the network counts as one that does not answer.
func TestCallLimit(t *testing.T) {
	t.Parallel()
	began, answer := make(chan struct{}, 2), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		began <- struct{}{}
		select {
		case <-answer:
			_, _ = io.WriteString(w, `{"messages":[{"id":"wamid.1"}]}`)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	network, err := cloud.New(module.Host{HTTP: server.Client(), Now: time.Now}, nil, server.URL, "v23.0")
	require.NoError(t, err)
	connection := driver.Connection{Settings: []byte(`{"phoneNumberId":"1","accessToken":"x"}`)}
	_, err = driver.SendWithin(t.Context(), 50*time.Millisecond, network, connection, driver.Outgoing{To: "5511987654321", Body: "Hi"})
	require.ErrorIs(t, err, driver.ErrUnclear)
	require.ErrorIs(t, err, driver.ErrUnreachable)

	<-began
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
		close(answer)
	}()
	sent, err := driver.SendWithin(ctx, time.Minute, network, connection, driver.Outgoing{To: "5511987654321", Body: "Hi"})
	require.NoError(t, err)
	require.Equal(t, "wamid.1", sent.RemoteID)
}
