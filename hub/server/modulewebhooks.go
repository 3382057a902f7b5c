package server

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/module"
)

// moduleWebhooks manages the endpoints of products' tenants.
type moduleWebhooks struct {
	endpoints *registry.Endpoints
	log       *query.Reader
}

func scopeOf(owner module.WebhookOwner) registry.Scope {
	return registry.Scope{TenantID: &owner.TenantID, Environment: owner.Environment}
}

// List implements [module.Webhooks].
func (m moduleWebhooks) List(ctx context.Context, owner module.WebhookOwner, before *uuid.UUID, limit int) ([]module.Webhook, error) {
	rows, err := m.endpoints.List(ctx, registry.EndpointFilter{Scope: scopeOf(owner)}, before, limit)
	list := make([]module.Webhook, len(rows))
	for i, row := range rows {
		list[i] = webhookOf(row)
	}
	return list, err
}

// Get implements [module.Webhooks].
func (m moduleWebhooks) Get(ctx context.Context, owner module.WebhookOwner, id uuid.UUID) (module.Webhook, error) {
	endpoint, err := m.endpoints.Get(ctx, scopeOf(owner), id)
	return webhookOf(endpoint), err
}

// Create implements [module.Webhooks].
func (m moduleWebhooks) Create(ctx context.Context, owner module.WebhookOwner, settings module.WebhookSettings) (module.Webhook, string, error) {
	endpoint, secret, err := m.endpoints.Create(ctx, owner.TenantID, owner.Environment, endpointState(settings, registry.Endpoint{}), "")
	return webhookOf(endpoint), secret, err
}

// Update implements [module.Webhooks].
func (m moduleWebhooks) Update(ctx context.Context, owner module.WebhookOwner, id uuid.UUID, settings module.WebhookSettings) (module.Webhook, error) {
	present, err := m.endpoints.Get(ctx, scopeOf(owner), id)
	if err != nil {
		return module.Webhook{}, err
	}
	endpoint, _, err := m.endpoints.Update(ctx, scopeOf(owner), id, endpointState(settings, present))
	return webhookOf(endpoint), err
}

// RotateSecret implements [module.Webhooks].
func (m moduleWebhooks) RotateSecret(ctx context.Context, owner module.WebhookOwner, id uuid.UUID) (module.Webhook, string, error) {
	endpoint, secret, err := m.endpoints.RotateSecret(ctx, scopeOf(owner), id, registry.Rotation{Overlap: registry.DefaultOverlap})
	return webhookOf(endpoint), secret, err
}

// Delete implements [module.Webhooks].
func (m moduleWebhooks) Delete(ctx context.Context, owner module.WebhookOwner, id uuid.UUID) error {
	_, err := m.endpoints.Delete(ctx, scopeOf(owner), id)
	return err
}

// Deliveries implements [module.Webhooks].
func (m moduleWebhooks) Deliveries(ctx context.Context, owner module.WebhookOwner, id uuid.UUID, before *uuid.UUID, limit int) ([]module.WebhookDelivery, error) {
	if _, err := m.endpoints.Get(ctx, scopeOf(owner), id); err != nil {
		return nil, err
	}
	items, err := m.log.List(ctx, query.Filter{TenantID: &owner.TenantID, Environment: string(owner.Environment), EndpointID: &id}, before, limit)
	list := make([]module.WebhookDelivery, len(items))
	for i, item := range items {
		list[i] = module.WebhookDelivery{
			ID: item.ID, EventID: item.EventID, EventType: item.EventType, Status: item.Status, Retries: item.Retries,
			CreatedAt: item.CreatedAt, NextAttemptAt: item.NextAttemptAt,
		}
		if item.Reason != nil {
			list[i].Reason = *item.Reason
		}
		if item.StatusCode != nil {
			list[i].StatusCode = *item.StatusCode
		}
	}
	return list, err
}

// endpointState returns an endpoint's new state. What a product's webhooks do not have stays
// as operators set it, but for headers that were meant for another host.
func endpointState(settings module.WebhookSettings, present registry.Endpoint) registry.EndpointState {
	state := registry.EndpointState{
		URL: settings.URL, EventTypes: settings.EventTypes, Enabled: settings.Enabled,
		Description: present.Description, RatePerMinute: present.RatePerMinute,
	}
	if len(present.Headers) > 0 && !registry.SameOrigin(present.URL, settings.URL) {
		state.Headers = map[string]string{}
	}
	return state
}

func webhookOf(e registry.Endpoint) module.Webhook {
	w := module.Webhook{
		ID: e.ID, WebhookSettings: module.WebhookSettings{URL: e.URL, EventTypes: e.EventTypes, Enabled: e.Enabled},
		CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
	}
	if e.DisabledReason != nil {
		w.DisabledReason = *e.DisabledReason
	}
	return w
}
