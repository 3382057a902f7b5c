package schedules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// A scheduled message that waits when its connection or its ticket is deleted is not sent. It
// says so, and waits again with a new time.
func TestScheduleWhoseConnectionOrTicketIsDeleted(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, monday)
	connection := company.Connect()
	company.SetNetwork("offline")
	var paths, numbers []string
	for _, name := range []string{"Ana", "Bruno"} {
		contact, number := newContact(company, name)
		numbers = append(numbers, number)
		paths = append(paths, messagingtest.Path("/schedules", company.OK(201, "POST", "/schedules", object{"body": "Hi", "sendAt": monday.Add(time.Minute), "contactId": contact})))
	}
	company.Advance(time.Hour)
	require.Eventually(t, func() bool {
		company.RunJob("schedules")
		return company.Get(paths[0])["status"] == "queued" && company.Get(paths[1])["status"] == "queued"
	}, time.Minute, 10*time.Millisecond)
	company.OK(200, "DELETE", fmt.Sprintf("/tickets/%v", company.Get(paths[0])["ticketId"]), nil)
	company.OK(200, "DELETE", messagingtest.ConnectionPath(connection), nil)
	for i, code := range []string{"ticket_deleted", "connection_deleted"} {
		failed := company.Get(paths[i])
		require.Equal(t, []any{"error", code, nil}, []any{failed["status"], failed["error"], failed["sentAt"]})
	}
	message := company.Get(fmt.Sprintf("/tickets/%v/messages", company.Get(paths[1])["ticketId"]))["messages"].([]any)[0].(object)
	require.Equal(t, []any{-1.0, "connection_deleted"}, []any{message["ack"], message["errorCode"]})

	company.Connect()
	for _, path := range paths {
		again := company.OK(200, "PUT", path, object{"sendAt": company.Hub.Clock.Now().Add(time.Minute)})
		require.Equal(t, []any{"pending", nil}, []any{again["status"], again["error"]})
	}
	company.Advance(time.Hour)
	runNow(company)
	for i, path := range paths {
		require.Equal(t, "sent", company.Get(path)["status"])
		require.Equal(t, []string{"Hi"}, company.Inbox(numbers[i]))
	}
}
