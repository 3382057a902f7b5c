package main

import (
	"github.com/spf13/cobra"

	"integrationhub/cmd/bench/internal/receiver"
)

// receiveCommand runs the recording receiver until it is stopped.
func receiveCommand() *cobra.Command {
	var o receiver.Options
	cmd := &cobra.Command{
		Use:   "receive",
		Short: "Run the recording receiver: endpoints at /hook/N, its record at /control/record",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return receiver.New(o).Serve(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:57070", "address to receive deliveries on")
	flags.Float64Var(&o.FailFirst, "fail-first", 0, "share of events (0–1) whose first attempt fails")
	flags.IntVar(&o.FailStatus, "fail-status", 500, "status of those failures")
	flags.DurationVar(&o.Delay, "delay", 0, "time to wait before every response")
	flags.IntVar(&o.Hang, "hang", 0, "number of endpoints, from /hook/0 on, that never respond")
	flags.IntVar(&o.VerifyEvery, "verify-every", 16, "check the signature of every n-th event (1 = all, 0 = none)")
	return cmd
}
