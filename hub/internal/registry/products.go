// Package registry manages products, their tenants and the tenants' endpoints.
package registry

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

var (
	namePattern   = regexp.MustCompile(`^[a-z][a-z0-9-]{1,39}$`)
	prefixPattern = regexp.MustCompile(`^[a-z][a-z0-9]{1,9}$`)
)

// Directory manages products and tenants.
type Directory struct{ db *pgxpool.Pool }

// NewDirectory returns a directory over db.
func NewDirectory(db *pgxpool.Pool) *Directory { return &Directory{db: db} }

// Product sends and receives events. It is hosted here as a module, or an external one
// that an operator registered.
type Product struct {
	Name      string // "scheduling"
	Prefix    string // of its keys: "sch"
	Title     string // for people
	Hosted    bool
	CreatedAt time.Time
}

// Tenant is one customer's account in one product.
type Tenant struct {
	ID          uuid.UUID
	Product     string
	Name        string
	ExternalRef *string // the product's own id of the account
	CreatedAt   time.Time
}

// CreateProduct registers an external product. Without a title the title is its name. A
// taken name or prefix is a [hub.ErrConflict].
func (d *Directory) CreateProduct(ctx context.Context, product Product) (Product, error) {
	if !namePattern.MatchString(product.Name) {
		return Product{}, hub.Invalid("body.name", "must be 2 to 40 lower-case letters, digits or dashes, beginning with a letter")
	}
	if !prefixPattern.MatchString(product.Prefix) {
		return Product{}, hub.Invalid("body.prefix", "must be 2 to 10 lower-case letters or digits, beginning with a letter")
	}
	if product.Title == "" {
		product.Title = product.Name
	}
	row, err := dbgen.New(d.db).CreateProduct(ctx, dbgen.CreateProductParams{
		Name: product.Name, Prefix: product.Prefix, Title: product.Title, Hosted: product.Hosted,
	})
	switch store.ConstraintName(err) {
	case "products_pkey":
		return Product{}, hub.Errorf(hub.ErrConflict, "name_taken", "Another product has this name.")
	case "products_prefix_key":
		return Product{}, hub.Errorf(hub.ErrConflict, "prefix_taken", "Another product has this key prefix.")
	}
	if err != nil {
		return Product{}, store.Wrap("storing the product", err)
	}
	return Product(row), nil
}

// Products returns up to limit products, by name, that follow a name.
func (d *Directory) Products(ctx context.Context, after string, limit int) ([]Product, error) {
	rows, err := dbgen.New(d.db).ListProducts(ctx, after, int32(limit))
	if err != nil {
		return nil, store.Wrap("listing products", err)
	}
	list := make([]Product, len(rows))
	for i, row := range rows {
		list[i] = Product(row)
	}
	return list, nil
}

// CreateTenant creates a tenant of an external product. A hosted product creates its
// tenants itself when they sign up: that is a [hub.ErrInvalid]. A taken external reference
// is a [hub.ErrConflict].
func (d *Directory) CreateTenant(ctx context.Context, product, name string, externalRef *string) (Tenant, error) {
	queries := dbgen.New(d.db)
	ownerProduct, err := queries.ProductByName(ctx, product)
	if errors.Is(err, pgx.ErrNoRows) {
		return Tenant{}, hub.Invalid("body.product", "is not a known product")
	}
	if err != nil {
		return Tenant{}, store.Wrap("loading the product", err)
	}
	if ownerProduct.Hosted {
		err := hub.Invalid("body.product", "is hosted here: its tenants are made by its own sign-up")
		err.Code = "product_hosted"
		return Tenant{}, err
	}
	row, err := queries.CreateTenant(ctx, dbgen.CreateTenantParams{
		ID: uuid.Must(uuid.NewV7()), Product: product, Name: name, ExternalRef: externalRef,
	})
	if store.ConstraintName(err) == "tenants_external_ref" {
		return Tenant{}, hub.Errorf(hub.ErrConflict, "external_ref_taken", "Another tenant of this product has this external_ref.")
	}
	if err != nil {
		return Tenant{}, store.Wrap("storing the tenant", err)
	}
	return Tenant(row), nil
}

// Tenant loads one tenant; an unknown id is a [hub.ErrNotFound].
func (d *Directory) Tenant(ctx context.Context, id uuid.UUID) (Tenant, error) {
	row, err := dbgen.New(d.db).TenantByID(ctx, id)
	if err != nil {
		return Tenant{}, store.Wrap("loading the tenant", err)
	}
	return Tenant(row), nil
}

// TenantFilter narrows a list of tenants; zero fields match everything.
type TenantFilter struct {
	Product string
	Query   string // part of the name or of the external reference
}

// Tenants returns up to limit tenants, newest first, that follow the id before.
func (d *Directory) Tenants(ctx context.Context, filter TenantFilter, before *uuid.UUID, limit int) ([]Tenant, error) {
	rows, err := dbgen.New(d.db).ListTenants(ctx, dbgen.ListTenantsParams{
		Product: nullable(filter.Product), Pattern: containsPattern(filter.Query), Before: before, RowLimit: int32(limit),
	})
	if err != nil {
		return nil, store.Wrap("listing tenants", err)
	}
	list := make([]Tenant, len(rows))
	for i, row := range rows {
		list[i] = Tenant(row)
	}
	return list, nil
}

// nullable returns nil for an empty filter.
func nullable[T ~string](text T) *string {
	if text == "" {
		return nil
	}
	plain := string(text)
	return &plain
}

// containsPattern returns the ilike pattern of texts that contain a part.
func containsPattern(part string) *string {
	if part == "" {
		return nil
	}
	pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(part) + "%"
	return &pattern
}
