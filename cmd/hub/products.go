package main

import (
	"context"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
)

func newProducts(a *app) *cobra.Command {
	return group("products", "Register and list products", newProductsCreate(a), newProductsList(a))
}

func newProductsCreate(a *app) *cobra.Command {
	var in client.ProductInput
	cmd := &cobra.Command{
		Use:     "create NAME --prefix PREFIX",
		Short:   "Register an external product",
		Example: `  hub products create crm --prefix crm --title "Our CRM"`,
		Args:    exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Name = args[0]
			if in.Prefix == "" {
				return usagef("--prefix is needed: it begins the keys of the product's tenants, as in crm_live_…")
			}
			c, err := a.calls()
			if err != nil {
				return err
			}
			reply, err := c.CreateProduct(cmd.Context(), in)
			if err != nil {
				return err
			}
			p := reply.Value
			return a.created(reply.Raw, p.Name, "name", p.Name, "prefix", p.Prefix, "title", p.Title)
		},
	}
	cmd.Flags().StringVar(&in.Prefix, "prefix", "", "begin of the keys of the product's tenants")
	cmd.Flags().StringVar(&in.Title, "title", "", "name for people")
	return cmd
}

func newProductsList(a *app) *cobra.Command {
	var p paging
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List products",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.calls()
			if err != nil {
				return err
			}
			return listing[client.Product]{
				fetch: func(ctx context.Context, page client.PageQuery) (client.Reply[client.Page[client.Product]], error) {
					return c.Products(ctx, page)
				},
				columns: []column{{title: "name"}, {title: "prefix"}, {title: "title"}, {title: "hosted"}, {title: "created"}},
				row: func(p client.Product) []string {
					return []string{p.Name, p.Prefix, p.Title, yesNo(p.Hosted), clock(p.CreatedAt)}
				},
				id: func(p client.Product) string { return p.Name },
			}.show(cmd.Context(), a, p)
		},
	}
	p.addTo(cmd)
	return cmd
}
