package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

func newTenants(a *app) *cobra.Command {
	return group("tenants", "Create, list, limit, suspend and delete tenants: customers' accounts in products",
		newTenantsCreate(a), newTenantsList(a), newTenantsShow(a), newTenantsUpdate(a), newTenantsRename(a),
		newTenantsSuspend(a), newTenantsResume(a), newTenantsDelete(a))
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
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			reply, found, err := a.existingTenant(cmd.Context(), c, in)
			if err == nil && !found {
				reply, err = c.CreateTenant(cmd.Context(), in)
			}
			if err != nil {
				return err
			}
			t := reply.Value
			return a.printCreated(reply.Raw, t.ID, "id", t.ID, "name", t.Name, "product", t.Product, "external_ref", t.ExternalRef)
		},
	}
	cmd.Flags().StringVar(&in.Product, "product", "", "name of the product")
	cmd.Flags().StringVar(&in.ExternalRef, "external-ref", "", "the account's id in the product")
	return cmd
}

// existingTenant returns the tenant with the name and reference of in, if there is one:
// creating it again changes nothing.
func (a *app) existingTenant(ctx context.Context, c *client.Client, in client.TenantInput) (reply client.Reply[client.Tenant], found bool, err error) {
	for cursor := ""; ; {
		page, err := c.Tenants(ctx, client.TenantQuery{Product: in.Product, Search: in.Name}, client.PageQuery{Limit: pageMax, Cursor: cursor})
		if err != nil {
			return reply, false, err
		}
		for _, t := range page.Value.Items {
			if t.Name == in.Name && t.Product == in.Product && t.ExternalRef == in.ExternalRef {
				a.note("the tenant %s exists already; nothing was changed", terminal.Printable(t.Name))
				raw, err := marshal(t)
				return client.Reply[client.Tenant]{Value: t, Raw: raw}, true, err
			}
		}
		if page.Value.NextCursor == nil {
			return reply, false, nil
		}
		cursor = *page.Value.NextCursor
	}
}

func newTenantsRename(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "rename TENANT NEW-NAME",
		Short:   "Change a tenant's name",
		Example: `  hub tenants rename Acme "Acme Ltd"`,
		Args:    exactly("the tenant's id, name or external reference", "NEW-NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			id, err := tenantID(cmd.Context(), c, args[0], "")
			if err != nil {
				return err
			}
			current, err := c.Tenant(cmd.Context(), id)
			if err != nil {
				return err
			}
			update := client.TenantUpdate{Name: args[1], Limits: current.Value.Limits}
			if current.Value.ExternalRef != "" {
				update.ExternalRef = &current.Value.ExternalRef
			}
			reply, err := c.UpdateTenant(cmd.Context(), id, update)
			if err != nil {
				return err
			}
			return a.printTenant(reply)
		},
	}
}

func newTenantsList(a *app) *cobra.Command {
	var p paging
	var filter client.TenantQuery
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List tenants",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			return listing[client.Tenant]{
				fetch: func(ctx context.Context, page client.PageQuery) (client.Reply[client.Page[client.Tenant]], error) {
					return c.Tenants(ctx, filter, page)
				},
				columns: []column{{title: "id"}, {title: "name"}, {title: "product"}, {title: "external ref"}, {title: "state"}, {title: "created"}},
				row: func(t client.Tenant) []string {
					return []string{t.ID, t.Name, t.Product, orDash(t.ExternalRef), tenantState(t), clock(t.CreatedAt)}
				},
				id: func(t client.Tenant) string { return t.ID },
			}.show(cmd.Context(), a, p)
		},
	}
	cmd.Flags().StringVar(&filter.Product, "product", "", "only of this product")
	cmd.Flags().StringVar(&filter.ExternalRef, "external-ref", "", "only with exactly this external reference")
	cmd.Flags().StringVar(&filter.Search, "query", "", "part of a name or external reference")
	p.addTo(cmd)
	return cmd
}

func newTenantsShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show TENANT",
		Short: "Show a tenant, its limits, and whether it is suspended",
		Args:  exactly("the tenant's id, name or external reference"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			id, err := tenantID(cmd.Context(), c, args[0], "")
			if err != nil {
				return err
			}
			reply, err := c.Tenant(cmd.Context(), id)
			if err != nil {
				return err
			}
			return a.printTenant(reply)
		},
	}
}

// printTenant prints a tenant with its state and limits.
func (a *app) printTenant(reply client.Reply[client.Tenant]) error {
	t := reply.Value
	return a.printCreated(reply.Raw, t.ID, "id", t.ID, "name", t.Name, "product", t.Product, "external_ref", t.ExternalRef,
		"state", tenantState(t), "suspended_at", clockOf(t.SuspendedAt),
		"endpoints", limitText(t.Limits.Endpoints), "deliveries_per_request", limitText(t.Limits.DeliveriesPerRequest),
		"in_flight", limitText(t.Limits.InFlight), "queue", limitText(t.Limits.Queue), "created", clock(t.CreatedAt))
}

const defaultLimit = "default"

func limitText(limit *int) string {
	if limit == nil {
		return defaultLimit
	}
	return strconv.Itoa(*limit)
}

// limitFlag is a flag that sets one of a tenant's limits.
type limitFlag struct {
	name, help string
	field      func(*client.TenantLimits) **int
	text       string
}

func limitFlags() []*limitFlag {
	return []*limitFlag{
		{name: "endpoints", help: "endpoints of both environments", field: func(l *client.TenantLimits) **int { return &l.Endpoints }},
		{name: "deliveries-per-request", help: "deliveries of one publishing request", field: func(l *client.TenantLimits) **int { return &l.DeliveriesPerRequest }},
		{name: "in-flight", help: "deliveries under way in each process", field: func(l *client.TenantLimits) **int { return &l.InFlight }},
		{name: "queue", help: "deliveries that wait in each process", field: func(l *client.TenantLimits) **int { return &l.Queue }},
	}
}

// apply sets the limit to the flag's value.
func (f *limitFlag) apply(limits *client.TenantLimits) error {
	if f.text == defaultLimit {
		*f.field(limits) = nil
		return nil
	}
	limit, err := strconv.Atoi(f.text)
	if err != nil || limit < 1 {
		return usagef("--%s is a number from 1, or default; not %q", f.name, f.text)
	}
	*f.field(limits) = &limit
	return nil
}

func newTenantsUpdate(a *app) *cobra.Command {
	var name, externalRef string
	limits := limitFlags()
	cmd := &cobra.Command{
		Use:   "update TENANT",
		Short: "Change a tenant's name, reference or limits; what is not given stays",
		Example: `  hub tenants update Acme --endpoints 2000
  hub tenants update Acme --endpoints default`,
		Args: exactly("the tenant's id, name or external reference"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			id, err := tenantID(cmd.Context(), c, args[0], "")
			if err != nil {
				return err
			}
			current, err := c.Tenant(cmd.Context(), id)
			if err != nil {
				return err
			}
			flags := cmd.Flags()
			update := client.TenantUpdate{Name: current.Value.Name, Limits: current.Value.Limits}
			if flags.Changed("name") {
				update.Name = name
			}
			if !flags.Changed("external-ref") {
				externalRef = current.Value.ExternalRef
			}
			if externalRef != "" {
				update.ExternalRef = &externalRef
			}
			for _, flag := range limits {
				if !flags.Changed(flag.name) {
					continue
				}
				if err := flag.apply(&update.Limits); err != nil {
					return err
				}
			}
			reply, err := c.UpdateTenant(cmd.Context(), id, update)
			if err != nil {
				return err
			}
			return a.printTenant(reply)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "its name")
	cmd.Flags().StringVar(&externalRef, "external-ref", "", "the account's id in the product; empty = none")
	for _, flag := range limits {
		cmd.Flags().StringVar(&flag.text, flag.name, "", flag.help+": a number, or default")
	}
	return cmd
}
