package directory

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
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

	row     dbgen.Integration
	own     string
	secrets connect.Secrets
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
	secrets, err := connect.OpenSecrets(d.secrets, row)
	if err != nil {
		return nil, err
	}
	return &Integration{
		ID: row.ID, TenantID: row.TenantID, Environment: row.Environment, Product: row.Product, Status: row.Status,
		row: row, own: tenant.Product, secrets: secrets,
	}, nil
}
