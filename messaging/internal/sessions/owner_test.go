//go:build unix

package sessions_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/messagingtest"
)

// takeoverTime is in what time another process owns a connection after its owner died, as
// docs/messaging.md says.
const takeoverTime = 12 * time.Second

// ownerOf returns the process that owns a connection now, or nil.
func ownerOf(connection int64, processes ...*moduletest.HubProcess) *moduletest.HubProcess {
	var holder string
	err := processes[0].DB.QueryRow(processes[0].T.Context(), `select holder from messaging.connection_leases where connection_id = $1 and leased_until > clock_timestamp()`, connection).Scan(&holder)
	for _, process := range processes {
		if err == nil && strings.HasPrefix(holder, fmt.Sprintf("%d-", process.Pid())) {
			return process
		}
	}
	return nil
}

// Of two processes one owns a connection and sends what waits. When it is killed, the other
// goes on: every message arrives once, in the order of its chat.
func TestOwnerIsKilled(t *testing.T) {
	t.Parallel()
	const chats, each, live = 50, 3, 10
	first := moduletest.StartHubProcess(t)
	second := first.Another()
	company := messagingtest.SignUp(t, first.Product("messaging"))
	elsewhere := messagingtest.CompanyAt(t, second.Product("messaging"), company.Token)
	line := company.Connect()
	network := func(action string) {
		company.OK(200, "POST", fmt.Sprintf("/sandbox/connections/%d/%s", line.ID, action), nil)
	}
	network("offline")
	first.Exec(`insert into messaging.contacts (company_id, name, number, number_key) select $1, 'Contact ' || n, (5511970000000 + n)::text, (5511970000000 + n)::text from generate_series(1, $2) n`, company.ID, chats)
	first.Exec(`insert into messaging.tickets (company_id, uuid, status, contact_id, connection_id) select company_id, gen_random_uuid(), 'open', id, $1 from messaging.contacts`, line.ID)
	first.Exec(`with written as (
			insert into messaging.messages (company_id, id, ticket_id, contact_id, connection_id, body, from_me, origin, sent_at)
			select t.company_id, gen_random_uuid()::text, t.id, t.contact_id, t.connection_id, n::text, true, 'agent', now() from messaging.tickets t, generate_series(1, $1) n
			returning company_id, id, connection_id, contact_id, body)
		insert into messaging.outbox (company_id, message_id, connection_id, contact_id, due_at) select company_id, id, connection_id, contact_id, now() from written order by body`, each)
	network("online")

	arrived := func() (n int) {
		require.NoError(t, first.DB.QueryRow(t.Context(), `select count(*) from messaging.sandbox_messages`).Scan(&n))
		return n
	}
	var owner *moduletest.HubProcess
	require.Eventually(t, func() bool {
		owner = ownerOf(line.ID, first, second)
		return owner != nil && arrived() > chats/2
	}, time.Minute, 5*time.Millisecond)
	other, survivor := second, elsewhere
	if owner == second {
		other, survivor = first, company
	}
	owner.Kill()
	killed := time.Now()
	require.Less(t, arrived(), chats*each, "it was killed in the middle")
	var writing sync.WaitGroup
	for i := range live { // messages go on being written meanwhile
		ticket := survivor.Get(fmt.Sprintf("/tickets?searchParam=%d", 5511970000001+i))["tickets"].([]any)[0].(object)
		writing.Go(func() {
			survivor.OK(201, "POST", messagingtest.TicketPath(ticket)+"/messages", object{"body": "4"})
		})
	}
	require.Eventually(t, func() bool { return ownerOf(line.ID, first, second) == other }, takeoverTime, 20*time.Millisecond, "the other process takes over")
	t.Logf("taken over %s after the owner was killed", time.Since(killed).Round(time.Millisecond))
	writing.Wait()
	require.Eventually(t, func() bool { return arrived() >= chats*each+live }, time.Minute, 20*time.Millisecond)
	t.Logf("everything had arrived %s after that", time.Since(killed).Round(time.Millisecond))
	require.Equal(t, chats*each+live, arrived(), "each once")
	for sql, text := range map[string]string{
		`select count(*) from (select string_agg(body, '' order by seq) as texts from messaging.sandbox_messages group by recipient) c where texts not in ('123', '1234')`: "chats out of order",
		`select count(*) from messaging.outbox`:                                                                     "left to send",
		`select count(*) from messaging.messages where from_me and ack < 1`:                                         "messages without an ack",
		fmt.Sprintf(`select abs(count(*) - %d) from hub.events where event_type = 'message.sent'`, chats*each+live): "events missing or too many",
	} {
		require.Eventually(t, func() bool {
			var n int
			require.NoError(t, first.DB.QueryRow(t.Context(), sql).Scan(&n))
			return n == 0
		}, time.Minute, 20*time.Millisecond, text)
	}
}
