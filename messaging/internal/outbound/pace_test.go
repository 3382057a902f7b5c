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
	arrived := func() []string { return append(l.Inbox(l.ana), l.Inbox(bia)...) }

	carla := l.AddPhone("Carla")
	l.SendFromPhone(carla, l.connection, "Good morning")
	ticket := messagingtest.TicketPath(l.Tickets("searchParam=" + carla)[0])
	require.EqualValues(t, 2, l.OK(201, "POST", ticket+"/messages", object{"body": "by a user"})["ack"], "it overtakes what waits for its turn")
	l.after(4 * time.Second)
	require.Equal(t, []string{"first"}, arrived())
	l.after(time.Second)
	require.Equal(t, []string{"first", "second"}, arrived())
	l.after(0)
	require.Len(t, arrived(), 2)
	l.after(time.Hour) // nothing is made up for
	require.Equal(t, []string{"first", "second", "third"}, arrived())
	l.after(5 * time.Second)
	require.Equal(t, []string{"first", "second", "third", "scheduled"}, arrived())
	l.after(5 * time.Second)
	l.after(5 * time.Second)
	require.Equal(t, []string{"first", "second", "third", "scheduled", "offer"}, arrived())
	require.Equal(t, "sent", l.send(l.ana, "last"), "the interval has passed")
}

// A shorter interval, and a clock that was set back, let nothing wait longer than the interval.
func TestIntervalIsBounded(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	await := func(messages int, why string) { // the hub itself may be sending one already
		require.Eventually(t, func() bool { l.after(0); return len(l.Inbox(l.ana)) == messages }, 30*time.Second, 20*time.Millisecond, why)
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
	company := messagingtest.NewCompany(t)
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
	}, 30*time.Second, 10*time.Millisecond)
	require.Greater(t, lasted, 0.8*0.3*(messages-1), "seconds")
}

// Two hubs that send at once on one database take one turn for each interval.
func TestIntervalOfTwoSenders(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	for i := range 12 {
		l.send(l.AddPhone(strconv.Itoa(i)), "Hi")
	}
	for turn := range 5 {
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
		var sent int
		require.NoError(t, l.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from sandbox_messages`).Scan(&sent))
		require.Equal(t, 1+turn, sent)
		l.Advance(5 * time.Second)
	}
}
