package main

import (
	"github.com/spf13/cobra"

	"integrationhub/cmd/bench/internal/floor"
)

// floorCommand runs the floor program until it is stopped.
func floorCommand() *cobra.Command {
	var listen, database, target string
	cmd := &cobra.Command{
		Use:   "floor",
		Short: "Run the floor program: only the unavoidable work of a gateway",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return floor.Run(cmd.Context(), listen, database, target)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:57080", "address to accept events on")
	cmd.Flags().StringVar(&database, "database", "", "PostgreSQL URL (default: PG* environment variables)")
	cmd.Flags().StringVar(&target, "target", "http://127.0.0.1:57070/hook/0", "where every event is delivered")
	return cmd
}
