package api

import (
	"cmp"
	"context"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/registry"
)

// Product sends and receives events.
type Product struct {
	Name      string    `json:"name" example:"shop" doc:"Not hub, nor the name of a product that this hub can host itself"`
	Prefix    string    `json:"prefix" example:"shop" doc:"Its keys begin with it"`
	Title     string    `json:"title" doc:"Display name" example:"Web shop"`
	Hosted    bool      `json:"hosted" doc:"Part of this hub; external products are registered here by name"`
	CreatedAt time.Time `json:"created_at" doc:"When it was made"`
	// Validation is [registry.ValidationWarn] for hosted products.
	Validation string `json:"validation" enum:"off,warn,reject" doc:"What happens to published events whose data does not agree with the schema of their type: nothing, a warning, or a refusal. Those of hosted products are counted"`
}

type createProductInput struct {
	Body struct {
		Name   string `json:"name" pattern:"^[a-z][a-z0-9-]{1,39}$" patternDescription:"2 to 40 lower-case letters, digits or dashes, beginning with a letter" doc:"Display name" example:"shop"`
		Prefix string `json:"prefix" pattern:"^[a-z][a-z0-9]{1,9}$" patternDescription:"2 to 10 lower-case letters or digits, beginning with a letter" example:"shop" doc:"Unique; its keys begin with it"`
		Title  string `json:"title,omitempty" maxLength:"120" example:"Web shop" doc:"The name when absent"`
		ProductValidation
	} `nameHint:"ProductCreate"`
}

// ProductValidation is part of a product's settings.
type ProductValidation struct {
	Validation string `json:"validation,omitempty" enum:"off,warn,reject" doc:"What happens to published events whose data does not agree with the schema of their type: off, they are not checked; warn, the response has a header; reject, they are refused. Absent: off for a new product, and as it is for a changed one"`
}

type updateProductInput struct {
	Name string `path:"name" minLength:"1" maxLength:"40" example:"shop" doc:"Name of an external product"`
	Body struct {
		Name   string `json:"name,omitempty" maxLength:"40" example:"shop" doc:"The present one, or absent: it stays"`
		Prefix string `json:"prefix,omitempty" maxLength:"10" example:"shop" doc:"The present one, or absent: it stays"`
		Title  string `json:"title,omitempty" maxLength:"120" example:"Web shop" doc:"Display name; the name when absent"`
		ProductValidation
	} `nameHint:"ProductUpdate"`
}

func (a *API) listProducts(ctx context.Context, in *struct{ httpx.PageQuery }) (*struct{ Body httpx.Page[Product] }, error) {
	after, err := httpx.DecodeCursor(in.Cursor)
	if err != nil {
		return nil, err
	}
	rows, err := a.deps.Registry.Products(ctx, string(after), in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := pageOf(rows, in.PageQuery, productOf, func(last registry.Product) []byte { return []byte(last.Name) })
	return &struct{ Body httpx.Page[Product] }{page}, nil
}

func (a *API) createProduct(ctx context.Context, in *createProductInput) (*struct{ Body Product }, error) {
	product, err := a.deps.Registry.CreateProduct(ctx, registry.Product{Name: in.Body.Name, Prefix: in.Body.Prefix, Title: in.Body.Title, Validation: in.Body.Validation})
	if err != nil {
		return nil, err
	}
	requestInfoOf(ctx).resourceID = product.Name
	return &struct{ Body Product }{productOf(product)}, nil
}

func (a *API) updateProduct(ctx context.Context, in *updateProductInput) (*struct{ Body Product }, error) {
	requestInfoOf(ctx).resourceID = in.Name
	present, err := a.deps.Registry.Product(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(mustStay("body.name", in.Body.Name, present.Name), mustStay("body.prefix", in.Body.Prefix, present.Prefix)); err != nil {
		return nil, err
	}
	product, changed, err := a.deps.Registry.UpdateProduct(ctx, in.Name, in.Body.Title, in.Body.Validation)
	if err != nil {
		return nil, err
	}
	requestInfoOf(ctx).unchanged = !changed
	return &struct{ Body Product }{productOf(product)}, nil
}

// mustStay refuses a value that differs from one that nothing changes; an empty one is absent.
func mustStay(location, value, present string) error {
	if value == "" || value == present {
		return nil
	}
	return hub.Invalid(location, "cannot be changed: send "+present+", or leave it out")
}

type deleteProductInput struct {
	Name string `path:"name" minLength:"1" maxLength:"40" example:"shop" doc:"Name of an external product"`
}

func (a *API) deleteProduct(ctx context.Context, in *deleteProductInput) (*struct{ Body Product }, error) {
	requestInfoOf(ctx).resourceID = in.Name
	product, err := a.deps.Registry.DeleteProduct(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return &struct{ Body Product }{productOf(product)}, nil
}

func productOf(p registry.Product) Product {
	if p.Hosted {
		p.Validation = registry.ValidationWarn
	}
	return Product(p)
}
