package api_test

import (
	"context"
	"encoding/base64"
	"fmt"
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

// Contacts that an earlier version anonymized kept the ids of the network. A job puts hashes in their
// places, in several transactions and processes; then it has nothing to do.
func TestRemoteIDsOfEarlierVersions(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	c.pair()
	failing := c.AnotherCompany()
	require.Equal(t, 200, c.receive("in-1", "Hi"))
	contact := c.Tickets("")[0]["contact"].(object)
	c.OK(200, "POST", messagingtest.Path("/contacts", contact)+"/anonymize", nil)
	var hash string
	require.NoError(t, c.Hub.Host.Pool.QueryRow(t.Context(), `select remote_id from messages`).Scan(&hash))
	require.Equal(t, 200, c.receive("in-2", "I am new here"))
	const raw = `messaging.messages m join messaging.contacts c on c.id = m.contact_id where c.anonymized_at is not null and m.remote_id not like 'anonymized:%'`
	run := func() (errs []error) {
		ended := make(chan error, 3)
		for range cap(ended) {
			go func() { ended <- c.Hub.Job("anonymized-remote-ids").Run(t.Context(), nil) }()
		}
		for range cap(ended) {
			if err := <-ended; err != nil {
				errs = append(errs, err)
			}
		}
		return errs
	}
	require.Empty(t, run())

	c.Hub.Exec(`update messaging.messages set remote_id = 'in-1' where remote_id = '` + hash + `'`)
	c.Hub.Exec(fmt.Sprintf(`insert into messaging.contacts (company_id, name, number, number_key) select k, 'Anonymized', 5511900000000 + i, 'earlier ' || i from unnest(array[%d, %d]::bigint[]) k, generate_series(1, 120) i`, c.ID, failing.ID))
	c.Hub.Exec(`insert into messaging.messages (company_id, id, contact_id, connection_id, remote_id, body, from_me, origin, sent_at)
		select company_id, gen_random_uuid()::text, id, case when company_id = ` + fmt.Sprint(c.ID) + ` then ` + fmt.Sprint(c.id) + ` end, 'old ' || id || ' ' || i, '', false, 'contact', now()
		from messaging.contacts, generate_series(1, 11) i where name = 'Anonymized' and number_key like 'earlier %'`)
	c.Hub.Exec(`insert into messaging.messages (company_id, id, contact_id, connection_id, remote_id, body, from_me, origin, sent_at)
		select company_id, gen_random_uuid()::text, id, ` + fmt.Sprint(c.id) + `, null, '', true, 'agent', now() from messaging.contacts where number_key = 'earlier 7' and company_id = ` + fmt.Sprint(c.ID))
	c.Hub.Exec(`update messaging.contacts set anonymized_at = now(), number = '' where number_key like 'earlier %'`)
	c.Hub.Exec(`insert into messaging.remote_id_checks select company_id, id from messaging.contacts where anonymized_at is not null on conflict do nothing`)
	require.Equal(t, 1+2*120*11, c.Hub.Count(raw))
	c.Hub.Exec(`create function messaging.stay() returns trigger language plpgsql as 'begin raise exception ''this row stays''; end'`)
	c.Hub.Exec(fmt.Sprintf(`create trigger stay before update on messaging.messages for each row when (new.company_id = %d) execute function messaging.stay()`, failing.ID))
	errs := run()
	require.NotEmpty(t, errs)
	require.ErrorContains(t, errs[0], "this row stays")
	require.Equal(t, 120*11, c.Hub.Count(raw), "what fails for a company holds up nothing else")
	c.Hub.Exec(`drop trigger stay on messaging.messages`)
	require.Empty(t, run())
	require.Zero(t, c.Hub.Count(raw))
	require.Zero(t, c.Hub.Count(`messaging.remote_id_checks`))
	require.Equal(t, 1, c.Hub.Count(`messaging.messages where remote_id = $1`, hash))
	require.Equal(t, 1, c.Hub.Count(`messaging.messages where remote_id = 'in-2'`), "others keep theirs")
	before := c.Hub.Count(`messaging.messages`)
	require.Equal(t, 200, c.receive("in-1", "Hi"))
	require.Equal(t, before, c.Hub.Count(`messaging.messages`), "it is known")
	require.Empty(t, run(), "nothing is left")
}
