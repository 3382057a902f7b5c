package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// Who reads messages does not wait for the network, which learns of it afterwards.
func TestReadingDoesNotWaitForTheNetwork(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	c.pair()
	c.bridge.SetHanging("read")
	require.Equal(t, 200, c.receive("in-1", "Hi"))
	path := messagingtest.TicketPath(c.Tickets("")[0])
	require.Len(t, c.Get(path + "/messages")["messages"], 1)
	require.Zero(t, c.Get(path)["unreadMessages"])
	require.Eventually(t, func() bool { return c.bridge.Hanging() == 1 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, 1, c.countCalls("read"))
}
