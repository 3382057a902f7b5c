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
// requests the erasure of its log. One that has or had integrations is a [hub.ErrConflict].
//
// Of a hosted product's tenant it ends the keys and endpoints, and [TenantErasers] the rest.
// One that is not suspended is a [hub.ErrConflict]. A product that does not
// run here, or cannot erase, is a [hub.ErrInvalid].
func (r *Registry) DeleteTenant(ctx context.Context, id uuid.UUID) (deleted DeletedTenant, err error) {
	err = store.InTx(ctx, r.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		row, err := queries.LockTenantToDelete(ctx, id)
		if err != nil {
			return store.Wrap("loading the tenant", err)
		}
		switch {
		case row.Hosted:
			deleted, err = r.requestDeletion(ctx, tx, row.Tenant)
			return err
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
		if err := requestLogErasure(ctx, queries, id); err != nil {
			return err
		}
		return store.Wrap("deleting the tenant", queries.DeleteTenant(ctx, id))
	})
	if err != nil {
		return DeletedTenant{}, err
	}
	return deleted, nil
}

// requestLogErasure requests the erasure of a tenant's log, of both environments.
func requestLogErasure(ctx context.Context, queries *dbgen.Queries, id uuid.UUID) error {
	for _, environment := range []hub.Environment{hub.Live, hub.Test} {
		err := queries.RequestTenantErasure(ctx, dbgen.RequestTenantErasureParams{ID: uuid.Must(uuid.NewV7()), TenantID: id, Environment: environment})
		if err != nil {
			return store.Wrap("requesting the erasure of the tenant's log", err)
		}
	}
	return nil
}

// requestDeletion ends the keys and endpoints of a hosted product's tenant, and adds the job that
// erases the rest. The second time it changes nothing.
func (r *Registry) requestDeletion(ctx context.Context, tx pgx.Tx, row dbgen.Tenant) (deleted DeletedTenant, err error) {
	queries := dbgen.New(tx)
	deleted.Tenant = TenantOf(row)
	switch {
	case r.erasers == nil || !r.erasers.CanErase(row.Product):
		return deleted, hub.Errorf(hub.ErrInvalid, "product_hosted", "This tenant's product is hosted here, and does not run or cannot erase its tenants: HUB_PRODUCTS sets which products run.")
	case row.SuspendedAt == nil:
		return deleted, hub.Errorf(hub.ErrConflict, "tenant_not_suspended", "Suspend this tenant first (hub tenants suspend, or the console): its users work with it. A deletion cannot be undone.")
	case row.DeletionRequestedAt != nil:
		return deleted, nil
	}
	if deleted.Endpoints, err = queries.MarkTenantEndpointsDeleted(ctx, row.ID); err != nil {
		return deleted, store.Wrap("ending the tenant's endpoints", err)
	}
	if deleted.Keys, err = queries.RevokeTenantKeys(ctx, time.Now(), row.ID); err != nil {
		return deleted, store.Wrap("revoking the tenant's keys", err)
	}
	requested, err := queries.RequestTenantDeletion(ctx, row.ID)
	if err != nil {
		return deleted, store.Wrap("requesting the deletion of the tenant", err)
	}
	deleted.Tenant = TenantOf(requested)
	err = r.erasers.EnqueueErasure(ctx, tx, row.Product, row.ID)
	return deleted, store.Wrap("adding the job that erases the tenant", err)
}

// IntegrationsToEnd returns the integrations of a tenant that are not revoked.
func (r *Registry) IntegrationsToEnd(ctx context.Context, tenant uuid.UUID) ([]uuid.UUID, error) {
	ids, err := dbgen.New(r.db).IntegrationsToEnd(ctx, tenant)
	return ids, store.Wrap("listing the tenant's integrations", err)
}

// FinishDeletion deletes what the hub itself stores of a tenant whose product has erased the
// rest, and requests the erasure of its log. The tenant's id stays for the log, without a name.
func (r *Registry) FinishDeletion(ctx context.Context, id uuid.UUID) error {
	return store.InTx(ctx, r.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		if changed, err := queries.SetTenantDeleted(ctx, id); err != nil || changed == 0 {
			return store.Wrap("marking the tenant as deleted", err)
		}
		if err := queries.DeleteTenantEndpoints(ctx, id); err != nil {
			return store.Wrap("deleting the tenant's endpoints", err)
		}
		if err := queries.DeleteTenantMails(ctx, &id); err != nil {
			return store.Wrap("deleting the tenant's mail", err)
		}
		return requestLogErasure(ctx, queries, id)
	})
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
