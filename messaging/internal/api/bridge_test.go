package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/driver/drivertest"
	"integrationhub/messaging/internal/messagingtest"
)

// bridgedCompany is a company with a connection whose session is a bridge's.
type bridgedCompany struct {
	*messagingtest.Company
	bridge *drivertest.Bridge
	id     int64
	path   string
	made   moduletest.Response
}

// newBridgedCompany signs a company up at a hub of its own: the bridge is away when the test
// has ended.
func newBridgedCompany(t *testing.T) *bridgedCompany {
	t.Helper()
	return connectBridge(messagingtest.NewCompanyAlone(t), drivertest.NewBridge(t))
}

// connectBridge makes a company a connection whose session is a bridge's.
func connectBridge(company *messagingtest.Company, bridge *drivertest.Bridge) *bridgedCompany {
	t := company.T
	t.Helper()
	c := &bridgedCompany{Company: company, bridge: bridge}
	c.made = c.Call("POST", "/whatsapp", object{"name": "Reception", "driver": "bridge", "bridge": bridgeAccount(c.bridge)})
	require.Equal(t, 201, c.made.Status, c.made.Text)
	c.id, c.path = messagingtest.ID(c.made.Body), messagingtest.Path("/whatsapp", c.made.Body)
	return c
}

func bridgeAccount(b *drivertest.Bridge) object {
	return object{"url": b.URL, "secret": drivertest.BridgeSecret}
}

// pair connects the connection, as a phone that scans the code.
func (c *bridgedCompany) pair() {
	c.T.Helper()
	state := c.bridge.ChangeState(c.id, object{"status": "CONNECTED", "number": "5511900000001"})
	require.Equal(c.T, 200, c.bridge.Report(c.T, c.id, "state", state))
}

// receive reports a message of a contact and returns the answer's status.
func (c *bridgedCompany) receive(remoteID, body string) int {
	c.T.Helper()
	return c.bridge.Report(c.T, c.id, "message", object{"remoteId": remoteID, "from": cloudContact, "name": "Ana", "body": body, "at": time.Now()})
}

func (c *bridgedCompany) session() string {
	return strings.Replace(c.path, "/whatsapp/", "/whatsappsession/", 1)
}

// A connection is made, paired by its QR code, logged out, changed and deleted; its secret is
// in no response, row or log.
func TestBridgeConnection(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	require.Equal(t, "qrcode", c.made.Body["status"])
	require.Equal(t, fmt.Sprintf("%s/webhooks/bridge/%d", c.Hub.Base, c.id), c.made.Body["webhookUrl"])
	code := c.Get(c.path + "/qrCode")
	require.Equal(t, c.bridge.State(c.id)["qrcode"], code["qrcode"])
	require.Contains(t, code["image"], "data:image/png;base64,")
	require.Equal(t, "ERR_WAPP_NOT_INITIALIZED", c.As(c.APIToken()).OK(400, "POST", "/api/messages/send", object{"number": cloudContact, "body": "x"})["error"])
	c.pair()
	connected := c.Get(c.path)
	require.Equal(t, []any{"CONNECTED", "5511900000001", ""}, []any{connected["status"], connected["number"], connected["qrcode"]})
	require.Nil(t, c.Get(c.path + "/qrCode")["qrcode"])
	require.Equal(t, "CONNECTED", c.OK(200, "POST", c.session(), nil)["status"], "starting it again changes nothing")
	require.Equal(t, "qrcode", c.OK(200, "PUT", c.session(), nil)["status"])
	require.Equal(t, "DISCONNECTED", c.OK(200, "DELETE", c.session(), nil)["status"])
	require.Equal(t, "DISCONNECTED", c.bridge.State(c.id)["status"], "the pairing is gone there too")
	require.Equal(t, "qrcode", c.OK(200, "POST", c.session(), nil)["status"])
	c.pair()

	wrong := c.OK(200, "PUT", c.path, object{"bridge": object{"secret": strings.Repeat("y", 40)}})
	require.Equal(t, "TIMEOUT", wrong["status"])
	require.Contains(t, wrong["lastError"], "another secret")
	require.Equal(t, "CONNECTED", c.OK(200, "PUT", c.path, object{"bridge": object{"secret": drivertest.BridgeSecret}})["status"])

	for _, answer := range []moduletest.Response{c.made, c.Call("GET", "/whatsapp", nil), c.Call("GET", c.path, nil), c.Call("PUT", c.path, object{"greetingMessage": "Hi"})} {
		require.Less(t, answer.Status, 300)
		require.NotContains(t, answer.Text, drivertest.BridgeSecret)
		require.NotContains(t, answer.Text, c.bridge.URL)
	}
	var rows string
	require.NoError(t, c.Hub.Host.Pool.QueryRow(t.Context(), `select string_agg(c::text || coalesce(encode(settings, 'escape'), ''), ' ') from connections c`).Scan(&rows))
	require.NotContains(t, rows, drivertest.BridgeSecret)
	require.NotContains(t, c.Hub.Log(), drivertest.BridgeSecret)
}

func TestBridgeConnectionRefusals(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	for name, values := range map[string][]any{
		"url":    {"", "bridge.example.com", "ftp://bridge.example.com", "https://user:word@bridge.example.com", "https://bridge.example.com/#x", "https://" + strings.Repeat("x", 500), nil},
		"secret": {"", "short", strings.Repeat("x", 31), strings.Repeat("x", 201), strings.Repeat("x", 40) + " ", nil},
	} {
		for _, value := range values {
			account := bridgeAccount(c.bridge)
			account[name] = value
			c.Refused(400, "ERR_VALIDATION", "POST", "/whatsapp", object{"name": "Second", "driver": "bridge", "bridge": account})
		}
	}
	c.Refused(400, "ERR_VALIDATION", "POST", "/whatsapp", object{"name": "Second", "driver": "bridge"})
	c.Refused(400, "ERR_VALIDATION", "POST", "/whatsapp", object{"name": "Second", "bridge": bridgeAccount(c.bridge)})
	c.Refused(400, "ERR_VALIDATION", "PUT", c.path, object{"cloud": cloudAccount()})
	c.AnotherCompany().Refused(404, "ERR_NO_WAPP_FOUND", "PUT", c.path, object{"bridge": bridgeAccount(c.bridge)})
	require.Len(t, c.Call("GET", "/whatsapp", nil).List, 1)

	metadata := c.OK(201, "POST", "/whatsapp", object{"name": "Inside", "driver": "bridge", "bridge": object{"url": "http://169.254.169.254/latest/meta-data", "secret": drivertest.BridgeSecret}})
	require.Equal(t, []any{"TIMEOUT", "The bridge does not respond."}, []any{metadata["status"], metadata["lastError"]}, "the egress rules apply when it is called")
	inside := messagingtest.Path("/whatsapp", metadata)
	c.Refused(503, "ERR_WAPP_NOT_REACHED", "DELETE", strings.Replace(inside, "/whatsapp/", "/whatsappsession/", 1), nil)
	c.OK(200, "DELETE", inside, nil)
	require.Len(t, c.Call("GET", "/whatsapp", nil).List, 1, "a connection whose bridge is gone can be deleted")
}

// Messages go both ways once, whatever is repeated, lost or out of order.
func TestBridgeMessages(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	c.pair()
	for range 3 {
		require.Equal(t, 200, c.receive("in-1", "Hi there"))
	}
	tickets := c.Tickets("")
	require.Len(t, tickets, 1)
	require.Equal(t, []any{"Ana", 1.0}, []any{tickets[0]["contact"].(object)["name"], tickets[0]["unreadMessages"]})
	path := messagingtest.TicketPath(tickets[0]) + "/messages"
	c.Get(path)
	require.Eventually(t, func() bool { return c.countCalls("read") == 1 }, time.Minute, 10*time.Millisecond)
	reference := c.bridge.AddFile("%PDF-1.7 a file")
	require.Equal(t, 200, c.bridge.Report(t, c.id, "message", object{"remoteId": "in-2", "from": cloudContact, "at": time.Now(), "media": object{"type": "document", "mimeType": "application/pdf", "name": "a.pdf", "reference": reference}}))
	require.Equal(t, 200, c.bridge.Report(t, c.id, "message", object{"remoteId": "in-3", "from": cloudContact, "at": time.Now(), "kind": "location", "body": "Here"}))
	require.Eventually(t, func() bool { return c.Get(path)["messages"].([]any)[1].(object)["mediaUrl"] != nil }, time.Minute, 10*time.Millisecond)
	require.Equal(t, []any{"location", "Here"}, []any{c.Get(path)["messages"].([]any)[2].(object)["mediaType"], c.Get(path)["messages"].([]any)[2].(object)["body"]})

	var first string
	c.bridge.SetHooks(drivertest.Hooks{
		BeforeAnswer: func(remoteID string) {
			first = remoteID
			require.Equal(t, 200, c.bridge.Report(t, c.id, "receipt", object{"remoteIds": []string{remoteID}, "ack": 2}))
		},
		LoseResponse: func() bool { return len(c.bridge.Calls()) > 0 && len(c.bridge.Accepted()) == 1 },
	})
	sent := c.OK(201, "POST", path, object{"body": "Good morning"})
	require.EqualValues(t, 0, sent["ack"], "the response was lost")
	c.bridge.SetHooks(drivertest.Hooks{})
	_, err := c.Hub.Host.Pool.Exec(t.Context(), `update outbox set due_at = now() - interval '1 second'`)
	require.NoError(t, err)
	c.FlushOutbox()
	require.Len(t, c.bridge.Accepted(), 1, "it was sent again, and accepted once")
	ack := func() any {
		messages := c.Get(path)["messages"].([]any)
		return messages[len(messages)-1].(object)["ack"]
	}
	require.EqualValues(t, 2, ack(), "the receipt came before the answer")
	for _, receipt := range []int{3, 2, 3, 1, -1} {
		require.Equal(t, 200, c.bridge.Report(t, c.id, "receipt", object{"remoteIds": []string{first}, "ack": receipt}))
		require.EqualValues(t, 3, ack())
	}
	answer := c.As(c.APIToken()).Call("POST", "/api/messages/send", object{"number": drivertest.UnregisteredNumber, "body": "x"})
	require.Equal(t, []any{400, "ERR_WAPP_INVALID_CONTACT"}, []any{answer.Status, answer.Body["error"]})

	c.bridge.ChangeState(c.id, object{"status": "DISCONNECTED"}) // without a word
	waiting := c.OK(201, "POST", path, object{"body": "Later"})
	require.EqualValues(t, 0, waiting["ack"])
	c.pair()
	_, err = c.Hub.Host.Pool.Exec(t.Context(), `update outbox set due_at = now() - interval '1 second'`)
	require.NoError(t, err)
	c.FlushOutbox()
	require.Equal(t, "Later", c.bridge.Accepted()[1].Body)
}

// What a bridge refuses unread it has not taken: when the connection is deleted, the message is
// none that may have arrived.
func TestBridgeRefusesUnread(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	c.pair()
	require.Equal(t, 200, c.receive("in-1", "Hi there"))
	path := messagingtest.TicketPath(c.Tickets("")[0]) + "/messages"
	require.EqualValues(t, 0, c.OK(201, "POST", path, object{"body": drivertest.BusyBody})["ack"])
	var isMarked bool
	require.NoError(t, c.Hub.Host.Pool.QueryRow(t.Context(), `select handed_at is not null from outbox where leased_until is null`).Scan(&isMarked))
	require.False(t, isMarked)
	require.Equal(t, "CONNECTED", c.Get(c.path)["status"])
}

// A contact that plays a voice message is the furthest that a message comes; a sticker that it
// sends is a sticker.
func TestBridgePlayedAudioAndSticker(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	c.pair()
	require.Equal(t, 200, c.receive("in-1", "Hi there"))
	ticket := c.Tickets("")[0]
	path := messagingtest.TicketPath(ticket)
	sent := c.Upload(path, nil, messagingtest.File{Name: "voice.ogg", Content: oggFile})
	require.Equal(t, []any{201, "audio", 1.0}, []any{sent.Status, sent.Body["mediaType"], sent.Body["ack"]}, sent.Text)
	stream, status := openStream(t, c.Company, "", "Authorization", "Bearer "+c.Token)
	require.Equal(t, 200, status)
	for _, receipt := range []struct{ ack, want float64 }{{2, 2}, {3, 3}, {4, 4}, {3, 4}, {-1, 4}} {
		require.Equal(t, 200, c.bridge.Report(t, c.id, "receipt", object{"remoteIds": []string{c.accepted().RemoteID}, "ack": receipt.ack}))
		last := lastMessages(c.Company, path, 1)[0]
		require.Equal(t, []any{sent.Body["id"], receipt.want, nil}, []any{last["id"], last["ack"], last["errorCode"]}, receipt.ack)
	}
	_, played := stream.until("ack update")
	for played.Data["message"].(object)["ack"] != 4.0 {
		_, played = stream.until("ack update")
	}
	require.Equal(t, sent.Body["id"], played.Data["message"].(object)["id"])
	require.Equal(t, 400, c.bridge.Report(t, c.id, "receipt", object{"remoteIds": []string{c.accepted().RemoteID}, "ack": 5}))

	reference := c.bridge.AddFile(webpFile)
	require.Equal(t, 200, c.bridge.Report(t, c.id, "message", object{"remoteId": "in-2", "from": cloudContact, "at": time.Now(), "media": object{"type": "sticker", "mimeType": "image/webp", "reference": reference}}))
	sticker := lastMessages(c.Company, path, 1)[0]
	require.Equal(t, "sticker", sticker["mediaType"])
	require.Eventually(t, func() bool {
		sticker = lastMessages(c.Company, path, 1)[0]
		return sticker["mediaUrl"] != nil
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, []any{"sticker", nil}, []any{sticker["mediaType"], sticker["errorCode"]}, "also when its file is there")
	require.Equal(t, 200, c.Call("GET", sticker["mediaUrl"].(string), nil).Status)
}

// States are taken in the bridge's order, whatever the order of their arrival.
func TestBridgeStates(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	late := c.bridge.ChangeState(c.id, object{"status": "PAIRING"})
	c.pair()
	require.Equal(t, 200, c.bridge.Report(t, c.id, "state", late))
	require.Equal(t, "CONNECTED", c.Get(c.path)["status"])
	connected := c.bridge.State(c.id)
	c.OK(200, "DELETE", c.session(), nil)
	require.Equal(t, 200, c.bridge.Report(t, c.id, "state", connected))
	require.Equal(t, "DISCONNECTED", c.Get(c.path)["status"], "an old state does not undo the logout")
	qr := object{"status": "qrcode", "qrcode": "bridge:1", "qrExpiresAt": time.Now().Add(time.Minute)}
	c.bridge.ChangeState(c.id, qr)
	for range 5 {
		require.Equal(t, 200, c.bridge.Report(t, c.id, "state", qr))
	}
	require.Equal(t, []any{"qrcode", 0.0}, []any{c.Get(c.path)["status"], c.Get(c.path)["retries"]}, "the same code is no further one")
	for status, text := range map[string]string{"BANNED": "The number is banned.", "OUTDATED": "Update the bridge."} {
		require.Equal(t, 200, c.bridge.Report(t, c.id, "state", c.bridge.ChangeState(c.id, object{"status": status, "error": text})))
		require.Equal(t, []any{status, text}, []any{c.Get(c.path)["status"], c.Get(c.path)["lastError"]})
	}
}

// Only what the connection's secret signed, for this connection and within five minutes, is
// taken; what cannot be read is a 400 and stores nothing.
func TestBridgeEventRefusals(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	c.pair()
	second := c.OK(201, "POST", "/whatsapp", object{"name": "Second", "driver": "bridge", "bridge": bridgeAccount(c.bridge)})
	simulated := c.OK(201, "POST", "/whatsapp", object{"name": "Simulated"})
	data := object{"remoteId": "in-1", "from": cloudContact, "body": "Hi", "at": time.Now()}
	body := c.bridge.Event(c.id, "message", data)
	signature := drivertest.SignForBridge(drivertest.BridgeSecret, body)
	for _, bad := range []string{"", "sha256=", strings.ToUpper(signature), signature[7:], drivertest.SignForBridge("another", body), drivertest.SignForBridge("", body)} {
		require.Equal(t, 401, c.bridge.Post(t, c.id, body, bad), bad)
	}
	require.Equal(t, 401, c.bridge.Post(t, c.id, append(bytes.Clone(body), ' '), signature))
	require.Equal(t, 401, c.bridge.Post(t, messagingtest.ID(second), body, signature), "another connection's event")
	for _, id := range []any{simulated["id"], 99999} {
		answer := c.As("").Call("POST", fmt.Sprintf("/webhooks/bridge/%v", id), string(body), "Content-Type", "application/json", "X-Webhook-Signature", drivertest.SignForBridge("", body))
		require.Equal(t, []any{401, "ERR_SESSION_EXPIRED"}, []any{answer.Status, answer.Body["error"]})
	}
	for _, offset := range []time.Duration{-6 * time.Minute, 6 * time.Minute} {
		event := c.bridge.EventAt(time.Now().Add(offset), c.id, "message", data)
		require.Equal(t, 401, c.bridge.Post(t, c.id, event, drivertest.SignForBridge(drivertest.BridgeSecret, event)), offset)
	}
	for _, change := range []object{
		{"remoteId": ""}, {"remoteId": strings.Repeat("x", 501)}, {"from": ""}, {"from": "+5511987654321"}, {"from": 5}, {"body": ""}, {"body": strings.Repeat("x", 65_537)}, {"at": nil}, {"at": "soon"},
		{"kind": "video"}, {"media": object{"type": "text", "reference": "1"}}, {"media": object{"type": "image"}}, {"body": "\x00"},
	} {
		bad := object{}
		for _, members := range []object{data, change} {
			for name, value := range members {
				bad[name] = value
			}
		}
		require.Equal(t, 400, c.bridge.Report(t, c.id, "message", bad), "%v", change)
	}
	for _, state := range []object{{"status": "HAPPY", "sequence": 9}, {"status": "CONNECTED"}, {"status": "qrcode", "sequence": 99}, {"status": "CONNECTED", "sequence": 99, "number": "me"}, {"status": "qrcode", "sequence": 99, "qrExpiresAt": time.Now(), "qrcode": strings.Repeat("x", 1001)}} {
		require.Equal(t, 400, c.bridge.Report(t, c.id, "state", state), "%v", state)
	}
	for _, receipt := range []object{{"remoteIds": []string{}, "ack": 1}, {"remoteIds": []string{"a"}, "ack": 0}, {"remoteIds": []string{"a"}, "ack": 5}, {"remoteIds": []string{"a", "b"}, "ack": 1, "messageId": "m"}, {"remoteIds": []string{""}, "ack": 1}} {
		require.Equal(t, 400, c.bridge.Report(t, c.id, "receipt", receipt), "%v", receipt)
	}
	require.Equal(t, 400, c.bridge.Report(t, c.id, "news", data))
	for _, text := range []string{"", "{", "[]", `{"connection":5}`} {
		require.Equal(t, 400, c.bridge.Post(t, c.id, []byte(text), drivertest.SignForBridge(drivertest.BridgeSecret, []byte(text))), text)
	}
	require.Empty(t, c.Tickets(""))
	require.Equal(t, "CONNECTED", c.Get(c.path)["status"])
	require.Equal(t, 200, c.bridge.Post(t, c.id, body, signature))
	require.Equal(t, 200, c.bridge.Post(t, c.id, body, signature), "a replay changes nothing")
	require.EqualValues(t, 1, c.Tickets("")[0]["unreadMessages"])
}

// An event is answered 2xx only once it is stored.
func TestBridgeEventIsDurable(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	c.pair()
	c.Hub.FailPublishing.Store(true)
	require.GreaterOrEqual(t, c.receive("in-1", "Hi"), http.StatusInternalServerError)
	require.Empty(t, c.Tickets(""))
	c.Hub.FailPublishing.Store(false)
	require.Equal(t, 200, c.receive("in-1", "Hi"))
	require.Len(t, c.Tickets(""), 1)
}

// The page for strangers has an example whose signature is right, every call, and every
// member of the event that it shows.
func TestBridgePage(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../docs/bridge.md")
	require.NoError(t, err)
	page := string(raw)
	example := regexp.MustCompile(`(?s)X-Webhook-Signature: (sha256=[0-9a-f]{64})\n\n(\{[^\n]*\})\n`).FindStringSubmatch(page)
	require.Len(t, example, 3)
	require.Contains(t, page, "`"+drivertest.BridgeSecret+"`")
	require.Equal(t, drivertest.SignForBridge(drivertest.BridgeSecret, []byte(example[2])), example[1])
	for _, name := range []string{"start", "stop", "state", "send", "read", "check", "media"} {
		require.Contains(t, page, "\n| `"+name+"` | ")
	}

	c := newBridgedCompany(t)
	c.pair()
	event := regexp.MustCompile("(?s)```json\n(.*?)\n```").FindStringSubmatch(page)[1]
	var body object
	require.NoError(t, json.Unmarshal([]byte(event), &body))
	body["connection"], body["timestamp"] = fmt.Sprint(c.id), time.Now()
	adapted, err := json.Marshal(body)
	require.NoError(t, err)
	require.Equal(t, 200, c.bridge.Post(t, c.id, adapted, drivertest.SignForBridge(drivertest.BridgeSecret, adapted)))
	require.Equal(t, "Ana", c.Tickets("")[0]["contact"].(object)["name"])
}

// What a bridge does not report is asked for, and a bridge that is away does not stay so.
func TestBridgeIsAsked(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	c.pair()
	for _, status := range []string{"DISCONNECTED", "CONNECTED", "TIMEOUT"} {
		if status == "CONNECTED" {
			c.pair() // nobody asks about a session that has ended
		}
		c.bridge.ChangeState(c.id, object{"status": status})
		require.Eventually(t, func() bool {
			_, err := c.Hub.Host.Pool.Exec(t.Context(), `update connection_leases set checked_at = null`)
			require.NoError(t, err)
			c.RunJob("sessions")
			return c.Get(c.path)["status"] == status
		}, time.Minute, 10*time.Millisecond, status)
	}
	c.bridge.ChangeState(c.id, object{"status": "CONNECTED"})
	require.Eventually(t, func() bool {
		c.RunJob("unreachable-connections")
		return c.Get(c.path)["status"] == "CONNECTED"
	}, time.Minute, 100*time.Millisecond)

	_, err := c.Hub.Host.Pool.Exec(t.Context(), `update connections set status = 'OPENING', updated_at = now() - interval '2 minutes'`)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := c.Hub.Host.Pool.Exec(t.Context(), `update connection_leases set checked_at = null`)
		require.NoError(t, err)
		c.RunJob("sessions")
		return c.Get(c.path)["status"] == "CONNECTED"
	}, time.Minute, 100*time.Millisecond, "a start that was interrupted goes on")
}

// Where the network does not say whether a number is registered, nothing is stored or sent.
func TestUnansweredCheck(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	c.pair()
	program := c.As(c.APIToken())
	c.bridge.SetAway(true)
	refused := program.Call("POST", "/api/messages/send", object{"number": "5511987654321", "body": "x"})
	require.Equal(t, []any{503, "ERR_WAPP_CHECK_CONTACT"}, []any{refused.Status, refused.Body["error"]}, refused.Text)
	require.Empty(t, c.Get("/contacts")["contacts"])
	require.Empty(t, c.Tickets(""))
	c.bridge.SetAway(false)
	program.OK(200, "POST", "/api/messages/send", object{"number": "5511987654321", "body": "x"})
}
