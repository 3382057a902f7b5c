package main_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// fakeHub is a server at an address that should be a hub's and is not, or a hub
// behind a broken proxy: it answers on the paths of mux, and records requests.
type fakeHub struct {
	*httptest.Server
	mux *http.ServeMux

	mu       sync.Mutex
	requests []*http.Request
}

func newFakeHub(t *testing.T) *fakeHub {
	t.Helper()
	o := &fakeHub{mux: http.NewServeMux()}
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

// received returns the requests so far.
func (o *fakeHub) received() []*http.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]*http.Request(nil), o.requests...)
}

// respond answers with a status and a body of a media type.
func respond(status int, kind, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}
