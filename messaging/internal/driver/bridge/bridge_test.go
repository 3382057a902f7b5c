package bridge_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/driver/bridge"
	"integrationhub/messaging/internal/driver/drivertest"
)

// network is a bridge with the driver that it reports to.
type network struct {
	*drivertest.Bridge
	driver     *bridge.Driver
	connection driver.Connection

	mu        sync.Mutex
	delivered []object
}

type object = map[string]any

func newNetwork(t *testing.T, sink driver.Sink) drivertest.Network {
	n := &network{Bridge: drivertest.NewBridge(t)}
	webhooks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = n.driver.Receive(r.Context(), n.connection, body, r.Header.Get(hub.HeaderSignature))
		}
		var hubErr *hub.Error
		switch {
		case errors.Is(err, hub.ErrUnauthorized):
			w.WriteHeader(http.StatusUnauthorized)
		case errors.As(err, &hubErr):
			w.WriteHeader(http.StatusBadRequest)
		case err != nil:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(webhooks.Close)
	n.connection = driver.Connection{ID: 7, Settings: []byte(`{"url":"` + n.URL + `","secret":"` + drivertest.BridgeSecret + `"}`)}
	client := &http.Client{Timeout: 10 * time.Second}
	n.driver = bridge.New(module.Host{HTTP: client, Downloads: client, Now: time.Now, Log: slog.New(slog.DiscardHandler), URLs: module.URLs{Base: webhooks.URL}}, sink)
	return n
}

// Driver implements [drivertest.Network].
func (n *network) Driver() driver.Driver { return n.driver }

// Connection implements [drivertest.Network].
func (n *network) Connection() driver.Connection { return n.connection }

// Contact implements [drivertest.Network].
func (n *network) Contact() string { return "5511987654321" }

// Pair implements [drivertest.Network].
func (n *network) Pair(t *testing.T) {
	state := n.ChangeState(7, object{"status": "CONNECTED", "number": "5511900000001"})
	require.NoError(t, n.report(t, "state", state))
}

// Lose implements [drivertest.Network].
func (n *network) EndSession(t *testing.T) {
	require.NoError(t, n.report(t, "state", n.ChangeState(7, object{"status": "DISCONNECTED", "error": "The phone logged out."})))
}

// Taken implements [drivertest.Network].
func (n *network) Accepted(*testing.T) []drivertest.Accepted { return n.Bridge.Accepted() }

// report sends an event; an answer that is not 200 is an error.
func (n *network) report(t *testing.T, name string, data object) error {
	t.Helper()
	if status := n.Report(t, 7, name, data); status != http.StatusOK {
		return errors.New(http.StatusText(status))
	}
	return nil
}

// Deliver implements [drivertest.Network].
func (n *network) Deliver(t *testing.T, m drivertest.Message) error {
	data := object{"remoteId": m.RemoteID, "from": n.Contact(), "name": "Ana", "body": m.Body, "quotedId": m.Quoted, "at": time.Now()}
	if m.Media != nil {
		data["media"] = object{"type": m.Media.Type, "mimeType": m.Media.MimeType, "name": m.Media.Name, "reference": m.Media.Reference}
	}
	n.mu.Lock()
	n.delivered = append(n.delivered, data)
	n.mu.Unlock()
	return n.report(t, "message", data)
}

// Redeliver implements [drivertest.Network].
func (n *network) Redeliver(t *testing.T) (err error) {
	for _, data := range n.delivered {
		err = errors.Join(err, n.report(t, "message", data))
	}
	return err
}

// Acknowledge implements [drivertest.Network].
func (n *network) Acknowledge(t *testing.T, remoteID string, ack chat.Ack) error {
	return n.report(t, "receipt", object{"remoteIds": []string{remoteID}, "ack": ack})
}

// AcknowledgeEarly implements [drivertest.Network].
func (n *network) AcknowledgeEarly(t *testing.T) {
	n.SetHooks(drivertest.Hooks{BeforeAnswer: func(remoteID string) { _ = n.Acknowledge(t, remoteID, chat.AckDevice) }})
}

// LoseNextResponse implements [drivertest.ResponseLoser].
func (n *network) LoseNextResponse() {
	lose := true
	n.SetHooks(drivertest.Hooks{LoseResponse: func() bool {
		was := lose
		lose = false
		return was
	}})
}

// ChangeSilently implements [drivertest.SilentChanger].
func (n *network) ChangeSilently(_ *testing.T, status chat.ConnectionStatus) {
	n.ChangeState(7, object{"status": status})
}

// RegisterForm implements [drivertest.FormRegistrar].
func (n *network) RegisterForm(_ *testing.T, number string) {
	for _, form := range chat.NumberVariants(number) {
		n.SetRegistered(form, form == number)
	}
}

// LID implements [drivertest.LIDNamer].
func (n *network) LID(*testing.T) string { return "170000000000001@lid" }

// AddFile implements [drivertest.Network].
func (n *network) AddFile(_ *testing.T, content string) driver.IncomingMedia {
	return driver.IncomingMedia{Type: chat.MediaImage, MimeType: "image/png", Name: "map.png", Reference: n.Bridge.AddFile(content)}
}

// GoneFile implements [drivertest.Network].
func (n *network) GoneFile() string { return "gone" }

func TestConformance(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, newNetwork)
}
