package autoreply_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// The job that closes tickets reads those that are due: the index has the tickets whose contact
// owes an answer, and no other.
func TestTicketsAwaitingContacts(t *testing.T) {
	t.Parallel()
	room := newChatRoom(t, monday, object{"expiresTicket": 60, "outOfHoursMessage": "We are closed."})
	room.say("Hi")
	path := messagingtest.TicketPath(room.Tickets("searchParam=" + room.phone)[0])
	room.OK(200, "PUT", path, object{"status": "open"})
	indexed := func() int { return room.Hub.Count(`tickets where awaits_contact and status = 'open'`) }
	require.Zero(t, indexed(), "the company owes the answer")
	room.OK(201, "POST", path+"/messages", object{"body": "A note", "isPrivate": true})
	require.Zero(t, indexed())
	room.OK(201, "POST", path+"/messages", object{"body": "Which color?"})
	require.Equal(t, 1, indexed())
	room.OK(201, "POST", path+"/messages", object{"body": "Another note", "isPrivate": true})
	require.Equal(t, 1, indexed())
	room.say("Blue")
	require.Zero(t, indexed())
	room.As(room.APIToken()).OK(200, "POST", "/api/messages/send", object{"number": room.phone, "body": "Your code is 1"})
	require.Equal(t, 1, indexed())
	var predicate string
	require.NoError(t, room.Hub.Host.Pool.QueryRow(t.Context(), `select pg_get_expr(indpred, indrelid) from pg_index where indexrelid = 'tickets_expiring'::regclass`).Scan(&predicate))
	require.Contains(t, predicate, "awaits_contact AND (status = 'open'::text)")
}
