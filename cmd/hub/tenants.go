package main

import (
	"context"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
)

func newTenants(a *app) *cobra.Command {
	return group("tenants", "Create and list tenants: customers' accounts in products", newTenantsCreate(a), newTenantsList(a))
}

func newTenantsCreate(a *app) *cobra.Command {
	var in client.TenantInput
	cmd := &cobra.Command{
		Use:     "create NAME --product PRODUCT",
		Short:   "Make a tenant of an external product",
		Example: `  hub tenants create "Acme" --product crm --external-ref 4711`,
		Args:    exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Name = args[0]
			if in.Product == "" {
				return usagef("--product is needed; see: hub products list")
			}
			c, err := a.calls()
			if err != nil {
				return err
			}
			reply, err := c.CreateTenant(cmd.Context(), in)
			if err != nil {
				return err
			}
			t := reply.Value
			return a.created(reply.Raw, t.ID, "id", t.ID, "name", t.Name, "product", t.Product, "external_ref", t.ExternalRef)
		},
	}
	cmd.Flags().StringVar(&in.Product, "product", "", "name of the product")
	cmd.Flags().StringVar(&in.ExternalRef, "external-ref", "", "the account's id in the product")
	return cmd
}

func newTenantsList(a *app) *cobra.Command {
	var p paging
	var filter client.TenantQuery
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List tenants",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.calls()
			if err != nil {
				return err
			}
			return listing[client.Tenant]{
				fetch: func(ctx context.Context, page client.PageQuery) (client.Reply[client.Page[client.Tenant]], error) {
					return c.Tenants(ctx, filter, page)
				},
				columns: []column{{title: "id"}, {title: "name"}, {title: "product"}, {title: "external ref"}, {title: "created"}},
				row: func(t client.Tenant) []string {
					return []string{t.ID, t.Name, t.Product, orDash(t.ExternalRef), clock(t.CreatedAt)}
				},
				id: func(t client.Tenant) string { return t.ID },
			}.show(cmd.Context(), a, p)
		},
	}
	cmd.Flags().StringVar(&filter.Product, "product", "", "only of this product")
	cmd.Flags().StringVar(&filter.Search, "query", "", "part of a name or external reference")
	p.addTo(cmd)
	return cmd
}
