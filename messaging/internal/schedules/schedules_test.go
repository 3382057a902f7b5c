package schedules_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

var monday = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// newContact makes a contact with a phone.
func newContact(company *messagingtest.Company, name string) (id int64, number string) {
	company.T.Helper()
	number = company.AddPhone(name)
	return messagingtest.ID(company.OK(201, "POST", "/contacts", object{"name": name, "number": number})), number
}

// runNow runs the job several times at once, as processes do.
func runNow(company *messagingtest.Company) {
	company.T.Helper()
	var running sync.WaitGroup
	job := company.Hub.Job("schedules")
	errs := make([]error, 4)
	for i := range errs {
		running.Go(func() { errs[i] = job.Run(company.T.Context(), nil) })
	}
	running.Wait()
	for _, err := range errs {
		require.NoError(company.T, err)
	}
	require.Eventually(company.T, func() bool { // the hub runs it, too
		var due int
		require.NoError(company.T, company.Hub.Host.Pool.QueryRow(company.T.Context(), `select count(*) from schedules where status = 'pending' and send_at <= $1`, company.Hub.Clock.Now()).Scan(&due))
		return due == 0
	}, time.Minute, 10*time.Millisecond)
	company.FlushOutbox()
}

// A scheduled message is sent once when it is due, also hours late, in a ticket of its user.
func TestSchedule(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, monday)
	company.Connect()
	caio, caioID := company.AddUser(nil)
	ana, number := newContact(company, "Ana")
	made := caio.OK(201, "POST", "/schedules", object{"body": "Happy birthday!", "sendAt": "2027-03-01T12:00:00-03:00", "contactId": ana})
	require.Equal(t, []any{"pending", "2027-03-01T15:00:00Z", nil, 0.0}, []any{made["status"], made["sendAt"], made["messageId"], made["attempts"]})
	path := messagingtest.Path("/schedules", made)
	company.Advance(3*time.Hour - time.Second)
	runNow(company)
	require.Empty(t, company.Inbox(number))
	require.Equal(t, "pending", company.Get(path)["status"])
	company.Advance(5 * time.Hour)
	runNow(company)
	runNow(company)
	require.Equal(t, []string{"Happy birthday!"}, company.Inbox(number))
	sent := company.Get(path)
	require.Equal(t, []any{"sent", 1.0, nil, "2027-03-01T19:59:59Z"}, []any{sent["status"], sent["attempts"], sent["error"], sent["sentAt"]})
	ticket := company.Get(fmt.Sprintf("/tickets/%v", sent["ticketId"]))
	require.Equal(t, []any{"open", float64(caioID)}, []any{ticket["status"], ticket["userId"]})
	message := company.Get(fmt.Sprintf("/tickets/%v/messages", sent["ticketId"]))["messages"].([]any)[0].(object)
	require.Equal(t, []any{"schedule", sent["messageId"], float64(caioID)}, []any{message["origin"], message["id"], message["userId"]})
	company.Refused(400, "ERR_INVALID_TRANSITION", "PUT", path, object{"body": "Again"})

	// The live ticket takes the next.
	company.OK(201, "POST", "/schedules", object{"body": "{{ms}}, {{firstName}}", "sendAt": company.Hub.Clock.Now().Add(time.Minute), "contactId": ana})
	company.Advance(2 * time.Minute)
	runNow(company)
	require.Equal(t, []string{"Happy birthday!", "Boa tarde, Ana"}, company.Inbox(number), "with its variables")
	require.Len(t, company.Tickets(""), 1)
}

// While the network is away a due message waits in the outbox; it is written once.
func TestScheduleWaitsForTheNetwork(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, monday)
	company.Connect()
	ana, number := newContact(company, "Ana")
	path := messagingtest.Path("/schedules", company.OK(201, "POST", "/schedules", object{"body": "Hi", "sendAt": monday.Add(time.Minute), "contactId": ana}))
	company.SetNetwork("offline")
	company.Advance(time.Hour)
	require.Eventually(t, func() bool {
		company.RunJob("schedules")
		return company.Get(path)["status"] == "queued"
	}, time.Minute, 10*time.Millisecond)
	company.RunJob("schedules")
	company.RunJob("schedules")
	var written int
	require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from messages`).Scan(&written))
	require.Equal(t, 1, written)
	company.SetNetwork("online")
	company.Advance(time.Hour)
	runNow(company)
	require.Equal(t, []string{"Hi"}, company.Inbox(number))
	require.Equal(t, "sent", company.Get(path)["status"])
}

func TestScheduleThatFails(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, monday)
	ana, number := newContact(company, "Ana")
	nobody := messagingtest.ID(company.OK(201, "POST", "/contacts", object{"name": "Nobody", "number": "5511987650000"}))
	later := func() time.Time { return company.Hub.Clock.Now().Add(time.Minute) }
	schedule := func(contact int64) string {
		return messagingtest.Path("/schedules", company.OK(201, "POST", "/schedules", object{"body": "Hi", "sendAt": later(), "contactId": contact}))
	}
	failure := func(path string) any {
		company.Advance(2 * time.Minute)
		runNow(company)
		row := company.Get(path)
		require.Equal(t, "error", row["status"])
		return row["error"]
	}
	path := schedule(ana)
	require.Equal(t, "no_connection", failure(path))
	company.Connect()
	company.Refused(400, "ERR_INVALID_TRANSITION", "PUT", path, object{"body": "Hello"})
	again := company.OK(200, "PUT", path, object{"sendAt": later()})
	require.Equal(t, []any{"pending", nil}, []any{again["status"], again["error"]})
	company.Advance(2 * time.Minute)
	runNow(company)
	require.Equal(t, "sent", company.Get(path)["status"])
	require.Equal(t, "not_registered", failure(schedule(nobody)))
	company.OK(200, "PUT", fmt.Sprintf("/contacts/%d", ana), object{"consent": "opted_out"})
	require.Equal(t, "opted_out", failure(schedule(ana)))
	require.Len(t, company.Inbox(number), 1)

	waiting := schedule(ana)
	company.OK(200, "DELETE", waiting, nil)
	company.Refused(404, "ERR_NO_SCHEDULE_FOUND", "GET", waiting, nil)
	deleted := schedule(ana)
	company.OK(200, "POST", fmt.Sprintf("/contacts/%d/anonymize", ana), nil)
	company.Refused(404, "ERR_NO_SCHEDULE_FOUND", "GET", deleted, nil)
}

func TestScheduleValidation(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, monday)
	connection := company.Connect()
	ana, number := newContact(company, "Ana")
	bruno, _ := newContact(company, "Bruno")
	company.SendFromPhone(number, connection, "Hi")
	ticket := messagingtest.ID(company.Tickets("")[0])
	other := company.AnotherCompany()
	theirs, theirPhone := newContact(other, "Ana")
	theirConnection := other.Connect()
	other.SendFromPhone(theirPhone, theirConnection, "Hi")
	theirTicket := messagingtest.ID(other.Tickets("")[0])
	const future = "2027-03-01T15:00:00Z"
	for name, refusal := range map[string]struct {
		status int
		code   string
		body   any
	}{
		"now":                      {400, "ERR_SCHEDULE_PAST", object{"body": "x", "sendAt": monday, "contactId": ana}},
		"yesterday":                {400, "ERR_SCHEDULE_PAST", object{"body": "x", "sendAt": monday.AddDate(0, 0, -1), "contactId": ana}},
		"no time":                  {400, "ERR_VALIDATION", object{"body": "x", "sendAt": "tomorrow", "contactId": ana}},
		"without an offset":        {400, "ERR_VALIDATION", object{"body": "x", "sendAt": "2027-03-02T10:00:00", "contactId": ana}},
		"an empty body":            {400, "ERR_EMPTY_BODY", object{"body": " ", "sendAt": future, "contactId": ana}},
		"an invisible body":        {400, "ERR_EMPTY_BODY", object{"body": "\u200b", "sendAt": future, "contactId": ana}},
		"no contact":               {400, "ERR_VALIDATION", object{"body": "x", "sendAt": future}},
		"another company's":        {404, "ERR_NO_CONTACT_FOUND", object{"body": "x", "sendAt": future, "contactId": theirs}},
		"its ticket":               {404, "ERR_NO_TICKET_FOUND", object{"body": "x", "sendAt": future, "contactId": ana, "ticketId": theirTicket}},
		"another contact's ticket": {404, "ERR_NO_TICKET_FOUND", object{"body": "x", "sendAt": future, "contactId": bruno, "ticketId": ticket}},
		"its connection":           {404, "ERR_NO_WAPP_FOUND", object{"body": "x", "sendAt": future, "contactId": ana, "whatsappId": theirConnection.ID}},
	} {
		refused := company.Call("POST", "/schedules", refusal.body)
		require.Equal(t, refusal.status, refused.Status, "%s: %s", name, refused.Text)
		require.Equal(t, refusal.code, refused.Body["error"], name)
	}
	require.EqualValues(t, 0, company.Get("/schedules")["count"])
	made := company.OK(201, "POST", "/schedules", object{"body": "Olá, Ana", "sendAt": future, "contactId": ana, "ticketId": ticket, "whatsappId": connection.ID})
	path := messagingtest.Path("/schedules", made)
	company.Refused(400, "ERR_SCHEDULE_PAST", "PUT", path, object{"sendAt": monday})
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		other.Refused(404, "ERR_NO_SCHEDULE_FOUND", method, path, object{"body": "Stolen"})
	}
	require.Equal(t, made, company.Get(path))
	require.EqualValues(t, 0, other.Get("/schedules")["count"])

	// Users have their own; administrators all.
	caio, _ := company.AddUser(nil)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		caio.Refused(403, "ERR_NO_PERMISSION", method, path, object{"body": "Stolen"})
	}
	caio.OK(201, "POST", "/schedules", object{"body": "Mine", "sendAt": future, "contactId": bruno})
	require.EqualValues(t, 1, caio.Get("/schedules")["count"])
	for filter, count := range map[string]int{"": 2, "?searchParam=ola": 1, "?status=pending": 2, "?status=PENDENTE": 2, "?status=sent": 0, fmt.Sprintf("?contactId=%d", bruno): 1, fmt.Sprintf("?userId=%v", made["userId"]): 1} {
		require.EqualValues(t, count, company.Get("/schedules" + filter)["count"], filter)
	}
}

// A file goes with the text. It is not taken for an abandoned one while it waits.
func TestScheduledFile(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, monday)
	connection := company.Connect()
	ana, number := newContact(company, "Ana")
	company.SendFromPhone(number, connection, "Hi")
	ticket := messagingtest.TicketPath(company.Tickets("")[0])
	file := company.Upload(ticket, nil, messagingtest.File{Name: "a.pdf", Content: []byte("%PDF-1.7")}).Body["mediaUrl"]
	made := company.OK(201, "POST", "/schedules", object{"body": "Here it is", "sendAt": monday.AddDate(0, 0, 3), "contactId": ana, "mediaUrl": file})
	require.Equal(t, file, made["mediaUrl"])
	company.OK(200, "DELETE", ticket, nil)
	company.Advance(3*24*time.Hour + time.Minute)
	company.RunJob("abandoned-media")
	runNow(company)
	sent := company.Get(messagingtest.Path("/schedules", made))
	require.Equal(t, []any{"sent", nil}, []any{sent["status"], sent["error"]})
	message := company.Get(fmt.Sprintf("/tickets/%v/messages", sent["ticketId"]))["messages"].([]any)[0].(object)
	require.Equal(t, []any{"document", file, "Here it is"}, []any{message["mediaType"], message["mediaUrl"], message["body"]})
	other := company.AnotherCompany()
	theirs, _ := newContact(other, "Bruno")
	other.Refused(404, "ERR_NO_MEDIA_FOUND", "POST", "/schedules", object{"body": "x", "sendAt": monday.AddDate(1, 0, 0), "contactId": theirs, "mediaUrl": file})
}
