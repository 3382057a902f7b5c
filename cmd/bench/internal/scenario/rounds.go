package scenario

import (
	"context"
	"fmt"
	"path"
	"strings"

	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/stage"
)

// Select gives the scenarios that match any of the patterns.
func Select(patterns []string) ([]Scenario, error) {
	if len(patterns) == 0 {
		return All, nil
	}
	var chosen []Scenario
	for _, s := range All {
		for _, pattern := range patterns {
			matched, err := path.Match(pattern, s.Name)
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
		return nil, fmt.Errorf("reading --only: no scenario matches; there are\n%s", List())
	}
	return chosen, nil
}

// RunRounds runs the rounds. What fails is reported at the end; the others go on.
func RunRounds(ctx context.Context, b *stage.Run, chosen []Scenario) (results []*report.Result, failures []error) {
	for round := 1; round <= b.Options.Rounds; round++ {
		for _, s := range chosen {
			if s.once && round > 1 {
				continue
			}
			if ctx.Err() != nil {
				return results, append(failures, ctx.Err())
			}
			fmt.Fprintf(b.Progress, "round %d: %s (%s)\n", round, s.Name, s.Description)
			result, err := s.run(ctx, b)
			if err != nil {
				failures = append(failures, fmt.Errorf("%s: %w", s.Name, err))
				continue
			}
			result.Scenario, result.Round = s.Name, round
			results = append(results, result)
			if !result.Ledger.Sound() {
				failures = append(failures, fmt.Errorf("%s: the ledger does not hold: %d lost, %d unknown, %d altered, %d forged", s.Name,
					result.Ledger.Lost, result.Ledger.Unknown, result.Ledger.Altered, result.Ledger.Forged))
			}
		}
	}
	return results, failures
}

// List describes every scenario in a line.
func List() string {
	var list strings.Builder
	for _, s := range All {
		fmt.Fprintf(&list, "  %-20s %s\n", s.Name, s.Description)
	}
	return list.String()
}
