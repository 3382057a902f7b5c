// Package sandbox is a simulated chat network: phones that live in the database, pair with
// connections by scanning their QR codes, and exchange messages with them. It is for
// development and tests. Its tables stand for the outside world: the rest of the product
// does not read them.
package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
)

// Name is the driver's name.
const Name = "sandbox"

const (
	qrLifetime    = time.Minute
	qrScheme      = "sandbox:pair"
	maxBody       = 4096   // characters of a text
	refusedEnding = "0000" // of numbers that are not registered
)

// Network is the simulated network. It implements [driver.Driver].
type Network struct {
	host module.Host
	sink driver.Sink
}

var (
	_ driver.Driver         = (*Network)(nil)
	_ driver.TemplateLister = (*Network)(nil)
)

// New returns the network of an opened product.
func New(host module.Host, sink driver.Sink) *Network { return &Network{host, sink} }

// Name implements [driver.Driver].
func (n *Network) Name() string { return Name }

// Capabilities implements [driver.Driver]. Every template is accepted: the phone shows its text
// for people.
func (n *Network) Capabilities() driver.Capabilities {
	return driver.Capabilities{Idempotent: true, Sessions: true, NumberCheck: true, QRCode: true, Templates: true, LIDs: true}
}

// Templates implements [driver.TemplateLister]. The network has none: it takes any.
func (n *Network) Templates(context.Context, driver.Connection, driver.TemplatePage) (templates []driver.NetworkTemplate, next string, err error) {
	return nil, "", nil
}

// Start implements [driver.Driver]: the connection gets a new QR code, unless it is paired.
func (n *Network) Start(ctx context.Context, c driver.Connection) error {
	number, state, err := n.session(ctx, c.ID)
	if err == nil {
		return n.sink.ChangeConnection(ctx, driver.ConnectionChange{ConnectionID: c.ID, Status: statusOf(state), Number: number, LastError: reasons[state]})
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	nonce := rand.Text()
	expires := n.host.Now().Add(qrLifetime).UTC()
	_, err = n.host.Pool.Exec(ctx, `insert into sandbox_pairings (nonce, connection_id, expires_at) values ($1, $2, $3)`, nonce, c.ID, expires)
	if err != nil {
		return fmt.Errorf("making a pairing code: %w", err)
	}
	code := url.Values{"c": {strconv.FormatInt(c.ID, 10)}, "n": {nonce}, "u": {n.host.URLs.Base}}
	return n.sink.ChangeConnection(ctx, driver.ConnectionChange{
		ConnectionID: c.ID, Status: chat.ConnectionQRCode, QRCode: qrScheme + "?" + code.Encode(), QRExpiresAt: expires,
	})
}

// reasons are what people read of sessions that do not work.
var reasons = map[string]string{stateOffline: "The phone is not connected to the internet.", stateBanned: "The network banned the number."}

// statusOf returns the connection's state for a session's.
func statusOf(state string) chat.ConnectionStatus {
	switch state {
	case stateOffline:
		return chat.ConnectionTimeout
	case stateBanned:
		return chat.ConnectionBanned
	}
	return chat.ConnectionConnected
}

// Stop implements [driver.Driver].
func (n *Network) Stop(ctx context.Context, c driver.Connection) error {
	_, err := n.host.Pool.Exec(ctx, `with codes as (delete from sandbox_pairings where connection_id = $1) delete from sandbox_sessions where connection_id = $1`, c.ID)
	if err != nil {
		return fmt.Errorf("ending a session: %w", err)
	}
	return nil
}

// Send implements [driver.Driver]. A message with the same id is accepted only once.
func (n *Network) Send(ctx context.Context, c driver.Connection, m driver.Outgoing) (driver.Sent, error) {
	sender, faults, err := n.senderFaults(ctx, c.ID)
	if err != nil {
		return driver.Sent{}, err
	}
	if m.To == "" {
		if m.To, err = n.numberOfLID(ctx, m.LID); err != nil {
			return driver.Sent{}, err
		}
	}
	if isRegistered, err := n.isRegistered(ctx, faults, m.To); err != nil || !isRegistered {
		return driver.Sent{}, cmp.Or(err, driver.ErrNotRegistered)
	}
	if len([]rune(m.Body)) > maxBody {
		return driver.Sent{}, fmt.Errorf("%w: the text is too long", driver.ErrRefused)
	}
	if err := faults.delay(ctx); err != nil {
		return driver.Sent{}, err
	}
	sent := driver.Sent{RemoteID: "sbx-" + m.ID, At: n.host.Now().UTC().Truncate(time.Microsecond)}
	message := Message{ID: sent.RemoteID, From: sender, To: m.To, Body: m.Body, At: sent.At}
	if m.Media != nil {
		message.MediaURL = &m.Media.URL
	}
	if m.QuotedRemoteID != "" {
		message.QuotedID = &m.QuotedRemoteID
	}
	message.isLost = happens(faults.DropPercent)
	if err := n.insertMessage(ctx, message); err != nil || message.isLost {
		return sent, err
	}
	return sent, n.arrive(ctx, message)
}

// arrive acknowledges a message that a phone has received, before the network has answered
// the sender: receipts of real networks are as quick.
func (n *Network) arrive(ctx context.Context, m Message) error {
	isPhone := false
	err := n.host.Pool.QueryRow(ctx, `select exists (select from sandbox_phones where number = any($1))`, chat.NumberVariants(m.To)).Scan(&isPhone)
	if err != nil || !isPhone {
		return err
	}
	m.Ack = chat.AckServer
	return n.acknowledge(ctx, []Message{m}, chat.AckDevice)
}

// MarkRead implements [driver.Driver].
func (n *Network) MarkRead(ctx context.Context, _ driver.Connection, _ driver.Contact, remoteIDs []string) error {
	return n.setAck(ctx, remoteIDs, chat.AckRead)
}

// Check implements [driver.Driver]: every number is registered that does not end in 0000, or has
// another form than its phone's with [Faults].ExactNumbers.
func (n *Network) Check(ctx context.Context, _ driver.Connection, number string) (registered bool, err error) {
	faults, err := n.Faults(ctx)
	if err != nil {
		return false, err
	}
	return n.isRegistered(ctx, faults, number)
}

func (n *Network) isRegistered(ctx context.Context, faults Faults, number string) (bool, error) {
	if strings.HasSuffix(number, refusedEnding) {
		return false, nil
	}
	if !faults.ExactNumbers {
		return true, nil
	}
	var isExact, isAnother bool
	err := n.host.Pool.QueryRow(ctx, `select exists (select from sandbox_phones where number = $1), exists (select from sandbox_phones where number = any($2))`, number, chat.NumberVariants(number)).Scan(&isExact, &isAnother)
	return isExact || !isAnother, err
}

// numberOfLID returns the number of a phone by its LID, or [driver.ErrNotRegistered].
func (n *Network) numberOfLID(ctx context.Context, lid string) (number string, err error) {
	err = n.host.Pool.QueryRow(ctx, `select number from sandbox_phones where encode(substr(sha256(convert_to(number, 'UTF8')), 1, 8), 'hex') || '@lid' = $1`, lid).Scan(&number)
	if errors.Is(err, pgx.ErrNoRows) {
		err = driver.ErrNotRegistered
	}
	return number, err
}
