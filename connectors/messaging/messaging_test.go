package messaging_test

import (
	"testing"

	"integrationhub/connectors/messaging"
	"integrationhub/hub/hubtest/connectortest"
)

func suite(t testing.TB) connectortest.Case {
	t.Helper()
	return connectortest.Interface(messaging.New(), connectortest.Events(t, "testdata/sent"))
}

func TestConformance(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, suite(t))
}

func FuzzDecode(f *testing.F) { connectortest.Fuzz(f, suite(f)) }

func TestReceived(t *testing.T) {
	t.Parallel()
	connectortest.Received(t, suite(t), "testdata/received", map[string]string{
		"message.created":       "message.received",
		"ticket.updated-closed": "ticket.closed",
		"ticket.updated-open":   "",
	})
}

func TestSent(t *testing.T) {
	t.Parallel()
	connectortest.SentToInterface(t, suite(t), "testdata/sent")
}
