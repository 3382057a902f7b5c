package directory

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// Integration returns an integration, in use or not; nil if there is none.
func (d *Directory) Integration(ctx context.Context, id uuid.UUID) (*integration.Peer, error) {
	target, err := d.Target(ctx, id, true)
	if err != nil || target == nil {
		return nil, err
	}
	return target.Peer, nil
}

func (d *Directory) loadPeerTarget(ctx context.Context, id uuid.UUID) (*Target, error) {
	i, err := integration.NewRepository(d.pool).Get(ctx, id, integration.Filter{})
	if errors.Is(err, hub.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	tenant, err := dbgen.New(d.pool).TenantByID(ctx, i.TenantID)
	if err != nil {
		return nil, store.Wrap("loading the tenant of an integration", err)
	}
	return d.newPeerTarget(i, tenant)
}

func (d *Directory) newPeerTarget(i integration.Integration, tenant dbgen.Tenant) (*Target, error) {
	connector := d.connectors(i.Product)
	rate := connector.Spec().RatePerMinute
	if i.IsLink {
		rate = d.linkRate
	}
	peer, err := integration.NewPeer(i, tenant.Product, connector, d.secrets)
	if err != nil {
		return nil, err
	}
	return &Target{
		ID: i.ID, TenantID: i.TenantID, Environment: i.Environment, Peer: peer, RatePerMinute: paceBelow(rate), Ordered: i.Ordered,
		Enabled: i.Status == integration.StatusActive, patterns: i.EventTypes, Limits: limitsOf(tenant), product: tenant.Product,
	}, nil
}

// paceBelow returns a pace that stays clear of a peer's rate limit: the peer's minute
// need not be ours, and probes and calls count too.
func paceBelow(limit int) int { return limit - limit/10 }

func limitsOf(tenant dbgen.Tenant) Limits {
	return Limits{
		DeliveriesPerRequest: valueOrZero(tenant.LimitDeliveriesPerRequest),
		InFlight:             valueOrZero(tenant.LimitInFlight), Queue: valueOrZero(tenant.LimitQueue),
	}
}

func valueOrZero(limit *int32) int {
	if limit == nil {
		return 0
	}
	return int(*limit)
}
