package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"integrationhub/cmd/bench/internal/reconcile"
	"integrationhub/cmd/bench/internal/records"
)

// ledgerCommand holds a generator's output against a receiver's record by hand.
func ledgerCommand() *cobra.Command {
	var sentFile, arrivedFile string
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "Compare a generator's file with a receiver's record",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			sent, err := records.Load[records.Sent](sentFile)
			if err != nil {
				return err
			}
			arrivals, err := records.Load[records.Arrival](arrivedFile)
			if err != nil {
				return err
			}
			balance := reconcile.Compare(sent, arrivals)
			if err := json.NewEncoder(os.Stdout).Encode(balance); err != nil {
				return fmt.Errorf("printing the balance: %w", err)
			}
			if !balance.Sound() {
				return fmt.Errorf("balance does not hold: %d lost, %d unknown, %d altered, %d forged",
					balance.Lost, balance.Unknown, balance.Altered, balance.Forged)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&sentFile, "sent", "", "file written by generate --out")
	cmd.Flags().StringVar(&arrivedFile, "arrived", "", "body of the receiver's GET /control/record")
	_ = cmd.MarkFlagRequired("sent") // fails only for a flag that does not exist
	_ = cmd.MarkFlagRequired("arrived")
	return cmd
}
