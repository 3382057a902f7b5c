package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/module/rest"
)

// Endpoint is a plain webhook subscription.
type Endpoint struct {
	ID                uuid.UUID          `json:"id" format:"uuid" doc:"UUID that names it in paths"`
	TenantID          uuid.UUID          `json:"tenant_id" format:"uuid" doc:"Tenant it belongs to"`
	Environment       hub.Environment    `json:"environment" enum:"live,test" doc:"Whether it is for live or test data; the two never mix"`
	URL               string             `json:"url" doc:"Where events are posted to" example:"https://example.com/webhooks"`
	EventTypes        []string           `json:"event_types" nullable:"false" doc:"What it gets; a * stands for any rest" example:"[\"appointment.*\"]"`
	Description       string             `json:"description" doc:"Note of what it is for; may be empty"`
	Enabled           bool               `json:"enabled" doc:"Whether events are sent to it"`
	DisabledReason    *string            `json:"disabled_reason" doc:"Why the hub disabled it, e.g. gone after a 410"`
	DisabledAt        *time.Time         `json:"disabled_at" doc:"Since when it is disabled: its events are parked, and sent once it is enabled; null while it is enabled"`
	AbandonedAt       *time.Time         `json:"abandoned_at" doc:"When it had been disabled for 15 days: from then on its events make no deliveries, until it is enabled"`
	RatePerMinute     *int32             `json:"rate_per_minute" doc:"null: as fast as it takes them"`
	Ordered           bool               `json:"ordered" doc:"Whether it gets the events of one ordering key one at a time, in the order in which they were accepted"`
	Filter            *string            `json:"filter" doc:"CEL expression over the event: it gets the events for which this is true; null: all of its event types"`
	FilterErrors      *FilterErrors      `json:"filter_errors" doc:"Events that the filter could not be evaluated for, so that they were not sent; null: none since the filter was set"`
	Headers           map[string]string  `json:"headers" nullable:"false" doc:"Headers that are sent with each attempt. Of a value at most the last four characters are shown" example:"{\"Authorization\":\"***x7Qz\"}"`
	ClientCertificate *ClientCertificate `json:"client_certificate" doc:"Certificate that the hub shows this receiver (mTLS); null: none"`
	Signatures
	CreatedAt time.Time `json:"created_at" doc:"When it was made"`
	UpdatedAt time.Time `json:"updated_at" doc:"When it was last changed"`
}

// FilterErrors counts the events that a filter could not be evaluated for.
type FilterErrors struct {
	Count     int64     `json:"count" minimum:"1" doc:"How many, since the filter was set; a second old at most" example:"3"`
	LastError string    `json:"last_error" doc:"What was wrong the last time, and where in the expression" example:"column 11: the event has no such member: total"`
	LastAt    time.Time `json:"last_at" doc:"When it happened last"`
}

// ClientCertificate is what is shown of a client certificate.
type ClientCertificate struct {
	Subject   string    `json:"subject" doc:"Whom it names" example:"CN=hub.example.com,O=Example"`
	ExpiresAt time.Time `json:"expires_at" doc:"When it ends; the receiver refuses it from then on"`
}

// ClientCertificateInput is a client certificate with its key.
type ClientCertificateInput struct {
	Certificate string `json:"certificate,omitempty" minLength:"1" maxLength:"65536" doc:"PEM: the certificate, then those that lead to its authority"`
	Key         string `json:"key,omitempty" minLength:"1" maxLength:"16384" doc:"PEM, not encrypted: the private key, RSA, ECDSA or Ed25519. It is stored encrypted and never shown"`
}

// UnmarshalJSON accepts {}, or both members and no others. An empty one is none of these: it
// would leave the receiver without mTLS.
func (c *ClientCertificateInput) UnmarshalJSON(b []byte) error {
	var members map[string]string
	if json.Unmarshal(b, &members) != nil {
		return certificateFormError{}
	}
	c.Certificate, c.Key = members["certificate"], members["key"]
	if len(members) != 0 && (len(members) != 2 || c.Certificate == "" || c.Key == "") {
		return certificateFormError{}
	}
	return nil
}

// certificateFormError is the [rest.PublicError] of what is no client certificate. It repeats
// nothing: it may be a key.
type certificateFormError struct{}

func (certificateFormError) Error() string {
	return "must have certificate and key, both in PEM, and nothing else; null and {} are none"
}

// PublicMessage returns the message for callers of the API.
func (e certificateFormError) PublicMessage() string { return e.Error() }

// EndpointSettings is the part of an endpoint that its owner sets.
type EndpointSettings struct {
	URL           string   `json:"url" minLength:"1" maxLength:"2048" example:"https://example.com/webhooks" doc:"http or https; private networks are refused unless this hub allows them"`
	EventTypes    []string `json:"event_types" minItems:"1" maxItems:"100" nullable:"false" example:"[\"appointment.*\"]" doc:"*, a prefix such as appointment.*, or exact types"`
	Description   string   `json:"description,omitempty" maxLength:"500" doc:"Note of what it is for"`
	Enabled       *bool    `json:"enabled,omitempty" doc:"Absent: true. While false, events are parked, for 15 days. Enabling sends them and forgets why the hub disabled it"`
	RatePerMinute *int32   `json:"rate_per_minute,omitempty" nullable:"true" minimum:"1" maximum:"1000000" doc:"Deliveries a minute at most; null or absent: as fast as it takes them"`
	Ordered       *bool    `json:"ordered,omitempty" doc:"True: the events of one ordering key are sent one at a time, in the order in which they were accepted; while one waits for a retry or is parked, those behind it wait. Absent: false for a new endpoint, and as it is for a changed one"`
	// Filter is checked by package filter.
	Filter rest.Nullable[string] `json:"filter,omitempty" maxLength:"2048" example:"event.data.total > 100" doc:"CEL expression (cel.dev) over event with id, type, product, timestamp, correlation_id and data: events for which it is not true are not sent. At most 2048 bytes. Null or empty: none; absent: none for a new endpoint, and as it is for a changed one"`
	// Headers and ClientCertificate are checked by package registry.
	Headers           rest.Nullable[map[string]string]      `json:"headers,omitempty" example:"{\"Authorization\":\"Bearer x7Qz\"}" doc:"Headers to send with each attempt, name to value: at most 10, of 1 to 4096 printable ASCII characters. Not the hub's own, not Host, Content-*, Proxy-* and those of the connection. Stored encrypted. Absent: as they are; null or {}: none; a value as it is shown, masked, is refused"`
	ClientCertificate rest.Nullable[ClientCertificateInput] `json:"client_certificate,omitempty" doc:"Client certificate for mTLS with this receiver; the address must be https. Absent: as it is; null or {}: none"`
}

// EndpointDraft describes a new endpoint.
type EndpointDraft struct {
	EndpointSettings
	TenantID    *uuid.UUID `json:"tenant_id,omitempty" format:"uuid" doc:"Operators name the tenant; a key has its own"`
	Environment string     `json:"environment,omitempty" enum:"live,test" doc:"Operators may choose, live when absent; a key has its own"`
	Secret      string     `json:"secret,omitempty" minLength:"24" maxLength:"128" doc:"whsec_ and the padded base64 of 24 to 64 bytes; or a plain secret of 24 to 128 printable ASCII characters, which makes X-Webhook-Signature alone. Made when absent"`
}

type listEndpointsInput struct {
	httpx.PageQuery
	TenantID    uuid.UUID `query:"tenant_id" format:"uuid" doc:"Only endpoints of this tenant"`
	Product     string    `query:"product" maxLength:"40" doc:"Only endpoints of this product's tenants"`
	Environment string    `query:"environment" enum:"live,test" doc:"Only endpoints of this environment"`
	Enabled     string    `query:"enabled" enum:"true,false" doc:"Only enabled or only disabled ones"`
}

type createEndpointInput struct{ Body EndpointDraft }

type updateEndpointInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"Id of the endpoint"`
	Body EndpointSettings
}

type pingInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"Id of the endpoint"`
	Body *struct {
		EventType string `json:"event_type,omitempty" maxLength:"128" example:"order.created" doc:"Send the example of this event type of the endpoint's product; absent: hub.ping"`
	} `nameHint:"PingRequest" required:"false"`
}

type endpointOutput struct{ Body Endpoint }

type pingOutput struct {
	Body struct {
		ID         string `json:"id" example:"evt_0123456789abcdef" doc:"Id of the event that was sent"`
		Deliveries int    `json:"deliveries" example:"1" doc:"Always 1"`
	} `nameHint:"Ping"`
}

func (a *API) listEndpoints(ctx context.Context, in *listEndpointsInput) (*struct{ Body httpx.Page[Endpoint] }, error) {
	before, err := beforeID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	access, err := narrowAccess(ctx, nilIfZero(in.TenantID), hub.Environment(in.Environment))
	if err != nil {
		return nil, err
	}
	filter := registry.EndpointFilter{Scope: access, Product: in.Product}
	if in.Enabled != "" {
		enabled := in.Enabled == "true"
		filter.Enabled = &enabled
	}
	rows, err := a.deps.Endpoints.List(ctx, filter, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := pageOf(rows, in.PageQuery, endpointOf, func(last registry.Endpoint) []byte { return last.ID[:] })
	return &struct{ Body httpx.Page[Endpoint] }{page}, nil
}

func (a *API) createEndpoint(ctx context.Context, in *createEndpointInput) (*endpointSecretOutput, error) {
	access, err := narrowAccess(ctx, in.Body.TenantID, hub.Environment(in.Body.Environment))
	if err != nil {
		return nil, err
	}
	if access.TenantID == nil {
		return nil, hub.Invalid("body.tenant_id", "is required")
	}
	if access.Environment == "" {
		access.Environment = hub.Live
	}
	endpoint, secret, err := a.deps.Endpoints.Create(ctx, *access.TenantID, access.Environment, stateOf(in.Body.EndpointSettings), in.Body.Secret)
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, endpoint.ID, endpoint.TenantID)
	return &endpointSecretOutput{a.withSecret(endpoint, secret)}, nil
}

func (a *API) getEndpoint(ctx context.Context, in *idPath) (*endpointOutput, error) {
	endpoint, err := a.deps.Endpoints.Get(ctx, requestInfoOf(ctx).accessFilter(), in.ID)
	if err != nil {
		return nil, err
	}
	return &endpointOutput{endpointOf(endpoint)}, nil
}

func (a *API) updateEndpoint(ctx context.Context, in *updateEndpointInput) (*endpointOutput, error) {
	endpoint, changed, err := a.deps.Endpoints.Update(ctx, requestInfoOf(ctx).accessFilter(), in.ID, stateOf(in.Body))
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, endpoint.ID, endpoint.TenantID)
	requestInfoOf(ctx).unchanged, requestInfoOf(ctx).changed = len(changed) == 0, changed
	return &endpointOutput{endpointOf(endpoint)}, nil
}

func (a *API) deleteEndpoint(ctx context.Context, in *idPath) (*none, error) {
	tenantID, err := a.deps.Endpoints.Delete(ctx, requestInfoOf(ctx).accessFilter(), in.ID)
	if err == nil {
		setAuditResource(ctx, in.ID, tenantID)
	}
	return nil, err
}

func (a *API) pingEndpoint(ctx context.Context, in *pingInput) (*pingOutput, error) {
	endpoint, err := a.deps.Endpoints.GetForPing(ctx, requestInfoOf(ctx).accessFilter(), in.ID)
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, endpoint.ID, endpoint.TenantID)
	ping := Ping{TenantID: endpoint.TenantID, Environment: endpoint.Environment, EndpointID: endpoint.ID, EventType: delivery.TypePing, Data: []byte(`{}`)}
	if in.Body != nil && in.Body.EventType != "" && in.Body.EventType != delivery.TypePing {
		example, err := a.exampleOf(ctx, endpoint.TenantID, in.Body.EventType)
		if err != nil {
			return nil, err
		}
		ping.ExampleOf, ping.EventType, ping.Data = example.Product, example.Name, example.Example
	}
	id, err := a.deps.Publisher.PublishTo(ctx, ping)
	if err != nil {
		return nil, err
	}
	out := &pingOutput{}
	out.Body.ID, out.Body.Deliveries = id, 1
	return out, nil
}

// narrowAccess narrows the caller's access to the tenant and environment that the request
// names. Others do not exist for the caller.
func narrowAccess(ctx context.Context, tenantID *uuid.UUID, environment hub.Environment) (registry.Scope, error) {
	return requestInfoOf(ctx).narrow(tenantID, environment)
}

func (c caller) narrow(tenantID *uuid.UUID, environment hub.Environment) (registry.Scope, error) {
	access := c.accessFilter()
	if access.TenantID == nil {
		return registry.Scope{TenantID: tenantID, Environment: environment}, nil
	}
	if tenantID != nil && *tenantID != *access.TenantID {
		return access, hub.Errorf(hub.ErrNotFound, "tenant_not_found", "There is no tenant with this id.")
	}
	if environment != "" && environment != access.Environment {
		return access, hub.Errorf(hub.ErrNotFound, "environment_not_found", "This key belongs to the %s environment.", access.Environment)
	}
	return access, nil
}

func stateOf(settings EndpointSettings) registry.EndpointState {
	state := registry.EndpointState{
		URL: settings.URL, EventTypes: settings.EventTypes, Description: settings.Description,
		Enabled: settings.Enabled == nil || *settings.Enabled, RatePerMinute: settings.RatePerMinute, Ordered: settings.Ordered,
	}
	if settings.Filter.Set {
		state.Filter = &settings.Filter.Value // "" for null
	}
	if settings.Headers.Set {
		state.Headers = settings.Headers.Value
		if state.Headers == nil {
			state.Headers = map[string]string{}
		}
	}
	if settings.ClientCertificate.Set {
		certificate := settings.ClientCertificate.Value
		state.Certificate = &registry.Certificate{Chain: certificate.Certificate, Key: certificate.Key}
	}
	return state
}

func endpointOf(e registry.Endpoint) Endpoint {
	var filterErrors *FilterErrors
	if e.FilterErrors != nil {
		filterErrors = &FilterErrors{Count: e.FilterErrors.Count, LastError: e.FilterErrors.Last, LastAt: e.FilterErrors.LastAt}
	}
	var certificate *ClientCertificate
	if e.Certificate != nil {
		certificate = &ClientCertificate{Subject: e.Certificate.Subject, ExpiresAt: e.Certificate.ExpiresAt}
	}
	return Endpoint{
		ID: e.ID, TenantID: e.TenantID, Environment: e.Environment, URL: e.URL, EventTypes: e.EventTypes, Description: e.Description,
		Enabled: e.Enabled, DisabledReason: e.DisabledReason, DisabledAt: e.DisabledAt, AbandonedAt: e.AbandonedAt, RatePerMinute: e.RatePerMinute, Ordered: e.Ordered, Filter: e.Filter, FilterErrors: filterErrors, Headers: e.Headers, ClientCertificate: certificate,
		Signatures: signaturesOf(e.Signing),
		CreatedAt:  e.CreatedAt, UpdatedAt: e.UpdatedAt,
	}
}
