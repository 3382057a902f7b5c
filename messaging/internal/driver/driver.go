// Package driver is the contract between the product and the chat networks that it is
// connected to. Each network has a package below this one.
package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"integrationhub/messaging/internal/chat"
)

// Connection is a session of a network, or an account at one.
type Connection struct {
	CompanyID int64
	ID        int64
	Number    string // digits; "" = not known yet
	Settings  []byte // the driver's own, as JSON; nil = none
}

// Driver connects the product with one network. It is safe for concurrent use. Several
// processes use it, so its durable state is in the database. What happens at the network is
// passed to the driver's [Sink].
type Driver interface {
	// Name is the driver's name in the API, such as "sandbox".
	Name() string
	// Capabilities returns what the network can do.
	Capabilities() Capabilities
	// Start begins a session: the connection gets a QR code, or is connected at once.
	Start(ctx context.Context, c Connection) error
	// Stop ends a session and its pairing. Stopping a connection without one does nothing.
	Stop(ctx context.Context, c Connection) error
	// Send hands a message to the network. Where the network is Idempotent, the message's id
	// makes it safe to send again after any failure: the network accepts it once. Others
	// return [ErrUnclear] where a response was lost; after any other error they have not
	// taken the message. It returns one of this package's errors, or a temporary error.
	Send(ctx context.Context, c Connection, m Outgoing) (Sent, error)
	// MarkRead informs the network that messages of a contact were read.
	MarkRead(ctx context.Context, c Connection, contact Contact, remoteIDs []string) error
	// Check reports whether a number is registered at the network. Networks that cannot be
	// asked report true.
	Check(ctx context.Context, c Connection, number string) (registered bool, err error)
	// OpenMedia opens the content of a received message. The caller closes it.
	OpenMedia(ctx context.Context, c Connection, reference string) (io.ReadCloser, error)
}

// SendWithin is Send with a limit of its own, whatever the caller's is: a call that has begun is
// not cut off with its caller, because the network may have accepted the message. A network that
// does not answer within the limit is unreachable.
func SendWithin(ctx context.Context, limit time.Duration, network Driver, c Connection, m Outgoing) (Sent, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	sent, err := network.Send(ctx, c, m)
	if err != nil && ctx.Err() != nil && !errors.Is(err, ErrUnreachable) {
		err = fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return sent, err
}

// SessionRefresher is a driver whose network has to be asked for the state of sessions, because
// it may fail to report it.
type SessionRefresher interface {
	// Refresh asks for the state of a connection and passes it to the sink. A network that
	// does not answer is a state.
	Refresh(ctx context.Context, c Connection) error
}

// Capabilities are the differences between networks.
type Capabilities struct {
	Idempotent    bool          // a message that comes again with the same id is accepted only once
	Sessions      bool          // Stop ends the pairing, and nothing is sent until it is paired again; else an account goes on working
	NumberCheck   bool          // the network can be asked whether a number is registered
	LIDs          bool          // contacts without a number are reached by their LIDs
	QRCode        bool          // connections are paired by a QR code
	Templates     bool          // templates are accepted, also outside of the window
	MessageWindow time.Duration // how long after a contact's message texts are accepted; 0 = always
}

// Outgoing is a message to send.
type Outgoing struct {
	ID             string // the product's
	To             string // number; "" = the contact has shown none, and LID names it
	LID            string // the network's own name of the contact, with [Capabilities].LIDs; "" = To is known
	Body           string
	Media          *Media         // nil: a text
	Template       *chat.Template // nil: none; then Body is its text for people. With [Capabilities].Templates only
	QuotedRemoteID string         // "" = none
}

// Contact is how a network names a contact.
type Contact struct {
	Number string // "" = it has shown none
	LID    string // the network's own name; "" = none
}

// Media is a file of a message.
type Media struct {
	Type     chat.MediaType
	MimeType string
	Name     string
	URL      string // where the network fetches it
}

// Sent is the network's response to a message.
type Sent struct {
	RemoteID string
	At       time.Time
}

// Sink stores what happens at a network. Its methods return nil when the change is durable;
// after an error the driver passes the change again, or has the network do so.
type Sink interface {
	// ChangeConnection stores a connection's state.
	ChangeConnection(ctx context.Context, change ConnectionChange) error
	// ReceiveMessage stores a message from a contact, once for each remote id.
	ReceiveMessage(ctx context.Context, m Incoming) error
	// ReceiveReceipt stores how far sent messages have come.
	ReceiveReceipt(ctx context.Context, r Receipt) error
}

// ConnectionChange is the new state of a connection.
type ConnectionChange struct {
	ConnectionID int64
	Status       chat.ConnectionStatus
	QRCode       string    // with [chat.ConnectionQRCode]
	QRExpiresAt  time.Time // of the QR code
	Sequence     int64     // grows with a connection's changes where the network counts them: one that is older than the stored one has no effect. 0 = it does not count
	Number       string    // once it is known; "" leaves the stored one
	LastError    string    // for people; "" = none
	At           time.Time // when it happened: one before the stored change has no effect. Zero = now
}

// Incoming is a message that a connection received.
type Incoming struct {
	ConnectionID   int64
	RemoteID       string
	From           string // number; "" = the network names the sender by its LID only
	LID            string // the network's own name of the sender; "" = none
	FromMe         bool   // written on the phone of the connection: From and LID name the contact that it went to
	Name           string // that the contact gave itself; "" = unknown
	Body           string
	Kind           chat.MediaType // [chat.MediaLocation] or [chat.MediaContact], which Body describes; "" = a text, or what Media is
	Media          *IncomingMedia
	QuotedRemoteID string
	At             time.Time
}

// IncomingMedia is a file of a received message.
type IncomingMedia struct {
	Type      chat.MediaType
	MimeType  string
	Name      string
	Reference string // for [Driver.OpenMedia]
}

// Receipt says how far messages of a connection have come.
type Receipt struct {
	ConnectionID int64
	RemoteIDs    []string
	MessageID    string // the product's id of the only one, where the network repeats it; "" = it does not
	Ack          chat.Ack
	ErrorCode    string // with [chat.AckFailed]
}

// Errors of [Driver.Send].
var (
	// ErrNotConnected means that the connection has no session: nothing was sent.
	ErrNotConnected = errors.New("the connection is not connected")
	// ErrNotRegistered means that the number is not registered at the network.
	ErrNotRegistered = errors.New("the number is not registered at the network")
	// ErrUnreachable means that the network does not respond: for now nothing can be sent on
	// the connection.
	ErrUnreachable = errors.New("the network does not respond")
	// ErrNotTaken means that the network has not taken the message; it may take it later.
	ErrNotTaken = errors.New("the network did not take the message")
	// ErrRefused means that the network will never accept the message.
	ErrRefused = errors.New("the network refused the message")
	// ErrUnclear means that the network's response was lost: it may have accepted the message.
	// Networks that are Idempotent do not need it.
	ErrUnclear = errors.New("it is not known whether the network accepted the message")
)

// RefusedError is an [ErrRefused] whose reason is known.
type RefusedError struct {
	Code string // stored with the message, such as "template_paused"
	Err  error  // of the network
}

// Error implements error.
func (e *RefusedError) Error() string { return ErrRefused.Error() + ": " + e.Err.Error() }

// Unwrap returns [ErrRefused] and the network's error.
func (e *RefusedError) Unwrap() []error { return []error{ErrRefused, e.Err} }

// AccountError is an [ErrNotConnected] of an account that may not send, whoever the contact is:
// people have to act. Nothing was sent.
type AccountError struct {
	Reason string // for people
	Err    error  // of the network
}

// Error implements error.
func (e *AccountError) Error() string { return ErrNotConnected.Error() + ": " + e.Err.Error() }

// Unwrap returns [ErrNotConnected] and the network's error.
func (e *AccountError) Unwrap() []error { return []error{ErrNotConnected, e.Err} }

// NetworkTemplate is a template that a network has for an account.
type NetworkTemplate struct {
	Name       string
	Language   string
	Status     string // such as APPROVED
	Category   string // such as UTILITY
	Components []byte // as the network describes them, as JSON
}

// TemplatePage selects approved templates of an account.
type TemplatePage struct {
	Name  string // "" = every name
	After string // the earlier page's Next; "" = the first page
}

// TemplateLister is a [Driver] whose network lists the templates of an account.
type TemplateLister interface {
	// Templates returns a page of an account's approved templates, and what follows it; "" =
	// nothing. It returns an [ErrRefused] for an account that the network does not show.
	Templates(ctx context.Context, c Connection, page TemplatePage) (templates []NetworkTemplate, next string, err error)
}

// Drivers are the drivers of this process, by name.
type Drivers struct{ byName map[string]Driver }

// Add adds a driver.
func (d *Drivers) Add(driver Driver) {
	if d.byName == nil {
		d.byName = make(map[string]Driver)
	}
	d.byName[driver.Name()] = driver
}

// ByName returns a driver, or an error if this process has none of that name.
func (d *Drivers) ByName(name string) (Driver, error) {
	found, ok := d.byName[name]
	if !ok {
		return nil, fmt.Errorf("there is no driver %q here", name)
	}
	return found, nil
}

// SessionKeepers returns the names of the drivers that are a [SessionRefresher].
func (d *Drivers) SessionKeepers() []string {
	names := []string{}
	for name, driver := range d.byName {
		if _, ok := driver.(SessionRefresher); ok {
			names = append(names, name)
		}
	}
	return names
}

// Has reports whether there is a driver of that name.
func (d *Drivers) Has(name string) bool { return d.byName[name] != nil }
