package autoreply_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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

// What fails for a company, and how much it has, holds up no other company.
func TestExpiringTicketsTakeTurns(t *testing.T) {
	t.Parallel()
	broken := newChatRoom(t, monday, object{"expiresTicket": 60, "timeToTransfer": 30})
	well := newChatRoomOf(broken.AnotherCompany(), object{"expiresTicket": 60, "timeToTransfer": 30})
	ask := func(room *chatRoom) (path string) {
		room.say("Hi")
		path = messagingtest.TicketPath(room.Tickets("searchParam=" + room.phone)[0])
		room.OK(200, "PUT", path, object{"status": "open"})
		room.OK(201, "POST", path+"/messages", object{"body": "Which color?"})
		return path
	}
	ask(broken)
	path := ask(well)
	for _, room := range []*chatRoom{broken, well} {
		room.phone = room.AddPhone("Bruno")
		room.say("Hi")
		room.set(object{"transferQueueId": room.addQueue(object{"name": "Night", "color": "#00f"})})
	}
	broken.Hub.Exec(`create function refuse() returns trigger language plpgsql as 'begin raise exception ''broken''; end'`)
	broken.Hub.Exec(fmt.Sprintf(`create trigger refuse before update on tickets for each row when (new.company_id = %d) execute function refuse()`, broken.ID))
	broken.Advance(61 * time.Minute)
	well.Token = well.LogIn(well.Email, messagingtest.Password).Token
	job := broken.Hub.Job("waiting-tickets")
	require.Eventually(t, func() bool { // the hub may be running it, too
		err := job.Run(t.Context(), nil)
		return assert.ErrorContains(t, err, "broken") && well.Get(path)["status"] == "closed"
	}, time.Minute, 10*time.Millisecond)
	require.NotNil(t, well.Tickets("searchParam=" + well.phone)[0]["queueId"])
}
