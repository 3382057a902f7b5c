package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"integrationhub/hub"
)

// Account calls a product that the hub hosts as one of its users, as a program with a
// key of its tenant, or without either as anybody.
type Account struct {
	client *Client
	base   string // of the product's interface, below the hub's address
	token  string
	key    string
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

// Get decodes the answer to a GET into a value.
func (a Account) Get(ctx context.Context, path string, query url.Values, into any) error {
	return a.send(ctx, http.MethodGet, path, query, nil, into)
}

// Post sends a body and decodes the answer into a value.
func (a Account) Post(ctx context.Context, path string, body, into any) error {
	return a.send(ctx, http.MethodPost, path, nil, body, into)
}

// Put sends a body and decodes the answer into a value.
func (a Account) Put(ctx context.Context, path string, body, into any) error {
	return a.send(ctx, http.MethodPut, path, nil, body, into)
}

func (a Account) send(ctx context.Context, method, path string, query url.Values, body, into any) error {
	k := call{method: method, path: a.base + path, query: query, body: body, public: true}
	switch {
	case a.key != "":
		k.header = http.Header{hub.HeaderKey: {a.key}}
	case a.token != "":
		k.header = http.Header{"Authorization": {"Bearer " + a.token}}
	}
	reply, err := send[json.RawMessage](ctx, a.client, k)
	if err != nil || into == nil || len(reply.Raw) == 0 {
		return err
	}
	if err := json.Unmarshal(reply.Raw, into); err != nil {
		return &AnswerError{URL: a.client.base + k.path, Reason: "it is not the JSON that was expected: " + err.Error()}
	}
	return nil
}
