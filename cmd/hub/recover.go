package main

import (
	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
)

func newEndpointsRecover(a *app) *cobra.Command {
	var period timeRange
	var types []string
	var options replayOptions
	cmd := &cobra.Command{
		Use:   "recover ID --since TIME",
		Short: "Send an endpoint the stored events that it has no delivery of",
		Long: `Send an endpoint the stored events that it has no delivery of, because it was added
late or its event types were wrong. Only events that it subscribes to now are sent, each
once. The hub counts first and asks; then a job runs in the hub (see: hub replay list).`,
		Example: `  hub endpoints recover 0198… --since 7d --dry-run
  hub endpoints recover 0198… --since 2026-01-02 --events 'contact.*' --yes`,
		Args: exactly("the endpoint's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			since, until, err := period.times(a.now())
			if err != nil {
				return err
			}
			if since.IsZero() {
				return usagef("--since is needed, such as --since 24h")
			}
			recovery := client.Recovery{Since: since, EventTypes: types}
			if !until.IsZero() {
				recovery.Until = &until
			}
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return a.startJob(ctx, c, replayJob{
				replayOptions: options, question: "Send %d events to this endpoint?",
				count: func() (client.Reply[client.ReplayCount], error) { return c.CountRecovery(ctx, args[0], recovery) },
				start: func() (client.Reply[client.Replay], error) { return c.StartRecovery(ctx, args[0], recovery) },
			})
		},
	}
	period.addTo(cmd)
	cmd.Flags().StringSliceVar(&types, "events", nil, "only these event types: contact.*, contact.created; repeatable")
	options.addOptionsTo(cmd)
	return cmd
}
