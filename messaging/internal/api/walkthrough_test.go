package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// A program sends a message, the contact answers, a user accepts the ticket, replies and
// closes it.
func TestConversation(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection := company.Connect()
	ana := company.AddPhone("Ana Souza")
	program := company.As(company.APIToken())

	sent := program.OK(200, "POST", "/api/messages/send", object{"number": ana, "body": "Your appointment is tomorrow."})
	require.Equal(t, "sent", sent["status"])
	require.Equal(t, sent["id"], sent["messageId"])
	require.Equal(t, []string{"Your appointment is tomorrow."}, company.Inbox(ana))

	company.SendFromPhone(ana, connection, "Can we make it 11?")
	waiting := company.Tickets("status=pending")
	require.Len(t, waiting, 1)
	require.Equal(t, "Ana Souza", waiting[0]["contact"].(object)["name"], "the contact's own name takes the place of the number")
	require.EqualValues(t, 1, waiting[0]["unreadMessages"])
	path := messagingtest.TicketPath(waiting[0])

	accepted := company.OK(200, "PUT", path, object{"status": "open"})
	require.NotNil(t, accepted["userId"])
	company.OK(201, "POST", path+"/messages", object{"body": "Of course."})
	require.Equal(t, []string{"Your appointment is tomorrow.", "Of course."}, company.Inbox(ana))

	history := company.Get(path + "/messages")
	var bodies []string
	for _, message := range history["messages"].([]any) {
		bodies = append(bodies, message.(object)["body"].(string))
	}
	require.Equal(t, []string{"Your appointment is tomorrow.", "Can we make it 11?", "Of course."}, bodies)
	require.EqualValues(t, 0, company.Get(path)["unreadMessages"], "they are read now")

	closed := company.OK(200, "PUT", path, object{"status": "closed", "resolution": "moved"})
	require.NotNil(t, closed["closedAt"])
	require.Equal(t, []string{"contact.created", "ticket.created", "message.sent", "message.received", "message.sent", "ticket.closed"}, company.Hub.EventTypes(company.Tenant))
}
