package productapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// publish stores a note and its event.
func (o *tenant) publish(text string, headers ...string) answer {
	o.t.Helper()
	return call(o.t, "POST", o.base+"/api/v1/publish", `{"author":"","text":"`+text+`"}`, append(bearer(o.admin), headers...)...)
}

// deliveries is the log of a tenant's deliveries to integrations.
func (o *tenant) deliveries(query string) []map[string]any {
	o.t.Helper()
	got := o.ok(200, "GET", "/api/v1/deliveries?direction=outbound&tenant_id="+o.id+query, "")
	var list []map[string]any
	for _, entry := range got.body["items"].([]any) {
		list = append(list, entry.(map[string]any))
	}
	return list
}

// An event published in a product's transaction reaches the peers of its tenant, once,
// at once, and stands in the log with its integration.
func TestEventsTravelBetweenProducts(t *testing.T) {
	t.Parallel()
	l := pair(start(t, nil)) // the owner's peer is "board"
	require.Equal(t, 202, l.publish("hello").status)
	require.Eventually(t, func() bool { return slices.Equal(l.peer.notes(), []string{"hello"}) }, soon, tick)
	require.Eventually(t, func() bool { return len(l.deliveries("&status=delivered")) == 1 }, soon, tick)
	entry := l.deliveries("")[0]
	require.Equal(t, l.integration, entry["integration_id"])
	require.Nil(t, entry["endpoint_id"])
	require.Equal(t, "note.created", entry["event_type"])
	require.Equal(t, "notes", entry["product"])
	require.EqualValues(t, 200, entry["status_code"])
	detail := l.ok(200, "GET", "/api/v1/deliveries/"+entry["id"].(string), "").body
	attempts := detail["attempts"].([]any)
	require.Len(t, attempts, 1)
	sent := attempts[0].(map[string]any)["request_headers"].(map[string]any)
	require.Regexp(t, "^sha256=[0-9a-f]{64}$", sent["X-Webhook-Signature"])
	require.Equal(t, "***", sent["X-Integration-Key"])
	require.NotContains(t, l.log.String(), l.secret)

	// And the other way, in the other environment not at all.
	require.Equal(t, 202, l.peer.publish("back").status)
	require.Eventually(t, func() bool { return slices.Equal(l.notes(), []string{"back", "hello"}) }, soon, tick)
	require.Equal(t, 202, l.publish("a test", "X-Environment", "test").status)
	require.Equal(t, 202, l.publish("later").status)
	require.Eventually(t, func() bool { return slices.Contains(l.peer.notes(), "later") }, soon, tick)
	require.Equal(t, []string{"back", "hello", "later"}, l.peer.notes())
	require.Empty(t, l.peer.notes("X-Environment", "test"))
}

// An event leaves with the transaction it was published in, or never.
func TestRolledBackEventsNeverLeave(t *testing.T) {
	t.Parallel()
	l := pair(start(t, nil))
	refused(t, 409, "undone", l.publish("undo this"))
	require.Equal(t, 202, l.publish("after").status)
	require.Eventually(t, func() bool { return slices.Equal(l.peer.notes(), []string{"after"}) }, soon, tick)
	require.Equal(t, []string{"after"}, l.notes())
	require.Len(t, l.deliveries(""), 1)
	require.Len(t, l.ok(200, "GET", "/api/v1/events", "").body["items"], 2, "as sent, and as received")
}

// peerOfDocuments is a product elsewhere that knows the documents only.
type peerOfDocuments struct {
	*httptest.Server
	mu      sync.Mutex
	secret  string
	keyless bool // it gave us no key to send with
	status  int  // answered to webhooks; 0 = 200
	health  int  // answered to probes; 0 = 200
	got     []arrived
	bad     []string
}

type arrived struct {
	at   time.Time
	text string
}

func newPeerOfDocuments(t *testing.T) *peerOfDocuments {
	t.Helper()
	p := &peerOfDocuments{}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *peerOfDocuments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	body := make([]byte, r.ContentLength+1)
	n, _ := r.Body.Read(body)
	body = body[:n]
	var said struct {
		Secret string            `json:"webhook_secret"`
		Data   map[string]string `json:"data"`
	}
	_ = json.Unmarshal(body, &said)
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/api/v1/integrations/status":
		if p.health != 0 {
			w.WriteHeader(p.health)
			return
		}
		_, _ = w.Write([]byte(`{"product":"crm","version":"1.0.0","features":[],"status":"active"}`))
	case "/api/v1/integrations/webhook/register":
		p.secret = said.Secret
		_, _ = w.Write([]byte(`{"integration_id":"7","webhook_url":"` + p.URL + `/hook"}`))
	case "/hook":
		switch {
		case r.Header.Get("X-Webhook-Signature") != sign(p.secret, string(body)) || !p.keyless && r.Header.Get("X-Integration-Key") != "crm_live_key":
			p.bad = append(p.bad, r.Header.Get("X-Webhook-Signature"))
			w.WriteHeader(401)
		case p.status != 0:
			w.WriteHeader(p.status)
		default:
			p.got = append(p.got, arrived{time.Now(), said.Data["text"]})
		}
	}
}

func (p *peerOfDocuments) arrivals() []arrived {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.got)
}

func (p *peerOfDocuments) answer(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

// answerStatus has probes answered with a status; 0: the peer is well.
func (p *peerOfDocuments) answerStatus(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.health = status
}

// crm is a peer product with a minute that is a second long.
func crm(rate int) hub.Connector {
	peer := hub.NewPeerConnector("crm", "CRM")
	peer.PeerSpec.RatePerMinute = rate
	return peer
}

// connectCRM connects a tenant to a CRM that knows the documents.
func connectCRM(t *testing.T, rate int) (*tenant, *peerOfDocuments, string) {
	t.Helper()
	o, p := start(t, nil, crm(rate)).signUp("notes"), newPeerOfDocuments(t)
	got := o.do(200, "POST", "/connect", connectBody("crm", "crm_live_key", p.URL+"/api/v1"))
	require.Equal(t, "active", got.body["status"], got.text)
	return o, p, got.body["id"].(string)
}

// A peer whose status is fine but whose webhook fails: one parked delivery is tried after
// 30 s, then 1 min and longer, and the rest drain when it succeeds.
func TestTrial(t *testing.T) {
	t.Parallel()
	o, p, id := connectCRM(t, 6000)
	p.answer(500)
	for n := range 3 {
		require.Equal(t, 202, o.publish(fmt.Sprint("n", n)).status)
	}
	// Three retries would take half a minute: they are used up already.
	retry := func() {
		_, err := o.db.Exec(t.Context(), `update hub.deliveries set spent = 3, next_attempt_at = null, due_at = now() where target_id = $1 and status = 0`, id)
		require.NoError(t, err)
	}
	state := func() (parked, waiting int, trial time.Time) {
		require.NoError(t, o.db.QueryRow(t.Context(), `
			select count(*) filter (where status = 2), count(*) filter (where status = 0), coalesce((select due_at from hub.drains where target_id = $1 and state = 'waiting'), 'epoch')
			from hub.deliveries where target_id = $1`, id).Scan(&parked, &waiting, &trial))
		return parked, waiting, trial
	}
	require.Eventually(t, func() bool {
		retry()
		parked, _, trial := state()
		return parked == 3 && trial.After(time.Now()) && time.Until(trial) < 34*time.Second
	}, 2*soon, 20*tick)
	due := func() {
		_, err := o.db.Exec(t.Context(), `update hub.drains set due_at = now() where target_id = $1 and state = 'waiting'`, id)
		require.NoError(t, err)
	}
	due()
	require.Eventually(t, func() bool { parked, _, at := state(); return parked == 3 && time.Until(at) > 35*time.Second }, 2*soon, 20*tick, "after one attempt")
	p.answer(0)
	due()
	require.Eventually(t, func() bool { return len(p.arrivals()) == 3 }, 2*soon, tick, "and then the rest")
	require.Eventually(t, func() bool { parked, waiting, _ := state(); return parked == 0 && waiting == 0 }, soon, tick)
}

// What happens while a peer is switched off is parked, and goes when it is on again.
func TestInactive(t *testing.T) {
	t.Parallel()
	o, p, id := connectCRM(t, 6000)
	o.ok(200, "POST", "/api/v1/integrations/"+id+"/disable", "")
	require.Equal(t, 202, o.publish("meanwhile").status)
	require.Eventually(t, func() bool { return len(o.deliveries("&status=parked")) == 1 }, soon, tick)
	require.Equal(t, "disabled", o.deliveries("")[0]["reason"])
	o.ok(200, "POST", "/api/v1/integrations/"+id+"/enable", "")
	require.Eventually(t, func() bool { return len(p.arrivals()) == 1 && p.arrivals()[0].text == "meanwhile" }, soon, tick)
	require.Equal(t, 202, o.publish("afterwards").status)
	require.Eventually(t, func() bool { return len(p.arrivals()) == 2 && p.arrivals()[1].text == "afterwards" }, soon, tick)
}

// What a peer sent stands in the same log, with what it was answered; it cannot be
// sent again from here.
func TestInboundIsLogged(t *testing.T) {
	t.Parallel()
	l := pair(start(t, nil))
	id, ignored := newID(), newID()
	body := envelope(id, "board", "note.created", "CPF 529.982.247-25")
	require.Equal(t, 200, l.send(body).status)
	require.Equal(t, 200, l.send(body).status) // a duplicate is no second delivery
	require.Equal(t, 200, l.send(envelope(ignored, "board", "note.unknown", "x")).status)
	items := l.ok(200, "GET", "/api/v1/deliveries?direction=inbound&tenant_id="+l.id, "").body["items"].([]any)
	require.Len(t, items, 2)
	for _, query := range []string{"event_id=" + id, "q=" + id, "correlation_id=c1&event_type=note.created", "integration_id=" + l.integration + "&event_type=note.created", "product=board&event_type=note.created"} {
		got := l.ok(200, "GET", "/api/v1/deliveries?direction=inbound&"+query, "").body["items"].([]any)
		require.Len(t, got, 1, query)
		entry := got[0].(map[string]any)
		require.Equal(t, id, entry["event_id"])
		require.Equal(t, l.integration, entry["integration_id"])
		require.Equal(t, l.id, entry["tenant_id"])
		require.Equal(t, "inbound", entry["direction"])
		require.Equal(t, true, entry["delivered"])
		require.EqualValues(t, 200, entry["status_code"])
		require.JSONEq(t, `{"received":true,"id":"`+id+`","status":"accepted"}`, entry["response_body"].(string))
		require.Equal(t, "CPF ***.***.***-25", entry["payload"].(map[string]any)["data"].(map[string]any)["text"])
		refused(t, 409, "received_delivery", call(t, "POST", l.url+"/api/v1/deliveries/"+entry["id"].(string)+"/retry", "", bearer(l.token)...))
	}
	replay := l.ok(200, "POST", "/api/v1/replays", `{"filter":{"tenant_id":"`+l.id+`"},"dry_run":true}`)
	require.EqualValues(t, 0, replay.body["count"], replay.text)
}
