package connect

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
)

// View is an integration as administrators see it: of its secrets and keys it has only
// the last four characters.
type View struct {
	module.Integration
	LocalProduct            string     // of the tenant
	TenantName              string     //
	Disabled                bool       // by an administrator
	Ordered                 bool       // the peer gets the events of one ordering key one at a time
	SecretLast4             string     // of the webhook secret; "" = none
	PeerIntegrationID       string     // the peer's own id of the connection, or ""
	PeerWebhookURL          string     // where the peer receives events, or ""
	PeerAccount             string     // the peer's id of its account, or ""
	PreviousSecretExpiresAt *time.Time // end of a secret's overlap
	NextRegistrationAt      *time.Time // when the registration is tried again
	RegisteredAt            *time.Time // the last success of our registration
	PeerRegisteredAt        *time.Time // when the peer last registered with us
	RevokedAt               *time.Time
}

// List returns up to limit integrations, newest first, that follow the id before.
func (s *Service) List(ctx context.Context, filter integration.Filter, before *uuid.UUID, limit int) ([]View, error) {
	listed, err := s.integrations().List(ctx, filter, before, limit)
	if err != nil {
		return nil, err
	}
	views := make([]View, len(listed))
	for i, row := range listed {
		views[i] = s.viewOf(row)
	}
	return views, s.addLocalKeys(ctx, views)
}

// Get loads an integration. One that belongs to another tenant or environment than the
// filter's is a [hub.ErrNotFound].
func (s *Service) Get(ctx context.Context, id uuid.UUID, filter integration.Filter) (View, error) {
	i, err := s.integrations().Get(ctx, id, filter)
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, i)
}

// view completes an integration with its tenant and its key.
func (s *Service) view(ctx context.Context, i integration.Integration) (View, error) {
	tenant, err := s.loadTenant(ctx, i.TenantID)
	if err != nil {
		return View{}, err
	}
	views := []View{s.viewOf(integration.Listed{Integration: i, LocalProduct: tenant.Product, TenantName: tenant.Name})}
	err = s.addLocalKeys(ctx, views)
	return views[0], err
}

// addLocalKeys fills in the last characters of the newest key each peer has of ours.
func (s *Service) addLocalKeys(ctx context.Context, views []View) error {
	ids := make([]uuid.UUID, len(views))
	for i := range views {
		ids[i] = views[i].ID
	}
	rows, err := dbgen.New(s.DB).ActiveIntegrationKeys(ctx, ids, s.Now())
	if err != nil {
		return store.Wrap("loading the keys of integrations", err)
	}
	for i := range views {
		for _, row := range rows {
			if row.IntegrationID != nil && *row.IntegrationID == views[i].ID {
				views[i].LocalKeyLast4 = row.Last4
				break
			}
		}
	}
	return nil
}

func (s *Service) viewOf(listed integration.Listed) View {
	i := &listed.Integration
	secrets, err := i.OpenSecrets(s.Box)
	if err != nil { // the rest is worth showing
		s.Log.Error("an integration's secrets cannot be opened", "integration_id", i.ID, "error", err)
	}
	view := View{
		SecretLast4: keys.Last4(secrets.Current),
		Integration: module.Integration{
			ID: i.ID, TenantID: i.TenantID, Environment: i.Environment, Product: i.Product, Status: string(i.Status), Paused: i.IsPaused(),
			LastError: i.LastError, Features: i.Features, EnabledUses: i.Uses, APIURL: i.APIURL, WebhookURL: i.WebhookURL,
			RemoteKeyLast4: i.RemoteKeyLast4, CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt,
		},
		LocalProduct: listed.LocalProduct, TenantName: listed.TenantName, Disabled: i.Disabled, Ordered: i.Ordered,
		PeerIntegrationID: i.PeerIntegrationID, PeerWebhookURL: i.PeerWebhookURL, PeerAccount: i.PeerAccount,
		PreviousSecretExpiresAt: i.PreviousSecretExpiresAt, NextRegistrationAt: i.NextRegistrationAt, RegisteredAt: i.RegisteredAt,
		PeerRegisteredAt: i.PeerRegisteredAt, RevokedAt: i.RevokedAt,
	}
	switch {
	case i.RevokedAt != nil:
		view.EndedAt = *i.RevokedAt
	case i.State() == integration.StateDisconnected:
		view.EndedAt = i.UpdatedAt // nothing changes a disconnected one
	}
	if i.LastHealthCheck != nil {
		view.LastHealthCheck = *i.LastHealthCheck
	}
	return view
}
