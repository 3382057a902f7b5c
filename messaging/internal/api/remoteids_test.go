package api_test

import (
	"context"
	"encoding/base64"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/driver/drivertest"
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

// A message that is on its way to the network while its contact is anonymized keeps no id of the
// network, and neither do its receipts, whenever they come. What the network reports of it is known.
func TestAnonymizingWhileSending(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	c.pair()
	require.Equal(t, 200, c.receive("in-1", "Hi"))
	ticket := c.Tickets("")[0]
	contact := messagingtest.Path("/contacts", ticket["contact"].(object))
	remoteID, statuses := "", []int{}
	c.bridge.SetHooks(drivertest.Hooks{BeforeAnswer: func(remote string) {
		remoteID = remote
		statuses = append(statuses, c.bridge.Report(t, c.id, "receipt", object{"remoteIds": []string{remote}, "ack": 2}), c.Call("POST", contact+"/anonymize", nil).Status)
	}})
	sent := c.OK(201, "POST", messagingtest.TicketPath(ticket)+"/messages", object{"body": "Hello"})
	require.Equal(t, []int{200, 200}, statuses)
	stored := func(condition string) int {
		return c.Hub.Count(`messaging.messages where id = $1 and `+condition, sent["id"])
	}
	raw := func() int {
		return c.Hub.Count(`messaging.messages m where m::text like $1`, "%"+remoteID+"%") + c.Hub.Count(`messaging.early_receipts r where r::text like $1`, "%"+remoteID+"%")
	}
	require.Zero(t, raw())
	require.Equal(t, 1, stored(`remote_id like 'anonymized:%' and ack = 2`))
	require.Equal(t, 200, c.bridge.Report(t, c.id, "receipt", object{"remoteIds": []string{remoteID}, "ack": 3}))
	require.Equal(t, 1, stored(`remote_id like 'anonymized:%' and ack = 3`))
	require.Equal(t, 200, c.bridge.Report(t, c.id, "message", object{"remoteId": remoteID, "from": cloudContact, "fromMe": true, "body": "Hello", "at": time.Now()}))
	require.Equal(t, 2, c.Hub.Count(`messaging.messages`), "the copy of the phone is known")
	require.Zero(t, raw())
	require.Equal(t, 200, c.bridge.Report(t, c.id, "receipt", object{"remoteIds": []string{"unknown-1"}, "ack": 3}))
	require.Zero(t, c.Hub.Count(`messaging.early_receipts where remote_id not like 'anonymized:%'`), "whose it is may never be known")
}

// A message that is written while its contact is being anonymized, and accepted by the network
// after that, keeps no id of the network either.
func TestWritingWhileAnonymizing(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	c.pair()
	require.Equal(t, 200, c.receive("in-1", "Hi"))
	ticket := c.Tickets("")[0]
	lock := func(sql string) (release func()) {
		t.Helper()
		tx, err := c.Hub.Host.Pool.Begin(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
		_, err = tx.Exec(t.Context(), sql)
		require.NoError(t, err)
		return func() { _ = tx.Rollback(t.Context()) }
	}
	waiting := func(n int, statement string) {
		t.Helper()
		require.Eventually(t, func() bool {
			return c.Hub.Count(`pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ilike $1`, "%"+statement+"%") == n
		}, time.Minute, 10*time.Millisecond, statement)
	}
	releaseTicket := lock(`select from messaging.tickets for update`)
	releaseMessage := lock(`select from messaging.messages for update`)
	statuses, accepted, goOn := make(chan int, 2), make(chan string, 1), make(chan struct{})
	c.bridge.SetHooks(drivertest.Hooks{BeforeAnswer: func(remote string) {
		accepted <- remote
		<-goOn
	}})
	go func() {
		statuses <- c.Call("POST", messagingtest.TicketPath(ticket)+"/messages", object{"body": "Hello"}).Status
	}()
	waiting(1, "LockTicket")
	go func() {
		statuses <- c.Call("POST", messagingtest.Path("/contacts", ticket["contact"].(object))+"/anonymize", nil).Status
	}()
	waiting(1, "EraseTicketsOfContact")
	releaseTicket() // the user is first
	remoteID := <-accepted
	waiting(1, "EraseMessagesOfContact")
	releaseMessage()
	require.Equal(t, 200, <-statuses)
	close(goOn)
	require.Equal(t, 201, <-statuses)
	require.Zero(t, c.Hub.Count(`messaging.messages where remote_id = $1`, remoteID))
	require.Equal(t, 1, c.Hub.Count(`messaging.messages where from_me and remote_id like 'anonymized:%' and ack = 1`))
}
