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
	ID          uuid.UUID    `json:"id" format:"uuid" doc:"UUID that names it in paths"`
	Product     string       `json:"product" doc:"Name of the product" example:"shop"`
	Name        string       `json:"name" doc:"Display name of the customer" example:"Example Ltd"`
	ExternalRef *string      `json:"external_ref" doc:"The product's own id of the account" example:"acc_4711"`
	Limits      TenantLimits `json:"limits" doc:"What it may have and do"`
	CreatedAt   time.Time    `json:"created_at" doc:"When it was made"`
	SuspendedAt *time.Time   `json:"suspended_at" doc:"Since when its users and keys are refused; null: it is not suspended"`
	// DeletionRequestedAt is set of hosted products' tenants only.
	DeletionRequestedAt *time.Time `json:"deletion_requested_at" doc:"Since when its product erases it, after which it is gone; null: it stays"`
}

// TenantLimits is what a tenant may use, so that it cannot hurt the others.
type TenantLimits struct {
	Endpoints            *int32 `json:"endpoints" nullable:"true" required:"false" minimum:"1" maximum:"50000" example:"2000" doc:"Endpoints of both environments; null: 500"`
	DeliveriesPerRequest *int32 `json:"deliveries_per_request" nullable:"true" required:"false" minimum:"1" maximum:"100000" doc:"Deliveries of one publishing request; null: HUB_MAX_DELIVERIES"`
	InFlight             *int32 `json:"in_flight" nullable:"true" required:"false" minimum:"1" maximum:"10000" doc:"Deliveries under way at once in each process; null: its share of the workers"`
	Queue                *int32 `json:"queue" nullable:"true" required:"false" minimum:"1" maximum:"1000000" doc:"Deliveries that wait in each process, others in the database; null: its share of the queue"`
}

type listTenantsInput struct {
	httpx.PageQuery
	Product string `query:"product" maxLength:"40" doc:"Only tenants of this product"`
	Ref     string `query:"external_ref" maxLength:"200" example:"acc_4711" doc:"Only tenants with exactly this external_ref; each product has at most one"`
	Query   string `query:"q" maxLength:"120" doc:"Only tenants whose name or external_ref contains this"`
}

type createTenantInput struct {
	Body struct {
		Product     string  `json:"product" minLength:"1" maxLength:"40" example:"shop" doc:"An external product; tenants of hosted ones are made by their own sign-up"`
		Name        string  `json:"name" minLength:"1" maxLength:"200" doc:"Display name" example:"Example Ltd"`
		ExternalRef *string `json:"external_ref,omitempty" nullable:"true" minLength:"1" maxLength:"200" example:"acc_4711" doc:"The product's own id of the account; unique in the product; null or absent: none"`
	} `nameHint:"TenantCreate"`
}

type updateTenantInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"Id of the tenant"`
	Body struct {
		Name        string       `json:"name" minLength:"1" maxLength:"200" example:"Example Ltd" doc:"A hosted product sets its tenants' names itself: send the present one"`
		ExternalRef *string      `json:"external_ref,omitempty" nullable:"true" minLength:"1" maxLength:"200" example:"acc_4711" doc:"The product's own id of the account; unique in the product; null or absent: none. A hosted product sets it itself: send the present one"`
		Limits      TenantLimits `json:"limits,omitempty" doc:"Absent, and each that is null or absent: the default"`
	} `nameHint:"TenantUpdate"`
}

func (a *API) listTenants(ctx context.Context, in *listTenantsInput) (*struct{ Body httpx.Page[Tenant] }, error) {
	before, err := beforeID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	rows, err := a.deps.Registry.Tenants(ctx, registry.TenantFilter{Product: in.Product, ExternalRef: in.Ref, Query: in.Query}, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := pageOf(rows, in.PageQuery, tenantOf, func(last registry.Tenant) []byte { return last.ID[:] })
	return &struct{ Body httpx.Page[Tenant] }{page}, nil
}

func (a *API) createTenant(ctx context.Context, in *createTenantInput) (*struct{ Body Tenant }, error) {
	tenant, err := a.deps.Registry.CreateTenant(ctx, in.Body.Product, in.Body.Name, in.Body.ExternalRef)
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, tenant.ID, tenant.ID)
	return &struct{ Body Tenant }{tenantOf(tenant)}, nil
}

func (a *API) getTenant(ctx context.Context, in *idPath) (*struct{ Body Tenant }, error) {
	tenant, err := a.deps.Registry.Tenant(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &struct{ Body Tenant }{tenantOf(tenant)}, nil
}

func (a *API) updateTenant(ctx context.Context, in *updateTenantInput) (*struct{ Body Tenant }, error) {
	state := registry.TenantState{Name: in.Body.Name, ExternalRef: in.Body.ExternalRef, Limits: registry.Limits(in.Body.Limits)}
	tenant, changed, err := a.deps.Registry.UpdateTenant(ctx, in.ID, state)
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, tenant.ID, tenant.ID)
	requestInfoOf(ctx).unchanged = !changed
	return &struct{ Body Tenant }{tenantOf(tenant)}, nil
}

func (a *API) suspendTenant(ctx context.Context, in *idPath) (*struct{ Body Tenant }, error) {
	return changedTenant(ctx, in.ID, a.deps.Registry.SuspendTenant)
}

func (a *API) resumeTenant(ctx context.Context, in *idPath) (*struct{ Body Tenant }, error) {
	return changedTenant(ctx, in.ID, a.deps.Registry.ResumeTenant)
}

// changedTenant changes a tenant, for the audit log too.
func changedTenant(ctx context.Context, id uuid.UUID, change func(context.Context, uuid.UUID) (registry.Tenant, bool, error)) (*struct{ Body Tenant }, error) {
	setAuditResource(ctx, id, id)
	tenant, changed, err := change(ctx, id)
	if err != nil {
		return nil, err
	}
	requestInfoOf(ctx).unchanged = !changed
	return &struct{ Body Tenant }{tenantOf(tenant)}, nil
}

// DeletedTenant is what ended with a tenant.
type DeletedTenant struct {
	ID        uuid.UUID `json:"id" format:"uuid" doc:"Of the tenant"`
	Product   string    `json:"product" doc:"Name of the product" example:"shop"`
	Name      string    `json:"name" doc:"Display name that the customer had" example:"Example Ltd"`
	Keys      int64     `json:"keys" minimum:"0" doc:"Keys that were valid until now"`
	Endpoints int64     `json:"endpoints" minimum:"0" doc:"Endpoints that were deleted, of both environments"`
}

func (a *API) deleteTenant(ctx context.Context, in *idPath) (*struct{ Body DeletedTenant }, error) {
	setAuditResource(ctx, in.ID, in.ID)
	deleted, err := a.deps.Registry.DeleteTenant(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &struct{ Body DeletedTenant }{DeletedTenant{
		ID: deleted.ID, Product: deleted.Product, Name: deleted.Name, Keys: deleted.Keys, Endpoints: deleted.Endpoints,
	}}, nil
}

func tenantOf(t registry.Tenant) Tenant {
	return Tenant{ID: t.ID, Product: t.Product, Name: t.Name, ExternalRef: t.ExternalRef, Limits: TenantLimits(t.Limits), CreatedAt: t.CreatedAt, SuspendedAt: t.SuspendedAt, DeletionRequestedAt: t.DeletionRequestedAt}
}
