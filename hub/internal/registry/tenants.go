package registry

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module/pointer"
	"integrationhub/hub/module/rest"
)

// Tenant is one customer's account in one product.
type Tenant struct {
	ID          uuid.UUID
	Product     string
	Name        string
	ExternalRef *string // the product's own id of the account
	Limits      Limits
	CreatedAt   time.Time
	SuspendedAt *time.Time // nil = it is not suspended
	// DeletionRequestedAt is since when its product erases it; nil = it stays.
	DeletionRequestedAt *time.Time
}

// Limits is what a tenant may use, so that it cannot hurt the others. nil is the default.
type Limits struct {
	Endpoints            *int32 // live and test together
	DeliveriesPerRequest *int32 // of one publishing request
	InFlight             *int32 // deliveries under way in one process
	Queue                *int32 // deliveries that wait in one process
}

// maxTenantName is how many characters a tenant's name has at most.
const maxTenantName = 200

// defaultMaxEndpoints is how many endpoints a tenant may have without a limit of its own.
const defaultMaxEndpoints = 500

// The largest limits that a tenant can be given.
const (
	MaxEndpoints            = 50_000
	MaxDeliveriesPerRequest = 100_000
	MaxInFlight             = 10_000
	MaxQueue                = 1_000_000
)

func (l Limits) check() error {
	for _, limit := range []struct {
		name    string
		value   *int32
		largest int32
	}{
		{"endpoints", l.Endpoints, MaxEndpoints},
		{"deliveries_per_request", l.DeliveriesPerRequest, MaxDeliveriesPerRequest},
		{"in_flight", l.InFlight, MaxInFlight},
		{"queue", l.Queue, MaxQueue},
	} {
		if limit.value != nil && (*limit.value < 1 || *limit.value > limit.largest) {
			return hub.Invalid("body.limits."+limit.name, "must be from 1 to "+strconv.Itoa(int(limit.largest))+", or null")
		}
	}
	return nil
}

func (l Limits) equal(other Limits) bool {
	return equalPointers(l.Endpoints, other.Endpoints) && equalPointers(l.DeliveriesPerRequest, other.DeliveriesPerRequest) &&
		equalPointers(l.InFlight, other.InFlight) && equalPointers(l.Queue, other.Queue)
}

// equalPointers reports whether two pointers are both nil or point to equal values.
func equalPointers[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// CreateTenant creates a tenant of an external product. A hosted product creates its
// tenants itself when they sign up: that is a [hub.ErrInvalid]. A taken external reference
// is a [hub.ErrConflict].
func (r *Registry) CreateTenant(ctx context.Context, product, name string, externalRef *string) (Tenant, error) {
	if err := rest.CheckName(name, "body.name", maxTenantName); err != nil {
		return Tenant{}, err
	}
	queries := dbgen.New(r.db)
	ownerProduct, err := queries.ProductByName(ctx, product)
	if errors.Is(err, pgx.ErrNoRows) {
		return Tenant{}, hub.Invalid("body.product", "is not a known product")
	}
	if err != nil {
		return Tenant{}, store.Wrap("loading the product", err)
	}
	if ownerProduct.Hosted {
		return Tenant{}, productHostedError("body.product", "is hosted here: its tenants are made by its own sign-up")
	}
	row, err := queries.CreateTenant(ctx, dbgen.CreateTenantParams{
		ID: uuid.Must(uuid.NewV7()), Product: product, Name: name, ExternalRef: externalRef,
	})
	if err != nil {
		return Tenant{}, tenantStoreError(err)
	}
	return TenantOf(row), nil
}

func productHostedError(location, message string) error {
	err := hub.Invalid(location, message)
	err.Code = "product_hosted"
	return err
}

func tenantStoreError(err error) error {
	if store.ConstraintName(err) == "tenants_external_ref" {
		return hub.Errorf(hub.ErrConflict, "external_ref_taken", "Another tenant of this product has this external_ref.")
	}
	return store.Wrap("storing the tenant", err)
}

// Tenant loads one tenant; an unknown id is a [hub.ErrNotFound].
func (r *Registry) Tenant(ctx context.Context, id uuid.UUID) (Tenant, error) {
	row, err := dbgen.New(r.db).TenantByID(ctx, id)
	if err != nil {
		return Tenant{}, store.Wrap("loading the tenant", err)
	}
	return TenantOf(row), nil
}

// TenantState is the part of a tenant that operators set.
type TenantState struct {
	Name        string
	ExternalRef *string
	Limits      Limits
}

// UpdateTenant replaces a tenant's name, external reference and limits, and reports whether
// that changed anything. Of a hosted product's tenant only the limits can change: the rest
// is a [hub.ErrInvalid]. A taken external reference is a [hub.ErrConflict].
func (r *Registry) UpdateTenant(ctx context.Context, id uuid.UUID, state TenantState) (tenant Tenant, changed bool, err error) {
	if err := state.Limits.check(); err != nil {
		return Tenant{}, false, err
	}
	err = store.InTx(ctx, r.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		row, err := queries.TenantForUpdate(ctx, id)
		if err != nil {
			return store.Wrap("loading the tenant", err)
		}
		tenant = TenantOf(row.Tenant)
		sameName, sameRef := tenant.Name == state.Name, equalPointers(tenant.ExternalRef, state.ExternalRef)
		switch {
		case row.Hosted && !sameName:
			return productHostedError("body.name", "is set by the tenant's own product, which is hosted here")
		case row.Hosted && !sameRef:
			return productHostedError("body.external_ref", "is set by the tenant's own product, which is hosted here")
		case sameName && sameRef && tenant.Limits.equal(state.Limits):
			return nil
		}
		if !sameName { // one from before there was a check may stay
			if err := rest.CheckName(state.Name, "body.name", maxTenantName); err != nil {
				return err
			}
		}
		changed = true
		tenant.Name, tenant.ExternalRef, tenant.Limits = state.Name, state.ExternalRef, state.Limits
		return queries.UpdateTenant(ctx, dbgen.UpdateTenantParams{
			ID: id, Name: state.Name, ExternalRef: state.ExternalRef, LimitEndpoints: state.Limits.Endpoints,
			LimitDeliveriesPerRequest: state.Limits.DeliveriesPerRequest, LimitInFlight: state.Limits.InFlight, LimitQueue: state.Limits.Queue,
		})
	})
	if err != nil {
		return Tenant{}, false, tenantStoreError(err)
	}
	return tenant, changed, nil
}

// SuspendTenant stops a tenant until [Registry.ResumeTenant], and reports whether it was not
// suspended before. Its users and keys are refused within a second, in every process. What was
// published before is still delivered. An unknown id is a [hub.ErrNotFound].
func (r *Registry) SuspendTenant(ctx context.Context, id uuid.UUID) (tenant Tenant, changed bool, err error) {
	return r.setSuspended(ctx, id, true)
}

// ResumeTenant ends what [Registry.SuspendTenant] began, and reports whether it was suspended.
// It is a [hub.ErrConflict] for a tenant that is being deleted.
func (r *Registry) ResumeTenant(ctx context.Context, id uuid.UUID) (tenant Tenant, changed bool, err error) {
	return r.setSuspended(ctx, id, false)
}

func (r *Registry) setSuspended(ctx context.Context, id uuid.UUID, suspended bool) (tenant Tenant, changed bool, err error) {
	err = store.InTx(ctx, r.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		row, err := queries.TenantForUpdate(ctx, id)
		if err != nil {
			return store.Wrap("loading the tenant", err)
		}
		tenant = TenantOf(row.Tenant)
		if tenant.DeletionRequestedAt != nil && !suspended {
			return hub.Errorf(hub.ErrConflict, "tenant_deletion_requested", "This tenant is being deleted; that cannot be undone.")
		}
		if changed = (tenant.SuspendedAt != nil) != suspended; !changed {
			return nil
		}
		stored, err := queries.SetTenantSuspended(ctx, suspended, id)
		tenant = TenantOf(stored)
		return store.Wrap("storing whether the tenant is suspended", err)
	})
	if err != nil {
		return Tenant{}, false, err
	}
	return tenant, changed, nil
}

// TenantFilter narrows a list of tenants; zero fields match everything.
type TenantFilter struct {
	Product     string
	ExternalRef string // the whole of it
	Query       string // part of the name or of the external reference
}

// Tenants returns up to limit tenants, newest first, that follow the id before.
func (r *Registry) Tenants(ctx context.Context, filter TenantFilter, before *uuid.UUID, limit int) ([]Tenant, error) {
	rows, err := dbgen.New(r.db).ListTenants(ctx, dbgen.ListTenantsParams{
		Product: pointer.NilIfZero(filter.Product), ExternalRef: pointer.NilIfZero(filter.ExternalRef), Pattern: containsPattern(filter.Query), Before: before, RowLimit: int32(limit),
	})
	if err != nil {
		return nil, store.Wrap("listing tenants", err)
	}
	list := make([]Tenant, len(rows))
	for i, row := range rows {
		list[i] = TenantOf(row)
	}
	return list, nil
}

// TenantOf returns a stored tenant.
func TenantOf(row dbgen.Tenant) Tenant {
	return Tenant{
		ID: row.ID, Product: row.Product, Name: row.Name, ExternalRef: row.ExternalRef, CreatedAt: row.CreatedAt, SuspendedAt: row.SuspendedAt, DeletionRequestedAt: row.DeletionRequestedAt,
		Limits: Limits{
			Endpoints: row.LimitEndpoints, DeliveriesPerRequest: row.LimitDeliveriesPerRequest, InFlight: row.LimitInFlight, Queue: row.LimitQueue,
		},
	}
}
