package campaigns_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging"
	"integrationhub/messaging/internal/messagingtest"
)

// slowNetwork is a Cloud API that answers messages when a test lets it.
type slowNetwork struct {
	url        string
	calls, cut atomic.Int64 // of messages, and those whose caller did not wait
	answer     chan struct{}
}

func newSlowNetwork(t *testing.T) *slowNetwork {
	n := &slowNetwork{answer: make(chan struct{})}
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	n.url = server.URL
	return n
}

// ServeHTTP implements http.Handler.
func (n *slowNetwork) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		_, _ = io.WriteString(w, `{"display_phone_number":"+55 11 90000-0001"}`)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body) // from here on the server sees whether the caller waits
	call := n.calls.Add(1)
	select {
	case <-n.answer:
	case <-r.Context().Done():
		n.cut.Add(1)
		return
	}
	_, _ = fmt.Fprintf(w, `{"messages":[{"id":"wamid.%d"}]}`, call)
}

// While one company's network does not answer, and a campaign fails, those of others send.
// What was not begun when the job has no time left is left to the outbox; calls go on.
func TestCampaignsDoNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	network := newSlowNetwork(t)
	hub := moduletest.Start(t, messaging.New(), moduletest.Options{Start: monday, Settings: []string{"HUB_CLOUD_API_URL=" + network.url}})
	slow := &audience{Company: messagingtest.SignUp(t, hub)}
	slow.connection.ID = messagingtest.ID(slow.OK(201, "POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": object{
		"phoneNumberId": "106540352242922", "wabaId": "102290129340398", "accessToken": "token", "appSecret": "secret", "verifyToken": "verify",
	}}))
	for i := range 5 {
		slow.contacts = append(slow.contacts, messagingtest.ID(slow.OK(201, "POST", "/contacts", object{"name": "Ana", "number": fmt.Sprintf("551198765432%d", i)})))
	}
	held := slow.create(object{"message1": nil, "template": object{"name": "offer", "language": "pt_BR"}})
	other := audienceOf(messagingtest.SignUp(t, hub), 3)
	broken, good := other.create(nil), other.create(nil)
	slow.OK(200, "POST", held+"/start", nil)
	id := messagingtest.ID(other.OK(200, "POST", broken+"/start", nil))
	other.exec(`update campaigns set send_window = '"none"' where id = $1`, id)
	hub.Clock.Advance(time.Millisecond) // so that it is due after the others
	other.OK(200, "POST", good+"/start", nil)

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- hub.Job("campaigns").Run(ctx, nil) }()
	require.Eventually(t, func() bool {
		return network.calls.Load() == 4 && other.Get(good)["counters"].(object)["sent"] == 3.0
	}, time.Minute, 10*time.Millisecond)
	require.Zero(t, network.cut.Load(), "the network has not answered yet")
	cancel()
	require.Eventually(t, func() bool { return network.calls.Load() == 5 }, time.Minute, 10*time.Millisecond, "the outbox sends the fifth")
	require.Zero(t, network.cut.Load())
	close(network.answer)
	<-done
	slow.FlushOutbox()
	require.Equal(t, object{"total": 5.0, "sent": 5.0}, slow.counters(held))
	require.EqualValues(t, 5, network.calls.Load())
	require.Equal(t, "CONNECTED", slow.Get(messagingtest.ConnectionPath(slow.connection))["status"])
	require.Equal(t, 3, other.count(`select pending from campaign_progress where campaign_id = $1`, id))
	other.exec(`update campaigns set send_window = null`)
	require.Equal(t, 3, other.sent(broken, time.Minute), "it goes on once it can")
	require.Equal(t, []any{"finished", "finished"}, []any{other.Get(good)["status"], slow.Get(held)["status"]})
}

// A campaign writes nothing while many messages of programs wait on its connection: its network
// is slow, and they would wait behind it. A chat whose first message was put off does not count.
func TestCampaignLeavesRoom(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 2)
	path := a.create(object{"contactIds": a.contacts[:1]})
	// 50 in one chat, whose first is being sent.
	a.exec(`insert into messages (company_id, id, contact_id, connection_id, body, from_me, is_read, media_type, origin, sent_at)
		select $1, 'waiting-' || n, $2, $3, 'Offer', true, true, 'text', 'api', now() from generate_series(0, 50) n`, a.ID, a.contacts[1], a.connection.ID)
	a.exec(`insert into outbox (company_id, message_id, connection_id, contact_id, due_at, created_at, leased_until)
		select $1, 'waiting-' || n, $3, $2, $4, $4, case when n = 0 then $4::timestamptz + interval '1 hour' end from generate_series(0, 50) n`, a.ID, a.contacts[1], a.connection.ID, monday)
	a.OK(200, "POST", path+"/start", nil)
	a.RunJob("campaigns")
	require.Equal(t, []any{"pending"}, a.report(path, "status"))
	a.exec(`update outbox set leased_until = null, due_at = $1 where message_id = 'waiting-0'`, monday.Add(time.Hour))
	a.Hub.Clock.Advance(time.Second)
	require.Eventually(t, func() bool { a.RunJob("campaigns"); return a.report(path, "status")[0] == "delivered" }, time.Minute, 10*time.Millisecond)
}

// A chat that nothing can be sent to now does not stop the campaigns of a connection with an
// interval, nor what programs send on it.
func TestCampaignPassesChatThatWaits(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 2)
	a.OK(200, "PUT", messagingtest.ConnectionPath(a.connection), object{"sendIntervalMs": 1000})
	path := a.create(object{"contactIds": a.contacts[:1]})
	a.exec(`insert into messages (company_id, id, contact_id, connection_id, body, from_me, is_read, media_type, origin, sent_at)
		select $1, 'waiting-' || n, $2, $3, 'Offer', true, true, 'text', 'api', now() from generate_series(0, 1) n`, a.ID, a.contacts[1], a.connection.ID)
	a.exec(`insert into outbox (company_id, message_id, connection_id, contact_id, due_at, created_at)
		select $1, 'waiting-' || n, $3, $2, $4::timestamptz + case when n = 0 then interval '1 hour' else interval '0' end, $4 from generate_series(0, 1) n`, a.ID, a.contacts[1], a.connection.ID, monday)
	program := a.As(a.APIToken())
	require.Equal(t, "sent", program.OK(200, "POST", "/api/messages/send", object{"number": a.AddPhone("Bia"), "body": "Hi"})["status"])
	a.Hub.Clock.Advance(time.Second)
	a.OK(200, "POST", path+"/start", nil)
	require.Eventually(t, func() bool { a.RunJob("campaigns"); return a.report(path, "status")[0] == "delivered" }, time.Minute, 10*time.Millisecond)
}
