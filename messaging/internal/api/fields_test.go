package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/messagingtest"
)

// requireFields requires members with their values.
func requireFields(t *testing.T, want, got object) {
	t.Helper()
	for name, value := range want {
		require.Contains(t, got, name)
		require.Equal(t, value, got[name], name)
	}
}

// What a new row has where the request said nothing.
func TestDefaultsOfNewRows(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	id := float64(company.ID)
	connection := company.Connect()
	line := float64(connection.ID)
	requireFields(t, object{
		"companyId": id, "driver": "sandbox", "status": "CONNECTED", "retries": 0.0, "isDefault": true, "greetingMessage": "", "farewellMessage": "", "outOfHoursMessage": "", "ratingMessage": "",
		"queueIds": []any{}, "transferQueueId": nil, "timeToTransfer": 0.0, "expiresTicket": 0.0, "expiresInactiveMessage": "", "maxUseBotQueues": 3.0, "sendIntervalMs": 0.0, "dailyLimit": 0.0, "lastError": nil,
	}, company.Get(messagingtest.ConnectionPath(connection)))
	contact := company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": company.AddPhone("Ana")})
	requireFields(t, object{
		"companyId": id, "lid": nil, "email": "", "profilePicUrl": "", "isGroup": false, "channel": "whatsapp", "disableBot": false, "extraInfo": []any{}, "tags": []any{},
		"consent": "unknown", "consentAt": nil, "anonymizedAt": nil,
	}, contact)
	ticket := company.OK(201, "POST", "/tickets", object{"contactId": contact["id"], "userId": nil, "queueId": nil, "whatsappId": nil})
	requireFields(t, object{
		"companyId": id, "status": "open", "unreadMessages": 0.0, "lastMessage": "", "isGroup": false, "contactId": contact["id"], "userId": company.Get("/users")["users"].([]any)[0].(object)["id"], "queueId": nil, "queue": nil,
		"whatsappId": line, "chatbot": false, "resolution": nil, "rating": nil, "closedAt": nil, "tags": []any{},
	}, ticket)
	require.NotNil(t, ticket["startedAt"], "it is open")
	require.Equal(t, connection.ID, messagingtest.ID(ticket["whatsapp"].(object)))
	require.Equal(t, ticket["userId"], ticket["user"].(object)["id"])
	message := company.OK(201, "POST", messagingtest.TicketPath(ticket)+"/messages", object{"body": "Hello"})
	requireFields(t, object{
		"ticketId": ticket["id"], "body": "Hello", "fromMe": true, "mediaType": "text", "mediaUrl": nil, "mediaName": nil, "quotedMsgId": nil, "isDeleted": false, "isEdited": false, "isPrivate": false,
		"origin": "agent", "userId": ticket["userId"], "errorCode": nil, "whatsappId": line,
	}, message)
	campaign := company.OK(201, "POST", "/campaigns", object{"name": "News", "message1": "Hello", "whatsappId": connection.ID})
	requireFields(t, object{
		"companyId": id, "message2": "", "message5": "", "confirmation": false, "mediaUrl": nil, "mediaName": nil, "scheduledAt": nil, "startedAt": nil, "completedAt": nil,
		"messageInterval": 20.0, "longerIntervalAfter": 20.0, "greaterInterval": 60.0, "sendWindow": nil,
	}, campaign)
	tag := company.OK(201, "POST", "/tags", object{"name": "VIP"})
	requireFields(t, object{"companyId": id, "color": "#A4CCCC", "kanban": 0.0}, tag)
	for name, row := range map[string]object{"contact": contact, "ticket": ticket, "campaign": campaign, "tag": tag} {
		for _, member := range []string{"createdAt", "updatedAt"} {
			at, isText := row[member].(string)
			require.True(t, isText && strings.HasSuffix(at, "Z"), "%s %s: %v", name, member, row[member])
			parsed, err := time.Parse(time.RFC3339, at)
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), parsed, 10*time.Minute)
		}
	}
}

// A new ticket has what the request asks for.
func TestTicketAsAskedFor(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	company.Connect()
	second := company.Connect()
	_, caio := company.AddUser(object{"profile": "user"})
	queue := company.AddQueueRow("Sales", "#0000aa")
	contact := company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": company.AddPhone("Ana")})
	ticket := company.OK(201, "POST", "/tickets", object{"contactId": contact["id"], "status": "pending", "userId": caio, "queueId": queue, "whatsappId": second.ID})
	requireFields(t, object{"status": "pending", "userId": float64(caio), "queueId": float64(queue), "whatsappId": float64(second.ID), "startedAt": nil}, ticket)
	require.Equal(t, "#0000aa", ticket["queue"].(object)["color"])
	company.Refused(400, "ERR_VALIDATION", "POST", "/tickets", object{"contactId": contact["id"], "status": "closed"})
}

// A user opens a closed ticket again, unless another one is live. Only messages take it back to pending.
func TestClosedTicketIsOpenedAgain(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	company.Connect()
	contact := company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": company.AddPhone("Ana")})
	ticket := company.OK(201, "POST", "/tickets", object{"contactId": contact["id"]})
	path := messagingtest.TicketPath(ticket)
	closed := company.OK(200, "PUT", path, object{"status": "closed"})
	require.NotNil(t, closed["closedAt"])
	company.Refused(400, "ERR_INVALID_TRANSITION", "PUT", path, object{"status": "pending"})
	require.Equal(t, closed, company.Get(path))
	requireFields(t, object{"status": "open", "closedAt": nil}, company.OK(200, "PUT", path, object{"status": "open"}))
	company.OK(200, "PUT", path, object{"status": "closed"})
	company.OK(201, "POST", "/tickets", object{"contactId": contact["id"]})
	company.Refused(400, "ERR_OTHER_OPEN_TICKET", "PUT", path, object{"status": "open"})
}

// Who asks for a token that may do less does not get one that sends.
func TestScopesOfAPITokens(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	for _, scopes := range []any{[]string{"ticket.read"}, []string{"message.send", "bogus"}, []string{}, nil, "message.send"} {
		refused := company.Refused(400, "ERR_VALIDATION", "POST", "/api-tokens", object{"name": "Reader", "scopes": scopes})
		require.Contains(t, refused["detail"], "body.scopes", scopes)
	}
	require.Equal(t, []any{"message.send"}, company.OK(201, "POST", "/api-tokens", object{"name": "Sender", "scopes": []string{"message.send"}})["scopes"])
}

// An API token is shown once and stored as a hash only. It is no login. A deleted one stays in the
// list, revoked.
func TestAPITokenIsShownOnce(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	made := company.OK(201, "POST", "/api-tokens", object{"name": "CRM", "whatsappId": nil, "expiresAt": nil})
	token := made["token"].(string)
	requireFields(t, object{"name": "CRM", "scopes": []any{"message.send"}, "whatsappId": nil, "expiresAt": nil, "lastUsedAt": nil, "revokedAt": nil}, made)
	require.True(t, strings.HasPrefix(token, made["prefix"].(string)) && len(token) > len(made["prefix"].(string))+20)
	listed := company.Call("GET", "/api-tokens", nil)
	require.NotContains(t, listed.Text, token)
	tokens := func(page int) object { return company.Get(fmt.Sprintf("/api-tokens?pageNumber=%d", page)) }
	require.NotContains(t, tokens(1)["apiTokens"].([]any)[0], "token")
	require.Zero(t, company.Hub.Count("messaging.api_tokens t where t::text like '%' || $1 || '%'", token), "the table has no plain token")
	program := company.As(token)
	for _, path := range []string{"/company", "/tickets", "/contacts", "/whatsapp", "/api-tokens"} {
		program.Refused(401, "ERR_SESSION_EXPIRED", "GET", path, nil)
	}
	company.OK(200, "DELETE", messagingtest.Path("/api-tokens", made), nil)
	require.NotNil(t, tokens(1)["apiTokens"].([]any)[0].(object)["revokedAt"])
	for range 20 {
		company.OK(201, "POST", "/api-tokens", object{"name": "later"})
	}
	first, second := tokens(1), tokens(2)
	require.Len(t, first["apiTokens"], 20)
	require.Equal(t, []any{21.0, true, 21.0, false}, []any{first["count"], first["hasMore"], second["count"], second["hasMore"]})
	require.Len(t, second["apiTokens"], 1)
	require.Equal(t, "CRM", second["apiTokens"].([]any)[0].(object)["name"], "the newest come first")
}

// The answer of the send API, and what the ticket has of the message.
func TestSendAnswer(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	company.Connect()
	ana := company.AddPhone("Ana")
	sent := company.As(company.APIToken()).OK(200, "POST", "/api/messages/send", object{"number": ana, "body": "Hi", "whatsappId": nil, "queueId": nil})
	requireFields(t, object{"status": "sent", "number": ana, "messageId": sent["id"]}, sent)
	at, err := time.Parse("2006-01-02T15:04:05.999999999Z", sent["timestamp"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), at, 10*time.Minute)
	messages := company.Get(messagingtest.TicketPath(object{"id": sent["ticketId"]}) + "/messages")["messages"].([]any)
	require.Len(t, messages, 1)
	requireFields(t, object{"id": sent["id"], "origin": "api", "userId": nil, "body": "Hi"}, messages[0].(object))
	require.Equal(t, sent["contactId"], company.Get(messagingtest.TicketPath(object{"id": sent["ticketId"]}))["contactId"])
}

// The limit comes before the body, refused requests count, a file needs a text too, and a text has
// its bound.
func TestSendOrder(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	company.Connect()
	ana := company.AddPhone("Ana")
	fetched := make(chan struct{}, 10)
	files := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched <- struct{}{} }))
	t.Cleanup(files.Close)
	program := company.As(company.APIToken())
	for _, member := range []string{"mediaUrl", "media"} {
		program.Refused(400, "ERR_EMPTY_BODY", "POST", "/api/messages/send", object{"number": ana, "body": "", member: files.URL + "/a.png"})
	}
	require.Empty(t, fetched, "nothing is fetched for a refused request")
	longest := strings.Repeat("é", 4096)
	program.OK(200, "POST", "/api/messages/send", object{"number": ana, "body": longest})
	program.Refused(400, "ERR_VALIDATION", "POST", "/api/messages/send", object{"number": ana, "body": longest + "é"})
	require.Equal(t, []string{longest}, company.Inbox(ana))

	limited := company.As(company.APIToken())
	var last moduletest.Response
	for range 61 {
		if last = limited.Call("POST", "/api/messages/send", object{"number": "x", "body": ""}); last.Status == 429 {
			break
		}
		require.Equal(t, 400, last.Status, last.Text)
	}
	require.Equal(t, []any{429, "ERR_RATE_LIMIT"}, []any{last.Status, last.Body["error"]})
	require.NotEmpty(t, last.Header.Get("Retry-After"))
}

// A deletion says in words what was done.
func TestDeletionsHaveAMessage(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	contact := company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "5511987654321"})
	for collection, body := range map[string]object{
		"/tags": {"name": "VIP"}, "/queue": {"name": "Sales", "color": "#0000aa"}, "/quick-messages": {"shortcode": "hello", "message": "Hello there"}, "/whatsapp": {"name": "Line"},
		"/users": {"name": "Caio", "email": "caio-" + strings.ToLower(t.Name()) + "@example.com", "password": messagingtest.Password}, "/webhooks": {"url": "http://127.0.0.1:9/", "events": []any{"message.created"}},
		"/schedules": {"body": "Hello", "sendAt": time.Now().Add(time.Hour), "contactId": contact["id"]}, "/api-tokens": {"name": "CRM"},
	} {
		deleted := company.Call("DELETE", fmt.Sprintf("%s/%v", collection, company.OK(201, "POST", collection, body)["id"]), nil)
		require.Equal(t, 200, deleted.Status, "%s: %s", collection, deleted.Text)
		require.NotEmpty(t, deleted.Body["message"], collection)
		delete(deleted.Body, "$schema")
		require.Len(t, deleted.Body, 1, collection)
	}
}
