// Package connect carries out the handshake between a tenant and its peer products, on
// top of package integration: connecting and the retries of registrations, the peer's
// registration with us, health probes, rotation and revocation. No transaction is open
// while a peer is called.
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
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/seal"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
)

// Steps of a handshake at which a peer can fail it.
const (
	StepStatus   = "status"   // the peer's status was asked for; nothing is stored on failure
	StepRegister = "register" // the peer was registered with; retried on failure
)

const (
	overlap      = 24 * time.Hour   // how long what a handshake replaced stays valid
	callTimeout  = 10 * time.Second // of one step of a handshake, and of a probe
	firstRetry   = time.Minute      // wait after a registration's first failure …
	maxRetry     = 15 * time.Minute // … which doubles up to this
	simultaneous = 15 * time.Second // handshakes of both sides within this count as one
	// How long after the peer's registration it may take one of ours for the other half
	// of the same handshake: it counts from when it read our answer.
	settling      = simultaneous + 2*callTimeout
	webhookSuffix = "/integrations/webhook"
)

// URLChecker decides whether the hub may connect to an address. Its error is a
// [hub.ErrInvalid] with the code url_not_allowed about the field location.
type URLChecker interface {
	CheckHTTPS(location, raw string) (*url.URL, error)
}

// Product is a product that is hosted here.
type Product struct {
	Spec    module.Spec
	BaseURL string // public address, without a slash at the end
}

// webhookURL returns where the product receives webhooks.
func (p Product) webhookURL() string { return p.apiURL() + webhookSuffix }

// apiURL returns the base address above the product's /integrations.
func (p Product) apiURL() string { return p.BaseURL + "/api/v1" }

// Config is what the service needs.
type Config struct {
	DB                *pgxpool.Pool
	Box               *seal.Box
	Keys              *keys.Service
	URLs              URLChecker
	Client            hub.Doer
	Connectors        func(product string) hub.Connector // never nil
	Products          func(name string) (Product, bool)  // hosted here
	OnRecovered       func(integrationID uuid.UUID)      // called when a failing integration is active again
	OnHandshakeFailed func(localProduct, step string)    // called when a peer failed a handshake
	Random            func() float64                     // in [0, 1): spreads probes
	Log               *slog.Logger
	Now               func() time.Time
}

// handshakeGates bounds the handshakes that this process runs at once.
const handshakeGates = 64

// Service is safe for concurrent use.
type Service struct {
	Config
	gates [handshakeGates]chan struct{}
	seed  maphash.Seed
}

// New returns a service.
func New(cfg Config) *Service {
	s := &Service{Config: cfg, seed: maphash.MakeSeed()}
	for i := range s.gates {
		s.gates[i] = make(chan struct{}, 1)
	}
	return s
}

// lockHandshake waits until no other handshake of this process uses the integration.
// Handshakes of other processes are detected by [integration.Integration.Handshake].
func (s *Service) lockHandshake(ctx context.Context, identity integration.Identity) (unlock func(), err error) {
	key := identity.TenantID.String() + string(identity.Environment) + identity.Product
	gate := s.gates[maphash.String(s.seed, key)%handshakeGates]
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-ctx.Done():
		e := hub.Errorf(hub.ErrUnavailable, "handshake_under_way", "These two accounts are being connected, or their secret rotated, right now; try again in a few seconds.")
		return nil, e.WithCause(ctx.Err())
	}
}

// retryDelay returns how long a registration waits after its n-th failure, from 1.
func retryDelay(n int32) time.Duration {
	delay := firstRetry
	for range n - 1 {
		if delay *= 2; delay >= maxRetry {
			return maxRetry
		}
	}
	return delay
}

func (s *Service) integrations() integration.Repository { return integration.NewRepository(s.DB) }

func (s *Service) loadTenant(ctx context.Context, id uuid.UUID) (registry.Tenant, error) {
	row, err := dbgen.New(s.DB).TenantByID(ctx, id)
	return registry.TenantOf(row), store.Wrap("loading the tenant", err)
}

// connection decrypts an integration's secrets and returns how its peer is called.
func (s *Service) connection(i integration.Integration, localProduct string) (hub.Connection, integration.Secrets, error) {
	secrets, err := i.OpenSecrets(s.Box)
	if err != nil {
		return hub.Connection{}, integration.Secrets{}, err
	}
	return secrets.Connection(&i, localProduct, s.Now()), secrets, nil
}
