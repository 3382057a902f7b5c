package api

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/store"
)

// Page sizes of webhooks and their deliveries.
const (
	webhooksPerPage   = 20
	deliveriesPerPage = 20
	webhooksPerQuery  = 500
)

// webhookEvents are the events that plain webhooks can subscribe to.
var webhookEvents = []string{events.TypeMessageCreated, events.TypeTicketCreated, events.TypeTicketUpdated, events.TypeContactCreated}

// Webhook is an address that gets the company's events.
type Webhook struct {
	ID             uuid.UUID `json:"id" doc:"Id of the webhook"`
	CompanyID      int64     `json:"companyId" doc:"Company that owns it" example:"1"`
	URL            string    `json:"url" doc:"Where events are sent" example:"https://example.com/webhooks"`
	Events         []string  `json:"events" nullable:"false" doc:"Events it gets; an operator of the hub may have set a pattern such as ticket.*" example:"[\"message.created\"]"`
	IncludeSent    bool      `json:"includeSent" doc:"message.created is sent for the company's own messages too"`
	Enabled        bool      `json:"enabled" doc:"false: its events are parked for 15 days, and sent once it is enabled"`
	DisabledReason *string   `json:"disabledReason" doc:"Why the hub disabled it: gone after a response 410; null: it did not"`
	CreatedAt      time.Time `json:"createdAt" doc:"When it was made"`
	UpdatedAt      time.Time `json:"updatedAt" doc:"Last change"`
}

// WebhookWithSecret is a webhook with its secret, which is shown once.
type WebhookWithSecret struct {
	Webhook
	Secret string `json:"secret" doc:"Signs the deliveries, in X-Webhook-Signature; shown now and never again"`
}

type (
	webhookOutput       struct{ Body Webhook }
	webhookSecretOutput struct{ Body WebhookWithSecret }
)

func toWebhook(company int64, w module.Webhook) Webhook {
	isSent := func(eventType string) bool { return eventType == store.TopicSent }
	webhook := Webhook{
		ID: w.ID, CompanyID: company, URL: w.URL, Events: slices.DeleteFunc(slices.Clone(w.EventTypes), isSent), Enabled: w.Enabled,
		IncludeSent: hub.MatchesEventType(w.EventTypes, store.TopicSent), CreatedAt: w.CreatedAt.UTC(), UpdatedAt: w.UpdatedAt.UTC(),
	}
	if w.DisabledReason != "" {
		webhook.DisabledReason = &w.DisabledReason
	}
	return webhook
}

// ownerOf returns the owner of a company's webhooks: a company has one set of data.
func ownerOf(scope store.Scope) module.WebhookOwner {
	return module.WebhookOwner{TenantID: scope.Tenant, Environment: hub.Live}
}

// mapNoWebhook returns an error for callers in place of one for a webhook that is not the
// company's.
func mapNoWebhook(err error) error {
	if errors.Is(err, hub.ErrNotFound) {
		return notFound("no_webhook_found", "webhook")
	}
	return err
}

// WebhookParam is the path parameter of a webhook.
type WebhookParam struct {
	ID uuid.UUID `path:"id" doc:"Id of the webhook"`
}

type listWebhooksInput struct {
	PageNumber int `query:"pageNumber" minimum:"1" maximum:"100000" default:"1" doc:"From 1; a page has 20 webhooks"`
}

// WebhookList is a page of webhooks, the newest first.
type WebhookList struct {
	Webhooks []Webhook `json:"webhooks" nullable:"false" doc:"The page"`
	Count    int       `json:"count" doc:"Of all pages"`
	HasMore  bool      `json:"hasMore" doc:"There is another page"`
}

func (a *API) listWebhooks(ctx context.Context, in *listWebhooksInput) (*struct{ Body WebhookList }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	var all []module.Webhook
	var before *uuid.UUID
	for {
		part, err := a.host.Webhooks.List(ctx, ownerOf(user.scope), before, webhooksPerQuery)
		if err != nil {
			return nil, err
		}
		if all = append(all, part...); len(part) < webhooksPerQuery {
			break
		}
		before = &all[len(all)-1].ID
	}
	offset := min((in.PageNumber-1)*webhooksPerPage, len(all))
	page := all[offset:min(offset+webhooksPerPage, len(all))]
	list := rest.Map(page, func(w module.Webhook) Webhook { return toWebhook(user.scope.Company, w) })
	return &struct{ Body WebhookList }{WebhookList{list, len(all), len(all) > offset+len(page)}}, nil
}

func (a *API) getWebhook(ctx context.Context, in *WebhookParam) (*webhookOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	webhook, err := a.host.Webhooks.Get(ctx, ownerOf(user.scope), in.ID)
	return &webhookOutput{toWebhook(user.scope.Company, webhook)}, mapNoWebhook(err)
}

// WebhookFields are the settings of a webhook.
type WebhookFields struct {
	URL         rest.Optional[string]   `json:"url,omitempty" minLength:"1" maxLength:"2048" doc:"http or https; private networks are refused unless this hub allows them" example:"https://example.com/webhooks"`
	Events      rest.Optional[[]string] `json:"events,omitempty" minItems:"1" maxItems:"4" doc:"Of message.created, ticket.created, ticket.updated and contact.created" example:"[\"message.created\"]"`
	IncludeSent rest.Optional[bool]     `json:"includeSent,omitempty" doc:"message.created is sent for the company's own messages too; absent: false"`
	Enabled     rest.Optional[bool]     `json:"enabled,omitempty" doc:"Absent: true. While false, events are parked for 15 days"`
}

// applyTo checks the fields and sets them in a webhook's settings.
func (f WebhookFields) applyTo(settings *module.WebhookSettings) error {
	var errs rest.FieldErrors
	isSent := func(eventType string) bool { return eventType == store.TopicSent }
	includesSent := slices.ContainsFunc(settings.EventTypes, isSent)
	wanted := slices.DeleteFunc(slices.Clone(settings.EventTypes), isSent)
	f.URL.ApplyTo(&settings.URL)
	f.Enabled.ApplyTo(&settings.Enabled)
	f.IncludeSent.ApplyTo(&includesSent)
	if f.Events.HasValue() {
		wanted = slices.Compact(slices.Sorted(slices.Values(f.Events.Value)))
		errs.Check(len(wanted) > 0, "body.events", "must have at least one event")
		for _, eventType := range wanted {
			errs.Check(slices.Contains(webhookEvents, eventType), "body.events", "must have message.created, ticket.created, ticket.updated or contact.created only")
		}
	}
	errs.Check(!includesSent || hub.MatchesEventType(wanted, events.TypeMessageCreated), "body.includeSent", "is for message.created, which is not among the events")
	if settings.EventTypes = wanted; includesSent {
		settings.EventTypes = append(wanted, store.TopicSent)
	}
	return errs.Err()
}

type createWebhookInput struct {
	Body struct{ WebhookFields } `nameHint:"WebhookFields"`
}

func (a *API) createWebhook(ctx context.Context, in *createWebhookInput) (*webhookSecretOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	var errs rest.FieldErrors
	errs.Check(in.Body.URL.HasValue(), "body.url", "is required")
	errs.Check(len(in.Body.Events.Value) > 0, "body.events", "must have at least one event")
	if err := errs.Err(); err != nil {
		return nil, err
	}
	settings := module.WebhookSettings{Enabled: true}
	if err := in.Body.applyTo(&settings); err != nil {
		return nil, err
	}
	webhook, secret, err := a.host.Webhooks.Create(ctx, ownerOf(user.scope), settings)
	return &webhookSecretOutput{WebhookWithSecret{toWebhook(user.scope.Company, webhook), secret}}, err
}

type updateWebhookInput struct {
	WebhookParam
	Body struct{ WebhookFields } `nameHint:"WebhookFields"`
}

func (a *API) updateWebhook(ctx context.Context, in *updateWebhookInput) (*webhookOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	present, err := a.host.Webhooks.Get(ctx, ownerOf(user.scope), in.ID)
	if err != nil {
		return nil, mapNoWebhook(err)
	}
	settings := present.WebhookSettings
	if err := in.Body.applyTo(&settings); err != nil {
		return nil, err
	}
	webhook, err := a.host.Webhooks.Update(ctx, ownerOf(user.scope), in.ID, settings)
	return &webhookOutput{toWebhook(user.scope.Company, webhook)}, mapNoWebhook(err)
}

func (a *API) rotateWebhookSecret(ctx context.Context, in *WebhookParam) (*webhookSecretOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	webhook, secret, err := a.host.Webhooks.RotateSecret(ctx, ownerOf(user.scope), in.ID)
	return &webhookSecretOutput{WebhookWithSecret{toWebhook(user.scope.Company, webhook), secret}}, mapNoWebhook(err)
}

func (a *API) deleteWebhook(ctx context.Context, in *WebhookParam) (*messageOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	err = a.host.Webhooks.Delete(ctx, ownerOf(user.scope), in.ID)
	return &messageOutput{Message{"Webhook deleted"}}, mapNoWebhook(err)
}

// WebhookDelivery is the state of one event's delivery.
type WebhookDelivery struct {
	ID            uuid.UUID  `json:"id" doc:"Id of the delivery"`
	EventID       string     `json:"eventId" doc:"Id of the event, as in the envelope" example:"evt_0123456789abcdef"`
	Event         string     `json:"event" doc:"Event type" example:"message.created"`
	Status        string     `json:"status" enum:"pending,delivered,parked,failed" doc:"parked: waits until the webhook is enabled or responds again"`
	Reason        *string    `json:"reason" doc:"Why it is parked or failed; null: it is neither"`
	StatusCode    *int       `json:"statusCode" doc:"HTTP status of the last attempt; null: no response"`
	Retries       int        `json:"retries" doc:"Attempts after the first"`
	CreatedAt     time.Time  `json:"createdAt" doc:"When the event happened"`
	NextAttemptAt *time.Time `json:"nextAttemptAt" doc:"When the next attempt is due; null: none will come, or it is under way"`
}

type listWebhookDeliveriesInput struct {
	WebhookParam
	Before uuid.UUID `query:"before" doc:"Only deliveries before the one with this id: the last of a page"`
}

// WebhookDeliveryList is a page of deliveries, the newest first.
type WebhookDeliveryList struct {
	Deliveries []WebhookDelivery `json:"deliveries" nullable:"false" doc:"The page, of at most 20"`
	HasMore    bool              `json:"hasMore" doc:"There are older ones"`
}

func (a *API) listWebhookDeliveries(ctx context.Context, in *listWebhookDeliveriesInput) (*struct{ Body WebhookDeliveryList }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	var before *uuid.UUID
	if in.Before != uuid.Nil {
		before = &in.Before
	}
	rows, err := a.host.Webhooks.Deliveries(ctx, ownerOf(user.scope), in.ID, before, deliveriesPerPage+1)
	if err != nil {
		return nil, mapNoWebhook(err)
	}
	hasMore := len(rows) > deliveriesPerPage
	rows = rows[:min(len(rows), deliveriesPerPage)]
	return &struct{ Body WebhookDeliveryList }{WebhookDeliveryList{rest.Map(rows, toWebhookDelivery), hasMore}}, nil
}

func toWebhookDelivery(d module.WebhookDelivery) WebhookDelivery {
	delivery := WebhookDelivery{
		ID: d.ID, EventID: d.EventID, Event: d.EventType, Status: d.Status, Retries: d.Retries, CreatedAt: d.CreatedAt.UTC(), NextAttemptAt: d.NextAttemptAt,
	}
	if d.Reason != "" {
		delivery.Reason = &d.Reason
	}
	if d.StatusCode != 0 {
		delivery.StatusCode = &d.StatusCode
	}
	return delivery
}
