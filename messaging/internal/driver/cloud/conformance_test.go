package cloud_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/driver/cloud"
	"integrationhub/messaging/internal/driver/drivertest"
)

// network is a stand-in of the API with the driver that it reports to.
type network struct {
	driver *cloud.Driver
	url    string

	mu        sync.Mutex
	accepted  []drivertest.Accepted
	files     map[string]string
	hooks     drivertest.Hooks
	isRevoked bool
	delivered []string // webhooks
}

func TestConformance(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t *testing.T, sink driver.Sink) drivertest.Network {
		n := &network{files: make(map[string]string)}
		server := httptest.NewServer(n)
		t.Cleanup(server.Close)
		var err error
		n.url = server.URL
		n.driver, err = cloud.New(module.Host{HTTP: server.Client(), Downloads: server.Client(), Now: time.Now}, sink, server.URL, "v23.0")
		require.NoError(t, err)
		return n
	})
}

// ServeHTTP implements http.Handler.
func (n *network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	isRevoked := n.isRevoked
	content, isFile := n.files[strings.TrimPrefix(r.URL.Path, "/files/")]
	_, isReference := n.files[strings.TrimPrefix(r.URL.Path, "/v23.0/")]
	n.mu.Unlock()
	switch {
	case isRevoked || r.Header.Get("Authorization") != "Bearer EAAG":
		refuse(w, http.StatusUnauthorized, 190)
	case isFile:
		_, _ = io.WriteString(w, content)
	case isReference:
		_ = json.NewEncoder(w).Encode(map[string]any{"url": n.url + "/files/" + strings.TrimPrefix(r.URL.Path, "/v23.0/")})
	case r.Method == http.MethodPost:
		n.send(w, r)
	case strings.HasSuffix(r.URL.Path, "/106540352242922"):
		_, _ = io.WriteString(w, `{"display_phone_number":"+55 11 90000-0001"}`)
	default:
		refuse(w, http.StatusBadRequest, 100)
	}
}

func refuse(w http.ResponseWriter, status, code int) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": code, "message": "No."}})
}

// send takes a message, each time it arrives.
func (n *network) send(w http.ResponseWriter, r *http.Request) {
	var m struct {
		To, Status string
		Text       struct{ Body string }
		Image      struct{ Link, Caption string }
		Context    struct {
			ID string `json:"message_id"`
		}
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil || m.Status == "read" {
		_, _ = io.WriteString(w, `{"success":true}`)
		return
	}
	switch {
	case m.To == drivertest.UnregisteredNumber:
		refuse(w, http.StatusBadRequest, 131026)
		return
	case len([]rune(m.Text.Body)) > 4096:
		refuse(w, http.StatusBadRequest, 100)
		return
	}
	n.mu.Lock()
	sent := drivertest.Accepted{RemoteID: fmt.Sprintf("wamid.%d", len(n.accepted)), To: m.To, Body: m.Text.Body + m.Image.Caption, MediaURL: m.Image.Link, QuotedRemoteID: m.Context.ID}
	n.accepted = append(n.accepted, sent)
	hooks := n.hooks
	n.mu.Unlock()
	if hooks.BeforeAnswer != nil {
		hooks.BeforeAnswer(sent.RemoteID)
	}
	if hooks.LoseResponse != nil && hooks.LoseResponse() {
		line, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = line.Close()
		}
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"messages": []any{map[string]any{"id": sent.RemoteID}}})
}

// Driver implements [drivertest.Network].
func (n *network) Driver() driver.Driver { return n.driver }

// Connection implements [drivertest.Network].
func (n *network) Connection() driver.Connection { return connection }

// Contact implements [drivertest.Network].
func (n *network) Contact() string { return "5511987654321" }

// Pair implements [drivertest.Network]: an account needs no phone.
func (n *network) Pair(*testing.T) {}

// Lose implements [drivertest.Network].
func (n *network) EndSession(*testing.T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.isRevoked = true
}

// Taken implements [drivertest.Network].
func (n *network) Accepted(*testing.T) []drivertest.Accepted {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]drivertest.Accepted(nil), n.accepted...)
}

// receive has the API call the webhook.
func (n *network) receive(t *testing.T, name string, value any) error {
	raw, err := json.Marshal(map[string]any{"entry": []any{map[string]any{"changes": []any{map[string]any{"value": map[string]any{
		"metadata": map[string]any{"phone_number_id": "106540352242922"}, "contacts": []any{map[string]any{"wa_id": n.Contact(), "profile": map[string]any{"name": "Ana"}}}, name: []any{value},
	}}}}}})
	if err != nil {
		return err
	}
	if name == "messages" {
		n.mu.Lock()
		n.delivered = append(n.delivered, string(raw))
		n.mu.Unlock()
	}
	return n.driver.Receive(t.Context(), connection, raw)
}

// Deliver implements [drivertest.Network].
func (n *network) Deliver(t *testing.T, m drivertest.Message) error {
	message := map[string]any{"id": m.RemoteID, "from": n.Contact(), "timestamp": fmt.Sprint(time.Now().Unix()), "type": "text", "text": map[string]any{"body": m.Body}}
	if m.Quoted != "" {
		message["context"] = map[string]any{"id": m.Quoted}
	}
	if m.Media != nil {
		message["type"], message["image"] = "image", map[string]any{"id": m.Media.Reference, "mime_type": m.Media.MimeType, "caption": m.Body}
	}
	return n.receive(t, "messages", message)
}

// Redeliver implements [drivertest.Network].
func (n *network) Redeliver(t *testing.T) (err error) {
	for _, webhook := range n.delivered {
		err = errors.Join(err, n.driver.Receive(t.Context(), connection, []byte(webhook)))
	}
	return err
}

// Acknowledge implements [drivertest.Network].
func (n *network) Acknowledge(t *testing.T, remoteID string, ack chat.Ack) error {
	status := map[chat.Ack]string{chat.AckServer: "sent", chat.AckDevice: "delivered", chat.AckRead: "read"}[ack]
	return n.receive(t, "statuses", map[string]any{"id": remoteID, "status": status})
}

// AcknowledgeEarly implements [drivertest.Network].
func (n *network) AcknowledgeEarly(t *testing.T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hooks.BeforeAnswer = func(remoteID string) { _ = n.Acknowledge(t, remoteID, chat.AckDevice) }
}

// LoseNextResponse implements [drivertest.ResponseLoser].
func (n *network) LoseNextResponse() {
	n.mu.Lock()
	defer n.mu.Unlock()
	isNext := true
	n.hooks.LoseResponse = func() bool {
		was := isNext
		isNext = false
		return was
	}
}

// AddFile implements [drivertest.Network].
func (n *network) AddFile(_ *testing.T, content string) driver.IncomingMedia {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.files["media-1"] = content
	return driver.IncomingMedia{Type: chat.MediaImage, MimeType: "image/png", Reference: "media-1"}
}

// GoneFile implements [drivertest.Network].
func (n *network) GoneFile() string { return "gone" }
