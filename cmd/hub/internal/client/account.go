package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"integrationhub/hub"
)

// Account calls a hosted product with the token of a user, with a tenant's key, or without
// credentials.
type Account struct {
	client *Client
	base   string // of the product's interface, below the hub's address
	token  string
	key    string

	asOperator bool
}

// Account returns the calls of a hosted product with the token of a user. The product is
// at its default path: HUB_PRODUCT_PATHS does not change it.
func (c *Client) Account(product, token string) Account {
	return Account{client: c, base: "/" + id(product) + "/api/v1", token: token}
}

// Platform returns the calls of the messaging platform's own resources, which lie directly
// below its address.
func (c *Client) Platform(token string) Account {
	return Account{client: c, base: "/messaging", token: token}
}

// WithKey returns the calls of the same product with a tenant's key.
func (a Account) WithKey(key string) Account {
	a.token, a.key = "", key
	return a
}

// AsOperator returns the calls of the same product with the client's own credentials: where
// sign-up is closed, only operators create accounts.
func (a Account) AsOperator() Account {
	a.token, a.key, a.asOperator = "", "", true
	return a
}

// Get makes a GET request and decodes the response into result.
func (a Account) Get(ctx context.Context, path string, query url.Values, result any) error {
	return a.send(ctx, http.MethodGet, path, query, nil, result)
}

// Post sends a body and decodes the response into result; both may be nil.
func (a Account) Post(ctx context.Context, path string, body, result any) error {
	return a.send(ctx, http.MethodPost, path, nil, body, result)
}

// Put sends a body and decodes the response into result; both may be nil.
func (a Account) Put(ctx context.Context, path string, body, result any) error {
	return a.send(ctx, http.MethodPut, path, nil, body, result)
}

func (a Account) send(ctx context.Context, method, path string, query url.Values, body, result any) error {
	request := call{method: method, path: a.base + path, query: query, body: body, public: !a.asOperator}
	switch {
	case a.key != "":
		request.header = http.Header{hub.HeaderKey: {a.key}}
	case a.token != "":
		request.header = http.Header{"Authorization": {"Bearer " + a.token}}
	}
	reply, err := send[json.RawMessage](ctx, a.client, request)
	if err != nil || result == nil || len(reply.Raw) == 0 {
		return err
	}
	if err := json.Unmarshal(reply.Raw, result); err != nil {
		return &AnswerError{URL: a.client.base + request.path, Reason: "it is not the JSON that was expected: " + err.Error()}
	}
	return nil
}
