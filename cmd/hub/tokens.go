package main

import (
	"time"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

func newTokens(a *app) *cobra.Command {
	return group("tokens", "Make and end API tokens of programs that administer the hub",
		newTokensCreate(a), newTokensList(a), newTokensDelete(a))
}

func newTokensCreate(a *app) *cobra.Command {
	var in client.APITokenInput
	var expires string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make an API token; it is shown this once",
		Example: `  export HUB_TOKEN=$(hub tokens create "billing back end" --role admin -q)
  hub tokens create dashboards --expires 90d`,
		Args: exactly("the NAME of the program"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			in.Name = args[0]
			if in.ExpiresAt, err = parseExpiry(expires, a.now()); err != nil {
				return err
			}
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			reply, err := c.CreateAPIToken(cmd.Context(), in)
			if err != nil {
				return err
			}
			if !a.json() {
				a.note("the token is shown this once: keep it now")
			}
			t := reply.Value
			return a.printCreated(reply.Raw, t.Token, "token", t.Token, "id", t.ID, "name", t.Name, "role", t.Role, "expires", endText(t.ExpiresAt))
		},
	}
	cmd.Flags().StringVar(&in.Role, "role", "support", "admin: everything but operators and tokens; support: reads, retries and replays")
	cmd.Flags().StringVar(&expires, "expires", "", "when it ends: in 90d, 12h, or at 2027-01-31")
	choices(cmd, "role", "admin", "support")
	return cmd
}

func newTokensList(a *app) *cobra.Command {
	var p paging
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List API tokens, as …last4",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			return listing[client.APIToken]{
				fetch: c.APITokens,
				columns: []column{{title: "id"}, {title: "token"}, {title: "name"}, {title: "role"}, {title: "status", paint: statusColour},
					{title: "expires"}, {title: "last used"}, {title: "made by"}},
				row: func(t client.APIToken) []string {
					return []string{t.ID, "hubt_…" + t.Last4, t.Name, t.Role, tokenStatus(t, a.now()), endText(t.ExpiresAt), clockOf(t.LastUsedAt), t.CreatedBy}
				},
				id: func(t client.APIToken) string { return t.ID },
			}.show(cmd.Context(), a, p)
		},
	}
	p.addTo(cmd)
	return cmd
}

// tokenStatus returns "active" or "expired".
func tokenStatus(t client.APIToken, now time.Time) string {
	if t.ExpiresAt != nil && !t.ExpiresAt.After(now) {
		return "expired"
	}
	return "active"
}

func newTokensDelete(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "delete ID…",
		Short: "End API tokens at once; the audit log keeps what they did",
		Args:  atLeastOne("token's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			return a.eachID(cmd.Context(), args, func(id string) error {
				if err := c.DeleteAPIToken(cmd.Context(), id); err != nil {
					return err
				}
				a.note("deleted %s", terminal.Printable(id))
				return nil
			})
		},
	}
}
