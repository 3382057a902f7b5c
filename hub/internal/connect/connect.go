// Package connect makes and keeps the connections between a tenant and its peer
// products: the handshake and its retries, the peer's registration with us, health,
// rotation and revocation. No transaction is open while a peer is spoken to.
package connect

import (
	"context"
	"hash/maphash"
	"log/slog"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/seal"
	"integrationhub/hub/module"
)

// What an integration's status can be.
const (
	Active   = "active"
	Inactive = "inactive"
	Error    = "error"
)

// Steps of a handshake at which a peer can fail it.
const (
	StepStatus   = "status"   // it was asked who it is; nothing is stored
	StepRegister = "register" // it was told of us; that is tried again
)

const (
	overlap      = 24 * time.Hour   // how long what a handshake replaced stays valid
	callTimeout  = 10 * time.Second // of one step of a handshake, and of a probe
	retryFirst   = time.Minute      // waits between tries of a registration …
	retryLongest = 15 * time.Minute // … which double up to this
	simultaneous = 15 * time.Second // how close in time two handshakes count as one
	// How long after the peer's registration it may take one of ours for the other half
	// of the same handshake: it counts from when it read our answer.
	settling      = simultaneous + 2*callTimeout
	secretDraws   = 256         // of which the best is a new secret
	mostDraws     = 1 << 16     // where none of those will do
	turns         = 64          // handshakes that may be under way at once, about
	roundEvery    = time.Second // how often due work is looked for
	roundSize     = 16          // integrations spoken to at once
	webhookSuffix = "/integrations/webhook"
)

// URLChecker decides whether the hub may connect to an address: a [hub.ErrInvalid]
// with the code url_not_allowed about the field location where it may not.
type URLChecker interface {
	CheckHTTPS(location, raw string) (*url.URL, error)
}

// Product is a product that is hosted here.
type Product struct {
	Spec module.Spec
	Base string // its address as the world sees it, without a slash at the end
}

// webhookURL is where the product takes webhooks.
func (p Product) webhookURL() string { return p.apiURL() + webhookSuffix }

// apiURL is the base over its /integrations.
func (p Product) apiURL() string { return p.Base + "/api/v1" }

// Config is what the service stands on.
type Config struct {
	DB         *pgxpool.Pool
	Box        *seal.Box
	Keys       *keys.Service
	URLs       URLChecker
	Do         hub.Doer
	Connectors func(product string) hub.Connector // never nil
	Products   func(name string) (Product, bool)  // hosted here
	Recovered  func(integration uuid.UUID)        // told when a peer is well again
	Failed     func(own, step string)             // told of each handshake that failed because of the peer
	Random     func() float64                     // in [0, 1): spreads probes
	Log        *slog.Logger
	Now        func() time.Time
}

// Service is safe for concurrent use.
type Service struct {
	Config
	turns [turns]chan struct{}
	seed  maphash.Seed
}

// New makes a service.
func New(cfg Config) *Service {
	s := &Service{Config: cfg, seed: maphash.MakeSeed()}
	for i := range s.turns {
		s.turns[i] = make(chan struct{}, 1)
	}
	return s
}

// turn waits until no other handshake of this process is under way for the same
// tenant, environment and peer. Handshakes of other processes are told apart by
// their number.
func (s *Service) turn(ctx context.Context, tenant uuid.UUID, environment hub.Environment, product string) (release func(), err error) {
	lane := s.turns[maphash.String(s.seed, tenant.String()+string(environment)+product)%turns]
	select {
	case lane <- struct{}{}:
		return func() { <-lane }, nil
	case <-ctx.Done():
		e := hub.Errorf(hub.ErrUnavailable, "handshake_under_way", "Another connect is under way; try again.")
		return nil, e.WithCause(ctx.Err())
	}
}

// retryAfter is how long a registration waits after its n-th failure, from 1.
func retryAfter(n int32) time.Duration {
	wait := retryFirst
	for range n - 1 {
		if wait *= 2; wait >= retryLongest {
			return retryLongest
		}
	}
	return wait
}
