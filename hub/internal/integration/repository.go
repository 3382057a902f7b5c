package integration

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/pointer"
)

// Repository loads and saves integrations. Its errors can be returned to a caller.
type Repository struct{ queries *dbgen.Queries }

// NewRepository returns a repository over a pool or a transaction.
func NewRepository(db dbgen.DBTX) Repository { return Repository{dbgen.New(db)} }

// Filter selects integrations; zero fields match everything.
type Filter struct {
	TenantID    *uuid.UUID
	Environment hub.Environment
	Product     string // the peer's
	Status      Status
}

// Listed is an integration with its tenant's product and name.
type Listed struct {
	Integration
	LocalProduct string
	TenantName   string
}

// Get loads an integration. One that belongs to another tenant or environment than the
// filter's is a [hub.ErrNotFound]; the filter's other fields are ignored.
func (r Repository) Get(ctx context.Context, id uuid.UUID, filter Filter) (Integration, error) {
	row, err := r.queries.IntegrationByID(ctx, dbgen.IntegrationByIDParams{
		ID: id, TenantID: filter.TenantID, Environment: pointer.NilIfZero(string(filter.Environment)),
	})
	return fromRow(row), store.Wrap("loading the integration", err)
}

// Find loads a tenant's integration with a product and reports whether there is one.
func (r Repository) Find(ctx context.Context, identity Identity) (i Integration, found bool, err error) {
	row, err := r.queries.IntegrationWithProduct(ctx, dbgen.IntegrationWithProductParams(identity))
	if errors.Is(err, pgx.ErrNoRows) {
		return Integration{}, false, nil
	}
	return fromRow(row), err == nil, store.Wrap("loading the integration", err)
}

// List returns up to limit integrations, newest first, that follow the id before.
func (r Repository) List(ctx context.Context, filter Filter, before *uuid.UUID, limit int) ([]Listed, error) {
	rows, err := r.queries.ListIntegrations(ctx, dbgen.ListIntegrationsParams{
		TenantID: filter.TenantID, Environment: pointer.NilIfZero(string(filter.Environment)), Product: pointer.NilIfZero(filter.Product),
		Status: pointer.NilIfZero(string(filter.Status)), Before: before, RowLimit: int32(limit),
	})
	if err != nil {
		return nil, store.Wrap("listing integrations", err)
	}
	list := make([]Listed, len(rows))
	for n, row := range rows {
		list[n] = Listed{fromRow(row.Integration), row.OwnProduct, row.TenantName}
	}
	return list, nil
}

// Owned is an integration with its tenant.
type Owned struct {
	Integration
	Tenant dbgen.Tenant
}

// OfTenants returns all integrations of tenants, each in the environment at its index.
func (r Repository) OfTenants(ctx context.Context, tenants []uuid.UUID, environments []string) ([]Owned, error) {
	rows, err := r.queries.IntegrationsOfTenants(ctx, tenants, environments)
	if err != nil {
		return nil, store.Wrap("listing integrations", err)
	}
	list := make([]Owned, len(rows))
	for n, row := range rows {
		list[n] = Owned{fromRow(row.Integration), row.Tenant}
	}
	return list, nil
}

// BeginHandshake counts a handshake of the integration, made inactive if there is none,
// and locks it until the transaction ends.
func (r Repository) BeginHandshake(ctx context.Context, identity Identity, webhookURL string) (Integration, error) {
	row, err := r.queries.BeginHandshake(ctx, dbgen.BeginHandshakeParams{
		ID: uuid.Must(uuid.NewV7()), TenantID: identity.TenantID, Environment: identity.Environment, Product: identity.Product, WebhookUrl: webhookURL,
	})
	return fromRow(row), store.Wrap("storing the integration", err)
}

// Ensure returns the integration, made inactive if there is none, and locks it until
// the transaction ends.
func (r Repository) Ensure(ctx context.Context, identity Identity, webhookURL string) (Integration, error) {
	row, err := r.queries.LockOrCreateIntegration(ctx, dbgen.LockOrCreateIntegrationParams{
		ID: uuid.Must(uuid.NewV7()), TenantID: identity.TenantID, Environment: identity.Environment, Product: identity.Product, WebhookUrl: webhookURL,
	})
	return fromRow(row), store.Wrap("storing the integration", err)
}

// Lock loads an integration and locks it until the transaction ends.
func (r Repository) Lock(ctx context.Context, id uuid.UUID) (Integration, error) {
	row, err := r.queries.LockIntegration(ctx, id)
	return fromRow(row), store.Wrap("loading the integration", err)
}

// Save stores everything that a handshake may change and returns what is stored.
// Probes have [Repository.SaveProbe], handshakes count in [Repository.BeginHandshake].
func (r Repository) Save(ctx context.Context, i Integration) (Integration, error) {
	row, err := r.queries.UpdateIntegration(ctx, dbgen.UpdateIntegrationParams{
		ID: i.ID, Status: string(i.Status), Disabled: i.Disabled, ApiUrl: i.APIURL, WebhookUrl: i.WebhookURL, PeerWebhookUrl: i.PeerWebhookURL,
		Secret: i.Secret, PreviousSecret: i.PreviousSecret, PreviousExpiresAt: i.PreviousSecretExpiresAt, PendingSecret: i.PendingSecret,
		Rotations: i.Rotations, RotationOverlapSeconds: i.rotationOverlapSeconds(),
		RemoteKey: i.RemoteKey, RemoteLast4: i.RemoteKeyLast4, PreviousRemoteKey: i.PreviousRemoteKey, Link: i.IsLink,
		PendingKey: i.PendingLocalKey, PendingKeyID: i.PendingLocalKeyID, Features: i.Features, Enabled: i.Uses, EventTypes: i.EventTypes,
		PeerIntegrationID: pointer.NilIfZero(i.PeerIntegrationID), PeerAccount: pointer.NilIfZero(i.PeerAccount), AccountSince: i.AccountSince,
		RegisterAt: i.NextRegistrationAt, RegisterTries: i.RegistrationFailures, RegisteredAt: i.RegisteredAt, RegisteredEvents: i.RegisteredEvents, PeerRegisteredAt: i.PeerRegisteredAt,
		LastError: pointer.NilIfZero(i.LastError), Failures: i.ProbeFailures, Successes: i.ProbeSuccesses, UnauthorizedSince: i.KeyRefusedSince,
		NextProbeAt: i.NextProbeAt, RevokedAt: i.RevokedAt,
	})
	return fromRow(row), store.Wrap("storing the integration", err)
}

// SaveProbe stores what a probe changed. Status and features are written only
// if withStatus is set: writing them makes every process reload its configuration.
func (r Repository) SaveProbe(ctx context.Context, i Integration, withStatus bool) error {
	if !withStatus {
		return store.Wrap("storing a probe", r.queries.RecordProbe(ctx, dbgen.RecordProbeParams{
			ID: i.ID, At: *i.LastHealthCheck, Failures: i.ProbeFailures, Successes: i.ProbeSuccesses, UnauthorizedSince: i.KeyRefusedSince,
			LastError: pointer.NilIfZero(i.LastError), NextProbeAt: i.NextProbeAt, PeerAccount: pointer.NilIfZero(i.PeerAccount),
		}))
	}
	return store.Wrap("storing a probe", r.queries.RecordHealthChange(ctx, dbgen.RecordHealthChangeParams{
		ID: i.ID, Status: string(i.Status), Features: i.Features, At: *i.LastHealthCheck, Failures: i.ProbeFailures, Successes: i.ProbeSuccesses,
		UnauthorizedSince: i.KeyRefusedSince, LastError: pointer.NilIfZero(i.LastError), NextProbeAt: i.NextProbeAt, PeerAccount: pointer.NilIfZero(i.PeerAccount),
	}))
}

// SavePeerAccount stores the account that an integration's remote key belongs to,
// unless the key was replaced since the integration was loaded.
func (r Repository) SavePeerAccount(ctx context.Context, i Integration) error {
	err := r.queries.SetPeerAccount(ctx, dbgen.SetPeerAccountParams{Account: i.PeerAccount, ID: i.ID, RemoteKey: i.RemoteKey})
	return store.Wrap("storing the peer's account", err)
}

// SaveOrdered stores whether the integration is ordered and returns what is stored.
func (r Repository) SaveOrdered(ctx context.Context, i Integration) (Integration, error) {
	row, err := r.queries.SetIntegrationOrdered(ctx, i.Ordered, i.ID)
	return fromRow(row), store.Wrap("storing the integration", err)
}

// SetProduct sets the product of an integration that has the product unnamed until now. It
// reports false, and changes nothing, if the integration has another product, is revoked,
// or was connected from here, or if the tenant has an integration with the product.
func (r Repository) SetProduct(ctx context.Context, id uuid.UUID, unnamed, product string) (bool, error) {
	changed, err := r.queries.SetIntegrationProduct(ctx, dbgen.SetIntegrationProductParams{Product: product, ID: id, Unnamed: unnamed})
	if dberr.Code(err) == dberr.UniqueViolation { // made concurrently
		return false, nil
	}
	return changed > 0, store.Wrap("setting the product of an integration", err)
}

// ScheduleOutdatedRegistrations makes the registrations of a product's integrations due at a
// time whose peers were registered for other event types than these. It returns how many.
func (r Repository) ScheduleOutdatedRegistrations(ctx context.Context, product string, eventTypes []string, at time.Time) (int64, error) {
	count, err := r.queries.ScheduleOutdatedRegistrations(ctx, dbgen.ScheduleOutdatedRegistrationsParams{At: at, Product: product, Events: append([]string{}, eventTypes...)})
	return count, store.Wrap("scheduling registrations", err)
}

// Products returns the products whose tenants have integrations.
func (r Repository) Products(ctx context.Context) ([]string, error) {
	names, err := r.queries.ProductsWithIntegrations(ctx)
	return names, store.Wrap("listing products with integrations", err)
}

// ClaimDueRegistrations returns up to limit integrations whose registration is due at a
// time, and moves them to until so that no other process claims them.
func (r Repository) ClaimDueRegistrations(ctx context.Context, at, until time.Time, limit int32) ([]uuid.UUID, error) {
	ids, err := r.queries.ClaimDueRegistrations(ctx, dbgen.ClaimDueRegistrationsParams{Until: until, At: at, RowLimit: limit})
	return ids, store.Wrap("claiming registrations", err)
}

// ClaimDueProbes returns up to limit integrations whose probe is due at a time, and moves
// them to until so that no other process claims them.
func (r Repository) ClaimDueProbes(ctx context.Context, at, until time.Time, limit int32) ([]uuid.UUID, error) {
	ids, err := r.queries.ClaimDueProbes(ctx, dbgen.ClaimDueProbesParams{Until: until, At: at, RowLimit: limit})
	return ids, store.Wrap("claiming probes", err)
}

func fromRow(row dbgen.Integration) Integration {
	return Integration{
		ID: row.ID, Identity: Identity{row.TenantID, row.Environment, row.Product},
		Status: Status(row.Status), Disabled: row.Disabled, LastError: pointer.ValueOrZero(row.LastError),
		APIURL: row.ApiUrl, WebhookURL: row.WebhookUrl, PeerWebhookURL: row.PeerWebhookUrl,
		EventTypes: row.EventTypes, Features: row.Features, Uses: row.Enabled, Ordered: row.Ordered,
		Secret: row.Secret, PreviousSecret: row.PreviousSecret, PreviousSecretExpiresAt: row.PreviousExpiresAt, PendingSecret: row.PendingSecret,
		Rotations: row.Rotations, RotationOverlap: rotationOverlap(row.RotationOverlapSeconds),
		RemoteKey: row.RemoteKey, RemoteKeyLast4: row.RemoteLast4, PreviousRemoteKey: row.PreviousRemoteKey, IsLink: row.Link,
		PendingLocalKey: row.PendingKey, PendingLocalKeyID: row.PendingKeyID,
		PeerIntegrationID: pointer.ValueOrZero(row.PeerIntegrationID), PeerAccount: pointer.ValueOrZero(row.PeerAccount), AccountSince: row.AccountSince,
		Handshake: row.Handshake, NextRegistrationAt: row.RegisterAt, RegistrationFailures: row.RegisterTries,
		RegisteredAt: row.RegisteredAt, RegisteredEvents: row.RegisteredEvents, PeerRegisteredAt: row.PeerRegisteredAt,
		LastHealthCheck: row.LastHealthCheck, NextProbeAt: row.NextProbeAt, ProbeFailures: row.Failures, ProbeSuccesses: row.Successes,
		KeyRefusedSince: row.UnauthorizedSince, AbandonedAt: row.AbandonedAt, RevokedAt: row.RevokedAt, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}
