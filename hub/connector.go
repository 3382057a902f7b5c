package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Connector speaks the language of one kind of peer. It translates and signs; the
// hub owns sockets, deadlines, retries, pacing, duplicates and logs.
//
// A connector has no state and is safe for concurrent use. It starts no goroutines,
// reaches the network through the [Doer] it is given and nothing else, takes the
// time from [Connection.Now], changes nothing it is handed, and gives the same
// answer to the same question. Its errors are [*Error]s without secrets in them.
// The suite hub/hubtest/connectortest holds every connector to this.
//
// Optional: [Registrar] and [Actor], found by assertion.
type Connector interface {
	// Spec says what the peer is and what it needs. Always the same.
	Spec() Spec
	// Probe asks the peer who it is and how it does. It returns what the peer said;
	// whether that will do is [Status.CheckUsable]'s to say. Errors: [ErrPeer] and
	// [ErrPeerTimeout] for a peer that did not answer properly, [ErrInvalid] with
	// [CodeKeyRejected] for one that refused the key.
	Probe(ctx context.Context, do Doer, c Connection) (Status, error)
	// Decode checks the signature of what the peer sent, over the raw bytes and in
	// constant time, and only then reads it. No events and no error: genuine, but
	// nothing that concerns us. Errors: [ErrUnauthorized] for a signature that does
	// not hold, [ErrMalformed] and [ErrInvalid] for a body that cannot be read. The
	// hub sets TenantID and Environment of the events itself, and refuses those
	// that name a product other than the connection's.
	Decode(c Connection, in Inbound) ([]Event, error)
	// Encode makes the request that takes an event to the peer. The body depends on
	// the event, Product, Local and Config only, so that every attempt carries the
	// same bytes; headers may depend on secrets and time. [ErrInvalid] where the
	// peer has no such event.
	Encode(c Connection, e Event) (Outbound, error)
}

// Registrar is a connector whose peer can be told where to send its events. Without
// it people copy address and secret to the peer by hand.
type Registrar interface {
	// Register tells the peer who we are and where we receive. Repeating it with the
	// same [Registration.ID] changes nothing. Errors as [Connector]'s Probe.
	Register(ctx context.Context, do Doer, c Connection, r Registration) (RegistrationResponse, error)
	// Unregister tells the peer that we are leaving. A peer that knows no such call
	// is fine: nil.
	Unregister(ctx context.Context, do Doer, c Connection) error
}

// Actor is a connector whose peer answers questions and does things when asked;
// [Spec.Calls] lists them.
type Actor interface {
	// Act makes one call and gives the JSON the peer answered. Errors as
	// [Connector]'s Probe, and [ErrNotFound], [ErrConflict], [ErrInvalid] as the peer
	// answered; [ErrInvalid] for a call that is not in the Spec.
	Act(ctx context.Context, do Doer, c Connection, call Call) (json.RawMessage, error)
}

// Doer sends requests. The hub's own gives each 10 s, follows no redirect, keeps to
// the egress rules and writes the log. [Exchange] reads what comes back.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Spec describes a kind of peer: the console makes its form of it, the hub its
// subscriptions and its pace.
type Spec struct {
	Name          string   // product: a lowercase letter, then 1 to 39 of a-z, 0-9 and "-"
	Title         string   // for people
	Fields        []Field  // what connecting needs, in the form's order
	Receives      []string // event types the peer sends us: *, a prefix such as message.*, or exact
	Sends         []string // event types the peer takes from us, likewise
	Calls         []string // what [Actor] does, e.g. "search/patients", "action/book"
	RatePerMinute int      // requests a minute the peer takes; 0 = as many as there are
}

// Field is one input of the form that connects a peer.
type Field struct {
	Key      string // snake_case; see [FieldURL]
	Label    string // for people
	Help     string // one sentence for people, or ""
	Required bool   //
	Secret   bool   // kept encrypted, never shown again
}

// Fields every form may have. Their values are in URL, Key and Secrets of the
// [Connection]; those of all other fields are in its Config.
const (
	FieldURL    = "api_url"        // base address of the peer's API
	FieldKey    = "api_key"        // the key the peer issued for us
	FieldSecret = "webhook_secret" // only where the peer makes it; else the hub does
)

// Connection is one peer of one tenant, as it is at one moment.
type Connection struct {
	ID           uuid.UUID         // of the integration or endpoint
	Product      string            // the peer's product
	LocalProduct string            // the product of our tenant
	Environment  Environment       //
	URL          string            // base address of the peer's API, without a slash at the end; an endpoint's own URL
	WebhookURL   string            // where the peer takes events, as it said when it was registered with; or ""
	Key          string            // the peer's key for us, or ""
	Secrets      []string          // webhook secrets that are valid now: the current one, and during a rotation the one before
	Config       map[string]string // by [Field.Key]
	Now          time.Time         // the moment of this call
}

// Secret is the webhook secret to sign with, "" where there is none.
func (c Connection) Secret() string {
	if len(c.Secrets) == 0 {
		return ""
	}
	return c.Secrets[0]
}

// String names the connection without its secrets.
func (c Connection) String() string {
	return fmt.Sprintf("connection %s of %s to %s (%s)", c.ID, c.LocalProduct, c.Product, c.Environment)
}

// GoString keeps secrets out of %#v.
func (c Connection) GoString() string { return c.String() }

// MarshalText keeps secrets out of logs and JSON.
func (c Connection) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// VerifySignature checks X-Webhook-Signature of a request against the connection's
// secrets: [ErrUnauthorized] where it is missing, there twice, or does not hold.
func (c Connection) VerifySignature(in Inbound) error {
	values := in.Header.Values(HeaderSignature)
	if len(values) != 1 || !VerifyBody(values[0], in.Body, c.Secrets...) {
		return Errorf(ErrUnauthorized, CodeInvalidSignature, "The signature does not hold: sign the raw body with the webhook secret.")
	}
	return nil
}

// SignedHeader makes the headers of a delivery: the peer's key where there is one,
// X-Webhook-Signature by the current secret, and those of Standard Webhooks, signed
// by every secret that is valid at c.Now. [ErrInvalid] without a secret.
func (c Connection) SignedHeader(id string, body []byte) (http.Header, error) {
	if c.Secret() == "" {
		return nil, Errorf(ErrInvalid, "secret_missing", "There is no webhook secret to sign with.")
	}
	standard := make([]string, 0, len(c.Secrets))
	for _, secret := range c.Secrets {
		if secret != "" {
			standard = append(standard, SignStandard(secret, id, c.Now.Unix(), body))
		}
	}
	header := make(http.Header, 6)
	header.Set("Content-Type", "application/json")
	if c.Key != "" {
		header.Set(HeaderKey, c.Key)
	}
	header.Set(HeaderSignature, SignBody(c.Secret(), body))
	header.Set(HeaderStdID, id)
	header.Set(HeaderStdTimestamp, strconv.FormatInt(c.Now.Unix(), 10))
	header.Set(HeaderStdSignature, strings.Join(standard, " "))
	return header, nil
}

// Inbound is a request of a peer as it arrived.
type Inbound struct {
	Header http.Header
	Body   []byte // at most 1 MiB; not looked at yet
}

// Outbound is a request that takes an event to a peer: a POST.
type Outbound struct {
	URL    string
	Header http.Header // Content-Type included
	Body   []byte
}

// UnsupportedEvent is what Encode returns for an event that the peer does not take.
func UnsupportedEvent() error {
	return Errorf(ErrInvalid, "event_not_sent", "The other product takes no events of this type.")
}

// Status is what a peer says about itself.
type Status struct {
	Product     string      // as the peer names itself; connectors of peers that do not say fill in their own
	Version     string      // major.minor.patch, or ""
	TenantID    string      // our counterpart's account there, as the peer writes it, or ""
	TenantName  string      // for people, or ""
	Environment Environment // "" = not said
	Features    []string    // what the peer offers
	Active      bool        // ready to work with us
	URL         string      // base address that answered, where it is not the Connection's own; else ""
}

// CheckUsable tells whether a peer may be connected as product: [ErrInvalid] with
// [CodeUnexpectedProduct] or [CodePeerNotActive] where it may not.
func (s Status) CheckUsable(product string) error {
	switch {
	case s.Product != product:
		return Errorf(ErrInvalid, CodeUnexpectedProduct, "The address belongs to another product than %s.", product)
	case !s.Active:
		return Errorf(ErrInvalid, CodePeerNotActive, "%s answers, but says that it is not active.", product)
	}
	return nil
}

// Codes of errors that peers cause.
const (
	CodeKeyRejected           = "remote_key_rejected"     // 422: the peer refused our key (its 401 or 403)
	CodeUnexpectedProduct     = "unexpected_product"      // 422: another product answers there
	CodePeerNotActive         = "peer_not_active"         // 422
	CodeOtherAccountConnected = "other_account_connected" // 409: connected to another account of that product
	CodePeerUnreachable       = "peer_unreachable"        // 502: no connection, or it broke
	CodePeerTimeout           = "peer_timeout"            // 504
	CodePeerResponse          = "peer_answer"             // 502: not JSON, too long, or not what was asked for
	CodePeerFailed            = "peer_failed"             // 502: an error status, a redirect included
	CodePeerRateLimited       = "peer_limited"            // 502: its 429; RetryAfter as it said
	CodeInvalidSignature      = "invalid_signature"       // 401
)

// Registration is what a product tells its peer when they connect (interface
// document 3, POST …/webhook/register). One secret serves both directions.
type Registration struct {
	ID          uuid.UUID   `json:"registration_id"`    // the same for every try
	Product     string      `json:"product"`            // who registers
	Environment Environment `json:"environment"`        //
	WebhookURL  string      `json:"webhook_url"`        // where it takes events
	Secret      string      `json:"webhook_secret"`     //
	Key         string      `json:"api_key"`            // what the peer shall use to call it
	Events      []string    `json:"events,omitempty"`   // types it wants; none: all
	Features    []string    `json:"features,omitempty"` // what it offers
}

// String names the registration without its secrets.
func (r Registration) String() string {
	return fmt.Sprintf("registration %s of %s (%s)", r.ID, r.Product, r.Environment)
}

// GoString keeps secrets out of %#v.
func (r Registration) GoString() string { return r.String() }

// LogValue keeps secrets out of logs; as JSON they have to be there.
func (r Registration) LogValue() slog.Value { return slog.StringValue(r.String()) }

// RegistrationResponse is the peer's answer. One that knows nothing but a webhook_url may
// leave all of it out.
type RegistrationResponse struct {
	IntegrationID string   `json:"integration_id"` // the peer's id of us
	WebhookURL    string   `json:"webhook_url"`    // where it takes events
	Features      []string `json:"features"`       // what it offers
	Status        string   `json:"status"`         // active, inactive or error
}

// Call is a search or an action at a peer.
type Call struct {
	Name  string          // "search/patients" or "action/book": one of [Spec.Calls]
	Query url.Values      // of a search
	Body  json.RawMessage // of an action: a JSON object
}

// MatchesEventType tells whether an event type matches any of the patterns: "*", an exact
// type, or a prefix such as "appointment.*".
func MatchesEventType(patterns []string, eventType string) bool {
	for _, pattern := range patterns {
		if pattern == eventType {
			return true
		}
		if prefix, found := strings.CutSuffix(pattern, "*"); found && strings.HasPrefix(eventType, prefix) {
			return true
		}
	}
	return false
}
