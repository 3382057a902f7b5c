package productapi

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/connect"
)

// registerInput is lenient: a peer may send only the documented webhook_url, and fields
// that are unknown here.
type registerInput struct {
	Body struct {
		_ struct{} `additionalProperties:"true"`

		RegistrationID string    `json:"registration_id,omitempty" maxLength:"200" doc:"The caller's own id of the connection, the same for every try"`
		Product        string    `json:"product,omitempty" maxLength:"40" doc:"Who registers"`
		Environment    string    `json:"environment,omitempty" maxLength:"10" doc:"live or test; that of the key"`
		WebhookURL     string    `json:"webhook_url" minLength:"1" maxLength:"2048" doc:"Where the caller takes events" example:"https://messaging.example.com/api/v1/integrations/webhook"`
		WebhookSecret  string    `json:"webhook_secret,omitempty" maxLength:"256" nullable:"true" doc:"For both directions; null or absent: made here, and returned"`
		APIKey         string    `json:"api_key,omitempty" maxLength:"512" nullable:"true" doc:"The key with which the caller is called; null or absent: none"`
		Events         *[]string `json:"events,omitempty" maxItems:"200" nullable:"true" doc:"Event types the caller wants: exact, with *, or a prefix such as patient.*; null or absent: all"`
		Features       *[]string `json:"features,omitempty" maxItems:"100" nullable:"true" doc:"What the caller offers; null or absent: not known"`
	} `nameHint:"RegisterWebhook"`
}

// RegisteredPeer is the answer to a registration.
type RegisteredPeer struct {
	IntegrationID uuid.UUID `json:"integration_id" format:"uuid" doc:"Connection it belongs to"`
	WebhookURL    string    `json:"webhook_url" doc:"Where this product takes events"`
	Features      []string  `json:"features" nullable:"false" doc:"What this product offers"`
	Status        string    `json:"status" enum:"active,inactive,error" doc:"State it is in"`
	WebhookSecret string    `json:"webhook_secret,omitempty" doc:"Only where the caller brought none: it was made here"`
}

type unregisterInput struct {
	Body *struct {
		_ struct{} `additionalProperties:"true"`
	} `nameHint:"UnregisterWebhook" required:"false"`
}

// Unregistered is the answer to a peer that ended the integration.
type Unregistered struct {
	IntegrationID uuid.UUID `json:"integration_id" format:"uuid" doc:"Connection it belongs to"`
	Status        string    `json:"status" enum:"active,inactive,error" doc:"State it is in"`
}

// WebhookEnvelope is the body of a webhook: docs/interfaces/clinic.md, "Webhook envelope".
type WebhookEnvelope struct {
	_ struct{} `additionalProperties:"true"`

	ID            string         `json:"id" example:"evt_0123456789abcdef" maxLength:"20" pattern:"^evt_[0-9a-fA-F]{16}$" doc:"evt_ and 16 hexadecimal digits, compared in lowercase"`
	Product       string         `json:"product" maxLength:"40" doc:"The sender"`
	EventType     string         `json:"event_type" maxLength:"128" doc:"What happened, such as appointment.created" example:"patient.created"`
	Timestamp     string         `json:"timestamp" example:"2026-01-02T03:04:05Z" maxLength:"40" doc:"When it happened, at most 30 days ago"`
	CorrelationID string         `json:"correlation_id,omitempty" nullable:"true" maxLength:"200" doc:"Ties events of one story together; null or absent: none"`
	Data          map[string]any `json:"data" doc:"What the event says; its members depend on event_type"`
}

type webhookInput struct {
	Signature string `header:"X-Webhook-Signature" required:"true" doc:"sha256= and the lowercase hexadecimal HMAC-SHA256 of the raw body, keyed with the webhook secret"`
	Body      WebhookEnvelope
}

// ReceivedEvent is the answer to a webhook.
type ReceivedEvent struct {
	Received bool   `json:"received" doc:"Always true: the event is stored"`
	ID       string `json:"id" doc:"Names the event, as sent" example:"evt_0123456789abcdef"`
	Status   string `json:"status" enum:"accepted,duplicate,ignored" doc:"accepted: it took effect; duplicate: it came before; ignored: it concerns nothing here"`
}

func (p *Product) registerPeer(ctx context.Context, in *registerInput) (*struct{ Body RegisteredPeer }, error) {
	body := in.Body
	registration := connect.Registration{
		ID: body.RegistrationID, Product: body.Product, Environment: hub.Environment(body.Environment), WebhookURL: body.WebhookURL,
		Secret: body.WebhookSecret, Key: body.APIKey,
	}
	if body.Events != nil {
		registration.Events = *body.Events
	}
	if body.Features != nil {
		registration.Features = *body.Features
	}
	accepted, err := p.deps.Connect.Accept(ctx, *requestInfoFrom(ctx).key, registration)
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, accepted.IntegrationID)
	return &struct{ Body RegisteredPeer }{RegisteredPeer{
		IntegrationID: accepted.IntegrationID, WebhookURL: accepted.WebhookURL, Features: accepted.Features,
		Status: accepted.Status, WebhookSecret: accepted.Secret,
	}}, nil
}

func (p *Product) unregisterPeer(ctx context.Context, _ *unregisterInput) (*struct{ Body Unregistered }, error) {
	view, err := p.deps.Connect.Unregister(ctx, *requestInfoFrom(ctx).key)
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, view.ID)
	return &struct{ Body Unregistered }{Unregistered{view.ID, view.Status}}, nil
}
