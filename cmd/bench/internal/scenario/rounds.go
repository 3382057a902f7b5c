package scenario

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/stage"
)

// Select returns the scenarios whose names match any of the patterns; all without patterns.
func Select(patterns []string) ([]Scenario, error) {
	if len(patterns) == 0 {
		return All, nil
	}
	var selected []Scenario
	for _, scenario := range All {
		for _, pattern := range patterns {
			isMatch, err := path.Match(pattern, scenario.Name)
			if err != nil {
				return nil, fmt.Errorf("reading --only: %w", err)
			}
			if isMatch {
				selected = append(selected, scenario)
				break
			}
		}
	}
	if len(selected) == 0 {
		return nil, fmt.Errorf("reading --only: no scenario matches; there are\n%s", List())
	}
	return selected, nil
}

// Outcome is what a run measured.
type Outcome struct {
	Results  []*report.Result
	LeftOut  []report.LeftOut // scenarios that the version before cannot run
	Failures []error
}

// RunRounds runs the scenarios in rounds. After a failure it goes on. With a version before,
// each scenario that is compared runs with both, in every round, and the two take turns in
// being first.
func RunRounds(ctx context.Context, run *stage.Run, selected []Scenario) (outcome Outcome) {
	isCompared := make(map[string]bool)
	for _, scenario := range selected {
		isCompared[scenario.Name] = run.Before != nil && report.Compares(scenario.Name)
	}
	for round := 1; round <= run.Options.Rounds; round++ {
		for _, scenario := range selected {
			if scenario.once && round > 1 && !isCompared[scenario.Name] {
				continue
			}
			versions := []bool{false}
			if isCompared[scenario.Name] {
				versions = []bool{round%2 == 1, round%2 == 0}
			}
			for _, before := range versions {
				if ctx.Err() != nil {
					outcome.Failures = append(outcome.Failures, ctx.Err())
					return outcome
				}
				if isRun := outcome.measure(ctx, run, scenario, round, before); !isRun {
					isCompared[scenario.Name] = false
				}
			}
		}
	}
	return outcome
}

// measure runs a scenario once. It reports false if the version before lacks what it needs.
func (o *Outcome) measure(ctx context.Context, run *stage.Run, scenario Scenario, round int, before bool) bool {
	name := scenario.Name
	if before {
		name += " (before)"
		copied := *run
		copied.Programs, run = run.Before, &copied
	}
	fmt.Fprintf(run.Progress, "round %d: %s (%s)\n", round, name, scenario.Description)
	result, err := scenario.measure(ctx, run)
	if before && isLacking(err) {
		left := report.LeftOut{Scenario: scenario.Name, Reason: strings.TrimSpace(err.Error())}
		o.LeftOut = append(o.LeftOut, left)
		fmt.Fprintf(run.Progress, "%s is left out of the comparison: %s\n", left.Scenario, left.Reason)
		return false
	}
	if err != nil {
		o.Failures = append(o.Failures, fmt.Errorf("%s: %w", name, err))
		return true
	}
	result.Scenario, result.Round, result.Before = scenario.Name, round, before
	o.Results = append(o.Results, result)
	if !result.Ledger.Sound() {
		o.Failures = append(o.Failures, fmt.Errorf("%s: the ledger does not hold: %d lost, %d unknown, %d altered, %d forged", name,
			result.Ledger.Lost, result.Ledger.Unknown, result.Ledger.Altered, result.Ledger.Forged))
	}
	return true
}

// isLacking reports whether a version of the hub lacks what a scenario needs: a route, a member
// of a request, or a table or column that the scenario reads or fills.
func isLacking(err error) bool {
	if errors.Is(err, hubapi.ErrNotUnderstood) {
		return true
	}
	var postgres *pgconn.PgError
	if !errors.As(err, &postgres) {
		return false
	}
	const undefinedTable, undefinedColumn, undefinedFunction = "42P01", "42703", "42883"
	return slices.Contains([]string{undefinedTable, undefinedColumn, undefinedFunction}, postgres.Code)
}

// List returns a line for each scenario, for help texts.
func List() string {
	var text strings.Builder
	for _, scenario := range All {
		fmt.Fprintf(&text, "  %-22s %s\n", scenario.Name, scenario.Description)
	}
	return text.String()
}
