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
	product       string            // the tenant's
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

// Target returns an endpoint or the peer of an integration, enabled or not; nil if it no
// longer exists.
func (d *Directory) Target(ctx context.Context, id uuid.UUID, isPeer bool) (*Target, error) {
	load := d.loadEndpoint
	if isPeer {
		load = d.loadPeerTarget
	}
	wanted := targetKey{id, isPeer}
	if target, known := d.cache.findTarget(wanted); known {
		return target, nil
	}
	drops := d.cache.beginLoad()
	target, err := load(ctx, id)
	if err != nil {
		return nil, err
	}
	d.cache.store(drops, func() {
		if target == nil {
			putUnknown(d.cache.unknownTargets, wanted)
			return
		}
		d.cache.putTarget(target)
		target = d.cache.targets[id]
	})
	return target, nil
}

// Endpoint returns an endpoint, enabled or not; nil if it was deleted.
func (d *Directory) Endpoint(ctx context.Context, id uuid.UUID) (*Target, error) {
	return d.Target(ctx, id, false)
}

func (d *Directory) loadEndpoint(ctx context.Context, id uuid.UUID) (*Target, error) {
	endpoints, err := d.loadEndpoints(ctx, `hub.endpoints e where e.deleted_at is null and e.id = $1`, id)
	if err != nil || len(endpoints) == 0 {
		return nil, err
	}
	return endpoints[0], nil
}

// loadEndpoints loads endpoints, called e in the part of a query that selects them.
func (d *Directory) loadEndpoints(ctx context.Context, from string, args ...any) ([]*Target, error) {
	rows, err := d.pool.Query(ctx, `
		select e.id, e.tenant_id, e.environment, e.url, e.event_types, e.enabled, coalesce(e.disabled_reason = 'gone', false), coalesce(e.rate_per_minute, 0),
		       e.secret, e.previous_secret, coalesce(e.previous_expires_at, 'epoch'), t.product,
		       coalesce(t.limit_deliveries_per_request, 0), coalesce(t.limit_in_flight, 0), coalesce(t.limit_queue, 0)
		from (select e.* from `+from+`) e join hub.tenants t on t.id = e.tenant_id order by e.id`, args...)
	if err != nil {
		return nil, store.Wrap("loading endpoints", err)
	}
	endpoints, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Target, error) {
		endpoint := &Target{}
		var secret, previous []byte
		err := row.Scan(&endpoint.ID, &endpoint.TenantID, &endpoint.Environment, &endpoint.URL, &endpoint.patterns, &endpoint.Enabled, &endpoint.IsGone, &endpoint.RatePerMinute,
			&secret, &previous, &endpoint.previousUntil, &endpoint.product,
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
