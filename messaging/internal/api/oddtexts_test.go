package api_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging"
	"integrationhub/messaging/internal/driver/drivertest"
	"integrationhub/messaging/internal/messagingtest"
)

// oddRequests sends requests with odd values: none gets a 5xx, and one that is refused stores
// nothing.
type oddRequests struct {
	*messagingtest.Company
	tables   []string // that requests write to, and nothing else meanwhile
	statuses map[int]int
	before   []int // rows of the tables; nil: to be counted
	sent     int   // bodies that there are of the operations so far
}

func newOddRequests(c *messagingtest.Company, tables ...string) *oddRequests {
	return &oddRequests{Company: c, tables: append(tables, "contacts", "tickets", "messages"), statuses: make(map[int]int)}
}

// stored returns how many rows the tables have.
func (o *oddRequests) stored() (counts []int) {
	o.T.Helper()
	sql := make([]string, len(o.tables))
	for i, table := range o.tables {
		sql[i] = "(select count(*) from " + table + ")"
	}
	require.NoError(o.T, o.Hub.Host.Pool.QueryRow(o.T.Context(), "select array["+strings.Join(sql, ", ")+"]").Scan(&counts))
	return counts
}

// check sends a request.
func (o *oddRequests) check(request string, send func() moduletest.Response) {
	o.T.Helper()
	if o.before == nil {
		o.before = o.stored()
	}
	response := send()
	o.statuses[response.Status]++
	require.Less(o.T, response.Status, 500, "%s: %.300s", request, response.Text)
	if response.Status < 400 {
		o.before = nil
		return
	}
	require.Equal(o.T, o.before, o.stored(), "%s: %v: %.300s", request, o.tables, response.Text)
}

// brief returns the beginning of a request, for messages of tests.
func brief(text string) string { return fmt.Sprintf("%.200q", text) }

// someBodies sends some of the bodies of [oddRequests.bodies]: enough of them that each member gets
// odd values of several kinds, and each odd value comes in several members.
func (o *oddRequests) someBodies(method, path string, valid any) {
	o.T.Helper()
	const stride = 15 // has no divisor in common with the number of values
	list, err := hubtest.OddBodies(valid)
	require.NoError(o.T, err)
	for i := o.sent % stride; i < len(list); i += stride {
		o.check(method+" "+path+" "+brief(list[i]), func() moduletest.Response { return o.Call(method, path, list[i]) })
	}
	o.sent += len(list)
}

// finish requires that some requests were accepted and most refused.
func (o *oddRequests) finish() {
	o.T.Helper()
	o.T.Logf("answers by status: %v", o.statuses)
	require.NotZero(o.T, o.statuses[200]+o.statuses[201], "%v", o.statuses)
	require.Greater(o.T, o.statuses[400]+o.statuses[404]+o.statuses[415], 10, "%v", o.statuses)
}

// bodies sends a JSON body with each of its values made odd.
func (o *oddRequests) bodies(method, path string, valid any, headers ...string) {
	o.T.Helper()
	list, err := hubtest.OddBodies(valid)
	require.NoError(o.T, err)
	for _, body := range list {
		o.check(method+" "+path+" "+brief(body), func() moduletest.Response { return o.Call(method, path, body, headers...) })
	}
}

// formPart is a part of a form.
type formPart struct{ name, value, fileName, contentType string }

// post sends a form whose parts are written as they are.
func (o *oddRequests) post(path string, parts ...formPart) {
	o.T.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, part := range parts {
		disposition := fmt.Sprintf(`form-data; name="%s"`, part.name)
		if part.fileName != "" {
			disposition += fmt.Sprintf(`; filename="%s"`, part.fileName)
		}
		header := textproto.MIMEHeader{"Content-Disposition": {disposition}}
		if part.contentType != "" {
			header.Set("Content-Type", part.contentType)
		}
		out, err := form.CreatePart(header)
		require.NoError(o.T, err)
		_, err = out.Write([]byte(part.value))
		require.NoError(o.T, err)
	}
	require.NoError(o.T, form.Close())
	o.check(fmt.Sprintf("POST %s %.300q", path, parts), func() moduletest.Response {
		return o.Call("POST", path, body.String(), "Content-Type", form.FormDataContentType())
	})
}

// Fields of forms, names and types of files.
func TestOddForms(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	line, phone := company.Connect(), company.AddPhone("Ana")
	company.SendFromPhone(phone, line, "Hi")
	ticket := messagingtest.TicketPath(company.Tickets("")[0])
	company.OK(200, "PUT", ticket, object{"status": "open"})
	o := newOddRequests(company, "contact_imports", "media_files where erased_at is null")
	file := formPart{name: "medias", value: "%PDF-1.7", fileName: "a.pdf"}
	contacts := formPart{name: "file", value: "number\n5511987654321\n", fileName: "a.csv"}
	for _, text := range append(hubtest.OddTexts(), hubtest.LongText()) {
		for _, field := range []string{"body", "quotedMsgId", "isPrivate", "mediaType", "other", text} {
			if field == text && len(text) > 1000 {
				continue
			}
			o.post(ticket+"/messages", formPart{name: field, value: text}, file)
		}
		for _, field := range []string{"dryRun", "contactListId", "countryCode"} {
			o.post("/contacts/import", formPart{name: field, value: text}, contacts)
		}
		o.post(ticket+"/messages", formPart{name: "medias", value: "%PDF-1.7", fileName: text})
		o.post(ticket+"/messages", formPart{name: "medias", value: "%PDF-1.7", fileName: "a.pdf", contentType: strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(text)})
		o.post(ticket+"/messages", formPart{name: "medias", value: text, fileName: "a.txt"})
		o.post("/contacts/import", formPart{name: "file", value: contacts.value, fileName: text})
		o.post("/contacts/import", formPart{name: "file", value: "name,number,email\n" + text + ",5511987654399," + text + "\n", fileName: "a.csv"})
	}
	o.finish()
	company.FlushOutbox()
}

// The operations of the platform that take JSON.
func TestOddPlatformRequests(t *testing.T) {
	t.Parallel()
	hub := moduletest.Start(t, messaging.New(), moduletest.Options{Settings: []string{"HUB_PRODUCT_LIMITS=messaging.sends=100000-M,messaging.users=100000-M"}})
	company := messagingtest.SignUp(t, hub)
	line, phone := company.Connect(), company.AddPhone("Ana")
	company.SendFromPhone(phone, line, "Hi")
	ticket := company.Tickets("")[0]
	contact, path := ticket["contactId"], messagingtest.TicketPath(ticket)
	company.OK(200, "PUT", path, object{"status": "open"})
	note := company.OK(201, "POST", path+"/messages", object{"body": "A note", "isPrivate": true})
	_, user := company.AddUser(nil)
	queue := company.OK(201, "POST", "/queue", object{"name": "Sales", "color": "#00f"})
	tag := company.OK(201, "POST", "/tags", object{"name": "VIP"})
	hours := []object{{"weekday": "Monday", "weekdayEn": "monday", "startTime": "08:00", "endTime": "12:00"}}
	template := object{"name": "reminder", "language": "pt_BR", "components": []object{{"type": "body", "parameters": []object{{"type": "text", "text": "Ana"}}}}}
	program := newOddRequests(company.As(company.APIToken()))
	o := newOddRequests(company, "companies", "users", "tags", "quick_messages", "contact_lists", "connections", "queues", "schedules", "campaigns", "api_tokens", "hub.endpoints")
	for _, request := range []struct {
		method, path string
		body         object
	}{
		{"PUT", "/company", object{"name": "Studio", "phone": "1", "email": "a@example.com", "timezone": "America/Sao_Paulo", "schedules": hours, "reopenMinutes": 60, "optOutWords": []string{"STOP"}, "retentionDays": 90}},
		{"PUT", fmt.Sprintf("/users/%d", user), object{"name": "Caio", "email": "caio@example.com", "profile": "user", "isActive": true, "allTicket": "enabled", "whatsappId": line.ID, "queueIds": []any{queue["id"]}}},
		{"POST", "/tags", object{"name": "Lead", "color": "#abc", "kanban": 1}},
		{"POST", "/quick-messages", object{"shortcode": "address", "message": "Rua Augusta", "shared": true, "mediaUrl": nil, "mediaName": "a.pdf"}},
		{"PUT", fmt.Sprintf("/contacts/%v", contact), object{"name": "Ana", "number": phone, "email": "ana@example.com", "disableBot": false, "extraInfo": []object{{"name": "Birthday", "value": "2 March"}}, "tagIds": []any{tag["id"]}, "consent": "opted_in"}},
		{"POST", "/contact-lists", object{"name": "March", "contactIds": []any{contact}}},
		{"PUT", messagingtest.Path("/queue", queue), object{"name": "Sales", "color": "#00f", "greetingMessage": "Hi", "outOfHoursMessage": "Later", "schedules": hours, "orderQueue": 1, "options": []object{{"id": 1, "title": "Hours", "message": "8 to 18", "option": "1", "parentId": nil}}}},
		{"PUT", messagingtest.ConnectionPath(line), object{"name": "Line", "greetingMessage": "Hi", "farewellMessage": "", "ratingMessage": "", "outOfHoursMessage": "", "sendIntervalMs": 0, "dailyLimit": 0, "isDefault": true, "queueIds": []any{queue["id"]}, "transferQueueId": nil, "timeToTransfer": 0, "expiresTicket": 0, "expiresInactiveMessage": "", "maxUseBotQueues": 3}},
		{"PUT", path, object{"status": "open", "userId": user, "queueId": queue["id"], "whatsappId": line.ID, "tagIds": []any{tag["id"]}, "resolution": "Answered"}},
		{"POST", "/tickets", object{"contactId": contact, "status": "open", "userId": user, "queueId": queue["id"], "whatsappId": line.ID}},
		{"POST", path + "/messages", object{"body": "A note", "quotedMsgId": note["id"], "isPrivate": true, "mediaType": ""}},
		{"POST", "/schedules", object{"body": "Later", "sendAt": "2097-03-01T12:00:00Z", "contactId": contact, "ticketId": ticket["id"], "whatsappId": line.ID, "template": template}},
		{"POST", "/campaigns", object{"name": "March", "message1": "Hi", "confirmation": false, "confirmationMessage1": "", "scheduledAt": nil, "whatsappId": line.ID, "contactListId": nil, "tagIds": []any{}, "contactIds": []any{contact}, "messageInterval": 1, "longerIntervalAfter": 1, "greaterInterval": 1, "sendWindow": object{"start": "08:00", "end": "20:00", "days": []int{1}}}},
		{"POST", "/webhooks", object{"url": "https://example.com/hook", "events": []string{"ticket.updated"}, "includeSent": false, "enabled": true}},
		{"POST", "/api-tokens", object{"name": "CRM", "whatsappId": line.ID, "expiresAt": "2097-03-01T12:00:00Z"}},
	} {
		o.someBodies(request.method, request.path, request.body)
	}
	o.finish()
	program.someBodies("POST", "/api/messages/send", object{"number": phone, "body": "Hello", "template": template, "whatsappId": line.ID, "queueId": queue["id"], "closeTicket": false, "mediaType": "", "fileName": "a.pdf", "externalKey": "crm-1"})
	program.finish()
	company.FlushOutbox()
}

// The simulated network's API.
func TestOddSandboxRequests(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	line, phone := company.Connect(), company.AddPhone("Ana")
	o := newOddRequests(company, "sandbox_phones", "sandbox_messages")
	path := "/sandbox/phones/" + phone
	o.bodies("POST", "/sandbox/phones", object{"number": "5511987654321", "name": "Bia"})
	o.bodies("POST", path+"/send", object{"to": line.Number, "body": "Hi", "mediaUrl": "data:text/plain,Hi", "quotedId": "x"})
	o.bodies("POST", path+"/scan", object{"code": "sandbox:pair?c=1&n=x"})
	o.bodies("POST", path+"/read", object{"ids": []string{"x"}})
	o.bodies("PUT", "/sandbox/faults", object{"latencyMs": 0, "dropPercent": 0, "duplicatePercent": 0, "reorder": false, "lid": false})
	company.OK(200, "PUT", "/sandbox/faults", object{})
	for _, text := range hubtest.OddTexts() {
		escaped := url.PathEscape(text)
		for _, request := range []struct{ method, path string }{
			{"GET", "/sandbox/phones/" + escaped + "/inbox"}, {"GET", "/sandbox/phones/" + escaped + "/chat"}, {"POST", "/sandbox/phones/" + escaped + "/read"},
			{"GET", path + "/inbox?after=" + url.QueryEscape(text)}, {"GET", path + "/chat?after=" + url.QueryEscape(text)},
			{"POST", fmt.Sprintf("/sandbox/connections/%d/%s", line.ID, escaped)}, {"POST", "/sandbox/connections/" + escaped + "/online"},
		} {
			o.check(request.method+" "+request.path, func() moduletest.Response { return o.Call(request.method, request.path, nil) })
		}
	}
	o.finish()
	company.SendFromPhone(phone, line, "Still there?")
}

// Signed webhooks of the Cloud API: what cannot be stored is left out or refused.
func TestOddCloudWebhooks(t *testing.T) {
	t.Parallel()
	company, _ := newCloudCompany(t, time.Time{})
	connection := company.OK(201, "POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": cloudAccount()})
	o := newOddRequests(company)
	message := func(id, kind string, content any) object {
		return object{"id": id, "from": cloudContact, "timestamp": "1772366400", "type": kind, kind: content, "context": object{"id": "wamid.earlier"}}
	}
	for i, value := range []object{
		{"contacts": []object{{"wa_id": cloudContact, "profile": object{"name": "Ana"}}}, "messages": []object{message("wamid.text", "text", object{"body": "Hi"})}},
		{"messages": []object{message("wamid.document", "document", object{"id": "1", "mime_type": "application/pdf", "caption": "Hi", "filename": "a.pdf"})}},
		{"messages": []object{message("wamid.location", "location", object{"latitude": 1.5, "longitude": -1.5, "name": "Here", "address": "Rua Augusta"})}},
		{"messages": []object{message("wamid.contacts", "contacts", []object{{"name": object{"formatted_name": "Bia"}, "phones": []object{{"phone": "1"}}}})}},
		{"messages": []object{message("wamid.reaction", "reaction", object{"message_id": "wamid.text", "emoji": "👍"})}},
		{"messages": []object{message("wamid.interactive", "interactive", object{"button_reply": object{"id": "1", "title": "Yes"}})}},
		{"statuses": []object{{"id": "wamid.sent", "status": "failed", "biz_opaque_callback_data": "m-1", "errors": []object{{"code": 131026}}}}},
	} {
		value["metadata"] = object{"phone_number_id": cloudPhone}
		var names []string // of the members that the first body does not have
		if i > 0 {
			names = []string{"document", "location", "contacts", "reaction", "interactive", "statuses"}
		}
		list, err := hubtest.OddBodies(object{"entry": []object{{"changes": []object{{"value": value}}}}}, names...)
		require.NoError(t, err)
		for n, body := range list {
			body = strings.NewReplacer(`"wamid.`, fmt.Sprintf(`"wamid.%d.%d.`, i, n), cloudContact, fmt.Sprintf("55119%d%07d", i, n)).Replace(body) // each of a new contact
			o.check(brief(body), func() moduletest.Response { return deliver(company, connection, cloudSecret, body) })
		}
	}
	o.finish()
	o.requireClean()
}

// requireClean requires that what networks reported is stored as far as it can be.
func (o *oddRequests) requireClean() {
	o.T.Helper()
	var cut, impossible int
	require.NoError(o.T, o.Hub.Host.Pool.QueryRow(o.T.Context(), `select (select count(*) from contacts where char_length(name) = 120),
		(select count(*) from messages where sent_at < '2009-01-01' or sent_at > now() + interval '2 days')`).Scan(&cut, &impossible))
	require.NotZero(o.T, cut, "names that are too long")
	require.Zero(o.T, impossible, "times")
}

// Signed events of bridges.
func TestOddBridgeEvents(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	c.pair()
	o := newOddRequests(c.Company)
	now := time.Now()
	for i, event := range []struct {
		name string
		data object
	}{
		{"message", object{"remoteId": "in-1", "from": cloudContact, "lid": "1@lid", "name": "Ana", "body": "Hi", "kind": "text", "quotedId": "in-0", "at": now}},
		{"message", object{"remoteId": "in-2", "from": cloudContact, "at": now, "media": object{"type": "document", "mimeType": "application/pdf", "name": "a.pdf", "reference": "r-1"}}},
		{"receipt", object{"remoteIds": []string{"out-1"}, "messageId": "m-1", "ack": -1, "errorCode": "refused"}},
		{"state", object{"status": "CONNECTED", "sequence": 1000, "qrcode": "", "qrExpiresAt": now, "number": "5511900000001", "error": "x"}},
	} {
		var names []string // of the members that the first event does not have
		if i > 0 {
			names = []string{"data"}
		}
		list, err := hubtest.OddBodies(object{"id": "e-1", "event": event.name, "connection": fmt.Sprint(c.id), "timestamp": now, "data": event.data}, names...)
		require.NoError(t, err)
		for n, body := range list {
			body = strings.NewReplacer(`"in-`, fmt.Sprintf(`"in-%d.%d.`, i, n), cloudContact, fmt.Sprintf("55119%d%07d", i, n)).Replace(body) // each of a new contact
			o.check(brief(body), func() moduletest.Response {
				return moduletest.Response{Status: c.bridge.Post(t, c.id, []byte(body), drivertest.SignForBridge(drivertest.BridgeSecret, []byte(body)))}
			})
		}
	}
	o.finish()
	o.requireClean()
}
