package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging"
	"integrationhub/messaging/internal/messagingtest"
)

// Whatever the network does wrong, a message of a contact is stored once, on one ticket.
func TestNetworkFaults(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t) // the faults are those of the whole network
	connection, ana, ticket := openTicket(company)
	faults := func(body object) { company.OK(200, "PUT", "/sandbox/faults", body) }

	faults(object{"duplicatePercent": 100})
	company.SendFromPhone(ana, connection, "Twice")
	require.Equal(t, []string{"Hi", "Twice"}, bodies(company, ticket))
	company.OK(201, "POST", ticket+"/messages", object{"body": "Answer"})
	company.OK(200, "POST", "/sandbox/phones/"+ana+"/read", nil)
	require.EqualValues(t, 3, lastMessages(company, ticket, 1)[0]["ack"], "receipts come twice too")

	faults(object{"reorder": true})
	company.SendFromPhone(ana, connection, "First")
	require.Len(t, bodies(company, ticket), 3, "it waits")
	company.SendFromPhone(ana, connection, "Second")
	require.Equal(t, []string{"Second", "First"}, bodies(company, ticket)[3:])
	company.SendFromPhone(ana, connection, "Third")
	faults(object{})
	require.Equal(t, "Third", lastMessages(company, ticket, 1)[0]["body"], "nothing waits for ever")

	faults(object{"dropPercent": 100})
	company.SendFromPhone(ana, connection, "Lost")
	lost := company.OK(201, "POST", ticket+"/messages", object{"body": "Lost too"})
	require.EqualValues(t, 1, lost["ack"], "the network has accepted it, and the phone never sees it")
	faults(object{})
	require.Equal(t, "Lost too", lastMessages(company, ticket, 1)[0]["body"])
	require.Equal(t, []string{"Answer"}, company.Inbox(ana))

	faults(object{"lid": true})
	bruno := company.AddPhone("Bruno")
	for i := range 3 {
		company.SendFromPhone(bruno, connection, fmt.Sprintf("as LID %d", i))
	}
	tickets := company.Tickets("searchParam=" + bruno)
	require.Len(t, tickets, 1)
	require.Equal(t, []string{"as LID 0", "as LID 1", "as LID 2"}, bodies(company, messagingtest.TicketPath(tickets[0])))
	require.Len(t, company.Tickets(""), 2, "chats do not split")

	faults(object{"latencyMs": 100})
	begin := time.Now()
	company.SendFromPhone(ana, connection, "Slow")
	require.GreaterOrEqual(t, time.Since(begin), 100*time.Millisecond)
	for _, bad := range []object{{"latencyMs": -1}, {"dropPercent": 101}, {"reorder": "yes"}} {
		require.Equal(t, "ERR_VALIDATION", company.OK(400, "PUT", "/sandbox/faults", bad)["error"])
	}
}

// A connection that is offline gets its messages when it is back; a banned one and one that
// was logged out send nothing.
func TestNetworkActions(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection, ana, ticket := openTicket(company)
	program := company.As(company.APIToken())
	act := func(action, status string) {
		path := fmt.Sprintf("/sandbox/connections/%d/%s", connection.ID, action)
		require.Equal(t, status, company.OK(200, "POST", path, nil)["status"])
		require.Equal(t, status, company.Get(messagingtest.ConnectionPath(connection))["status"])
	}
	act("offline", "TIMEOUT")
	company.SendFromPhone(ana, connection, "Are you there?")
	require.Equal(t, []string{"Hi"}, bodies(company, ticket))
	waiting := company.OK(201, "POST", ticket+"/messages", object{"body": "In a moment"})
	require.EqualValues(t, 0, waiting["ack"])
	require.Equal(t, "queued", program.OK(200, "POST", "/api/messages/send", object{"number": ana, "body": "x"})["status"])
	chat := company.Get("/sandbox/phones/" + ana + "/chat")["messages"].([]any)
	require.Equal(t, true, chat[1].(object)["waiting"])

	act("online", "CONNECTED")
	require.Contains(t, bodies(company, ticket), "Are you there?")
	require.Nil(t, company.Get(messagingtest.ConnectionPath(connection))["lastError"])
	require.Eventually(t, func() bool { return len(company.Inbox(ana)) == 2 }, 60*time.Second, 100*time.Millisecond, "the outbox sends what waited")

	act("ban", "BANNED")
	require.Equal(t, "The network banned the number.", company.Get(messagingtest.ConnectionPath(connection))["lastError"])
	company.Refused(400, "ERR_WAPP_NOT_INITIALIZED", "POST", ticket+"/messages", object{"body": "x"})
	require.Equal(t, "ERR_WAPP_NOT_INITIALIZED", program.OK(400, "POST", "/api/messages/send", object{"number": ana, "body": "x"})["error"])
	act("logout", "DISCONNECTED")
	company.Refused(404, "ERR_NO_WAPP_FOUND", "POST", fmt.Sprintf("/sandbox/connections/%d/online", connection.ID), nil)
	company.Refused(400, "ERR_VALIDATION", "POST", fmt.Sprintf("/sandbox/connections/%d/explode", connection.ID), nil)
}

// A phone reads its inbox on from the cursor of the last answer. What it marks as read is read for
// the sender too: the messages that it names, else all.
func TestPhoneInbox(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	_, ana, ticket := openTicket(company)
	inbox := func(after any) (texts []string, cursor any) {
		answer := company.Get(fmt.Sprintf("/sandbox/phones/%s/inbox?after=%v", ana, after))
		for _, message := range answer["messages"].([]any) {
			texts = append(texts, message.(object)["body"].(string))
		}
		return texts, answer["cursor"]
	}
	send := func(texts ...string) {
		for _, text := range texts {
			company.OK(201, "POST", ticket+"/messages", object{"body": text})
		}
	}
	texts, begin := inbox(0)
	require.Equal(t, []any{0, 0.0}, []any{len(texts), begin})
	send("One", "Two")
	texts, afterTwo := inbox(begin)
	require.Equal(t, []string{"One", "Two"}, texts)
	texts, same := inbox(afterTwo)
	require.Empty(t, texts)
	require.Equal(t, afterTwo, same, "nothing came")
	send("Three", "Four")
	texts, _ = inbox(afterTwo)
	require.Equal(t, []string{"Three", "Four"}, texts, "not those before the cursor")
	texts, _ = inbox(0)
	require.Equal(t, []string{"One", "Two", "Three", "Four"}, texts)
	all := company.Get("/sandbox/phones/" + ana + "/inbox?after=0")["messages"].([]any)
	texts, afterID := inbox(all[1].(object)["id"])
	require.Equal(t, []string{"Three", "Four"}, texts, "a message's id is a cursor too")
	_, last := inbox(afterTwo)
	require.Equal(t, last, afterID)
	texts, same = inbox(all[3].(object)["id"])
	require.Equal(t, []any{0, last}, []any{len(texts), same})
	require.Len(t, company.Get("/sandbox/phones/" + ana + "/chat?after=" + all[1].(object)["id"].(string))["messages"], 2)
	company.AddPhone("Bruno")
	for _, after := range []string{"-1", "unknown", "9223372036854775808"} {
		company.Refused(400, "ERR_VALIDATION", "GET", "/sandbox/phones/"+ana+"/inbox?after="+after, nil)
		company.Refused(400, "ERR_VALIDATION", "GET", "/sandbox/phones/"+ana+"/chat?after="+after, nil)
	}

	acks := func() (list []float64) {
		for _, message := range lastMessages(company, ticket, 4) {
			list = append(list, message["ack"].(float64))
		}
		return list
	}
	require.Equal(t, []float64{2, 2, 2, 2}, acks())
	received := company.Get("/sandbox/phones/" + ana + "/inbox")["messages"].([]any)
	named := []any{received[1].(object)["id"], received[3].(object)["id"], "sbx-unknown"}
	company.OK(200, "POST", "/sandbox/phones/"+ana+"/read", object{"ids": named})
	require.Equal(t, []float64{2, 3, 2, 3}, acks(), "those that it names")
	bruno := company.AddPhone("Bruno")
	company.OK(200, "POST", "/sandbox/phones/"+bruno+"/read", object{"ids": []any{received[0].(object)["id"]}})
	require.Equal(t, []float64{2, 3, 2, 3}, acks(), "another phone's reading is not the contact's")
	for _, body := range []any{nil, object{}} {
		send("Five")
		company.OK(200, "POST", "/sandbox/phones/"+ana+"/read", body)
		require.Equal(t, []float64{3, 3, 3, 3}, acks(), "all")
	}
}

// The page of phones is the hub's alone: it loads nothing from elsewhere.
func TestPhonePage(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection, ana, ticket := openTicket(company)
	anybody := company.As("")
	for path, kind := range map[string]string{"/sandbox/phone": "text/html; charset=utf-8", "/sandbox/phone.css": "text/css; charset=utf-8", "/sandbox/phone.js": "text/javascript; charset=utf-8"} {
		asset := anybody.Call("GET", path, nil)
		require.Equal(t, 200, asset.Status, path)
		require.Equal(t, kind, asset.Header.Get("Content-Type"))
		policy := asset.Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'; style-src 'self'; script-src 'self'")
		require.NotContains(t, policy, "unsafe")
		require.NotContains(t, strings.ReplaceAll(asset.Text, "/^https?:/", ""), "http")
		require.NotContains(t, asset.Text, "style=")
	}
	page := anybody.Call("GET", "/sandbox/phone", nil).Text
	require.Contains(t, page, `<html lang="en">`)
	require.Contains(t, page, `name="viewport"`)
	for _, field := range []string{"add-number", "add-name", "scan-code", "send-to", "send-body", "send-file"} {
		require.Contains(t, page, `<label for="`+field+`"`, "every field has a label")
		require.Contains(t, page, `id="`+field+`"`)
	}
	company.OK(201, "POST", ticket+"/messages", object{"body": "Answer"})
	chat := anybody.Get("/sandbox/phones/" + ana + "/chat")["messages"].([]any)
	require.Len(t, chat, 2)
	require.Equal(t, []any{true, "Hi", connection.Number, false, "Answer", ana}, []any{
		chat[0].(object)["isOwn"], chat[0].(object)["body"], chat[0].(object)["to"], chat[1].(object)["isOwn"], chat[1].(object)["body"], chat[1].(object)["to"]})
}

// With HUB_SANDBOX_AUTOCONNECT=1 a company can send at once; by default it has no
// connection.
func TestSandboxAutoconnect(t *testing.T) {
	t.Parallel()
	company := messagingtest.SignUp(t, moduletest.Start(t, messaging.New(), moduletest.Options{Settings: []string{"HUB_SANDBOX_AUTOCONNECT=1"}}))
	connections := company.List("/whatsapp")
	require.Len(t, connections, 1)
	require.Equal(t, []any{"CONNECTED", true, "sandbox"}, []any{connections[0]["status"], connections[0]["isDefault"], connections[0]["driver"]})
	require.EqualValues(t, 3, connections[0]["maxUseBotQueues"], "as of any new connection")
	ana := company.AddPhone("Ana")
	company.As(company.APIToken()).OK(200, "POST", "/api/messages/send", object{"number": ana, "body": "Hello"})
	require.Equal(t, []string{"Hello"}, company.Inbox(ana))
	company.OK(201, "POST", "/sandbox/phones/"+ana+"/send", object{"to": connections[0]["number"], "body": "Hi"})
	require.Len(t, company.Tickets(""), 1)
	require.Empty(t, messagingtest.NewCompany(t).List("/whatsapp"))
}
