//go:build unix

package messaging_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/messagingtest"
)

// traffic is people on both sides of a connection, and a program, who write to each other
// while a test breaks something. Every text is written once, but for requests with an
// Idempotency-Key: those are repeated until they are answered.
type traffic struct {
	hub        *moduletest.HubProcess
	company    *messagingtest.Company
	program    *messagingtest.Company
	connection messagingtest.Connection
	phones     []string
	tickets    []string

	mu       sync.Mutex
	accepted map[string]string // texts that were answered with 2xx, by their ids
	refused  map[string]int    // texts that were answered otherwise, by status
	faults   []error           // answers that the API's document does not have, or without what they need
	running  sync.WaitGroup
}

// unlimited settings leave the callers to the test.
const unlimited = "HUB_PRODUCT_LIMITS=messaging.sends=60000-M"

func newTraffic(t *testing.T, hub *moduletest.HubProcess, phones int) *traffic {
	t.Helper()
	f := &traffic{hub: hub, company: messagingtest.SignUp(t, hub.Product("messaging")), accepted: make(map[string]string), refused: make(map[string]int)}
	f.connection, f.program = f.company.Connect(), f.company.As(f.company.APIToken())
	for range phones {
		phone := f.company.AddPhone("Ana")
		f.company.SendFromPhone(phone, f.connection, "Hello")
		ticket := messagingtest.TicketPath(f.company.Tickets("")[0])
		f.company.OK(200, "PUT", ticket, map[string]any{"status": "open"})
		f.phones, f.tickets = append(f.phones, phone), append(f.tickets, ticket)
	}
	return f
}

// start has each phone's owner, the program and a user write so many texts each.
func (f *traffic) start(rounds int) {
	for i, phone := range f.phones {
		f.running.Go(func() {
			for n := range rounds {
				text := func(kind string) string { return fmt.Sprintf("%s %d %d", kind, i, n) }
				f.write(text("received"), func(body string) (moduletest.Response, error) {
					return f.company.Try("POST", "/sandbox/phones/"+phone+"/send", map[string]any{"to": f.connection.Number, "body": body})
				})
				f.writeKeyed(text("keyed"), phone)
				f.write(text("program"), func(body string) (moduletest.Response, error) {
					return f.program.Try("POST", "/api/messages/send", map[string]any{"number": phone, "body": body})
				})
				f.write(text("user"), func(body string) (moduletest.Response, error) {
					return f.company.Try("POST", f.tickets[i]+"/messages", map[string]any{"body": body})
				})
			}
		})
	}
}

// writeKeyed repeats a request until it is answered with 2xx.
func (f *traffic) writeKeyed(text, phone string) {
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for !f.write(text, func(body string) (moduletest.Response, error) {
		return f.program.Try("POST", "/api/messages/send", map[string]any{"number": phone, "body": body}, "Idempotency-Key", body)
	}) {
		<-pause.C
	}
}

// write sends a text and remembers the answer. It reports whether it was accepted.
func (f *traffic) write(text string, send func(text string) (moduletest.Response, error)) bool {
	response, err := send(text)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case response.Status == 0: // nothing is known
	case err != nil:
		f.faults = append(f.faults, fmt.Errorf("%s: %w", text, err))
	case response.Status < 300:
		f.accepted[text] = response.Body["id"].(string)
		delete(f.refused, text)
		return true
	default:
		f.refused[text] = response.Status
		if response.Status != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" {
			f.faults = append(f.faults, fmt.Errorf("%s: status %d, Retry-After %q: %s", text, response.Status, response.Header.Get("Retry-After"), response.Text))
		}
	}
	return false
}

// answers returns how many texts were accepted and refused so far.
func (f *traffic) answers() (accepted, refused int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.accepted), len(f.refused)
}

// requireBalance waits until everything has settled, and compares what was answered with what
// is stored and what the phones have.
func (f *traffic) requireBalance(t *testing.T) {
	t.Helper()
	f.running.Wait()
	require.Empty(t, f.faults)
	waiting := func() (text string) {
		require.NoError(t, f.hub.DB.QueryRow(t.Context(), `select coalesce((select string_agg(o::text, E'\n') from messaging.outbox o), '') ||
			coalesce((select string_agg(m::text, E'\n') from messaging.sandbox_messages m where is_waiting), '')`).Scan(&text))
		return text
	}
	require.Eventually(t, func() bool { return waiting() == "" }, 90*time.Second, 50*time.Millisecond, "a job's lease may have to end")
	for text, id := range f.accepted {
		if id[:4] == "sbx-" { // a phone's
			require.Equal(t, 1, f.hub.Count(`select count(*) from messaging.messages where remote_id = $1 and body = $2 and not from_me`, id, text), text)
			continue
		}
		require.Equal(t, 1, f.hub.Count(`select count(*) from messaging.messages m join messaging.sandbox_messages s on s.id = m.remote_id and s.body = m.body
			where m.id = $1 and m.body = $2 and m.from_me and m.ack = 2`, id, text), text)
	}
	stored := 0
	for text := range f.refused {
		stored += f.hub.Count(`select count(*) from messaging.messages where body = $1 and from_me`, text)
	}
	require.LessOrEqual(t, stored, len(f.phones), "refused and stored is what was being committed when the database went away, at most")
	require.Equal(t, 0, f.hub.Count(`select count(*) from (select body from messaging.messages where body <> 'Hello' group by body having count(*) > 1) twice`), "nothing is stored twice")
	require.Equal(t, 0, f.hub.Count(`select count(*) from (select body from messaging.sandbox_messages where body <> 'Hello' group by body having count(*) > 1) twice`), "nothing arrives twice")
	require.Equal(t, 0, f.hub.Count(`select count(*) from messaging.sandbox_messages s where not exists (select from messaging.messages m where m.remote_id = s.id)`), "the network has nothing that is not stored")
	require.Equal(t, len(f.phones), f.hub.Count(`select count(*) from messaging.contacts`))
	require.Equal(t, len(f.phones), f.hub.Count(`select count(*) from messaging.tickets`))
	require.Equal(t, 0, f.hub.Count(`select count(*) from messaging.tickets k where unread_messages <> (select count(*) from messaging.messages m where m.ticket_id = k.id and not from_me)`), "unread messages")
	require.Equal(t, 0, f.hub.Count(`select count(*) from (select seq, max(n) over (partition by recipient, kind order by seq) as reached, n from (
		select seq, recipient, split_part(body, ' ', 1) as kind, split_part(body, ' ', 3)::int as n from messaging.sandbox_messages where sender = $1 and body like 'user %') u) o where n < reached`, f.connection.Number),
		"the user's messages arrive in their order")
}
