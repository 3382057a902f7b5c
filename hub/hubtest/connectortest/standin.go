package connectortest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// standIn is a plain HTTP server in the place of the peer, and the [hub.Doer] that
// reaches it and records what the connector does.
type standIn struct {
	t      *testing.T
	client *http.Client
	base   string

	mu         sync.Mutex
	requests   []recordedRequest
	openBodies int   // answers that were not closed
	read       int64 // bytes taken of the last answer
}

// recordedRequest is a request as it was received.
type recordedRequest struct {
	method, path, query string
	header              http.Header
	body                []byte
}

type contextMark struct{}

// startStandIn starts a stand-in that answers with a handler.
func startStandIn(t *testing.T, answer http.HandlerFunc) *standIn {
	t.Helper()
	s := &standIn{t: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // it broke off
		}
		s.mu.Lock()
		s.requests = append(s.requests, recordedRequest{r.Method, r.URL.Path, r.URL.RawQuery, r.Header, body})
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	s.base = server.URL
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	s.client = &http.Client{
		Transport: transport, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s
}

// ctx returns the context that connectors are called with and must pass on.
func (s *standIn) ctx() context.Context { return context.WithValue(s.t.Context(), contextMark{}, s) }

// Do implements [hub.Doer].
func (s *standIn) Do(req *http.Request) (*http.Response, error) {
	if s.t.Context().Err() == nil && req.Context().Value(contextMark{}) != s {
		s.t.Error("the request does not carry the caller's context")
	}
	if !strings.HasPrefix(req.URL.String(), s.base) {
		s.t.Errorf("a connector calls nobody but its peer")
		return nil, errors.New("refused")
	}
	res, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.openBodies++
	s.read = 0
	res.Body = &trackedBody{ReadCloser: res.Body, standIn: s}
	return res, nil
}

// recorded returns the requests so far.
func (s *standIn) recorded() []recordedRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]recordedRequest(nil), s.requests...)
}

// requireBodiesClosed requires that bodies were closed, and read within bounds.
func (s *standIn) requireBodiesClosed(t *testing.T, name string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Zero(t, s.openBodies, "%s: a response was not closed", name)
	require.LessOrEqual(t, s.read, int64(hub.MaxResponseBytes+4096), "%s: too much was read", name)
}

// trackedBody counts the bytes read from a body and records that it was closed.
type trackedBody struct {
	io.ReadCloser
	standIn *standIn
	closed  bool
}

func (w *trackedBody) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.standIn.mu.Lock()
	defer w.standIn.mu.Unlock()
	w.standIn.read += int64(n)
	return n, err
}

func (w *trackedBody) Close() error {
	w.standIn.mu.Lock()
	if !w.closed {
		w.closed = true
		w.standIn.openBodies--
	}
	w.standIn.mu.Unlock()
	return w.ReadCloser.Close()
}

// failingDoer is a Doer whose requests fail.
type failingDoer struct{ err error }

func (f failingDoer) Do(*http.Request) (*http.Response, error) { return nil, f.err }

// forbiddenDoer is a Doer that must not be used.
type forbiddenDoer struct{ t *testing.T }

func (r forbiddenDoer) Do(*http.Request) (*http.Response, error) {
	r.t.Error("nobody was to be asked")
	return nil, errors.New("refused")
}

// faultyResponse is a faulty response of a peer and the error expected of a connector.
type faultyResponse struct {
	name   string
	answer http.HandlerFunc
	kind   error
	code   string // "": any
}

// echoHeader responds with a status and repeats what was sent, keys and all: a connector
// that quotes it reveals secrets.
func echoHeader(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = r.Header.Write(w)
	}
}

// invalidResponses returns the responses that every call of a connector must refuse.
func invalidResponses() []faultyResponse {
	return []faultyResponse{
		{"401", echoHeader(401), hub.ErrInvalid, hub.CodeKeyRejected},
		{"403", echoHeader(403), hub.ErrInvalid, hub.CodeKeyRejected},
		{"500", echoHeader(500), hub.ErrPeer, hub.CodePeerFailed},
		{"503", echoHeader(503), hub.ErrPeer, hub.CodePeerFailed},
		{"redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, hub.ErrPeer, hub.CodePeerFailed},
		{"429", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "7"); w.WriteHeader(429) }, hub.ErrPeer, hub.CodePeerRateLimited},
		{"breaks off", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, hub.ErrPeer, hub.CodePeerUnreachable},
		{"breaks off within", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}, hub.ErrPeer, hub.CodePeerUnreachable},
		{"endless", func(w http.ResponseWriter, _ *http.Request) {
			for chunk := strings.Repeat(" ", 16<<10); ; {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		}, hub.ErrPeer, hub.CodePeerResponse},
		{"64 KiB and a byte", respondWith(200, "{}"+strings.Repeat(" ", hub.MaxResponseBytes-1)), hub.ErrPeer, hub.CodePeerResponse},
	}
}

// nonJSONResponses returns responses that are not JSON.
func nonJSONResponses() []faultyResponse {
	list := []faultyResponse{}
	for _, body := range []string{"", "<html>Welcome</html>", "{", `{"product":`, "[]", "OK", `{} {}`} {
		list = append(list, faultyResponse{"body " + body, respondWith(200, body), hub.ErrPeer, hub.CodePeerResponse})
	}
	return list
}

// respondWith responds with a status and a body.
func respondWith(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}
