package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/messaging/internal/messagingtest"
)

const integrations = "/api/v1/integrations"

// What connected products ask for, with a key of the company.
func TestSearchesOfConnectedProducts(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	line, ana := company.Connect(), company.AddPhone("Ana")
	company.SendFromPhone(ana, line, "Hello")
	key := company.As(company.Hub.CreateKey(company.Tenant, hub.Live))
	found := key.Get(integrations + "/search/contacts?phone=%2B" + ana)
	require.Equal(t, true, found["found"])
	contact := found["contact"].(object)
	require.Equal(t, "Ana", contact["name"])
	require.Equal(t, "+"+ana, contact["phone"])
	require.Equal(t, "unknown", contact["consent"])
	require.NotNil(t, contact["last_message_at"])
	require.Equal(t, contact, key.Get(integrations + "/search/contacts?phone=" + ana[:4] + ana[5:])["contact"], "without the ninth digit")
	nobody := key.Get(integrations + "/search/contacts?phone=%2B5511911112222")
	require.Equal(t, object{"found": false, "contact": nil}, object{"found": nobody["found"], "contact": nobody["contact"]})
	require.Equal(t, "ERR_INVALID_NUMBER", key.OK(400, "GET", integrations+"/search/contacts?phone=abc", nil)["error"])

	tickets := key.Get(integrations + "/search/tickets?phone=" + ana)["tickets"].([]any)
	require.Len(t, tickets, 1)
	ticket := tickets[0].(object)
	require.Equal(t, "pending", ticket["status"])
	require.Equal(t, contact["id"], ticket["contact_id"])
	require.NotContains(t, ticket, "last_message")
	require.Equal(t, tickets, key.Get(integrations + "/search/tickets?status=pending&contact_id=" + contact["id"].(string))["tickets"])
	require.Empty(t, key.Get(integrations + "/search/tickets?status=closed&phone=" + ana)["tickets"])
	for _, query := range []string{"", "?phone=" + ana + "&contact_id=1", "?phone=abc", "?phone=" + ana + "&limit=0", "?phone=" + ana + "&status=lost"} {
		key.OK(400, "GET", integrations+"/search/tickets"+query, nil)
	}

	closed := key.OK(200, "POST", integrations+"/action/close-ticket", object{"ticket_id": ticket["id"], "resolution": "Booked"})
	require.Equal(t, object{"ticket_id": ticket["id"], "status": "closed"}, object{"ticket_id": closed["ticket_id"], "status": closed["status"]})
	require.Equal(t, "Booked", company.Tickets("")[0]["resolution"])
	key.OK(200, "POST", integrations+"/action/close-ticket", object{"ticket_id": ticket["id"]})
	number := company.Tickets("")[0]["id"] // as the send API's ticketId
	require.Equal(t, ticket["id"], key.OK(200, "POST", integrations+"/action/close-ticket", object{"ticket_id": number})["ticket_id"])
	for _, id := range []any{99999999, "99999999", "9007199254740991", 9007199254740991} {
		require.Equal(t, "ERR_NO_TICKET_FOUND", key.OK(404, "POST", integrations+"/action/close-ticket", object{"ticket_id": id})["error"], id)
	}
	for _, id := range []any{"0", 0, -1, "-1", 1.5, "x", "", true, nil, []any{number}, "01", "9223372036854775808"} {
		refused := key.OK(400, "POST", integrations+"/action/close-ticket", object{"ticket_id": id})
		require.Contains(t, refused["detail"], "body.ticket_id", id)
	}

	other := company.AnotherCompany()
	foreign := company.As(company.Hub.CreateKey(other.Tenant, hub.Live))
	require.Equal(t, false, foreign.Get(integrations + "/search/contacts?phone=" + ana)["found"])
	require.Empty(t, foreign.Get(integrations + "/search/tickets?contact_id=" + contact["id"].(string))["tickets"])
	foreign.OK(404, "POST", integrations+"/action/close-ticket", object{"ticket_id": ticket["id"]})
	lacking := company.As(company.Hub.CreateKey(company.Tenant, hub.Live, "message.send"))
	lacking.OK(403, "GET", integrations+"/search/contacts?phone="+ana, nil)
	lacking.OK(403, "GET", integrations+"/search/tickets?phone="+ana, nil)

	matches, err := company.Hub.Instance.(module.PhoneSearcher).SearchPhone(t.Context(), "+"+ana)
	require.NoError(t, err)
	expected := []module.PersonMatch{{TenantID: company.Tenant, Kind: "contact", ID: contact["id"].(string), Name: "Ana"}}
	require.Equal(t, expected, matches)
	_, err = company.Hub.Host.Pool.Exec(t.Context(), `update messaging.contacts set email = 'Ana@Lookup.example' where id = $1`, contact["id"])
	require.NoError(t, err)
	matches, err = company.Hub.Instance.(module.EmailSearcher).SearchEmail(t.Context(), "ana@lookup.example")
	require.NoError(t, err)
	require.Equal(t, expected, matches)
}

// A key of a connected product sends in either of its headers, and below action/*.
func TestKeysSend(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	company.Connect()
	ana := company.AddPhone("Ana")
	plain := company.Hub.CreateKey(company.Tenant, hub.Live)
	key, nobody := company.As(plain), company.As("")
	message := object{"number": ana, "body": "Your appointment is tomorrow."}
	key.OK(200, "POST", "/api/messages/send", message)
	nobody.OK(200, "POST", "/api/messages/send", message, "apikey", plain)
	sent := key.OK(200, "POST", integrations+"/action/send-message", message)
	require.Equal(t, sent["id"], sent["messageId"])
	require.Len(t, company.Inbox(ana), 3)
	require.Equal(t, "ERR_EMPTY_BODY", key.OK(400, "POST", integrations+"/action/send-message", object{"number": ana, "body": ""})["error"])
	nobody.OK(401, "POST", integrations+"/action/send-message", message)
	nobody.OK(401, "POST", "/api/messages/send", message, "apikey", plain+"x")
	company.OK(401, "POST", integrations+"/action/send-message", message)
	company.As(company.Hub.CreateKey(company.Tenant, hub.Live, "contact.search")).OK(403, "POST", integrations+"/action/send-message", message)
	require.Len(t, company.Inbox(ana), 3)

	test := company.As(company.Hub.CreateKey(company.Tenant, hub.Test))
	test.OK(200, "POST", integrations+"/action/send-message", message)
	require.Equal(t, true, test.Get(integrations + "/search/contacts?phone=" + ana)["found"])
	test.OK(403, "POST", integrations+"/action/close-ticket", object{"ticket_id": "1"})
}

// Connected products with the scope see campaigns and their counters, without texts and
// contacts, and their own company's only.
func TestCampaignsForConnectedProducts(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	line := company.Connect()
	contact := company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "5511987650001"})
	for _, name := range []string{"March", "April"} {
		company.OK(201, "POST", "/campaigns", object{"name": name, "message1": "Secret text", "whatsappId": line.ID, "contactIds": []any{contact["id"]}})
	}
	key := company.As(company.Hub.CreateKey(company.Tenant, hub.Live, "campaign.read"))
	require.Contains(t, key.Get(integrations + "/status")["features"], "campaign.read")
	found := key.Get(integrations + "/search/campaigns")["campaigns"].([]any)
	require.Len(t, found, 2)
	campaign := found[0].(object)
	require.Equal(t, []any{"April", "draft", 1.0, 1.0}, []any{campaign["name"], campaign["status"], campaign["total"], campaign["pending"]})
	require.NotContains(t, campaign, "message1")
	require.Len(t, key.Get(integrations + "/search/campaigns?name=arch")["campaigns"], 1)
	require.Len(t, key.Get(integrations + "/search/campaigns?limit=1")["campaigns"], 1)
	require.Empty(t, key.Get(integrations + "/search/campaigns?status=running")["campaigns"])
	for _, query := range []string{"?status=lost", "?limit=0", "?limit=101"} {
		key.OK(400, "GET", integrations+"/search/campaigns"+query, nil)
	}
	company.As(company.Hub.CreateKey(company.Tenant, hub.Live, "ticket.read")).OK(403, "GET", integrations+"/search/campaigns", nil)
	other := company.AnotherCompany()
	require.Empty(t, company.As(company.Hub.CreateKey(other.Tenant, hub.Live)).Get(integrations + "/search/campaigns")["campaigns"])
}
