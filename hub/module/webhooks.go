package module

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
)

// Webhooks manages the plain webhooks of a module's tenants: the hub's endpoints, which the
// operators see too. Of other tenants there is a [hub.ErrNotFound].
type Webhooks interface {
	// List returns at most limit webhooks of a tenant, newest first, that follow the id
	// before; nil begins with the newest.
	List(ctx context.Context, owner WebhookOwner, before *uuid.UUID, limit int) ([]Webhook, error)
	// Get returns a webhook.
	Get(ctx context.Context, owner WebhookOwner, id uuid.UUID) (Webhook, error)
	// Create makes a webhook. It returns the secret that signs its deliveries, which is not
	// shown again. A URL or event types that are not allowed, and more webhooks than the
	// tenant may have, are a [hub.ErrInvalid].
	Create(ctx context.Context, owner WebhookOwner, settings WebhookSettings) (w Webhook, secret string, err error)
	// Update replaces a webhook's settings. Enabling sends the deliveries that were parked.
	Update(ctx context.Context, owner WebhookOwner, id uuid.UUID, settings WebhookSettings) (Webhook, error)
	// RotateSecret replaces a webhook's secret and returns the new one. For a day the old one
	// signs too.
	RotateSecret(ctx context.Context, owner WebhookOwner, id uuid.UUID) (w Webhook, secret string, err error)
	// Delete deletes a webhook. Its log stays.
	Delete(ctx context.Context, owner WebhookOwner, id uuid.UUID) error
	// Deliveries returns at most limit deliveries to a webhook, newest first, that follow the
	// id before; nil begins with the newest.
	Deliveries(ctx context.Context, owner WebhookOwner, id uuid.UUID, before *uuid.UUID, limit int) ([]WebhookDelivery, error)
}

// WebhookOwner is the tenant and the environment that a webhook belongs to.
type WebhookOwner struct {
	TenantID    uuid.UUID
	Environment hub.Environment
}

// WebhookSettings is the part of a webhook that its owner sets.
type WebhookSettings struct {
	URL        string
	EventTypes []string // exact types, prefixes such as "ticket.*", or "*"; see [Audience]'s Topic
	Enabled    bool
}

// Webhook is a tenant's plain webhook.
type Webhook struct {
	ID uuid.UUID
	WebhookSettings
	DisabledReason string // why the hub disabled it: "gone" after a 410; "" = it did not
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// WebhookDelivery is the state of one event's delivery to a webhook.
type WebhookDelivery struct {
	ID            uuid.UUID
	EventID       string
	EventType     string
	Status        string     // pending, delivered, parked or failed
	Reason        string     // why it is parked or failed; "" = it is neither
	StatusCode    int        // HTTP status of the last attempt; 0 = no answer
	Retries       int        // attempts after the first
	CreatedAt     time.Time  //
	NextAttemptAt *time.Time // nil = none will come, or it is under way
}
