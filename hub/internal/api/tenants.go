package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/registry"
)

// Tenant is a customer's account in one product.
type Tenant struct {
	ID          uuid.UUID `json:"id" format:"uuid"`
	Product     string    `json:"product" example:"shop"`
	Name        string    `json:"name" example:"Example Ltd"`
	ExternalRef *string   `json:"external_ref" doc:"The product's own id of the account" example:"acc_4711"`
	CreatedAt   time.Time `json:"created_at"`
}

type listTenantsInput struct {
	httpx.PageQuery
	Product string `query:"product" maxLength:"40" doc:"Only tenants of this product"`
	Query   string `query:"q" maxLength:"120" doc:"Only tenants whose name or external_ref contains this"`
}

type createTenantInput struct {
	Body struct {
		Product     string `json:"product" minLength:"1" maxLength:"40" example:"shop" doc:"An external product; tenants of hosted ones are made by their own sign-up"`
		Name        string `json:"name" minLength:"1" maxLength:"200" example:"Example Ltd"`
		ExternalRef string `json:"external_ref,omitempty" maxLength:"200" example:"acc_4711" doc:"The product's own id of the account; unique in the product"`
	} `nameHint:"TenantCreate"`
}

func (a *API) listTenants(ctx context.Context, in *listTenantsInput) (*struct{ Body httpx.Page[Tenant] }, error) {
	before, err := beforeID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	rows, err := a.deps.Directory.Tenants(ctx, registry.TenantFilter{Product: in.Product, Query: in.Query}, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := pageOf(rows, in.PageQuery, tenantOf, func(last registry.Tenant) []byte { return last.ID[:] })
	return &struct{ Body httpx.Page[Tenant] }{page}, nil
}

func (a *API) createTenant(ctx context.Context, in *createTenantInput) (*struct{ Body Tenant }, error) {
	tenant, err := a.deps.Directory.CreateTenant(ctx, in.Body.Product, in.Body.Name, nilIfZero(in.Body.ExternalRef))
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, tenant.ID, tenant.ID)
	return &struct{ Body Tenant }{tenantOf(tenant)}, nil
}

func (a *API) getTenant(ctx context.Context, in *idPath) (*struct{ Body Tenant }, error) {
	tenant, err := a.deps.Directory.Tenant(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &struct{ Body Tenant }{tenantOf(tenant)}, nil
}

func tenantOf(t registry.Tenant) Tenant { return Tenant(t) }
