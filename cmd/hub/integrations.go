package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

func newIntegrations(a *app) *cobra.Command {
	return group("integrations", "See, test, stop and end tenants' connections to other products",
		newIntegrationsList(a), newIntegrationsShow(a), newIntegrationsTest(a), newIntegrationsUpdate(a), newIntegrationsRotate(a),
		newIntegrationsChange(a, "enable", "Resume integrations that were disabled", "enabled", (*client.Client).EnableIntegration),
		newIntegrationsChange(a, "disable", "Stop integrations until they are enabled", "disabled", (*client.Client).DisableIntegration),
		newIntegrationsChange(a, "revoke", "End integrations and notify the peers", "revoked", (*client.Client).RevokeIntegration))
}

func integrationColumns() []column {
	return []column{{title: "id"}, {title: "product"}, {title: "tenant"}, {title: "peer"}, {title: "env"},
		{title: "status", paint: statusColour}, {title: "last check"}, {title: "error"}}
}

func integrationRow(i client.Integration) []string {
	return []string{i.ID, i.OwnProduct, orDash(i.TenantName), i.Product, i.Environment, integrationStatus(i), clockOf(i.LastHealthCheck), orDash(i.LastError)}
}

// integrationStatus returns the status, or why the integration is inactive.
func integrationStatus(i client.Integration) string {
	switch {
	case i.RevokedAt != nil:
		return "revoked"
	case i.Disabled:
		return "disabled"
	}
	return i.Status
}

func newIntegrationsList(a *app) *cobra.Command {
	var p paging
	var filter client.IntegrationQuery
	var tenant string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List integrations",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			if filter.TenantID, err = tenantOfList(cmd.Context(), c, tenant); err != nil {
				return err
			}
			return listing[client.Integration]{
				fetch: func(ctx context.Context, page client.PageQuery) (client.Reply[client.Page[client.Integration]], error) {
					return c.Integrations(ctx, filter, page)
				},
				columns: integrationColumns(),
				row:     integrationRow,
				id:      func(i client.Integration) string { return i.ID },
			}.show(cmd.Context(), a, p)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&tenant, "tenant", "", "only of this tenant: id, name or external reference, or product/name")
	flags.StringVar(&filter.Product, "peer", "", "only with this peer product")
	flags.StringVar(&filter.Environment, "environment", "", "live or test")
	flags.StringVar(&filter.Status, "status", "", "active, inactive or error")
	choices(cmd, "environment", "live", "test")
	choices(cmd, "status", "active", "inactive", "error")
	p.addTo(cmd)
	return cmd
}

// tenantOfList is tenantOfProduct for filters: "" is all tenants.
func tenantOfList(ctx context.Context, c *client.Client, argument string) (string, error) {
	if argument == "" {
		return "", nil
	}
	return tenantOfProduct(ctx, c, argument)
}

func newIntegrationsShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show an integration",
		Args:  exactly("the integration's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			reply, err := c.Integration(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printIntegration(reply)
		},
	}
}

// printIntegration prints an integration; with --quiet its id.
func (a *app) printIntegration(reply client.Reply[client.Integration]) error {
	i := reply.Value
	order := "not kept"
	if i.Ordered {
		order = "by key"
	}
	pairs := []string{
		"id", i.ID, "tenant", i.OwnProduct + "/" + i.TenantName, "tenant_id", i.TenantID, "peer", i.Product, "environment", i.Environment,
		"status", integrationStatus(i), "last_error", i.LastError, "features", strings.Join(i.Features, ","), "used_for", strings.Join(i.Enabled, ","), "order", order,
		"api_url", i.APIURL, "webhook_url", i.WebhookURL, "peer_webhook_url", i.PeerWebhookURL,
		"key_here", i.APIKeyLocal, "key_there", i.APIKeyRemote, "webhook_secret", i.WebhookSecret, "created", clock(i.CreatedAt),
	}
	for _, moment := range []struct {
		name string
		at   string
	}{{"last_check", clockOf(i.LastHealthCheck)}, {"next_registration", clockOf(i.RegisterAt)}, {"previous_secret_until", clockOf(i.PreviousUntil)}, {"revoked", clockOf(i.RevokedAt)}} {
		if moment.at != "-" {
			pairs = append(pairs, moment.name, moment.at)
		}
	}
	return a.printCreated(reply.Raw, i.ID, pairs...)
}

func newIntegrationsTest(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "test ID",
		Short: "Check the peer's health now; exit 1 when it is not healthy",
		Args:  exactly("the integration's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			reply, err := c.TestIntegration(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			test := reply.Value
			err = a.printCreated(reply.Raw, test.Status, "ok", yesNo(test.OK), "status", test.Status, "error", test.Error, "code", test.Code,
				"version", test.Version, "features", strings.Join(test.Features, ","), "duration", fmt.Sprintf("%d ms", test.DurationMS))
			if err == nil && !test.OK {
				err = errors.New("the peer failed the check: " + test.Error)
			}
			return err
		},
	}
}

func newIntegrationsUpdate(a *app) *cobra.Command {
	var ordered bool
	cmd := &cobra.Command{
		Use:     "update ID",
		Short:   "Change whether a peer gets the events of one ordering key in their order",
		Example: `  hub integrations update 0198… --ordered=false`,
		Args:    exactly("the integration's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("ordered") {
				return usagef("nothing to change: give --ordered or --ordered=false")
			}
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			reply, err := c.UpdateIntegration(cmd.Context(), args[0], ordered)
			if err != nil {
				return err
			}
			return a.printIntegration(reply)
		},
	}
	cmd.Flags().BoolVar(&ordered, "ordered", false, "whether it gets the events of one ordering key one at a time, in their order")
	return cmd
}

func newIntegrationsRotate(a *app) *cobra.Command {
	return newRotation(a, &cobra.Command{
		Use:     "rotate-secret ID",
		Short:   "Make a new webhook secret and tell the peer; it is shown this once",
		Example: `  export HUB_WEBHOOK_SECRET=$(hub integrations rotate-secret 0198… -q)`,
		Args:    exactly("the integration's ID"),
	}, "how long the old secret stays valid", func(ctx context.Context, c *client.Client, id string, overlap time.Duration) error {
		reply, err := c.RotateIntegrationSecret(ctx, id, overlap)
		if err != nil {
			return err
		}
		i := reply.Value
		if !a.json() {
			a.note(secretShownOnce)
		}
		return a.printCreated(reply.Raw, i.Secret, "secret", i.Secret, "id", i.ID, "peer", i.Product, "status", integrationStatus(i))
	})
}

// newIntegrationsChange makes a command that changes the status of integrations.
func newIntegrationsChange(a *app, name, short, done string, change func(*client.Client, context.Context, string) (client.Reply[client.Integration], error)) *cobra.Command {
	return &cobra.Command{
		Use:   name + " ID…",
		Short: short,
		Args:  atLeastOne("integration's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			return a.eachID(cmd.Context(), args, func(id string) error {
				reply, err := change(c, cmd.Context(), id)
				if err != nil {
					return err
				}
				if a.json() {
					return a.printRaw(reply.Raw)
				}
				a.note("%s %s: %s", done, terminal.Printable(id), terminal.Printable(integrationStatus(reply.Value)))
				return nil
			})
		},
	}
}
