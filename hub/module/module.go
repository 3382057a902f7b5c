// Package module is the contract between the hub and a hosted product: the product's
// description ([Module]), its behavior once opened ([Instance] and the optional
// interfaces), and the services that the hub provides ([Host]).
//
// The hub provides every product with the integration interface under its base (API
// keys, connect, status, webhook and its registration). It signs and delivers the
// product's events, and receives the events of its peers. A module adds its domain.
package module

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
)

// Module is a product that has not been opened.
type Module interface {
	// Spec describes the product. It always returns the same value.
	Spec() Spec
	// Migrations returns goose files at the root of the tree, for the product's own
	// PostgreSQL schema. The hub creates the schema and sets search_path.
	Migrations() fs.FS
	// Open creates the product's instance. It starts no goroutines; background work
	// belongs to a [JobProvider]. It does not use the database or the network: the hub also
	// opens products without them, to generate their OpenAPI documents.
	Open(ctx context.Context, host Host) (Instance, error)
}

// Spec describes a product.
type Spec struct {
	Name         string      // product, PostgreSQL schema and default path: "scheduling"
	Title        string      // for people
	Description  string      // how its API is used, for the reference: paragraphs with an empty line between them
	KeyPrefix    string      // of its API keys: "sch"
	KeyHeader    string      // header that its keys may come in besides X-Integration-Key; "" = none
	TenantPrefix string      // prefix of the tenant's fields in status: "org" for org_id and org_name
	Version      string      // major.minor.patch, as status reports it
	Features     []string    // as status reports them; also the scopes of its keys
	Receives     []string    // event types that [Instance] handles; the response to others is "ignored"
	Sends        []string    // event types it publishes
	Limits       []RateLimit // limits of requests without a key; HUB_PRODUCT_LIMITS overrides them
	// AccessTTL and RefreshTTL are how long its users' tokens are valid at most; 0: as long as
	// HUB_ACCESS_TTL and HUB_REFRESH_TTL say.
	AccessTTL, RefreshTTL time.Duration
}

// RateLimit is a limit of requests per subject, such as an IP address.
type RateLimit struct {
	Name   string // "public-reads"
	Max    int64  // requests in a period; 0 = unlimited
	Period time.Duration
	// Burst makes the limit a token bucket: so many requests at once, refilled evenly at
	// Max in a period. Another Max in the settings changes it in proportion. 0 = Max
	// requests at any time of a period.
	Burst int64
}

// Instance is an opened product. It is safe for concurrent use.
type Instance interface {
	// RegisterRoutes registers the product's own operations. Paths are relative to its
	// base and begin with /. The hub authenticates callers: see [SchemeBearer]. Bodies
	// have at most 1 MiB. An operation may allow more with its MaxBodyBytes: logged-in users
	// longer forms, or all callers longer bodies if it needs no credentials.
	RegisterRoutes(api huma.API)
	// Authenticate returns the user of a bearer token of this product, or
	// [hub.ErrUnauthorized] for an invalid token. The hub calls it for operations with
	// [SchemeBearer] and for the administrators' part of the integration interface.
	Authenticate(ctx context.Context, token string) (Caller, error)
	// Handle applies an event from a tenant's peer: TenantID and Environment are the
	// tenant's, Product is the peer's. It runs in the transaction that records the
	// event, so that its effect happens exactly once; after a rollback it is called
	// again with the same e.ID. [ErrIgnored] commits and reports the event as ignored.
	// Any other error rolls back, and the peer sends the event again. Calls to other
	// systems belong in a job.
	Handle(ctx context.Context, tx pgx.Tx, e hub.Event) error
}

// ErrIgnored is returned by Handle for a valid event without effect. The transaction
// is still committed.
var ErrIgnored = errors.New("event ignored")

// MetadataErrorFormat is the key in an operation's Metadata of its [ErrorFormat].
const MetadataErrorFormat = "errors"

// ErrorFormat is the format of an operation's errors where it is not the hub's. It
// applies to the handler's errors and to requests rejected before the handler.
type ErrorFormat struct {
	MediaType string
	Write     func(ErrorResponse) any
}

// MetadataSignUp is the key in an operation's Metadata that is true where the operation creates
// an account. Where HUB_SIGN_UP leaves that to operators, the hub answers 403
// user_creation_disabled to all others.
const MetadataSignUp = "sign-up"

// MetadataCallsOut is the key in an operation's Metadata that is true where it waits for other
// systems, such as a messaging network: such requests do not take the places of others of their
// tenant.
const MetadataCallsOut = "calls-out"

// MetadataHandledNulls is the key in an operation's Metadata of the locations in its body, such as
// "body.number", where the handler refuses null in words of its own: a []string.
const MetadataHandledNulls = "handled-nulls"

// MetadataCallerCheck is the key in an operation's Metadata of its [CallerCheck].
const MetadataCallerCheck = "caller-check"

// CallerCheck checks the caller of an operation that has credentials of its own, such as a
// product's tokens for programs. It runs after the hub has identified the callers that it
// knows, and before the body is looked at: strangers learn nothing about their bodies. It
// returns the context for the handler, or the error to answer.
type CallerCheck func(huma.Context) (huma.Context, error)

// MetadataErrorAdapter is the key in an operation's Metadata of its [ErrorAdapter].
const MetadataErrorAdapter = "error-adapter"

// ErrorAdapter adapts the hub's errors to an interface with statuses or members of its own.
// It returns the status of the response, and members to add to it. It applies where an
// [ErrorFormat] does.
type ErrorAdapter func(ErrorResponse) (status int, members hub.Extensions)

// ErrorFormatter is an instance with error formats for whole paths, which apply to errors
// that belong to no operation too, such as 404 and 405.
type ErrorFormatter interface {
	// ErrorFormats returns formats by path below the product's base: "/fhir" includes
	// everything below it.
	ErrorFormats() map[string]ErrorFormat
}

// RouteErrorAdapter is an instance that adapts errors of the router below the product's base,
// which belong to no operation: 404 for an unknown path, 405 for a method that the path does
// not have.
type RouteErrorAdapter interface {
	// AdaptRouteError is an [ErrorAdapter].
	AdaptRouteError(ErrorResponse) (status int, members hub.Extensions)
}

// ErrorResponse is the content of an error response.
type ErrorResponse struct {
	Status    int // HTTP
	Code      string
	Detail    string
	Locations []string // of invalid inputs, such as query.limit
}

// SearchProvider is an instance with search/* operations of the integration interface.
type SearchProvider interface {
	// RegisterSearches registers GET operations; paths are relative to
	// <base>/api/v1/integrations/search: "/patients".
	RegisterSearches(api huma.API)
}

// ActionProvider is an instance with action/* operations of the integration interface.
type ActionProvider interface {
	// RegisterActions registers POST operations; paths are relative to
	// <base>/api/v1/integrations/action: "/book".
	RegisterActions(api huma.API)
}

// EventScreener is an instance that recognizes persons whom it erased.
type EventScreener interface {
	// ScreenEvent says what of an event from a tenant's peer may be stored. It is called
	// before Handle with the same arguments, also for events that the module does not
	// handle. An error rolls back.
	ScreenEvent(ctx context.Context, tx pgx.Tx, e hub.Event) (Screening, error)
}

// Screening is what may be stored of an event.
type Screening int

// The screenings.
const (
	Storable      Screening = iota // all of it
	NamesErased                    // its effect, but not its payload: it names an erased person beside others
	IsAboutErased                  // nothing but its id and type: Handle is not called, and it counts as ignored
)

// PhoneSearcher is an instance that finds people by phone, for the console's lookup.
type PhoneSearcher interface {
	// SearchPhone returns at most 100 matches of all tenants for a phone number in
	// international format with a leading plus.
	SearchPhone(ctx context.Context, phone string) ([]PersonMatch, error)
}

// EmailSearcher is an instance that finds people by e-mail address, for the console's lookup.
type EmailSearcher interface {
	// SearchEmail returns at most 100 matches of all tenants for an address in lower case,
	// however it is stored.
	SearchEmail(ctx context.Context, email string) ([]PersonMatch, error)
}

// CPFSearcher is an instance that finds people by the last two digits of their CPF, for the
// console's lookup.
type CPFSearcher interface {
	// SearchCPFEnd returns at most 100 matches of all tenants for two digits.
	SearchCPFEnd(ctx context.Context, lastTwo string) ([]PersonMatch, error)
}

// InboxReporter is an instance with entries that wait for a person of their tenant.
type InboxReporter interface {
	// WaitingInboxes returns the inboxes in which something waits, ordered by tenant and
	// environment: those after an inbox, at most limit of them. The zero value is before all.
	// The hub asks every minute.
	WaitingInboxes(ctx context.Context, after WaitingInbox, limit int) ([]WaitingInbox, error)
}

// WaitingInbox is a tenant's inbox in which entries wait.
type WaitingInbox struct {
	TenantID    uuid.UUID
	Environment hub.Environment
	Waiting     int       // entries
	OldestSince time.Time // when the oldest of them came
}

// PersonFinder is an instance whose persons the log of webhooks is searched for.
type PersonFinder interface {
	// PersonIDMember returns the member of events, and the parameter of searches, that has
	// the id of a person: "patient_id" or "client_id".
	PersonIDMember() string
	// FindPerson returns the identifiers, besides the id, by which events name a person of
	// a tenant. The error is a [hub.ErrNotFound] if the tenant has no such person in the
	// environment.
	FindPerson(ctx context.Context, tenant uuid.UUID, environment hub.Environment, id uuid.UUID) (Person, error)
}

// Person holds the identifiers by which events name a person.
type Person struct {
	IDs            []string // of persons that were merged into this one; at most 200
	Phones         []string // international, with a leading plus; earlier ones included
	AppointmentIDs []string // as the scheduling product calls them; at most 200
	TicketIDs      []string // at the messaging product; at most 200
}

// PersonMatch is one record of a person.
type PersonMatch struct {
	TenantID uuid.UUID
	Kind     string // "patient", "client", "contact"
	ID       string // in the product
	Name     string
	URL      string // page of the record, or ""
}

// JobProvider is an instance with background jobs.
type JobProvider interface {
	Jobs() []Job
}

// Job is background work. The hub runs each job on one process at a time, unless it is
// EveryProcess, cancels its context on shutdown, and logs and retries failures with
// increasing delays. When the process dies, another begins the run again within 20 seconds.
// The context is also cancelled when the process may have lost the job to another: it has
// not reached the database for 11 seconds. A run has to stop soon after.
type Job struct {
	Name    string        // unique in the product, e.g. "reminders"
	Every   time.Duration // interval of runs without payload; 0 = only when enqueued
	Timeout time.Duration // of one run; 0 = a minute
	// EveryProcess has each process run the job, Every so often and without a payload. Such a
	// job leases what it works on. Failures are logged.
	EveryProcess bool
	Run          func(ctx context.Context, payload []byte) error
}

// WithoutPayload returns the Run of a [Job] that has no payload.
func WithoutPayload(run func(context.Context) error) func(context.Context, []byte) error {
	return func(ctx context.Context, _ []byte) error { return run(ctx) }
}

// TenantEraser is an instance that erases tenants that operators delete.
type TenantEraser interface {
	// EraseTenant erases what the product stores of a tenant: its rows, its files and what it
	// has at other systems. The tenant is suspended, and has no keys and no integrations any
	// more. After an error, or when ctx has ended, it is called again and continues. For a
	// tenant that is not there it returns nil.
	EraseTenant(ctx context.Context, tenant uuid.UUID) error
}

// PageProvider is an instance with HTML pages. They are served at the hub's root, not
// under the product's base.
type PageProvider interface {
	// Pages returns handlers by path: "/book/" includes everything below it. The
	// client's address is [ClientIP] of the request's context. A page of a tenant takes
	// a place with [EnterPage]. The response is sent after the handler has returned. By default it is not cacheable.
	Pages() map[string]http.Handler
}

// Presenter is an instance with its own format for the responses to connect and status
// for administrators: see "Integrations" in docs/interfaces/scheduling.md. Without it
// they have the format of "Connect and status" in docs/interfaces/clinic.md.
type Presenter interface {
	PresentConnect(Integration) any
	PresentStatus([]Integration) any
}

// Integration is a tenant's connection to a peer, without its secrets.
type Integration struct {
	ID              uuid.UUID
	TenantID        uuid.UUID
	Environment     hub.Environment
	Product         string    // the peer's
	Status          string    // active, inactive or error
	Paused          bool      // inactive until it is enabled, but still connected: a [events.TypePatientDeleted] waits for it
	LastError       string    // for people; "" = none
	Features        []string  // of the peer
	EnabledUses     []string  // uses that the administrator requested, e.g. reminders
	APIURL          string    // the peer's
	WebhookURL      string    // where this product receives events
	LocalKeyLast4   string    // of the peer's key here
	RemoteKeyLast4  string    // of our key at the peer
	LastHealthCheck time.Time // zero: never
	EndedAt         time.Time // when either side ended the connection; zero: it is not ended
	CreatedAt       time.Time
	UpdatedAt       time.Time
}
