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
// reaches it and watches what the connector does.
type standIn struct {
	t      *testing.T
	client *http.Client
	base   string

	mu       sync.Mutex
	requests []seen
	open     int   // answers that were not closed
	read     int64 // bytes taken of the last answer
}

// seen is a request as it arrived.
type seen struct {
	method, path, query string
	header              http.Header
	body                []byte
}

type contextMark struct{}

// serve starts a stand-in that answers with a handler.
func serve(t *testing.T, answer http.HandlerFunc) *standIn {
	t.Helper()
	s := &standIn{t: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // it broke off
		}
		s.mu.Lock()
		s.requests = append(s.requests, seen{r.Method, r.URL.Path, r.URL.RawQuery, r.Header, body})
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

// ctx is what connectors are called with, and must hand on.
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
	s.open++
	s.read = 0
	res.Body = &watched{ReadCloser: res.Body, by: s}
	return res, nil
}

// taken are the requests so far.
func (s *standIn) taken() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seen(nil), s.requests...)
}

// requireTidy demands that answers were closed, and read within bounds.
func (s *standIn) requireTidy(t *testing.T, name string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Zero(t, s.open, "%s: an answer was not closed", name)
	require.LessOrEqual(t, s.read, int64(hub.MaxResponseBytes+4096), "%s: too much was read", name)
}

// watched counts what is read of an answer and notes its closing.
type watched struct {
	io.ReadCloser
	by     *standIn
	closed bool
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.by.mu.Lock()
	defer w.by.mu.Unlock()
	w.by.read += int64(n)
	return n, err
}

func (w *watched) Close() error {
	w.by.mu.Lock()
	if !w.closed {
		w.closed = true
		w.by.open--
	}
	w.by.mu.Unlock()
	return w.ReadCloser.Close()
}

// failing is a Doer that reaches nobody.
type failing struct{ err error }

func (f failing) Do(*http.Request) (*http.Response, error) { return nil, f.err }

// refusing is a Doer that must not be used.
type refusing struct{ t *testing.T }

func (r refusing) Do(*http.Request) (*http.Response, error) {
	r.t.Error("nobody was to be asked")
	return nil, errors.New("refused")
}

// row is one way in which a peer answers wrongly, and what a connector says to it.
type row struct {
	name   string
	answer http.HandlerFunc
	kind   error
	code   string // "": any
}

// echo answers with a status and repeats what was sent, keys and all: a connector
// that quotes it gives secrets away.
func echo(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = r.Header.Write(w)
	}
}

// broken are the answers that no call of a connector takes for good.
func broken() []row {
	return []row{
		{"401", echo(401), hub.ErrInvalid, hub.CodeKeyRejected},
		{"403", echo(403), hub.ErrInvalid, hub.CodeKeyRejected},
		{"500", echo(500), hub.ErrPeer, hub.CodePeerFailed},
		{"503", echo(503), hub.ErrPeer, hub.CodePeerFailed},
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
		{"64 KiB and a byte", say(200, "{}"+strings.Repeat(" ", hub.MaxResponseBytes-1)), hub.ErrPeer, hub.CodePeerResponse},
	}
}

// notJSON are answers that are no JSON.
func notJSON() []row {
	list := []row{}
	for _, body := range []string{"", "<html>Welcome</html>", "{", `{"product":`, "[]", "OK", `{} {}`} {
		list = append(list, row{"body " + body, say(200, body), hub.ErrPeer, hub.CodePeerResponse})
	}
	return list
}

// say answers with a status and a body.
func say(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}
