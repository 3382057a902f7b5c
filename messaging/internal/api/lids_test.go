package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/driver/drivertest"
	"integrationhub/messaging/internal/messagingtest"
)

// another signs up one more company at the hub, with a bridge of its own, and pairs it.
func (c *bridgedCompany) another() *bridgedCompany {
	c.T.Helper()
	other := connectBridge(c.AnotherCompany(), drivertest.NewBridge(c.T))
	other.pair()
	return other
}

// report reports a message with members of its own; it has to be stored.
func (c *bridgedCompany) report(remoteID, body string, members object) {
	c.T.Helper()
	data := object{"remoteId": remoteID, "body": body, "at": time.Now()}
	for name, value := range members {
		data[name] = value
	}
	require.Equal(c.T, 200, c.bridge.Report(c.T, c.id, "message", data), "%v", data)
}

// chat returns the company's only contact, and the texts of its only ticket.
func (c *bridgedCompany) chat() (contact, ticket object, texts []string) {
	c.T.Helper()
	contacts := c.Get("/contacts")["contacts"].([]any)
	require.Len(c.T, contacts, 1)
	tickets := c.Tickets("")
	require.Len(c.T, tickets, 1)
	require.Equal(c.T, contacts[0].(object)["id"], tickets[0]["contactId"])
	for _, message := range c.messages(tickets[0]) {
		require.Equal(c.T, []any{contacts[0].(object)["id"], tickets[0]["id"]}, []any{message["contactId"], message["ticketId"]})
		texts = append(texts, message["body"].(string))
	}
	return contacts[0].(object), tickets[0], texts
}

func (c *bridgedCompany) messages(ticket object) (messages []object) {
	c.T.Helper()
	for _, message := range c.Get(messagingtest.TicketPath(ticket) + "/messages")["messages"].([]any) {
		messages = append(messages, message.(object))
	}
	return messages
}

// accepted returns the last message that the network accepted.
func (c *bridgedCompany) accepted() drivertest.Accepted {
	accepted := c.bridge.Accepted()
	return accepted[len(accepted)-1]
}

const anaLID = "170000000000001@lid"

// A contact whose number the network does not tell has its messages, gets answers, and becomes one
// with the contact of its number when that is known.
func TestContactsWithoutNumber(t *testing.T) {
	t.Parallel()
	first := newBridgedCompany(t)
	for _, run := range []func(*bridgedCompany){checkLaterNumber, checkMerge, checkMergeOfTickets, checkForgottenLID, checkUsersChange} {
		run(first.another())
	}
}

func checkLaterNumber(c *bridgedCompany) {
	t := c.T
	c.report("in-1", "Who is there?", object{"lid": anaLID})
	contact, ticket, _ := c.chat()
	require.Equal(t, []any{"", anaLID, anaLID}, []any{contact["number"], contact["lid"], contact["name"]})
	c.report("in-2", "It is Ana", object{"lid": anaLID, "name": "Ana"})
	c.report("in-2", "It is Ana", object{"lid": anaLID, "name": "Ana"})
	contact, _, texts := c.chat()
	require.Equal(t, "Ana", contact["name"])
	require.Equal(t, []string{"Who is there?", "It is Ana"}, texts)
	require.Empty(t, c.Hub.EventTypes(c.Tenant), "connected products know people by numbers")

	path := messagingtest.TicketPath(ticket)
	c.OK(200, "PUT", path, object{"status": "open"})
	c.OK(201, "POST", path+"/messages", object{"body": "Hello Ana"})
	require.Equal(t, []any{anaLID, "Hello Ana"}, []any{c.accepted().To, c.accepted().Body})

	c.report("in-3", "My number", object{"lid": anaLID, "from": cloudContact, "name": "Ana S."})
	numbered, sameTicket, texts := c.chat()
	require.Equal(t, []any{contact["id"], "Ana", cloudContact, anaLID, ticket["id"]}, []any{numbered["id"], numbered["name"], numbered["number"], numbered["lid"], sameTicket["id"]})
	require.Equal(t, []string{"Who is there?", "It is Ana", "Hello Ana", "My number"}, texts)
	require.Equal(t, []string{"contact.created", "message.received"}, c.Hub.EventTypes(c.Tenant))
	c.report("in-4", "By the LID again", object{"lid": anaLID})
	c.report("in-5", "By the number again", object{"from": cloudContact})
	_, _, texts = c.chat()
	require.Len(t, texts, 6)
	c.OK(201, "POST", path+"/messages", object{"body": "Thank you"})
	require.Equal(t, cloudContact, c.accepted().To)
}

// The contact of the number keeps its id, and gets the ticket, the tags and the wish for no messages.
func checkMerge(c *bridgedCompany) {
	t := c.T
	known := c.OK(201, "POST", "/contacts", object{"name": cloudContact, "number": cloudContact})
	c.report("in-1", "Who is there?", object{"lid": anaLID, "name": "Ana"})
	ticket := c.Tickets("")[0]
	tag := c.OK(201, "POST", "/tags", object{"name": "VIP"})
	unnumbered := messagingtest.Path("/contacts", ticket["contact"].(object))
	c.OK(200, "PUT", unnumbered, object{"tagIds": []any{tag["id"]}, "email": "ana@example.com", "consent": "opted_out"})
	c.OK(201, "POST", "/schedules", object{"body": "Later", "sendAt": "2097-03-01T12:00:00Z", "contactId": ticket["contactId"]})
	list := c.OK(201, "POST", "/contact-lists", object{"name": "March", "contactIds": []any{ticket["contactId"]}})
	c.report("in-2", "It is Ana", object{"lid": anaLID, "from": cloudContact})
	merged, sameTicket, texts := c.chat()
	require.Equal(t, []any{known["id"], "Ana", cloudContact, anaLID, "ana@example.com", "opted_out", ticket["id"]},
		[]any{merged["id"], merged["name"], merged["number"], merged["lid"], merged["email"], merged["consent"], sameTicket["id"]})
	require.Equal(t, []any{object{"id": tag["id"], "name": "VIP", "color": "#A4CCCC"}}, merged["tags"])
	require.Equal(t, []string{"Who is there?", "It is Ana"}, texts)
	require.Equal(t, known["id"], c.Get("/schedules")["schedules"].([]any)[0].(object)["contactId"])
	require.Equal(t, []any{known["id"]}, c.Get(messagingtest.Path("/contact-lists", list))["contactIds"])
	c.Refused(404, "ERR_NO_CONTACT_FOUND", "GET", unnumbered, nil)
}

// Of two live tickets of one person one is left, with all messages, answered by whom answers already.
func checkMergeOfTickets(c *bridgedCompany) {
	t := c.T
	c.report("in-1", "From the number", object{"from": cloudContact, "name": "Ana"})
	kept := c.Tickets("")[0]
	c.report("in-2", "From the LID", object{"lid": anaLID})
	other := c.Tickets("searchParam=170000000000001")[0]
	owner := c.OK(200, "PUT", messagingtest.TicketPath(other), object{"status": "open"})["userId"]
	receiver := messagingtest.NewReceiver(t)
	c.OK(201, "POST", "/webhooks", object{"url": receiver.URL, "events": []string{"ticket.updated"}})
	c.bridge.ChangeState(c.id, object{"status": "TIMEOUT"})
	require.Equal(t, 200, c.bridge.Report(t, c.id, "state", c.bridge.State(c.id)))
	c.OK(201, "POST", messagingtest.TicketPath(other)+"/messages", object{"body": "Waits"})
	c.OK(201, "POST", messagingtest.TicketPath(other)+"/messages", object{"body": "A note", "isPrivate": true})
	c.report("in-3", "Both", object{"lid": anaLID, "from": cloudContact})
	_, ticket, texts := c.chat()
	require.Equal(t, []any{kept["id"], "open", owner}, []any{ticket["id"], ticket["status"], ticket["userId"]})
	require.EqualValues(t, 3, ticket["unreadMessages"])
	updated := receiver.Next().Data
	require.Equal(t, []any{kept["id"], "pending", "open"}, []any{updated["ticket"].(object)["id"], updated["previousStatus"], updated["ticket"].(object)["status"]})
	require.NotEqual(t, "A note", updated["ticket"].(object)["lastMessage"])
	require.Equal(t, []string{"From the number", "From the LID", "Waits", "A note", "Both"}, texts)
	c.pair()
	c.FlushOutbox()
	require.Equal(t, []any{cloudContact, "Waits"}, []any{c.accepted().To, c.accepted().Body}, "what waited goes to the number")
}

// Who was deleted or anonymized and writes again by its LID is a new contact.
func checkForgottenLID(c *bridgedCompany) {
	t := c.T
	for i, forget := range []func(path string){
		func(path string) { c.OK(200, "DELETE", path, nil) },
		func(path string) { c.OK(200, "POST", path+"/anonymize", nil) },
	} {
		c.report(fmt.Sprintf("in-%d-1", i), "Hi", object{"lid": anaLID, "from": cloudContact, "name": "Ana"})
		ticket := c.Tickets("status=pending")[0]
		forget(messagingtest.Path("/contacts", ticket["contact"].(object)))
		c.report(fmt.Sprintf("in-%d-2", i), "Hi again", object{"lid": anaLID})
		again := c.Tickets("status=pending")
		require.Len(t, again, 1)
		require.Equal(t, []any{"Hi again", ""}, []any{again[0]["lastMessage"], again[0]["contact"].(object)["number"]})
		require.NotEqual(t, ticket["contactId"], again[0]["contactId"])
		c.OK(200, "DELETE", messagingtest.Path("/contacts", again[0]["contact"].(object)), nil)
	}
}

// Users name such a contact, and give it a number.
func checkUsersChange(c *bridgedCompany) {
	t := c.T
	c.report("in-1", "Hi", object{"lid": anaLID})
	contact, _, _ := c.chat()
	path := messagingtest.Path("/contacts", contact)
	changed := c.OK(200, "PUT", path, object{"name": "Ana"})
	require.Equal(t, []any{"Ana", "", contact["numberKey"]}, []any{changed["name"], changed["number"], changed["numberKey"]})
	c.Refused(400, "ERR_INVALID_NUMBER", "PUT", path, object{"number": ""})
	require.Equal(t, cloudContact, c.OK(200, "PUT", path, object{"number": cloudContact})["numberKey"])
	c.report("in-2", "By both", object{"lid": anaLID, "from": cloudContact})
	_, _, texts := c.chat()
	require.Equal(t, []string{"Hi", "By both"}, texts)
}

// Networks register a Brazilian mobile number with its ninth digit or without: messages go to the
// form that is registered, whatever the contact's number looks like.
func TestNinthDigit(t *testing.T) {
	t.Parallel()
	const with, without = "5511987654321", "551187654321"
	c := newBridgedCompany(t)
	c.pair()
	c.bridge.SetRegistered(with, false)
	checks := func() (count int) {
		for _, name := range c.bridge.Calls() {
			if name == "check" {
				count++
			}
		}
		return count
	}
	program := c.As(c.APIToken())
	sent := program.OK(200, "POST", "/api/messages/send", object{"number": with, "body": "By the API"})
	require.Equal(t, []any{with, without}, []any{sent["number"], c.accepted().To})
	require.Equal(t, with, c.Get(fmt.Sprintf("/contacts/%v", sent["contactId"]))["number"], "the number stays as it was given")
	asked := checks()
	c.OK(200, "PUT", fmt.Sprintf("/tickets/%v", sent["ticketId"]), object{"status": "open"})
	c.OK(201, "POST", fmt.Sprintf("/tickets/%v/messages", sent["ticketId"]), object{"body": "By a user"})
	require.Equal(t, []any{without, asked}, []any{c.accepted().To, checks()}, "it is known")

	// The network has it in the other form now.
	c.bridge.SetRegistered(with, true)
	c.bridge.SetRegistered(without, false)
	c.OK(201, "POST", fmt.Sprintf("/tickets/%v/messages", sent["ticketId"]), object{"body": "Lost"})
	require.Equal(t, "By a user", c.accepted().Body)
	c.OK(201, "POST", fmt.Sprintf("/tickets/%v/messages", sent["ticketId"]), object{"body": "Asked again"})
	require.Equal(t, []any{with, "Asked again"}, []any{c.accepted().To, c.accepted().Body})
	c.bridge.SetRegistered(with, false)
	require.Equal(t, "ERR_WAPP_INVALID_CONTACT", program.OK(400, "POST", "/api/messages/send", object{"number": with, "body": "To nobody"})["error"])

	// Who writes shows the form; who has not written is asked for at the first message.
	for _, writes := range []bool{true, false} {
		other := c.another()
		other.bridge.SetRegistered(with, false)
		contact := other.OK(201, "POST", "/contacts", object{"name": "Bruno", "number": with})
		if writes {
			other.report("in-1", "Hi", object{"from": without})
		} else {
			other.OK(201, "POST", "/tickets", object{"contactId": contact["id"]})
		}
		found, ticket, _ := other.chat()
		require.Equal(t, []any{contact["id"], with}, []any{found["id"], found["number"]})
		path := messagingtest.TicketPath(ticket)
		other.OK(200, "PUT", path, object{"status": "open"})
		for range 2 {
			other.OK(201, "POST", path+"/messages", object{"body": "Hello"})
			require.Equal(t, without, other.accepted().To)
		}
		asked := 0
		for _, name := range other.bridge.Calls() {
			if name == "check" {
				asked++
			}
		}
		require.Equal(t, map[bool]int{true: 0, false: 2}[writes], asked)
		require.Len(t, other.bridge.Accepted(), 2)
	}
}

// What people write on the paired phone is in the contact's ticket, once.
func TestMessagesOfThePhone(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	c.pair()
	receiver := messagingtest.NewReceiver(t)
	c.OK(201, "POST", "/webhooks", object{"url": receiver.URL, "events": []string{"message.created"}, "includeSent": true})
	c.receive("in-1", "Hi there")
	receiver.NextOf("message.created")
	for range 2 {
		c.report("out-1", "Good morning", object{"from": cloudContact, "fromMe": true, "name": "Studio Bela"})
	}
	_, ticket, _ := c.chat()
	require.Equal(t, []any{"Good morning", 1.0, "pending", "Ana"}, []any{ticket["lastMessage"], ticket["unreadMessages"], ticket["status"], ticket["contact"].(object)["name"]})
	require.Equal(t, "Good morning", receiver.NextOf("message.created")["message.created"].Data["message"].(object)["body"])
	written := c.messages(ticket)[1]
	require.Equal(t, []any{true, "phone", 1.0, nil}, []any{written["fromMe"], written["origin"], written["ack"], written["userId"]})
	require.Equal(t, 200, c.bridge.Report(t, c.id, "receipt", object{"remoteIds": []string{"out-1"}, "ack": 3}))
	require.EqualValues(t, 3, c.messages(ticket)[1]["ack"])
	c.report("in-2", "Hello?", object{"from": cloudContact, "quotedId": "out-1"})
	require.Equal(t, written["id"], c.messages(ticket)[2]["quotedMsgId"])

	// A bridge that reports what the hub sends: before the answer, and after it.
	c.bridge.SetHooks(drivertest.Hooks{BeforeAnswer: func(remoteID string) {
		c.report(remoteID, "Of a user", object{"from": cloudContact, "fromMe": true})
	}})
	c.OK(200, "PUT", messagingtest.TicketPath(ticket), object{"status": "open"})
	sent := c.OK(201, "POST", messagingtest.TicketPath(ticket)+"/messages", object{"body": "Of a user"})
	require.EqualValues(t, 1, sent["ack"])
	c.report(c.accepted().RemoteID, "Of a user", object{"from": cloudContact, "fromMe": true})
	messages := c.messages(ticket)
	require.Len(t, messages, 4)
	require.Equal(t, []any{sent["id"], "agent"}, []any{messages[3]["id"], messages[3]["origin"]})
	c.FlushOutbox()

	c.report("out-2", "To somebody new", object{"lid": anaLID, "fromMe": true})
	began := c.Tickets("searchParam=170000000000001")
	require.Len(t, began, 1)
	require.Equal(t, []any{0.0, "To somebody new"}, []any{began[0]["unreadMessages"], began[0]["lastMessage"]})
}
