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

// Host is what the hub lends a module. Everything in it is safe for concurrent use.
type Host struct {
	Pool        *pgxpool.Pool    // the hub's database, with the product's schema first in search_path
	Events      Publisher        //
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
	HTTP        hub.Doer         // for requests to others: 10 s each, no redirects, by the egress rules
	URLs        URLs             //
	Settings    Settings         //
	Log         *slog.Logger     // names the product already
	Now         func() time.Time // the hub's clock
}

// Publisher makes events durable.
type Publisher interface {
	// Publish stores an event and its deliveries in the caller's transaction: they
	// are sent once it has committed, or never. TenantID, Environment, Type and Data
	// are the caller's; ID is made where it is "", Time is now where it is zero,
	// Product is always the module's own. It returns the event's id. A
	// [events.TypePatientDeleted] has the hub erase what its log has of the person.
	Publish(ctx context.Context, tx pgx.Tx, e hub.Event) (id string, err error)
	// PublishAll does so with several events, in a few statements for all of them, and
	// returns their ids in the same order.
	PublishAll(ctx context.Context, tx pgx.Tx, events []hub.Event) (ids []string, err error)
}

// Deliveries tell what came of events that the module published.
type Deliveries interface {
	// ForEvents gives the deliveries of events to integrations, in the order of the events: one
	// for each integration that was connected when the event was published and wants it;
	// a paused one gets only a [events.TypePatientDeleted], once it is enabled. Of the events ID,
	// TenantID and Environment count. It asks once for all of them.
	ForEvents(ctx context.Context, events []hub.Event) ([][]Delivery, error)
}

// Delivery is what came of sending an event to an integration.
type Delivery struct {
	IntegrationID uuid.UUID
	Status        string // pending, delivered, parked or failed
	Connected     bool   // the integration is in use, neither paused nor revoked: what waits for it will be sent
}

// Erasures are what becomes of the log when a [events.TypePatientDeleted] is published or
// taken in.
type Erasures interface {
	// AddTraces tells what else in the log is about the person, in the transaction that
	// publishes or takes in the event. The hub keeps it, encrypted, until the payloads
	// are erased, and tells nobody.
	AddTraces(ctx context.Context, tx pgx.Tx, event hub.Event, traces Traces) error
	// Release says that nobody waits any more for receivers that did not take the event:
	// it goes too, which they could have been sent again, or is parked for integrations.
	Release(ctx context.Context, tx pgx.Tx, event hub.Event) error
}

// Traces are what a person who is to be forgotten was known by, beside what the deletion
// event says.
type Traces struct {
	Names  []string `json:"names,omitempty"`  // for numbers that are shared: alone they may be a namesake's
	Emails []string `json:"emails,omitempty"` // earlier ones too
	Phones []string `json:"phones,omitempty"` // international, with a leading plus
	Shared []string `json:"shared,omitempty"` // numbers and addresses that somebody else has too: a payload with one has to say more
	Events []string `json:"events,omitempty"` // ids of events that were theirs, whatever they say
}

// Auditor adds to the hub's audit log. Calls of keys, the integration interface and
// everything that is no GET are on record without it, and so is what [SetSubject] or
// [RequireAudit] was called for: it is for what has to be on record under a name of its own.
type Auditor interface {
	// Record notes that the caller of the request did something, such as
	// "patients.reveal-cpf", with the resource of an id. Where it fails, the caller
	// must not get what was asked for.
	Record(ctx context.Context, action, resourceID string) error
}

// Tenants makes a module's tenants known to the hub.
type Tenants interface {
	// Put makes a tenant or changes its name, in the caller's transaction.
	Put(ctx context.Context, tx pgx.Tx, t Tenant) error
	// Get finds a tenant of this product; [hub.ErrNotFound] where there is none.
	Get(ctx context.Context, id uuid.UUID) (Tenant, error)
	// GetByRef finds a tenant of this product by its Ref.
	GetByRef(ctx context.Context, ref string) (Tenant, error)
}

// Tenant is one customer's account in a product.
type Tenant struct {
	ID   uuid.UUID
	Name string
	Ref  string // the product's own id where that is not ID; status reports it instead. "" = none
}

// Peers are the products a tenant is connected to.
type Peers interface {
	// List gives a tenant's integrations, whatever their status.
	List(ctx context.Context, tenant uuid.UUID, environment hub.Environment) ([]Integration, error)
	// Call makes a search or an action at the peer and gives the JSON it answered.
	// Errors as [hub.Actor] has them. Not inside a transaction: it waits for
	// another machine.
	Call(ctx context.Context, integration uuid.UUID, call hub.Call) (json.RawMessage, error)
}

// Jobs takes work for later; [Worker] says who does it.
type Jobs interface {
	// Enqueue adds a run of one of the module's jobs at a time or soon after, in the
	// caller's transaction. Of runs with the same non-empty key only one waits; the
	// first stays.
	Enqueue(ctx context.Context, tx pgx.Tx, run JobRun) error
}

// JobRun is one run of a job.
type JobRun struct {
	Job     string    // its Name
	Key     string    // "" = never the same as another
	Payload []byte    // for the job's Run
	At      time.Time // zero: now
}

// Sealer encrypts at rest under the hub's master key.
type Sealer interface {
	// Seal encrypts plain. The same context, such as a row's id, opens it again.
	Seal(plain []byte, context string) []byte
	// Open gives what was sealed under the same context, or an error.
	Open(sealed []byte, context string) ([]byte, error)
	// Derive gives 32 bytes for one purpose, the same every time: keys for tokens.
	// Purposes of different products never meet.
	Derive(purpose string) []byte
}

// RateLimiter count requests, in all processes of the hub together. Those of keys are the
// hub's own affair.
type RateLimiter interface {
	// Allow counts one request of a subject, such as an address, against one of the
	// product's [Spec.Limits]. Over it, it is a [hub.ErrRateLimited] that says when to come
	// back.
	Allow(ctx context.Context, name, subject string) error
}

// Credentials is what products need to log their users in. Passwords are hashed with
// argon2id, only a few at a time in the whole process.
type Credentials interface {
	// HashPassword makes the stored form of a password.
	HashPassword(ctx context.Context, password string) (stored string, err error)
	// CheckPassword tells whether a password is the one behind a stored form. "" as
	// stored form takes as long as any other and matches nothing.
	CheckPassword(ctx context.Context, stored, password string) (bool, error)
	// SignAccessToken makes an access token for a user and the login it belongs to. It
	// lasts for [Settings]' AccessTTL and is good for this product only.
	SignAccessToken(user, login uuid.UUID) (token string, err error)
	// VerifyAccessToken reads an access token; ok is false for any other text and for
	// expired ones. Whether the login still stands is the product's to know.
	VerifyAccessToken(token string) (user, login uuid.UUID, ok bool)
}

// URLs are addresses as the world sees them, without a slash at the end.
type URLs struct {
	Public string // of the hub, where the pages are: {app_url}
	Base   string // of the product: {base_url}, {chat_base_url}, {clinic_base_url}
}

// Settings are the hub's settings that concern modules.
type Settings struct {
	Development     bool          // HUB_ENV
	AccessTTL       time.Duration // of the product's access tokens
	RefreshTTL      time.Duration // of its refresh tokens
	PaymentProvider string        // by name, "" = none
	PaymentToken    string        // secret: access token at the provider
	PaymentSecret   string        // secret: by which the provider signs its webhooks
	MailFrom        string        // the address that all mail comes from
}
