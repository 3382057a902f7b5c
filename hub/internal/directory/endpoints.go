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
	secret        signingSecret
	previous      signingSecret // no signer: none
	previousUntil time.Time
	switchAtEnd   bool // the previous secret makes X-Webhook-Signature until previousUntil
}

// signingSecret is one secret of an endpoint.
type signingSecret struct {
	signer   *hub.Signer
	standard bool // makes webhook-signature too
}

// Limits is what a target's tenant may use; 0 is the default.
type Limits struct {
	DeliveriesPerRequest int
	InFlight             int // deliveries under way in this process
	Queue                int // deliveries that wait in this process
}

// BodySigner returns the signer of an endpoint's X-Webhook-Signature.
func (t *Target) BodySigner(now time.Time) *hub.Signer {
	if t.switchAtEnd && t.inOverlap(now) {
		return t.previous.signer
	}
	return t.secret.signer
}

// StandardSigners returns the signers of an endpoint's webhook-signature: those with the
// current secret and, while a rotation's overlap lasts, with the previous one. One is nil
// if there is no such secret or it is plain.
func (t *Target) StandardSigners(now time.Time) (current, previous *hub.Signer) {
	if t.secret.standard {
		current = t.secret.signer
	}
	if t.previous.standard && t.inOverlap(now) {
		previous = t.previous.signer
	}
	return current, previous
}

func (t *Target) inOverlap(now time.Time) bool {
	return t.previous.signer != nil && now.Before(t.previousUntil)
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
		       e.secret, e.standard_signature, e.previous_secret, e.previous_standard_signature, coalesce(e.previous_expires_at, 'epoch'), e.switch_at_end,
		       coalesce(t.limit_deliveries_per_request, 0), coalesce(t.limit_in_flight, 0), coalesce(t.limit_queue, 0)
		from hub.endpoints e join hub.tenants t on t.id = e.tenant_id where e.deleted_at is null and `+where+` order by e.id`, args...)
	if err != nil {
		return nil, store.Wrap("loading endpoints", err)
	}
	endpoints, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Target, error) {
		endpoint := &Target{}
		var secret, previous []byte
		err := row.Scan(&endpoint.ID, &endpoint.TenantID, &endpoint.Environment, &endpoint.URL, &endpoint.patterns, &endpoint.Enabled, &endpoint.IsGone, &endpoint.RatePerMinute,
			&secret, &endpoint.secret.standard, &previous, &endpoint.previous.standard, &endpoint.previousUntil, &endpoint.switchAtEnd,
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
	endpoint.secret.signer = hub.NewSigner(string(plain))
	if len(previous) == 0 {
		return nil
	}
	plain, err = d.secrets.Open(previous, registry.SecretContext(endpoint.ID))
	if err != nil {
		return fmt.Errorf("opening the previous secret of endpoint %s: %w", endpoint.ID, err)
	}
	endpoint.previous.signer = hub.NewSigner(string(plain))
	return nil
}
