package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

func newMail(a *app) *cobra.Command {
	var p paging
	var to string
	var text bool
	cmd := &cobra.Command{
		Use:   "mail",
		Short: "Look at mail that was sent, in development",
		Example: `  hub mail --to bia@example.com
  hub mail --to bia@example.com --limit 1 --text`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			list := listing[client.SentMail]{
				fetch: func(ctx context.Context, page client.PageQuery) (client.Reply[client.Page[client.SentMail]], error) {
					return c.Mail(ctx, to, page)
				},
				columns: []column{{title: "time"}, {title: "to"}, {title: "subject"}},
				row:     func(m client.SentMail) []string { return []string{clock(m.CreatedAt), m.To, m.Subject} },
				id:      func(m client.SentMail) string { return m.Subject },
			}
			if text {
				list.each = a.printMail
			}
			return mailError(list.show(cmd.Context(), a, p))
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "only mail to this address")
	cmd.Flags().BoolVar(&text, "text", false, "print the text of each e-mail")
	p.addTo(cmd)
	return cmd
}

// printMail prints one email.
func (a *app) printMail(m client.SentMail) {
	a.fields("time", clock(m.CreatedAt), "to", m.To, "subject", m.Subject)
	a.print("")
	for line := range strings.Lines(m.Text) {
		a.print("%s", terminal.Printable(strings.TrimRight(line, "\r\n")))
	}
	a.print("")
}

// mailError adds to a 404 that only hubs in development keep sent mail.
func mailError(err error) error {
	var problem *client.Problem
	if errors.As(err, &problem) && exitCode(err) == exitNotFound {
		return &failure{code: exitNotFound, err: err, hint: "sent mail is kept in development only (HUB_ENV)"}
	}
	return err
}
