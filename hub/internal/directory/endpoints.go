package directory

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/filter"
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
	Ordered       bool              // gets the events of one ordering key one at a time
	Filter        *filter.Filter    // of an endpoint: gets the events that match; nil = all
	Enabled       bool              // takes deliveries now; else they are parked
	IsGone        bool              // an endpoint that responded 410 and was disabled
	Header        []Header          // of an endpoint: sent with each attempt, by name
	Certificate   *tls.Certificate  // of an endpoint: shown to its receiver; nil = none
	Peer          *integration.Peer // nil for an endpoint
	Limits        Limits            // of the tenant
	product       string            // the tenant's
	patterns      []string
	secret        signingSecret
	previous      signingSecret // no signer: none
	previousUntil time.Time
	switchAtEnd   bool // the previous secret makes X-Webhook-Signature until previousUntil
}

// Header is one header of a request.
type Header struct {
	Name  string
	Value string
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

// Target returns an endpoint or the peer of an integration, enabled or not; nil if it no
// longer exists.
func (d *Directory) Target(ctx context.Context, id uuid.UUID, isPeer bool) (*Target, error) {
	load := d.loadEndpoint
	if isPeer {
		load = d.loadPeerTarget
	}
	key := targetKey{id, isPeer}
	if target, isCached := d.cache.findTarget(key); isCached {
		return target, nil
	}
	drops := d.cache.beginLoad()
	target, err := load(ctx, id)
	if err != nil {
		return nil, err
	}
	d.cache.store(drops, func() {
		if target == nil {
			putUnknown(d.cache.unknownTargets, key)
			return
		}
		d.cache.putTarget(target)
		target = d.cache.targets[id]
	})
	return target, nil
}

// Pace returns how many deliveries a minute a receiver gets at most; 0: as many as it takes, or
// there is none.
func (d *Directory) Pace(ctx context.Context, id uuid.UUID, isPeer bool) (perMinute int, err error) {
	target, err := d.Target(ctx, id, isPeer)
	if err != nil || target == nil {
		return 0, err
	}
	return target.RatePerMinute, nil
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
		select e.id, e.tenant_id, e.environment, e.url, e.event_types, e.enabled, coalesce(e.disabled_reason = 'gone', false), coalesce(e.rate_per_minute, 0), e.ordered, coalesce(e.filter, ''), e.headers, e.client_certificate, e.client_key,
		       e.secret, e.standard_signature, e.previous_secret, e.previous_standard_signature, coalesce(e.previous_expires_at, 'epoch'), e.switch_at_end, coalesce(t.product, ''),
		       coalesce(t.limit_deliveries_per_request, 0), coalesce(t.limit_in_flight, 0), coalesce(t.limit_queue, 0)
		from (select e.* from `+from+`) e left join hub.tenants t on t.id = e.tenant_id order by e.id`, args...)
	if err != nil {
		return nil, store.Wrap("loading endpoints", err)
	}
	endpoints, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Target, error) {
		endpoint := &Target{}
		var secret, previous, headers, key []byte
		var chain *string
		var expression string
		err := row.Scan(&endpoint.ID, &endpoint.TenantID, &endpoint.Environment, &endpoint.URL, &endpoint.patterns, &endpoint.Enabled, &endpoint.IsGone, &endpoint.RatePerMinute, &endpoint.Ordered, &expression, &headers, &chain, &key,
			&secret, &endpoint.secret.standard, &previous, &endpoint.previous.standard, &endpoint.previousUntil, &endpoint.switchAtEnd, &endpoint.product,
			&endpoint.Limits.DeliveriesPerRequest, &endpoint.Limits.InFlight, &endpoint.Limits.Queue)
		if err != nil {
			return nil, err
		}
		endpoint.Filter = d.filters.Filter(expression)
		if endpoint.Header, err = d.openHeaders(endpoint.ID, headers); err != nil {
			return nil, err
		}
		if endpoint.Certificate, err = registry.OpenCertificate(d.secrets, endpoint.ID, chain, key); err != nil {
			return nil, err
		}
		return endpoint, d.openSecrets(endpoint, secret, previous)
	})
	if err != nil {
		return nil, store.Wrap("loading endpoints", err)
	}
	return endpoints, nil
}

func (d *Directory) openHeaders(endpoint uuid.UUID, sealed []byte) (header []Header, err error) {
	headers, err := registry.OpenHeaders(d.secrets, endpoint, sealed)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		header = append(header, Header{name, headers[name]})
	}
	return header, err
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
