package clinic_test

import (
	"testing"

	"integrationhub/connectors/clinic"
	"integrationhub/hub/hubtest/connectortest"
)

func suite(t testing.TB) connectortest.Case {
	t.Helper()
	return connectortest.PeerCase(clinic.New(), connectortest.LoadEvents(t, "testdata/sent"))
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
