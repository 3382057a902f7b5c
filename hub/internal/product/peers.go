package product

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/connect"
)

// registerInput is lenient: peers that know the documents only send webhook_url, and
// others fields that are not known here.
type registerInput struct {
	Body struct {
		_ struct{} `additionalProperties:"true"`

		RegistrationID string    `json:"registration_id,omitempty" maxLength:"200" doc:"The caller's own id of the connection, the same for every try"`
		Product        string    `json:"product,omitempty" maxLength:"40" doc:"Who registers"`
		Environment    string    `json:"environment,omitempty" maxLength:"10" doc:"live or test; that of the key"`
		WebhookURL     string    `json:"webhook_url" minLength:"1" maxLength:"2048" doc:"Where the caller takes events" example:"https://messaging.example.com/api/v1/integrations/webhook"`
		WebhookSecret  string    `json:"webhook_secret,omitempty" maxLength:"256" doc:"For both directions; absent: made here, and answered"`
		APIKey         string    `json:"api_key,omitempty" maxLength:"512" doc:"The key with which the caller is called"`
		Events         *[]string `json:"events,omitempty" maxItems:"200" doc:"Event types the caller wants: exact, with *, or a prefix such as patient.*; absent: all"`
		Features       *[]string `json:"features,omitempty" maxItems:"100" doc:"What the caller offers"`
	} `nameHint:"RegisterWebhook"`
}

// RegisteredPeer is the answer to a registration.
type RegisteredPeer struct {
	IntegrationID uuid.UUID `json:"integration_id" format:"uuid"`
	WebhookURL    string    `json:"webhook_url" doc:"Where this product takes events"`
	Features      []string  `json:"features" nullable:"false"`
	Status        string    `json:"status" enum:"active,inactive,error"`
	WebhookSecret string    `json:"webhook_secret,omitempty" doc:"Only where the caller brought none: it was made here"`
}

type unregisterInput struct {
	Body *struct {
		_ struct{} `additionalProperties:"true"`
	} `nameHint:"UnregisterWebhook" required:"false"`
}

// Unregistered is the answer to a peer that left.
type Unregistered struct {
	IntegrationID uuid.UUID `json:"integration_id" format:"uuid"`
	Status        string    `json:"status" enum:"active,inactive,error"`
}

// WebhookEnvelope is the envelope of interface document 3.
type WebhookEnvelope struct {
	_ struct{} `additionalProperties:"true"`

	ID            string         `json:"id" example:"evt_0123456789abcdef" doc:"evt_ and 16 hexadecimal digits"`
	Product       string         `json:"product" doc:"The sender"`
	EventType     string         `json:"event_type" example:"patient.created"`
	Timestamp     string         `json:"timestamp" example:"2026-01-02T03:04:05Z" doc:"When it happened, at most 30 days ago"`
	CorrelationID string         `json:"correlation_id,omitempty"`
	Data          map[string]any `json:"data"`
}

type webhookInput struct {
	Signature string `header:"X-Webhook-Signature" required:"true" doc:"sha256= and the lowercase hexadecimal HMAC-SHA256 of the raw body, keyed with the webhook secret"`
	Body      WebhookEnvelope
}

// ReceivedEvent is the answer to a webhook.
type ReceivedEvent struct {
	Received bool   `json:"received"`
	ID       string `json:"id" example:"evt_0123456789abcdef"`
	Status   string `json:"status" enum:"accepted,duplicate,ignored"`
}

func (p *Product) peerRoutes(router fiber.Router) {
	register(p.api, operation(http.MethodPost, "/webhook/register", 200, actionRegister, "Say where this product's events are to go", anyKey), p.acceptPeer)
	register(p.api, operation(http.MethodPost, "/webhook/unregister", 200, actionUnregister, "End the integration the key is bound to", anyKey), p.dropPeer)
	webhook := operation(http.MethodPost, "/webhook", 200, actionWebhook, "Deliver an event", anyKey)
	huma.Register(p.documentOnly, webhook, func(context.Context, *webhookInput) (*struct{ Body ReceivedEvent }, error) { return nil, nil })
	router.Add(webhook.Method, webhook.Path, p.receive)
}

func (p *Product) acceptPeer(ctx context.Context, in *registerInput) (*struct{ Body RegisteredPeer }, error) {
	b := in.Body
	r := connect.Registration{
		ID: b.RegistrationID, Product: b.Product, Environment: hub.Environment(b.Environment), WebhookURL: b.WebhookURL,
		Secret: b.WebhookSecret, Key: b.APIKey,
	}
	if b.Events != nil {
		r.Events = *b.Events
	}
	if b.Features != nil {
		r.Features = *b.Features
	}
	accepted, err := p.deps.Connect.Accept(ctx, *aboutOf(ctx).key, r)
	if err != nil {
		return nil, err
	}
	touched(ctx, accepted.IntegrationID)
	return &struct{ Body RegisteredPeer }{RegisteredPeer{
		IntegrationID: accepted.IntegrationID, WebhookURL: accepted.WebhookURL, Features: accepted.Features,
		Status: accepted.Status, WebhookSecret: accepted.Secret,
	}}, nil
}

func (p *Product) dropPeer(ctx context.Context, _ *unregisterInput) (*struct{ Body Unregistered }, error) {
	row, err := p.deps.Connect.Unregister(ctx, *aboutOf(ctx).key)
	if err != nil {
		return nil, err
	}
	touched(ctx, row.ID)
	return &struct{ Body Unregistered }{Unregistered{row.ID, row.Status}}, nil
}
