package module

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
)

// Host is the set of services that the hub provides to a module. All are safe for
// concurrent use.
type Host struct {
	Pool        *pgxpool.Pool    // the hub's database, with the product's schema first in search_path
	Events      Publisher        //
	Webhooks    Webhooks         //
	Deliveries  Deliveries       //
	Erasures    Erasures         //
	Tenants     Tenants          //
	Peers       Peers            //
	Jobs        Jobs             //
	Sealer      Sealer           //
	Credentials Credentials      //
	RateLimiter RateLimiter      //
	Audit       Auditor          //
	Mail        Mailer           //
	Files       Files            //
	Blobs       Blobs            //
	HTTP        hub.Doer         // for outgoing requests: 10 s each, no redirects, egress rules applied
	Downloads   hub.Doer         // for files: 15 s for the headers, then a time by the length (128 KiB/s, at most 10 minutes); no redirects, egress rules applied: an address in a private network is a [hub.ErrInvalid] (url_not_allowed); the caller bounds what it reads
	URLs        URLs             //
	Settings    Settings         //
	Log         *slog.Logger     // with the product's name
	Now         func() time.Time // the hub's clock
	TestClock   bool             // Now is a test's clock: what else goes by the database's clock goes by Now
	Stopping    <-chan struct{}  // closed when the hub stops: streamed responses end then
}

// Publisher publishes events.
type Publisher interface {
	// Publish stores an event and its deliveries in the caller's transaction. They are
	// sent after the commit. The caller sets TenantID, Environment, Type and Data. An
	// empty ID is generated, a zero Time is now, and Product is always the module's. It
	// returns the event's id. An [events.TypePatientDeleted] starts an erasure of the
	// person's data in the log, and always has [hub.PriorityHigh]. What many rows of one
	// job publish, such as an import's, has [hub.PriorityBulk].
	Publish(ctx context.Context, tx pgx.Tx, e hub.Event) (id string, err error)
	// PublishTo publishes several events to an audience with few statements, and returns
	// their ids in the same order.
	PublishTo(ctx context.Context, tx pgx.Tx, audience Audience, events []hub.Event) (ids []string, err error)
	// Subscribers returns who would receive an event in an audience: the ids of endpoints and
	// integrations. Only its TenantID, Environment and Type are read.
	Subscribers(ctx context.Context, tx pgx.Tx, audience Audience, e hub.Event) (ids []uuid.UUID, err error)
}

// Audience narrows the receivers of an event among its subscribers. The zero value is all of
// them.
type Audience struct {
	Receivers Receivers
	// Topic is the event type that endpoints subscribed to, where it is not the event's own.
	// "" = the event's type.
	Topic string
	// Integrations narrows the connected products to these integrations. nil = all; an empty
	// list is none of them. To publish to nobody, use [NoReceivers].
	Integrations []uuid.UUID
}

// Receivers are kinds of subscribers.
type Receivers int

// Kinds of subscribers.
const (
	AllReceivers     Receivers = iota
	EndpointsOnly              // a tenant's plain webhooks
	IntegrationsOnly           // connected products
	NoReceivers                // nobody: the event is stored, and starts what its type starts
)

// Deliveries reports the delivery status of events that the module published.
type Deliveries interface {
	// ForEvents returns the deliveries of each event to integrations, in the order of the
	// events. An event has one delivery for each integration that was connected and
	// subscribed when it was published. A paused integration receives them once it is
	// enabled; after 15 days only an [events.TypePatientDeleted] is kept for it. Only ID,
	// TenantID and Environment of the events are read. It makes one query for all events.
	ForEvents(ctx context.Context, events []hub.Event) ([][]Delivery, error)
}

// Delivery is the state of one event's delivery to an integration.
type Delivery struct {
	IntegrationID uuid.UUID
	Status        string     // pending, delivered, parked or failed
	Connected     bool       // the integration is neither paused nor revoked, so that parked deliveries will be sent
	DeliveredAt   *time.Time // when the receiver accepted the event; nil: not yet
}

// Erasures controls the erasure that a published or received
// [events.TypePatientDeleted] starts in the log.
type Erasures interface {
	// AddTraces adds identifiers of the person's data in the log, in the transaction that
	// publishes or handles the event. The hub stores them encrypted until the payloads
	// are erased, and sends none of them.
	AddTraces(ctx context.Context, tx pgx.Tx, event hub.Event, traces LogTraces) error
	// Release ends the wait for receivers that have not accepted the event, and erases
	// the event itself. Its failed deliveries can no longer be retried, and its parked
	// deliveries are given up.
	Release(ctx context.Context, tx pgx.Tx, event hub.Event) error
}

// LogTraces are identifiers of a person to erase, in addition to those in the deletion
// event.
type LogTraces struct {
	Names  []string `json:"names,omitempty"`  // used with shared numbers only: a name alone may be a namesake's
	Emails []string `json:"emails,omitempty"` // including earlier ones
	Phones []string `json:"phones,omitempty"` // international, with a leading plus
	Shared []string `json:"shared,omitempty"` // numbers and addresses of several people: a payload needs another match beside them
	Events []string `json:"events,omitempty"` // ids of events about the person, whatever their payload
}

// Auditor adds entries to the hub's audit log. Calls with API keys, the integration
// interface and all requests except GET are recorded without it, as are requests for
// which [SetSubject] or [RequireAudit] was called. It is for actions that need a name of
// their own.
type Auditor interface {
	// Record records an action of the request's caller, such as "patients.reveal-cpf",
	// on the resource with an id. If it fails, the request has to fail.
	Record(ctx context.Context, action, resourceID string) error
}

// Tenants is the hub's registry of a module's tenants.
type Tenants interface {
	// Put creates a tenant or changes its name, in the caller's transaction.
	Put(ctx context.Context, tx pgx.Tx, t Tenant) error
	// Get returns a tenant of this product, or [hub.ErrNotFound].
	Get(ctx context.Context, id uuid.UUID) (Tenant, error)
	// GetByRef returns a tenant of this product by its Ref, or [hub.ErrNotFound].
	GetByRef(ctx context.Context, ref string) (Tenant, error)
	// CheckActive is a [hub.ErrForbidden] if an operator has suspended a tenant. The hub checks
	// the tenants of users and keys itself: it is for callers that only the module can identify.
	// It asks no database.
	CheckActive(id uuid.UUID) error
	// Suspended returns the suspended tenants, which jobs leave out: those of all products, never
	// nil. It asks no database.
	Suspended() []uuid.UUID
}

// Tenant is one customer's account in a product.
type Tenant struct {
	ID   uuid.UUID
	Name string
	Ref  string // the product's own id if it differs from ID; reported by status. "" = none
}

// Peers calls the products that a tenant is connected to.
type Peers interface {
	// List returns a tenant's integrations, whatever their status.
	List(ctx context.Context, tenant uuid.UUID, environment hub.Environment) ([]Integration, error)
	// Call makes a search or an action at the peer and returns the JSON response. It
	// returns the errors of [hub.PeerCaller]. It must not be called inside a transaction,
	// because it waits for the network.
	Call(ctx context.Context, integration uuid.UUID, call hub.Call) (json.RawMessage, error)
}

// Jobs enqueues runs of the jobs of a [JobProvider].
type Jobs interface {
	// Enqueue schedules a run of one of the module's jobs at or soon after a time, in the
	// caller's transaction. It does nothing if a run with the same non-empty key is
	// already waiting.
	Enqueue(ctx context.Context, tx pgx.Tx, run JobRun) error
}

// JobRun is one run of a job.
type JobRun struct {
	Job     string    // the job's Name
	Key     string    // for deduplication; "" = none
	Payload []byte    // for the job's Run
	At      time.Time // zero: now
}

// Sealer encrypts data at rest with the hub's master key.
type Sealer interface {
	// Seal encrypts plain. Open needs the same context, such as the row's id.
	Seal(plain []byte, context string) []byte
	// Open decrypts data that was sealed with the same context.
	Open(sealed []byte, context string) ([]byte, error)
	// Derive returns a 32-byte key for a purpose, always the same one. Keys of different
	// products differ.
	Derive(purpose string) []byte
}

// RateLimiter counts requests, across all processes of the hub. The hub itself limits
// requests with API keys.
type RateLimiter interface {
	// Allow counts one request of a subject, such as an IP address, against one of the
	// product's [Spec.Limits]. Above the limit it returns a [hub.ErrRateLimited] with
	// RetryAfter.
	Allow(ctx context.Context, name, subject string) error
}

// Credentials hashes passwords and signs access tokens for a product's users. Passwords
// are hashed with argon2id, with few hashes at a time in the process.
type Credentials interface {
	// HashPassword returns the hash of a password.
	HashPassword(ctx context.Context, password string) (stored string, err error)
	// CheckPassword reports whether a password matches a stored hash. An empty hash takes
	// as long as any other and never matches.
	CheckPassword(ctx context.Context, stored, password string) (bool, error)
	// SignAccessToken returns an access token for a user and a login. It is valid for
	// AccessTTL of [Settings], and only for this product.
	SignAccessToken(user, login uuid.UUID) (token string, err error)
	// VerifyAccessToken verifies an access token. ok is false if it is invalid or expired.
	// The product checks whether the login was revoked.
	VerifyAccessToken(token string) (user, login uuid.UUID, ok bool)
}

// InvalidTokenError returns the error for an access token that is missing, wrong or expired,
// or whose login has ended. It does not say which.
func InvalidTokenError() *hub.Error {
	return hub.Errorf(hub.ErrUnauthorized, "invalid_token", "A valid access token is needed: log in, or refresh it.")
}

// URLs are public base addresses without a trailing slash.
type URLs struct {
	Public string // of the hub, where the pages are: {app_url}
	Base   string // of the product: {base_url}, {chat_base_url}, {clinic_base_url}
}

// Settings are the hub's settings for modules.
type Settings struct {
	Development     bool          // HUB_ENV
	AccessTTL       time.Duration // of the product's access tokens
	RefreshTTL      time.Duration // of its refresh tokens
	PaymentProvider string        // name; "" = none
	PaymentToken    string        // secret: access token at the provider
	PaymentSecret   string        // secret: signs the provider's webhooks
	SandboxConnect  bool          // development: new tenants get a paired connection of the simulated chat network
	CloudAPIURL     string        // address of the WhatsApp Cloud API
	CloudAPIVersion string        // such as v23.0
	MediaBytes      int64         // that a company's files at the messaging platform may have together
	MailFrom        string        // sender address of all email
}
