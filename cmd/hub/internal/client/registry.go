package client

import (
	"context"
	"net/url"
	"time"
)

// Product is a hosted or an external product.
type Product struct {
	Name      string    `json:"name"`
	Prefix    string    `json:"prefix"` // begins its tenants' keys
	Title     string    `json:"title"`
	Hosted    bool      `json:"hosted"`
	CreatedAt time.Time `json:"created_at"`
}

// ProductInput registers an external product.
type ProductInput struct {
	Name   string `json:"name"`
	Prefix string `json:"prefix"`
	Title  string `json:"title,omitempty"`
}

// Products lists products.
func (c *Client) Products(ctx context.Context, page PageQuery) (Reply[Page[Product]], error) {
	q := url.Values{}
	page.addTo(q)
	return send[Page[Product]](ctx, c, get("/api/v1/products", q))
}

// CreateProduct registers an external product.
func (c *Client) CreateProduct(ctx context.Context, in ProductInput) (Reply[Product], error) {
	return send[Product](ctx, c, post("/api/v1/products", in))
}

// Tenant is one customer's account in one product.
type Tenant struct {
	ID          string    `json:"id"`
	Product     string    `json:"product"`
	Name        string    `json:"name"`
	ExternalRef string    `json:"external_ref"` // its id in the product; "" = none
	CreatedAt   time.Time `json:"created_at"`
}

// TenantInput makes a tenant of an external product.
type TenantInput struct {
	Product     string `json:"product"`
	Name        string `json:"name"`
	ExternalRef string `json:"external_ref,omitempty"`
}

// TenantQuery filters the list of tenants; empty fields do not filter.
type TenantQuery struct {
	Product string
	Search  string // part of a name or an external reference
}

// Tenants lists tenants.
func (c *Client) Tenants(ctx context.Context, filter TenantQuery, page PageQuery) (Reply[Page[Tenant]], error) {
	q := url.Values{}
	setIf(q, "product", filter.Product)
	setIf(q, "q", filter.Search)
	page.addTo(q)
	return send[Page[Tenant]](ctx, c, get("/api/v1/tenants", q))
}

// CreateTenant makes a tenant of an external product.
func (c *Client) CreateTenant(ctx context.Context, in TenantInput) (Reply[Tenant], error) {
	return send[Tenant](ctx, c, post("/api/v1/tenants", in))
}
