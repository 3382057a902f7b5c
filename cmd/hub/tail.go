package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

func newTail(a *app) *cobra.Command {
	var filter logFilter
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Follow deliveries as they happen, until Ctrl-C",
		Long: `Follow deliveries as they happen. A connection that breaks is made again, and
goes on after the last line shown. With --output json every line is one JSON object.`,
		Example: `  hub tail --tenant Acme --status failed`,
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			query, err := filter.resolve(cmd.Context(), a, c)
			if err != nil {
				return err
			}
			hooks := client.TailHooks{
				Opened: func() { a.note("following %s; end with Ctrl-C", c.Base()) },
				Lost: func(err error, wait time.Duration) {
					a.note("%s; trying again in %s", terminal.Printable(err.Error()), wait)
				},
			}
			return c.Tail(cmd.Context(), query, hooks, a.tailLine)
		},
	}
	filter.addTo(cmd)
	return cmd
}

// tailLine prints one message of the live tail.
func (a *app) tailLine(m client.Message) error {
	if a.json() {
		return errors.Join(a.printLine(json.RawMessage(m.Data)), a.outputError())
	}
	var d client.Delivery
	if err := json.Unmarshal(m.Data, &d); err != nil {
		return fmt.Errorf("reading a message of the live tail: %w", err)
	}
	if a.quiet {
		a.print("%s", terminal.Printable(d.ID))
		return a.outputError()
	}
	status := fmt.Sprintf("%-9s", terminal.Printable(d.Status))
	a.print("%s  %s  %3s  %s  %s  %s  %s", a.now().UTC().Format("15:04:05.000Z"),
		a.paint(statusColour(d.Status), status), codeText(d.StatusCode),
		terminal.Printable(d.EventID), terminal.Printable(d.EventType), terminal.Printable(d.Product), tookText(d))
	return a.outputError()
}
