package api_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/messaging/internal/messagingtest"
)

// docs/interfaces/messaging.md: message.created, ticket.created, ticket.updated and contact.created reach a
// company's webhooks, with the resources as the API shows them, signed.
func TestWebhooksGetTheFourEvents(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	line, ana := company.Connect(), company.AddPhone("Ana")
	receiver, sentToo := messagingtest.NewReceiver(t), messagingtest.NewReceiver(t)
	all := []string{"message.created", "ticket.created", "ticket.updated", "contact.created"}
	created := company.OK(201, "POST", "/webhooks", object{"url": receiver.URL, "events": all})
	company.OK(201, "POST", "/webhooks", object{"url": sentToo.URL, "events": []string{"message.created"}, "includeSent": true})

	company.SendFromPhone(ana, line, "Hello")
	got := receiver.NextOf("contact.created", "ticket.created", "message.created")
	for _, event := range got {
		event.Verify(t, created["secret"].(string))
		require.Equal(t, "messaging", event.Product)
	}
	ticket := company.Tickets("")[0]
	path := fmt.Sprintf("/tickets/%v", ticket["id"])
	received := company.Get(path + "/messages")["messages"].([]any)[0].(object)
	message := got["message.created"].Data
	for _, member := range []string{"id", "ticketId", "body", "fromMe", "ack", "origin", "timestamp"} {
		require.Equal(t, received[member], message["message"].(object)[member], member)
	}
	require.Equal(t, object{"id": ticket["id"], "uuid": ticket["uuid"], "status": "pending", "queueId": nil, "userId": nil}, message["ticket"])
	require.Equal(t, object{"id": ticket["contactId"], "name": "Ana", "number": ana, "email": ""}, message["contact"])
	require.Equal(t, ticket["id"], got["ticket.created"].Data["ticket"].(object)["id"])
	require.Equal(t, "Ana", got["ticket.created"].Data["ticket"].(object)["contact"].(object)["name"])
	require.NotContains(t, got["ticket.created"].Data, "previousStatus")
	require.Equal(t, company.Get(fmt.Sprintf("/contacts/%v", ticket["contactId"]))["number"], got["contact.created"].Data["contact"].(object)["number"])
	require.Equal(t, "Hello", sentToo.Next().Data["message"].(object)["body"])

	company.OK(200, "PUT", path, object{"status": "open"})
	opened := receiver.Next()
	require.Equal(t, "ticket.updated", opened.Type)
	require.Equal(t, "pending", opened.Data["previousStatus"])
	require.Equal(t, "open", opened.Data["ticket"].(object)["status"])

	// A note is never sent, and the company's messages only where they were asked for. Closing comes
	// after both.
	company.OK(201, "POST", path+"/messages", object{"body": "a note", "isPrivate": true})
	company.OK(201, "POST", path+"/messages", object{"body": "Good morning"})
	company.OK(200, "PUT", path, object{"status": "closed"})
	require.Equal(t, "ticket.updated", receiver.Next().Type)
	answer := sentToo.Next()
	require.Equal(t, "message.created", answer.Type)
	require.Equal(t, "Good morning", answer.Data["message"].(object)["body"])
	require.Equal(t, true, answer.Data["message"].(object)["fromMe"])
	require.True(t, receiver.IsEmpty())
	require.True(t, sentToo.IsEmpty())

	// The log finds them by the contact's number, as people write it.
	for _, spelling := range []string{"%2B" + ana, ana, ana[2:], "(" + ana[2:4] + ")%20" + ana[4:9] + "-" + ana[9:]} {
		types := make(map[string]bool)
		for _, entry := range company.Get("/api/v1/integrations/webhook-logs?limit=100&phone=" + spelling)["items"].([]any) {
			types[entry.(object)["event_type"].(string)] = true
		}
		require.Subset(t, slices.Collect(maps.Keys(types)), all, spelling)
	}
	require.Empty(t, company.Get("/api/v1/integrations/webhook-logs?phone=%2B5511900000000")["items"])

	// Ordered webhooks get a ticket's events in order.
	require.Zero(t, company.Hub.Count("hub.events where deliveries > 0 and event_type <> 'contact.created' and ordering_key is distinct from $1", fmt.Sprint(ticket["id"])))
	require.Equal(t, 1, company.Hub.Count("hub.events where deliveries > 0 and event_type = 'contact.created' and ordering_key = $1", fmt.Sprint(ticket["contactId"])))
}

// A received file is in the event, with an address that needs no token; so the event comes once the
// file is there, or is given up.
func TestWebhookOfAReceivedFile(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	line, ana := company.Connect(), company.AddPhone("Ana")
	receiver := messagingtest.NewReceiver(t)
	company.OK(201, "POST", "/webhooks", object{"url": receiver.URL, "events": []string{"message.created"}})
	send := func(address string) object {
		company.OK(201, "POST", "/sandbox/phones/"+ana+"/send", object{"to": line.Number, "body": "", "mediaUrl": address})
		data := receiver.Next().Data
		require.Equal(t, ana, data["contact"].(object)["number"])
		require.Equal(t, company.Tickets("")[0]["uuid"], data["ticket"].(object)["uuid"])
		return data["message"].(object)
	}
	message := send("data:application/pdf;base64," + base64.StdEncoding.EncodeToString(pdfFile))
	require.Equal(t, []any{"document", float64(len(pdfFile)), "application/pdf"}, []any{message["mediaType"], message["size"], message["mimeType"]})
	require.Equal(t, string(pdfFile), company.As("").Call("GET", message["mediaUrl"].(string), nil).Text)
	require.Equal(t, lastMessages(company, messagingtest.TicketPath(company.Tickets("")[0]), 1)[0]["id"], message["id"])
	missing := send("data:image/png;base64,%%")
	require.Equal(t, []any{nil, "media_unavailable"}, []any{missing["mediaUrl"], missing["errorCode"]})
	company.SendFromPhone(ana, line, "Thanks")
	require.Equal(t, "Thanks", receiver.Next().Data["message"].(object)["body"])
	require.True(t, receiver.IsEmpty(), "each once")
}

// A change that leaves the status as it is, and another company's events, reach nobody.
func TestWebhooksAreNotCalledForNothing(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	other := company.AnotherCompany()
	line, ana := company.Connect(), company.AddPhone("Ana")
	foreign := messagingtest.NewReceiver(t)
	other.OK(201, "POST", "/webhooks", object{"url": foreign.URL, "events": []string{"message.created", "ticket.created", "ticket.updated", "contact.created"}})
	company.SendFromPhone(ana, line, "Hello")
	path := fmt.Sprintf("/tickets/%v", company.Tickets("")[0]["id"])
	receiver := messagingtest.NewReceiver(t)
	company.OK(201, "POST", "/webhooks", object{"url": receiver.URL, "events": []string{"ticket.updated"}})
	company.OK(200, "PUT", path, object{"resolution": "solved"})
	company.OK(200, "PUT", path, object{"status": "closed"})
	require.Equal(t, "closed", receiver.Next().Data["ticket"].(object)["status"])
	require.True(t, receiver.IsEmpty())
	require.True(t, foreign.IsEmpty())
}

// Whatever changes a ticket's status, the webhook gets ticket.updated with the status before and
// after. A ticket into which another one is merged is in checkMergeOfTickets.
func TestEachWayAStatusChanges(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))
	connection := company.Connect()
	receiver := messagingtest.NewReceiver(t)
	company.OK(201, "POST", "/webhooks", object{"url": receiver.URL, "events": []string{"ticket.updated"}})
	user, userID := company.AddUser(nil)
	ticket := receiveFrom(company, connection, "Ana", "Hi")
	path, phone := messagingtest.TicketPath(ticket), ticket["contact"].(object)["number"].(string)
	require.True(t, receiver.IsEmpty(), "a new ticket is not updated")
	changes := 0
	expect := func(before, after string) {
		t.Helper()
		changes++
		event := receiver.Next()
		require.Equal(t, []any{"ticket.updated", ticket["id"], before, after}, []any{event.Type, event.Data["ticket"].(object)["id"], event.Data["previousStatus"], event.Data["ticket"].(object)["status"]})
		require.Equal(t, after, company.Get(path)["status"])
	}
	change := func(fields object) { company.OK(200, "PUT", path, fields) }
	program, key := company.As(company.APIToken()), company.As(company.Hub.CreateKey(company.Tenant, hub.Live))

	// A user: each transition.
	for _, step := range [][2]string{{"pending", "open"}, {"open", "pending"}, {"pending", "closed"}, {"closed", "open"}, {"open", "closed"}, {"closed", "open"}, {"open", "closed"}} {
		change(object{"status": step[1]})
		expect(step[0], step[1])
	}
	// The contact.
	company.SendFromPhone(phone, connection, "One more thing")
	expect("closed", "pending")
	// Programs: with the send API, and as a connected product.
	program.OK(200, "POST", "/api/messages/send", object{"number": phone, "body": "Bye", "closeTicket": true})
	expect("pending", "closed")
	change(object{"status": "open"})
	expect("closed", "open")
	key.OK(200, "POST", "/api/v1/integrations/action/close-ticket", object{"ticket_id": fmt.Sprint(ticket["id"])})
	expect("open", "closed")
	// An administrator who disables the owner.
	company.SendFromPhone(phone, connection, "Hello?")
	expect("closed", "pending")
	user.OK(200, "PUT", path, object{"status": "open"})
	expect("pending", "open")
	company.OK(200, "PUT", fmt.Sprintf("/users/%d", userID), object{"isActive": false})
	expect("open", "pending")
	// The time.
	company.OK(200, "PUT", messagingtest.ConnectionPath(connection), object{"expiresTicket": 60})
	change(object{"status": "open"})
	expect("pending", "open")
	company.OK(201, "POST", path+"/messages", object{"body": "Which color?"})
	company.Advance(61 * time.Minute)
	company.RunJob("waiting-tickets")
	expect("open", "closed")
	// A user who anonymizes the contact.
	change(object{"status": "open"})
	expect("closed", "open")
	company.OK(200, "POST", fmt.Sprintf("/contacts/%v/anonymize", ticket["contactId"]), nil)
	expect("open", "closed")
	require.Equal(t, changes, company.Hub.Count("hub.events where event_type = 'ticket.updated' and tenant_id = $1", company.Tenant), "one event for each change")
}

// Moving a ticket to a user or a queue and tagging it change no status: no event says so.
func TestOtherChangesOfTicketsAreNoEvents(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	first, second := company.Connect(), company.Connect()
	receiver := messagingtest.NewReceiver(t)
	company.OK(201, "POST", "/webhooks", object{"url": receiver.URL, "events": []string{"ticket.updated"}})
	_, userID := company.AddUser(nil)
	queue, tag := company.OK(201, "POST", "/queue", object{"name": "Sales", "color": "#0000aa"}), company.OK(201, "POST", "/tags", object{"name": "VIP"})
	path := messagingtest.TicketPath(receiveFrom(company, first, "Ana", "Hi"))
	for _, fields := range []object{{"userId": userID}, {"queueId": queue["id"]}, {"tagIds": []any{tag["id"]}}, {"whatsappId": second.ID}, {"status": "pending"}, {"resolution": "x"}} {
		company.OK(200, "PUT", path, fields)
	}
	company.OK(201, "POST", path+"/messages", object{"body": "Hello"})
	company.OK(200, "PUT", path, object{"status": "closed"}) // this one is
	closed := receiver.Next().Data
	require.Equal(t, []any{"pending", "closed", float64(userID), queue["id"], "VIP", float64(second.ID)}, []any{
		closed["previousStatus"], closed["ticket"].(object)["status"], closed["ticket"].(object)["userId"], closed["ticket"].(object)["queueId"],
		closed["ticket"].(object)["tags"].([]any)[0].(object)["name"], closed["ticket"].(object)["whatsappId"]})
	require.Equal(t, 1, company.Hub.Count("hub.events where event_type = 'ticket.updated' and tenant_id = $1", company.Tenant))
}

func TestWebhookResource(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	receiver := messagingtest.NewReceiver(t)
	webhook := company.OK(201, "POST", "/webhooks", object{"url": receiver.URL, "events": []string{"ticket.updated", "message.created", "ticket.updated"}})
	require.Equal(t, []any{"message.created", "ticket.updated"}, webhook["events"])
	require.Equal(t, true, webhook["enabled"])
	require.Equal(t, false, webhook["includeSent"])
	require.Regexp(t, `^whsec_`, webhook["secret"])
	path := "/webhooks/" + webhook["id"].(string)
	shown := company.Get(path)
	require.NotContains(t, shown, "secret")
	require.Equal(t, receiver.URL, shown["url"])

	changed := company.OK(200, "PUT", path, object{"includeSent": true})
	require.Equal(t, true, changed["includeSent"])
	require.Equal(t, []any{"message.created", "ticket.updated"}, changed["events"], "what is absent stays")
	require.Equal(t, false, company.OK(200, "PUT", path, object{"enabled": false})["enabled"])
	require.NotEqual(t, webhook["secret"], company.OK(200, "POST", path+"/rotate-secret", nil)["secret"])

	for name, body := range map[string]object{
		"no url":                           {"events": []string{"message.created"}},
		"no events":                        {"url": receiver.URL},
		"an empty list of events":          {"url": receiver.URL, "events": []string{}},
		"an unknown event":                 {"url": receiver.URL, "events": []string{"message.received"}},
		"a pattern":                        {"url": receiver.URL, "events": []string{"*"}},
		"sent messages without messages":   {"url": receiver.URL, "events": []string{"ticket.created"}, "includeSent": true},
		"a URL that is none":               {"url": "example", "events": []string{"message.created"}},
		"a URL with a scheme of its own":   {"url": "ftp://example.com", "events": []string{"message.created"}},
		"an address of a private network":  {"url": "http://169.254.169.254/", "events": []string{"message.created"}},
		"a body of another kind than JSON": {"url": 5, "events": "message.created"},
	} {
		refused := company.OK(400, "POST", "/webhooks", body)
		require.Contains(t, []any{"ERR_VALIDATION", "ERR_URL_NOT_ALLOWED"}, refused["error"], name)
	}
	asUser, _ := company.AddUser(object{"profile": "user"})
	other := company.AnotherCompany()
	for _, call := range []struct{ method, path string }{{"GET", path}, {"PUT", path}, {"DELETE", path}, {"POST", path + "/rotate-secret"}, {"GET", path + "/deliveries"}} {
		require.Equal(t, "ERR_NO_PERMISSION", asUser.OK(403, call.method, call.path, object{})["error"])
		require.Equal(t, "ERR_NO_WEBHOOK_FOUND", other.OK(404, call.method, call.path, object{})["error"])
	}
	require.Equal(t, "ERR_NO_WEBHOOK_FOUND", company.OK(404, "GET", "/webhooks/"+uuid.NewString(), nil)["error"])
	require.Empty(t, other.Get("/webhooks")["webhooks"])
	page := company.Get("/webhooks")
	require.Len(t, page["webhooks"], 1)
	require.Equal(t, false, page["hasMore"])
	require.EqualValues(t, 1, page["count"])
	company.OK(200, "DELETE", path, nil)
	require.Equal(t, "ERR_NO_WEBHOOK_FOUND", company.OK(404, "GET", path, nil)["error"])
}

// What waits for a disabled webhook is seen in its deliveries, and is sent once it is
// enabled.
func TestDisabledWebhookGetsItsEventsLater(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	receiver := messagingtest.NewReceiver(t)
	webhook := company.OK(201, "POST", "/webhooks", object{"url": receiver.URL, "events": []string{"contact.created"}, "enabled": false})
	path := "/webhooks/" + webhook["id"].(string)
	company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "5511987654321"})
	require.Eventually(t, func() bool {
		deliveries := company.Get(path + "/deliveries")["deliveries"].([]any)
		require.Len(t, deliveries, 1)
		return deliveries[0].(object)["status"] == "parked" && deliveries[0].(object)["reason"] == "disabled"
	}, time.Minute, 20*time.Millisecond)
	require.True(t, receiver.IsEmpty())
	company.OK(200, "PUT", path, object{"enabled": true})
	require.Equal(t, "contact.created", receiver.Next().Type)
}

// An import announces every new contact, and no other.
func TestImportReachesWebhooks(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	company.OK(201, "POST", "/contacts", object{"name": "Old", "number": "5511987650001"})
	receiver := messagingtest.NewReceiver(t)
	company.OK(201, "POST", "/webhooks", object{"url": receiver.URL, "events": []string{"contact.created"}})
	company.ImportContacts("name,number\nOld,5511987650001\nAna,5511987650002\nBia,5511987650003\n", nil)
	names := []any{receiver.Next().Data["contact"].(object)["name"], receiver.Next().Data["contact"].(object)["name"]}
	require.ElementsMatch(t, []any{"Ana", "Bia"}, names)
	require.True(t, receiver.IsEmpty())
}

// The contact of contact.created is what the API shows, with the tags that it was made with.
func TestContactWebhookHasTags(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	receiver := messagingtest.NewReceiver(t)
	company.OK(201, "POST", "/webhooks", object{"url": receiver.URL, "events": []string{"contact.created"}})
	tag := company.OK(201, "POST", "/tags", object{"name": "VIP"})
	made := company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "5511987654321", "tagIds": []any{tag["id"]}})
	require.Len(t, made["tags"], 1)
	require.Equal(t, made, receiver.Next().Data["contact"])
}

// What a new webhook lacks is named as this interface names it.
func TestWebhookLacksMembers(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	for _, test := range []struct {
		body    object
		lacking []any
	}{
		{object{}, []any{"body.url", "body.events"}},
		{object{"url": "https://example.com/hook"}, []any{"body.events"}},
		{object{"url": "https://example.com/hook", "events": []string{}}, []any{"body.events"}},
		{object{"events": []string{"message.created"}}, []any{"body.url"}},
	} {
		refused := company.Refused(400, "ERR_VALIDATION", "POST", "/webhooks", test.body)
		var locations []any
		for _, field := range refused["errors"].([]any) {
			locations = append(locations, field.(object)["location"])
		}
		require.Equal(t, test.lacking, locations, test.body)
	}
}
