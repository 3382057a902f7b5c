package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/messagingtest"
)

// receiveFrom makes the ticket of a new contact that has written, and returns it.
func receiveFrom(company *messagingtest.Company, connection messagingtest.Connection, name string, bodies ...string) object {
	company.T.Helper()
	number := company.AddPhone(name)
	for _, body := range bodies {
		company.SendFromPhone(number, connection, body)
	}
	tickets := company.Tickets("searchParam=" + number)
	require.Len(company.T, tickets, 1)
	return tickets[0]
}

func TestTicketList(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection := company.Connect()
	ana := receiveFrom(company, connection, "Ana Souza", "I need my prescription")
	bruno := receiveFrom(company, connection, "Bruno Jordão", "Good morning", "100% sure?")
	company.Get(messagingtest.TicketPath(ana) + "/messages")
	sales := company.AddQueueRow("Sales", "#0000aa")
	_, err := company.Hub.Host.Pool.Exec(t.Context(), `update messaging.tickets set queue_id = $1 where company_id = $2 and id = $3`, sales, company.ID, int64(ana["id"].(float64)))
	require.NoError(t, err)
	company.OK(200, "PUT", messagingtest.TicketPath(ana), object{"status": "open"})
	zone, err := time.LoadLocation(company.Get("/company")["timezone"].(string))
	require.NoError(t, err)
	began, err := time.Parse(time.RFC3339, ana["createdAt"].(string))
	require.NoError(t, err)
	today := began.In(zone).Format(time.DateOnly)
	for filter, want := range map[string][]object{
		"":                        {ana, bruno}, // the last changed first
		"status=open":             {ana},
		"status=pending":          {bruno},
		"status=closed":           {},
		"withUnreadMessages=true": {bruno},
		"userId=" + fmt.Sprint(company.Get(messagingtest.TicketPath(ana))["userId"]): {ana},
		"queueIds=[]":                                   {},
		fmt.Sprintf("queueId=%d", sales):                {ana},
		fmt.Sprintf("queueId=%d&status=pending", sales): {},
		"date=" + today:                                 {ana, bruno},
		"date=" + today + "&queueIds=" + fmt.Sprintf("[%d]", sales): {ana},
		"searchParam=souza":            {ana},
		"searchParam=JORDAO":           {bruno}, // without case and accents
		"searchParam=runo":             {bruno}, // any part of a name
		"searchParam=prescr":           {ana},   // the beginning of a word of a message
		"searchParam=scription":        {},
		"searchParam=good%20mor":       {bruno}, // every word
		"searchParam=good%20evening":   {},
		"searchParam=%25":              {}, // no wildcard
		"searchParam='%20|%20%26!:*()": {}, // nothing of the query language
		"date=2020-01-01":              {},
		"pageNumber=2":                 {},
	} {
		var ids, wanted []any
		for _, ticket := range company.Tickets(filter) {
			ids = append(ids, ticket["id"])
		}
		for _, ticket := range want {
			wanted = append(wanted, ticket["id"])
		}
		require.Equal(t, wanted, ids, filter)
	}
	for _, invalid := range []string{"status=x", "queueId=0", "queueIds=x", "date=2020-13-01", "pageNumber=0"} {
		require.Equal(t, "ERR_VALIDATION", company.OK(400, "GET", "/tickets?"+invalid, nil)["error"], invalid)
	}
	require.Empty(t, company.AnotherCompany().Tickets("searchParam=souza"))
}

func TestTicketTransitions(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection := company.Connect()
	ana := receiveFrom(company, connection, "Ana", "Hi")
	path := messagingtest.TicketPath(ana)
	opened := company.OK(200, "PUT", path, object{"status": "open"})
	require.NotNil(t, opened["startedAt"])
	require.NotNil(t, opened["user"])
	returned := company.OK(200, "PUT", path, object{"status": "pending"})
	require.Nil(t, returned["userId"])
	require.Nil(t, returned["startedAt"])
	closed := company.OK(200, "PUT", path, object{"status": "closed", "resolution": "answered"})
	require.NotNil(t, closed["closedAt"])
	require.Equal(t, "answered", closed["resolution"])
	require.Equal(t, "ERR_INVALID_TRANSITION", company.OK(400, "POST", path+"/messages", object{"body": "x"})["error"])

	// A new message within the window takes the ticket back to pending.
	number := ana["contact"].(object)["number"].(string)
	company.SendFromPhone(number, connection, "One more thing")
	again := company.Get(path)
	require.Equal(t, []any{"pending", nil, nil}, []any{again["status"], again["resolution"], again["closedAt"]})
	company.OK(200, "PUT", path, object{"status": "closed", "resolution": "answered twice"})
	again = company.OK(200, "PUT", path, object{"status": "open"})
	require.Equal(t, []any{"open", nil, nil}, []any{again["status"], again["resolution"], again["closedAt"]})
	company.OK(200, "PUT", path, object{"status": "closed"})
	require.Equal(t, "half done", company.OK(200, "PUT", path, object{"status": "open", "resolution": "half done"})["resolution"])
	company.OK(200, "PUT", path, object{"status": "closed"})

	// Another ticket of the contact keeps it closed.
	second := company.OK(201, "POST", "/tickets", object{"contactId": ana["contactId"], "status": "pending"})
	require.NotEqual(t, ana["id"], second["id"])
	require.Equal(t, "ERR_OTHER_OPEN_TICKET", company.OK(400, "PUT", path, object{"status": "open"})["error"])
	require.Equal(t, "ERR_OTHER_OPEN_TICKET", company.OK(400, "POST", "/tickets", object{"contactId": ana["contactId"]})["error"])
	require.Equal(t, "closed", company.Get(path)["status"])

	for _, invalid := range []object{{"status": "waiting"}, {"status": 5}, {"userId": "x"}, {"resolution": 1}} {
		require.Equal(t, "ERR_VALIDATION", company.OK(400, "PUT", path, invalid)["error"])
	}
	for body, name := range map[string]string{
		`{"userId": 99999}`: "ERR_NO_USER_FOUND", `{"queueId": 99999}`: "ERR_QUEUE_NOT_FOUND", `{"whatsappId": 99999}`: "ERR_NO_WAPP_FOUND",
	} {
		require.Equal(t, name, company.OK(404, "PUT", path, body)["error"], body)
	}
	company.OK(200, "DELETE", path, nil)
	require.Equal(t, "ERR_NO_TICKET_FOUND", company.OK(404, "GET", path, nil)["error"])
}

// A ticket that is moved to another connection goes on there: what users send, and what the contact
// sends there. On the earlier connection the contact gets a new ticket.
func TestTicketMovesToAnotherConnection(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	first, second := company.Connect(), company.Connect()
	ana := receiveFrom(company, first, "Ana", "Hi")
	path, phone := messagingtest.TicketPath(ana), ana["contact"].(object)["number"].(string)
	moved := company.OK(200, "PUT", path, object{"status": "open", "whatsappId": second.ID})
	require.Equal(t, []any{ana["id"], float64(second.ID), "open"}, []any{moved["id"], moved["whatsappId"], moved["status"]})
	require.EqualValues(t, second.ID, moved["whatsapp"].(object)["id"])
	require.EqualValues(t, second.ID, company.OK(201, "POST", path+"/messages", object{"body": "From the other number"})["whatsappId"])
	inbox := company.Get("/sandbox/phones/" + phone + "/inbox")["messages"].([]any)
	require.Equal(t, []any{second.Number, "From the other number"}, []any{inbox[0].(object)["from"], inbox[0].(object)["body"]})
	company.SendFromPhone(phone, second, "Thank you")
	require.Equal(t, []string{"Hi", "From the other number", "Thank you"}, bodies(company, path))

	// On the earlier connection there is room for another ticket; two on one connection are refused.
	company.SendFromPhone(phone, first, "To the first number")
	tickets := company.Tickets("searchParam=" + phone)
	require.Len(t, tickets, 2)
	require.Equal(t, []any{float64(first.ID), "pending"}, []any{tickets[0]["whatsappId"], tickets[0]["status"]})
	company.Refused(400, "ERR_OTHER_OPEN_TICKET", "PUT", path, object{"whatsappId": first.ID})
	theirs := company.AnotherCompany().Connect()
	company.Refused(404, "ERR_NO_WAPP_FOUND", "PUT", path, object{"whatsappId": theirs.ID})
	company.Refused(404, "ERR_NO_WAPP_FOUND", "PUT", path, object{"whatsappId": theirs.ID, "status": "closed"})
	still := company.Get(path)
	require.Equal(t, []any{float64(second.ID), "open"}, []any{still["whatsappId"], still["status"]})
}

// A message quotes messages of its own ticket only.
func TestQuoteOfAnotherTicket(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection := company.Connect()
	path := messagingtest.TicketPath(receiveFrom(company, connection, "Ana", "Hi"))
	otherPath := messagingtest.TicketPath(receiveFrom(company, connection, "Caio", "Oi"))
	quoted := company.Get(otherPath + "/messages")["messages"].([]any)[0].(object)["id"]
	require.Equal(t, "ERR_NO_MESSAGE_FOUND", company.OK(404, "POST", path+"/messages", object{"body": "x", "quotedMsgId": quoted})["error"])
	answer := company.OK(201, "POST", otherPath+"/messages", object{"body": "x", "quotedMsgId": quoted})
	listed := company.Get(otherPath + "/messages")["messages"].([]any)
	for _, message := range []object{answer, listed[1].(object)} {
		shown := message["quotedMsg"].(object)
		require.NotEmpty(t, shown["timestamp"])
		delete(shown, "timestamp")
		require.Equal(t, object{"id": quoted, "body": "Oi", "fromMe": false, "mediaType": "text"}, shown)
	}
	require.Contains(t, listed[0], "quotedMsg")
	require.Nil(t, listed[0].(object)["quotedMsg"])
}

// Notes quote notes. What is sent does not: the network shows the contact what a message quotes.
func TestQuoteOfANote(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	path := messagingtest.TicketPath(receiveFrom(company, company.Connect(), "Ana", "Hi"))
	note := company.OK(201, "POST", path+"/messages", object{"body": "A note", "isPrivate": true})
	company.OK(201, "POST", path+"/messages", object{"body": "Another one", "isPrivate": true, "quotedMsgId": note["id"]})
	company.Refused(404, "ERR_NO_MESSAGE_FOUND", "POST", path+"/messages", object{"body": "x", "quotedMsgId": note["id"]})
	require.Equal(t, 404, company.Upload(path, map[string]string{"quotedMsgId": note["id"].(string)}, messagingtest.File{Name: "a.pdf", Content: pdfFile}).Status)
	require.Equal(t, []string{"Hi", "A note", "Another one"}, bodies(company, path))
}

// Notes are among users: a ticket's last message, which webhooks get too, is never one.
func TestNotesAreNoLastMessages(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	receiver := messagingtest.NewReceiver(t)
	company.OK(201, "POST", "/webhooks", object{"url": receiver.URL, "events": []string{"ticket.updated"}})
	path := messagingtest.TicketPath(receiveFrom(company, company.Connect(), "Ana", "Hi"))
	company.OK(201, "POST", path+"/messages", object{"body": "A note", "isPrivate": true})
	require.Equal(t, 201, company.Upload(path, map[string]string{"isPrivate": "true"}, messagingtest.File{Name: "secret.pdf", Content: pdfFile}).Status)
	require.Equal(t, "Hi", company.OK(200, "PUT", path, object{"status": "open"})["lastMessage"])
	require.Equal(t, "Hi", company.Tickets("")[0]["lastMessage"])
	event := receiver.Next()
	require.Equal(t, "Hi", event.Data["ticket"].(object)["lastMessage"])
	require.NotContains(t, string(event.Raw), "note")
	require.NotContains(t, string(event.Raw), "secret")
}

// heldTicket makes requests that find a ticket locked, and returns what they get once all wait for
// it and a change that came before has been made.
func heldTicket(company *messagingtest.Company, ticket object, change string, requests ...func() moduletest.Response) []moduletest.Response {
	t := company.T
	t.Helper()
	tx, err := company.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), change+` where company_id = $1 and id = $2`, company.ID, messagingtest.ID(ticket))
	require.NoError(t, err)
	done := make(chan []moduletest.Response, 1)
	go func() { done <- moduletest.Concurrently(requests...) }()
	require.Eventually(t, func() bool {
		return company.Hub.Count(`pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%messaging.tickets%'`) >= len(requests)
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, tx.Commit(t.Context()))
	return <-done
}

// Of users who accept a ticket at once one gets it. The others get what they would get afterwards.
func TestTicketIsAcceptedOnce(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	connection := company.Connect()
	for _, withOwner := range []bool{true, false} {
		ticket := receiveFrom(company, connection, fmt.Sprintf("Ana %t", withOwner), "Hi")
		var requests []func() moduletest.Response
		users := make([]*messagingtest.Company, 4)
		for i := range users {
			user, id := company.AddUser(nil)
			users[i] = user
			body := object{"status": "open"}
			if withOwner {
				body["userId"] = id
			}
			requests = append(requests, func() moduletest.Response { return user.Call("PUT", messagingtest.TicketPath(ticket), body) })
		}
		responses := heldTicket(company, ticket, `update messaging.tickets set updated_at = updated_at`, requests...)
		require.Equal(t, map[int]int{200: 1, 403: 3}, moduletest.CountStatuses(responses))
		for i, response := range responses {
			require.Equal(t, response.Status, users[i].Call("GET", messagingtest.TicketPath(ticket), nil).Status)
		}
	}
}

// What a user writes while the ticket becomes another's is refused.
func TestMessageInATicketThatIsTaken(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	connection := company.Connect()
	_, owner := company.AddUser(nil)
	user, _ := company.AddUser(nil)
	for name, write := range map[string]func(path string) moduletest.Response{
		"a message": func(path string) moduletest.Response {
			return user.Call("POST", path+"/messages", object{"body": "Hello"})
		},
		"a note": func(path string) moduletest.Response {
			return user.Call("POST", path+"/messages", object{"body": "A note", "isPrivate": true})
		},
		"a file": func(path string) moduletest.Response {
			return user.Upload(path, nil, messagingtest.File{Name: "a.pdf", Content: pdfFile})
		},
		"reading": func(path string) moduletest.Response { return user.Call("GET", path+"/messages", nil) },
	} {
		ticket := receiveFrom(company, connection, "Ana", "Hi")
		responses := heldTicket(company, ticket, fmt.Sprintf(`update messaging.tickets set status = 'open', user_id = %d`, owner), func() moduletest.Response { return write(messagingtest.TicketPath(ticket)) })
		require.Equal(t, 403, responses[0].Status, "%s: %s", name, responses[0].Text)
		require.EqualValues(t, 1, company.Get(messagingtest.TicketPath(ticket))["unreadMessages"], name)
		require.Equal(t, []string{"Hi"}, bodies(company, messagingtest.TicketPath(ticket)), name)
	}
}

// What is another company's is not there, in paths and inside bodies.
func TestTicketsOfAnotherCompany(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection := company.Connect()
	ana := receiveFrom(company, connection, "Ana", "Hi")
	path := messagingtest.TicketPath(ana)
	other := company.AnotherCompany()
	otherConnection := other.Connect()
	before := company.Get(path)
	other.OK(404, "GET", path, nil)
	other.OK(404, "PUT", path, object{"status": "closed"})
	other.OK(404, "DELETE", path, nil)
	other.OK(404, "GET", path+"/messages", nil)
	other.OK(404, "POST", path+"/messages", object{"body": "x"})
	require.Equal(t, "ERR_NO_CONTACT_FOUND", other.OK(404, "POST", "/tickets", object{"contactId": ana["contactId"]})["error"])
	require.Equal(t, "ERR_NO_WAPP_FOUND", other.OK(404, "POST", "/tickets", object{"contactId": ana["contactId"], "whatsappId": connection.ID})["error"])

	theirs := receiveFrom(other, otherConnection, "Caio", "Oi")
	theirMessage := other.Get(messagingtest.TicketPath(theirs) + "/messages")["messages"].([]any)[0].(object)["id"]
	require.Equal(t, "ERR_NO_MESSAGE_FOUND", company.OK(404, "POST", path+"/messages", object{"body": "x", "quotedMsgId": theirMessage})["error"])
	require.Equal(t, "ERR_NO_WAPP_FOUND", company.OK(404, "PUT", path, object{"whatsappId": otherConnection.ID})["error"])
	require.Equal(t, "ERR_NO_USER_FOUND", company.OK(404, "PUT", path, object{"userId": other.OK(200, "PUT", messagingtest.TicketPath(theirs), object{"status": "open"})["userId"]})["error"])
	require.Equal(t, before, company.Get(path))
}

// Errors that belong to no operation have the platform's names too.
func TestErrorsOutsideOfRoutes(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	for _, test := range []struct {
		method, path, name string
		status             int
	}{
		{"GET", "/tickets/1/nothing", "ERR_NOT_FOUND", 404},
		{"POST", "/reports/nothing", "ERR_NOT_FOUND", 404},
		{"DELETE", "/tickets", "ERR_METHOD_NOT_ALLOWED", 405},
		{"PATCH", "/company", "ERR_METHOD_NOT_ALLOWED", 405},
	} {
		refused := company.Refused(test.status, test.name, test.method, test.path, nil)
		require.Equal(t, strings.ToLower(strings.TrimPrefix(test.name, "ERR_")), refused["code"])
		require.EqualValues(t, test.status, refused["status"])
	}
}

// A member of a message with the wrong JSON type is named.
func TestMessageWithWrongTypes(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	line, phone := company.Connect(), company.AddPhone("Ana")
	company.SendFromPhone(phone, line, "Hi")
	path := messagingtest.TicketPath(company.Tickets("")[0]) + "/messages"
	for name, test := range map[string]struct {
		value any
		rule  string
	}{
		"body": {5, "must be a string"}, "isPrivate": {"yes", "must be true or false"}, "mediaUrl": {true, "must be a string"}, "mediaType": {object{}, "must be a string"}, "quotedMsgId": {1.5, "must be a string"},
	} {
		refused := company.Refused(400, "ERR_VALIDATION", "POST", path, object{"body": "Hello", name: test.value})
		require.Equal(t, []any{object{"location": "body." + name, "message": test.rule}}, refused["errors"], name)
	}
	refused := company.Refused(400, "ERR_VALIDATION", "POST", path, object{"body": "Hello", "mediaType": "image"})
	require.Equal(t, "body.mediaUrl", refused["errors"].([]any)[0].(object)["location"], "a file was meant")
	company.Refused(400, "ERR_VALIDATION", "POST", path, []any{})
	require.EqualValues(t, 1, company.Get(path)["count"])
}

// What a request names comes before what the company lacks: an id that it does not have is a 404,
// with a connection or without.
func TestUnknownIDsWithoutConnection(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	other := company.AnotherCompany()
	theirs, queue := other.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "5511987654321"}), other.AddQueueRow("Sales", "#0000aa")
	own := company.OK(201, "POST", "/contacts", object{"name": "Bia", "number": "5511987654322"})
	for _, contact := range []any{theirs["id"], 99999999} {
		company.Refused(404, "ERR_NO_CONTACT_FOUND", "POST", "/tickets", object{"contactId": contact})
	}
	company.Refused(404, "ERR_QUEUE_NOT_FOUND", "POST", "/tickets", object{"contactId": own["id"], "queueId": queue})
	company.Refused(404, "ERR_NO_USER_FOUND", "POST", "/tickets", object{"contactId": own["id"], "userId": 99999999})
	company.Refused(404, "ERR_NO_WAPP_FOUND", "POST", "/tickets", object{"contactId": own["id"], "whatsappId": 99999999})
	company.Refused(400, "ERR_NO_DEF_WAPP_FOUND", "POST", "/tickets", object{"contactId": own["id"]})
	program := company.As(company.APIToken())
	program.Refused(404, "ERR_QUEUE_NOT_FOUND", "POST", "/api/messages/send", object{"number": "5511987654321", "body": "x", "queueId": queue})
	program.Refused(400, "ERR_WAPP_NOT_INITIALIZED", "POST", "/api/messages/send", object{"number": "5511987654321", "body": "x"})
}
