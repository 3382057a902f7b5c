package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/driver/drivertest"
	"integrationhub/messaging/internal/messagingtest"
)

// A bridge that hangs while a ticket is closed by the clock delays no other company's message.
func TestHangingBridgeDelaysNoOtherClosing(t *testing.T) {
	t.Parallel()
	slow := connectBridge(messagingtest.NewCompanyAt(t, time.Now().Add(-3*time.Minute)), drivertest.NewBridge(t))
	other := connectBridge(slow.AnotherCompany(), drivertest.NewBridge(t))
	for _, c := range []*bridgedCompany{slow, other} {
		c.pair()
		c.OK(200, "PUT", c.path, object{"expiresTicket": 1, "expiresInactiveMessage": "Closed for now"})
		require.Equal(t, 200, c.receive("in-1", "Hi"))
		ticket := messagingtest.TicketPath(c.Tickets("")[0])
		c.OK(200, "PUT", ticket, object{"status": "open"})
		c.OK(201, "POST", ticket+"/messages", object{"body": "Which color?"})
		c.Hub.Clock.Advance(time.Second)
	}
	slow.bridge.SetHanging("send")
	slow.Hub.Clock.Advance(2 * time.Minute)
	slow.RunJob("waiting-tickets")
	require.Eventually(t, func() bool { return slow.bridge.Hanging() == 1 && len(other.bridge.Accepted()) == 2 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, "closed", other.Tickets("status=closed")[0]["status"])
}
