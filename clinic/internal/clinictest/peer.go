package clinictest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
)

// Peer is an external product that implements docs/interfaces/, connected with a clinic.
type Peer struct {
	*httptest.Server
	t       testing.TB
	clinic  *Clinic
	product string

	mu     sync.Mutex
	Secret string // of webhooks
	Key    string // the clinic's, for the peer
	Events []moduletest.PublishedEvent
	status int  // answered to webhooks; 0 means 200
	closed bool // the clinic's key is refused
}

// ConnectPeer connects the clinic with a product that the test serves.
func (c *Clinic) ConnectPeer(product string) *Peer {
	c.T.Helper()
	peer := &Peer{t: c.T, clinic: c, product: product}
	peer.Server = httptest.NewServer(peer)
	c.T.Cleanup(peer.Close)
	environment := "live"
	if len(c.Headers) > 0 {
		environment = c.Headers[1]
	}
	connection := c.OK(200, "POST", "/integrations/connect", object{"product": product, "api_key": "xyz_" + environment + "_key", "api_url": peer.URL + "/api/v1"})
	require.Equal(c.T, "active", connection["status"], "%v", connection)
	return peer
}

// ServeHTTP implements http.Handler.
func (p *Peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	raw, _ := io.ReadAll(r.Body)
	var message struct {
		Secret string `json:"webhook_secret"`
		Key    string `json:"api_key"`
		Type   string `json:"event_type"`
		Data   object `json:"data"`
	}
	_ = json.Unmarshal(raw, &message)
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/api/v1/integrations/status":
		if p.closed {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"product":%q,"version":"1.0.0","features":[],"status":"active"}`, p.product)
	case "/api/v1/integrations/webhook/register":
		p.Secret, p.Key = message.Secret, message.Key
		fmt.Fprintf(w, `{"integration_id":"7","webhook_url":%q}`, p.URL+"/hook")
	case "/hook":
		if p.status != 0 {
			w.WriteHeader(p.status)
			return
		}
		p.Events = append(p.Events, moduletest.PublishedEvent{Type: message.Type, Data: message.Data})
	}
}

// SetStatus sets the status that webhooks are answered with; 0 stands for 200.
func (p *Peer) SetStatus(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

// SetRefusing sets whether the peer refuses the clinic's key.
func (p *Peer) SetRefusing(closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = closed
}

// Received returns the events of a type that the peer was sent; "" stands for all.
func (p *Peer) Received(eventType string) (events []moduletest.PublishedEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, event := range p.Events {
		if eventType == "" || event.Type == eventType {
			events = append(events, event)
		}
	}
	return events
}

// Envelope returns the envelope of an event of the peer.
func (p *Peer) Envelope(id, eventType string, data object, occurredAt time.Time) []byte {
	p.t.Helper()
	raw, err := json.Marshal(object{
		"id": id, "product": p.product, "event_type": eventType, "timestamp": occurredAt.UTC().Format(time.RFC3339), "correlation_id": "corr-" + id, "data": data,
	})
	require.NoError(p.t, err)
	return raw
}

// Deliver sends the clinic a signed event.
func (p *Peer) Deliver(id, eventType string, data object) moduletest.Response {
	p.t.Helper()
	return p.Post(p.Envelope(id, eventType, data, time.Now()))
}

// Post sends the clinic a body, signed.
func (p *Peer) Post(body []byte) moduletest.Response {
	p.t.Helper()
	mac := hmac.New(sha256.New, []byte(p.Secret))
	mac.Write(body)
	return p.clinic.As("").Call("POST", "/integrations/webhook", string(body), "X-Integration-Key", p.Key, "X-Webhook-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
}

// Send delivers a new event, requires an outcome and returns the event's id.
func (p *Peer) Send(outcome, eventType string, data object) (id string) {
	p.t.Helper()
	id = hub.NewEventID()
	response := p.Deliver(id, eventType, data)
	require.Equal(p.t, 200, response.Status, response.Text)
	require.Equal(p.t, outcome, response.Body["status"], response.Text)
	return id
}

// SendAt is [Peer.Send] of an event that happened at a time.
func (p *Peer) SendAt(occurredAt time.Time, outcome, eventType string, data object) {
	p.t.Helper()
	response := p.Post(p.Envelope(hub.NewEventID(), eventType, data, occurredAt))
	require.Equal(p.t, 200, response.Status, response.Text)
	require.Equal(p.t, outcome, response.Body["status"], response.Text)
}

// RegisterPeer returns a product that implements only docs/interfaces/: it registers with its
// webhook_url and nothing else.
func (c *Clinic) RegisterPeer(product string) *Peer {
	c.T.Helper()
	peer := &Peer{t: c.T, clinic: c, product: product, Key: c.NewKey().Token}
	peer.Server = httptest.NewServer(peer)
	c.T.Cleanup(peer.Close)
	registered := c.As(peer.Key).OK(200, "POST", "/integrations/webhook/register", object{"webhook_url": peer.URL + "/hook"})
	peer.Secret = registered["webhook_secret"].(string)
	c.As(peer.Key).Get("/integrations/status") // the hub reads its configuration anew for it
	return peer
}
