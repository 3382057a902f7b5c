package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// rightsCase is a ticket of one owner in one queue, with a word that no other ticket's messages
// have, and a file.
type rightsCase struct {
	name   string
	user   bool // a user without allTicket sees it
	all    bool // a user with it does
	path   string
	ticket object
	phone  string
	word   string
	media  string
}

// rightsRoom is a company with a ticket for each owner and queue, and users of one queue.
type rightsRoom struct {
	*messagingtest.Company
	user, all, colleague *messagingtest.Company
	userID, allID        int64
	own, foreign         int64 // queues
	connection           messagingtest.Connection
	cases                []*rightsCase
	colleagueID, markers int64
}

func newRightsRoom(t *testing.T) *rightsRoom {
	t.Helper()
	r := &rightsRoom{Company: messagingtest.NewCompany(t)}
	r.connection = r.Connect()
	r.own, r.foreign = r.AddQueueRow("Own", "#0000aa"), r.AddQueueRow("Foreign", "#00aa00")
	r.user, r.userID = r.AddUser(object{"queueIds": ids(r.own)})
	r.all, r.allID = r.AddUser(object{"queueIds": ids(r.own), "allTicket": "enabled"})
	r.colleague, r.colleagueID = r.AddUser(object{"queueIds": ids(r.own, r.foreign)})
	// What each of the two users sees, by the ticket's owner and queue.
	for _, c := range []struct {
		owner, queue string
		user, all    bool
	}{
		{"nobody", "none", true, true}, {"nobody", "own", true, true}, {"nobody", "foreign", false, false},
		{"user", "none", true, true}, {"user", "own", true, true}, {"user", "foreign", true, false},
		{"all", "none", false, true}, {"all", "own", false, true}, {"all", "foreign", false, true},
		{"colleague", "none", false, true}, {"colleague", "own", false, true}, {"colleague", "foreign", false, false},
	} {
		r.cases = append(r.cases, r.addCase(&rightsCase{name: c.owner + " in " + c.queue, user: c.user, all: c.all}, c.owner, c.queue))
	}
	return r
}

func (r *rightsRoom) addCase(c *rightsCase, owner, queue string) *rightsCase {
	r.T.Helper()
	c.word = fmt.Sprintf("word%dx", len(r.cases))
	c.phone = r.AddPhone("Contact " + c.name)
	r.SendFromPhone(c.phone, r.connection, "Hi "+c.word)
	c.path = messagingtest.TicketPath(r.Tickets("searchParam=" + c.phone)[0])
	change := object{
		"userId":  map[string]any{"nobody": nil, "user": r.userID, "all": r.allID, "colleague": r.colleagueID}[owner],
		"queueId": map[string]any{"none": nil, "own": r.own, "foreign": r.foreign}[queue],
		"status":  map[bool]string{true: "pending", false: "open"}[owner == "nobody"],
	}
	c.ticket = r.OK(200, "PUT", c.path, change)
	file := r.Upload(c.path, map[string]string{"isPrivate": "true"}, messagingtest.File{Name: "a.pdf", Content: []byte("%PDF-1.7 " + c.word)})
	require.Equal(r.T, 201, file.Status, file.Text)
	address, err := url.Parse(file.Body["mediaUrl"].(string))
	require.NoError(r.T, err)
	c.media = "/media/" + address.Path[strings.LastIndex(address.Path, "/")+1:]
	return c
}

// names returns the names of the cases with some ids of their tickets or contacts.
func (r *rightsRoom) names(list []any, id func(*rightsCase) any) (names []string) {
	for _, c := range r.cases {
		if slices.Contains(list, id(c)) {
			names = append(names, c.name)
		}
	}
	return names
}

func ticketID(c *rightsCase) any  { return c.ticket["id"] }
func contactID(c *rightsCase) any { return c.ticket["contactId"] }

// What a user who is no administrator sees and does: for each owner, queue and allTicket the same
// in every operation, and in event streams. Administrators see all.
func TestRights(t *testing.T) {
	t.Parallel()
	r := newRightsRoom(t)
	r.checkOperations()
	r.checkStreams()
}

func (r *rightsRoom) checkOperations() {
	t := r.T
	t.Helper()
	for name, viewer := range map[string]struct {
		*messagingtest.Company
		sees func(*rightsCase) bool
	}{
		"user": {r.user, func(c *rightsCase) bool { return c.user }}, "allTicket": {r.all, func(c *rightsCase) bool { return c.all }}, "admin": {r.Company, func(*rightsCase) bool { return true }},
	} {
		var visible []string
		for _, c := range r.cases {
			if viewer.sees(c) {
				visible = append(visible, c.name)
			}
		}
		list := viewer.Get("/tickets?showAll=true")
		require.Equal(t, visible, r.names(idsOf(list["tickets"]), ticketID), "the list of %s", name)
		require.EqualValues(t, len(visible), list["count"], name)
		require.Equal(t, visible, r.names(idsOf(viewer.Get("/contacts")["contacts"]), contactID), "the contacts of %s", name)
		for _, c := range r.cases {
			status, export := 403, 403
			if viewer.sees(c) {
				status = 200
			}
			if name == "admin" {
				export = 200
			}
			contact := messagingtest.Path("/contacts", c.ticket["contact"].(object))
			for _, call := range []struct {
				method, path string
				body         any
				status       int
			}{
				{"GET", c.path, nil, status}, {"GET", c.path + "/messages", nil, status}, {"PUT", c.path, object{"resolution": "Seen by " + name}, status},
				{"GET", c.media, nil, status}, {"GET", contact, nil, status}, {"GET", contact + "/export", nil, export}, {"PUT", contact, object{"email": "ana@example.com"}, status},
				{"POST", c.path + "/messages", object{"body": "A note", "isPrivate": true}, map[int]int{200: 201, 403: 403}[status]},
				{"POST", "/tickets", object{"contactId": c.ticket["contactId"]}, map[int]int{200: 400, 403: 403}[status]}, // it has a live one
			} {
				response := viewer.Call(call.method, call.path, call.body)
				require.Equal(t, call.status, response.Status, "%s of %s by %s: %s", call.method+" "+call.path, c.name, name, response.Text)
				if call.status == 403 {
					require.Equal(t, "ERR_NO_PERMISSION", response.Body["error"])
				}
			}
			found := len(viewer.Tickets("searchParam="+c.word)) + len(viewer.Tickets("searchParam="+c.phone))
			require.Equal(t, map[int]int{200: 2, 403: 0}[status], found, "the search for %s by %s", c.name, name)
			require.Equal(t, status == 200, r.Get(c.path)["resolution"] == "Seen by "+name, "%s changed by %s", c.name, name)
		}
	}
}

// idsOf returns the ids of resources.
func idsOf(list any) (ids []any) {
	for _, item := range list.([]any) {
		ids = append(ids, item.(object)["id"])
	}
	return ids
}

// checkStreams requires that a stream brings the tickets, messages and contacts that its user sees.
// What moves out of a user's view is deleted there; other rights begin the inbox anew.
func (r *rightsRoom) checkStreams() {
	t := r.T
	t.Helper()
	streams := map[string]*eventStream{}
	for name, viewer := range map[string]*messagingtest.Company{"user": r.user, "all": r.all} {
		stream, status := openStream(t, viewer, "", "Authorization", "Bearer "+viewer.Token)
		require.Equal(t, 200, status)
		streams[name] = stream
	}
	for _, c := range r.cases {
		r.SendFromPhone(c.phone, r.connection, "More "+c.word)
		r.OK(200, "PUT", messagingtest.Path("/contacts", c.ticket["contact"].(object)), object{"name": "Renamed " + c.name})
	}
	free := r.OK(201, "POST", "/contacts", object{"name": "Free", "number": "5511944440001"})
	for name, stream := range streams {
		var tickets, messages, contacts []any
		for {
			event := stream.next()
			if event.Name == "contact" && event.Data["id"] == free["id"] {
				break
			}
			require.NotEqual(t, "delete", event.Data["action"])
			switch event.Name {
			case "ticket":
				tickets = append(tickets, event.Data["id"])
			case "message":
				messages = append(messages, event.Data["message"].(object)["ticketId"])
			case "contact":
				contacts = append(contacts, event.Data["id"])
			}
		}
		var visible []string
		for _, c := range r.cases {
			if name == "user" && c.user || name == "all" && c.all {
				visible = append(visible, c.name)
			}
		}
		require.Equal(t, visible, r.names(tickets, ticketID), "tickets of %s", name)
		require.Equal(t, visible, r.names(messages, ticketID), "messages of %s", name)
		require.Equal(t, visible, r.names(contacts, contactID), "contacts of %s", name)
	}
	r.checkMoves(streams["user"], streams["all"])

	r.OK(200, "PUT", fmt.Sprintf("/users/%d", r.userID), object{"queueIds": ids(r.own, r.foreign)})
	require.Equal(t, "reset", streams["user"].next().Name, "it sees other tickets now")
}

// checkMoves moves tickets out of the users' views and requires that they are deleted there.
func (r *rightsRoom) checkMoves(user, all *eventStream) {
	r.T.Helper()
	ticket := r.cases[1] // of nobody, in the own queue
	for _, move := range []struct {
		change    object
		user, all string // events that the users get
	}{
		{object{"userId": r.colleagueID, "status": "open"}, "delete", "update"},
		{object{"queueId": r.foreign}, "", "delete"},
		{object{"resolution": "Nobody sees it"}, "", ""},
		{object{"queueId": r.own, "userId": nil, "status": "pending"}, "update", "update"},
	} {
		r.OK(200, "PUT", ticket.path, move.change)
		marker := r.OK(201, "POST", "/contacts", object{"name": "Marker", "number": fmt.Sprintf("5511933330%03d", r.markers)})
		r.markers++
		for stream, action := range map[*eventStream]string{user: move.user, all: move.all} {
			event := stream.next()
			if action != "" {
				require.Equal(r.T, []any{"ticket", action, ticketID(ticket)}, []any{event.Name, event.Data["action"], event.Data["id"]}, "%v", move.change)
				event = stream.next()
			}
			require.Equal(r.T, []any{"contact", marker["id"]}, []any{event.Name, event.Data["id"]}, "%v", move.change)
		}
	}
}

// Who reads a QR code can pair a phone of its own.
func TestQRCodesAreForAdministrators(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	user, _ := company.AddUser(nil)
	stream, status := openStream(t, user, "", "Authorization", "Bearer "+user.Token)
	require.Equal(t, 200, status)
	connection := company.OK(201, "POST", "/whatsapp", object{"name": "Reception"})
	require.NotEmpty(t, connection["qrcode"])
	path := messagingtest.Path("/whatsapp", connection)
	require.NotEmpty(t, company.Get(path)["qrcode"])
	require.NotEmpty(t, company.List("/whatsapp")[0]["qrcode"])
	for name, shown := range map[string]object{"one": user.Get(path), "the list": user.List("/whatsapp")[0], "the stream": stream.next().Data["connection"].(object)} {
		require.Equal(t, []any{connection["id"], ""}, []any{shown["id"], shown["qrcode"]}, name)
	}
	user.Refused(403, "ERR_NO_PERMISSION", "GET", path+"/qrCode", nil)
}
