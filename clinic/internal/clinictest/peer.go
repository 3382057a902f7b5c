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
)

// Peer is a product elsewhere that knows the documents, connected to a clinic.
type Peer struct {
	*httptest.Server
	t       testing.TB
	clinic  *Clinic
	product string

	mu     sync.Mutex
	Secret string
	Key    string // of the clinic, for the peer
	status int    // answered to webhooks; 0 = 200
	closed bool   // the clinic's key is refused
	Events []event
}

// ConnectPeer connects the clinic to a product.
func (p *Clinic) ConnectPeer(product string) *Peer {
	p.T.Helper()
	e := &Peer{t: p.T, clinic: p, product: product}
	e.Server = httptest.NewServer(e)
	p.T.Cleanup(e.Close)
	environment := "live"
	if len(p.Headers) > 0 {
		environment = p.Headers[1]
	}
	got := p.OK(200, "POST", "/integrations/connect", object{"product": product, "api_key": "xyz_" + environment + "_key", "api_url": e.URL + "/api/v1"})
	require.Equal(p.T, "active", got["status"], "%v", got)
	return e
}

// ServeHTTP implements http.Handler.
func (e *Peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	raw, _ := io.ReadAll(r.Body)
	var said struct {
		Secret string `json:"webhook_secret"`
		Key    string `json:"api_key"`
		Type   string `json:"event_type"`
		Data   object `json:"data"`
	}
	_ = json.Unmarshal(raw, &said)
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/api/v1/integrations/status":
		if e.closed {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"product":%q,"version":"1.0.0","features":[],"status":"active"}`, e.product)
	case "/api/v1/integrations/webhook/register":
		e.Secret, e.Key = said.Secret, said.Key
		fmt.Fprintf(w, `{"integration_id":"7","webhook_url":%q}`, e.URL+"/hook")
	case "/hook":
		if e.status != 0 {
			w.WriteHeader(e.status)
			return
		}
		e.Events = append(e.Events, event{Type: said.Type, Data: said.Data})
	}
}

// SetStatus has webhooks answered with a status; 0: taken.
func (e *Peer) SetStatus(status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = status
}

// SetRefusing has the clinic's key refused, or taken again.
func (e *Peer) SetRefusing(closed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = closed
}

// Received are the events of a type that the peer got.
func (e *Peer) Received(kind string) (list []event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.Events {
		if one.Type == kind {
			list = append(list, one)
		}
	}
	return list
}

// Envelope is an event of the peer's.
func (e *Peer) Envelope(id, kind string, data object, at time.Time) []byte {
	e.t.Helper()
	raw, err := json.Marshal(object{
		"id": id, "product": e.product, "event_type": kind, "timestamp": at.UTC().Format(time.RFC3339), "correlation_id": "corr-" + id, "data": data,
	})
	require.NoError(e.t, err)
	return raw
}

// Deliver sends an event to the clinic, signed, and gives the status of the answer.
func (e *Peer) Deliver(id, kind string, data object) answer {
	e.t.Helper()
	return e.Post(e.Envelope(id, kind, data, time.Now()))
}

func (e *Peer) Post(raw []byte) answer {
	e.t.Helper()
	mac := hmac.New(sha256.New, []byte(e.Secret))
	mac.Write(raw)
	return e.clinic.As("").Call("POST", "/integrations/webhook", string(raw), "X-Integration-Key", e.Key, "X-Webhook-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
}

// Send delivers a new event and requires an outcome.
func (e *Peer) Send(outcome, kind string, data object) (id string) {
	e.t.Helper()
	id = hub.NewEventID()
	got := e.Deliver(id, kind, data)
	require.Equal(e.t, 200, got.Status, got.Text)
	require.Equal(e.t, outcome, got.Body["status"], got.Text)
	return id
}

// SendAt is [peer.send] of an event that happened at a time.
func (e *Peer) SendAt(at time.Time, outcome, kind string, data object) {
	e.t.Helper()
	got := e.Post(e.Envelope(hub.NewEventID(), kind, data, at))
	require.Equal(e.t, 200, got.Status, got.Text)
	require.Equal(e.t, outcome, got.Body["status"], got.Text)
}
