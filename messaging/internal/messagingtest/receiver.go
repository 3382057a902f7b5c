package messagingtest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// Receiver is the server behind a webhook.
type Receiver struct {
	URL string

	t    testing.TB
	got  chan ReceivedEvent
	stop *httptest.Server
}

// ReceivedEvent is an event as a webhook got it.
type ReceivedEvent struct {
	Product string
	Type    string `json:"event_type"`
	Data    object
	Header  http.Header `json:"-"`
	Raw     []byte      `json:"-"`
}

// NewReceiver starts a server that takes every webhook.
func NewReceiver(t testing.TB) *Receiver {
	r := &Receiver{t: t, got: make(chan ReceivedEvent, 1000)}
	r.stop = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		event := ReceivedEvent{Header: request.Header}
		event.Raw, _ = io.ReadAll(request.Body)
		if json.Unmarshal(event.Raw, &event) == nil {
			r.got <- event
		}
	}))
	t.Cleanup(r.stop.Close)
	r.URL = r.stop.URL
	return r
}

// Next waits for the next event.
func (r *Receiver) Next() ReceivedEvent {
	r.t.Helper()
	select {
	case event := <-r.got:
		return event
	case <-time.After(time.Minute):
		require.Fail(r.t, "no webhook arrived")
		return ReceivedEvent{}
	}
}

// NextOf waits for the next events, as many as types are given, and returns them by their
// types, which have to be those.
func (r *Receiver) NextOf(types ...string) map[string]ReceivedEvent {
	r.t.Helper()
	received, got := make(map[string]ReceivedEvent), []string{}
	for range types {
		event := r.Next()
		received[event.Type] = event
		got = append(got, event.Type)
	}
	require.ElementsMatch(r.t, types, got)
	return received
}

// IsEmpty reports whether no event waits to be looked at.
func (r *Receiver) IsEmpty() bool { return len(r.got) == 0 }

// Verify fails the test unless the event is signed with a secret.
func (e ReceivedEvent) Verify(t testing.TB, secret string) {
	t.Helper()
	require.Equal(t, hub.SignBody(secret, e.Raw), e.Header.Get(hub.HeaderSignature))
}
