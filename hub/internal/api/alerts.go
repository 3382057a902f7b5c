package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/alerts"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/module/rest"
)

// Alert is where operators are notified of operational events.
type Alert struct {
	ID             uuid.UUID  `json:"id" format:"uuid" doc:"UUID that names it in paths. Of a webhook it is its endpoint_id in the log too"`
	Kind           string     `json:"kind" enum:"email,webhook" doc:"How it is sent"`
	Target         string     `json:"target" minLength:"1" maxLength:"2048" doc:"An e-mail address, or the URL that webhooks are posted to" example:"ops@example.com"`
	Events         []string   `json:"events" nullable:"false" minItems:"1" maxItems:"100" doc:"Operational events that it is about; a * stands for any rest" example:"[\"hub.*\"]"`
	Product        *string    `json:"product" doc:"Only what happens to this product's tenants; null: to all"`
	TenantID       *uuid.UUID `json:"tenant_id" format:"uuid" doc:"Only what happens to this tenant; null: to all"`
	Enabled        bool       `json:"enabled" doc:"Whether it is sent"`
	DisabledReason *string    `json:"disabled_reason" doc:"Why the hub stopped to send its webhooks: gone after a 410; null: it did not"`
	CreatedAt      time.Time  `json:"created_at" doc:"When it was made"`
	UpdatedAt      time.Time  `json:"updated_at" doc:"When it was last changed"`
}

// CreatedAlert is an alert with the secret of its webhooks, which is shown once.
type CreatedAlert struct {
	Alert
	Secret *string `json:"secret" example:"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" doc:"Signs the webhooks; shown now and never again. null for mail"`
}

// AlertSettings is the part of an alert that operators set.
type AlertSettings struct {
	Target   string     `json:"target" minLength:"1" maxLength:"2048" example:"ops@example.com" doc:"An e-mail address; for a webhook http or https, where private networks are refused unless this hub allows them"`
	Events   []string   `json:"events" minItems:"1" maxItems:"100" nullable:"false" example:"[\"hub.*\"]" doc:"hub.*, a prefix such as hub.endpoint.*, or exact types"`
	Product  *string    `json:"product,omitempty" nullable:"true" maxLength:"40" example:"shop" doc:"Only what happens to this product's tenants; null or absent: to all"`
	TenantID *uuid.UUID `json:"tenant_id,omitempty" nullable:"true" format:"uuid" doc:"Only what happens to this tenant; null or absent: to all"`
	Enabled  *bool      `json:"enabled,omitempty" doc:"Absent: true. Enabling forgets why the hub disabled it"`
}

type createAlertInput struct {
	Body struct {
		Kind string `json:"kind" enum:"email,webhook" doc:"How it is sent; it stays"`
		AlertSettings
	} `nameHint:"AlertCreate"`
}

type updateAlertInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"Id of the alert"`
	Body struct {
		Kind string `json:"kind,omitempty" enum:"email,webhook" doc:"The present one, or absent: it stays"`
		AlertSettings
	} `nameHint:"AlertUpdate"`
}

type rotateAlertInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"Id of the alert"`
	Body *struct {
		OverlapSeconds *int `json:"overlap_seconds,omitempty" minimum:"0" maximum:"604800" example:"86400" doc:"How long webhook-signature carries a signature with the old secret too: 0 forgets it at once, absent is 86400, a day"`
	} `nameHint:"AlertRotateSecret"`
}

type alertOutput struct{ Body Alert }

type createdAlertOutput struct{ Body CreatedAlert }

type testAlertOutput struct {
	Body struct {
		EventID *string `json:"event_id" example:"evt_0123456789abcdef" doc:"Id of the hub.ping that was sent to a webhook; null for mail"`
	} `nameHint:"AlertTest"`
}

// alertRoutes are those of alerts.
func (a *API) alertRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/api/v1/alerts", operators, 200, "alerts.list", "List alerts", rest.Handle(a.listAlerts)),
		rest.Post("/api/v1/alerts", admins, 201, "alerts.create", "Make an alert by e-mail or webhook; the response shows a webhook's secret once", rest.Handle(a.createAlert)),
		rest.Get("/api/v1/alerts/{id}", operators, 200, "alerts.get", "Show an alert", rest.Handle(a.getAlert)),
		rest.Put("/api/v1/alerts/{id}", admins, 200, "alerts.update", "Replace an alert's settings, keeping its kind and secret", rest.Handle(a.updateAlert)),
		rest.Delete("/api/v1/alerts/{id}", admins, 204, "alerts.delete", "Delete an alert", rest.Handle(a.deleteAlert)),
		rest.Post("/api/v1/alerts/{id}/test", admins, 202, "alerts.test", "Send a test to an alert", rest.Handle(a.testAlert)),
		rest.Post("/api/v1/alerts/{id}/rotate-secret", admins, 200, "alerts.rotate-secret", "Give an alert's webhooks a new secret; the response shows it once", rest.Handle(a.rotateAlertSecret)),
	}
}

func (a *API) listAlerts(ctx context.Context, in *struct{ httpx.PageQuery }) (*struct{ Body httpx.Page[Alert] }, error) {
	before, err := beforeID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	rows, err := a.deps.Alerts.List(ctx, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := pageOf(rows, in.PageQuery, alertOf, func(last alerts.Alert) []byte { return last.ID[:] })
	return &struct{ Body httpx.Page[Alert] }{page}, nil
}

func (a *API) createAlert(ctx context.Context, in *createAlertInput) (*createdAlertOutput, error) {
	alert, secret, err := a.deps.Alerts.Create(ctx, in.Body.Kind, in.Body.state())
	if err != nil {
		return nil, err
	}
	setAuditAlert(ctx, alert)
	return &createdAlertOutput{CreatedAlert{alertOf(alert), nilIfZero(secret)}}, nil
}

func (a *API) getAlert(ctx context.Context, in *idPath) (*alertOutput, error) {
	alert, err := a.deps.Alerts.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &alertOutput{alertOf(alert)}, nil
}

func (a *API) updateAlert(ctx context.Context, in *updateAlertInput) (*alertOutput, error) {
	present, err := a.deps.Alerts.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := mustStay("body.kind", in.Body.Kind, present.Kind); err != nil {
		return nil, err
	}
	alert, changed, err := a.deps.Alerts.Update(ctx, in.ID, in.Body.state())
	if err != nil {
		return nil, err
	}
	setAuditAlert(ctx, alert)
	requestInfoOf(ctx).unchanged, requestInfoOf(ctx).changed = len(changed) == 0, changed
	return &alertOutput{alertOf(alert)}, nil
}

func (a *API) deleteAlert(ctx context.Context, in *idPath) (*none, error) {
	return nil, a.deps.Alerts.Delete(ctx, in.ID)
}

func (a *API) testAlert(ctx context.Context, in *idPath) (*testAlertOutput, error) {
	alert, err := a.deps.Alerts.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if !alert.Enabled {
		return nil, hub.Errorf(hub.ErrConflict, "alert_disabled", "This alert is disabled; enable it first.")
	}
	setAuditAlert(ctx, alert)
	out := &testAlertOutput{}
	if alert.Kind == alerts.KindEmail {
		return out, a.deps.Alerts.SendTestMail(ctx, alert)
	}
	id, err := a.deps.Publisher.PublishTo(ctx, Ping{Environment: hub.Live, EndpointID: alert.ID, EventType: delivery.TypePing, Data: []byte(`{}`)})
	out.Body.EventID = &id
	return out, err
}

func (a *API) rotateAlertSecret(ctx context.Context, in *rotateAlertInput) (*createdAlertOutput, error) {
	rotation := registry.Rotation{Overlap: registry.DefaultOverlap}
	if in.Body != nil && in.Body.OverlapSeconds != nil {
		rotation.Overlap = time.Duration(*in.Body.OverlapSeconds) * time.Second
	}
	alert, secret, err := a.deps.Alerts.RotateSecret(ctx, in.ID, rotation)
	if err != nil {
		return nil, err
	}
	setAuditAlert(ctx, alert)
	return &createdAlertOutput{CreatedAlert{alertOf(alert), &secret}}, nil
}

// setAuditAlert sets the resource that the audit log records.
func setAuditAlert(ctx context.Context, alert alerts.Alert) {
	tenant := uuid.Nil
	if alert.TenantID != nil {
		tenant = *alert.TenantID
	}
	setAuditResource(ctx, alert.ID, tenant)
}

func (s AlertSettings) state() alerts.State {
	return alerts.State{Target: s.Target, Events: s.Events, Product: s.Product, TenantID: s.TenantID, Enabled: s.Enabled == nil || *s.Enabled}
}

func alertOf(alert alerts.Alert) Alert { return Alert(alert) }
