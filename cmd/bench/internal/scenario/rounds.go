package scenario

import (
	"context"
	"fmt"
	"path"
	"strings"

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

// RunRounds runs the scenarios in rounds. After a failure it goes on; failures are returned at the end.
func RunRounds(ctx context.Context, run *stage.Run, selected []Scenario) (results []*report.Result, failures []error) {
	for round := 1; round <= run.Options.Rounds; round++ {
		for _, scenario := range selected {
			if scenario.once && round > 1 {
				continue
			}
			if ctx.Err() != nil {
				return results, append(failures, ctx.Err())
			}
			fmt.Fprintf(run.Progress, "round %d: %s (%s)\n", round, scenario.Name, scenario.Description)
			result, err := scenario.measure(ctx, run)
			if err != nil {
				failures = append(failures, fmt.Errorf("%s: %w", scenario.Name, err))
				continue
			}
			result.Scenario, result.Round = scenario.Name, round
			results = append(results, result)
			if !result.Ledger.Sound() {
				failures = append(failures, fmt.Errorf("%s: the ledger does not hold: %d lost, %d unknown, %d altered, %d forged", scenario.Name,
					result.Ledger.Lost, result.Ledger.Unknown, result.Ledger.Altered, result.Ledger.Forged))
			}
		}
	}
	return results, failures
}

// List returns a line for each scenario, for help texts.
func List() string {
	var text strings.Builder
	for _, scenario := range All {
		fmt.Fprintf(&text, "  %-20s %s\n", scenario.Name, scenario.Description)
	}
	return text.String()
}
