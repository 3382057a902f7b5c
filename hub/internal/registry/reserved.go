package registry

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// ownPrefixes begin the hub's own tokens (see package auth), webhook secrets and event ids, so
// that a product's keys are not taken for those.
var ownPrefixes = []string{"hub", "hubl", "hubr", "hubs", "hubt", "whsec", "evt"}

// checkReserved returns a [hub.ErrConflict] if an external product cannot have its name
// or its prefix.
func (r *Registry) checkReserved(product Product) error {
	if product.Hosted {
		return nil
	}
	if product.Name == hub.ProductHub {
		return hub.Errorf(hub.ErrConflict, "name_reserved", "The name %s is the hub's own.", hub.ProductHub)
	}
	if slices.Contains(ownPrefixes, product.Prefix) {
		return hub.Errorf(hub.ErrConflict, "prefix_reserved", "The key prefix %s is the hub's own.", product.Prefix)
	}
	for _, module := range r.modules {
		if product.Name == module.Name {
			return hub.Errorf(hub.ErrConflict, "name_reserved", "The name %s belongs to a product that this hub can host itself.", module.Name)
		}
		if product.Prefix == module.Prefix {
			return hub.Errorf(hub.ErrConflict, "prefix_reserved", "The key prefix %s belongs to %s, which this hub can host itself.", module.Prefix, module.Name)
		}
	}
	return nil
}

// Clash is an external product with a reserved name or prefix, from before it was reserved.
type Clash struct {
	Name, Prefix string // of the external product
	Module       string // whose name or prefix it has; "hub" for the hub's own
}

// FindClashes returns the external products that have the hub's name, or the name or
// prefix of a module of the registry.
func (r *Registry) FindClashes(ctx context.Context) ([]Clash, error) {
	owners := map[string]string{hub.ProductHub: hub.ProductHub}
	prefixes := make(map[string]string)
	names, prefixList := []string{hub.ProductHub}, []string{}
	for _, module := range r.modules {
		owners[module.Name], prefixes[module.Prefix] = module.Name, module.Name
		names, prefixList = append(names, module.Name), append(prefixList, module.Prefix)
	}
	rows, err := dbgen.New(r.db).ExternalProductsNamed(ctx, names, prefixList)
	if err != nil {
		return nil, store.Wrap("looking for reserved names", err)
	}
	clashes := make([]Clash, len(rows))
	for i, row := range rows {
		owner := owners[row.Name]
		if owner == "" {
			owner = prefixes[row.Prefix]
		}
		clashes[i] = Clash{row.Name, row.Prefix, owner}
	}
	return clashes, nil
}

// RenameProduct changes the name of an external product, its key prefix or both; ""
// keeps one. Its tenants stay, and its keys are valid with their old prefix. The log keeps
// the old name. A hosted product is a [hub.ErrConflict].
func (r *Registry) RenameProduct(ctx context.Context, name, newName, newPrefix string) (Product, error) {
	var renamed dbgen.Product
	err := store.InTx(ctx, r.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		row, err := queries.ProductForUpdate(ctx, name)
		if err != nil {
			return store.Wrap("loading the product", err)
		}
		if row.Hosted {
			return hub.Errorf(hub.ErrConflict, "product_hosted", "The product %s is hosted here: its name is fixed.", name)
		}
		product := Product(row)
		if newName != "" {
			product.Name = newName
		}
		if newPrefix != "" {
			product.Prefix = newPrefix
		}
		if err := checkProduct(product); err != nil {
			return err
		}
		if err := r.checkReserved(product); err != nil {
			return err
		}
		renamed, err = queries.RenameProduct(ctx, dbgen.RenameProductParams{Name: name, NewName: product.Name, NewPrefix: product.Prefix})
		if err != nil {
			return productStoreError(err)
		}
		return nil
	})
	return Product(renamed), err
}
