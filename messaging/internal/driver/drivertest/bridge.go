package drivertest

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/rand"
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

	"integrationhub/hub/hubtest"

	"github.com/stretchr/testify/require"
)

// Object is a JSON object.
type Object = map[string]any

// BridgeSecret is the secret of a [Bridge].
const BridgeSecret = "0123456789abcdef0123456789abcdef"

// bridgeTolerance is how far a call's timestamp may be from the bridge's clock.
const bridgeTolerance = 5 * time.Minute

// Bridge is a reference bridge, written from docs/bridge.md: a session service of a network
// whose phones are the test. It uses nothing of the hub.
type Bridge struct {
	URL string

	mu       sync.Mutex
	sessions map[string]*bridgeSession // by connection
	calls    map[string]bool           // ids
	accepted []Accepted
	remote   map[string]string // the network's ids of messages
	files    map[string]string
	unknown  map[string]bool // numbers that are not registered
	isAway   bool            // the network does not answer checks
	hooks    Hooks
	sequence int64
	names    []string // of the calls
	hanging  map[string]bool
	wait     string // Retry-After with [BusyBody]; "" = none
	open     int    // calls that hang
}

// bridgeSession is the session of a connection.
type bridgeSession struct {
	state      Object
	webhookURL string
	isOffline  bool
}

// NewBridge starts a bridge.
func NewBridge(t testing.TB) *Bridge {
	b := &Bridge{sessions: make(map[string]*bridgeSession), calls: make(map[string]bool), remote: make(map[string]string), files: make(map[string]string), unknown: map[string]bool{UnregisteredNumber: true, otherUnregisteredForm: true}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	b.URL = server.URL + "/hub"
	return b
}

// SignForBridge returns the value of X-Webhook-Signature.
func SignForBridge(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// bridgeCall is a call of the hub.
type bridgeCall struct {
	ID, Call, Connection, WebhookURL string
	Timestamp                        time.Time
	Data                             struct {
		ID, To, LID, Body, QuotedID, Number, Reference string
		RemoteIDs                                      []string
		Media                                          *struct{ Type, MimeType, Name, URL string }
	}
}

// ServeHTTP implements http.Handler.
func (b *Bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var call bridgeCall
	isSigned := err == nil && hmac.Equal([]byte(r.Header.Get("X-Webhook-Signature")), []byte(SignForBridge(BridgeSecret, body)))
	if !isSigned || json.Unmarshal(body, &call) != nil || !b.isNew(call) {
		answerError(w, http.StatusUnauthorized, "unauthorized")
		return
	}
	b.mu.Lock()
	session := b.sessions[call.Connection]
	if session == nil {
		session = &bridgeSession{}
		b.sessions[call.Connection] = session
		b.setState(session, Object{"status": "DISCONNECTED"})
	}
	session.webhookURL = call.WebhookURL
	b.names = append(b.names, call.Call)
	isHanging := b.hanging[call.Call]
	b.mu.Unlock()
	if isHanging {
		b.hang(r)
		return
	}
	switch call.Call {
	case "start", "stop", "state":
		b.mu.Lock()
		defer b.mu.Unlock()
		b.answerState(w, session, call.Call)
	case "send":
		b.send(w, session, call)
	case "check":
		b.check(w, call.Data.Number)
	case "media":
		b.mu.Lock()
		content, isThere := b.files[call.Data.Reference]
		b.mu.Unlock()
		if !isThere {
			answerError(w, http.StatusGone, "refused")
			return
		}
		_, _ = io.WriteString(w, content)
	default:
		answer(w, Object{})
	}
}

// hang waits until the hub has given up a call.
func (b *Bridge) hang(r *http.Request) {
	b.addHanging(1)
	defer b.addHanging(-1)
	<-r.Context().Done()
}

func (b *Bridge) addHanging(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open += n
}

// SetRetryAfter sets what a bridge asks for that has too many calls.
func (b *Bridge) SetRetryAfter(header string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wait = header
}

// SetHanging has the bridge answer no calls of these names, and all others.
func (b *Bridge) SetHanging(names ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hanging = make(map[string]bool)
	for _, name := range names {
		b.hanging[name] = true
	}
}

// Hanging returns how many calls wait for an answer now.
func (b *Bridge) Hanging() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open
}

func (b *Bridge) check(w http.ResponseWriter, number string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isAway {
		answerError(w, http.StatusServiceUnavailable, "unavailable")
		return
	}
	answer(w, Object{"registered": !b.unknown[number]})
}

// SetAway has the network answer no checks of numbers, or answer them again.
func (b *Bridge) SetAway(isAway bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.isAway = isAway
}

// SetRegistered has a number registered at the network, or not.
func (b *Bridge) SetRegistered(number string, isRegistered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unknown[number] = !isRegistered
}

// isNew reports whether a call is of now and has not been here before.
func (b *Bridge) isNew(call bridgeCall) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	isKnown := b.calls[call.ID]
	b.calls[call.ID] = true
	return !isKnown && time.Since(call.Timestamp).Abs() <= bridgeTolerance
}

// setState sets the next state of a session.
func (b *Bridge) setState(s *bridgeSession, state Object) {
	b.sequence++
	state["sequence"] = b.sequence
	s.state = state
}

func (b *Bridge) answerState(w http.ResponseWriter, session *bridgeSession, call string) {
	status := session.state["status"]
	switch {
	case call == "start" && (status == "DISCONNECTED" || status == "qrcode"):
		b.setState(session, Object{"status": "qrcode", "qrcode": "bridge:" + rand.Text(), "qrExpiresAt": time.Now().Add(time.Minute)})
	case call == "stop":
		session.isOffline = false
		b.setState(session, Object{"status": "DISCONNECTED"})
	}
	answer(w, Object{"state": session.state})
}

// send accepts a message once by its id.
func (b *Bridge) send(w http.ResponseWriter, session *bridgeSession, call bridgeCall) {
	b.mu.Lock()
	status := session.state["status"]
	m := call.Data
	remote, isKnown := b.remote[m.ID]
	hooks := b.hooks
	switch {
	case status != "CONNECTED":
		b.mu.Unlock()
		answerError(w, http.StatusConflict, "not_connected")
		return
	case b.unknown[m.To]:
		b.mu.Unlock()
		answerError(w, http.StatusNotFound, "not_registered")
		return
	case m.Body == RefusedBody:
		b.mu.Unlock()
		answerError(w, http.StatusBadRequest, "refused")
		return
	case m.Body == BusyBody:
		w.Header().Set("Retry-After", b.wait)
		b.mu.Unlock()
		answerError(w, http.StatusTooManyRequests, "busy")
		return
	case !isKnown:
		remote = "3EB0" + rand.Text()
		b.remote[m.ID] = remote
		accepted := Accepted{RemoteID: remote, To: cmp.Or(m.To, m.LID), Body: m.Body, QuotedRemoteID: m.QuotedID}
		if m.Media != nil {
			accepted.MediaURL = m.Media.URL
		}
		b.accepted = append(b.accepted, accepted)
	}
	b.mu.Unlock()
	if hooks.BeforeAnswer != nil {
		hooks.BeforeAnswer(remote)
	}
	if hooks.LoseResponse != nil && hooks.LoseResponse() {
		dropConnection(w)
		return
	}
	answer(w, Object{"remoteId": remote, "at": time.Now()})
}

// dropConnection ends a request without a response.
func dropConnection(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = connection.Close()
	}
}

func answer(w http.ResponseWriter, body Object) { _ = json.NewEncoder(w).Encode(body) }

func answerError(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	answer(w, Object{"error": code, "message": "The bridge says " + code + "."})
}

// Accepted returns the messages that the network accepted.
func (b *Bridge) Accepted() []Accepted {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Accepted(nil), b.accepted...)
}

// Calls returns the names of the calls so far.
func (b *Bridge) Calls() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.names...)
}

// SetHooks sets what happens to responses.
func (b *Bridge) SetHooks(h Hooks) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hooks = h
}

// AddFile adds a file at the network and returns its reference.
func (b *Bridge) AddFile(content string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	reference := rand.Text()
	b.files[reference] = content
	return reference
}

// ChangeState sets a new state of a connection without reporting it, and returns it.
func (b *Bridge) ChangeState(connection int64, state Object) Object {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.setState(b.sessions[fmt.Sprint(connection)], state)
	return state
}

// State returns the state of a connection.
func (b *Bridge) State(connection int64) Object {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sessions[fmt.Sprint(connection)].state
}

// Event returns the body of an event, which [Bridge.Post] signs and sends.
func (b *Bridge) Event(connection int64, name string, data Object) []byte {
	return b.EventAt(time.Now(), connection, name, data)
}

// EventAt returns the body of an event with a time.
func (b *Bridge) EventAt(at time.Time, connection int64, name string, data Object) []byte {
	body, _ := json.Marshal(Object{"id": rand.Text(), "event": name, "connection": fmt.Sprint(connection), "timestamp": at.UTC(), "data": data})
	return body
}

// Post sends the bytes of an event with a signature, and returns the response's status.
func (b *Bridge) Post(t testing.TB, connection int64, body []byte, signature string) int {
	t.Helper()
	b.mu.Lock()
	address := b.sessions[fmt.Sprint(connection)].webhookURL
	b.mu.Unlock()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Webhook-Signature", signature)
	response, err := hubtest.HTTPClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// Report sends an event and returns the response's status.
func (b *Bridge) Report(t testing.TB, connection int64, name string, data Object) int {
	t.Helper()
	body := b.Event(connection, name, data)
	return b.Post(t, connection, body, SignForBridge(BridgeSecret, body))
}
