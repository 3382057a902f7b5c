package clinic_test

import (
	"testing"

	"integrationhub/connectors/clinic"
	"integrationhub/hub/hubtest/connectortest"
)

func suite(t testing.TB) connectortest.Case {
	t.Helper()
	return connectortest.Interface(clinic.New(), connectortest.Events(t, "testdata/sent"))
}

func TestConformance(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, suite(t))
}

func FuzzDecode(f *testing.F) { connectortest.Fuzz(f, suite(f)) }

func TestReceived(t *testing.T) {
	t.Parallel()
	connectortest.Received(t, suite(t), "testdata/received", nil)
}

func TestSent(t *testing.T) {
	t.Parallel()
	connectortest.SentToInterface(t, suite(t), "testdata/sent")
}
