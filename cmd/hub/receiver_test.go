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
	"integrationhub/hub/hubtest"
)

// receiver receives webhooks as a customer's program would.
type receiver struct {
	*httptest.Server

	mu     sync.Mutex
	status int
	text   string
	got    []*http.Request
	bodies []string
}

// newReceiver answers every delivery with a status and a text.
func newReceiver(t *testing.T, status int, text string) *receiver {
	t.Helper()
	p := &receiver{status: status, text: text}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

// ServeHTTP implements http.Handler.
func (p *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	p.got, p.bodies = append(p.got, r.Clone(r.Context())), append(p.bodies, string(body))
	status, text := p.status, p.text
	p.mu.Unlock()
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// setStatus changes what the next deliveries are answered with.
func (p *receiver) setStatus(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

// count returns how many deliveries arrived.
func (p *receiver) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.got)
}

// webhookHeader returns the headers of a delivery.
func webhookHeader(eventID, secret string, body []byte, at time.Time) http.Header {
	header := http.Header{"Content-Type": {"application/json"}}
	header.Set(hub.HeaderSignature, hub.SignBody(secret, body))
	header.Set(hub.HeaderStdID, eventID)
	header.Set(hub.HeaderStdTimestamp, strconv.FormatInt(at.Unix(), 10))
	header.Set(hub.HeaderStdSignature, hub.SignStandard(secret, eventID, at.Unix(), body))
	return header
}

// post sends a delivery and returns the status and the body of the response.
func post(t *testing.T, url string, header http.Header, body []byte) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	require.NoError(t, err)
	if header != nil {
		req.Header = header
	}
	resp, err := hubtest.HTTPClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}
