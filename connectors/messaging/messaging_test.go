package messaging_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/connectors/messaging"
	"integrationhub/hub"
	"integrationhub/hub/hubtest/connectortest"
)

func suite(t testing.TB) connectortest.Case {
	t.Helper()
	return connectortest.PeerCase(messaging.New(), connectortest.LoadEvents(t, "testdata/sent"))
}

func TestConformance(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, suite(t))
}

func FuzzDecode(f *testing.F) { connectortest.Fuzz(f, suite(f)) }

func TestDecodesWhatPeersSend(t *testing.T) {
	t.Parallel()
	connectortest.CheckDecode(t, suite(t), "testdata/received", map[string]string{
		"message.created":       "message.received",
		"ticket.updated-closed": "ticket.closed",
		"ticket.updated-open":   "",
	})
}

func TestEncodesWhatPeersVerify(t *testing.T) {
	t.Parallel()
	connectortest.CheckPeerEncode(t, suite(t), "testdata/sent")
}

// POST /api/messages/send of docs/interfaces/messaging.md, with either of its credentials.
func TestSendMessage(t *testing.T) {
	t.Parallel()
	var request, sent string
	var header http.Header
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request, sent, header = r.Method+" "+r.URL.RequestURI(), string(body), r.Header
		_, _ = io.WriteString(w, `{"id":"m-1"}`)
	}))
	t.Cleanup(peer.Close)
	send := func(token string) {
		c := connectortest.NewConnection("messaging")
		c.URL, c.Config = peer.URL+"/messaging/api/v1", map[string]string{"api_token": token}
		answer, err := messaging.New().Call(t.Context(), peer.Client(), c, hub.Call{
			Name: "action/send-message", Body: []byte(`{"number":"5511987654321","body":"Hello"}`),
		})
		require.NoError(t, err)
		require.JSONEq(t, `{"id":"m-1"}`, string(answer))
		require.Equal(t, "POST /messaging/api/messages/send", request)
		require.JSONEq(t, `{"number":"5511987654321","body":"Hello"}`, sent)
	}
	send("company-token")
	require.Equal(t, "Bearer company-token", header.Get("Authorization"))
	require.Empty(t, header.Get("apikey"))
	require.Empty(t, header.Get("X-Integration-Key"), "one credential is enough")
	send("")
	require.Empty(t, header.Get("Authorization"))
	require.Equal(t, connectortest.Key, header.Get("apikey"))
	require.Equal(t, connectortest.Key, header.Get("X-Integration-Key"))
}
