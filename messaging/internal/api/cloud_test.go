package api_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging"
	"integrationhub/messaging/internal/messagingtest"
)

// Secrets of the tests' account at the Cloud API.
const (
	cloudToken  = "EAAGsecretaccesstoken"
	cloudSecret = "secretofthemetaapp"
	cloudVerify = "secretverifytoken"
	cloudPhone  = "106540352242922"
)

// cloudAPI is a local stand-in of the WhatsApp Cloud API, after its documentation.
type cloudAPI struct {
	URL string

	mu      sync.Mutex
	sent    []object
	queries []string // for templates
	isAway  bool
	refused map[string]int // requests while it was away, by method

	answer func(w http.ResponseWriter) // to messages; nil: their ids
}

// RespondWith sets what becomes of the responses to messages; nil: they arrive.
func (a *cloudAPI) RespondWith(respond func(w http.ResponseWriter)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = respond
}

// SetAway has the network answer that it is not available.
func (a *cloudAPI) SetAway(isAway bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.isAway, a.refused = isAway, make(map[string]int)
}

// Refused returns how many requests came while the network was away, by method.
func (a *cloudAPI) Refused() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.refused)
}

// isRefused counts a request that comes while the network is away.
func (a *cloudAPI) isRefused(r *http.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.isAway {
		a.refused[r.Method]++
	}
	return a.isAway
}

func newCloudAPI(t *testing.T) *cloudAPI {
	api := &cloudAPI{}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	api.URL = server.URL
	return api
}

// ServeHTTP implements http.Handler.
func (a *cloudAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.isRefused(r) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":{"code":2,"message":"Service temporarily unavailable"}}`)
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+cloudToken {
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(object{"error": object{"code": 190, "message": "Cannot parse access token " + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}})
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /v23.0/" + cloudPhone:
		_, _ = io.WriteString(w, `{"display_phone_number":"+55 11 90000-0001","id":"`+cloudPhone+`"}`)
	case "POST /v23.0/" + cloudPhone + "/messages":
		var body object
		_ = json.NewDecoder(r.Body).Decode(&body)
		if body["status"] != nil { // that a message was read, which a job reports at some time
			_, _ = io.WriteString(w, `{"success":true}`)
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.sent = append(a.sent, body)
		if a.answer != nil {
			a.answer(w)
			return
		}
		_, _ = fmt.Fprintf(w, `{"messaging_product":"whatsapp","messages":[{"id":"wamid.sent%d"}]}`, len(a.sent))
	case "GET /v23.0/102290129340398/message_templates":
		a.mu.Lock()
		defer a.mu.Unlock()
		a.queries = append(a.queries, r.URL.RawQuery)
		switch {
		case a.answer != nil:
			a.answer(w)
		case r.URL.Query().Has("after"):
			_, _ = io.WriteString(w, `{"data":[],"paging":{"cursors":{"before":"a","after":"b"}}}`)
		default:
			_, _ = io.WriteString(w, `{"data":[{"name":"reminder","language":"pt_BR","status":"APPROVED","category":"UTILITY","components":[{"type":"BODY","text":"Hello {{1}}"}],"id":"1"}],"paging":{"cursors":{"before":"a","after":"next page"},"next":"https://graph.facebook.com/more"}}`)
		}
	default:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"code":100,"message":"Unsupported request."}}`)
	}
}

// Refuse makes the API refuse messages and the list of templates with an error.
func (a *cloudAPI) Refuse(code int) {
	a.RespondWith(func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(object{"error": object{"code": code, "message": "refused"}})
	})
}

// Queries returns the queries of the requests for templates.
func (a *cloudAPI) Queries() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.queries...)
}

// Sent returns the bodies of the messages that the network was called with.
func (a *cloudAPI) Sent() []object {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]object(nil), a.sent...)
}

// newCloudCompany signs a company up at a hub that calls the stand-in.
func newCloudCompany(t *testing.T, start time.Time) (*messagingtest.Company, *cloudAPI) {
	t.Helper()
	api := newCloudAPI(t)
	hub := moduletest.Start(t, messaging.New(), moduletest.Options{Start: start, Settings: []string{"HUB_CLOUD_API_URL=" + api.URL}})
	return messagingtest.SignUp(t, hub), api
}

func cloudAccount() object {
	return object{"phoneNumberId": cloudPhone, "wabaId": "102290129340398", "accessToken": cloudToken, "appSecret": cloudSecret, "verifyToken": cloudVerify}
}

// deliver calls the webhook of a connection as the API does.
func deliver(company *messagingtest.Company, connection object, secret, body string) moduletest.Response {
	company.T.Helper()
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return company.As("").Call("POST", connection["webhookUrl"].(string), body, "Content-Type", "application/json", "X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
}

// cloudWebhook returns the body of a webhook; value is what is beside its metadata.
func cloudWebhook(phone, value string) string {
	return `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{"messaging_product":"whatsapp","metadata":{"phone_number_id":"` + phone + `"},` + value + `}}]}]}`
}

func cloudText(id, from, text string, at time.Time) string {
	return fmt.Sprintf(`"contacts":[{"profile":{"name":"Ana"},"wa_id":%q}],"messages":[{"from":%q,"id":%q,"timestamp":"%d","type":"text","text":{"body":%s}}]`, from, from, id, at.Unix(), text)
}

func requireNoCloudSecrets(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{cloudToken, cloudSecret, cloudVerify} {
		require.NotContains(t, text, secret)
	}
}

func TestCloudConnection(t *testing.T) {
	t.Parallel()
	company, api := newCloudCompany(t, time.Time{})
	made := company.Call("POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": cloudAccount()})
	require.Equal(t, 201, made.Status, made.Text)
	require.Equal(t, []any{"CONNECTED", "5511900000001", nil}, []any{made.Body["status"], made.Body["number"], made.Body["lastError"]})
	path := messagingtest.Path("/whatsapp", made.Body)
	require.Equal(t, company.Hub.Base+"/webhooks/cloud/"+strings.TrimPrefix(path, "/whatsapp/"), made.Body["webhookUrl"])
	qr := company.Get(path + "/qrCode")
	require.Equal(t, []any{nil, nil, "CONNECTED"}, []any{qr["qrcode"], qr["image"], qr["status"]})
	require.Nil(t, company.OK(201, "POST", "/whatsapp", object{"name": "Simulated"})["webhookUrl"])

	wrong := cloudAccount()
	wrong["accessToken"] = cloudToken + "old"
	refused := company.OK(201, "POST", "/whatsapp", object{"name": "Old", "driver": "cloud", "cloud": wrong})
	require.Equal(t, []any{"DISCONNECTED", "Cannot parse access token [access token]"}, []any{refused["status"], refused["lastError"]})
	repaired := company.OK(200, "PUT", messagingtest.Path("/whatsapp", refused), object{"cloud": object{"accessToken": cloudToken}})
	require.Equal(t, []any{"CONNECTED", nil}, []any{repaired["status"], repaired["lastError"]}, "the other members stay")

	for _, answer := range []moduletest.Response{made, company.Call("GET", "/whatsapp", nil), company.Call("GET", path, nil), company.Call("PUT", path, object{"greetingMessage": "Hi"}), company.Call("POST", strings.Replace(path, "/whatsapp/", "/whatsappsession/", 1), nil)} {
		require.Less(t, answer.Status, 300, answer.Text)
		requireNoCloudSecrets(t, answer.Text)
	}
	var rows string
	require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select string_agg(c::text || coalesce(encode(settings, 'escape'), ''), ' ') from connections c`).Scan(&rows))
	require.Contains(t, rows, "Official")
	requireNoCloudSecrets(t, rows)
	requireNoCloudSecrets(t, company.Hub.Log())
	require.Empty(t, api.Sent())
}

func TestCloudConnectionRefusals(t *testing.T) {
	t.Parallel()
	company, _ := newCloudCompany(t, time.Time{})
	for name, value := range map[string]any{
		"phoneNumberId": "../me", "wabaId": "", "accessToken": "a\nb", "appSecret": strings.Repeat("x", 201), "verifyToken": nil,
	} {
		account := cloudAccount()
		account[name] = value
		company.Refused(400, "ERR_VALIDATION", "POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": account})
		delete(account, name)
		company.Refused(400, "ERR_VALIDATION", "POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": account})
	}
	for token, problem := range map[string]string{"my word": "must be", "": "is required:"} { // what is given is not called missing
		account := cloudAccount()
		account["verifyToken"] = token
		refused := company.OK(400, "POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": account})
		require.Equal(t, problem+" 1 to 200 printable ASCII characters without spaces", refused["errors"].([]any)[0].(object)["message"])
	}
	company.Refused(400, "ERR_VALIDATION", "POST", "/whatsapp", object{"name": "Official", "driver": "cloud"})
	company.Refused(400, "ERR_VALIDATION", "POST", "/whatsapp", object{"name": "Official", "cloud": cloudAccount()})
	require.Empty(t, company.Call("GET", "/whatsapp", nil).List)
	simulated := messagingtest.Path("/whatsapp", company.OK(201, "POST", "/whatsapp", object{"name": "Simulated"}))
	company.Refused(400, "ERR_VALIDATION", "PUT", simulated, object{"cloud": cloudAccount()})
	official := messagingtest.Path("/whatsapp", company.OK(201, "POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": cloudAccount()}))
	company.Refused(400, "ERR_VALIDATION", "PUT", official, object{"cloud": object{"accessToken": ""}})
	company.AnotherCompany().Refused(404, "ERR_NO_WAPP_FOUND", "PUT", official, object{"cloud": cloudAccount()})
	require.Equal(t, "CONNECTED", company.Get(official)["status"])
}

// Messages arrive once, statuses become acks, and texts go out within a day of the contact's
// last message only.
func TestCloudMessages(t *testing.T) {
	t.Parallel()
	start := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	company, api := newCloudCompany(t, start)
	connection := company.OK(201, "POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": cloudAccount()})
	const ana = "5511987654321"
	send := func(status int) object {
		return company.As("").OK(status, "POST", "/api/messages/send", object{"number": ana, "body": "Hello"}, "apikey", company.APIToken())
	}
	require.Equal(t, "ERR_WINDOW_CLOSED", send(400)["error"], "the contact has never written")
	require.Empty(t, company.Get("/contacts")["contacts"], "nothing is stored")

	body := cloudWebhook(cloudPhone, cloudText("wamid.in1", ana, `"Hi there"`, start))
	for range 2 {
		require.Equal(t, object{"received": true}, deliver(company, connection, cloudSecret, body).Body)
	}
	tickets := company.Tickets("")
	require.Len(t, tickets, 1)
	require.Equal(t, []any{"Ana", ana, 1.0}, []any{tickets[0]["contact"].(object)["name"], tickets[0]["contact"].(object)["number"], tickets[0]["unreadMessages"]})
	messages := messagingtest.TicketPath(tickets[0]) + "/messages"
	require.Equal(t, "Hi there", company.Get(messages)["messages"].([]any)[0].(object)["body"])
	read := len(api.Sent()) // the read receipt

	sent := send(200)
	require.Equal(t, []any{"sent", 1.0}, []any{sent["status"], sent["ack"]})
	require.Equal(t, []object{{"messaging_product": "whatsapp", "to": ana, "type": "text", "text": object{"body": "Hello"}, "biz_opaque_callback_data": sent["id"]}}, api.Sent()[read:])
	remote := fmt.Sprintf("wamid.sent%d", read+1)
	for _, status := range []struct {
		name string
		ack  float64
	}{{"read", 3}, {"delivered", 3}, {"unknown", 3}, {"played", 4}, {"read", 4}} {
		deliver(company, connection, cloudSecret, cloudWebhook(cloudPhone, fmt.Sprintf(`"statuses":[{"id":%q,"status":%q}]`, remote, status.name)))
		last := company.Get(messages)["messages"].([]any)[1].(object)
		require.Equal(t, []any{sent["id"], status.ack}, []any{last["id"], last["ack"]}, status.name)
	}

	company.Advance(24*time.Hour - time.Second)
	send(200)
	calls := len(api.Sent())
	company.Advance(time.Second)
	require.Equal(t, "ERR_WINDOW_CLOSED", send(400)["error"])
	company.Refused(400, "ERR_WINDOW_CLOSED", "POST", messages, object{"body": "Hello"})
	company.OK(201, "POST", messages, object{"body": "A note", "isPrivate": true})
	company.OK(201, "POST", "/schedules", object{"body": "Later", "sendAt": start.Add(25 * time.Hour), "contactId": tickets[0]["contact"].(object)["id"]})
	company.Advance(2 * time.Hour)
	company.RunJob("schedules") // the hub's own run may be doing it
	require.Eventually(t, func() bool {
		company.FlushOutbox()
		stored := company.Get(messages)["messages"].([]any)
		last := stored[len(stored)-1].(object)
		return last["body"] == "Later" && last["ack"] == -1.0 && last["errorCode"] == "window_closed"
	}, time.Minute, 10*time.Millisecond)
	require.Len(t, api.Sent(), calls, "the network is not called")
}

func TestCloudWebhookRefusals(t *testing.T) {
	t.Parallel()
	company, _ := newCloudCompany(t, time.Time{})
	other := company.AnotherCompany()
	connection := company.OK(201, "POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": cloudAccount()})
	account := cloudAccount()
	account["appSecret"] = "another"
	theirs := other.OK(201, "POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": account})
	simulated := company.OK(201, "POST", "/whatsapp", object{"name": "Simulated"})

	challenge := func(connection object, query url.Values) moduletest.Response {
		return company.As("").Call("GET", fmt.Sprintf("/webhooks/cloud/%d?%s", messagingtest.ID(connection), query.Encode()), nil)
	}
	right := url.Values{"hub.mode": {"subscribe"}, "hub.verify_token": {cloudVerify}, "hub.challenge": {"1158201444"}}
	answer := challenge(connection, right)
	require.Equal(t, []any{200, "1158201444", "text/plain; charset=utf-8"}, []any{answer.Status, answer.Text, answer.Header.Get("Content-Type")})
	require.Equal(t, 403, challenge(simulated, right).Status)
	require.Equal(t, 403, challenge(object{"id": 99999.0}, right).Status)
	for name, value := range map[string]string{"hub.mode": "x", "hub.verify_token": "x"} {
		wrong := url.Values{"hub.mode": right["hub.mode"], "hub.verify_token": right["hub.verify_token"], "hub.challenge": right["hub.challenge"]}
		wrong.Set(name, value)
		require.Equal(t, 403, challenge(connection, wrong).Status, name)
	}
	require.Equal(t, 403, challenge(connection, nil).Status)

	body := cloudWebhook(cloudPhone, cloudText("wamid.in1", "5511987654321", `"Hi"`, time.Now()))
	for _, secret := range []string{"another", ""} {
		refused := deliver(company, connection, secret, body)
		require.Equal(t, []any{401, "ERR_SESSION_EXPIRED"}, []any{refused.Status, refused.Body["error"]}, secret)
	}
	require.Equal(t, 401, company.As("").Call("POST", connection["webhookUrl"].(string), body).Status, "no signature")
	require.Equal(t, 401, deliver(company, theirs, cloudSecret, body).Status, "another company's connection")
	for _, id := range []int64{messagingtest.ID(simulated), 99999} {
		require.Equal(t, 401, deliver(company, object{"webhookUrl": fmt.Sprintf("/webhooks/cloud/%d", id)}, cloudSecret, body).Status)
		require.Equal(t, 401, deliver(company, object{"webhookUrl": fmt.Sprintf("/webhooks/cloud/%d", id)}, "", body).Status)
	}
	for _, malformed := range []string{"{", "", "[]", `{"entry":5}`, cloudWebhook(cloudPhone, `"messages":[{"from":"5511987654321","type":"text"}]`), strings.Replace(body, `"Hi"`, `"\u0000"`, 1)} {
		require.Equal(t, 400, deliver(company, connection, cloudSecret, malformed).Status, malformed)
	}
	require.Equal(t, 200, deliver(company, connection, cloudSecret, cloudWebhook("5", cloudText("wamid.in2", "5511987654321", `"Hi"`, time.Now()))).Status, "another number's")
	require.Empty(t, company.Tickets(""))
	require.Equal(t, 200, deliver(company, connection, cloudSecret, body).Status)
	require.Len(t, company.Tickets(""), 1)
	require.Empty(t, other.Tickets(""))
}
