package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Key is an API key of a tenant.
type Key struct {
	ID          string     `json:"id"`
	TenantID    string     `json:"tenant_id"`
	Name        string     `json:"name"`
	APIKey      string     `json:"api_key"` // the key itself: only in the response that makes it
	Prefix      string     `json:"prefix"`
	Last4       string     `json:"last4"`
	Environment string     `json:"environment"`
	Scopes      []string   `json:"scopes"` // empty: all
	Rate        string     `json:"rate"`   // e.g. "100-M"; "0" = no limit
	CreatedAt   time.Time  `json:"created_at"`
	ExpiresAt   *time.Time `json:"expires_at"`
	RevokedAt   *time.Time `json:"revoked_at"`
	LastUsedAt  *time.Time `json:"last_used_at"`
}

// KeyInput makes a key; empty fields take the hub's defaults.
type KeyInput struct {
	TenantID    string     `json:"tenant_id"`
	Name        string     `json:"name,omitempty"`
	Environment string     `json:"environment,omitempty"`
	Scopes      []string   `json:"scopes,omitempty"`
	Rate        string     `json:"rate,omitempty"`
	ExpiresAt   *time.Time `json:"expires_at,omitempty"`
}

// Keys lists keys, of one tenant or of all ("").
func (c *Client) Keys(ctx context.Context, tenantID string, page PageQuery) (Reply[Page[Key]], error) {
	q := url.Values{}
	setIf(q, "tenant_id", tenantID)
	page.addTo(q)
	return send[Page[Key]](ctx, c, get("/api/v1/keys", q))
}

// CreateKey makes a key. Its APIKey is shown this once.
func (c *Client) CreateKey(ctx context.Context, in KeyInput) (Reply[Key], error) {
	return send[Key](ctx, c, post("/api/v1/keys", in))
}

// RevokeKey ends a key at once.
func (c *Client) RevokeKey(ctx context.Context, keyID string) error {
	return discard(send[Empty](ctx, c, call{method: http.MethodDelete, path: "/api/v1/keys/" + id(keyID)}))
}

// RotateKey makes a new key like the old one, which stays valid for overlap.
func (c *Client) RotateKey(ctx context.Context, keyID string, overlap time.Duration) (Reply[Key], error) {
	return send[Key](ctx, c, post("/api/v1/keys/"+id(keyID)+"/rotate", overlapInput(overlap)))
}

// overlapInput says how long what is replaced stays valid beside its successor.
func overlapInput(overlap time.Duration) map[string]int64 {
	return map[string]int64{"overlap_seconds": int64(overlap / time.Second)}
}
