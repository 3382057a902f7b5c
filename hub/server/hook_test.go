package server_test

import (
	"encoding/json"
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

// arrival is one request a hook got.
type arrival struct {
	at     time.Time
	id     string // of the event, by the envelope
	body   []byte
	header http.Header
}

// hook is a real receiver that records what arrives and checks its signatures.
type hook struct {
	t       *testing.T
	url     string
	respond func(w http.ResponseWriter, r *http.Request, n int) // n: which arrival this is, from 1
	mu      sync.Mutex
	secrets []string
	got     []arrival
	bad     []string // what was wrong with arrivals
}

// newHook starts a receiver; respond nil answers 200.
func newHook(t *testing.T, respond func(w http.ResponseWriter, r *http.Request, n int)) *hook {
	t.Helper()
	h := &hook{t: t, respond: respond}
	server := httptest.NewUnstartedServer(h)
	server.Start()
	h.url = server.URL + "/hook"
	t.Cleanup(func() {
		server.CloseClientConnections() // a hanging answer must not hold the test
		server.Close()
		h.mu.Lock()
		defer h.mu.Unlock()
		require.Empty(t, h.bad)
	})
	return h
}

// answering returns a respond that always answers with one status.
func answering(status int) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(status) }
}

// hanging returns a respond that answers only when the caller disconnects or release is
// closed.
func hanging(release <-chan struct{}) func(http.ResponseWriter, *http.Request, int) {
	return func(_ http.ResponseWriter, r *http.Request, _ int) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
}

// trust adds a secret that may sign: deliveries signed with none of them are errors.
func (h *hook) trust(secret string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.secrets = append(h.secrets, secret)
}

// ServeHTTP records, checks and answers.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	body, err := io.ReadAll(r.Body)
	var envelope struct{ ID string }
	if err == nil {
		err = json.Unmarshal(body, &envelope)
	}
	h.mu.Lock()
	if err != nil {
		h.bad = append(h.bad, err.Error())
	}
	h.check(r.Header, body, now)
	h.got = append(h.got, arrival{now, envelope.ID, body, r.Header.Clone()})
	n := len(h.got)
	h.mu.Unlock()
	if h.respond != nil {
		h.respond(w, r, n)
	}
}

// check requires both signatures; the caller holds mu.
func (h *hook) check(header http.Header, body []byte, now time.Time) {
	if len(h.secrets) == 0 {
		return // the answer that brings the secret may come later than the first delivery
	}
	if !hub.VerifyBody(header.Get("X-Webhook-Signature"), body, h.secrets...) {
		h.bad = append(h.bad, "X-Webhook-Signature is not valid")
	}
	if !hub.VerifyStandard(header.Get("webhook-signature"), header.Get("webhook-id"), header.Get("webhook-timestamp"), body, now, h.secrets...) {
		h.bad = append(h.bad, "webhook-signature is not valid")
	}
	if !strings.Contains(string(body), `"id":"`+header.Get("webhook-id")+`"`) {
		h.bad = append(h.bad, "webhook-id is not the event's")
	}
}

func (h *hook) arrivals() []arrival {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]arrival(nil), h.got...)
}

// wait returns the arrivals once there are at least n.
func (h *hook) wait(n int) []arrival {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return len(h.arrivals()) >= n }, 3*soon, tick, "%d arrivals", n)
	return h.arrivals()
}

// times counts arrivals by event id.
func (h *hook) times() map[string]int {
	counts := make(map[string]int)
	for _, received := range h.arrivals() {
		counts[received.id]++
	}
	return counts
}

// waitAll waits until every event has arrived at least once.
func (h *hook) waitAll(ids []string) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		times := h.times()
		for _, id := range ids {
			if times[id] == 0 {
				return false
			}
		}
		return true
	}, 3*soon, 2*tick, "%d events", len(ids))
}

// ids lists the events of all arrivals, in order.
func (h *hook) ids() (ids []string) {
	for _, arrival := range h.arrivals() {
		ids = append(ids, arrival.id)
	}
	return ids
}
