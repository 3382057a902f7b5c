package outbound_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// line is a connection with an interval of 5 s, and a phone.
type line struct {
	*messagingtest.Company
	connection messagingtest.Connection
	program    *messagingtest.Company
	ana        string
}

func newLine(t *testing.T) *line {
	t.Helper()
	l := &line{Company: messagingtest.NewCompanyAt(t, monday)}
	l.connection, l.ana = l.Connect(), l.AddPhone("Ana")
	l.OK(200, "PUT", messagingtest.ConnectionPath(l.connection), object{"sendIntervalMs": 5000})
	l.program = l.As(l.APIToken())
	return l
}

// send sends by the API and returns the status of the answer.
func (l *line) send(number, body string) any {
	l.T.Helper()
	return l.program.OK(200, "POST", "/api/messages/send", object{"number": number, "body": body})["status"]
}

// after advances the clock and runs the jobs that send.
func (l *line) after(d time.Duration) {
	l.T.Helper()
	l.Advance(d)
	for _, job := range []string{"schedules", "campaigns", "outbox"} {
		l.RunJob(job)
	}
}

// The interval lies between whatever programs send on a connection: by API, schedule and
// campaign. Users and automatic messages are not held.
func TestInterval(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	bia := l.AddPhone("Bia")
	contact := messagingtest.ID(l.OK(201, "POST", "/contacts", object{"name": "Bia", "number": bia}))
	require.Equal(t, "sent", l.send(l.ana, "first"))
	require.Equal(t, "queued", l.send(l.ana, "second"))
	require.Equal(t, "queued", l.send(bia, "third"))
	l.OK(201, "POST", "/schedules", object{"body": "scheduled", "sendAt": monday.Add(time.Second), "contactId": contact})
	campaign := messagingtest.Path("/campaigns", l.OK(201, "POST", "/campaigns", object{"name": "Offers", "message1": "offer", "whatsappId": l.connection.ID, "contactIds": []any{contact}, "messageInterval": 0}))
	l.OK(200, "POST", campaign+"/start", nil)
	arrive := func(want ...string) {
		t.Helper()
		var arrived []string
		require.Eventually(t, func() bool { // the hub itself may be sending one already
			l.after(0)
			arrived = append(l.Inbox(l.ana), l.Inbox(bia)...)
			return len(arrived) >= len(want)
		}, time.Minute, 20*time.Millisecond, "%v", want)
		require.Equal(t, want, arrived)
	}

	carla := l.AddPhone("Carla")
	l.SendFromPhone(carla, l.connection, "Good morning")
	ticket := messagingtest.TicketPath(l.Tickets("searchParam=" + carla)[0])
	require.EqualValues(t, 2, l.OK(201, "POST", ticket+"/messages", object{"body": "by a user"})["ack"], "it overtakes what waits for its turn")
	l.after(4 * time.Second)
	arrive("first")
	l.after(time.Second)
	arrive("first", "second")
	l.after(0)
	arrive("first", "second")
	l.after(time.Hour) // nothing is made up for
	arrive("first", "second", "third")
	l.after(5 * time.Second)
	arrive("first", "second", "third", "scheduled")
	l.after(5 * time.Second)
	l.after(5 * time.Second)
	arrive("first", "second", "third", "scheduled", "offer")
	require.Equal(t, "sent", l.send(l.ana, "last"), "the interval has passed")
}

// A shorter interval, and a clock that was set back, let nothing wait longer than the interval.
func TestIntervalIsBounded(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	await := func(messages int, why string) { // the hub itself may be sending one already
		require.Eventually(t, func() bool { l.after(0); return len(l.Inbox(l.ana)) == messages }, time.Minute, 20*time.Millisecond, why)
	}
	l.OK(200, "PUT", messagingtest.ConnectionPath(l.connection), object{"sendIntervalMs": 3_600_000})
	require.Equal(t, "sent", l.send(l.ana, "first"))
	require.Equal(t, "queued", l.send(l.ana, "second"))
	l.OK(200, "PUT", messagingtest.ConnectionPath(l.connection), object{"sendIntervalMs": 1000})
	await(2, "the next turn is farther away than the interval")
	require.Equal(t, "queued", l.send(l.ana, "third"))
	_, err := l.Hub.Host.Pool.Exec(t.Context(), `update connection_paces set next_send_at = next_send_at + interval '1 day'`)
	require.NoError(t, err)
	await(3, "the clock was set back")
	l.OK(200, "PUT", messagingtest.ConnectionPath(l.connection), object{"sendIntervalMs": 0})
	for i := range 5 {
		require.Equal(t, "sent", l.send(l.ana, strconv.Itoa(i)))
	}
}

// On the database's clock a short interval holds too, whoever runs the job.
func TestShortInterval(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	connection := company.Connect()
	company.OK(200, "PUT", messagingtest.ConnectionPath(connection), object{"sendIntervalMs": 300})
	program := company.As(company.APIToken())
	const messages = 6
	for i := range messages {
		program.OK(200, "POST", "/api/messages/send", object{"number": company.AddPhone("Ana"), "body": strconv.Itoa(i)})
	}
	done := make(chan error)
	for range 2 {
		go func() { done <- company.Hub.Job("outbox").Run(t.Context(), nil) }()
	}
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	var lasted float64
	require.Eventually(t, func() bool {
		var sent int
		require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select count(*), extract(epoch from max(sent_at) - min(sent_at)) from sandbox_messages`).Scan(&sent, &lasted))
		return sent == messages
	}, time.Minute, 10*time.Millisecond)
	require.Greater(t, lasted, 0.8*0.3*(messages-1), "seconds")
}

// Nothing comes on top of an interval while messages wait, such as the pause between batches.
func TestIntervalIsNotLonger(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	connection := company.Connect()
	company.OK(200, "PUT", messagingtest.ConnectionPath(connection), object{"sendIntervalMs": 1000})
	program := company.As(company.APIToken())
	const messages = 6
	for i := range messages {
		program.OK(200, "POST", "/api/messages/send", object{"number": company.AddPhone("Ana"), "body": strconv.Itoa(i)})
	}
	var sent int
	var lasted float64
	require.Eventually(t, func() bool { // a run before the first turn sends nothing
		require.NoError(t, company.Hub.Job("outbox").Run(t.Context(), nil))
		require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select count(*), coalesce(extract(epoch from max(sent_at) - (array_agg(sent_at order by sent_at))[2]), 0) from sandbox_messages`).Scan(&sent, &lasted))
		return sent > 1
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, messages, sent, "by one run")
	require.InDelta(t, messages-2, lasted, 1.2, "seconds; the first one was sent by its request")
}

// Two hubs that send at once on one database take one turn for each interval.
func TestIntervalOfTwoSenders(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	for i := range 12 {
		l.send(l.AddPhone(strconv.Itoa(i)), "Hi")
	}
	sent := func() (messages int) {
		require.NoError(t, l.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from sandbox_messages`).Scan(&messages))
		return messages
	}
	for turn := range 5 {
		require.Eventually(t, func() bool { // a busy machine may put off a sender's call
			start, done := make(chan struct{}), make(chan error)
			for range 4 { // each run of the job is a sender of its own
				go func() {
					<-start
					done <- l.Hub.Job("outbox").Run(t.Context(), nil)
				}()
			}
			close(start)
			for range 4 {
				require.NoError(t, <-done)
			}
			return sent() > turn
		}, time.Minute, time.Millisecond)
		require.Equal(t, 1+turn, sent())
		l.Advance(5 * time.Second)
	}
}

// Who opts out gets nothing any more that programs wrote before and that waits for the interval
// or for the network. Users may answer for a day.
func TestOptOutReachesWhatWaits(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	contact := messagingtest.ID(l.OK(201, "POST", "/contacts", object{"name": "Ana", "number": l.ana}))
	campaign := messagingtest.Path("/campaigns", l.OK(201, "POST", "/campaigns", object{"name": "Offers", "message1": "offer", "whatsappId": l.connection.ID, "contactIds": []any{contact}, "messageInterval": 0}))
	exec := func(sql string, args ...any) {
		_, err := l.Hub.Host.Pool.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	// The campaign's message is written, and waits for the network.
	exec(`update sandbox_sessions set state = 'offline'`)
	l.OK(200, "POST", campaign+"/start", nil)
	require.Eventually(t, func() bool {
		l.RunJob("campaigns")
		return count(l.Company, `select count(*) from outbox where leased_until is null`) == 1
	}, time.Minute, 10*time.Millisecond)
	exec(`update outbox set due_at = due_at + interval '2 minutes'`)
	l.SetNetwork("online")
	schedule := messagingtest.Path("/schedules", l.OK(201, "POST", "/schedules", object{"body": "scheduled", "sendAt": monday.Add(time.Second), "contactId": contact}))
	require.Equal(t, "queued", l.send(l.ana, "by a program"), "the campaign's is first")
	l.after(time.Second)
	require.Equal(t, "queued", l.Get(schedule)["status"])

	l.SendFromPhone(l.ana, l.connection, "SAIR")
	ticket := messagingtest.TicketPath(l.Tickets("")[0])
	answered := l.OK(201, "POST", ticket+"/messages", object{"body": "Sorry!"})
	for range 4 {
		l.after(time.Minute)
	}
	l.FlushOutbox()
	require.Len(t, l.Inbox(l.ana), 2, "%v: the confirmation and the answer", l.Inbox(l.ana))
	require.Equal(t, "Sorry!", l.Inbox(l.ana)[1])
	require.Equal(t, []any{"error", "opted_out"}, []any{l.Get(schedule)["status"], l.Get(schedule)["error"]})
	require.Equal(t, 3, count(l.Company, `select count(*) from messages where ack = -1 and error_code = 'opted_out'`))
	require.Equal(t, []any{"skipped", "opted_out"}, func() []any {
		row := l.Get(campaign + "/report")["records"].([]any)[0].(object)
		return []any{row["status"], row["error"]}
	}())
	require.Equal(t, "finished", l.Get(campaign)["status"])
	require.NotNil(t, answered["id"])

	// An answer that waits for the network is sent for a day after the contact wrote.
	l.SetNetwork("offline")
	l.OK(201, "POST", ticket+"/messages", object{"body": "Are you there?"})
	l.Advance(23 * time.Hour)
	l.SetNetwork("online")
	l.FlushOutbox()
	require.Equal(t, "Are you there?", l.Inbox(l.ana)[2])
	l.SetNetwork("offline")
	l.OK(201, "POST", ticket+"/messages", object{"body": "Hello?"})
	l.Advance(2 * time.Hour)
	l.SetNetwork("online")
	l.FlushOutbox()
	require.Len(t, l.Inbox(l.ana), 3)
}
