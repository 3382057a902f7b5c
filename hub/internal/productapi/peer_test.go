package productapi_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// register registers a peer with a key of this product.
func (o *tenant) register(key string, fields map[string]any) answer {
	o.t.Helper()
	raw, err := json.Marshal(fields)
	require.NoError(o.t, err)
	return call(o.t, "POST", o.integrations()+"/webhook/register", string(raw), withKey(key)...)
}

// A peer that knows only the documents registers with its address and nothing else: it is
// sent the address to send to, and the secret, which holds in both directions. It gets every event,
// or those it asked for.
func TestPeerThatRegistersByTheDocuments(t *testing.T) {
	t.Parallel()
	o, p := start(t, nil, crm(6000)).signUp("notes"), newPeerOfDocuments(t)
	// A key needs no scope to connect and to be listened to.
	key := o.do(200, "POST", "/api-keys", `{"scopes":["note.search"]}`).body["api_key"].(string)
	require.Equal(t, 200, call(t, "GET", o.integrations()+"/status", "", withKey(key)...).status)
	got := o.register(key, map[string]any{"webhook_url": p.URL + "/hook"})
	require.Equal(t, 200, got.status, got.text)
	secret := got.body["webhook_secret"].(string)
	p.mu.Lock()
	p.secret, p.keyless = secret, true
	p.mu.Unlock()
	id := got.body["integration_id"]
	require.Equal(t, map[string]any{
		"integration_id": id, "webhook_url": o.integrations() + "/webhook", "features": []any{"note.search", "note.write"},
		"status": "active", "webhook_secret": secret,
	}, got.body)
	listed := o.do(200, "GET", "/", "")
	require.Len(t, listed.list, 1)
	require.Equal(t, []any{id, "active"}, []any{listed.list[0]["id"], listed.list[0]["status"]})
	require.NotContains(t, listed.text, secret)

	body := envelope(newID(), "crm", "note.created", "from the crm")
	sent := call(t, "POST", o.integrations()+"/webhook", body, "X-Integration-Key", key, "X-Webhook-Signature", sign(secret, body))
	require.Equal(t, "accepted", sent.body["status"], sent.text)
	require.Equal(t, []string{"from the crm"}, o.notes())

	heard := func() (texts []string) {
		for _, arrival := range p.arrivals() {
			texts = append(texts, arrival.text)
		}
		return texts
	}
	publish := func(text string) {
		require.Equal(t, 202, o.publish(text).status)
		require.Eventually(t, func() bool { return len(o.deliveries("&status=pending")) == 0 }, soon, tick)
	}
	publish("everything")
	for _, tc := range []struct {
		events []string
		text   string
		heard  bool
	}{
		{[]string{}, "nothing", false}, {[]string{"patient.*"}, "something else", false}, {[]string{"note.*"}, "notes", true}, {[]string{"note.created"}, "this", true}, {[]string{"*"}, "all", true},
	} {
		again := o.register(key, map[string]any{"webhook_url": p.URL + "/hook", "events": tc.events})
		require.Equal(t, 200, again.status, again.text)
		require.Equal(t, id, again.body["integration_id"])
		require.NotContains(t, again.body, "webhook_secret", "it has it")
		before := heard()
		publish(tc.text)
		want := before
		if tc.heard {
			want = append(slices.Clone(before), tc.text)
		}
		require.Eventually(t, func() bool { return slices.Equal(want, heard()) }, soon, tick, tc.text)
	}
	require.Equal(t, []string{"everything", "notes", "this", "all"}, heard())
	require.Empty(t, p.bad)
}

// A peer whose webhook says that it is gone is sent nothing more until it is asked about
// again: nothing is lost.
func TestPeerWhoseWebhookIsGone(t *testing.T) {
	t.Parallel()
	o, p, id := connectCRM(t, 6000)
	p.answer(410)
	require.Equal(t, 202, o.publish("kept").status)
	require.Eventually(t, func() bool { return len(o.deliveries("&status=parked")) == 1 }, soon, tick)
	parked := o.deliveries("&status=parked")[0]
	require.Equal(t, []any{"gone", 410.0, 0.0}, []any{parked["reason"], parked["status_code"], parked["retries"]})
	p.answer(0)
	require.Eventually(t, func() bool {
		_, err := o.db.Exec(t.Context(), `update hub.drains set due_at = now() where target_id = $1 and state = 'waiting'`, id)
		require.NoError(t, err)
		return len(p.arrivals()) == 1 && len(o.deliveries("&status=delivered")) == 1
	}, soon, tick)
}
