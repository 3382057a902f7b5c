package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

func newWhoami(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "whoami",
		Short: "Show which hub the commands talk to, and as whom",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			target, err := a.resolveConnection()
			if err != nil {
				return err
			}
			c, err := a.client(target, "")
			if err != nil {
				return err
			}
			reply, err := c.Me(cmd.Context())
			if err != nil {
				return err
			}
			if a.json() {
				return a.printRaw(reply.Raw)
			}
			if a.quiet {
				a.print("%s", terminal.Printable(cmp.Or(reply.Value.Email, reply.Value.Name))) // the local command line has no address
				return nil
			}
			a.fields("hub", target.url, "operator", reply.Value.Email, "name", reply.Value.Name,
				"role", reply.Value.Role, "by", credentialSource(target.tokens, a))
			return nil
		},
	}
}

// credentialSource returns where the credentials come from, in words.
func credentialSource(tokens client.Tokens, a *app) string {
	switch tokens.(type) {
	case *savedTokens:
		return "the saved login"
	case localTokens:
		return a.localPath()
	}
	return "--token or HUB_TOKEN"
}
