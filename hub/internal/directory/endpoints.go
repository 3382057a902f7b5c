package directory

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/store"
)

// Endpoint is one webhook subscription, ready to be delivered to.
type Endpoint struct {
	ID            uuid.UUID
	TenantID      uuid.UUID
	Environment   hub.Environment
	URL           string
	RatePerMinute int // 0 = not paced
	Enabled       bool
	patterns      []string
	signer        *hub.Signer
	previous      *hub.Signer // nil: none
	previousUntil time.Time
}

// Signers sign with the endpoint's secrets as they are at a moment: the current
// one, and during a rotation the one before, else nil.
func (e *Endpoint) Signers(now time.Time) (current, previous *hub.Signer) {
	if e.previous != nil && now.Before(e.previousUntil) {
		return e.signer, e.previous
	}
	return e.signer, nil
}

// Wants tells whether the endpoint subscribed to an event type.
func (e *Endpoint) Wants(eventType string) bool { return hub.Subscribed(e.patterns, eventType) }

// Subscribers are a tenant's enabled endpoints that want an event type.
func (d *Directory) Subscribers(ctx context.Context, tenant uuid.UUID, environment hub.Environment, eventType string) ([]*Endpoint, error) {
	generation := d.current.Load()
	key := scope{tenant, environment}
	loaded, ok := generation.tenants.Load(key)
	if !ok {
		endpoints, err := d.loadEndpoints(ctx, `tenant_id = $1 and environment = $2 and enabled`, tenant, environment)
		if err != nil {
			return nil, err
		}
		generation.tenants.Store(key, endpoints)
		loaded = endpoints
	}
	endpoints := loaded.([]*Endpoint)
	wanted := make([]*Endpoint, 0, len(endpoints))
	for _, endpoint := range endpoints {
		if endpoint.Wants(eventType) {
			wanted = append(wanted, endpoint)
		}
	}
	return wanted, nil
}

// Endpoint finds one endpoint, enabled or not; nil where it was deleted.
func (d *Directory) Endpoint(ctx context.Context, id uuid.UUID) (*Endpoint, error) {
	generation := d.current.Load()
	if found, ok := generation.endpoints.Load(id); ok {
		return found.(*Endpoint), nil
	}
	endpoints, err := d.loadEndpoints(ctx, `id = $1`, id)
	if err != nil {
		return nil, err
	}
	var endpoint *Endpoint
	if len(endpoints) == 1 {
		endpoint = endpoints[0]
	}
	generation.endpoints.Store(id, endpoint)
	return endpoint, nil
}

func (d *Directory) loadEndpoints(ctx context.Context, where string, args ...any) ([]*Endpoint, error) {
	rows, err := d.pool.Query(ctx, `
		select id, tenant_id, environment, url, event_types, enabled, coalesce(rate_per_minute, 0),
		       secret, previous_secret, coalesce(previous_expires_at, 'epoch')
		from hub.endpoints where deleted_at is null and `+where+` order by id`, args...)
	if err != nil {
		return nil, store.Failed("loading endpoints", err)
	}
	endpoints, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Endpoint, error) {
		e := &Endpoint{}
		var secret, previous []byte
		err := row.Scan(&e.ID, &e.TenantID, &e.Environment, &e.URL, &e.patterns, &e.Enabled, &e.RatePerMinute,
			&secret, &previous, &e.previousUntil)
		if err != nil {
			return nil, err
		}
		return e, d.openSecrets(e, secret, previous)
	})
	if err != nil {
		return nil, store.Failed("loading endpoints", err)
	}
	return endpoints, nil
}

func (d *Directory) openSecrets(e *Endpoint, secret, previous []byte) error {
	plain, err := d.secrets.Open(secret, registry.SecretContext(e.ID))
	if err != nil {
		return fmt.Errorf("opening the secret of endpoint %s: %w", e.ID, err)
	}
	e.signer = hub.NewSigner(string(plain))
	if len(previous) == 0 {
		return nil
	}
	plain, err = d.secrets.Open(previous, registry.SecretContext(e.ID))
	if err != nil {
		return fmt.Errorf("opening the previous secret of endpoint %s: %w", e.ID, err)
	}
	e.previous = hub.NewSigner(string(plain))
	return nil
}
