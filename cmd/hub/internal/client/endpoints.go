package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Endpoint is a plain webhook subscription of a tenant.
type Endpoint struct {
	ID             string   `json:"id"`
	TenantID       string   `json:"tenant_id"`
	Environment    string   `json:"environment"`
	URL            string   `json:"url"`
	EventTypes     []string `json:"event_types"`
	Description    string   `json:"description"`
	Enabled        bool     `json:"enabled"`
	DisabledReason string   `json:"disabled_reason"`
	RatePerMinute  *int     `json:"rate_per_minute"` // nil = not limited
	Ordered        bool     `json:"ordered"`         // gets the events of one ordering key one at a time
	Filter         string   `json:"filter"`          // "" = none
	FilterErrors   *struct {
		Count     int64     `json:"count"`
		LastError string    `json:"last_error"`
		LastAt    time.Time `json:"last_at"`
	} `json:"filter_errors"` // nil = none since the filter was set
	Headers           map[string]string `json:"headers"` // values are masked
	ClientCertificate *struct {
		Subject   string    `json:"subject"`
		ExpiresAt time.Time `json:"expires_at"`
	} `json:"client_certificate"` // nil = none
	Secret    string    `json:"secret"`  // only in responses that make one
	Notices   []string  `json:"notices"` // about signatures, beside the secret
	Standard  bool      `json:"standard_signature"`
	CreatedAt time.Time `json:"created_at"`
}

// ReceiverSettings are headers and the client certificate for a receiver.
type ReceiverSettings struct {
	Headers           *map[string]string `json:"headers,omitempty"`            // nil = as they are
	ClientCertificate *Certificate       `json:"client_certificate,omitempty"` // nil = as it is; zero = none
}

// Certificate is a certificate for mTLS with its key, both PEM.
type Certificate struct {
	Certificate string `json:"certificate,omitempty"`
	Key         string `json:"key,omitempty"`
}

// EndpointInput makes an endpoint.
type EndpointInput struct {
	TenantID      string   `json:"tenant_id,omitempty"`   // operators only
	Environment   string   `json:"environment,omitempty"` // operators only
	URL           string   `json:"url"`
	EventTypes    []string `json:"event_types"`
	Description   string   `json:"description,omitempty"`
	Secret        string   `json:"secret,omitempty"` // made by the hub if empty
	RatePerMinute *int     `json:"rate_per_minute,omitempty"`
	Enabled       *bool    `json:"enabled,omitempty"`
	Ordered       bool     `json:"ordered,omitempty"`
	Filter        string   `json:"filter,omitempty"`
	ReceiverSettings
}

// EndpointUpdate replaces what can be changed of an endpoint.
type EndpointUpdate struct {
	URL           string   `json:"url"`
	EventTypes    []string `json:"event_types"`
	Description   string   `json:"description"`
	Enabled       bool     `json:"enabled"`
	RatePerMinute *int     `json:"rate_per_minute"`   // nil = not limited
	Ordered       *bool    `json:"ordered,omitempty"` // nil = as it is
	Filter        *string  `json:"filter,omitempty"`  // nil = as it is, "" = none
	ReceiverSettings
}

const endpointsPath = "/api/v1/endpoints"

// Endpoints lists endpoints, of one tenant or of all the caller may see ("").
func (c *Client) Endpoints(ctx context.Context, tenantID string, page PageQuery) (Reply[Page[Endpoint]], error) {
	q := url.Values{}
	setIf(q, "tenant_id", tenantID)
	page.addTo(q)
	return send[Page[Endpoint]](ctx, c, get(endpointsPath, q))
}

// Endpoint returns one endpoint, without its secret.
func (c *Client) Endpoint(ctx context.Context, endpointID string) (Reply[Endpoint], error) {
	return send[Endpoint](ctx, c, get(endpointsPath+"/"+id(endpointID), nil))
}

// CreateEndpoint makes an endpoint. Its Secret is shown this once.
func (c *Client) CreateEndpoint(ctx context.Context, in EndpointInput) (Reply[Endpoint], error) {
	return send[Endpoint](ctx, c, post(endpointsPath, in))
}

// UpdateEndpoint replaces what can be changed of an endpoint.
func (c *Client) UpdateEndpoint(ctx context.Context, endpointID string, in EndpointUpdate) (Reply[Endpoint], error) {
	return send[Endpoint](ctx, c, call{method: http.MethodPut, path: endpointsPath + "/" + id(endpointID), body: in})
}

// DeleteEndpoint ends an endpoint.
func (c *Client) DeleteEndpoint(ctx context.Context, endpointID string) error {
	return discard(send[Empty](ctx, c, call{method: http.MethodDelete, path: endpointsPath + "/" + id(endpointID)}))
}

// Rotation is how a secret is replaced.
type Rotation struct {
	OverlapSeconds int64  `json:"overlap_seconds"`  // how long the old secret signs too
	Switch         string `json:"switch,omitempty"` // when X-Webhook-Signature changes: now, end
	Secret         string `json:"secret,omitempty"` // made by the hub if empty
}

// RotateSecret replaces an endpoint's secret. The new one is shown this once.
func (c *Client) RotateSecret(ctx context.Context, endpointID string, rotation Rotation) (Reply[Endpoint], error) {
	return send[Endpoint](ctx, c, post(endpointsPath+"/"+id(endpointID)+"/rotate-secret", rotation))
}

// Match says whether an endpoint would get an event.
type Match struct {
	Matches bool   `json:"matches"`
	Reason  string `json:"reason"`
}

// MatchEvent asks whether an endpoint would get an event, as it is published or as its envelope
// shows it. Nothing is sent.
func (c *Client) MatchEvent(ctx context.Context, endpointID string, event json.RawMessage) (Reply[Match], error) {
	return send[Match](ctx, c, post(endpointsPath+"/"+id(endpointID)+"/match", map[string]json.RawMessage{"event": event}))
}

// PingResult is the response to a ping.
type PingResult struct {
	ID string `json:"id"` // of the event that was sent
}

// Ping sends hub.ping to an endpoint, or the example of an event type.
func (c *Client) Ping(ctx context.Context, endpointID, eventType string) (Reply[PingResult], error) {
	body := struct {
		EventType string `json:"event_type,omitempty"`
	}{eventType}
	return send[PingResult](ctx, c, post(endpointsPath+"/"+id(endpointID)+"/ping", body))
}
