package clinic_test

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

// peer is a product elsewhere that knows the documents, connected to a clinic.
type peer struct {
	*httptest.Server
	t       testing.TB
	clinic  *practice
	product string

	mu     sync.Mutex
	secret string
	key    string // of the clinic, for the peer
	status int    // answered to webhooks; 0 = 200
	closed bool   // the clinic's key is refused
	got    []event
}

// connect connects the clinic to a product.
func (p *practice) connect(product string) *peer {
	p.t.Helper()
	e := &peer{t: p.t, clinic: p, product: product}
	e.Server = httptest.NewServer(e)
	p.t.Cleanup(e.Close)
	environment := "live"
	if len(p.headers) > 0 {
		environment = p.headers[1]
	}
	got := p.ok(200, "POST", "/integrations/connect", object{"product": product, "api_key": "xyz_" + environment + "_key", "api_url": e.URL + "/api/v1"})
	require.Equal(p.t, "active", got["status"], "%v", got)
	return e
}

// ServeHTTP implements http.Handler.
func (e *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
		e.secret, e.key = said.Secret, said.Key
		fmt.Fprintf(w, `{"integration_id":"7","webhook_url":%q}`, e.URL+"/hook")
	case "/hook":
		if e.status != 0 {
			w.WriteHeader(e.status)
			return
		}
		e.got = append(e.got, event{kind: said.Type, data: said.Data})
	}
}

// answer has webhooks answered with a status; 0: taken.
func (e *peer) answer(status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = status
}

// refuse has the clinic's key refused, or taken again.
func (e *peer) refuse(closed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = closed
}

// arrived are the events of a type that the peer got.
func (e *peer) arrived(kind string) (list []event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.got {
		if one.kind == kind {
			list = append(list, one)
		}
	}
	return list
}

// envelope is an event of the peer's.
func (e *peer) envelope(id, kind string, data object, at time.Time) []byte {
	e.t.Helper()
	raw, err := json.Marshal(object{
		"id": id, "product": e.product, "event_type": kind, "timestamp": at.UTC().Format(time.RFC3339), "correlation_id": "corr-" + id, "data": data,
	})
	require.NoError(e.t, err)
	return raw
}

// deliver sends an event to the clinic, signed, and gives the status of the answer.
func (e *peer) deliver(id, kind string, data object) answer {
	e.t.Helper()
	return e.post(e.envelope(id, kind, data, time.Now()))
}

func (e *peer) post(raw []byte) answer {
	e.t.Helper()
	mac := hmac.New(sha256.New, []byte(e.secret))
	mac.Write(raw)
	return e.clinic.as("").call("POST", "/integrations/webhook", string(raw), "X-Integration-Key", e.key, "X-Webhook-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
}

// send delivers a new event and requires an outcome.
func (e *peer) send(outcome, kind string, data object) (id string) {
	e.t.Helper()
	id = hub.NewEventID()
	got := e.deliver(id, kind, data)
	require.Equal(e.t, 200, got.status, got.text)
	require.Equal(e.t, outcome, got.body["status"], got.text)
	return id
}

// sendAt is [peer.send] of an event that happened at a time.
func (e *peer) sendAt(at time.Time, outcome, kind string, data object) {
	e.t.Helper()
	got := e.post(e.envelope(hub.NewEventID(), kind, data, at))
	require.Equal(e.t, 200, got.status, got.text)
	require.Equal(e.t, outcome, got.body["status"], got.text)
}
