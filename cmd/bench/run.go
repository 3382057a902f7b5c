package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// runOptions are the flags of bench run.
type runOptions struct {
	only        []string
	rounds      int
	events      int
	rate        float64
	rateEvents  int
	connections int
	size        int
	json        string
	dir         string
	keep        bool
	hubBinary   string
}

// Report is the JSON form of a run.
type Report struct {
	At       time.Time         `json:"at"`
	Machine  map[string]string `json:"machine"`  // cores, versions
	Postgres map[string]string `json:"postgres"` // settings of every cluster
	Results  []*Result         `json:"results"`  // every round
	Verdicts []Verdict         `json:"verdicts"` // judged on the median round of each scenario
}

// runCommand measures and prints.
func runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Measure the floor and the gateway in one run",
		Long:  "Measure the floor and the gateway in one run.\n\nScenarios:\n" + scenarioList(),
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.only, "only", nil, "scenarios to run, e.g. floor-*,gateway-closed (default all)")
	flags.IntVar(&o.rounds, "rounds", 3, "times to repeat the closed-loop scenarios; the median round counts")
	flags.IntVar(&o.events, "events", 100000, "events in the closed loop (a fiftieth of them with 100 endpoints)")
	flags.Float64Var(&o.rate, "rate", 1000, "events per second at the fixed rate")
	flags.IntVar(&o.rateEvents, "rate-events", 20000, "events at the fixed rate")
	flags.IntVar(&o.connections, "connections", 64, "connections of the generator")
	flags.IntVar(&o.size, "size", 1024, "bytes of each event's data object")
	flags.StringVar(&o.json, "json", "", "file to write the results to as JSON")
	flags.StringVar(&o.dir, "dir", os.TempDir(), "where the databases are made; its disk is part of what is measured")
	flags.BoolVar(&o.keep, "keep", false, "keep the databases and logs")
	flags.StringVar(&o.hubBinary, "hub", "", "hub binary to measure (default: built from ./cmd/hub)")
	return cmd
}

func scenarioList() string {
	var list strings.Builder
	for _, s := range scenarios {
		fmt.Fprintf(&list, "  %-20s %s\n", s.name, s.description)
	}
	return list.String()
}

// run measures the chosen scenarios. A missed goal is no error; a scenario that
// fails or loses an event is, after everything has been printed.
func run(ctx context.Context, o runOptions) error {
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "hub-bench-")
	if err != nil {
		return fmt.Errorf("creating directory: %w", err)
	}
	if o.keep {
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
	b := &bench{options: o, dir: dir, executable: executable, notes: os.Stderr}
	results, failures := b.runAll(ctx, chosen)
	report := Report{
		At: time.Now().UTC(), Machine: machine(ctx), Postgres: postgresSettings,
		Results: results, Verdicts: judge(medians(results)),
	}
	printTables(os.Stdout, results)
	fmt.Println()
	printVerdicts(os.Stdout, report.Verdicts)
	if o.json != "" {
		failures = append(failures, writeReport(o.json, report))
	}
	return errors.Join(failures...)
}

// choose gives the scenarios that match any of the patterns.
func choose(patterns []string) ([]scenario, error) {
	if len(patterns) == 0 {
		return scenarios, nil
	}
	var chosen []scenario
	for _, s := range scenarios {
		for _, pattern := range patterns {
			matched, err := path.Match(pattern, s.name)
			if err != nil {
				return nil, fmt.Errorf("reading --only: %w", err)
			}
			if matched {
				chosen = append(chosen, s)
				break
			}
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("reading --only: no scenario matches; there are\n%s", scenarioList())
	}
	return chosen, nil
}

// runAll runs the rounds. What fails is reported at the end; the others go on.
func (b *bench) runAll(ctx context.Context, chosen []scenario) (results []*Result, failures []error) {
	for round := 1; round <= b.options.rounds; round++ {
		for _, s := range chosen {
			if s.once && round > 1 {
				continue
			}
			if ctx.Err() != nil {
				return results, append(failures, ctx.Err())
			}
			fmt.Fprintf(b.notes, "round %d: %s (%s)\n", round, s.name, s.description)
			result, err := s.run(ctx, b)
			if err != nil {
				failures = append(failures, fmt.Errorf("%s: %w", s.name, err))
				continue
			}
			result.Scenario, result.Round = s.name, round
			results = append(results, result)
			if !result.Ledger.Sound() {
				failures = append(failures, fmt.Errorf("%s: the ledger does not hold: %d lost, %d unknown, %d altered, %d forged", s.name,
					result.Ledger.Lost, result.Ledger.Unknown, result.Ledger.Altered, result.Ledger.Forged))
			}
		}
	}
	return results, failures
}

// machine describes where the run took place.
func machine(ctx context.Context) map[string]string {
	versions := map[string]string{
		"os": runtime.GOOS + "/" + runtime.GOARCH, "cores": fmt.Sprint(runtime.NumCPU()), "go": runtime.Version(),
	}
	if bin, err := findPostgres(); err == nil {
		versions["postgres"] = firstLine(ctx, path.Join(bin, "postgres"), "--version")
	}
	versions["redis"] = firstLine(ctx, "redis-server", "--version")
	return versions
}

// firstLine gives the first line a program prints, or nothing.
func firstLine(ctx context.Context, program string, args ...string) string {
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

// writeReport writes the report as indented JSON.
func writeReport(file string, report Report) error {
	raw, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if err := os.WriteFile(file, append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
