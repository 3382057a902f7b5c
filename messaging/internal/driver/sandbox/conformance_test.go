package sandbox_test

import (
	"encoding/base64"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/driver/drivertest"
	"integrationhub/messaging/internal/driver/sandbox"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// connections numbers the connections of the tests.
var connections atomic.Int64

// network is the simulated network with one connection.
type network struct {
	*sandbox.Network
	connection driver.Connection
	number     string // the connection's
	sink       *drivertest.Recorder
	pool       *pgxpool.Pool
}

func TestConformance(t *testing.T) {
	t.Parallel()
	hub := moduletest.Start(t, messaging.New(), moduletest.Options{})
	drivertest.Run(t, func(t *testing.T, sink driver.Sink) drivertest.Network {
		id := connections.Add(1)
		recorder := sink.(*drivertest.Recorder)
		n := &network{Network: sandbox.New(hub.Host, sink), connection: driver.Connection{ID: id}, number: fmt.Sprintf("55119100%05d", id), sink: recorder, pool: hub.Host.Pool}
		_, err := n.AddPhone(t.Context(), n.number, "Company phone")
		require.NoError(t, err)
		return n
	})
}

// Driver implements [drivertest.Network].
func (n *network) Driver() driver.Driver { return n.Network }

// Connection implements [drivertest.Network].
func (n *network) Connection() driver.Connection { return n.connection }

// Contact implements [drivertest.Network]. Each connection has its own.
func (n *network) Contact() string { return fmt.Sprintf("55119200%05d", n.connection.ID) }

// Pair implements [drivertest.Network].
func (n *network) Pair(t *testing.T) {
	_, err := n.Scan(t.Context(), n.number, n.sink.State().QRCode)
	require.NoError(t, err)
}

// Lose implements [drivertest.Network].
func (n *network) EndSession(t *testing.T) {
	_, err := n.Act(t.Context(), n.connection.ID, sandbox.ActionOffline)
	require.NoError(t, err)
}

// Taken implements [drivertest.Network].
func (n *network) Accepted(t *testing.T) (accepted []drivertest.Accepted) {
	messages, err := n.Conversation(t.Context(), n.number, 0)
	require.NoError(t, err)
	for _, m := range messages {
		if m.From != n.number {
			continue
		}
		sent := drivertest.Accepted{RemoteID: m.ID, To: m.To, Body: m.Body}
		if m.QuotedID != nil {
			sent.QuotedRemoteID = *m.QuotedID
		}
		if m.MediaURL != nil {
			sent.MediaURL = *m.MediaURL
		}
		accepted = append(accepted, sent)
	}
	return accepted
}

// Deliver implements [drivertest.Network].
func (n *network) Deliver(t *testing.T, m drivertest.Message) error {
	_, err := n.AddPhone(t.Context(), n.Contact(), "Ana")
	require.NoError(t, err)
	message := sandbox.Message{To: n.number, Body: m.Body}
	if m.Quoted != "" {
		message.QuotedID = &m.Quoted
	}
	if m.Media != nil {
		message.MediaURL = &m.Media.Reference
	}
	_, err = n.SendFromPhone(t.Context(), n.Contact(), message)
	return err
}

// Redeliver implements [drivertest.Network]: messages that wait are delivered when the
// connection comes back.
func (n *network) Redeliver(t *testing.T) error {
	_, err := n.Act(t.Context(), n.connection.ID, sandbox.ActionOnline)
	return err
}

// Acknowledge implements [drivertest.Network].
func (n *network) Acknowledge(t *testing.T, remoteID string, ack chat.Ack) error {
	_, err := n.AddPhone(t.Context(), n.Contact(), "Ana")
	require.NoError(t, err)
	if ack == chat.AckRead {
		return n.MarkInboxRead(t.Context(), n.Contact(), []string{remoteID})
	}
	_, err = n.Inbox(t.Context(), n.Contact(), 0)
	return err
}

// AcknowledgeEarly implements [drivertest.Network]: a phone acknowledges at once.
func (n *network) AcknowledgeEarly(t *testing.T) {
	_, err := n.AddPhone(t.Context(), n.Contact(), "Ana")
	require.NoError(t, err)
}

// RegisterForm implements [drivertest.FormRegistrar]. The other cases' numbers have one form. Setting
// faults by the network would deliver the other cases' messages to this one's sink.
func (n *network) RegisterForm(t *testing.T, number string) {
	_, err := n.pool.Exec(t.Context(), `insert into sandbox_faults (exact_numbers) values (true) on conflict (id) do update set exact_numbers = true`)
	require.NoError(t, err)
	_, err = n.AddPhone(t.Context(), number, "Bruno")
	require.NoError(t, err)
}

// LID implements [drivertest.LIDNamer].
func (n *network) LID(t *testing.T) string {
	_, err := n.AddPhone(t.Context(), n.Contact(), "Ana")
	require.NoError(t, err)
	return sandbox.LIDOf(n.Contact())
}

// AddFile implements [drivertest.Network].
func (n *network) AddFile(_ *testing.T, content string) driver.IncomingMedia {
	return driver.IncomingMedia{Type: chat.MediaImage, MimeType: "image/png", Reference: "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(content))}
}

// GoneFile implements [drivertest.Network].
func (n *network) GoneFile() string { return "data:image/png,broken" }
