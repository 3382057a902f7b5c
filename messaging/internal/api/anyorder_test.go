package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver/drivertest"
	"integrationhub/messaging/internal/messagingtest"
)

// playedNetwork is a network that a test plays.
type playedNetwork struct {
	*messagingtest.Company
	receive func(m receivedText) (status int)                          // passes a contact's message to the hub
	report  func(remoteID string, ack chat.Ack) (status int)           // passes a receipt
	send    func(body string, earlyAcks ...chat.Ack) (remoteID string) // earlyAcks come before the answer
}

// receivedText is a message of a contact.
type receivedText struct{ remoteID, from, body string }

// networkEvent is a message or, with an ack, a receipt.
type networkEvent struct {
	receivedText
	ack chat.Ack
}

// play passes an event to the hub, which takes it whatever came before.
func (n *playedNetwork) play(t *testing.T, e networkEvent) {
	t.Helper()
	if e.body != "" {
		require.Equal(t, 200, n.receive(e.receivedText), e)
	} else {
		require.Equal(t, 200, n.report(e.remoteID, e.ack), e)
	}
}

// acks returns how far each sent message has come, by the network's ids.
func (n *playedNetwork) acks(t *testing.T) map[string]chat.Ack {
	t.Helper()
	rows, err := n.Hub.Host.Pool.Query(t.Context(), `select remote_id, ack from messages where from_me and remote_id is not null`)
	require.NoError(t, err)
	defer rows.Close()
	acks := make(map[string]chat.Ack)
	for rows.Next() {
		var id string
		var ack chat.Ack
		require.NoError(t, rows.Scan(&id, &ack))
		acks[id] = ack
	}
	require.NoError(t, rows.Err())
	return acks
}

const secondContact = "5511912345678"

// reports are the receipts of one message in their order, and what comes of them.
var reports = []struct {
	acks  []chat.Ack
	final chat.Ack
}{
	{[]chat.Ack{chat.AckServer, chat.AckDevice, chat.AckRead}, chat.AckRead},
	{[]chat.Ack{chat.AckServer, chat.AckFailed}, chat.AckFailed},
	{[]chat.Ack{chat.AckServer, chat.AckFailed, chat.AckDevice}, chat.AckDevice}, // it arrived after all
	{[]chat.Ack{chat.AckRead}, chat.AckRead},
	{nil, chat.AckServer},
}

// deliveryOrders are the orders in which a network delivers its events, each one twice.
var deliveryOrders = map[string]func([]networkEvent) []networkEvent{
	"all again":      func(list []networkEvent) []networkEvent { return slices.Concat(list, list) },
	"each again":     func(list []networkEvent) []networkEvent { return eachTwice(list) },
	"reversed":       func(list []networkEvent) []networkEvent { return reversed(slices.Concat(list, list)) },
	"back and forth": func(list []networkEvent) []networkEvent { return slices.Concat(reversed(list), list) },
	"shuffled": func(list []networkEvent) []networkEvent {
		list = eachTwice(list)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list
	},
}

func eachTwice(list []networkEvent) (twice []networkEvent) {
	for _, e := range list {
		twice = append(twice, e, e)
	}
	return twice
}

func reversed(list []networkEvent) []networkEvent {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

// eventsOf sends messages, and returns what the network says of them and of others, with the
// acks that come of it.
func (n *playedNetwork) eventsOf(name string) (list []networkEvent, final map[string]chat.Ack) {
	final = make(map[string]chat.Ack)
	for i, report := range reports {
		remote := n.send(fmt.Sprintf("%s %d", name, i))
		final[remote] = report.final
		list = append(list, networkEvent{receivedText: receivedText{"in-" + remote, []string{cloudContact, secondContact}[i%2], fmt.Sprintf("%s, answer %d", name, i)}})
		for _, ack := range report.acks {
			list = append(list, networkEvent{receivedText{remoteID: remote}, ack})
		}
		list = append(list, networkEvent{receivedText{remoteID: "unknown-" + remote}, chat.AckDevice})
	}
	return list, final
}

// checkAnyOrder checks that events of a network have one outcome, whatever is repeated and in
// whatever order they come.
func (n *playedNetwork) checkAnyOrder(t *testing.T) {
	t.Helper()
	receiver := messagingtest.NewReceiver(t)
	n.OK(201, "POST", "/webhooks", object{"url": receiver.URL, "events": []string{"message.created"}, "includeSent": true})
	before := n.Hub.Count("messaging.messages")
	all := make(map[string]chat.Ack)
	for name, order := range deliveryOrders {
		list, final := n.eventsOf(name)
		earlier := n.acks(t)
		for _, e := range order(list) {
			n.play(t, e)
			now := n.acks(t)
			for id, ack := range now {
				require.False(t, earlier[id].Follows(ack), "%s: %s fell back from %d to %d", name, id, earlier[id], ack)
			}
			earlier = now
		}
		for id, ack := range final {
			require.Equal(t, ack, earlier[id], "%s: %s", name, id)
			all[id] = ack
		}
	}
	list, final := n.eventsOf("at once")
	var playing sync.WaitGroup
	statuses := make(chan int, 2*len(list))
	for _, e := range eachTwice(list) {
		playing.Go(func() {
			if e.body != "" {
				statuses <- n.receive(e.receivedText)
			} else {
				statuses <- n.report(e.remoteID, e.ack)
			}
		})
	}
	playing.Wait()
	close(statuses)
	for status := range statuses {
		require.Equal(t, 200, status)
	}
	for id, ack := range final {
		all[id] = ack
	}
	for _, tc := range []struct {
		earlyAcks []chat.Ack
		final     chat.Ack
	}{
		{[]chat.Ack{chat.AckRead, chat.AckDevice, chat.AckServer}, chat.AckRead},
		{[]chat.Ack{chat.AckServer, chat.AckFailed}, chat.AckFailed},
		{[]chat.Ack{chat.AckFailed, chat.AckServer, chat.AckFailed}, chat.AckFailed},
		{[]chat.Ack{chat.AckFailed, chat.AckDevice}, chat.AckDevice},
	} {
		all[n.send(fmt.Sprint("early ", tc.earlyAcks), tc.earlyAcks...)] = tc.final
	}
	require.Subset(t, n.acks(t), all)
	n.checkStoredOnce(t, before)
}

// checkStoredOnce checks the rows of what was sent and received.
func (n *playedNetwork) checkStoredOnce(t *testing.T, before int) {
	t.Helper()
	for sql, text := range map[string]string{
		`(select body from messaging.messages where origin <> 'bot' group by body having count(*) > 1) m`:                                                   "a message is stored twice",
		`messaging.messages where from_me and (ack = -1) <> (error_code is not null)`:                                                                       "a failed message has a reason, another has none",
		`messaging.tickets k where unread_messages <> (select count(*) from messaging.messages m where m.ticket_id = k.id and not from_me and not is_read)`: "unread messages",
		`(select contact_id from messaging.tickets group by contact_id having count(*) > 1) t`:                                                              "a contact has two tickets",
		`messaging.messages m where not from_me and remote_id like 'in-%' and body not like '%answer%'`:                                                     "a message has another's text",
		`messaging.outbox`: "left to send",
	} {
		require.Zero(t, n.Hub.Count(sql), text)
	}
	require.Equal(t, 2, n.Hub.Count("messaging.contacts"))
	orders := len(deliveryOrders) + 1
	require.Equal(t, orders*len(reports), n.Hub.Count("messaging.messages where not from_me and remote_id like 'in-%'"))
	require.Equal(t, n.Hub.Count("messaging.messages")-before, n.Hub.Count("hub.events where event_type = 'message.created'"), "each is published once")
	require.Equal(t, orders*len(reports), n.Hub.Count("messaging.early_receipts"), "each unknown message's, and none of one that is known")
	n.Hub.Exec(`update messaging.early_receipts set created_at = created_at - interval '25 hours'`)
	n.RunJob("expired-changes")
	require.Zero(t, n.Hub.Count("messaging.early_receipts"), "receipts of unknown messages do not stay")
}

// Webhooks of the Cloud API may come again and in any order, and before the answer that has
// the message's id.
func TestCloudInAnyOrder(t *testing.T) {
	t.Parallel()
	c := newCloudChat(t)
	names := map[chat.Ack]string{chat.AckServer: "sent", chat.AckDevice: "delivered", chat.AckRead: "read", chat.AckFailed: "failed"}
	status := func(remoteID, own string, ack chat.Ack) int {
		report := object{"id": remoteID, "status": names[ack]}
		if own != "" {
			report["biz_opaque_callback_data"] = own
		}
		if ack == chat.AckFailed {
			report["errors"] = []object{{"code": 131026}}
		}
		raw, err := json.Marshal([]object{report})
		require.NoError(t, err)
		return deliver(c.Company, c.connection, cloudSecret, cloudWebhook(cloudPhone, `"statuses":`+string(raw))).Status
	}
	withOwn := false
	n := &playedNetwork{Company: c.Company, report: func(remoteID string, ack chat.Ack) int { return status(remoteID, "", ack) }}
	n.receive = func(m receivedText) int {
		return deliver(c.Company, c.connection, cloudSecret, cloudWebhook(cloudPhone, cloudText(m.remoteID, m.from, fmt.Sprintf("%q", m.body), c.Hub.Clock.Now()))).Status
	}
	n.send = func(body string, earlyAcks ...chat.Ack) (remoteID string) {
		c.api.RespondWith(func(w http.ResponseWriter) { // the API is locked
			remoteID = fmt.Sprintf("wamid.out%d", len(c.api.sent))
			own := ""
			if withOwn = !withOwn; withOwn {
				own = c.api.sent[len(c.api.sent)-1]["biz_opaque_callback_data"].(string)
			}
			for _, ack := range earlyAcks {
				require.Equal(t, 200, status(remoteID, own, ack))
			}
			_, _ = io.WriteString(w, fmt.Sprintf(`{"messaging_product":"whatsapp","messages":[{"id":%q}]}`, remoteID))
		})
		defer c.api.RespondWith(nil)
		c.OK(201, "POST", c.messages, object{"body": body})
		return remoteID
	}
	n.checkAnyOrder(t)
}

// So may the events of a bridge.
func TestBridgeInAnyOrder(t *testing.T) {
	t.Parallel()
	c := newBridgedCompany(t)
	c.pair()
	require.Equal(t, 200, c.receive("first", "Hi"))
	path := messagingtest.TicketPath(c.Tickets("")[0]) + "/messages"
	c.Get(path)
	n := &playedNetwork{Company: c.Company}
	n.report = func(remoteID string, ack chat.Ack) int {
		receipt := object{"remoteIds": []string{remoteID}, "ack": ack}
		if ack == chat.AckFailed {
			receipt["errorCode"] = "not_delivered"
		}
		return c.bridge.Report(t, c.id, "receipt", receipt)
	}
	n.receive = func(m receivedText) int {
		return c.bridge.Report(t, c.id, "message", object{"remoteId": m.remoteID, "from": m.from, "name": "Ana", "body": m.body, "at": time.Now()})
	}
	n.send = func(body string, earlyAcks ...chat.Ack) (remoteID string) {
		c.bridge.SetHooks(drivertest.Hooks{BeforeAnswer: func(id string) {
			for _, ack := range earlyAcks {
				require.Equal(t, 200, n.report(id, ack))
			}
		}})
		c.OK(201, "POST", path, object{"body": body})
		accepted := c.bridge.Accepted()
		return accepted[len(accepted)-1].RemoteID
	}
	n.checkAnyOrder(t)
}
