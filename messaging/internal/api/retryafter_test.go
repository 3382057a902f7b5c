package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/driver/drivertest"
	"integrationhub/messaging/internal/messagingtest"
)

// A bridge with too many calls is left alone for as long as it says: no shorter than after other
// failures, and an hour at most.
func TestRetryAfterOfBridge(t *testing.T) {
	t.Parallel()
	c := connectBridge(messagingtest.NewCompanyAt(t, time.Now()), drivertest.NewBridge(t))
	c.pair()
	require.Equal(t, 200, c.receive("in-1", "Hi"))
	ticket := messagingtest.TicketPath(c.Tickets("")[0])
	c.OK(200, "PUT", ticket, object{"status": "open"})
	var delays []time.Duration
	for _, header := range []string{"", "1", "120", "7200"} {
		c.bridge.SetRetryAfter(header)
		require.EqualValues(t, 0, c.OK(201, "POST", ticket+"/messages", object{"body": drivertest.BusyBody})["ack"])
		var due time.Time
		require.NoError(t, c.Hub.Host.Pool.QueryRow(t.Context(), `delete from messaging.outbox returning due_at`).Scan(&due))
		delays = append(delays, due.Sub(c.Hub.Clock.Now()).Round(time.Second))
	}
	require.Equal(t, []time.Duration{delays[0], delays[0], 2 * time.Minute, time.Hour}, delays)
	require.Less(t, delays[0], time.Minute)
}

// What a user writes hastens what waits in the chat because an attempt failed, but not what its network
// wants to be left alone with.
func TestUrgentMessageKeepsPauseOfNetwork(t *testing.T) {
	t.Parallel()
	c := connectBridge(messagingtest.NewCompanyAt(t, time.Now()), drivertest.NewBridge(t))
	c.pair()
	require.Equal(t, 200, c.receive("in-1", "Hi"))
	ticket := messagingtest.TicketPath(c.Tickets("")[0])
	c.OK(200, "PUT", ticket, object{"status": "open"})
	write := func(body string) any {
		return c.OK(201, "POST", ticket+"/messages", object{"body": body})["ack"]
	}
	wait := func() time.Duration {
		var due time.Time
		require.NoError(t, c.Hub.Host.Pool.QueryRow(t.Context(), `select due_at from messaging.outbox order by seq limit 1`).Scan(&due))
		return due.Sub(c.Hub.Clock.Now()).Round(time.Second)
	}
	c.bridge.SetRetryAfter("120")
	require.EqualValues(t, 0, write(drivertest.BusyBody))
	c.Advance(20 * time.Second)
	require.EqualValues(t, 0, write("Are you there?"))
	require.Equal(t, 100*time.Second, wait(), "the network asked for it")
	sends := c.countCalls("send")
	c.RunJob("outbox")
	require.Equal(t, sends, c.countCalls("send"))

	c.bridge.SetRetryAfter("")
	c.Advance(100 * time.Second)
	isTried := func() bool { c.RunJob("outbox"); return c.countCalls("send") > sends }
	require.Eventually(t, isTried, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool { return wait() > 0 }, time.Minute, 10*time.Millisecond, "the attempt failed")
	sends = c.countCalls("send")
	require.EqualValues(t, 0, write("Hello?"))
	require.Eventually(t, isTried, time.Minute, 10*time.Millisecond, "nobody asked for this pause")
}
