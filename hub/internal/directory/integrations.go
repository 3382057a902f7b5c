package directory

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// Integration is a tenant's connection to a peer, ready to be spoken to.
type Integration struct {
	ID          uuid.UUID
	TenantID    uuid.UUID
	Environment hub.Environment
	Product     string // the peer's
	Status      string // active, inactive or error

	Connector hub.Connector

	row     dbgen.Integration
	own     string
	secrets connect.Secrets
	sends   []string // event types the peer can take at all
	target  *Target
}

// takes tells whether the peer can take events of a type. One that is paused gets nothing
// of what happens meanwhile but that somebody was deleted, whom it knows from before: that
// is parked for it.
func (i *Integration) takes(eventType string) bool {
	return hub.MatchesEventType(i.sends, eventType) && (i.Status != connect.Inactive || eventType == events.TypePatientDeleted)
}

// MetAfter tells whether an event that was accepted at a moment was for another account
// of the peer's product, which the integration was with then.
func (i *Integration) MetAfter(accepted time.Time) bool {
	return i.row.AccountSince != nil && accepted.Before(*i.row.AccountSince)
}

// Connection is the integration as connectors see it at a moment.
func (i *Integration) Connection(now time.Time) hub.Connection {
	return i.secrets.Connection(i.row, i.own, now)
}

// Integration finds one integration, in use or not; nil where there is none.
func (d *Directory) Integration(ctx context.Context, id uuid.UUID) (*Integration, error) {
	generation := d.current.Load()
	if found, ok := generation.integrations.Load(id); ok {
		return found.(*Integration), nil
	}
	found, err := d.loadIntegration(ctx, id)
	if err != nil {
		return nil, err
	}
	generation.integrations.Store(id, found)
	return found, nil
}

func (d *Directory) loadIntegration(ctx context.Context, id uuid.UUID) (*Integration, error) {
	queries := dbgen.New(d.pool)
	row, err := queries.IntegrationByID(ctx, dbgen.IntegrationByIDParams{ID: id})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, store.Failed("loading an integration", err)
	}
	tenant, err := queries.TenantByID(ctx, row.TenantID)
	if err != nil {
		return nil, store.Failed("loading the tenant of an integration", err)
	}
	return d.peer(row, tenant.Product)
}

// mostPeers is more than a tenant can have: one integration for each product.
const mostPeers = 1000

// loadPeers loads the peers a tenant's events go to, and the paused ones.
func (d *Directory) loadPeers(ctx context.Context, tenant uuid.UUID, environment hub.Environment) ([]*Target, error) {
	name := string(environment)
	rows, err := dbgen.New(d.pool).ListIntegrations(ctx, dbgen.ListIntegrationsParams{TenantID: &tenant, Environment: &name, RowLimit: mostPeers})
	if err != nil {
		return nil, store.Failed("loading integrations", err)
	}
	var targets []*Target
	for _, row := range rows {
		if row.Integration.Status == connect.Inactive && !connect.Paused(row.Integration) {
			continue
		}
		found, err := d.peer(row.Integration, row.OwnProduct)
		if err != nil {
			return nil, err
		}
		targets = append(targets, found.target)
	}
	return targets, nil
}

// peer makes a stored integration ready to be spoken to.
func (d *Directory) peer(row dbgen.Integration, own string) (*Integration, error) {
	secrets, err := connect.OpenSecrets(d.secrets, row)
	if err != nil {
		return nil, err
	}
	connector := d.speaks(row.Product)
	spec := connector.Spec()
	found := &Integration{
		ID: row.ID, TenantID: row.TenantID, Environment: row.Environment, Product: row.Product, Status: row.Status,
		Connector: connector, row: row, own: own, secrets: secrets, sends: spec.Sends,
	}
	found.target = &Target{
		ID: row.ID, TenantID: row.TenantID, Environment: row.Environment, Peer: found, RatePerMinute: below(spec.RatePerMinute),
		Enabled: row.Status == connect.Active, patterns: row.EventTypes,
	}
	return found, nil
}

// below is the pace that stays clear of a peer's limit: what it counts as one minute
// need not be what the hub does, and probes and calls count as well.
func below(limit int) int { return limit - limit/10 }
