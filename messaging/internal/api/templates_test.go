package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/messaging/internal/messagingtest"
)

// reminder is a template with a variable.
func reminder(value string) object {
	return object{"name": "reminder", "language": "pt_BR", "components": []any{object{"type": "body", "parameters": []any{object{"type": "text", "text": value}}}}}
}

// sentReminder is the reminder as the Cloud API gets it.
func sentReminder(to, value string) object {
	template := reminder(value)
	template["language"] = object{"code": "pt_BR"}
	return object{"messaging_product": "whatsapp", "to": to, "type": "template", "template": template}
}

// withoutIDs returns messages as the API got them, without the hub's own ids.
func withoutIDs(messages []object) []object {
	for _, message := range messages {
		delete(message, "biz_opaque_callback_data")
	}
	return messages
}

// Outside of the window a template is taken where a text is not, by every way to send.
func TestCloudTemplates(t *testing.T) {
	t.Parallel()
	start := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	company, api := newCloudCompany(t, start)
	connection := company.OK(201, "POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": cloudAccount()})
	const ana = "5511987654321"
	program := company.As(company.APIToken())
	program.Refused(400, "ERR_WINDOW_CLOSED", "POST", "/api/messages/send", object{"number": ana, "body": "Hello"})
	require.Empty(t, api.Sent())

	body := object{"number": ana, "template": reminder("Ana")}
	sent := program.OK(200, "POST", "/api/messages/send", body, "Idempotency-Key", "first")
	require.Equal(t, []object{sentReminder(ana, "Ana")}, withoutIDs(api.Sent()))
	require.Equal(t, sent, program.OK(200, "POST", "/api/messages/send", body, "Idempotency-Key", "first"), "sent once")
	program.Refused(400, "ERR_VALIDATION", "POST", "/api/messages/send", object{"number": ana, "template": reminder("Bia")}, "Idempotency-Key", "first")
	ticket := company.Tickets("")[0]
	require.Equal(t, "[reminder · pt_BR]\nAna", ticket["lastMessage"])
	messages := messagingtest.TicketPath(ticket) + "/messages"
	stored := company.Get(messages)["messages"].([]any)[0].(object)
	require.Equal(t, []any{"[reminder · pt_BR]\nAna", reminder("Ana"), "text"}, []any{stored["body"], stored["template"], stored["mediaType"]})

	require.Equal(t, "See you tomorrow", company.OK(201, "POST", messages, object{"body": "See you tomorrow", "template": reminder("agent")})["body"], "what users read")
	company.Refused(400, "ERR_WINDOW_CLOSED", "POST", messages, object{"body": "See you tomorrow"})
	contact := int64(ticket["contactId"].(float64))
	company.OK(200, "PUT", messagingtest.Path("/contacts", object{"id": ticket["contactId"]}), object{"name": "Ana Souza"})
	scheduled := company.OK(201, "POST", "/schedules", object{"template": reminder("{{firstName}} at {{hora}}"), "sendAt": start.Add(time.Hour), "contactId": contact})
	require.Equal(t, []any{"", reminder("{{firstName}} at {{hora}}")}, []any{scheduled["body"], scheduled["template"]})
	campaign := company.OK(201, "POST", "/campaigns", object{"name": "Offers", "template": reminder("{nome}"), "whatsappId": messagingtest.ID(connection), "contactIds": []any{contact}})
	company.OK(200, "POST", messagingtest.Path("/campaigns", campaign)+"/start", nil)
	company.Advance(2 * time.Hour)
	company.RunJob("schedules")
	company.RunJob("campaigns")
	company.FlushOutbox()
	require.ElementsMatch(t, []object{sentReminder(ana, "agent"), sentReminder(ana, "Ana at 11:00"), sentReminder(ana, "Ana Souza")}, withoutIDs(api.Sent())[1:])
	require.Equal(t, "sent", company.Get(messagingtest.Path("/schedules", scheduled))["status"])
	require.Equal(t, "[reminder · pt_BR]\nAna Souza", company.Get(messagingtest.Path("/campaigns", campaign) + "/report")["records"].([]any)[0].(object)["message"])

	company.OK(200, "POST", fmt.Sprintf("/contacts/%d/anonymize", contact), nil)
	var rows string
	require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select string_agg(m::text, ' ') || (select coalesce(string_agg(s::text, ' '), '') from schedules s) || (select string_agg(s::text, ' ') from campaign_shipments s) from messages m`).Scan(&rows))
	require.NotContains(t, rows, "Ana", "parameters are personal data")
}

// A contact without the value of a variable is left out, with the reason.
func TestTemplateWithoutValue(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))
	line := company.Connect()
	ana := company.AddPhone("Ana")
	contact := messagingtest.ID(company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": ana}))
	campaign := messagingtest.Path("/campaigns", company.OK(201, "POST", "/campaigns", object{"name": "Offers", "template": reminder("{email}"), "whatsappId": line.ID, "contactIds": []any{contact}}))
	company.OK(200, "POST", campaign+"/start", nil)
	schedule := messagingtest.Path("/schedules", company.OK(201, "POST", "/schedules", object{"template": reminder("{email}"), "sendAt": "2027-03-01T12:00:01Z", "contactId": contact}))
	company.Advance(time.Minute)
	company.RunJob("campaigns")
	company.RunJob("schedules")
	outcome := func() []any { // the hub runs the jobs as well
		shipment, scheduled := company.Get(campaign + "/report")["records"].([]any)[0].(object), company.Get(schedule)
		return []any{shipment["status"], shipment["error"], scheduled["status"], scheduled["error"]}
	}
	want := []any{"skipped", "template_parameter_empty", "error", "template_parameter_empty"}
	require.Eventually(t, func() bool { return slices.Equal(want, outcome()) }, time.Minute, 20*time.Millisecond)
	require.Empty(t, company.Inbox(ana))
}

// The simulated phone shows the text for people.
func TestSandboxTemplates(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	line := company.Connect()
	ana := company.AddPhone("Ana")
	company.As(company.APIToken()).OK(200, "POST", "/api/messages/send", object{"number": ana, "template": reminder("10:00")})
	require.Equal(t, []string{"[reminder · pt_BR]\n10:00"}, company.Inbox(ana))
	require.Equal(t, object{"records": []any{}, "next": nil}, company.Get(messagingtest.ConnectionPath(line)+"/templates"))
}

// What is wrong with a template is said, and nothing is stored or sent.
func TestTemplateRefusals(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))
	line := company.Connect()
	ana := company.AddPhone("Ana")
	company.SendFromPhone(ana, line, "Hi")
	ticket := company.Tickets("")[0]
	program := company.As(company.APIToken())
	paths := map[string]object{
		"/api/messages/send":                           {"number": ana},
		messagingtest.TicketPath(ticket) + "/messages": {},
		"/schedules": {"sendAt": "2027-03-02T12:00:00Z", "contactId": ticket["contactId"]},
		"/campaigns": {"name": "Offers", "whatsappId": line.ID},
	}
	wrong := reminder("Ana")
	wrong["components"].([]any)[0].(object)["parameters"].([]any)[0].(object)["cards"] = []any{}
	for path, fields := range paths {
		caller := company
		if path == "/api/messages/send" {
			caller = program
		}
		refuse := func(detail string, template any, more object) {
			t.Helper()
			body := maps.Clone(fields)
			maps.Copy(body, more)
			body["template"] = template
			refused := caller.Refused(400, "ERR_VALIDATION", "POST", path, body)
			require.Contains(t, refused["detail"], detail, path)
		}
		refuse("body.template.name", object{"name": "Reminder", "language": "pt_BR"}, nil)
		refuse("body.template.language", object{"name": "reminder", "language": "pt-BR"}, nil)
		refuse("body.template.components[0].parameters[0]", reminder("a\nb"), nil)
		refuse(`must not have the member "cards"`, wrong, nil)
		refuse("documented form", "reminder", nil)
		refuse("file", reminder("a"), object{"mediaUrl": "https://example.com/a.png"})
	}
	messages := messagingtest.TicketPath(ticket) + "/messages"
	company.Refused(400, "ERR_VALIDATION", "POST", messages, object{"body": "", "template": reminder("a"), "isPrivate": true})
	company.Refused(400, "ERR_VALIDATION", "POST", "/campaigns", object{"name": "Offers", "whatsappId": line.ID, "template": reminder("a"), "confirmation": true, "confirmationMessage1": "May we?"})
	program.Refused(400, "ERR_EMPTY_BODY", "POST", "/api/messages/send", object{"number": ana, "template": nil})
	require.Empty(t, company.Inbox(ana))
	require.EqualValues(t, 1, company.Get(messages)["count"])
	require.EqualValues(t, 0, company.Get("/schedules")["count"])
	require.EqualValues(t, 0, company.Get("/campaigns")["count"])
}

// The API's errors of templates have names and sentences.
func TestTemplateErrors(t *testing.T) {
	t.Parallel()
	company, api := newCloudCompany(t, time.Time{})
	company.OK(201, "POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": cloudAccount()})
	program := company.As(company.APIToken())
	for code, name := range map[int]string{
		132000: "ERR_TEMPLATE_PARAMETER_COUNT", 132001: "ERR_TEMPLATE_NOT_FOUND", 132005: "ERR_TEMPLATE_TOO_LONG", 132007: "ERR_TEMPLATE_POLICY",
		132012: "ERR_TEMPLATE_PARAMETER_FORMAT", 132015: "ERR_TEMPLATE_PAUSED", 132016: "ERR_TEMPLATE_DISABLED", 131009: "ERR_SENDING_WAPP_MSG",
	} {
		api.Refuse(code)
		key := fmt.Sprint(code)
		body := object{"number": "5511987654321", "template": reminder("Ana")}
		refused := program.Refused(400, name, "POST", "/api/messages/send", body, "Idempotency-Key", key)
		require.Equal(t, refused["detail"], program.Refused(400, name, "POST", "/api/messages/send", body, "Idempotency-Key", key)["detail"], "the same again")
		messages := company.Get(messagingtest.TicketPath(company.Tickets("")[0]) + "/messages")["messages"].([]any)
		last := messages[len(messages)-1].(object)
		stored := strings.ToLower(strings.TrimPrefix(name, "ERR_"))
		if code == 131009 {
			stored = "refused"
		}
		require.Equal(t, []any{-1.0, stored}, []any{last["ack"], last["errorCode"]})
	}
	require.Len(t, api.Sent(), 8)
}

// The approved templates are listed from the network, page by page.
func TestListTemplates(t *testing.T) {
	t.Parallel()
	company, api := newCloudCompany(t, time.Time{})
	connection := company.OK(201, "POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": cloudAccount()})
	path := messagingtest.Path("/whatsapp", connection) + "/templates"
	first := company.Get(path)
	require.Equal(t, "next page", first["next"])
	record := first["records"].([]any)[0].(object)
	require.Equal(t, object{"name": "reminder", "language": "pt_BR", "status": "APPROVED", "category": "UTILITY", "components": []any{object{"type": "BODY", "text": "Hello {{1}}"}}}, record)
	second := company.Get(path + "?after=next+page&name=reminder")
	require.Equal(t, object{"records": []any{}, "next": nil}, second)
	require.Equal(t, []string{"fields=name%2Clanguage%2Cstatus%2Ccategory%2Ccomponents&limit=100&status=APPROVED", "after=next+page&fields=name%2Clanguage%2Cstatus%2Ccategory%2Ccomponents&limit=100&name=reminder&status=APPROVED"}, api.Queries())
	api.Refuse(100)
	company.Refused(400, "ERR_TEMPLATE_LIST_REFUSED", "GET", path, nil)
	user, _ := company.AddUser(nil)
	user.Refused(400, "ERR_TEMPLATE_LIST_REFUSED", "GET", path, nil)
	company.AnotherCompany().Refused(404, "ERR_NO_WAPP_FOUND", "GET", path, nil)
}

// A network without templates refuses them, however they are sent, and nothing is stored.
func TestTemplatesOfBridge(t *testing.T) {
	t.Parallel()
	company := newBridgedCompany(t)
	company.pair()
	require.Equal(t, 200, company.receive("in-1", "Hello"))
	ticket := company.Tickets("")[0]
	messages := messagingtest.TicketPath(ticket) + "/messages"
	contact := int64(ticket["contactId"].(float64))
	campaign := object{"name": "Offers", "whatsappId": company.id, "contactIds": []int64{contact}, "template": reminder("Ana")}
	schedule := object{"contactId": contact, "whatsappId": company.id, "sendAt": time.Now().Add(time.Hour), "template": reminder("Ana")}
	const code = "ERR_TEMPLATE_UNSUPPORTED"
	company.As(company.APIToken()).Refused(400, code, "POST", "/api/messages/send", object{"number": cloudContact, "template": reminder("Ana")})
	company.As(company.Hub.CreateKey(company.Tenant, hub.Live, "message.send")).Refused(400, code, "POST", "/api/v1/integrations/action/send-message", object{"number": cloudContact, "template": reminder("Ana")})
	company.Refused(400, code, "POST", messages, object{"template": reminder("Ana")})
	company.Refused(400, code, "POST", "/schedules", schedule)
	company.Refused(400, code, "POST", "/campaigns", campaign)
	company.Refused(400, code, "GET", company.path+"/templates", nil)
	require.EqualValues(t, 1, company.Get(messages)["count"])
	require.Empty(t, company.bridge.Accepted())

	// Where the driver has templates they may be planned; moved to this connection they may not.
	sandbox := company.Connect()
	campaign["whatsappId"], schedule["whatsappId"] = sandbox.ID, sandbox.ID
	planned := messagingtest.Path("/campaigns", company.OK(201, "POST", "/campaigns", campaign))
	company.Refused(400, code, "PUT", planned, object{"whatsappId": company.id})
	waiting := messagingtest.Path("/schedules", company.OK(201, "POST", "/schedules", schedule))
	company.Refused(400, code, "PUT", waiting, object{"whatsappId": company.id})
}
