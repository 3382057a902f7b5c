package connectortest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// Secret and Key are those of the connections that this package makes, and Now is
// their time: the test vector of docs/interfaces/clinic.md ("Signature").
const (
	Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	Key    = "peer_live_0123456789abcdefghijABCDEFGHIJ1Zz9xQ"
	now    = 1767323045
)

// NewConnection is a connection to a product.
func NewConnection(product string) hub.Connection {
	return hub.Connection{
		ID: uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"), Product: product, LocalProduct: "clinic", Environment: hub.Live,
		URL: "https://peer.example/api/v1", Key: Key, Secrets: []string{Secret}, Now: time.Unix(now, 0).UTC(),
	}
}

// PeerCase is the [Case] of a connector whose peer has the integration interface of
// docs/interfaces/clinic.md: its envelope, signature and status.
func PeerCase(connector hub.Connector, events []hub.Event) Case {
	return Case{
		Connector: connector, Connection: NewConnection(connector.Spec().Name), Events: events,
		Sign: SignHeader, SignatureHeader: hub.HeaderSignature,
		StatusPath: "/integrations/status",
		Status: func(product string, active bool) string {
			status := map[bool]string{true: "active", false: "inactive"}[active]
			raw, err := json.Marshal(map[string]any{
				"product": product, "version": "1.4.0", "clinic_id": "c-1", "clinic_name": "Clínica Um",
				"features": []string{"patient.search", "record.read"}, "status": status,
			})
			if err != nil {
				panic(err) // strings and maps always marshal
			}
			return string(raw)
		},
	}
}

// SignHeader returns the headers of a webhook by docs/interfaces/clinic.md ("Signature").
func SignHeader(c hub.Connection, body []byte) http.Header {
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set(hub.HeaderKey, c.Key)
	header.Set(hub.HeaderSignature, hub.SignBody(c.Secret(), body))
	return header
}

// LoadExamples reads the files of a directory, by name without ".json", without the
// newline at their end.
func LoadExamples(t testing.TB, directory string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no examples in %s", directory)
	examples := make(map[string][]byte, len(files))
	for _, name := range files {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		examples[strings.TrimSuffix(filepath.Base(name), ".json")] = bytes.TrimSuffix(raw, []byte("\n"))
	}
	return examples
}

// LoadEvents reads the envelopes of a directory.
func LoadEvents(t testing.TB, directory string) []hub.Event {
	t.Helper()
	var events []hub.Event
	for name, raw := range LoadExamples(t, directory) {
		e, err := hub.ParseEnvelope(raw)
		require.NoError(t, err, name)
		events = append(events, e)
	}
	return events
}

// CheckDecode decodes the envelopes of a directory as the peer sends them. Files are
// named by their event's type; translated says what type becomes of others, "" that
// nothing does. Every type the connector receives has to be among them.
func CheckDecode(t *testing.T, c Case, directory string, translated map[string]string) {
	t.Helper()
	missing := make(map[string]bool)
	for _, eventType := range c.Connector.Spec().Receives {
		missing[eventType] = true
	}
	for name, body := range LoadExamples(t, directory) {
		want, isTranslated := translated[name]
		if !isTranslated {
			want = name
		}
		events, err := c.Connector.Decode(c.Connection, c.signedInbound(body))
		require.NoError(t, err, name)
		if want == "" {
			require.Empty(t, events, name)
			continue
		}
		require.Len(t, events, 1, name)
		e, err := hub.ParseEnvelope(body)
		require.NoError(t, err, name)
		e.Type = want
		require.Equal(t, e, events[0], name)
		delete(missing, want)
	}
	require.Empty(t, missing, "there are no examples of some types")
}

// CheckEncode encodes the envelopes of a directory, which go out as they are.
func CheckEncode(t *testing.T, c Case, directory string) {
	t.Helper()
	for name, body := range LoadExamples(t, directory) {
		e, err := hub.ParseEnvelope(body)
		require.NoError(t, err, name)
		out, err := c.Connector.Encode(c.Connection, e)
		require.NoError(t, err, name)
		require.Equal(t, string(body), string(out.Body))
		require.Equal(t, "application/json", out.Header.Get("Content-Type"))
		require.Equal(t, hub.SignBody(Secret, body), out.Header.Get(hub.HeaderSignature))
		require.Equal(t, e.ID, out.Header.Get(hub.HeaderStdID))
		require.Equal(t, "1767323045", out.Header.Get(hub.HeaderStdTimestamp))
		require.Equal(t, hub.SignStandard(Secret, e.ID, now, body), out.Header.Get(hub.HeaderStdSignature))
	}
}

// CheckPeerEncode is [CheckEncode] for peers by docs/interfaces/clinic.md: it also checks the
// address and the key.
func CheckPeerEncode(t *testing.T, c Case, directory string) {
	t.Helper()
	CheckEncode(t, c, directory)
	out, err := c.Connector.Encode(c.Connection, c.Events[0])
	require.NoError(t, err)
	require.Equal(t, "https://peer.example/api/v1/integrations/webhook", out.URL)
	require.Equal(t, Key, out.Header.Get(hub.HeaderKey))
	other := c.Connection
	other.WebhookURL = "https://hooks.example/in"
	out, err = c.Connector.Encode(other, c.Events[0])
	require.NoError(t, err)
	require.Equal(t, "https://hooks.example/in", out.URL, "where the peer said it takes events")
}
