package report

import "slices"

// medianResults holds the median round of each scenario that ran.
type medianResults map[string]*Result

// Medians returns the round of each scenario with the median deliveries per second, without
// those of the version before.
func Medians(results []*Result) map[string]*Result {
	byName := make(map[string][]*Result)
	for _, r := range results {
		if !r.Before {
			byName[r.Scenario] = append(byName[r.Scenario], r)
		}
	}
	medians := make(map[string]*Result, len(byName))
	for name, rounds := range byName {
		slices.SortFunc(rounds, func(a, b *Result) int {
			switch {
			case a.Delivered < b.Delivered:
				return -1
			case a.Delivered > b.Delivered:
				return 1
			}
			return a.Round - b.Round
		})
		medians[name] = rounds[len(rounds)/2]
	}
	return medians
}
