package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/driver/drivertest"
	"integrationhub/messaging/internal/messagingtest"
)

// receiveFile reports a message with a file.
func (c *bridgedCompany) receiveFile(remoteID, content string) {
	c.T.Helper()
	file := object{"type": "document", "mimeType": "application/pdf", "name": "a.pdf", "reference": c.bridge.AddFile(content)}
	require.Equal(c.T, 200, c.bridge.Report(c.T, c.id, "message", object{"remoteId": remoteID, "from": cloudContact, "at": time.Now(), "media": file}))
}

func (c *bridgedCompany) countFiles() int {
	return c.Hub.Count("messaging.messages where company_id = $1 and media_id is not null", c.ID)
}

// countCalls returns how often the bridge was called by a name.
func (c *bridgedCompany) countCalls(name string) (count int) {
	for _, call := range c.bridge.Calls() {
		if call == name {
			count++
		}
	}
	return count
}

// A bridge that hangs while it is asked for a file delays no file of another company's
// connection.
func TestHangingFileDelaysNoOther(t *testing.T) {
	t.Parallel()
	slow := newBridgedCompany(t)
	slow.pair()
	other := connectBridge(slow.AnotherCompany(), drivertest.NewBridge(t))
	other.pair()
	slow.bridge.SetHanging("media")
	slow.receiveFile("in-1", string(pdfFile))
	require.Eventually(t, func() bool { return slow.bridge.Hanging() == 1 }, time.Minute, 10*time.Millisecond)
	other.receiveFile("in-2", string(pdfFile))
	require.Eventually(t, func() bool { return other.countFiles() == 1 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, []int{1, 1}, []int{slow.bridge.Hanging(), slow.countCalls("media")}, "the first call still waits")
}

// While a connection is away its files are not asked for, and no attempt is counted. They are
// fetched within a minute of its return, and given up after a day.
func TestFilesOfConnectionThatIsAway(t *testing.T) {
	t.Parallel()
	c := connectBridge(messagingtest.NewCompanyAt(t, time.Now().Add(-3*time.Minute)), drivertest.NewBridge(t))
	c.pair()
	setStatus := func(status string) {
		require.Equal(t, 200, c.bridge.Report(t, c.id, "state", c.bridge.ChangeState(c.id, object{"status": status})))
	}
	setStatus("TIMEOUT")
	c.receiveFile("in-1", string(pdfFile))
	countRuns := func() int {
		return c.Hub.Count("hub.jobs where job like 'received-media%' and leased_to is null and tries = 0 and due_at > $1", c.Hub.Clock.Now().Add(50*time.Second))
	}
	require.Eventually(t, func() bool { return countRuns() == 1 }, time.Minute, 10*time.Millisecond)
	require.Zero(t, c.countCalls("media"))
	setStatus("CONNECTED")
	c.Hub.Clock.Advance(time.Minute)
	require.Eventually(t, func() bool { return c.countFiles() == 1 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, 1, c.countCalls("media"))
}
