package scheduling_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/connectors/scheduling"
	"integrationhub/hub"
	"integrationhub/hub/hubtest/connectortest"
)

func suite(t testing.TB) connectortest.Case {
	t.Helper()
	return connectortest.PeerCase(scheduling.New(), connectortest.LoadEvents(t, "testdata/sent"))
}

func TestConformance(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, suite(t))
}

func FuzzDecode(f *testing.F) { connectortest.Fuzz(f, suite(f)) }

func TestDecodesWhatPeersSend(t *testing.T) {
	t.Parallel()
	connectortest.CheckDecode(t, suite(t), "testdata/received", nil)
}

func TestEncodesWhatPeersVerify(t *testing.T) {
	t.Parallel()
	connectortest.CheckPeerEncode(t, suite(t), "testdata/sent")
}

// Free times are none of the integration interface.
func TestAvailability(t *testing.T) {
	t.Parallel()
	var requestURI, key string
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requestURI, key = r.URL.RequestURI(), r.Header.Get("X-Integration-Key")
		_, _ = io.WriteString(w, `{"slots":[]}`)
	}))
	t.Cleanup(peer.Close)
	c := connectortest.NewConnection("scheduling")
	c.URL = peer.URL + "/api/v1/"
	answer, err := scheduling.New().Call(t.Context(), peer.Client(), c, hub.Call{Name: "search/availability", Query: url.Values{"date": {"2026-01-05"}}})
	require.NoError(t, err)
	require.JSONEq(t, `{"slots":[]}`, string(answer))
	require.Equal(t, "/api/v1/availability?date=2026-01-05", requestURI)
	require.Equal(t, connectortest.Key, key)
}
