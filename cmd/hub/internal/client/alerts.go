package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Alert is where operators are notified of operational events.
type Alert struct {
	ID             string    `json:"id"`
	Kind           string    `json:"kind"`
	Target         string    `json:"target"`
	Events         []string  `json:"events"`
	Product        *string   `json:"product"`
	TenantID       *string   `json:"tenant_id"`
	Enabled        bool      `json:"enabled"`
	DisabledReason *string   `json:"disabled_reason"`
	Secret         string    `json:"secret"` // only in the response that makes it or rotates it
	CreatedAt      time.Time `json:"created_at"`
	UpdatedAt      time.Time `json:"updated_at"`
}

// AlertSettings is what can be changed of an alert.
type AlertSettings struct {
	Target   string   `json:"target"`
	Events   []string `json:"events"`
	Product  *string  `json:"product"`   // nil: all
	TenantID *string  `json:"tenant_id"` // nil: all
	Enabled  bool     `json:"enabled"`
}

// AlertInput makes an alert.
type AlertInput struct {
	Kind string `json:"kind"`
	AlertSettings
}

// AlertTest is the response to a test of an alert.
type AlertTest struct {
	EventID *string `json:"event_id"` // nil: a mail was sent
}

const alertsPath = "/api/v1/alerts"

// Alerts lists alerts.
func (c *Client) Alerts(ctx context.Context, page PageQuery) (Reply[Page[Alert]], error) {
	q := url.Values{}
	page.addTo(q)
	return send[Page[Alert]](ctx, c, get(alertsPath, q))
}

// Alert returns one alert, without its secret.
func (c *Client) Alert(ctx context.Context, alertID string) (Reply[Alert], error) {
	return send[Alert](ctx, c, get(alertsPath+"/"+id(alertID), nil))
}

// CreateAlert makes an alert. The secret of a webhook is shown this once.
func (c *Client) CreateAlert(ctx context.Context, in AlertInput) (Reply[Alert], error) {
	return send[Alert](ctx, c, post(alertsPath, in))
}

// UpdateAlert replaces what can be changed of an alert.
func (c *Client) UpdateAlert(ctx context.Context, alertID string, in AlertSettings) (Reply[Alert], error) {
	return send[Alert](ctx, c, call{method: http.MethodPut, path: alertsPath + "/" + id(alertID), body: in})
}

// DeleteAlert ends an alert.
func (c *Client) DeleteAlert(ctx context.Context, alertID string) error {
	return discard(send[Empty](ctx, c, call{method: http.MethodDelete, path: alertsPath + "/" + id(alertID)}))
}

// RotateAlertSecret replaces the secret of an alert's webhooks. The old one signs too for
// overlap. The new one is shown this once.
func (c *Client) RotateAlertSecret(ctx context.Context, alertID string, overlap time.Duration) (Reply[Alert], error) {
	return send[Alert](ctx, c, post(alertsPath+"/"+id(alertID)+"/rotate-secret", overlapInput(overlap)))
}

// TestAlert sends a test to an alert.
func (c *Client) TestAlert(ctx context.Context, alertID string) (Reply[AlertTest], error) {
	return send[AlertTest](ctx, c, call{method: http.MethodPost, path: alertsPath + "/" + id(alertID) + "/test"})
}
