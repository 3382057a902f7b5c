package main

import (
	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/terminal"
)

func newEndpointsMatch(a *app) *cobra.Command {
	var key, event string
	cmd := &cobra.Command{
		Use:   "match ID --event FILE",
		Short: "Find whether an endpoint would get an event, without sending it",
		Long: `Find whether an endpoint would get an event: whether it subscribes to the type, and
whether its filter is true. The event is JSON as it is published, {"event_type": …,
"data": {…}}, or its envelope as receivers get it. Nothing is sent.`,
		Example: `  hub endpoints match 0198… --event order.json
  echo '{"event_type":"order.paid","data":{"total":120}}' | hub endpoints match 0198… --event -`,
		Args: exactly("the endpoint's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if event == "" {
				return usagef("--event is needed: a file with the event, or - for the standard input")
			}
			raw, err := a.readJSON("event", event)
			if err != nil {
				return err
			}
			c, err := a.operatorOrKeyClient(key)
			if err != nil {
				return err
			}
			reply, err := c.MatchEvent(cmd.Context(), args[0], raw)
			if err != nil {
				return err
			}
			if a.json() {
				return a.printRaw(reply.Raw)
			}
			answer := "no"
			if reply.Value.Matches {
				answer = "yes"
			}
			a.print("%s: %s", answer, terminal.Printable(reply.Value.Reason))
			return nil
		},
	}
	cmd.Flags().StringVar(&event, "event", "", "file with the event, or -")
	keyFlag(cmd, &key)
	return cmd
}
