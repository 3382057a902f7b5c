package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/messagingtest"
)

// lostResponses are the ways in which the response to a message is lost after the network has
// got the request.
var lostResponses = map[string]func(w http.ResponseWriter){
	"the line breaks": func(w http.ResponseWriter) {
		line, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = line.Close()
		}
	},
	"a gateway's error": func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
	"half a response": func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "100")
		_, _ = fmt.Fprint(w, `{"messages":[{"id":"wamid.`)
	},
	"no id": func(w http.ResponseWriter) { _, _ = fmt.Fprint(w, `{"messages":[]}`) },
}

// cloudChat is a contact's chat on a connection of the Cloud API.
type cloudChat struct {
	*messagingtest.Company
	api        *cloudAPI
	connection object
	token      string
	messages   string // their path
	calls      int    // of the API before a test's own
}

const cloudContact = "5511987654321"

func newCloudChat(t *testing.T) *cloudChat {
	t.Helper()
	start := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	company, api := newCloudCompany(t, start)
	c := &cloudChat{Company: company, api: api, connection: company.OK(201, "POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": cloudAccount()})}
	deliver(company, c.connection, cloudSecret, cloudWebhook(cloudPhone, cloudText("wamid.in1", cloudContact, `"Hi"`, start)))
	c.messages, c.token = messagingtest.TicketPath(company.Tickets("")[0])+"/messages", company.APIToken()
	company.Get(c.messages)
	c.calls = len(api.Sent())
	return c
}

// send sends a message by the send API and returns the response.
func (c *cloudChat) send(body string) object {
	c.T.Helper()
	return c.As("").OK(200, "POST", "/api/messages/send", object{"number": cloudContact, "body": body}, "apikey", c.token)
}

// reconnect has the hub look at the connection again: after a lost response it waits.
func (c *cloudChat) reconnect() {
	c.T.Helper()
	c.Hub.Clock.Advance(5 * time.Second)
	c.RunJob("unreachable-connections")
	require.Equal(c.T, "CONNECTED", c.Get(messagingtest.Path("/whatsapp", c.connection))["status"])
}

// sendReceipt delivers a status of a message whose id at the network nobody knows here.
func (c *cloudChat) sendReceipt(message object, remote, status string) {
	c.T.Helper()
	response := deliver(c.Company, c.connection, cloudSecret, cloudWebhook(cloudPhone, fmt.Sprintf(`"statuses":[{"id":%q,"status":%q,"biz_opaque_callback_data":%q}]`, remote, status, message["id"])))
	require.Equal(c.T, 200, response.Status, response.Text)
}

// state returns the ack and the error code of a message.
func (c *cloudChat) state(message object) []any {
	c.T.Helper()
	for _, m := range c.Get(c.messages)["messages"].([]any) {
		if stored := m.(object); stored["id"] == message["id"] {
			return []any{stored["ack"], stored["errorCode"]}
		}
	}
	require.Fail(c.T, "the message is not stored")
	return nil
}

// A message whose response was lost is not sent again by itself. The network's receipt decides,
// as often and in whatever order it comes, and is published once.
func TestCloudLostResponse(t *testing.T) {
	t.Parallel()
	c := newCloudChat(t)
	receiver := messagingtest.NewReceiver(t)
	c.OK(201, "POST", "/webhooks", object{"url": receiver.URL, "events": []string{"message.created"}, "includeSent": true})
	for name, write := range lostResponses {
		c.api.RespondWith(write)
		sent := c.send(name)
		require.Equal(t, []any{"unclear", 0.0}, []any{sent["status"], sent["ack"]}, name)
		c.Advance(10 * time.Minute)
		c.RunJob("outbox")
		c.RunJob("unclear-messages")
		c.reconnect()
		c.calls++
		require.Len(t, c.api.Sent(), c.calls, "%s: it is sent once", name)
		require.Equal(t, []any{0.0, "unclear"}, c.state(sent), name)
		require.True(t, receiver.IsEmpty())

		c.api.RespondWith(nil) // what comes next is not held up
		next := c.send("Next")
		require.Equal(t, "sent", next["status"], name)
		require.Equal(t, next["id"], receiver.Next().Data["message"].(object)["id"])
		c.calls++

		remote := "wamid." + fmt.Sprint(c.calls)
		for _, status := range []string{"delivered", "sent", "delivered"} {
			c.sendReceipt(sent, remote, status)
			require.Equal(t, []any{2.0, nil}, c.state(sent), name)
		}
		require.Equal(t, sent["id"], receiver.Next().Data["message"].(object)["id"])
		deliver(c.Company, c.connection, cloudSecret, cloudWebhook(cloudPhone, fmt.Sprintf(`"statuses":[{"id":%q,"status":"read"}]`, remote)))
		require.Equal(t, []any{3.0, nil}, c.state(sent), "the message is known by the network's id now")
		require.True(t, receiver.IsEmpty(), "it is published once")
	}
}

// Without a receipt for an hour the message has failed, and says why. A late receipt counts.
func TestCloudLostResponseWithoutReceipt(t *testing.T) {
	t.Parallel()
	c := newCloudChat(t)
	c.api.RespondWith(lostResponses["the line breaks"])
	lost := c.send("Lost")
	c.reconnect()
	refused := c.send("Refused")
	c.reconnect()
	late := c.send("Late")
	c.Advance(59 * time.Minute)
	c.RunJob("unclear-messages")
	require.Equal(t, []any{0.0, "unclear"}, c.state(lost))
	c.sendReceipt(refused, "wamid.refused", "failed")
	require.EqualValues(t, -1, c.state(refused)[0])
	c.Advance(time.Minute)
	c.RunJob("unclear-messages")
	require.Equal(t, []any{-1.0, "unclear"}, c.state(lost))
	require.Equal(t, []any{-1.0, "unclear"}, c.state(late))
	c.sendReceipt(late, "wamid.late", "read")
	require.Equal(t, []any{3.0, nil}, c.state(late))
	c.Advance(24 * time.Hour)
	c.RunJob("unclear-messages")
	c.RunJob("outbox")
	require.Equal(t, []any{3.0, nil}, c.state(late))
	require.Len(t, c.api.Sent(), c.calls+3)
}

// A message that cannot be given up holds up no other.
func TestCloudLostResponsesFailAlone(t *testing.T) {
	t.Parallel()
	c := newCloudChat(t)
	c.api.RespondWith(lostResponses["the line breaks"])
	broken := c.send("Broken")
	c.reconnect()
	c.Advance(time.Second)
	lost := c.send("Lost")
	_, err := c.Hub.Host.Pool.Exec(t.Context(), fmt.Sprintf(`create function refuse() returns trigger language plpgsql as $$ begin raise 'broken'; end $$;
		create trigger refuse before update on messaging.messages for each row when (old.id = '%s') execute function refuse()`, broken["id"]))
	require.NoError(t, err)
	c.Advance(time.Hour)
	_ = c.Hub.Job("unclear-messages").Run(t.Context(), nil)
	require.Equal(t, []any{-1.0, "unclear"}, c.state(lost))
	require.ErrorContains(t, c.Hub.Job("unclear-messages").Run(t.Context(), nil), fmt.Sprint(broken["id"]))
}

// A process that dies between the call and its response leaves a message that nobody sends
// again; one that the network surely did not get, or refused for now, is sent again.
func TestCloudRepeatsWhatIsSafe(t *testing.T) {
	t.Parallel()
	c := newCloudChat(t)
	throttled := func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = fmt.Fprint(w, `{"error":{"code":130429,"message":"Rate limit hit"}}`)
	}
	c.api.RespondWith(throttled)
	queued := c.send("Later")
	require.Equal(t, "queued", queued["status"])
	c.api.RespondWith(nil)
	c.Advance(10 * time.Minute)
	c.FlushOutbox()
	require.Equal(t, []any{1.0, nil}, c.state(queued))
	require.Len(t, c.api.Sent(), c.calls+2)

	c.api.RespondWith(throttled)
	killed, reported := c.send("Killed"), c.send("Reported")
	c.api.RespondWith(nil)
	calls := len(c.api.Sent())
	_, err := c.Hub.Host.Pool.Exec(t.Context(), `update outbox set handed_at = now(), due_at = now() - interval '1 second', leased_until = null`)
	require.NoError(t, err)
	c.sendReceipt(reported, "wamid.reported", "sent")
	c.Advance(time.Hour)
	c.FlushOutbox()
	require.Equal(t, []any{0.0, "unclear"}, c.state(killed))
	require.Equal(t, []any{1.0, nil}, c.state(reported))
	require.Len(t, c.api.Sent(), calls)
}

// A receipt moves messages of its own connection only.
func TestCloudReportsOfOthers(t *testing.T) {
	t.Parallel()
	c := newCloudChat(t)
	c.api.RespondWith(lostResponses["the line breaks"])
	lost := c.send("Lost")
	other := c.AnotherCompany()
	account := cloudAccount()
	account["appSecret"] = "another"
	theirs := other.OK(201, "POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": account})
	second := c.OK(201, "POST", "/whatsapp", object{"name": "Second", "driver": "cloud", "cloud": cloudAccount()})
	status := cloudWebhook(cloudPhone, fmt.Sprintf(`"statuses":[{"id":"wamid.x","status":"read","biz_opaque_callback_data":%q}]`, lost["id"]))
	for _, response := range []moduletest.Response{deliver(c.Company, theirs, "another", status), deliver(c.Company, second, cloudSecret, status)} {
		require.Equal(t, 200, response.Status, response.Text)
	}
	require.Equal(t, []any{0.0, "unclear"}, c.state(lost))
}

// A message that closes its ticket does so once a receipt says that it was sent: its response
// was lost, or the process that sent it died. One that has failed closes nothing.
func TestCloudReceiptClosesTicket(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(c *cloudChat, send func(body string) object) object{
		"lost response": func(c *cloudChat, send func(body string) object) object {
			c.api.RespondWith(lostResponses["the line breaks"])
			lost := send("Bye")
			require.Equal(c.T, "unclear", lost["status"])
			return lost
		},
		"killed process": func(c *cloudChat, send func(body string) object) object {
			c.api.RespondWith(func(w http.ResponseWriter) {
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = fmt.Fprint(w, `{"error":{"code":130429,"message":"Rate limit hit"}}`)
			})
			killed := send("Bye")
			require.Equal(c.T, "queued", killed["status"])
			_, err := c.Hub.Host.Pool.Exec(c.T.Context(), `update outbox set handed_at = now()`)
			require.NoError(c.T, err)
			return killed
		},
	} {
		for receipt, isClosed := range map[string]bool{"sent": true, "read": true, "failed": false} {
			t.Run(name+", "+receipt, func(t *testing.T) {
				t.Parallel()
				c := newCloudChat(t)
				ticket := strings.TrimSuffix(c.messages, "/messages")
				sent := lose(c, func(body string) object {
					return c.As("").OK(200, "POST", "/api/messages/send", object{"number": cloudContact, "body": body, "closeTicket": true}, "apikey", c.token)
				})
				require.NotEqual(t, "closed", c.Get(ticket)["status"], "it is not known whether the message was sent")
				c.sendReceipt(sent, "wamid.closing", receipt)
				require.Equal(t, isClosed, c.Get(ticket)["status"] == "closed")
			})
			t.Run(name+", "+receipt+" after an answer", func(t *testing.T) {
				t.Parallel()
				c := newCloudChat(t)
				ticket := strings.TrimSuffix(c.messages, "/messages")
				sent := lose(c, func(body string) object {
					return c.As("").OK(200, "POST", "/api/messages/send", object{"number": cloudContact, "body": body, "closeTicket": true}, "apikey", c.token)
				})
				require.Equal(t, 200, deliver(c.Company, c.connection, cloudSecret, cloudWebhook(cloudPhone, cloudText("wamid.answer", cloudContact, `"Wait"`, c.Hub.Clock.Now()))).Status)
				c.sendReceipt(sent, "wamid.closing", receipt)
				require.NotEqual(t, "closed", c.Get(ticket)["status"], "the contact goes on")
			})
		}
	}
}
