package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"integrationhub/cmd/bench/internal/cluster"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/scenario"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
)

// runOptions are the flags of bench run.
type runOptions struct {
	sizes     stage.Options
	only      []string
	json      string
	dir       string
	hubBinary string
	before    string
}

// runCommand measures and prints.
func runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Measure the floor and the gateway in one run",
		Long:  "Measure the floor and the gateway in one run.\n\nScenarios:\n" + scenario.List(),
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.only, "only", nil, "scenarios to run, e.g. floor-*,gateway-closed (default all)")
	flags.IntVar(&o.sizes.Rounds, "rounds", 3, "times to repeat the closed-loop scenarios; the median round counts")
	flags.IntVar(&o.sizes.Events, "events", 100000, "events in the closed loop (a fiftieth of them with 100 endpoints)")
	flags.Float64Var(&o.sizes.Rate, "rate", 1000, "events per second at the fixed rate")
	flags.IntVar(&o.sizes.RateEvents, "rate-events", 20000, "events at the fixed rate")
	flags.IntVar(&o.sizes.Connections, "connections", 64, "connections of the generator")
	flags.IntVar(&o.sizes.Size, "size", 1024, "bytes of each event's data object")
	flags.StringVar(&o.json, "json", "", "file to write the results to as JSON")
	flags.StringVar(&o.dir, "dir", os.TempDir(), "where the databases are made; its disk is part of what is measured")
	flags.BoolVar(&o.sizes.Keep, "keep", false, "keep the databases and logs")
	flags.StringVar(&o.hubBinary, "hub", "", "hub binary to measure (default: built from ./cmd/hub; gateway-inbound and gateway-link always build theirs, with a product)")
	flags.StringVar(&o.before, "before-source", "", "checkout of an earlier version to compare with: its hubs are built and measured too, in turn with this version's")
	return cmd
}

// run measures the chosen scenarios. A missed goal is no error; a scenario that
// fails or loses an event is, after everything has been printed.
func run(ctx context.Context, o runOptions) error {
	chosen, err := scenario.Select(o.only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "hub-bench-")
	if err != nil {
		return fmt.Errorf("creating directory: %w", err)
	}
	if o.sizes.Keep {
		fmt.Fprintln(os.Stderr, "keeping everything in", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	if err := os.Chmod(dir, 0o711); err != nil { // PostgreSQL may run as another user
		return fmt.Errorf("opening directory: %w", err)
	}
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	b := &stage.Run{
		Options: o.sizes, Dir: dir, Progress: os.Stderr,
		Programs: &service.Programs{Bench: executable, HubBinary: o.hubBinary, Dir: dir},
	}
	if o.before != "" {
		b.Before = &service.Programs{Bench: executable, Source: o.before, Dir: filepath.Join(dir, "before")}
		fmt.Fprintln(os.Stderr, "building the hub of", o.before)
		if _, err := b.Before.Hub(ctx); err != nil { // a wrong directory is better known at once
			return fmt.Errorf("reading --before-source: %w", err)
		}
	}
	outcome := scenario.RunRounds(ctx, b, chosen)
	summary := report.Report{
		At: time.Now().UTC(), Machine: machine(ctx), Postgres: cluster.PostgresSettings,
		Results: outcome.Results, Verdicts: report.Judge(report.Medians(outcome.Results)),
		Comparisons: report.Compare(outcome.Results), LeftOut: outcome.LeftOut,
	}
	report.PrintTables(os.Stdout, outcome.Results)
	fmt.Println()
	report.PrintVerdicts(os.Stdout, summary.Verdicts)
	if b.Before != nil {
		fmt.Println()
		report.PrintComparisons(os.Stdout, summary.Comparisons, summary.LeftOut)
	}
	failures := outcome.Failures
	if o.json != "" {
		failures = append(failures, report.Save(o.json, summary))
	}
	return errors.Join(failures...)
}

// machine describes where the run took place.
func machine(ctx context.Context) map[string]string {
	versions := map[string]string{
		"os": runtime.GOOS + "/" + runtime.GOARCH, "cores": fmt.Sprint(runtime.NumCPU()), "go": runtime.Version(),
	}
	if bin, err := cluster.FindPostgres(); err == nil {
		versions["postgres"] = firstLine(ctx, path.Join(bin, "postgres"), "--version")
	}
	versions["redis"] = firstLine(ctx, "redis-server", "--version")
	return versions
}

// firstLine returns the first line a program prints, or nothing.
func firstLine(ctx context.Context, program string, args ...string) string {
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}
