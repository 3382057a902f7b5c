package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// tenantState says in a word or two whether a tenant works.
func tenantState(t client.Tenant) string {
	switch {
	case t.DeletionRequestedAt != nil:
		return "being deleted"
	case t.SuspendedAt != nil:
		return "suspended"
	}
	return "active"
}

func newTenantsSuspend(a *app) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "suspend TENANT",
		Short: "Stop a tenant until it is resumed; nothing is deleted",
		Long: `Stop a tenant until it is resumed. Within a second its users and keys are refused, its
public pages are gone, and its product sends no reminder and no campaign for it.
Webhooks to it are refused, and their senders try again. What it published before is
still delivered. Nothing is deleted, but its customers notice, so it asks first.
Suspending it again changes nothing.`,
		Example: `  hub tenants suspend Acme
  hub tenants suspend 0198… --yes`,
		Args: exactly("the tenant's id, name or external reference"),
		RunE: func(cmd *cobra.Command, args []string) error {
			question := "Suspend the tenant %s of %s, with its users, keys and public pages?"
			c, t, err := a.confirmedTenant(cmd.Context(), args[0], yes, question, "not suspended")
			if err != nil {
				return err
			}
			reply, err := c.SuspendTenant(cmd.Context(), t.ID)
			if err != nil {
				return err
			}
			a.note("%s is suspended; its users and keys are refused within a second", terminal.Printable(t.Name))
			return a.printTenant(reply)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func newTenantsResume(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "resume TENANT",
		Short: "End the suspension of a tenant",
		Long: `End the suspension of a tenant. Within a second its users and keys work again, its public
pages are back, and jobs of its product go on. Resuming a tenant that is not suspended
changes nothing. One that is being deleted cannot be resumed.`,
		Example: `  hub tenants resume Acme`,
		Args:    exactly("the tenant's id, name or external reference"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			id, err := tenantID(cmd.Context(), c, args[0], "")
			if err != nil {
				return err
			}
			reply, err := c.ResumeTenant(cmd.Context(), id)
			if err != nil {
				return err
			}
			a.note("%s works; its users and keys are accepted within a second", terminal.Printable(reply.Value.Name))
			return a.printTenant(reply)
		},
	}
}

func newTenantsDelete(a *app) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete TENANT",
		Short: "Delete a tenant with its keys, endpoints and data",
		Long: `Delete a tenant. Its keys and endpoints end at once, and what waits is not sent; a job of
the hub erases the payloads and responses of its log. This cannot be undone, so it asks
first.

A tenant of a product that is hosted in the hub has to be suspended first: see
hub tenants suspend. Its integrations are revoked, and the job erases all that the
product has about it, too. Until that is done the tenant is listed as being deleted.`,
		Example: `  hub tenants delete Acme
  hub tenants delete 0198… --yes`,
		Args: exactly("the tenant's id, name or external reference"),
		RunE: func(cmd *cobra.Command, args []string) error {
			question := "Delete the tenant %s of %s, with its keys, endpoints and data in this hub?"
			c, current, err := a.confirmedTenant(cmd.Context(), args[0], yes, question, "not deleted")
			if err != nil {
				return err
			}
			reply, err := c.DeleteTenant(cmd.Context(), current.ID)
			if err != nil {
				return err
			}
			t := reply.Value
			a.note("deleted %s, with its keys (%d) and endpoints (%d); its data is being erased", terminal.Printable(t.Name), t.Keys, t.Endpoints)
			return a.printCreated(reply.Raw, t.ID, "id", t.ID, "name", t.Name, "product", t.Product, "keys", strconv.FormatInt(t.Keys, 10), "endpoints", strconv.FormatInt(t.Endpoints, 10))
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// confirmedTenant finds a tenant and, unless yes, asks before something is done to it. The
// question has its name and product.
func (a *app) confirmedTenant(ctx context.Context, name string, yes bool, question, refusal string) (*client.Client, client.Tenant, error) {
	if !yes && !a.interactive() {
		return nil, client.Tenant{}, usagef("--yes is needed: there is no terminal to ask on")
	}
	c, err := a.operatorClient()
	if err != nil {
		return nil, client.Tenant{}, err
	}
	id, err := tenantID(ctx, c, name, "")
	if err != nil {
		return nil, client.Tenant{}, err
	}
	current, err := c.Tenant(ctx, id)
	if err != nil {
		return nil, client.Tenant{}, err
	}
	t := current.Value
	if !yes && !a.ask(ctx, fmt.Sprintf(question, terminal.Printable(t.Name), terminal.Printable(t.Product))) {
		return nil, client.Tenant{}, &failure{code: exitFailure, err: errors.New(refusal)}
	}
	return c, t, nil
}
