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
	company := messagingtest.NewCompany(t)
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
