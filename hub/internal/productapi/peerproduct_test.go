package productapi_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// unnamedPeer is a peer that registered with nothing but its address.
type unnamedPeer struct {
	*tenant
	id, key, secret string
}

func (o *tenant) registerUnnamed() *unnamedPeer {
	o.t.Helper()
	p := &unnamedPeer{tenant: o, key: o.issue()}
	got := o.register(p.key, map[string]any{"webhook_url": "http://127.0.0.1:1/hook"})
	require.Equal(o.t, 200, got.status, got.text)
	p.id, p.secret = got.body["integration_id"].(string), got.body["webhook_secret"].(string)
	require.Equal(o.t, 200, call(o.t, "GET", o.integrations()+"/status", "", withKey(p.key)...).status) // reads the configuration anew
	return p
}

// post sends a signed body and returns the status and the outcome.
func (p *unnamedPeer) post(body string) string {
	p.t.Helper()
	got, err := try("POST", p.integrations()+"/webhook", body, "X-Integration-Key", p.key, "X-Webhook-Signature", sign(p.secret, body))
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(got.status, " ", got.body["status"], got.body["code"])
}

// send sends an event of a product.
func (p *unnamedPeer) send(product string) string {
	p.t.Helper()
	return p.post(envelope(newID(), product, "note.created", "from "+product))
}

// listedProduct is the peer's product in the list of integrations.
func (p *unnamedPeer) listedProduct() string {
	p.t.Helper()
	for _, listed := range p.do(200, "GET", "/", "").list {
		if listed["id"] == p.id {
			return listed["product"].(string)
		}
	}
	return ""
}

// callerPeer is the product of the peer as handlers see it.
func (p *unnamedPeer) callerPeer() string {
	p.t.Helper()
	got := call(p.t, "POST", p.integrations()+"/action/write", `{"author":"","text":"x"}`, withKey(p.key)...)
	require.Less(p.t, got.status, 300, got.text)
	return got.body["author"].(string)
}

// A peer that registered without its product has none until its first accepted event names
// it. From then on it has that product, and events of others are refused.
func TestPeerNamesItsProductByItsFirstEvent(t *testing.T) {
	t.Parallel()
	o := start(t, nil, crm(6000)).signUp("notes")
	p := o.registerUnnamed()
	require.Equal(t, []string{"external", ""}, []string{p.listedProduct(), p.callerPeer()})

	forged := envelope(newID(), "crm", "note.created", "x")
	got := call(t, "POST", o.integrations()+"/webhook", forged, "X-Integration-Key", p.key, "X-Webhook-Signature", sign("whsec_another", forged))
	require.Equal(t, 401, got.status, got.text)
	require.Equal(t, "400 400event_too_old", p.post(envelopeAt(newID(), "crm", "note.created", "x", time.Now().AddDate(0, 0, -31))))
	require.Equal(t, []string{"external", ""}, []string{p.listedProduct(), p.callerPeer()}, "neither was accepted")

	require.Equal(t, "200 accepted<nil>", p.send("crm"))
	require.Equal(t, []string{"crm", "crm"}, []string{p.listedProduct(), p.callerPeer()})
	require.Equal(t, "403 403wrong_product", p.send("board"))
	require.Equal(t, "200 accepted<nil>", p.send("crm"))
	again := o.register(p.key, map[string]any{"webhook_url": "http://127.0.0.1:1/elsewhere"})
	require.Equal(t, p.id, again.body["integration_id"], again.text)

	// Another peer without a name is an integration of its own. It cannot take the name.
	second := o.registerUnnamed()
	require.NotEqual(t, p.id, second.id)
	require.Equal(t, "200 accepted<nil>", second.send("crm"))
	require.Equal(t, []string{"external", "crm", ""}, []string{second.listedProduct(), p.listedProduct(), second.callerPeer()})
	require.Equal(t, "200 accepted<nil>", second.send("board"), "a product that this hub hosts can run elsewhere too")
	require.Equal(t, []string{"board", "crm"}, []string{second.listedProduct(), p.listedProduct()})
}

// plainConnector has no registration.
type plainConnector struct{ hub.Connector }

// A peer does not become the tenant's own product, the hub, or what cannot register.
func TestNamesThatPeersCannotHave(t *testing.T) {
	t.Parallel()
	n := start(t, nil, plainConnector{hub.NewPeerConnector("plain", "Plain")})
	o := n.signUp("notes")
	p := o.registerUnnamed()
	for _, name := range []string{"notes", "hub", "external", "plain", "Crm", "c", "crm_2"} {
		require.Equal(t, "200 accepted<nil>", p.send(name), name)
		require.Equal(t, []string{"external", ""}, []string{p.listedProduct(), p.callerPeer()}, name)
	}
	_, err := n.db.Exec(t.Context(), `update hub.integrations set handshake = 1 where id = $1`, p.id)
	require.NoError(t, err)
	require.Equal(t, "200 accepted<nil>", p.send("crm"))
	require.Equal(t, "external", p.listedProduct(), "an administrator connected it under this name")
}

// First events and registrations that arrive at once leave one integration with one product.
func TestFirstEventsAtOnce(t *testing.T) {
	t.Parallel()
	o := start(t, nil).signUp("notes")
	const rounds, senders = 5, 6
	for round := range rounds {
		p := o.registerUnnamed()
		names := []string{fmt.Sprintf("crm-%d", round), fmt.Sprintf("erp-%d", round)}
		var all sync.WaitGroup
		outcomes, registered := make([]string, senders), make([]answer, senders)
		for n := range senders {
			all.Go(func() { outcomes[n] = p.send(names[n%2]) })
			all.Go(func() {
				registered[n], _ = try("POST", o.integrations()+"/webhook/register", `{"webhook_url":"http://127.0.0.1:1/hook"}`, append(withKey(p.key), "Content-Type", "application/json")...)
			})
		}
		all.Wait()
		product := p.listedProduct()
		require.Contains(t, names, product)
		for n := range senders {
			require.Contains(t, []string{"200 accepted<nil>", "403 403wrong_product"}, outcomes[n])
			require.Equal(t, p.id, registered[n].body["integration_id"], registered[n].text)
			if names[n%2] == product {
				require.Equal(t, "200 accepted<nil>", outcomes[n])
			}
		}
		require.Len(t, o.do(200, "GET", "/", "").list, round+1)
		require.Equal(t, product, p.callerPeer())
	}
}
