package connect

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
)

// Integration is what may be seen of a connection.
type Integration struct {
	module.Integration
	OwnProduct       string     // of the tenant
	TenantName       string     //
	Disabled         bool       // by an administrator
	SecretLast4      string     // of the webhook secret, "" = none
	PeerID           string     // the peer's own id of the connection, or ""
	PeerWebhookURL   string     // where the peer takes events, or ""
	PreviousUntil    *time.Time // end of a secret's overlap
	RegistrationTry  *time.Time // when the registration is tried again
	RegisteredAt     *time.Time // the last success of ours
	PeerRegisteredAt *time.Time // of the peer's
	RevokedAt        *time.Time
}

// Opener decrypts what is sealed at rest.
type Opener interface {
	Open(sealed []byte, context string) ([]byte, error)
}

// Secrets are an integration's secrets and keys in plain: never log them.
type Secrets struct {
	current, previous, pending string
	previousUntil              time.Time
	key, previousKey           string
}

// OpenSecrets decrypts the secrets of a stored integration.
func OpenSecrets(box Opener, row dbgen.Integration) (Secrets, error) {
	var s Secrets
	for _, one := range []struct {
		into    *string
		sealed  []byte
		context string
	}{
		{&s.current, row.Secret, registry.IntegrationSecretContext(row.ID)},
		{&s.previous, row.PreviousSecret, registry.IntegrationSecretContext(row.ID)},
		{&s.pending, row.PendingSecret, registry.IntegrationSecretContext(row.ID)},
		{&s.key, row.RemoteKey, registry.RemoteKeyContext(row.ID)},
		{&s.previousKey, row.PreviousRemoteKey, registry.RemoteKeyContext(row.ID)},
	} {
		if len(one.sealed) == 0 {
			continue
		}
		plain, err := box.Open(one.sealed, one.context)
		if err != nil {
			return Secrets{}, fmt.Errorf("opening a secret of integration %s: %w", row.ID, err)
		}
		*one.into = string(plain)
	}
	if row.PreviousExpiresAt != nil {
		s.previousUntil = *row.PreviousExpiresAt
	}
	return s, nil
}

// Connection is the integration as connectors see it at a moment: signed with the
// current secret, verified with all that count, the one included that a
// registration under way may have told the peer already.
func (s Secrets) Connection(row dbgen.Integration, own string, now time.Time) hub.Connection {
	c := hub.Connection{
		ID: row.ID, Product: row.Product, LocalProduct: own, Environment: row.Environment, URL: row.ApiUrl, WebhookURL: row.PeerWebhookUrl,
		Key: s.key, Now: now,
	}
	if s.current != "" {
		c.Secrets = append(c.Secrets, s.current)
	}
	if s.previous != "" && now.Before(s.previousUntil) {
		c.Secrets = append(c.Secrets, s.previous)
	}
	if s.pending != "" && s.pending != s.current {
		c.Secrets = append(c.Secrets, s.pending)
	}
	return c
}

// connection opens a stored integration.
func (s *Service) connection(row dbgen.Integration, own string) (hub.Connection, Secrets, error) {
	secrets, err := OpenSecrets(s.Box, row)
	if err != nil {
		return hub.Connection{}, Secrets{}, err
	}
	return secrets.Connection(row, own, s.Now()), secrets, nil
}

// Paused tells whether a stored integration is not in use until somebody enables it: an
// administrator stopped it, or its key was refused for too long. Neither side has ended it.
func Paused(row dbgen.Integration) bool {
	return row.Status == Inactive && row.RevokedAt == nil && (row.RegisteredAt != nil || row.PeerRegisteredAt != nil)
}

// Filter narrows a list of integrations; zero fields match everything.
type Filter struct {
	TenantID    *uuid.UUID
	Environment hub.Environment
	Product     string // the peer's
	Status      string
}

// List gives up to limit integrations, newest first, that come after the one before.
func (s *Service) List(ctx context.Context, filter Filter, before *uuid.UUID, limit int) ([]Integration, error) {
	rows, err := dbgen.New(s.DB).ListIntegrations(ctx, dbgen.ListIntegrationsParams{
		TenantID: filter.TenantID, Environment: given(string(filter.Environment)), Product: given(filter.Product),
		Status: given(filter.Status), Before: before, RowLimit: int32(limit),
	})
	if err != nil {
		return nil, store.Failed("listing integrations", err)
	}
	list := make([]Integration, len(rows))
	for i, row := range rows {
		list[i] = s.viewOf(row.Integration, row.OwnProduct, row.TenantName)
	}
	return list, s.addKeys(ctx, list)
}

// Get loads one integration; one that belongs to another tenant or environment
// than the filter's is a [hub.ErrNotFound].
func (s *Service) Get(ctx context.Context, id uuid.UUID, reach Filter) (Integration, error) {
	row, err := s.load(ctx, id, reach)
	if err != nil {
		return Integration{}, err
	}
	return s.view(ctx, row)
}

func (s *Service) load(ctx context.Context, id uuid.UUID, reach Filter) (dbgen.Integration, error) {
	row, err := dbgen.New(s.DB).IntegrationByID(ctx, dbgen.IntegrationByIDParams{
		ID: id, TenantID: reach.TenantID, Environment: given(string(reach.Environment)),
	})
	return row, store.Failed("loading the integration", err)
}

// view completes a stored integration with what other tables know of it.
func (s *Service) view(ctx context.Context, row dbgen.Integration) (Integration, error) {
	tenant, err := dbgen.New(s.DB).TenantByID(ctx, row.TenantID)
	if err != nil {
		return Integration{}, store.Failed("loading the tenant", err)
	}
	one := []Integration{s.viewOf(row, tenant.Product, tenant.Name)}
	err = s.addKeys(ctx, one)
	return one[0], err
}

// addKeys fills in how the newest keys of our own end.
func (s *Service) addKeys(ctx context.Context, list []Integration) error {
	ids := make([]uuid.UUID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	rows, err := dbgen.New(s.DB).KeysOfIntegrations(ctx, ids, s.Now())
	if err != nil {
		return store.Failed("loading the keys of integrations", err)
	}
	for i := range list {
		for _, row := range rows {
			if row.IntegrationID != nil && *row.IntegrationID == list[i].ID {
				list[i].LocalKeyLast4 = row.Last4
				break
			}
		}
	}
	return nil
}

func (s *Service) viewOf(row dbgen.Integration, own, tenantName string) Integration {
	secrets, err := OpenSecrets(s.Box, row)
	if err != nil { // the list is worth showing all the same
		s.Log.Error("an integration's secrets cannot be opened", "integration_id", row.ID, "error", err)
	}
	return Integration{
		SecretLast4: keys.Last4(secrets.current),
		Integration: module.Integration{
			ID: row.ID, TenantID: row.TenantID, Environment: row.Environment, Product: row.Product, Status: row.Status, Paused: Paused(row),
			LastError: value(row.LastError), Features: row.Features, EnabledUses: row.Enabled, APIURL: row.ApiUrl, WebhookURL: row.WebhookUrl,
			RemoteKeyLast4: row.RemoteLast4, LastHealthCheck: value(row.LastHealthCheck), CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
		},
		OwnProduct: own, TenantName: tenantName, Disabled: row.Disabled, PeerID: value(row.PeerIntegrationID), PeerWebhookURL: row.PeerWebhookUrl,
		PreviousUntil: row.PreviousExpiresAt, RegistrationTry: row.RegisterAt, RegisteredAt: row.RegisteredAt,
		PeerRegisteredAt: row.PeerRegisteredAt, RevokedAt: row.RevokedAt,
	}
}

func saving(row dbgen.Integration) dbgen.SaveIntegrationParams {
	return dbgen.SaveIntegrationParams{
		ID: row.ID, Status: row.Status, Disabled: row.Disabled, ApiUrl: row.ApiUrl, WebhookUrl: row.WebhookUrl, PeerWebhookUrl: row.PeerWebhookUrl,
		Secret: row.Secret, PreviousSecret: row.PreviousSecret, PreviousExpiresAt: row.PreviousExpiresAt, PendingSecret: row.PendingSecret,
		RemoteKey: row.RemoteKey, RemoteLast4: row.RemoteLast4,
		PreviousRemoteKey: row.PreviousRemoteKey,
		PendingKey:        row.PendingKey, PendingKeyID: row.PendingKeyID, Features: row.Features, Enabled: row.Enabled, EventTypes: row.EventTypes,
		PeerIntegrationID: row.PeerIntegrationID, PeerAccount: row.PeerAccount, AccountSince: row.AccountSince, RegisterAt: row.RegisterAt, RegisterTries: row.RegisterTries,
		RegisteredAt: row.RegisteredAt, PeerRegisteredAt: row.PeerRegisteredAt, LastError: row.LastError,
		Failures: row.Failures, Successes: row.Successes, UnauthorizedSince: row.UnauthorizedSince, NextProbeAt: row.NextProbeAt,
		RevokedAt: row.RevokedAt,
	}
}

// value is what a pointer points to, or the zero value.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// given is nil for an empty text.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
