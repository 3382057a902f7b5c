package client

import (
	"context"
	"net/http"
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
	// Whether published events are checked against the schemas of their types: off, warn or
	// reject.
	Validation string `json:"validation"`
}

// ProductInput registers an external product.
type ProductInput struct {
	Name       string `json:"name"`
	Prefix     string `json:"prefix"`
	Title      string `json:"title,omitempty"`
	Validation string `json:"validation,omitempty"`
}

// ProductUpdate replaces an external product's title and validation.
type ProductUpdate struct {
	Title      string `json:"title,omitempty"`
	Validation string `json:"validation,omitempty"` // "": as it is
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

// UpdateProduct changes an external product.
func (c *Client) UpdateProduct(ctx context.Context, name string, in ProductUpdate) (Reply[Product], error) {
	return send[Product](ctx, c, call{method: http.MethodPut, path: "/api/v1/products/" + id(name), body: in})
}

// DeleteProduct deletes an external product that nothing depends on, and returns it.
func (c *Client) DeleteProduct(ctx context.Context, name string) (Reply[Product], error) {
	return send[Product](ctx, c, call{method: http.MethodDelete, path: "/api/v1/products/" + id(name)})
}

// Tenant is one customer's account in one product.
type Tenant struct {
	ID          string       `json:"id"`
	Product     string       `json:"product"`
	Name        string       `json:"name"`
	ExternalRef string       `json:"external_ref"` // its id in the product; "" = none
	Limits      TenantLimits `json:"limits"`
	CreatedAt   time.Time    `json:"created_at"`

	SuspendedAt         *time.Time `json:"suspended_at"`          // nil = it is not suspended
	DeletionRequestedAt *time.Time `json:"deletion_requested_at"` // nil = it is not being deleted
}

// TenantLimits is what a tenant may use; nil is the default.
type TenantLimits struct {
	Endpoints            *int `json:"endpoints"`
	DeliveriesPerRequest *int `json:"deliveries_per_request"`
	InFlight             *int `json:"in_flight"`
	Queue                *int `json:"queue"`
}

// TenantUpdate replaces what can be changed of a tenant.
type TenantUpdate struct {
	Name        string       `json:"name"`
	ExternalRef *string      `json:"external_ref"`
	Limits      TenantLimits `json:"limits"`
}

// TenantInput makes a tenant of an external product.
type TenantInput struct {
	Product     string `json:"product"`
	Name        string `json:"name"`
	ExternalRef string `json:"external_ref,omitempty"`
}

// TenantQuery filters the list of tenants; empty fields do not filter.
type TenantQuery struct {
	Product     string
	ExternalRef string // the whole of it
	Search      string // part of a name or an external reference
}

const tenantsPath = "/api/v1/tenants"

// Tenants lists tenants.
func (c *Client) Tenants(ctx context.Context, filter TenantQuery, page PageQuery) (Reply[Page[Tenant]], error) {
	q := url.Values{}
	setIf(q, "product", filter.Product)
	setIf(q, "external_ref", filter.ExternalRef)
	setIf(q, "q", filter.Search)
	page.addTo(q)
	return send[Page[Tenant]](ctx, c, get(tenantsPath, q))
}

// CreateTenant makes a tenant of an external product.
func (c *Client) CreateTenant(ctx context.Context, in TenantInput) (Reply[Tenant], error) {
	return send[Tenant](ctx, c, post(tenantsPath, in))
}

// Tenant returns one tenant.
func (c *Client) Tenant(ctx context.Context, tenantID string) (Reply[Tenant], error) {
	return send[Tenant](ctx, c, get(tenantsPath+"/"+id(tenantID), nil))
}

// UpdateTenant replaces what can be changed of a tenant.
func (c *Client) UpdateTenant(ctx context.Context, tenantID string, in TenantUpdate) (Reply[Tenant], error) {
	return send[Tenant](ctx, c, call{method: http.MethodPut, path: tenantsPath + "/" + id(tenantID), body: in})
}

// SuspendTenant stops a tenant until it is resumed.
func (c *Client) SuspendTenant(ctx context.Context, tenantID string) (Reply[Tenant], error) {
	return send[Tenant](ctx, c, post(tenantsPath+"/"+id(tenantID)+"/suspend", nil))
}

// ResumeTenant ends the suspension of a tenant.
func (c *Client) ResumeTenant(ctx context.Context, tenantID string) (Reply[Tenant], error) {
	return send[Tenant](ctx, c, post(tenantsPath+"/"+id(tenantID)+"/resume", nil))
}

// DeletedTenant is what ended with a tenant.
type DeletedTenant struct {
	ID        string `json:"id"`
	Product   string `json:"product"`
	Name      string `json:"name"`
	Keys      int64  `json:"keys"`
	Endpoints int64  `json:"endpoints"`
}

// DeleteTenant deletes a tenant with its keys and endpoints. One of a hosted product has to be
// suspended first.
func (c *Client) DeleteTenant(ctx context.Context, tenantID string) (Reply[DeletedTenant], error) {
	return send[DeletedTenant](ctx, c, call{method: http.MethodDelete, path: tenantsPath + "/" + id(tenantID)})
}
