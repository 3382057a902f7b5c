package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// APIToken is the credential of a program that acts as an operator.
type APIToken struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Role       string     `json:"role"`
	Token      string     `json:"token"` // the token itself: only in the response that makes it
	Last4      string     `json:"last4"`
	CreatedBy  string     `json:"created_by"`
	CreatedAt  time.Time  `json:"created_at"`
	ExpiresAt  *time.Time `json:"expires_at"`
	LastUsedAt *time.Time `json:"last_used_at"`
}

// APITokenInput makes a token.
type APITokenInput struct {
	Name      string     `json:"name"`
	Role      string     `json:"role"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // nil: never
}

// APITokens lists tokens.
func (c *Client) APITokens(ctx context.Context, page PageQuery) (Reply[Page[APIToken]], error) {
	q := url.Values{}
	page.addTo(q)
	return send[Page[APIToken]](ctx, c, get("/api/v1/tokens", q))
}

// CreateAPIToken makes a token. Its Token is shown this once.
func (c *Client) CreateAPIToken(ctx context.Context, in APITokenInput) (Reply[APIToken], error) {
	return send[APIToken](ctx, c, post("/api/v1/tokens", in))
}

// DeleteAPIToken ends a token at once.
func (c *Client) DeleteAPIToken(ctx context.Context, tokenID string) error {
	return discard(send[Empty](ctx, c, call{method: http.MethodDelete, path: "/api/v1/tokens/" + id(tokenID)}))
}
