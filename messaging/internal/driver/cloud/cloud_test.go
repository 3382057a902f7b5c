package cloud_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/driver/cloud"
)

// recorder keeps what a driver passes on.
type recorder struct {
	changes  []driver.ConnectionChange
	messages []driver.Incoming
	receipts []driver.Receipt
}

func (r *recorder) ChangeConnection(_ context.Context, c driver.ConnectionChange) error {
	r.changes = append(r.changes, c)
	return nil
}

func (r *recorder) ReceiveMessage(_ context.Context, m driver.Incoming) error {
	r.messages = append(r.messages, m)
	return nil
}

func (r *recorder) ReceiveReceipt(_ context.Context, receipt driver.Receipt) error {
	r.receipts = append(r.receipts, receipt)
	return nil
}

var connection = driver.Connection{ID: 7, Settings: []byte(`{"phoneNumberId":"106540352242922","accessToken":"EAAG","appSecret":"app secret","verifyToken":"verify"}`)}

// api is a local stand-in of the Cloud API, after its documentation.
func api(t *testing.T) (d *cloud.Driver, sink *recorder, sent *[]map[string]any) {
	t.Helper()
	sink, sent = &recorder{}, &[]map[string]any{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse := func(status, code int, message string) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": code, "message": message}})
		}
		if r.Header.Get("Authorization") != "Bearer EAAG" {
			refuse(401, 190, "Invalid OAuth access token.")
			return
		}
		var status, code int
		if n, _ := fmt.Sscanf(r.URL.Path, "/v23.0/account-%d-%d", &status, &code); n == 2 {
			refuse(status, code, "No.")
			return
		}
		switch r.Method + " " + r.URL.Path {
		case "GET /v23.0/106540352242922":
			_, _ = io.WriteString(w, `{"display_phone_number":"+55 11 90000-0001","id":"106540352242922"}`)
		case "GET /v23.0/media-1":
			_ = json.NewEncoder(w).Encode(map[string]any{"url": "http://" + r.Host + "/file", "mime_type": "image/jpeg"})
		case "GET /file":
			_, _ = io.WriteString(w, "content")
		case "POST /v23.0/106540352242922/messages":
			var body map[string]any
			_ = json.NewDecoder(r.Body).Decode(&body)
			*sent = append(*sent, body)
			var code int
			if n, _ := fmt.Sscanf(fmt.Sprint(body["to"]), "account %d", &code); n == 1 {
				refuse(403, code, "No.")
				return
			}
			switch body["to"] {
			case "1":
				refuse(400, 131026, "Message undeliverable")
			case "2":
				refuse(400, 131047, "Re-engagement message")
			case "3":
				w.Header().Set("Retry-After", "90")
				refuse(429, 130429, "Rate limit hit")
			case "4":
				refuse(500, 1, "Unknown")
			case "5":
				refuse(400, 132015, "Template is Paused")
			default:
				_, _ = io.WriteString(w, `{"messaging_product":"whatsapp","contacts":[{"input":"x","wa_id":"x"}],"messages":[{"id":"wamid.1"}]}`)
			}
		default:
			refuse(400, 100, "Unsupported get request.")
		}
	}))
	t.Cleanup(server.Close)
	at := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	d, err := cloud.New(module.Host{HTTP: server.Client(), Downloads: server.Client(), Now: func() time.Time { return at }}, sink, server.URL, "v23.0")
	require.NoError(t, err)
	return d, sink, sent
}

func TestStart(t *testing.T) {
	t.Parallel()
	d, sink, _ := api(t)
	require.NoError(t, d.Start(t.Context(), connection))
	require.Equal(t, driver.ConnectionChange{ConnectionID: 7, Status: chat.ConnectionConnected, Number: "5511900000001"}, sink.changes[0])
	wrong := connection
	wrong.Settings = []byte(`{"phoneNumberId":"106540352242922","accessToken":"old"}`)
	require.NoError(t, d.Start(t.Context(), wrong))
	require.Equal(t, driver.ConnectionChange{ConnectionID: 7, Status: chat.ConnectionDisconnected, LastError: "Invalid OAuth access token."}, sink.changes[1])
}

// An error that passes does not disconnect: nothing asks for the account again then.
func TestStartWithErrors(t *testing.T) {
	t.Parallel()
	d, sink, _ := api(t)
	for account, status := range map[string]chat.ConnectionStatus{
		"500-1": chat.ConnectionTimeout, "500-2": chat.ConnectionTimeout, "429-0": chat.ConnectionTimeout, "503-2": chat.ConnectionTimeout,
		"400-4": chat.ConnectionTimeout, "400-80007": chat.ConnectionTimeout, "400-130429": chat.ConnectionTimeout,
		"401-0": chat.ConnectionDisconnected, "400-100": chat.ConnectionDisconnected, "403-10": chat.ConnectionDisconnected, "500-190": chat.ConnectionDisconnected,
	} {
		asked := connection
		asked.Settings = []byte(`{"phoneNumberId":"account-` + account + `","accessToken":"EAAG"}`)
		require.NoError(t, d.Start(t.Context(), asked), account)
		change := sink.changes[len(sink.changes)-1]
		require.Equal(t, status, change.Status, account)
		require.NotEmpty(t, change.LastError, account)
	}
	require.Len(t, sink.changes, 11)
}

func TestSend(t *testing.T) {
	t.Parallel()
	d, _, sent := api(t)
	for _, m := range []driver.Outgoing{
		{ID: "m1", To: "5511987654321", Body: "Hello", QuotedRemoteID: "wamid.0"},
		{To: "5511987654321", Body: "The way", Media: &driver.Media{Type: chat.MediaImage, URL: "https://hub/a"}},
		{To: "5511987654321", Body: "x", Media: &driver.Media{Type: chat.MediaAudio, URL: "https://hub/b"}},
		{To: "5511987654321", Media: &driver.Media{Type: chat.MediaDocument, URL: "https://hub/c", Name: "a.pdf"}},
	} {
		got, err := d.Send(t.Context(), connection, m)
		require.NoError(t, err)
		require.Equal(t, "wamid.1", got.RemoteID)
	}
	require.NoError(t, d.MarkRead(t.Context(), connection, driver.Contact{Number: "5511987654321"}, []string{"wamid.8", "wamid.9"}))
	raw, err := json.Marshal(*sent)
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"messaging_product":"whatsapp","to":"5511987654321","type":"text","text":{"body":"Hello"},"biz_opaque_callback_data":"m1","context":{"message_id":"wamid.0"}},
		{"messaging_product":"whatsapp","to":"5511987654321","type":"image","image":{"link":"https://hub/a","caption":"The way"}},
		{"messaging_product":"whatsapp","to":"5511987654321","type":"audio","audio":{"link":"https://hub/b"}},
		{"messaging_product":"whatsapp","to":"5511987654321","type":"document","document":{"link":"https://hub/c","filename":"a.pdf"}},
		{"messaging_product":"whatsapp","status":"read","message_id":"wamid.9"}]`, string(raw))
	_, err = d.Send(t.Context(), connection, driver.Outgoing{To: "1", Body: "x"})
	require.ErrorIs(t, err, driver.ErrNotRegistered)
	for _, code := range []string{"10", "190", "200", "299", "368", "131005", "131031", "131042", "133010"} {
		_, err := d.Send(t.Context(), connection, driver.Outgoing{To: "account " + code, Body: "x"})
		var account *driver.AccountError
		require.ErrorAs(t, err, &account, code)
		require.ErrorIs(t, err, driver.ErrNotConnected)
		require.Equal(t, "No.", account.Reason)
	}
	for _, to := range []string{"3", "4"} { // these pass
		_, err := d.Send(t.Context(), connection, driver.Outgoing{To: to, Body: "x"})
		require.Error(t, err)
		require.NotErrorIs(t, err, driver.ErrRefused)
		var later *driver.RetryLaterError
		require.Equal(t, to == "3", errors.As(err, &later) && later.After == 90*time.Second)
	}
	for to, code := range map[string]string{"2": "window_closed", "5": "template_paused"} {
		_, err = d.Send(t.Context(), connection, driver.Outgoing{To: to, Template: &chat.Template{Name: "a", Language: "en"}})
		var refusal *driver.RefusedError
		require.ErrorAs(t, err, &refusal)
		require.ErrorIs(t, err, driver.ErrRefused)
		require.Equal(t, code, refusal.Code)
	}
	file, err := d.OpenMedia(t.Context(), connection, "media-1")
	require.NoError(t, err)
	content, err := io.ReadAll(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Equal(t, "content", string(content))
	_, err = d.OpenMedia(t.Context(), connection, "gone")
	require.ErrorIs(t, err, driver.ErrRefused)
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	d, sink, _ := api(t)
	body := `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{"messaging_product":"whatsapp",
		"metadata":{"display_phone_number":"5511900000001","phone_number_id":"106540352242922"},"contacts":[{"profile":{"name":"Ana"},"wa_id":"5511987654321"}],
		"messages":[{"from":"5511987654321","id":"wamid.2","timestamp":"1772366400","type":"text","text":{"body":"Hi"},"context":{"id":"wamid.1"}},
			{"from":"5511987654321","id":"wamid.3","timestamp":"1772366401","type":"image","image":{"id":"media-1","mime_type":"image/jpeg","caption":"Look"}}],
		"statuses":[{"id":"wamid.1","status":"delivered","biz_opaque_callback_data":"m1"},{"id":"wamid.4","status":"failed","errors":[{"code":131047}]},{"id":"wamid.5","status":"warning"},
			{"id":"wamid.6","status":"failed","timestamp":"1772366400","errors":[{"code":131042,"title":"Business eligibility payment issue"}]},
			{"id":"wamid.7","status":"failed","errors":[{"code":131042}]},{"id":"wamid.8","status":"sent","timestamp":"1772366400","errors":[{"code":131042}]}]}},
		{"value":{"metadata":{"phone_number_id":"another"},"messages":[{"from":"5511987654321","id":"wamid.6","type":"text"}]}}]}]}`
	require.NoError(t, d.Receive(t.Context(), connection, []byte(body)))
	require.Equal(t, []driver.Incoming{
		{ConnectionID: 7, RemoteID: "wamid.2", From: "5511987654321", Name: "Ana", Body: "Hi", QuotedRemoteID: "wamid.1", At: time.Unix(1772366400, 0).UTC()},
		{ConnectionID: 7, RemoteID: "wamid.3", From: "5511987654321", Name: "Ana", Body: "Look", At: time.Unix(1772366401, 0).UTC(),
			Media: &driver.IncomingMedia{Type: chat.MediaImage, MimeType: "image/jpeg", Reference: "media-1"}},
	}, sink.messages)
	require.Equal(t, []driver.Receipt{
		{ConnectionID: 7, RemoteIDs: []string{"wamid.1"}, MessageID: "m1", Ack: chat.AckDevice}, {ConnectionID: 7, RemoteIDs: []string{"wamid.4"}, Ack: chat.AckFailed, ErrorCode: "window_closed"},
		{ConnectionID: 7, RemoteIDs: []string{"wamid.6"}, Ack: chat.AckFailed, ErrorCode: "131042"}, {ConnectionID: 7, RemoteIDs: []string{"wamid.7"}, Ack: chat.AckFailed, ErrorCode: "131042"},
		{ConnectionID: 7, RemoteIDs: []string{"wamid.8"}, Ack: chat.AckServer},
	}, sink.receipts)
	require.Equal(t, []driver.ConnectionChange{{ConnectionID: 7, Status: chat.ConnectionDisconnected, LastError: "Business eligibility payment issue", At: time.Unix(1772366400, 0)}}, sink.changes, "of a failure whose time is known")
	for _, bad := range []string{"", "[]", `{"entry":5}`, "{"} {
		require.ErrorIs(t, d.Receive(t.Context(), connection, []byte(bad)), hub.ErrMalformed, bad)
	}
}

func TestSignature(t *testing.T) {
	t.Parallel()
	settings := cloud.Settings{AppSecret: "app secret", VerifyToken: "verify"}
	mac := hmac.New(sha256.New, []byte("app secret"))
	mac.Write([]byte("body"))
	signature := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	require.True(t, settings.IsSigned([]byte("body"), signature))
	for _, bad := range []string{"", "sha256=", strings.ToUpper(signature), signature[7:], strings.Replace(signature, "sha256", "sha1", 1), signature[:len(signature)-1]} {
		require.False(t, settings.IsSigned([]byte("body"), bad), bad)
	}
	require.False(t, settings.IsSigned([]byte("bodY"), signature))
	require.False(t, cloud.Settings{}.IsSigned([]byte("body"), "sha256="))
	require.True(t, settings.IsVerified("verify"))
	require.False(t, settings.IsVerified("other"))
	require.False(t, cloud.Settings{}.IsVerified(""), "nothing is verified without a token")
}
