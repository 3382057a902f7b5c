// Package hubapi is a client of a running hub, for measurements and chaos tests.
package hubapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
)

// Client calls a running hub over HTTP: the operators' API, and the routes of products.
type Client struct {
	BaseURL string // http://host:port
	token   string // an operator's access token; set by SignIn
}

// ErrNotUnderstood says that a hub refused a request with 400, 404, 405 or 422. One of another
// version may not know the route, or a member of the body.
var ErrNotUnderstood = errors.New("the hub does not understand the request")

// AdminEmail is the e-mail address of the first operator.
const AdminEmail = "bench@example.com"

// SignIn signs in as [AdminEmail]. It replaces an earlier session.
func (c *Client) SignIn(ctx context.Context, password string) error {
	c.token = ""
	var session struct {
		AccessToken string `json:"access_token"`
	}
	if err := c.Call(ctx, http.MethodPost, "/auth/login", map[string]any{"email": AdminEmail, "password": password}, &session); err != nil {
		return err
	}
	c.token = session.AccessToken
	return nil
}

// SetUp makes a product, a tenant, an API key without a limit, and one endpoint for each
// hook that is subscribed to every event. secrets are the endpoints' signing secrets.
func (c *Client) SetUp(ctx context.Context, hooks []string) (apiKey string, secrets []string, err error) {
	if err := c.Call(ctx, http.MethodPost, "/products", map[string]any{"name": "bench", "prefix": "bch"}, nil); err != nil {
		return "", nil, err
	}
	tenant, err := c.CreateTenant(ctx, "Bench")
	if err != nil {
		return "", nil, err
	}
	apiKey, err = c.CreateKey(ctx, tenant)
	if err != nil {
		return "", nil, err
	}
	for _, hook := range hooks {
		var endpoint struct {
			Secret string `json:"secret"`
		}
		body := map[string]any{"tenant_id": tenant, "url": hook, "event_types": []string{"*"}}
		if err := c.Call(ctx, http.MethodPost, "/endpoints", body, &endpoint); err != nil {
			return "", nil, err
		}
		secrets = append(secrets, endpoint.Secret)
	}
	return apiKey, secrets, nil
}

// CreateTenant makes a tenant of the product that SetUp made, and returns its id.
func (c *Client) CreateTenant(ctx context.Context, name string) (string, error) {
	var tenant struct {
		ID string `json:"id"`
	}
	err := c.Call(ctx, http.MethodPost, "/tenants", map[string]any{"product": "bench", "name": name}, &tenant)
	return tenant.ID, err
}

// CreateKey makes an API key of a tenant, without a rate limit.
func (c *Client) CreateKey(ctx context.Context, tenant string) (string, error) {
	var key struct {
		APIKey string `json:"api_key"`
	}
	err := c.Call(ctx, http.MethodPost, "/keys", map[string]any{"tenant_id": tenant, "rate": "0"}, &key)
	return key.APIKey, err
}

// EventsURL returns where events are published.
func (c *Client) EventsURL() string { return c.BaseURL + "/api/v1/events" }

// Call calls the operators' API, with a path below /api/v1.
func (c *Client) Call(ctx context.Context, method, path string, body, response any) error {
	header := http.Header{}
	if c.token != "" {
		header = Bearer(c.token)
	}
	return c.CallPath(ctx, method, "/api/v1"+path, header, body, response)
}

// HTTPClient is not http.DefaultClient, whose idle connections each httptest.Server
// closes when it stops: a request that is just being written would fail.
var HTTPClient = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}

// CallPath calls any route of the hub and reads the response into response, which may be nil.
// Any status but 2xx is an error.
func (c *Client) CallPath(ctx context.Context, method, path string, header http.Header, body, response any) error {
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("writing request: %w", err)
		}
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.BaseURL+path, reader)
	if err != nil {
		return fmt.Errorf("making request: %w", err)
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", "application/json")
	resp, err := HTTPClient.Do(req)
	if err != nil {
		return fmt.Errorf("calling the hub: %w", err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("reading the response to %s %s: %w", method, path, err)
	}
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode <= 299:
	case slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnprocessableEntity}, resp.StatusCode):
		return fmt.Errorf("calling %s %s: %w: %s: %s", method, path, ErrNotUnderstood, resp.Status, raw)
	default:
		return fmt.Errorf("calling %s %s: %s: %s", method, path, resp.Status, raw)
	}
	if response == nil {
		return nil
	}
	if err := json.Unmarshal(raw, response); err != nil {
		return fmt.Errorf("reading the response to %s %s: %w", method, path, err)
	}
	return nil
}

// Bearer returns the header that authenticates a request by an access token.
func Bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
