package campaigns_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// monday is a Monday at 9 in São Paulo.
var monday = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// audience are contacts with phones.
type audience struct {
	*messagingtest.Company
	connection messagingtest.Connection
	contacts   []int64
	numbers    []string
}

// newAudience makes a company with a connection and contacts.
func newAudience(t *testing.T, size int) *audience {
	t.Helper()
	return audienceOf(messagingtest.NewCompanyAt(t, monday), size)
}

// audienceOf makes a connection and contacts of a company.
func audienceOf(company *messagingtest.Company, size int) *audience {
	company.T.Helper()
	a := &audience{Company: company, connection: company.Connect()}
	for i := range size {
		name := fmt.Sprintf("Contact %d", i)
		number := a.AddPhone(name)
		a.contacts = append(a.contacts, messagingtest.ID(a.OK(201, "POST", "/contacts", object{"name": name, "number": number, "email": fmt.Sprintf("c%d@example.com", i)})))
		a.numbers = append(a.numbers, number)
	}
	return a
}

// create makes a campaign to all contacts and returns its path.
func (a *audience) create(fields object) string {
	a.T.Helper()
	body := object{"name": "Offers", "message1": "Hi", "whatsappId": a.connection.ID, "contactIds": a.contacts, "messageInterval": 0, "longerIntervalAfter": 0}
	for name, value := range fields {
		if body[name] = value; value == nil {
			delete(body, name)
		}
	}
	return messagingtest.Path("/campaigns", a.OK(201, "POST", "/campaigns", body))
}

// received returns what every phone got, in the order of the phones.
func (a *audience) received() (texts []string) {
	a.T.Helper()
	for _, number := range a.numbers {
		texts = append(texts, strings.Join(a.Inbox(number), "|"))
	}
	return texts
}

// run runs the job until nothing is due any more.
func (a *audience) run() {
	a.T.Helper()
	require.Eventually(a.T, func() bool {
		a.RunJob("campaigns")
		var due int
		require.NoError(a.T, a.Hub.Host.Pool.QueryRow(a.T.Context(), `select count(*) from campaign_progress where next_send_at <= $1`, a.Hub.Clock.Now()).Scan(&due))
		a.FlushOutbox() // after the count: the hub's own run of the job may have dispatched meanwhile
		return due == 0
	}, time.Minute, 10*time.Millisecond)
}

// sent advances the clock, runs the job and returns how many messages the network has accepted.
func (a *audience) sent(path string, after time.Duration) int {
	a.T.Helper()
	a.Advance(after)
	a.run()
	return int(a.Get(path)["counters"].(object)["sent"].(float64))
}

// counters returns the counters without those that are 0.
func (a *audience) counters(path string) object {
	a.T.Helper()
	counters := a.Get(path)["counters"].(object)
	for name, n := range counters {
		if n == 0.0 {
			delete(counters, name)
		}
	}
	return counters
}

// Each contact gets the campaign once: the texts take turns, with their variables. There is no
// ticket until the contact answers; then it begins with the campaign's message.
func TestCampaign(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 5)
	a.OK(200, "PUT", messagingtest.ConnectionPath(a.connection), object{"greetingMessage": "Welcome"})
	path := a.create(object{"message1": "Hi {nome}, {email}", "message2": "", "message3": "Hello {numero}", "contactIds": append(slices.Clone(a.contacts), a.contacts...)})
	draft := a.Get(path)
	require.Equal(t, []any{"draft", nil, "Hello {numero}", ""}, []any{draft["status"], draft["startedAt"], draft["message3"], draft["message2"]})
	require.Equal(t, object{"total": 5.0, "pending": 5.0}, a.counters(path))
	a.run()
	require.Equal(t, make([]string, 5), a.received(), "it was not started")
	require.Equal(t, "running", a.OK(200, "POST", path+"/start", nil)["status"])
	a.run()
	a.sent(path, 2*time.Second)
	require.Equal(t, []string{"Hi Contact 0, c0@example.com", "Hello " + a.numbers[1], "Hi Contact 2, c2@example.com", "Hello " + a.numbers[3], "Hi Contact 4, c4@example.com"}, a.received())
	finished := a.Get(path)
	require.Equal(t, "finished", finished["status"])
	require.NotNil(t, finished["completedAt"])
	require.Nil(t, finished["nextSendAt"])
	require.Equal(t, object{"total": 5.0, "sent": 5.0, "delivered": 5.0}, a.counters(path))
	a.OK(200, "POST", "/sandbox/phones/"+a.numbers[0]+"/read", nil)
	require.Equal(t, object{"total": 5.0, "sent": 5.0, "delivered": 5.0, "read": 1.0}, a.counters(path))
	require.Empty(t, a.Tickets(""))
	require.Equal(t, 5, a.Hub.Count("hub.events where event_type = 'message.sent' and priority = 1 and tenant_id = $1", a.Tenant), "no person waits for these")

	a.SendFromPhone(a.numbers[0], a.connection, "Tell me more")
	tickets := a.Tickets("")
	require.Len(t, tickets, 1)
	var bodies []string
	for _, message := range a.Get(messagingtest.TicketPath(tickets[0]) + "/messages")["messages"].([]any) {
		bodies = append(bodies, message.(object)["origin"].(string)+": "+message.(object)["body"].(string))
	}
	require.Equal(t, []string{"campaign: Hi Contact 0, c0@example.com", "contact: Tell me more"}, bodies)
	require.Len(t, a.Inbox(a.numbers[0]), 1, "no greeting: the company began the conversation")

	report := a.Get(path + "/report")
	require.EqualValues(t, 5, report["count"])
	row := report["records"].([]any)[0].(object)
	require.Equal(t, []any{"read", a.numbers[0], "Hi Contact 0, c0@example.com", "Contact 0", nil}, []any{row["status"], row["number"], row["message"], row["contactName"], row["error"]})
	require.EqualValues(t, 1, a.Get(path + "/report?status=read")["count"])
	require.Empty(t, a.Get(path + "/report?pageNumber=2")["records"])
}

// A campaign's file reaches each phone, with its name and its bytes, beside the text.
func TestCampaignFile(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 2)
	a.SendFromPhone(a.numbers[0], a.connection, "Hi")
	ticket := messagingtest.TicketPath(a.Tickets("")[0])
	content := []byte("%PDF-1.7 offers of March")
	file := a.Upload(ticket, nil, messagingtest.File{Name: "offers.pdf", Content: content}).Body["mediaUrl"]
	path := a.create(object{"message1": "Hi {nome}", "mediaUrl": file})
	a.OK(200, "DELETE", ticket, nil) // the campaign keeps the file
	a.OK(200, "POST", path+"/start", nil)
	require.Equal(t, 2, a.sent(path, 0))
	for i, number := range a.numbers {
		inbox := a.Get("/sandbox/phones/" + number + "/inbox")["messages"].([]any)
		received := inbox[len(inbox)-1].(object)
		require.Equal(t, []any{fmt.Sprintf("Hi Contact %d", i), 2 - i}, []any{received["body"], len(inbox)}, "the first phone has the uploaded file too")
		got := a.As("").Call("GET", received["mediaUrl"].(string), nil)
		require.Equal(t, []any{200, string(content)}, []any{got.Status, got.Text})
		require.Equal(t, []string{"application/pdf", "attachment; filename=offers.pdf"}, []string{got.Header.Get("Content-Type"), got.Header.Get("Content-Disposition")})
	}
}

// Intervals hold between messages; after some of them the longer one.
func TestIntervals(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 6)
	path := a.create(object{"messageInterval": 20, "longerIntervalAfter": 3, "greaterInterval": 60})
	a.OK(200, "POST", path+"/start", nil)
	a.run()
	for i, step := range []struct {
		after time.Duration
		sent  int
	}{{0, 1}, {19 * time.Second, 1}, {time.Second, 2}, {20 * time.Second, 3}, {20 * time.Second, 3}, {39 * time.Second, 3}, {time.Second, 4}, {time.Hour, 5}, {59 * time.Second, 5}, {time.Second, 6}} {
		require.Equal(t, step.sent, a.sent(path, step.after), "step %d", i)
	}
	// The connection's own interval holds too.
	a.OK(200, "PUT", messagingtest.ConnectionPath(a.connection), object{"sendIntervalMs": 5000})
	path = a.create(nil)
	a.OK(200, "POST", path+"/start", nil)
	require.Equal(t, 1, a.sent(path, 0))
	require.Equal(t, 1, a.sent(path, 4*time.Second))
	require.Equal(t, 2, a.sent(path, time.Second))
}

// A campaign sends in its window on the company's clock, up to the connection's daily limit.
func TestWindowAndLimit(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 5)
	a.OK(200, "PUT", messagingtest.ConnectionPath(a.connection), object{"dailyLimit": 2})
	path := a.create(object{"sendWindow": object{"start": "10:00", "end": "18:00", "days": []int{1, 3}}})
	a.OK(200, "POST", path+"/start", nil)
	require.Equal(t, 0, a.sent(path, 59*time.Minute), "9:59 on Monday")
	require.Equal(t, 2, a.sent(path, time.Minute))
	second := a.create(nil)
	a.OK(200, "POST", second+"/start", nil)
	require.Equal(t, 0, a.sent(second, 7*time.Hour), "17:00: the limit is the connection's")
	require.Equal(t, 2, a.sent(path, 0))
	require.Equal(t, 2, a.sent(second, 7*time.Hour), "midnight")
	require.Equal(t, 2, a.sent(path, 24*time.Hour), "Wednesday has begun, the window has not")
	require.Equal(t, 4, a.sent(second, 0))
	require.Equal(t, 2, a.sent(path, 10*time.Hour), "the other campaign was faster")
	a.OK(200, "PUT", messagingtest.ConnectionPath(a.connection), object{"dailyLimit": 100})
	require.Equal(t, 5, a.sent(path, 5*24*time.Hour), "Monday")
}

// A cancelled campaign sends nothing, and goes on where it was.
func TestCancelAndResume(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 4)
	path := a.create(object{"messageInterval": 60})
	a.Refused(400, "ERR_INVALID_TRANSITION", "POST", path+"/cancel", nil)
	a.OK(200, "POST", path+"/start", nil)
	require.Equal(t, 1, a.sent(path, 0))
	for _, method := range []string{"POST " + path + "/start", "PUT " + path, "DELETE " + path} {
		verb, target, _ := strings.Cut(method, " ")
		a.Refused(400, "ERR_INVALID_TRANSITION", verb, target, object{"name": "Other"})
	}
	require.Equal(t, "cancelled", a.OK(200, "POST", path+"/cancel", nil)["status"])
	require.Equal(t, 1, a.sent(path, time.Hour))
	a.Refused(400, "ERR_INVALID_TRANSITION", "POST", path+"/cancel", nil)
	a.Refused(400, "ERR_INVALID_TRANSITION", "PUT", path, object{"contactIds": a.contacts})
	require.Equal(t, "Second", a.OK(200, "PUT", path, object{"message1": "Second", "messageInterval": 0})["message1"])
	require.Equal(t, "running", a.OK(200, "POST", path+"/start", nil)["status"])
	require.Equal(t, 4, a.sent(path, 0))
	a.sent(path, 2*time.Second)
	require.Equal(t, []string{"Hi", "Second", "Second", "Second"}, a.received(), "each once")
	for _, state := range []string{"start", "cancel"} {
		a.Refused(400, "ERR_INVALID_TRANSITION", "POST", path+"/"+state, nil)
	}
	a.OK(200, "DELETE", path, nil)
	a.Refused(404, "ERR_NO_CAMPAIGN_FOUND", "GET", path, nil)
}

// What waits in the outbox when a campaign is cancelled is not sent, and once after it goes on.
func TestCancelTakesBack(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 3)
	path := a.create(nil)
	// The network is away after the messages were written.
	_, err := a.Hub.Host.Pool.Exec(t.Context(), `update sandbox_sessions set state = 'offline'`)
	require.NoError(t, err)
	a.OK(200, "POST", path+"/start", nil)
	require.Eventually(t, func() bool {
		a.RunJob("campaigns")
		var waiting int
		require.NoError(t, a.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from outbox where leased_until is null`).Scan(&waiting))
		return waiting == 3
	}, time.Minute, 10*time.Millisecond)
	a.OK(200, "POST", path+"/cancel", nil)
	a.SetNetwork("online")
	a.Advance(time.Hour)
	a.run()
	require.Equal(t, make([]string, 3), a.received())
	require.Equal(t, object{"total": 3.0, "pending": 3.0}, a.counters(path))
	require.Equal(t, 3, a.count(`select count(*) from messages where ack = -1 and error_code = 'campaign_cancelled'`))
	a.exec(`delete from messages where contact_id = $1`, a.contacts[0]) // as with a ticket: it is written anew
	a.OK(200, "POST", path+"/start", nil)
	require.Equal(t, 3, a.sent(path, 0))
	require.Equal(t, []string{"Hi", "Hi", "Hi"}, a.received())
	var messages int
	require.NoError(t, a.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from messages`).Scan(&messages))
	require.Equal(t, 3, messages, "the same messages")
	require.Equal(t, 3, a.count(`select count(*) from messages where ack = 2 and error_code is null`))
}

// Contacts that opted out or were anonymized are skipped; a number the network refuses fails.
func TestSkippedContacts(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 3)
	a.contacts = append(a.contacts, messagingtest.ID(a.OK(201, "POST", "/contacts", object{"name": "Nobody", "number": "5511987650000"})))
	path := a.create(nil)
	a.OK(200, "PUT", fmt.Sprintf("/contacts/%d", a.contacts[0]), object{"consent": "opted_out"})
	a.OK(200, "POST", fmt.Sprintf("/contacts/%d/anonymize", a.contacts[1]), nil)
	a.OK(200, "POST", path+"/start", nil)
	a.sent(path, 2*time.Second)
	a.sent(path, 2*time.Second)
	require.Equal(t, []string{"", "", "Hi"}, a.received())
	require.Equal(t, object{"total": 4.0, "skipped": 2.0, "failed": 1.0, "sent": 1.0, "delivered": 1.0}, a.counters(path))
	require.Equal(t, "finished", a.Get(path)["status"])
	var errors []any
	for _, row := range a.Get(path + "/report")["records"].([]any) {
		errors = append(errors, row.(object)["error"])
	}
	require.Equal(t, []any{"opted_out", "anonymized", nil, "not_registered"}, errors)
	// A deleted contact is counted no more.
	a.OK(200, "DELETE", fmt.Sprintf("/contacts/%d", a.contacts[2]), nil)
	require.Equal(t, object{"total": 3.0, "skipped": 2.0, "failed": 1.0}, a.counters(path))
}

// With confirmation a contact is asked first; no, silence and opting out are no agreement.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 4)
	path := a.create(object{"confirmation": true, "confirmationMessage1": "May we, {nome}?", "message1": "Offer"})
	a.OK(200, "POST", path+"/start", nil)
	a.run()
	require.Equal(t, "May we, Contact 3?", a.received()[3])
	require.Equal(t, object{"total": 4.0, "pending": 4.0}, a.counters(path))
	a.SendFromPhone(a.numbers[0], a.connection, "Sim")
	a.SendFromPhone(a.numbers[1], a.connection, "não")
	a.SendFromPhone(a.numbers[2], a.connection, "SAIR")
	a.sent(path, time.Minute)
	require.Equal(t, "May we, Contact 0?|Offer", a.received()[0])
	require.Equal(t, "running", a.Get(path)["status"])
	require.Equal(t, object{"total": 4.0, "pending": 1.0, "skipped": 2.0, "sent": 1.0, "delivered": 1.0}, a.counters(path))
	a.sent(path, 25*time.Hour)
	require.Equal(t, "finished", a.Get(path)["status"])
	a.SendFromPhone(a.numbers[3], a.connection, "Sim")
	a.sent(path, time.Minute)
	require.Equal(t, "May we, Contact 3?", a.received()[3], "too late")
	require.Equal(t, object{"total": 4.0, "skipped": 3.0, "sent": 1.0, "delivered": 1.0}, a.counters(path))
}

// A scheduled campaign starts by itself, with the contacts its list and tags have then.
func TestScheduledCampaign(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 3)
	tag := messagingtest.ID(a.OK(201, "POST", "/tags", object{"name": "VIP"}))
	list := messagingtest.ID(a.OK(201, "POST", "/contact-lists", object{"name": "March", "contactIds": a.contacts[:1]}))
	path := a.create(object{"contactIds": nil, "tagIds": []int64{tag}, "contactListId": list, "scheduledAt": monday.Add(time.Hour)})
	require.Equal(t, "scheduled", a.Get(path)["status"])
	for _, contact := range a.contacts[:2] {
		a.OK(200, "PUT", fmt.Sprintf("/contacts/%d", contact), object{"tagIds": []int64{tag}})
	}
	require.Equal(t, 0, a.sent(path, 59*time.Minute))
	require.Equal(t, 2, a.sent(path, 4*time.Hour), "also when it is late")
	require.Equal(t, []string{"Hi", "Hi", ""}, a.received())
	cancelled := a.create(object{"scheduledAt": a.Hub.Clock.Now().Add(time.Hour)})
	require.Equal(t, "draft", a.OK(200, "PUT", cancelled, object{"scheduledAt": nil})["status"])
	require.Equal(t, "scheduled", a.OK(200, "PUT", cancelled, object{"scheduledAt": a.Hub.Clock.Now().Add(time.Hour)})["status"])
	require.Equal(t, "cancelled", a.OK(200, "POST", cancelled+"/cancel", nil)["status"])
	require.Equal(t, 0, a.sent(cancelled, 2*time.Hour))
	for filter, count := range map[string]int{"": 2, "?status=cancelled": 1, "?status=CANCELADA": 1, "?status=running": 0, "?searchParam=OFF": 2, "?searchParam=x": 0} {
		require.EqualValues(t, count, a.Get("/campaigns" + filter)["count"], filter)
	}
}

// A scheduled campaign that a user starts earlier runs at once, and is not started again at its
// time: each contact gets it once, at the intervals that began with the first message.
func TestScheduledCampaignIsStartedEarly(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 3)
	path := a.create(object{"message2": "Hello", "scheduledAt": monday.Add(time.Hour), "messageInterval": 45 * 60})
	started := a.OK(200, "POST", path+"/start", nil)
	require.Equal(t, []any{"running", monday.Format(time.RFC3339)}, []any{started["status"], started["startedAt"]})
	require.Equal(t, 1, a.sent(path, 0))
	require.Equal(t, 2, a.sent(path, 45*time.Minute))
	require.Equal(t, 2, a.sent(path, 15*time.Minute+time.Second), "its time has come")
	later := a.Get(path)
	require.Equal(t, []any{"running", started["startedAt"], monday.Add(90 * time.Minute).Format(time.RFC3339)}, []any{later["status"], later["startedAt"], later["nextSendAt"]})
	require.Equal(t, 3, a.sent(path, 30*time.Minute))
	require.Equal(t, 3, a.sent(path, 24*time.Hour))
	require.Equal(t, []string{"Hi", "Hello", "Hi"}, a.received())
	require.Equal(t, []any{"finished", started["startedAt"]}, []any{a.Get(path)["status"], a.Get(path)["startedAt"]})
}

func TestCampaignValidation(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 1)
	other := a.AnotherCompany()
	theirConnection := other.Connect()
	theirs := messagingtest.ID(other.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "5511955554444"}))
	theirTag := messagingtest.ID(other.OK(201, "POST", "/tags", object{"name": "VIP"}))
	theirList := messagingtest.ID(other.OK(201, "POST", "/contact-lists", object{"name": "March"}))
	for name, refusal := range map[string]struct {
		status int
		code   string
		field  string
		value  any
	}{
		"no name":             {400, "ERR_CAMPAIGN_REQUIRED", "name", " "},
		"a short name":        {400, "ERR_CAMPAIGN_INVALID_NAME", "name", "ab"},
		"no message":          {400, "ERR_VALIDATION", "message1", " "},
		"no question":         {400, "ERR_VALIDATION", "confirmation", true},
		"a long message":      {400, "ERR_VALIDATION", "message2", strings.Repeat("x", 4097)},
		"a negative interval": {400, "ERR_VALIDATION", "messageInterval", -1},
		"a long interval":     {400, "ERR_VALIDATION", "greaterInterval", 86401},
		"no window":           {400, "ERR_VALIDATION", "sendWindow", object{"start": "20:00", "end": "08:00", "days": []int{1}}},
		"day 8":               {400, "ERR_VALIDATION", "sendWindow", object{"start": "08:00", "end": "20:00", "days": []int{8}}},
		"the past":            {400, "ERR_SCHEDULE_PAST", "scheduledAt", monday},
		"no time":             {400, "ERR_VALIDATION", "scheduledAt", "tomorrow"},
		"no connection":       {400, "ERR_VALIDATION", "whatsappId", nil},
		"their connection":    {404, "ERR_NO_WAPP_FOUND", "whatsappId", theirConnection.ID},
		"their contact":       {404, "ERR_NO_CONTACT_FOUND", "contactIds", []int64{a.contacts[0], theirs}},
		"their tag":           {404, "ERR_NO_TAG_FOUND", "tagIds", []int64{theirTag}},
		"their list":          {404, "ERR_NO_CONTACT_LIST_FOUND", "contactListId", theirList},
	} {
		body := object{"name": "Offers", "message1": "Hi", "whatsappId": a.connection.ID}
		body[refusal.field] = refusal.value
		refused := a.Call("POST", "/campaigns", body)
		require.Equal(t, refusal.status, refused.Status, "%s: %s", name, refused.Text)
		require.Equal(t, refusal.code, refused.Body["error"], name)
	}
	require.EqualValues(t, 0, a.Get("/campaigns")["count"])
	empty := a.create(object{"contactIds": []int64{}})
	a.Refused(400, "ERR_CAMPAIGN_REQUIRED", "POST", empty+"/start", nil)
	require.Equal(t, "draft", a.Get(empty)["status"])
	before := a.Get(empty)
	a.Refused(404, "ERR_NO_CONTACT_FOUND", "PUT", empty, object{"name": "Stolen", "contactIds": []int64{theirs}})
	for _, call := range []string{"GET ", "PUT ", "DELETE ", "POST /start", "POST /cancel", "GET /report"} {
		method, below, _ := strings.Cut(call, " ")
		other.Refused(404, "ERR_NO_CAMPAIGN_FOUND", method, empty+below, object{"name": "Stolen"})
	}
	require.Equal(t, before, a.Get(empty))
	caio, _ := a.AddUser(nil)
	for _, call := range []string{"GET ", "PUT ", "DELETE ", "POST /start", "POST /cancel", "GET /report"} {
		method, below, _ := strings.Cut(call, " ")
		caio.Refused(403, "ERR_NO_PERMISSION", method, empty+below, object{"name": "Mine"})
	}
}

// A campaign ends once its last message is settled: no interval passes after that.
func TestCampaignEndsWithItsLastMessage(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 2)
	for contacts := range a.contacts {
		path := a.create(object{"messageInterval": 20, "contactIds": a.contacts[:contacts+1]})
		a.OK(200, "POST", path+"/start", nil)
		a.run()
		for range contacts {
			require.Equal(t, "running", a.Get(path)["status"])
			require.Equal(t, contacts, a.sent(path, 19*time.Second), "the interval stands between messages")
			a.sent(path, time.Second)
		}
		require.Equal(t, contacts+1, a.sent(path, time.Second))
		require.Equal(t, "finished", a.Get(path)["status"])
	}
}
