// Command bench measures the hub against its floor: a program that does only
// the work no webhook gateway can avoid. It also holds the parts a measurement
// is made of (generator, receiver, ledger), each its own process.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// rootCommand assembles the subcommands.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "bench",
		Short:         "Measure the hub and the floor program side by side",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(runCommand(), floorCommand(), receiveCommand(), generateCommand(), ledgerCommand())
	return root
}
