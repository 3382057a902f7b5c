package inbound_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/appointments"
	"integrationhub/messaging/internal/autoreply"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/inbound"
	"integrationhub/messaging/internal/media"
	"integrationhub/messaging/internal/messagingtest"
	"integrationhub/messaging/internal/outbound"
	"integrationhub/messaging/internal/store"
)

// newSink returns the drivers' sink of another process of the company's hub.
func newSink(company *messagingtest.Company) *inbound.Service {
	host, drivers := company.Hub.Host, &driver.Drivers{}
	rows := store.New(host, nil)
	files := media.New(host, rows)
	return inbound.New(host, rows, drivers, files, autoreply.New(host, rows, outbound.New(host, rows, drivers, files), appointments.New(host)))
}

// Copies of a message that come at once, to two processes and many times to each, are stored
// once: those of a contact with a live ticket, which are stored together with others, and
// those of a stranger, which are received one by one. No copy is an error to the network,
// which would send it again.
func TestCopiesTogether(t *testing.T) {
	t.Parallel()
	for _, processes := range []int{1, 2} {
		t.Run(fmt.Sprint(processes), func(t *testing.T) {
			t.Parallel()
			company := messagingtest.NewCompanyAlone(t)
			line := company.Connect()
			holders := []string{"Bia", "Caio"}[:processes] // whose messages the processes store first
			for _, name := range append([]string{"Ana"}, holders...) {
				company.SendFromPhone(company.AddPhone(name), line, "Hello")
			}
			receiveCopies(t, company, line.ID, holders)
			bodies := []string{"of a contact", "of a stranger"}
			for i := range processes {
				bodies = append(bodies, fmt.Sprintf("first %d", i), fmt.Sprintf("other %d", i))
			}
			for _, body := range bodies {
				require.Equal(t, 1, company.Hub.Count("messaging.messages where body = $1", body), body)
			}
			require.Equal(t, 1+processes+len(bodies), company.Hub.Count("hub.events where event_type = 'message.received'"), "each is published once")
			require.Equal(t, 2+processes, company.Hub.Count("messaging.contacts"))
			unread := make(map[string]any)
			for _, ticket := range company.Tickets("") {
				unread[ticket["contact"].(map[string]any)["name"].(string)] = ticket["unreadMessages"]
			}
			expected := map[string]any{"Ana": 2.0, "Zoe": 1.0}
			for _, name := range holders {
				expected[name] = 3.0
			}
			require.Equal(t, expected, unread)
			if processes == 1 {
				require.Equal(t, 1, company.Hub.Count(`(select distinct xmin::text from messaging.messages where body in ('of a contact', 'other 0')) t`), "copies do not make their batch fail")
			}
		})
	}
}

// receiveCopies lets processes receive copies of two messages, all of which wait until the
// last has come, each beside a message that comes once. Each process has a contact of its own,
// whose first message the lock holds up in a batch.
func receiveCopies(t *testing.T, company *messagingtest.Company, connection int64, holders []string) {
	t.Helper()
	const copies = 15
	numbers := make(map[string]string)
	for _, ticket := range company.Tickets("") {
		contact := ticket["contact"].(map[string]any)
		numbers[contact["name"].(string)] = contact["number"].(string)
	}
	holding, err := company.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holding.Rollback(t.Context()) }()
	_, err = holding.Exec(t.Context(), `lock table messages in share mode`)
	require.NoError(t, err)
	var receiving sync.WaitGroup
	errs := make(chan error, len(holders)*(2*copies+2))
	for i, holder := range holders {
		sink := newSink(company)
		receive := func(remoteID, from, name string) {
			receiving.Go(func() {
				errs <- sink.ReceiveMessage(t.Context(), driver.Incoming{ConnectionID: connection, RemoteID: remoteID, From: from, Name: name, Body: remoteID, At: time.Now()})
			})
		}
		receive(fmt.Sprintf("first %d", i), numbers[holder], holder) // which the lock holds up
		require.Eventually(t, func() bool { n, isStoring := sink.Waiting(connection); return n == 0 && isStoring }, time.Minute, time.Millisecond)
		receive(fmt.Sprintf("other %d", i), numbers[holder], holder)
		for range copies {
			receive("of a contact", numbers["Ana"], "Ana")
			receive("of a stranger", "5511955554444", "Zoe")
		}
		require.Eventually(t, func() bool { n, _ := sink.Waiting(connection); return n == 2*copies+1 }, time.Minute, time.Millisecond)
	}
	require.NoError(t, holding.Rollback(t.Context()))
	receiving.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}
