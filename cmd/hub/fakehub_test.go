package main_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"integrationhub/hub"
)

// fakeHub is a broken hub, or another server at the address of one: it answers on the
// paths of mux, and records requests.
type fakeHub struct {
	*httptest.Server
	mux      *http.ServeMux
	isNotHub atomic.Bool // its answers do not say that it is one

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
		if !o.isNotHub.Load() {
			w.Header().Set(hub.HeaderHub, hub.APIVersion)
		}
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
