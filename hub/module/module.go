// Package module is the contract between the hub and a product that it hosts: what
// the product is (Module), what it does once opened (Instance and the optional
// interfaces beside it), and what the hub lends it (Kit).
//
// The hub gives every product the integration interface under its base (API keys,
// connect, status, webhook and its registration), signs and delivers its events,
// and receives those of its peers. A module adds its domain.
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

// Module is a product before it runs.
type Module interface {
	// Spec says what the product is. Always the same.
	Spec() Spec
	// Migrations are goose files at the root of the tree, for the product's own
	// PostgreSQL schema; the hub makes the schema and its search_path.
	Migrations() fs.FS
	// Open puts the product together over a migrated database. It starts no
	// goroutine: work in the background is [Worker]'s. It does not use the database or
	// the network yet: to write down a product's operations the hub opens it without.
	Open(ctx context.Context, host Host) (Instance, error)
}

// Spec describes a product.
type Spec struct {
	Name         string      // product, PostgreSQL schema and default path: "scheduling"
	Title        string      // for people
	Description  string      // how its API is used, for the reference: paragraphs with an empty line between them
	KeyPrefix    string      // of its API keys: "sch"
	TenantPrefix string      // what status calls a tenant: "org" for org_id and org_name
	Version      string      // major.minor.patch, as status reports it
	Features     []string    // as status reports them; also the scopes of its keys
	Receives     []string    // event types [Instance] handles; others are answered "ignored"
	Sends        []string    // event types it publishes
	Limits       []RateLimit // on requests that need no key; HUB_PRODUCT_LIMITS sets others
}

// RateLimit is how many requests of one subject, such as an address, a product lets
// through.
type RateLimit struct {
	Name   string // "public-reads"
	Max    int64  // in a period; 0 = no limit
	Period time.Duration
}

// Instance is a product at work. It is safe for concurrent use.
type Instance interface {
	// RegisterRoutes registers the product's own operations; paths are relative to its base
	// and begin with /. The hub answers for callers: see [SchemeBearer]. Bodies have
	// 1 MiB at most; an operation whose path has no parameters may say more in its
	// MaxBodyBytes, which counts for users who are logged in.
	RegisterRoutes(api huma.API)
	// Authenticate tells who holds a bearer token of this product; any token that is
	// not good is a [hub.ErrUnauthorized]. The hub asks it for operations that
	// need [SchemeBearer] and for the administrators' part of the integration
	// interface.
	Authenticate(ctx context.Context, token string) (Caller, error)
	// Handle takes in an event that a peer of a tenant sent: TenantID and Environment
	// are ours, Product is the peer's. It runs in the transaction that records the
	// event, so its effect happens once; it may still be called again with the same
	// e.ID after a rollback. [ErrIgnored] commits and answers that the event concerned
	// nobody; any other error rolls back, and the peer will send again. What has to
	// call out belongs into a job.
	Handle(ctx context.Context, tx pgx.Tx, e hub.Event) error
}

// ErrIgnored is what Handle returns for an event that was read and concerns nobody.
// What was written to the transaction stays.
var ErrIgnored = errors.New("event ignored")

// MetadataErrorFormat is the key in an operation's Metadata of its [ErrorFormat].
const MetadataErrorFormat = "errors"

// ErrorFormat is how the errors of an operation look that does not have the hub's: those
// its handler returns, and what is refused before that is called.
type ErrorFormat struct {
	MediaType string
	Write     func(ErrorResponse) any
}

// ErrorResponse is what an error tells whoever asked.
type ErrorResponse struct {
	Status    int // HTTP
	Code      string
	Detail    string
	Locations []string // of wrong inputs, such as query.limit
}

// Searcher is an instance that answers search/* of the integration interface.
type Searcher interface {
	// RegisterSearches registers GET operations; paths are relative to
	// <base>/api/v1/integrations/search: "/patients".
	RegisterSearches(api huma.API)
}

// Actor is an instance that answers action/* of the integration interface.
type Actor interface {
	// RegisterActions registers POST operations; paths are relative to
	// <base>/api/v1/integrations/action: "/book".
	RegisterActions(api huma.API)
}

// PhoneSearcher is an instance that knows people by their phone, for the console's lookup.
type PhoneSearcher interface {
	// SearchPhone gives what any tenant knows under a phone number, in international format
	// with a leading plus. At most a hundred.
	SearchPhone(ctx context.Context, phone string) ([]PhoneMatch, error)
}

// PhoneMatch is one thing found under a phone number.
type PhoneMatch struct {
	TenantID uuid.UUID
	Kind     string // "patient", "client", "contact"
	ID       string // in the product
	Name     string
	URL      string // where people look at it, or ""
}

// Worker is an instance with work of its own in the background.
type Worker interface {
	Jobs() []Job
}

// Job is work in the background. The hub runs each on one process at a time, ends
// its context on shutdown, and logs and repeats what fails, waiting longer each time.
type Job struct {
	Name    string        // unique in the product, e.g. "reminders"
	Every   time.Duration // runs that often with no payload; 0 = only when asked for
	Timeout time.Duration // of one run; 0 = a minute
	Run     func(ctx context.Context, payload []byte) error
}

// PageProvider is an instance with pages for people, which lie at the hub's own root and
// not under the product's base.
type PageProvider interface {
	// Pages gives handlers by path: "/book/" with everything below it. Who asks is
	// [ClientIP] of the request's context. What a page writes is sent once it has
	// returned; unless it says otherwise nobody keeps its answers.
	Pages() map[string]http.Handler
}

// Presenter is an instance that answers administrators on connect and status in a
// shape of its own (interface document 1). Without it they get document 3's.
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
	Paused          bool      // inactive only until it is enabled, and not disconnected: a [events.TypePatientDeleted] waits for it
	LastError       string    // for people; "" = none
	Features        []string  // that the peer offers
	EnabledUses     []string  // uses the administrator asked for, e.g. reminders
	APIURL          string    // the peer's
	WebhookURL      string    // where this product receives
	LocalKeyLast4   string    // of the key the peer uses here
	RemoteKeyLast4  string    // of the key used there
	LastHealthCheck time.Time // zero: never
	CreatedAt       time.Time
	UpdatedAt       time.Time
}
