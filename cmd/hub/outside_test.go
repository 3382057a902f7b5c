package main_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// outside is what stands at an address that should be a hub and is none, or a hub
// behind a broken proxy: it answers by the paths it was given and notes who called.
type outside struct {
	*httptest.Server
	mux *http.ServeMux

	mu       sync.Mutex
	requests []*http.Request
}

func newOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{mux: http.NewServeMux()}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.requests = append(o.requests, r.Clone(r.Context()))
		o.mu.Unlock()
		o.mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		o.CloseClientConnections()
		o.Close()
	})
	return o
}

// seen gives the requests so far.
func (o *outside) seen() []*http.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]*http.Request(nil), o.requests...)
}

// refuse answers with a status and a body of a kind.
func refuse(status int, kind, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// peer receives webhooks as a customer's program would.
type peer struct {
	*httptest.Server

	mu     sync.Mutex
	status int
	text   string
	got    []*http.Request
	bodies []string
}

// newPeer answers every delivery with a status and a text.
func newPeer(t *testing.T, status int, text string) *peer {
	t.Helper()
	p := &peer{status: status, text: text}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

// ServeHTTP implements http.Handler.
func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	p.got, p.bodies = append(p.got, r.Clone(r.Context())), append(p.bodies, string(body))
	status, text := p.status, p.text
	p.mu.Unlock()
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// answers changes what the next deliveries are answered with.
func (p *peer) answers(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

// count tells how many deliveries arrived.
func (p *peer) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.got)
}

// signed gives the headers of a delivery.
func signed(eventID, secret string, body []byte, at time.Time) http.Header {
	header := http.Header{"Content-Type": {"application/json"}}
	header.Set(hub.HeaderSignature, hub.SignBody(secret, body))
	header.Set(hub.HeaderStdID, eventID)
	header.Set(hub.HeaderStdTimestamp, strconv.FormatInt(at.Unix(), 10))
	header.Set(hub.HeaderStdSignature, hub.SignStandard(secret, eventID, at.Unix(), body))
	return header
}

// post sends a delivery and gives the status and the body of the answer.
func post(t *testing.T, url string, header http.Header, body []byte) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	require.NoError(t, err)
	if header != nil {
		req.Header = header
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}
