package api_test

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// Ids of the Cloud API have the contact's number in them: anonymizing removes them, and a message
// that is reported again is known nevertheless, alone or in a batch.
func TestAnonymizingErasesRemoteIDs(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	c.pair()
	id := "wamid." + base64.StdEncoding.EncodeToString([]byte(cloudContact+" 3EB0A1"))
	require.Equal(t, 200, c.receive(id, "Hi"))
	ticket := c.Tickets("")[0]
	require.Equal(t, 1, c.Hub.Count(`messaging.messages where remote_id = $1`, id))
	c.OK(200, "POST", messagingtest.Path("/contacts", ticket["contact"].(object))+"/anonymize", nil)
	require.Zero(t, c.Hub.Count(`messaging.messages where remote_id like 'wamid.%'`))

	require.Equal(t, 200, c.bridge.Report(t, c.id, "receipt", object{"remoteIds": []string{id}, "ack": 3}))
	require.Equal(t, 200, c.receive(id, "Hi"))
	require.Equal(t, 1, c.Hub.Count(`messaging.messages where contact_id is not null`))
	require.Equal(t, 200, c.receive(id+"2", "Again")) // a live ticket: what follows is stored in batches
	require.Equal(t, 200, c.bridge.Report(t, c.id, "message", object{"remoteId": id, "from": cloudContact, "name": "Ana", "body": "Hi", "at": time.Now()}))
	require.Equal(t, 2, c.Hub.Count(`messaging.messages where contact_id is not null`))
}
