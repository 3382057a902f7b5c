// Package registry manages products, their tenants and the tenants' endpoints.
package registry

import (
	"cmp"
	"context"
	"regexp"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module/like"
	"integrationhub/hub/module/rest"
)

var (
	namePattern   = regexp.MustCompile(`^[a-z][a-z0-9-]{1,39}$`)
	prefixPattern = regexp.MustCompile(`^[a-z][a-z0-9]{1,9}$`)
)

// Registry manages products and tenants.
type Registry struct {
	db      *pgxpool.Pool
	modules []Product
	erasers TenantErasers
}

// New returns a registry over db. modules are the products that this binary can
// host, switched on or not: external ones have neither their names nor their prefixes.
func New(db *pgxpool.Pool, modules ...Product) *Registry {
	return &Registry{db: db, modules: modules}
}

// TenantErasers are the hosted products that erase their tenants.
type TenantErasers interface {
	// CanErase reports whether a product runs here and erases tenants.
	CanErase(product string) bool
	// EnqueueErasure adds the job of a product that erases a tenant and then calls
	// [Registry.FinishDeletion]. It starts after the commit.
	EnqueueErasure(ctx context.Context, tx pgx.Tx, product string, tenant uuid.UUID) error
}

// WithErasers sets who erases tenants of hosted products. Without it they are not deleted.
func (r *Registry) WithErasers(erasers TenantErasers) *Registry {
	r.erasers = erasers
	return r
}

// Product sends and receives events. It is hosted here as a module, or an external one
// that an operator registered.
type Product struct {
	Name      string // "scheduling"
	Prefix    string // of its keys: "sch"
	Title     string // for people
	Hosted    bool
	CreatedAt time.Time
	// Validation is what happens to events whose data does not agree with the schema of their
	// type: [ValidationOff], [ValidationWarn] or [ValidationReject]. A hosted product's are
	// counted and never refused.
	Validation string
}

// What happens to events whose data does not agree with the schema of their type.
const (
	ValidationOff    = "off"    // they are not checked
	ValidationWarn   = "warn"   // they are accepted, with a warning
	ValidationReject = "reject" // they are refused
)

// maxTitle is how many characters a product's title has at most.
const maxTitle = 120

// CreateProduct registers an external product. Without a title the title is its name. A
// taken or reserved name or prefix is a [hub.ErrConflict].
func (r *Registry) CreateProduct(ctx context.Context, product Product) (Product, error) {
	if err := checkProduct(product); err != nil {
		return Product{}, err
	}
	if err := r.checkReserved(product); err != nil {
		return Product{}, err
	}
	product.Title, product.Validation = cmp.Or(product.Title, product.Name), cmp.Or(product.Validation, ValidationOff)
	if err := rest.CheckName(product.Title, "body.title", maxTitle); err != nil {
		return Product{}, err
	}
	row, err := dbgen.New(r.db).CreateProduct(ctx, dbgen.CreateProductParams{
		Name: product.Name, Prefix: product.Prefix, Title: product.Title, Hosted: product.Hosted, Validation: product.Validation,
	})
	if err != nil {
		return Product{}, productStoreError(err)
	}
	return Product(row), nil
}

func checkProduct(product Product) error {
	if !namePattern.MatchString(product.Name) {
		return hub.Invalid("body.name", "must be 2 to 40 lower-case letters, digits or dashes, beginning with a letter")
	}
	if !prefixPattern.MatchString(product.Prefix) {
		return hub.Invalid("body.prefix", "must be 2 to 10 lower-case letters or digits, beginning with a letter")
	}
	return checkValidation(product.Validation)
}

func checkValidation(validation string) error {
	switch validation {
	case "", ValidationOff, ValidationWarn, ValidationReject:
		return nil
	}
	return hub.Invalid("body.validation", "must be off, warn or reject")
}

// UpdateProduct replaces an external product's title, its name where title is empty, and its
// validation, which stays as it is where it is empty. It reports whether that changed
// anything. A hosted product is a [hub.ErrInvalid].
func (r *Registry) UpdateProduct(ctx context.Context, name, title, validation string) (product Product, changed bool, err error) {
	if err := checkValidation(validation); err != nil {
		return Product{}, false, err
	}
	err = store.InTx(ctx, r.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		row, err := queries.ProductForUpdate(ctx, name)
		if err != nil {
			return store.Wrap("loading the product", err)
		}
		if product = Product(row); product.Hosted {
			return hub.Errorf(hub.ErrInvalid, "product_hosted", "This product is part of the hub: it has its title and its event types from code.")
		}
		title, validation := cmp.Or(title, name), cmp.Or(validation, product.Validation)
		if changed = title != product.Title || validation != product.Validation; !changed {
			return nil
		}
		if title != product.Title { // one from before there was a check may stay
			if err := rest.CheckName(title, "body.title", maxTitle); err != nil {
				return err
			}
		}
		row, err = queries.UpdateProduct(ctx, dbgen.UpdateProductParams{Name: name, Title: title, Validation: validation})
		product = Product(row)
		return store.Wrap("changing the product", err)
	})
	return product, changed, err
}

func productStoreError(err error) error {
	switch store.ConstraintName(err) {
	case "products_pkey":
		return hub.Errorf(hub.ErrConflict, "name_taken", "Another product has this name.")
	case "products_prefix_key":
		return hub.Errorf(hub.ErrConflict, "prefix_taken", "Another product has this key prefix.")
	}
	return store.Wrap("storing the product", err)
}

// Product loads one product; an unknown name is a [hub.ErrNotFound].
func (r *Registry) Product(ctx context.Context, name string) (Product, error) {
	row, err := dbgen.New(r.db).ProductByName(ctx, name)
	return Product(row), store.Wrap("loading the product", err)
}

// Products returns up to limit products, by name, that follow a name.
func (r *Registry) Products(ctx context.Context, after string, limit int) ([]Product, error) {
	rows, err := dbgen.New(r.db).ListProducts(ctx, after, int32(limit))
	if err != nil {
		return nil, store.Wrap("listing products", err)
	}
	list := make([]Product, len(rows))
	for i, row := range rows {
		list[i] = Product(row)
	}
	return list, nil
}

// containsPattern returns the ilike pattern of texts that contain a part, nil for "".
func containsPattern(part string) *string {
	if part == "" {
		return nil
	}
	return new(like.Contains(part))
}
