package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"integrationhub/cmd/bench/internal/load"
	"integrationhub/cmd/bench/internal/payload"
	"integrationhub/cmd/bench/internal/records"
)

// generateCommand sends one load and writes what became of it.
func generateCommand() *cobra.Command {
	var l load.Spec
	var out string
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Publish events; keys come from the environment variable BENCH_KEY, joined by commas; with BENCH_SECRET webhooks are sent",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// No flags: the process list is public.
			l.Keys = strings.FieldsFunc(os.Getenv("BENCH_KEY"), func(r rune) bool { return r == ',' })
			l.Secret = os.Getenv("BENCH_SECRET")
			sent, err := load.Generate(cmd.Context(), l)
			if err != nil {
				return err
			}
			if out != "" {
				if err := records.Save(out, sent); err != nil {
					return err
				}
			}
			return json.NewEncoder(os.Stdout).Encode(load.Summarize(sent))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&l.URL, "url", "http://127.0.0.1:8080/api/v1/events", "where to publish")
	flags.StringVar(&l.EventType, "event-type", payload.NotedEvent, "type of the events that webhooks bring")
	flags.IntVar(&l.Connections, "connections", 64, "keep-alive connections, one POST at a time on each")
	flags.IntVar(&l.Events, "events", 20000, "events to send")
	flags.Float64Var(&l.Rate, "rate", 0, "events per second, 0 = as fast as responses come")
	flags.DurationVar(&l.Duration, "duration", 0, "stop after this time even if events are left, 0 = no limit")
	flags.IntVar(&l.Size, "size", 1024, "bytes of each event's data object")
	flags.Uint64Var(&l.First, "first", 0, "number of the first event")
	flags.IntVar(&l.OrderingKeys, "ordering-keys", 0, "ordering keys of the events, in turn; 0: none")
	flags.StringVar(&out, "out", "", "file for the record of every POST")
	return cmd
}
