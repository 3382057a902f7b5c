package webhook_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/connectors/webhook"
	"integrationhub/hub"
	"integrationhub/hub/hubtest/connectortest"
)

func suite(t testing.TB) connectortest.Case {
	t.Helper()
	return connectortest.Case{
		Connector: webhook.New(), Connection: connectortest.NewConnection("webhook"), Events: connectortest.LoadEvents(t, "testdata/sent"),
		Sign: connectortest.SignHeader, SignatureHeader: hub.HeaderSignature,
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, suite(t))
}

func FuzzDecode(f *testing.F) { connectortest.Fuzz(f, suite(f)) }

func TestEncodesTheExamples(t *testing.T) {
	t.Parallel()
	connectortest.CheckEncode(t, suite(t), "testdata/sent")
}

// The vector that every implementation can be checked with.
func TestVector(t *testing.T) {
	t.Parallel()
	c := connectortest.NewConnection("webhook")
	c.URL = "https://example.com/hooks?tenant=7"
	e, err := hub.ParseEnvelope(connectortest.LoadExamples(t, "testdata/sent")["patient.created-vector"])
	require.NoError(t, err)
	out, err := webhook.New().Encode(c, e)
	require.NoError(t, err)
	require.Equal(t, c.URL, out.URL)
	require.Equal(t, "sha256=ecdddc7b5363587dc6ba21d1809cec7f99e84a1783123d46208b1cf98a774dee", out.Header.Get("X-Webhook-Signature"))
	require.Equal(t, "v1,0QTXu38W3CSVTai1IV0OElizYSBDflh4cbsEXbZFsdg=", out.Header.Get("webhook-signature"))
	require.Equal(t, "evt_0123456789abcdef", out.Header.Get("webhook-id"))
	require.Equal(t, "1767323045", out.Header.Get("webhook-timestamp"))
	require.Empty(t, out.Header.Get("X-Integration-Key"), "keys are for integrations")

	c.Secrets = append([]string{"whsec_bmV3"}, c.Secrets...)
	out, err = webhook.New().Encode(c, e)
	require.NoError(t, err)
	require.Equal(t, hub.SignStandard("whsec_bmV3", e.ID, 1767323045, out.Body)+" v1,0QTXu38W3CSVTai1IV0OElizYSBDflh4cbsEXbZFsdg=",
		out.Header.Get("webhook-signature"), "both, during a rotation")
	require.Equal(t, hub.SignBody("whsec_bmV3", out.Body), out.Header.Get("X-Webhook-Signature"))
}
