package inbound_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// Twenty first messages at once make one contact with one ticket of twenty messages.
func TestFirstMessagesAtOnce(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	connection := company.Connect()
	ana := company.AddPhone("Ana")
	var sending sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		sending.Go(func() {
			response, err := company.Try("POST", "/sandbox/phones/"+ana+"/send", map[string]any{"to": connection.Number, "body": fmt.Sprintf("message %d", i)})
			if errs[i] = err; err == nil && response.Status != 201 {
				errs[i] = fmt.Errorf("status %d: %s", response.Status, response.Text)
			}
		})
	}
	sending.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	tickets := company.Tickets("")
	require.Len(t, tickets, 1)
	require.EqualValues(t, 20, tickets[0]["unreadMessages"])
	require.EqualValues(t, 20, company.Get(messagingtest.TicketPath(tickets[0]) + "/messages")["count"])
}

// A receipt may come before the product knows the message's id at the network. It is kept
// for the message, later ones count on, and late ones change nothing.
func TestReceipts(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	company.Connect()
	ana, nobody := company.AddPhone("Ana"), "5511955554444"
	program := company.As(company.APIToken())
	ack := func(number string) any {
		tickets := company.Tickets("searchParam=" + number)
		require.Len(t, tickets, 1)
		return company.Get(messagingtest.TicketPath(tickets[0]) + "/messages")["messages"].([]any)[0].(map[string]any)["ack"]
	}
	program.OK(200, "POST", "/api/messages/send", map[string]any{"number": ana, "body": "Hello"})
	require.EqualValues(t, 2, ack(ana), "the receipt came before the answer of the network")
	program.OK(200, "POST", "/api/messages/send", map[string]any{"number": nobody, "body": "Hello"})
	require.EqualValues(t, 1, ack(nobody), "there is no such phone")
	company.OK(200, "POST", "/sandbox/phones/"+ana+"/read", nil)
	require.EqualValues(t, 3, ack(ana))
	company.Inbox(ana)
	require.EqualValues(t, 3, ack(ana), "it does not fall back")
	var receipts int
	require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from early_receipts`).Scan(&receipts))
	require.Zero(t, receipts)
}

// The statements of a message whose contact and ticket exist are bounded: each is a round trip
// while the contact waits. A copy of a message that is stored needs few.
func TestStatementsOfMessage(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	line := company.Connect()
	ana := company.AddPhone("Ana")
	company.SendFromPhone(ana, line, "Hello")
	least := int64(1000)
	for range 5 { // background jobs make statements now and then
		before := company.Hub.QueryCount.Load()
		company.SendFromPhone(ana, line, "Hello again")
		least = min(least, company.Hub.QueryCount.Load()-before)
	}
	require.LessOrEqual(t, least, int64(17))
	var updates int
	require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from changes where kind = 'contact' and action = 'update'`).Scan(&updates))
	require.Zero(t, updates, "that somebody wrote is no change of the contact")
}
