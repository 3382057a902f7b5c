package alerts

import (
	"errors"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/store"
)

const (
	noSuchProduct = "there is no such product"
	noSuchTenant  = "there is no such tenant"
)

// invalidReference returns a [hub.ErrInvalid] about a field if the row was not found.
func invalidReference(err error, location, message string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return hub.Invalid(location, message)
	}
	return store.Wrap("loading what the alert names", err)
}

// alertStoreError returns the error of a write. What the alert names can be deleted after
// [checkReferences] found it.
func alertStoreError(operation string, err error) error {
	switch store.ConstraintName(err) {
	case "alerts_product_fkey":
		return hub.Invalid("body.product", noSuchProduct)
	case "alerts_tenant_id_fkey":
		return hub.Invalid("body.tenant_id", noSuchTenant)
	}
	return store.Wrap(operation, err)
}
