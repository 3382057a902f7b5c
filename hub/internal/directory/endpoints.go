package directory

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/store"
)

// Target is the receiver of deliveries: an endpoint, or the peer of an integration.
type Target struct {
	ID            uuid.UUID
	TenantID      uuid.UUID
	Environment   hub.Environment
	URL           string            // of an endpoint
	RatePerMinute int               // 0 = not paced
	Enabled       bool              // takes deliveries now; else they are parked
	IsGone        bool              // an endpoint that responded 410 and was disabled
	Peer          *integration.Peer // nil for an endpoint
	Limits        Limits            // of the tenant
	patterns      []string
	signer        *hub.Signer
	previous      *hub.Signer // nil: none
	previousUntil time.Time
}

// Limits is what a target's tenant may use; 0 is the default.
type Limits struct {
	DeliveriesPerRequest int
	InFlight             int // deliveries under way in this process
	Queue                int // deliveries that wait in this process
}

// Signers returns the signer with an endpoint's current secret and, while a rotation's
// overlap lasts, the one with the previous secret, else nil.
func (t *Target) Signers(now time.Time) (current, previous *hub.Signer) {
	if t.previous != nil && now.Before(t.previousUntil) {
		return t.signer, t.previous
	}
	return t.signer, nil
}

// IsSubscribed reports whether the target subscribed to an event type.
func (t *Target) IsSubscribed(eventType string) bool {
	return hub.MatchesEventType(t.patterns, eventType)
}

// Subscribers returns a tenant's targets that subscribed to an event type: its endpoints,
// and its integrations that accept the type (see [integration.Peer.Accepts]). Those that
// are not in use collect deliveries, until they are abandoned.
func (d *Directory) Subscribers(ctx context.Context, tenant uuid.UUID, environment hub.Environment, eventType string) ([]*Target, error) {
	generation := d.current.Load()
	key := tenantScope{tenant, environment}
	cached, ok := generation.tenants.Load(key)
	if !ok {
		targets, err := d.loadEndpoints(ctx, `e.tenant_id = $1 and e.environment = $2 and e.abandoned_at is null`, tenant, environment)
		if err != nil {
			return nil, err
		}
		peers, err := d.loadSubscribedPeers(ctx, tenant, environment)
		if err != nil {
			return nil, err
		}
		targets = append(targets, peers...)
		generation.tenants.Store(key, targets)
		cached = targets
	}
	targets := cached.([]*Target)
	subscribers := make([]*Target, 0, len(targets))
	for _, target := range targets {
		if target.IsSubscribed(eventType) && (target.Peer == nil || target.Peer.Accepts(eventType)) {
			subscribers = append(subscribers, target)
		}
	}
	return subscribers, nil
}

// Target returns an endpoint or the peer of an integration, enabled or not; nil if it no
// longer exists.
func (d *Directory) Target(ctx context.Context, id uuid.UUID, isPeer bool) (*Target, error) {
	if !isPeer {
		return d.Endpoint(ctx, id)
	}
	return d.peerTarget(ctx, id)
}

// Endpoint returns an endpoint, enabled or not; nil if it was deleted.
func (d *Directory) Endpoint(ctx context.Context, id uuid.UUID) (*Target, error) {
	generation := d.current.Load()
	if cached, ok := generation.endpoints.Load(id); ok {
		return cached.(*Target), nil
	}
	endpoints, err := d.loadEndpoints(ctx, `e.id = $1`, id)
	if err != nil {
		return nil, err
	}
	var endpoint *Target
	if len(endpoints) == 1 {
		endpoint = endpoints[0]
	}
	generation.endpoints.Store(id, endpoint)
	return endpoint, nil
}

func (d *Directory) loadEndpoints(ctx context.Context, where string, args ...any) ([]*Target, error) {
	rows, err := d.pool.Query(ctx, `
		select e.id, e.tenant_id, e.environment, e.url, e.event_types, e.enabled, coalesce(e.disabled_reason = 'gone', false), coalesce(e.rate_per_minute, 0),
		       e.secret, e.previous_secret, coalesce(e.previous_expires_at, 'epoch'),
		       coalesce(t.limit_deliveries_per_request, 0), coalesce(t.limit_in_flight, 0), coalesce(t.limit_queue, 0)
		from hub.endpoints e join hub.tenants t on t.id = e.tenant_id where e.deleted_at is null and `+where+` order by e.id`, args...)
	if err != nil {
		return nil, store.Wrap("loading endpoints", err)
	}
	endpoints, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Target, error) {
		endpoint := &Target{}
		var secret, previous []byte
		err := row.Scan(&endpoint.ID, &endpoint.TenantID, &endpoint.Environment, &endpoint.URL, &endpoint.patterns, &endpoint.Enabled, &endpoint.IsGone, &endpoint.RatePerMinute,
			&secret, &previous, &endpoint.previousUntil,
			&endpoint.Limits.DeliveriesPerRequest, &endpoint.Limits.InFlight, &endpoint.Limits.Queue)
		if err != nil {
			return nil, err
		}
		return endpoint, d.openSecrets(endpoint, secret, previous)
	})
	if err != nil {
		return nil, store.Wrap("loading endpoints", err)
	}
	return endpoints, nil
}

func (d *Directory) openSecrets(endpoint *Target, secret, previous []byte) error {
	plain, err := d.secrets.Open(secret, registry.SecretContext(endpoint.ID))
	if err != nil {
		return fmt.Errorf("opening the secret of endpoint %s: %w", endpoint.ID, err)
	}
	endpoint.signer = hub.NewSigner(string(plain))
	if len(previous) == 0 {
		return nil
	}
	plain, err = d.secrets.Open(previous, registry.SecretContext(endpoint.ID))
	if err != nil {
		return fmt.Errorf("opening the previous secret of endpoint %s: %w", endpoint.ID, err)
	}
	endpoint.previous = hub.NewSigner(string(plain))
	return nil
}
