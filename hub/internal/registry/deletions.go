package registry

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// DeletedTenant is a tenant that was deleted, with what ended with it.
type DeletedTenant struct {
	Tenant
	Keys      int64 // that were not revoked
	Endpoints int64
}

// DeleteTenant deletes a tenant of an external product with its keys and endpoints, and
// requests the erasure of its log. A hosted product deletes its tenants itself: that is a
// [hub.ErrInvalid]. A tenant that has or had integrations is a
// [hub.ErrConflict].
func (r *Registry) DeleteTenant(ctx context.Context, id uuid.UUID) (deleted DeletedTenant, err error) {
	err = store.InTx(ctx, r.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		row, err := queries.LockTenantToDelete(ctx, id)
		if err != nil {
			return store.Wrap("loading the tenant", err)
		}
		switch {
		case row.Hosted:
			return hub.Errorf(hub.ErrInvalid, "product_hosted", "This tenant's product is hosted here: the product deletes its tenants itself.")
		case row.Connected:
			return hub.Errorf(hub.ErrConflict, "tenant_connected", "This tenant has or had integrations, also revoked ones; the log is shared with the peers, so it cannot be deleted. Revoke its keys and delete its endpoints instead.")
		}
		deleted.Tenant = TenantOf(row.Tenant)
		// First marked, so that what waits for them fails as it does for any deleted endpoint.
		if deleted.Endpoints, err = queries.MarkTenantEndpointsDeleted(ctx, id); err != nil {
			return store.Wrap("ending the tenant's endpoints", err)
		}
		if err := queries.DeleteTenantEndpoints(ctx, id); err != nil {
			return store.Wrap("deleting the tenant's endpoints", err)
		}
		if deleted.Keys, err = queries.DeleteTenantKeys(ctx, time.Now(), id); err != nil {
			return store.Wrap("deleting the tenant's keys", err)
		}
		for _, environment := range []hub.Environment{hub.Live, hub.Test} {
			err := queries.RequestTenantErasure(ctx, dbgen.RequestTenantErasureParams{ID: uuid.Must(uuid.NewV7()), TenantID: id, Environment: environment})
			if err != nil {
				return store.Wrap("requesting the erasure of the tenant's log", err)
			}
		}
		return store.Wrap("deleting the tenant", queries.DeleteTenant(ctx, id))
	})
	if err != nil {
		return DeletedTenant{}, err
	}
	return deleted, nil
}

// DeleteProduct deletes an external product without tenants. A hosted one is a
// [hub.ErrInvalid]. One that has tenants, or that tenants of other products are connected
// to, is a [hub.ErrConflict].
func (r *Registry) DeleteProduct(ctx context.Context, name string) (product Product, err error) {
	err = store.InTx(ctx, r.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		row, err := queries.ProductForUpdate(ctx, name)
		if err != nil {
			return store.Wrap("loading the product", err)
		}
		if product = Product(row); product.Hosted {
			return hub.Errorf(hub.ErrInvalid, "product_hosted", "This product is part of the hub: HUB_PRODUCTS sets which of them run.")
		}
		uses, err := queries.CountProductUses(ctx, name)
		switch {
		case err != nil:
			return store.Wrap("counting what depends on the product", err)
		case uses.Tenants > 0:
			return hub.Errorf(hub.ErrConflict, "product_has_tenants", "This product has tenants: %d. Delete those first.", uses.Tenants)
		case uses.Integrations > 0:
			return hub.Errorf(hub.ErrConflict, "product_connected", "Tenants of other products are connected to this product: %d integrations. Revoke those first.", uses.Integrations)
		}
		return store.Wrap("deleting the product", queries.DeleteProduct(ctx, name))
	})
	if err != nil {
		return Product{}, err
	}
	return product, nil
}
