package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Integration is a tenant connected to a peer product.
type Integration struct {
	ID              string     `json:"id"`
	TenantID        string     `json:"tenant_id"`
	TenantName      string     `json:"tenant_name"`
	OwnProduct      string     `json:"own_product"`
	Environment     string     `json:"environment"`
	Product         string     `json:"product"` // the peer
	Status          string     `json:"status"`  // active, inactive or error
	Disabled        bool       `json:"disabled"`
	Ordered         bool       `json:"ordered"`
	LastError       string     `json:"last_error"` // "" = none
	Features        []string   `json:"features"`   // of the peer
	Enabled         []string   `json:"enabled"`    // uses asked for
	APIURL          string     `json:"api_url"`
	WebhookURL      string     `json:"webhook_url"`
	PeerWebhookURL  string     `json:"peer_webhook_url"`
	APIKeyLocal     string     `json:"api_key_local"`  // how it ends
	APIKeyRemote    string     `json:"api_key_remote"` // how it ends
	WebhookSecret   string     `json:"webhook_secret"` // how it ends
	Secret          string     `json:"secret"`         // only in the response that makes one
	PreviousUntil   *time.Time `json:"previous_secret_until"`
	RegisterAt      *time.Time `json:"next_registration_at"`
	LastHealthCheck *time.Time `json:"last_health_check"`
	RevokedAt       *time.Time `json:"revoked_at"`
	CreatedAt       time.Time  `json:"created_at"`
}

// ConnectInput connects a tenant to a peer; empty fields take the hub's defaults.
type ConnectInput struct {
	TenantID    string   `json:"tenant_id"`
	Environment string   `json:"environment,omitempty"`
	Product     string   `json:"product"` // the peer
	APIKey      string   `json:"api_key"` // that the peer issued
	APIURL      string   `json:"api_url"`
	WebhookURL  string   `json:"webhook_url,omitempty"`
	Features    []string `json:"features,omitempty"`
}

// LinkInput connects two tenants of one hub.
type LinkInput struct {
	TenantID     string   `json:"tenant_id"`
	PeerTenantID string   `json:"peer_tenant_id"`
	Environment  string   `json:"environment,omitempty"`
	Features     []string `json:"features,omitempty"`
}

// LinkResult has the integrations of both sides; only one if the registration failed.
type LinkResult struct {
	Integrations []Integration `json:"integrations"`
}

// IntegrationQuery filters the list of integrations; empty fields do not filter.
type IntegrationQuery struct {
	TenantID    string
	Environment string
	Product     string // the peer
	Status      string
}

// IntegrationTest is what a probe of a peer found.
type IntegrationTest struct {
	OK         bool     `json:"ok"`
	Status     string   `json:"status"` // of the integration, now
	Error      string   `json:"error"`  // "" = none
	Code       string   `json:"code"`
	Version    string   `json:"version"`
	Features   []string `json:"features"`
	DurationMS int64    `json:"duration_ms"`
}

const integrationsPath = "/api/v1/integrations"

// Connect makes the handshake with a peer. An integration whose registration failed
// is answered too: its Status is "error", and the hub tries again.
func (c *Client) Connect(ctx context.Context, in ConnectInput) (Reply[Integration], error) {
	return send[Integration](ctx, c, post(integrationsPath+"/connect", in))
}

// Link connects two tenants that both live in the hub.
func (c *Client) Link(ctx context.Context, in LinkInput) (Reply[LinkResult], error) {
	return send[LinkResult](ctx, c, post(integrationsPath+"/link", in))
}

// Integrations lists integrations.
func (c *Client) Integrations(ctx context.Context, filter IntegrationQuery, page PageQuery) (Reply[Page[Integration]], error) {
	q := url.Values{}
	setIf(q, "tenant_id", filter.TenantID)
	setIf(q, "environment", filter.Environment)
	setIf(q, "product", filter.Product)
	setIf(q, "status", filter.Status)
	page.addTo(q)
	return send[Page[Integration]](ctx, c, get(integrationsPath, q))
}

// Integration returns one integration, without its secrets.
func (c *Client) Integration(ctx context.Context, integrationID string) (Reply[Integration], error) {
	return send[Integration](ctx, c, get(integrationsPath+"/"+id(integrationID), nil))
}

// TestIntegration checks the peer's health now.
func (c *Client) TestIntegration(ctx context.Context, integrationID string) (Reply[IntegrationTest], error) {
	return send[IntegrationTest](ctx, c, post(integrationsPath+"/"+id(integrationID)+"/test", struct{}{}))
}

// RotateIntegrationSecret creates a new webhook secret, shown this once, and registers it with
// the peer; the old one is accepted too for overlap.
func (c *Client) RotateIntegrationSecret(ctx context.Context, integrationID string, overlap time.Duration) (Reply[Integration], error) {
	return send[Integration](ctx, c, post(integrationsPath+"/"+id(integrationID)+"/rotate-secret", overlapInput(overlap)))
}

// UpdateIntegration sets whether the peer gets the events of one ordering key one at a time.
func (c *Client) UpdateIntegration(ctx context.Context, integrationID string, ordered bool) (Reply[Integration], error) {
	body := struct {
		Ordered bool `json:"ordered"`
	}{ordered}
	return send[Integration](ctx, c, call{method: http.MethodPut, path: integrationsPath + "/" + id(integrationID), body: body})
}

// EnableIntegration resumes an integration that was disabled.
func (c *Client) EnableIntegration(ctx context.Context, integrationID string) (Reply[Integration], error) {
	return send[Integration](ctx, c, post(integrationsPath+"/"+id(integrationID)+"/enable", struct{}{}))
}

// DisableIntegration stops an integration until it is enabled.
func (c *Client) DisableIntegration(ctx context.Context, integrationID string) (Reply[Integration], error) {
	return send[Integration](ctx, c, post(integrationsPath+"/"+id(integrationID)+"/disable", struct{}{}))
}

// RevokeIntegration ends an integration and notifies the peer.
func (c *Client) RevokeIntegration(ctx context.Context, integrationID string) (Reply[Integration], error) {
	return send[Integration](ctx, c, call{method: http.MethodDelete, path: integrationsPath + "/" + id(integrationID)})
}
