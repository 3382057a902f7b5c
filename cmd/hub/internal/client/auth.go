package client

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Operator is a person who may use the console and this API.
type Operator struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	Name  string `json:"name"`
	Role  string `json:"role"` // "admin" or "support"

	Disabled bool `json:"disabled"` // cannot log in
}

// Session is the response of a login or a refresh.
type Session struct {
	AccessToken  string   `json:"access_token"`
	RefreshToken string   `json:"refresh_token"`
	ExpiresIn    int64    `json:"expires_in"` // seconds until the access token ends
	Operator     Operator `json:"operator"`
}

// Ends returns when the access token ends, for a session received at now.
func (s Session) Ends(now time.Time) time.Time {
	return now.Add(time.Duration(s.ExpiresIn) * time.Second)
}

// Probe checks without credentials that a hub answers at the client's address. Another server
// is a [NotHubError] or a foreign [Problem].
func (c *Client) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := c.open(ctx, call{method: http.MethodGet, path: "/health", public: true})
	if err == nil {
		return resp.Body.Close()
	}
	var problem *Problem
	if errors.As(err, &problem) && !problem.IsForeign {
		return nil // a hub that is not healthy
	}
	return err
}

// Login opens a session with an operator's e-mail address and password.
func (c *Client) Login(ctx context.Context, email, password string) (Reply[Session], error) {
	request := post("/api/v1/auth/login", map[string]string{"email": email, "password": password})
	request.public = true
	return send[Session](ctx, c, request)
}

// Refresh exchanges a refresh token for a new session; the token is used up.
func (c *Client) Refresh(ctx context.Context, refreshToken string) (Reply[Session], error) {
	request := post("/api/v1/auth/refresh", map[string]string{"refresh_token": refreshToken})
	request.public = true
	return send[Session](ctx, c, request)
}

// Logout ends the session of a refresh token.
func (c *Client) Logout(ctx context.Context, refreshToken string) error {
	return discard(send[Empty](ctx, c, post("/api/v1/auth/logout", map[string]string{"refresh_token": refreshToken})))
}

// Me returns the operator whose token the client uses.
func (c *Client) Me(ctx context.Context) (Reply[Operator], error) {
	return send[Operator](ctx, c, get("/api/v1/auth/me", nil))
}
