package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// peerKeyVariable is the environment variable for the key that a peer issued: command lines
// are visible to other users.
const peerKeyVariable = "HUB_PEER_KEY"

func newConnect(a *app) *cobra.Command {
	var in client.ConnectInput
	var tenant, own string
	cmd := &cobra.Command{
		Use:   "connect API_URL --tenant TENANT --peer PRODUCT",
		Short: "Connect a tenant to a product that is elsewhere",
		Long: `Connect a tenant of a product this hub runs to a peer product that is elsewhere. The
peer's administrator issues a key there; give it in HUB_PEER_KEY. API_URL is the base
under which the peer's /integrations lies and usually ends in /api/v1.

The hub asks the peer who it is, registers its own webhook there, and hands over a
secret and a key. Connecting again renews both. Another account of the same product is
refused until the existing integration has been revoked. If the peer takes the key but
not the registration, the integration is made, the hub goes on trying, and the exit code
is 6. If another product than --peer responds, nothing is stored. Nor is it after any
other failure; the error says what is wrong: a name that DNS does not know, a port where
nothing listens, a certificate, an address that is no base of an API, or the key.`,
		Example: `  HUB_PEER_KEY=cli_live_… hub connect https://clinic.example.com/api/v1 --tenant Acme --peer clinic
  hub connect https://clinic.example.com/api/v1 --tenant Acme --peer clinic --key @key.txt --feature reminders`,
		Args: exactly("the peer's API_URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if tenant == "" || in.Product == "" {
				return usagef("--tenant and --peer are needed; see: hub tenants list")
			}
			var err error
			if in.APIKey, err = a.secret(a.setting(in.APIKey, peerKeyVariable)); err != nil {
				return err
			}
			if in.APIKey == "" {
				return usagef("the key that the peer issued is needed: %s, or --key @file", peerKeyVariable)
			}
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			if in.TenantID, err = tenantID(cmd.Context(), c, tenant, own); err != nil {
				return err
			}
			in.APIURL = args[0]
			reply, err := c.Connect(cmd.Context(), in)
			if err != nil {
				return err
			}
			a.note("%s responds at %s", terminal.Printable(reply.Value.Product), terminal.Printable(reply.Value.APIURL))
			if err := a.printIntegration(reply); err != nil {
				return err
			}
			return handshakeError(reply.Value)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&tenant, "tenant", "", "tenant: id, name or external reference")
	flags.StringVar(&own, "product", "", "product of the tenant, where its name is not unique")
	flags.StringVar(&in.Product, "peer", "", "product at the other end, e.g. clinic")
	flags.StringVar(&in.APIKey, "key", "", "key that the peer issued, @file or - ("+peerKeyVariable+", safer)")
	flags.StringVar(&in.Environment, "environment", "live", "live or test")
	flags.StringVar(&in.WebhookURL, "webhook-url", "", "where the peer is to send, instead of the product's own address")
	flags.StringSliceVar(&in.Features, "feature", nil, "what the connection is used for, e.g. reminders; repeatable")
	choices(cmd, "environment", "live", "test")
	return cmd
}

func newLink(a *app) *cobra.Command {
	var in client.LinkInput
	cmd := &cobra.Command{
		Use:   "link TENANT PEER",
		Short: "Connect two tenants that both live in this hub",
		Long: `Connect two tenants of different products that both live in this hub: keys are issued
for both, and they shake hands as products elsewhere do. Each is named by its id, its
name or its external reference, with its product before it where that is not unique:
clinic/Acme. Linking them again renews the keys. Where one is connected to another
account of the other's product, nothing is changed: revoke that integration first.`,
		Example: `  hub link scheduling/Acme clinic/Acme
  hub link scheduling/Acme clinic/Acme --environment test --feature reminders`,
		Args: exactly("TENANT", "PEER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			if in.TenantID, err = tenantOfProduct(cmd.Context(), c, args[0]); err != nil {
				return err
			}
			if in.PeerTenantID, err = tenantOfProduct(cmd.Context(), c, args[1]); err != nil {
				return err
			}
			reply, err := c.Link(cmd.Context(), in)
			if err != nil {
				return err
			}
			if err := a.printLink(reply); err != nil {
				return err
			}
			return handshakeError(reply.Value.Integrations...)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&in.Environment, "environment", "live", "live or test")
	flags.StringSliceVar(&in.Features, "feature", nil, "what the connection is used for, e.g. reminders; repeatable")
	choices(cmd, "environment", "live", "test")
	return cmd
}

// printLink prints both integrations of a link.
func (a *app) printLink(reply client.Reply[client.LinkResult]) error {
	if a.json() {
		return a.printRaw(reply.Raw)
	}
	rows := make([][]string, 0, len(reply.Value.Integrations))
	for _, integration := range reply.Value.Integrations {
		if a.quiet {
			a.print("%s", terminal.Printable(integration.ID))
			continue
		}
		rows = append(rows, integrationRow(integration))
	}
	if len(rows) > 0 {
		a.table(integrationColumns(), rows)
	}
	return nil
}

// handshakeError returns an error if an integration is not active yet; the hub keeps trying.
func handshakeError(list ...client.Integration) error {
	for _, integration := range list {
		if integration.Status == "active" {
			continue
		}
		cause := errors.New("the integration is " + integration.Status)
		if integration.LastError != "" {
			cause = fmt.Errorf("%w: %s", cause, integration.LastError)
		}
		return &failure{code: exitPartial, err: cause, hint: "the hub goes on trying; see: hub integrations show " + integration.ID}
	}
	return nil
}
