package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
)

// newRotation completes a command of operators that replaces a secret and has a flag --overlap.
// overlapUsage says what the old secret does meanwhile.
func newRotation(a *app, cmd *cobra.Command, overlapUsage string, rotate func(ctx context.Context, c *client.Client, id string, overlap time.Duration) error) *cobra.Command {
	var text string
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		overlap, err := parseDuration(text)
		if err != nil {
			return err
		}
		c, err := a.operatorClient()
		if err != nil {
			return err
		}
		return rotate(cmd.Context(), c, args[0], overlap)
	}
	cmd.Flags().StringVar(&text, "overlap", "24h", overlapUsage+": 0s, 1h, 24h, 7d")
	return cmd
}
