package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/messaging/internal/driver/drivertest"
	"integrationhub/messaging/internal/messagingtest"
)

// Nothing is stored or sent for a request that the send API refuses.
func TestSendRefusals(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	company.Connect()
	ana := company.AddPhone("Ana")
	token := company.APIToken()
	other := company.AnotherCompany()
	otherToken := other.APIToken()
	otherQueue := other.AddQueueRow("Sales", "#fff")
	otherCompany := company.AnotherCompany()
	theirs := otherCompany.Connect()
	anybody := company.As("")
	key, otherKey := company.Hub.CreateKey(company.Tenant, hub.Live), company.Hub.CreateKey(other.Tenant, hub.Live)
	for name, tc := range map[string]struct {
		headers []string
		body    object
		status  int
		err     string
	}{
		"no credentials":             {nil, object{"number": ana, "body": "x"}, 401, "ERR_SESSION_EXPIRED"},
		"an unknown token":           {[]string{"Authorization", "Bearer msgt_x"}, object{"number": ana, "body": "x"}, 401, "ERR_SESSION_EXPIRED"},
		"an unknown key":             {[]string{"apikey", "msgt_x"}, object{"number": ana, "body": "x"}, 401, "ERR_SESSION_EXPIRED"},
		"a user's token":             {[]string{"Authorization", "Bearer " + company.Token}, object{"number": ana, "body": "x"}, 401, "ERR_SESSION_EXPIRED"},
		"tokens of two companies":    {[]string{"Authorization", "Bearer " + token, "apikey", otherToken}, object{"number": ana, "body": "x"}, 401, "ERR_SESSION_EXPIRED"},
		"a key and another's token":  {[]string{"apikey", key, "Authorization", "Bearer " + otherToken}, object{"number": ana, "body": "x"}, 401, "ERR_SESSION_EXPIRED"},
		"a key and another's key":    {[]string{"X-Integration-Key", key, "apikey", otherKey}, object{"number": ana, "body": "x"}, 401, "ERR_SESSION_EXPIRED"},
		"a key and another's apikey": {[]string{"X-Integration-Key", key, "apikey", otherToken}, object{"number": ana, "body": "x"}, 401, "ERR_SESSION_EXPIRED"},
		"a key and another's user":   {[]string{"X-Integration-Key", key, "Authorization", "Bearer " + other.Token}, object{"number": ana, "body": "x"}, 401, "ERR_SESSION_EXPIRED"},
		"a key and no token":         {[]string{"X-Integration-Key", key, "Authorization", "Basic eDp5"}, object{"number": ana, "body": "x"}, 401, "ERR_SESSION_EXPIRED"},
		"no connection":              {[]string{"apikey", otherToken}, object{"number": ana, "body": "x"}, 400, "ERR_WAPP_NOT_INITIALIZED"},
		"credentials come first":     {nil, object{"number": 5}, 401, "ERR_SESSION_EXPIRED"},
		"a number that is no text":   {[]string{"apikey", token}, object{"number": 5511987654321, "body": "x"}, 400, "ERR_INVALID_NUMBER"},
		"no number":                  {[]string{"apikey", token}, object{"body": "x"}, 400, "ERR_INVALID_NUMBER"},
		"a number with a plus":       {[]string{"apikey", token}, object{"number": "+" + ana, "body": "x"}, 400, "ERR_INVALID_NUMBER"},
		"a number that is too long":  {[]string{"apikey", token}, object{"number": "1234567890123456", "body": "x"}, 400, "ERR_INVALID_NUMBER"},
		"an empty body":              {[]string{"apikey", token}, object{"number": ana, "body": ""}, 400, "ERR_EMPTY_BODY"},
		"a blank body":               {[]string{"apikey", token}, object{"number": ana, "body": " \u200b\n"}, 400, "ERR_EMPTY_BODY"},
		"an unregistered number":     {[]string{"apikey", token}, object{"number": "5511987650000", "body": "x"}, 400, "ERR_WAPP_INVALID_CONTACT"},
		"a queue of another":         {[]string{"apikey", token}, object{"number": ana, "body": "x", "queueId": otherQueue}, 404, "ERR_QUEUE_NOT_FOUND"},
		"a connection of another":    {[]string{"apikey", token}, object{"number": ana, "body": "x", "whatsappId": theirs.ID}, 404, "ERR_NO_WAPP_FOUND"},
		"an unknown connection":      {[]string{"apikey", token}, object{"number": ana, "body": "x", "whatsappId": 99999}, 404, "ERR_NO_WAPP_FOUND"},
	} {
		refused := anybody.OK(tc.status, "POST", "/api/messages/send", tc.body, tc.headers...)
		require.Equal(t, tc.err, refused["error"], name)
	}
	refused := anybody.OK(400, "POST", "/api/messages/send", object{"number": ana, "body": "x"}, "apikey", otherToken)
	require.Equal(t, "The company has no connection: add one and scan its QR code.", refused["detail"])
	refused = anybody.OK(400, "POST", "/api/messages/send", object{"number": "abc", "body": "x"}, "apikey", token)
	require.Equal(t, "Invalid number format: digits with country code", refused["detail"])
	for body, contentType := range map[string]string{"{x": "application/json", `{"number":null}`: "application/json", `{"number":1,"number":2}`: "application/json", "number=1": "application/x-www-form-urlencoded"} {
		refused := anybody.Call("POST", "/api/messages/send", body, "Content-Type", contentType)
		require.Equal(t, 401, refused.Status, "%s: what a stranger sends is not looked at", body)
		known := anybody.Call("POST", "/api/messages/send", body, "Content-Type", contentType, "apikey", token)
		require.Contains(t, []int{400, 415}, known.Status, known.Text)
	}
	refused = company.As(company.APIToken()).Refused(400, "ERR_INVALID_NUMBER", "POST", "/api/messages/send", object{"number": nil, "body": "x"})
	require.Equal(t, "Invalid number format: digits with country code", refused["detail"])
	for member, value := range map[string]any{"body": 5, "closeTicket": "yes", "whatsappId": "x", "fileName": []any{}} {
		body := object{"number": ana, "body": "x"}
		body[member] = value
		refused := company.As(company.APIToken()).Refused(400, "ERR_VALIDATION", "POST", "/api/messages/send", body)
		require.Equal(t, "body."+member, refused["errors"].([]any)[0].(object)["location"])
	}
	for member, body := range map[string]object{
		"body.fileName": {"mediaUrl": "https://example.com/a", "fileName": strings.Repeat("a", 256)}, "body.mediaType": {"mediaUrl": "https://example.com/a", "mediaType": "gif"},
		"body.mediatype": {"media": "https://example.com/a", "mediatype": "gif"}, "body.media": {"media": "https://example.com/" + strings.Repeat("a", 2048)},
		"body.mediaUrl": {"mediaUrl": "https://example.com/" + strings.Repeat("a", 2048)},
	} {
		body["number"], body["body"] = ana, "x"
		refused := anybody.OK(400, "POST", "/api/messages/send", body, "apikey", token)
		require.Equal(t, member, refused["errors"].([]any)[0].(object)["location"])
	}
	for _, member := range []string{"mediaType", "mediatype"} { // a file was meant
		refused := company.As(company.APIToken()).Refused(400, "ERR_VALIDATION", "POST", "/api/messages/send", object{"number": ana, "body": "x", member: "image"})
		require.Equal(t, "body.mediaUrl", refused["errors"].([]any)[0].(object)["location"])
	}
	for member, body := range map[string]object{ // both names of a member
		"body.media": {"mediaUrl": "https://example.com/a.png", "media": "https://example.com/b.png"}, "body.mediatype": {"mediaUrl": "https://example.com/a.png", "mediaType": "image", "mediatype": "video"},
	} {
		body["number"], body["body"] = ana, "x"
		refused := company.As(company.APIToken()).Refused(400, "ERR_VALIDATION", "POST", "/api/messages/send", body)
		require.Equal(t, member, refused["errors"].([]any)[0].(object)["location"])
	}
	require.Empty(t, company.Inbox(ana))
	require.Empty(t, company.Tickets(""))
	require.Empty(t, company.Hub.EventTypes(company.Tenant))
	// Several credentials of one company are as good as one.
	second := company.APIToken() // the first has reached its limit
	for _, headers := range [][]string{{"X-Integration-Key", key, "apikey", key}, {"apikey", key, "Authorization", "Bearer " + token}, {"Authorization", "Bearer " + second, "apikey", token}, {"X-Integration-Key", key, "Authorization", "Bearer " + company.Token}} {
		anybody.OK(200, "POST", "/api/messages/send", object{"number": ana, "body": "x"}, headers...)
	}
}

// The limit is a token's own: 20 at once, then one each second. What is above it is neither
// stored nor sent.
func TestSendLimit(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	company.Connect()
	ana := company.AddPhone("Ana")
	busy, other := company.As(company.APIToken()), company.As(company.APIToken())
	begin, sent := time.Now(), 0
	for range 61 {
		answer := busy.Call("POST", "/api/messages/send", object{"number": ana, "body": "x"})
		if answer.Status == 200 {
			sent++
			continue
		}
		require.Equal(t, 429, answer.Status, answer.Text)
		require.Equal(t, "ERR_RATE_LIMIT", answer.Body["error"])
		require.Equal(t, "1", answer.Header.Get("Retry-After"))
		break
	}
	require.GreaterOrEqual(t, sent, 20)
	require.LessOrEqual(t, sent, 20+int(time.Since(begin)/time.Second))
	require.Len(t, company.Inbox(ana), sent)
	require.EqualValues(t, sent, company.Get(messagingtest.TicketPath(company.Tickets("")[0]) + "/messages")["count"])
	other.OK(200, "POST", "/api/messages/send", object{"number": ana, "body": "x"})
	company.As("").OK(401, "POST", "/api/messages/send", object{"number": ana, "body": "x"})
}

// What a request of the send API may ask for beside the message.
func TestSendOptions(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	first, second := company.Connect(), company.Connect()
	ana, bruno := company.AddPhone("Ana"), company.AddPhone("Bruno")
	queue := company.AddQueueRow("Sales", "#0000aa")
	made := company.OK(201, "POST", "/api-tokens", object{"name": "CRM", "whatsappId": second.ID, "expiresAt": time.Now().Add(time.Hour)})
	require.Equal(t, []any{nil, float64(second.ID)}, []any{made["lastUsedAt"], made["whatsappId"]})
	bound, program := company.As(made["token"].(string)), company.As(company.APIToken())

	waiting := program.OK(200, "POST", "/api/messages/send", object{"number": ana, "body": "First", "queueId": queue, "externalKey": "crm-1", "whatsappId": first.ID})
	ticket := company.Get(messagingtest.TicketPath(object{"id": waiting["ticketId"]}))
	require.Equal(t, []any{"pending", float64(queue), float64(first.ID)}, []any{ticket["status"], ticket["queueId"], ticket["whatsappId"]})
	require.Equal(t, 1, company.Hub.Count("messaging.messages where company_id = $1 and external_key = 'crm-1'", company.ID))
	closed := program.OK(200, "POST", "/api/messages/send", object{"number": ana, "body": "Last", "closeTicket": true, "whatsappId": first.ID})
	require.Equal(t, []any{waiting["ticketId"], "closed"}, []any{closed["ticketId"], company.Get(messagingtest.TicketPath(ticket))["status"]})
	require.Equal(t, []string{"First", "Last"}, company.Inbox(ana))

	// A token for one connection sends on it only.
	bound.Refused(403, "ERR_NO_PERMISSION", "POST", "/api/messages/send", object{"number": bruno, "body": "x", "whatsappId": first.ID})
	require.Empty(t, company.Inbox(bruno))
	sent := bound.OK(200, "POST", "/api/messages/send", object{"number": bruno, "body": "Hello"})
	require.EqualValues(t, second.ID, company.Get(messagingtest.TicketPath(object{"id": sent["ticketId"]}))["whatsappId"])
	used, err := time.Parse(time.RFC3339, company.Get("/api-tokens")["apiTokens"].([]any)[0].(object)["lastUsedAt"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), used, 2*time.Minute)

	company.Refused(400, "ERR_VALIDATION", "POST", "/api-tokens", object{"name": "CRM", "expiresAt": time.Now().Add(-time.Hour)})
	_, err = company.Hub.Host.Pool.Exec(t.Context(), `update messaging.api_tokens set expires_at = now() - interval '1 second' where company_id = $1 and connection_id = $2`, company.ID, second.ID)
	require.NoError(t, err)
	bound.Refused(401, "ERR_SESSION_EXPIRED", "POST", "/api/messages/send", object{"number": bruno, "body": "x"})
}

// Keys of the test environment send on sandbox connections only, whether the API or the action is
// called.
func TestTestKeysSendInTheSandbox(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	company.Connect()
	ana := company.AddPhone("Ana")
	bridged := company.OK(201, "POST", "/whatsapp", object{"name": "Away", "driver": "bridge", "bridge": object{"url": "http://127.0.0.1:1/hub", "secret": drivertest.BridgeSecret}})
	require.Equal(t, "TIMEOUT", bridged["status"], "messages wait on it")
	test := company.As(company.Hub.CreateKey(company.Tenant, hub.Test))
	for _, path := range []string{"/api/messages/send", "/api/v1/integrations/action/send-message"} {
		test.OK(200, "POST", path, object{"number": ana, "body": "Hello"})
		test.Refused(403, "ERR_NO_PERMISSION", "POST", path, object{"number": ana, "body": "x", "whatsappId": bridged["id"]})
	}
	require.Equal(t, []string{"Hello", "Hello"}, company.Inbox(ana))
	require.Len(t, company.Tickets(""), 1)
}
