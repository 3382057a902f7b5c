package outbound_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/messagingtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

type object = moduletest.Object

var monday = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// count returns a number from the database of a company's hub.
func count(company *messagingtest.Company, sql string, args ...any) (n int) {
	company.T.Helper()
	require.NoError(company.T, company.Hub.Host.Pool.QueryRow(company.T.Context(), sql, args...).Scan(&n))
	return n
}

// conversation is an open ticket of a phone's owner.
type conversation struct {
	phone, ticket string
	expected      []string // texts that the phone has to receive, in this order
}

func newConversation(company *messagingtest.Company, connection messagingtest.Connection) *conversation {
	company.T.Helper()
	phone := company.AddPhone("Ana")
	company.SendFromPhone(phone, connection, "Hi")
	ticket := messagingtest.TicketPath(company.Tickets("")[0])
	company.OK(200, "PUT", ticket, object{"status": "open"})
	return &conversation{phone: phone, ticket: ticket}
}

// While the network is away for an hour messages of users and programs wait. When it is back
// each arrives once, in the order of its chat, and with the right ack. Other companies do not
// notice.
func TestNetworkAwayForAnHour(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, monday)
	connection := company.Connect()
	path := messagingtest.ConnectionPath(connection)
	other := company.AnotherCompany()
	neighbour := newConversation(other, other.Connect())
	chats := []*conversation{newConversation(company, connection), newConversation(company, connection), newConversation(company, connection)}
	program := company.As(company.APIToken())

	company.SetNetwork("offline")
	for minute := range 60 {
		company.Advance(time.Minute)
		company.RunJob("unreachable-connections")
		company.RunJob("outbox")
		chat, text := chats[minute%len(chats)], fmt.Sprintf("Message %d", minute)
		chat.expected = append(chat.expected, text)
		if minute%4 == 0 {
			sent := program.OK(200, "POST", "/api/messages/send", object{"number": chat.phone, "body": text}, "Idempotency-Key", text)
			require.Equal(t, []any{"queued", 0.0}, []any{sent["status"], sent["ack"]})
		} else {
			require.EqualValues(t, 0, company.OK(201, "POST", chat.ticket+"/messages", object{"body": text})["ack"])
		}
		if minute%20 == 0 {
			answer := other.LogIn(other.Email, messagingtest.Password).OK(201, "POST", neighbour.ticket+"/messages", object{"body": "At once"})
			require.EqualValues(t, 2, answer["ack"], "another company's messages arrive meanwhile")
		}
	}
	away := company.Get(path)
	require.Equal(t, []any{"TIMEOUT", "The phone is not connected to the internet."}, []any{away["status"], away["lastError"]})
	require.Equal(t, 60, count(company, `select count(*) from outbox where attempts = 0 and leased_until is null`), "nothing was tried in vain")

	company.SetNetwork("online")
	back := company.Get(path)
	require.Equal(t, []any{"CONNECTED", nil, 0.0}, []any{back["status"], back["lastError"], back["retries"]})
	company.FlushOutbox()
	for _, chat := range chats {
		require.Equal(t, chat.expected, company.Inbox(chat.phone))
	}
	require.Equal(t, 60, count(company, `select count(*) from messages where company_id = $1 and from_me and ack = 2`, company.ID))
	again := program.OK(200, "POST", "/api/messages/send", object{"number": chats[0].phone, "body": "Message 0"}, "Idempotency-Key", "Message 0")
	require.Equal(t, "queued", again["status"], "the first answer")
	require.Len(t, company.Inbox(chats[0].phone), 20)
}

// backlog writes a message to each of so many contacts, as a program did while the network
// was away.
func backlog(company *messagingtest.Company, connection messagingtest.Connection, contacts int) {
	company.T.Helper()
	for _, sql := range []string{
		`insert into contacts (company_id, name, number, number_key) select $1, 'Contact ' || n, (5511970000000 + n)::text, (5511970000000 + n)::text from generate_series(1, $3::int) n where $2::bigint > 0`,
		`insert into messages (company_id, id, contact_id, connection_id, body, from_me, is_read, media_type, origin, sent_at)
			select company_id, 'waiting-' || number, id, $2, 'Offer', true, true, 'text', 'campaign', now() from contacts where company_id = $1 and name like 'Contact %' and $3 > 0`,
		`insert into outbox (company_id, message_id, connection_id, contact_id, due_at, created_at)
			select company_id, id, connection_id, contact_id, $4, $4 from messages where company_id = $1 and connection_id = $2 and origin = 'campaign' and $3 > 0 order by id`,
	} {
		args := []any{company.ID, connection.ID, contacts}
		if sql[:18] == "insert into outbox" {
			args = append(args, company.Hub.Clock.Now())
		}
		_, err := company.Hub.Host.Pool.Exec(company.T.Context(), sql, args...)
		require.NoError(company.T, err)
	}
}

// When a connection comes back to 10,000 waiting messages, they are sent at most 50 a
// second. What users write meanwhile is sent at once, or as the next of a chat where something
// waits.
func TestBacklogLeavesRoomForPeople(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, monday)
	connection := company.Connect()
	live := newConversation(company, connection)
	company.SetNetwork("offline")
	backlog(company, connection, 10_000)
	last := "5511970009999" // one of the last in the queue
	company.OK(201, "POST", "/sandbox/phones", object{"number": last, "name": "Zoe"})
	contact := count(company, `select id from contacts where number = $1`, last)
	ticket := messagingtest.TicketPath(company.OK(201, "POST", "/tickets", object{"contactId": contact, "whatsappId": connection.ID}))
	online := time.Now()
	company.SetNetwork("online")

	company.OK(201, "POST", ticket+"/messages", object{"body": "Your question"})
	require.EqualValues(t, 2, company.OK(201, "POST", live.ticket+"/messages", object{"body": "At once"})["ack"])
	sent := func() int {
		return count(company, `select count(*) from sandbox_messages where sender = $1 and body = 'Offer'`, connection.Number)
	}
	require.Eventually(t, func() bool {
		company.RunJob("outbox")
		return len(company.Inbox(last)) == 2
	}, time.Minute, time.Millisecond)
	count, seconds := sent(), int(time.Since(online)/time.Second)
	require.LessOrEqual(t, count, 2*50*(seconds+2), "50 a second by the job, and by its runs here, in %d s", seconds)
	require.Equal(t, []string{"Offer", "Your question"}, company.Inbox(last))
	require.Less(t, count, 5000, "before most of the others")
}

// Programs' messages on a connection with an interval are sent that far from each other, also
// out of a backlog.
func TestBacklogKeepsInterval(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, monday)
	connection := company.Connect()
	company.OK(200, "PUT", messagingtest.ConnectionPath(connection), object{"sendIntervalMs": 5000})
	company.SetNetwork("offline")
	backlog(company, connection, 10)
	company.SetNetwork("online")
	sent := func() int { return count(company, `select count(*) from sandbox_messages`) }
	for expected := 1; expected <= 10; expected++ {
		require.Eventually(t, func() bool { company.RunJob("outbox"); return sent() == expected }, time.Minute, time.Millisecond)
		company.RunJob("outbox")
		require.Equal(t, expected, sent())
		company.Hub.Clock.Advance(5 * time.Second)
	}
}

// What waits for its next attempt in a chat is tried again at once when a person writes there, who
// would wait for it.
func TestPersonDoesNotWaitForRetry(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, monday)
	chat := newConversation(company, company.Connect())
	company.SetNetwork("offline")
	company.As(company.APIToken()).OK(200, "POST", "/api/messages/send", object{"number": chat.phone, "body": "Reminder"})
	_, err := company.Hub.Host.Pool.Exec(t.Context(), `update outbox set due_at = due_at + interval '1 hour', attempts = 8`)
	require.NoError(t, err)
	company.SetNetwork("online")
	require.Empty(t, company.Inbox(chat.phone))
	company.OK(201, "POST", chat.ticket+"/messages", object{"body": "Hello"})
	company.FlushOutbox()
	require.Equal(t, []string{"Reminder", "Hello"}, company.Inbox(chat.phone))
}
