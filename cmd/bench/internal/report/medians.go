package report

import "slices"

// medianResults holds the median round of each scenario that ran.
type medianResults map[string]*Result

// Medians gives, for each scenario, the round with the median deliveries per
// second: one real round, not a mix of several.
func Medians(results []*Result) map[string]*Result {
	byName := make(map[string][]*Result)
	for _, r := range results {
		byName[r.Scenario] = append(byName[r.Scenario], r)
	}
	middle := make(map[string]*Result, len(byName))
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
		middle[name] = rounds[len(rounds)/2]
	}
	return middle
}
