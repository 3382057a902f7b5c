package api

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/integration"
)

// Integration is a tenant connected to a peer product.
type Integration struct {
	ID              uuid.UUID       `json:"id" format:"uuid" doc:"UUID that names it in paths"`
	TenantID        uuid.UUID       `json:"tenant_id" format:"uuid" doc:"Tenant it belongs to"`
	TenantName      string          `json:"tenant_name" doc:"Display name of the customer" example:"Example Ltd"`
	OwnProduct      string          `json:"own_product" example:"scheduling" doc:"The tenant's"`
	Environment     hub.Environment `json:"environment" enum:"live,test" doc:"Whether it is for live or test data; the two never mix"`
	Product         string          `json:"product" example:"clinic" doc:"The peer"`
	Status          string          `json:"status" enum:"active,inactive,error" doc:"State it is in"`
	Disabled        bool            `json:"disabled" doc:"By an administrator"`
	Ordered         bool            `json:"ordered" doc:"Whether the peer gets the events of one ordering key one at a time, in the order in which they were accepted"`
	LastError       *string         `json:"last_error" doc:"Why it does not work, for people"`
	Features        []string        `json:"features" nullable:"false" doc:"What the peer offers"`
	Enabled         []string        `json:"enabled" nullable:"false" doc:"The uses asked for when connecting"`
	APIURL          string          `json:"api_url" doc:"The peer's; empty where it never said"`
	WebhookURL      string          `json:"webhook_url" doc:"Where this hub takes the peer's events"`
	PeerWebhookURL  string          `json:"peer_webhook_url" doc:"Where the peer takes events; empty: under api_url"`
	PeerAccount     *string         `json:"peer_account" doc:"The peer's own id of the account that is connected there, as its status names it; of a product of this hub: the tenant's id"`
	APIKeyLocal     *string         `json:"api_key_local" example:"…a1B2" doc:"How the key ends that the peer uses here"`
	APIKeyRemote    *string         `json:"api_key_remote" example:"…c3D4" doc:"How the key ends that is used there"`
	WebhookSecret   *string         `json:"webhook_secret" example:"…aSw=" doc:"How the secret ends"`
	PreviousUntil   *time.Time      `json:"previous_secret_until" doc:"Until then the previous secret is accepted too"`
	RegisterAt      *time.Time      `json:"next_registration_at" doc:"When the registration with the peer is tried again"`
	LastHealthCheck *time.Time      `json:"last_health_check" doc:"When the other side was last asked whether it works; null: never"`
	RevokedAt       *time.Time      `json:"revoked_at" doc:"When it was ended for good; null: it is in use"`
	CreatedAt       time.Time       `json:"created_at" doc:"When it was made"`
	UpdatedAt       time.Time       `json:"updated_at" doc:"When it was last changed"`
}

type integrationOutput struct{ Body Integration }

type listIntegrationsInput struct {
	httpx.PageQuery
	TenantID    uuid.UUID `query:"tenant_id" format:"uuid" doc:"Only integrations of this tenant"`
	Environment string    `query:"environment" enum:"live,test" doc:"Only integrations of this environment"`
	Product     string    `query:"product" maxLength:"40" doc:"Only integrations with this peer"`
	Status      string    `query:"status" enum:"active,inactive,error" doc:"Only integrations with this status"`
}

type connectInput struct {
	Body struct {
		TenantID    uuid.UUID `json:"tenant_id" format:"uuid" doc:"A tenant of a product this hub runs"`
		Environment string    `json:"environment,omitempty" enum:"live,test" default:"live" doc:"Whether it is for live or test data; the two never mix"`
		Product     string    `json:"product" minLength:"1" maxLength:"40" example:"clinic" doc:"The peer"`
		APIKey      string    `json:"api_key" minLength:"1" maxLength:"512" doc:"The key that the peer issued"`
		APIURL      string    `json:"api_url" minLength:"1" maxLength:"2048" example:"https://clinic.example.com/api/v1" doc:"The base under which the peer's /integrations lies"`
		WebhookURL  string    `json:"webhook_url,omitempty" maxLength:"2048" doc:"Where the peer is to send; absent: the product's own address"`
		Features    []string  `json:"features,omitempty" maxItems:"50" example:"[\"reminders\"]" doc:"What the connection is used for"`
	} `nameHint:"IntegrationConnect"`
}

type updateIntegrationInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"Id of the integration"`
	Body struct {
		Ordered bool `json:"ordered" doc:"True, as for new integrations: the events of one ordering key are sent one at a time, in the order in which they were accepted; while one waits for a retry or is parked, those behind it wait. It applies to the events accepted from now on"`
	} `nameHint:"IntegrationSettings"`
}

type linkInput struct {
	Body struct {
		TenantID     uuid.UUID `json:"tenant_id" format:"uuid" doc:"Tenant it belongs to"`
		PeerTenantID uuid.UUID `json:"peer_tenant_id" format:"uuid" doc:"A tenant of another product of this hub"`
		Environment  string    `json:"environment,omitempty" enum:"live,test" default:"live" doc:"Whether it is for live or test data; the two never mix"`
		Features     []string  `json:"features,omitempty" maxItems:"50" doc:"What the connection is used for"`
	} `nameHint:"IntegrationLink"`
}

type linkOutput struct {
	Body struct {
		Integrations []Integration `json:"integrations" nullable:"false" doc:"The tenant's, and the other tenant's"`
	} `nameHint:"LinkedIntegrations"`
}

// IntegrationTest is the result of a probe.
type IntegrationTest struct {
	OK         bool     `json:"ok" doc:"Whether the other side responded as it should"`
	Status     string   `json:"status" enum:"active,inactive,error" doc:"Of the integration, now"`
	Error      *string  `json:"error" doc:"What is wrong, for people"`
	Code       *string  `json:"code" doc:"The same for programs" example:"peer_unreachable"`
	Version    *string  `json:"version" doc:"Of the peer"`
	Features   []string `json:"features" nullable:"false" doc:"What the other side offers"`
	DurationMS int64    `json:"duration_ms" doc:"How long the other side took, in milliseconds"`
}

type rotateIntegrationSecretInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"Id of the integration"`
	Body *struct {
		OverlapSeconds *int `json:"overlap_seconds,omitempty" minimum:"0" maximum:"604800" example:"86400" doc:"How long the old secret stays valid: absent is 86400, a day"`
	} `nameHint:"IntegrationRotateSecret"`
}

// IntegrationWithSecret is an integration with its new secret, which is shown once.
type IntegrationWithSecret struct {
	Integration
	Secret string `json:"secret" doc:"Of webhooks in both directions; shown now and never again"`
}

func (a *API) listIntegrations(ctx context.Context, in *listIntegrationsInput) (*struct{ Body httpx.Page[Integration] }, error) {
	before, err := beforeID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	rows, err := a.deps.Connect.List(ctx, integration.Filter{
		TenantID: nilIfZero(in.TenantID), Environment: hub.Environment(in.Environment), Product: in.Product, Status: integration.Status(in.Status),
	}, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := pageOf(rows, in.PageQuery, integrationOf, func(last connect.View) []byte { return last.ID[:] })
	return &struct{ Body httpx.Page[Integration] }{page}, nil
}

func (a *API) getIntegration(ctx context.Context, in *idPath) (*integrationOutput, error) {
	row, err := a.deps.Connect.Get(ctx, in.ID, integration.Filter{})
	if err != nil {
		return nil, err
	}
	return &integrationOutput{integrationOf(row)}, nil
}

func (a *API) connectIntegration(ctx context.Context, in *connectInput) (*integrationOutput, error) {
	tenant, err := a.deps.Registry.Tenant(ctx, in.Body.TenantID)
	if err != nil {
		return nil, err
	}
	row, err := a.deps.Connect.Connect(ctx, connect.Request{
		TenantID: tenant.ID, LocalProduct: tenant.Product, Environment: environmentOrLive(in.Body.Environment), Product: in.Body.Product,
		Key: in.Body.APIKey, APIURL: in.Body.APIURL, WebhookURL: in.Body.WebhookURL, Uses: in.Body.Features,
	})
	return changedIntegration(ctx, row, err)
}

func (a *API) linkIntegrations(ctx context.Context, in *linkInput) (*linkOutput, error) {
	integrations, err := a.deps.Connect.Link(ctx, connect.LinkRequest{
		TenantID: in.Body.TenantID, PeerTenantID: in.Body.PeerTenantID, Environment: environmentOrLive(in.Body.Environment), Uses: in.Body.Features,
	})
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, integrations[0].ID, integrations[0].TenantID)
	out := &linkOutput{}
	for _, integration := range integrations {
		if integration.ID != uuid.Nil { // the other side has none if the registration failed
			out.Body.Integrations = append(out.Body.Integrations, integrationOf(integration))
		}
	}
	return out, nil
}

func (a *API) revokeIntegration(ctx context.Context, in *idPath) (*integrationOutput, error) {
	row, err := a.deps.Connect.Revoke(ctx, in.ID, integration.Filter{})
	return changedIntegration(ctx, row, err)
}

func (a *API) updateIntegration(ctx context.Context, in *updateIntegrationInput) (*integrationOutput, error) {
	row, changed, err := a.deps.Connect.SetOrdered(ctx, in.ID, in.Body.Ordered)
	if err == nil {
		requestInfoOf(ctx).unchanged, requestInfoOf(ctx).changed = !changed, []string{"ordered"}
	}
	return changedIntegration(ctx, row, err)
}

func (a *API) enableIntegration(ctx context.Context, in *idPath) (*integrationOutput, error) {
	row, err := a.deps.Connect.Enable(ctx, in.ID, integration.Filter{})
	return changedIntegration(ctx, row, err)
}

func (a *API) disableIntegration(ctx context.Context, in *idPath) (*integrationOutput, error) {
	row, err := a.deps.Connect.Disable(ctx, in.ID, integration.Filter{})
	return changedIntegration(ctx, row, err)
}

func (a *API) testIntegration(ctx context.Context, in *idPath) (*struct{ Body IntegrationTest }, error) {
	found, err := a.deps.Connect.Probe(ctx, in.ID, integration.Filter{})
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, in.ID, found.Integration.TenantID)
	answer := IntegrationTest{
		OK: found.Err == nil, Status: found.Integration.Status, Version: nilIfZero(found.Peer.Version),
		Features: append([]string{}, found.Peer.Features...), DurationMS: found.Duration.Milliseconds(),
	}
	var problem *hub.Error
	if errors.As(found.Err, &problem) {
		answer.Error, answer.Code = &problem.Detail, &problem.Code
	}
	return &struct{ Body IntegrationTest }{answer}, nil
}

func (a *API) rotateIntegrationSecret(ctx context.Context, in *rotateIntegrationSecretInput) (*struct{ Body IntegrationWithSecret }, error) {
	overlap := connect.DefaultOverlap
	if in.Body != nil && in.Body.OverlapSeconds != nil {
		overlap = time.Duration(*in.Body.OverlapSeconds) * time.Second
	}
	row, secret, err := a.deps.Connect.RotateSecret(ctx, in.ID, integration.Filter{}, overlap)
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, row.ID, row.TenantID)
	return &struct{ Body IntegrationWithSecret }{IntegrationWithSecret{integrationOf(row), secret}}, nil
}

func changedIntegration(ctx context.Context, row connect.View, err error) (*integrationOutput, error) {
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, row.ID, row.TenantID)
	return &integrationOutput{integrationOf(row)}, nil
}

// environmentOrLive returns the named environment, live by default.
func environmentOrLive(name string) hub.Environment {
	if name == "" {
		return hub.Live
	}
	return hub.Environment(name)
}

func integrationOf(i connect.View) Integration {
	return Integration{
		ID: i.ID, TenantID: i.TenantID, TenantName: i.TenantName, OwnProduct: i.LocalProduct, Environment: i.Environment, Product: i.Product,
		Status: i.Status, Disabled: i.Disabled, Ordered: i.Ordered, LastError: nilIfZero(i.LastError),
		Features: append([]string{}, i.Features...), Enabled: append([]string{}, i.EnabledUses...),
		APIURL: i.APIURL, WebhookURL: i.WebhookURL, PeerWebhookURL: i.PeerWebhookURL,
		PeerAccount: nilIfZero(i.PeerAccount), APIKeyLocal: maskedEnd(i.LocalKeyLast4), APIKeyRemote: maskedEnd(i.RemoteKeyLast4), WebhookSecret: maskedEnd(i.SecretLast4),
		PreviousUntil: i.PreviousSecretExpiresAt, RegisterAt: i.NextRegistrationAt, LastHealthCheck: nilIfZero(i.LastHealthCheck), RevokedAt: i.RevokedAt,
		CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt,
	}
}

// maskedEnd returns the visible end of a secret, nil if there is none.
func maskedEnd(last4 string) *string {
	if last4 == "" {
		return nil
	}
	return new("…" + last4)
}
