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

// Connector translates and signs for one kind of peer. The hub owns sockets,
// deadlines, retries, pacing, deduplication and logs.
//
// A connector is stateless and safe for concurrent use. It starts no goroutines and
// reaches the network only through the [Doer] argument. It takes the time from
// [Connection.Now], does not modify its arguments, and is deterministic. Its errors
// are [*Error]s that contain no secrets. The suite hub/hubtest/connectortest checks
// these rules for every connector.
//
// Optional interfaces, found by type assertion: [Registrar] and [PeerCaller].
type Connector interface {
	// Spec describes the peer and its settings. It always returns the same value.
	Spec() Spec
	// Probe requests the peer's identity and health. It returns what the peer
	// reported; [Status.CheckUsable] decides whether that is sufficient. Errors:
	// [ErrPeer] and [ErrPeerTimeout] for a peer that did not respond properly,
	// [ErrInvalid] with [CodeKeyRejected] for a peer that rejected the key.
	Probe(ctx context.Context, do Doer, c Connection) (Status, error)
	// Decode verifies the signature of a webhook over the raw bytes, in constant
	// time, before it parses the body. It returns no events and no error for an
	// authentic webhook that has no meaning for the hub. Errors: [ErrUnauthorized]
	// for an invalid signature, [ErrMalformed] and [ErrInvalid] for an unreadable
	// body. The hub sets TenantID and Environment of the events, and rejects events
	// that name another product than the connection's.
	Decode(c Connection, in Inbound) ([]Event, error)
	// Encode returns the request that delivers an event to the peer. The body depends
	// only on the event, Product, LocalProduct and Config, so that every attempt sends
	// the same bytes. Headers may depend on secrets and time. It returns [ErrInvalid]
	// for an event type that the peer does not support.
	Encode(c Connection, e Event) (Outbound, error)
}

// Registrar is a connector that can register the hub's webhook at the peer. Without
// it, an operator copies the webhook's URL and secret to the peer.
type Registrar interface {
	// Register sends the peer our identity and webhook URL. It is idempotent for the
	// same [Registration.ID]. It returns the errors of Probe in [Connector].
	Register(ctx context.Context, do Doer, c Connection, r Registration) (RegistrationResponse, error)
	// Unregister removes the registration. It returns nil for a peer that does not
	// support the call.
	Unregister(ctx context.Context, do Doer, c Connection) error
}

// PeerCaller is a connector whose peer supports searches and actions, which [Spec.Calls]
// lists.
type PeerCaller interface {
	// Call makes one call and returns the peer's JSON response. It returns the errors
	// of Probe in [Connector], and [ErrNotFound], [ErrConflict] or [ErrInvalid]
	// according to the peer's status. A call that is not in Spec is [ErrInvalid].
	Call(ctx context.Context, do Doer, c Connection, call Call) (json.RawMessage, error)
}

// Doer sends requests. The hub's implementation limits each request to 10 s, follows
// no redirects, applies the egress rules and logs. [Exchange] reads the response.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Spec describes a kind of peer. The console builds its form from it, and the hub its
// subscriptions and request rate.
type Spec struct {
	Name          string   // product: a lowercase letter, then 1 to 39 of a-z, 0-9 and "-"
	Title         string   // for people
	Fields        []Field  // the settings of a connection, in the form's order
	Receives      []string // patterns of event types the peer sends to the hub: *, a prefix such as message.*, or exact
	Sends         []string // patterns of event types the hub sends to the peer
	Calls         []string // calls of a [PeerCaller], e.g. "search/patients", "action/book"
	RatePerMinute int      // requests a minute the peer accepts; 0 = unlimited
}

// Field is one input of the form that connects a peer.
type Field struct {
	Key      string // snake_case; see [FieldURL]
	Label    string // for people
	Help     string // one sentence for people, or ""
	Required bool   //
	Secret   bool   // stored encrypted, never shown again
}

// Fields that every form may have. Their values are in URL, Key and Secrets of the
// [Connection]; the values of all other fields are in its Config.
const (
	FieldURL    = "api_url"        // base address of the peer's API
	FieldKey    = "api_key"        // the key the peer issued for us
	FieldSecret = "webhook_secret" // only if the peer generates it; otherwise the hub does
)

// Connection is a snapshot of a tenant's connection to one peer.
type Connection struct {
	ID           uuid.UUID         // of the integration or endpoint
	Product      string            // the peer's product
	LocalProduct string            // the product of the tenant
	Environment  Environment       //
	URL          string            // base address of the peer's API, without a trailing slash; for an endpoint, its URL
	WebhookURL   string            // where the peer receives events, from its response to the registration; or ""
	Key          string            // the API key that the peer issued, or ""
	Secrets      []string          // valid webhook secrets: the current one, and the previous one during a rotation
	Config       map[string]string // by [Field.Key]
	Now          time.Time         // the time of this call
}

// Secret returns the webhook secret to sign with, or "".
func (c Connection) Secret() string {
	if len(c.Secrets) == 0 {
		return ""
	}
	return c.Secrets[0]
}

// String identifies the connection without its secrets.
func (c Connection) String() string {
	return fmt.Sprintf("connection %s of %s to %s (%s)", c.ID, c.LocalProduct, c.Product, c.Environment)
}

// GoString keeps secrets out of %#v.
func (c Connection) GoString() string { return c.String() }

// MarshalText keeps secrets out of logs and JSON.
func (c Connection) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// VerifySignature checks X-Webhook-Signature of a request against the connection's
// secrets. It returns [ErrUnauthorized] if the header is missing, repeated or invalid.
func (c Connection) VerifySignature(in Inbound) error {
	values := in.Header.Values(HeaderSignature)
	if len(values) != 1 || !VerifyBody(values[0], in.Body, c.Secrets...) {
		return Errorf(ErrUnauthorized, CodeInvalidSignature, "The signature is not valid: sign the raw body with the webhook secret.")
	}
	return nil
}

// SignedHeader returns the headers of a delivery: the peer's key if there is one,
// X-Webhook-Signature by the current secret, and those of Standard Webhooks, signed
// by every secret in c.Secrets. It returns [ErrInvalid] if there is no secret.
func (c Connection) SignedHeader(id string, body []byte) (http.Header, error) {
	if c.Secret() == "" {
		return nil, Errorf(ErrInvalid, "secret_missing", "There is no webhook secret to sign with.")
	}
	signatures := make([]string, 0, len(c.Secrets))
	for _, secret := range c.Secrets {
		if secret != "" {
			signatures = append(signatures, SignStandard(secret, id, c.Now.Unix(), body))
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
	header.Set(HeaderStdSignature, strings.Join(signatures, " "))
	return header, nil
}

// Inbound is an unverified request of a peer.
type Inbound struct {
	Header http.Header
	Body   []byte // at most 1 MiB
}

// Outbound is the POST request that delivers an event to a peer.
type Outbound struct {
	URL    string
	Header http.Header // Content-Type included
	Body   []byte
}

// UnsupportedEvent returns the error of Encode for an event type that the peer does
// not accept.
func UnsupportedEvent() error {
	return Errorf(ErrInvalid, "event_not_sent", "The other product takes no events of this type.")
}

// Status is what a peer reports about itself.
type Status struct {
	Product     string      // as the peer reports it; the connector's own name if the peer reports none
	Version     string      // major.minor.patch, or ""
	TenantID    string      // the counterpart account at the peer, in the peer's form, or ""
	TenantName  string      // for people, or ""
	Environment Environment // "" = not reported
	Features    []string    // features of the peer
	Active      bool        // the peer is operational
	URL         string      // base address that responded if it differs from the Connection's; else ""
}

// CheckUsable returns nil if the peer may be connected as product. Otherwise it
// returns [ErrInvalid] with [CodeUnexpectedProduct] or [CodePeerNotActive].
func (s Status) CheckUsable(product string) error {
	switch {
	case s.Product != product:
		return unexpectedProduct(s.Product, product)
	case !s.Active:
		return Errorf(ErrInvalid, CodePeerNotActive, "%s responds, but reports that it is not active.", product)
	}
	return nil
}

// AnsweredMember is the member of an error response with [CodeUnexpectedProduct] that names
// the product that responded. It is absent where the peer reported no name of a product.
const AnsweredMember = "answered"

// unexpectedProduct is the error of an address where another product responds. What the peer
// reports is repeated only if it can be the name of a product.
func unexpectedProduct(answered, expected string) *Error {
	const maxName = 40
	if answered == "" || len(answered) > maxName || strings.Trim(answered, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return Errorf(ErrInvalid, CodeUnexpectedProduct, "Something else than %s responds at this address.", expected)
	}
	err := Errorf(ErrInvalid, CodeUnexpectedProduct, "The product %s responds at this address, not %s.", answered, expected)
	err.Extensions = Extensions{AnsweredMember: answered}
	return err
}

// Codes of errors that peers cause, with the hub's HTTP status.
const (
	CodeKeyRejected           = "remote_key_rejected"     // 422: the peer rejected our key (its 401 or 403)
	CodeUnexpectedProduct     = "unexpected_product"      // 422: another product responds there
	CodePeerNotActive         = "peer_not_active"         // 422
	CodeOtherAccountConnected = "other_account_connected" // 409: connected to another account of that product
	CodePeerUnreachable       = "peer_unreachable"        // 502: no connection, or it broke
	CodePeerTimeout           = "peer_timeout"            // 504
	CodePeerResponse          = "peer_answer"             // 502: not JSON, too long, or without the expected fields
	CodePeerFailed            = "peer_failed"             // 502: an error status, a redirect included
	CodePeerRateLimited       = "peer_limited"            // 502: its 429; RetryAfter is the peer's
	CodeInvalidSignature      = "invalid_signature"       // 401
)

// Registration is what a product sends its peer when they connect, with POST
// …/webhook/register. One secret signs both directions. See "Connect and status" in
// docs/interfaces/clinic.md.
type Registration struct {
	ID          uuid.UUID   `json:"registration_id"`    // the same for every attempt
	Product     string      `json:"product"`            // the registering product
	Environment Environment `json:"environment"`        //
	WebhookURL  string      `json:"webhook_url"`        // where it receives events
	Secret      string      `json:"webhook_secret"`     //
	Key         string      `json:"api_key,omitempty"`  // for the peer's calls to it
	Events      []string    `json:"events,omitempty"`   // event types it subscribes to; empty = all
	Features    []string    `json:"features,omitempty"` // its features
}

// String identifies the registration without its secrets.
func (r Registration) String() string {
	return fmt.Sprintf("registration %s of %s (%s)", r.ID, r.Product, r.Environment)
}

// GoString keeps secrets out of %#v.
func (r Registration) GoString() string { return r.String() }

// LogValue keeps secrets out of logs. Its JSON has to contain them.
func (r Registration) LogValue() slog.Value { return slog.StringValue(r.String()) }

// RegistrationResponse is the peer's response to a [Registration]. Every field is
// optional.
type RegistrationResponse struct {
	IntegrationID string   `json:"integration_id"` // the peer's id of the integration
	WebhookURL    string   `json:"webhook_url"`    // where it receives events
	Features      []string `json:"features"`       // its features
	Status        string   `json:"status"`         // active, inactive or error
}

// Call is a search or an action at a peer.
type Call struct {
	Name  string          // "search/patients" or "action/book": one of [Spec.Calls]
	Query url.Values      // of a search
	Body  json.RawMessage // of an action: a JSON object
}

// MatchesEventType reports whether an event type matches any of the patterns: "*", an
// exact type, or a prefix such as "appointment.*". "*" stands for the events of products: the
// hub's own are matched by their type and by prefixes that begin with [ReservedTypes].
func MatchesEventType(patterns []string, eventType string) bool {
	for _, pattern := range patterns {
		if pattern == eventType {
			return true
		}
		prefix, found := strings.CutSuffix(pattern, "*")
		if prefix == "" && strings.HasPrefix(eventType, ReservedTypes) {
			continue
		}
		if found && strings.HasPrefix(eventType, prefix) {
			return true
		}
	}
	return false
}
