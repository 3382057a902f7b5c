package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/server"
)

func newProducts(a *app) *cobra.Command {
	return group("products", "Register, list, change and delete products", newProductsCreate(a), newProductsList(a), newProductsUpdate(a), newProductsRename(a), newProductsDelete(a))
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
			if isReservedName(in.Name) { // before a prefix is asked for in vain
				return &failure{code: exitFailure, err: fmt.Errorf("the name %s is reserved: it is the hub's own, or a product's that this hub can host itself", in.Name)}
			}
			if in.Prefix == "" {
				return usagef("--prefix is needed: it begins the keys of the product's tenants, as in crm_live_…")
			}
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			reply, err := c.CreateProduct(cmd.Context(), in)
			if err != nil {
				reply, err = a.existingProduct(cmd.Context(), c, in, err)
			}
			if err != nil {
				return err
			}
			p := reply.Value
			return a.printCreated(reply.Raw, p.Name, "name", p.Name, "prefix", p.Prefix, "title", p.Title)
		},
	}
	cmd.Flags().StringVar(&in.Prefix, "prefix", "", "prefix of the keys of the product's tenants")
	cmd.Flags().StringVar(&in.Title, "title", "", "name for people")
	validationFlag(cmd, &in.Validation)
	return cmd
}

func validationFlag(cmd *cobra.Command, validation *string) {
	cmd.Flags().StringVar(validation, "validation", "", "what happens to events that do not agree with the schema of their type: off, warn or reject")
	choices(cmd, "validation", "off", "warn", "reject")
}

func newProductsUpdate(a *app) *cobra.Command {
	var update client.ProductUpdate
	cmd := &cobra.Command{
		Use:     "update NAME",
		Short:   "Change an external product; what is not given stays",
		Example: `  hub products update crm --validation reject`,
		Args:    exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("title") && !cmd.Flags().Changed("validation") {
				return usagef("nothing to change: give --title or --validation")
			}
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("title") {
				if update.Title, err = titleOf(cmd.Context(), c, args[0]); err != nil {
					return err
				}
			}
			reply, err := c.UpdateProduct(cmd.Context(), args[0], update)
			if err != nil {
				return err
			}
			p := reply.Value
			return a.printCreated(reply.Raw, p.Name, "name", p.Name, "prefix", p.Prefix, "title", p.Title, "validation", p.Validation)
		},
	}
	cmd.Flags().StringVar(&update.Title, "title", "", "name for people")
	validationFlag(cmd, &update.Validation)
	return cmd
}

// titleOf returns a product's title.
func titleOf(ctx context.Context, c *client.Client, name string) (string, error) {
	for cursor := ""; ; {
		page, err := c.Products(ctx, client.PageQuery{Limit: pageMax, Cursor: cursor})
		if err != nil {
			return "", err
		}
		for _, p := range page.Value.Items {
			if p.Name == name {
				return p.Title, nil
			}
		}
		if page.Value.NextCursor == nil {
			return "", &failure{code: exitNotFound, err: fmt.Errorf("there is no product %s", terminal.Printable(name)), hint: "see: hub products list"}
		}
		cursor = *page.Value.NextCursor
	}
}

// isReservedName reports whether a name is the hub's or a hosted product's.
func isReservedName(name string) bool {
	return name == hub.ProductHub || slices.ContainsFunc(modules(), func(m module.Module) bool { return m.Spec().Name == name })
}

// existingProduct returns the external product with the settings of in, after a conflict:
// creating it again changes nothing. If there is none it returns the error refused.
func (a *app) existingProduct(ctx context.Context, c *client.Client, in client.ProductInput, refused error) (reply client.Reply[client.Product], err error) {
	var problem *client.Problem
	if !errors.As(refused, &problem) || problem.Status != http.StatusConflict {
		return reply, refused
	}
	for cursor := ""; ; {
		page, err := c.Products(ctx, client.PageQuery{Limit: pageMax, Cursor: cursor})
		if err != nil {
			return reply, refused
		}
		for _, p := range page.Value.Items {
			if p.Name == in.Name && p.Prefix == in.Prefix && !p.Hosted && (in.Title == "" || in.Title == p.Title) && (in.Validation == "" || in.Validation == p.Validation) {
				a.note("the product %s exists already; nothing was changed", terminal.Printable(p.Name))
				raw, err := marshal(p)
				return client.Reply[client.Product]{Value: p, Raw: raw}, err
			}
		}
		if page.Value.NextCursor == nil {
			return reply, refused
		}
		cursor = *page.Value.NextCursor
	}
}

func newProductsList(a *app) *cobra.Command {
	var p paging
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List products",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			return listing[client.Product]{
				fetch: func(ctx context.Context, page client.PageQuery) (client.Reply[client.Page[client.Product]], error) {
					return c.Products(ctx, page)
				},
				columns: []column{{title: "name"}, {title: "prefix"}, {title: "title"}, {title: "hosted"}, {title: "validation"}, {title: "created"}},
				row: func(p client.Product) []string {
					return []string{p.Name, p.Prefix, p.Title, yesNo(p.Hosted), p.Validation, clock(p.CreatedAt)}
				},
				id: func(p client.Product) string { return p.Name },
			}.show(cmd.Context(), a, p)
		},
	}
	p.addTo(cmd)
	return cmd
}

func newProductsRename(a *app) *cobra.Command {
	var prefix string
	cmd := &cobra.Command{
		Use:   "rename NAME [NEW-NAME] [--prefix PREFIX]",
		Short: "Rename an external product, in the database itself",
		Long: `Give an external product another name, another key prefix or both. This is for a start
that was refused because this hub hosts a product of that name: it works on
HUB_DATABASE_URL or the private PostgreSQL, and needs no running hub. Tenants, keys and
endpoints stay; keys that exist keep their prefix, and the log keeps the old name. Tell
receivers that read "product" in events.`,
		Example: `  hub products rename messaging our-messaging --prefix oms`,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && prefix == "" {
				return usagef("nothing to change: give a new name, --prefix or both")
			}
			cfg, err := a.loadConfig(cmd)
			if err != nil {
				return err
			}
			newName := ""
			if len(args) == 2 {
				newName = args[1]
			}
			renamed, err := server.RenameProduct(cmd.Context(), server.Options{
				Config: cfg, Log: a.logger(cfg), Search: postgresPlaces(), Modules: modules(),
			}, args[0], newName, prefix)
			if err != nil {
				return renameFailure(err, args[0])
			}
			a.note("renamed %s: %s, key prefix %s", terminal.Printable(args[0]), renamed.Name, renamed.Prefix)
			a.print("%s", renamed.Name)
			return nil
		},
	}
	settingFlags(cmd)
	cmd.Flags().StringVar(&prefix, "prefix", "", "prefix of new keys of the product's tenants")
	return cmd
}

func newProductsDelete(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete an external product that nothing depends on",
		Long: `Delete an external product. It is refused while the product has tenants, or while tenants
of other products are connected to it. Its name and key prefix are free again.`,
		Example: `  hub products delete crm`,
		Args:    exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			reply, err := c.DeleteProduct(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			p := reply.Value
			a.note("deleted %s", terminal.Printable(p.Name))
			return a.printCreated(reply.Raw, p.Name, "name", p.Name, "prefix", p.Prefix, "title", p.Title)
		},
	}
}

// renameFailure returns the failure of a rename with its exit code.
func renameFailure(err error, name string) error {
	switch {
	case errors.Is(err, hub.ErrNotFound):
		return &failure{code: exitNotFound, err: fmt.Errorf("there is no product %s", terminal.Printable(name)), hint: "see: hub products list"}
	case errors.Is(err, hub.ErrConflict), errors.Is(err, hub.ErrInvalid):
		return &failure{code: exitFailure, err: err}
	}
	return startFailure(err)
}
