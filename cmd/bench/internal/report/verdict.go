package report

import (
	"fmt"
	"strings"
)

// Verdict says whether a goal was reached.
type Verdict struct {
	Goal    string   `json:"goal"`
	Limit   string   `json:"limit"`   // "≥ 0.6 ×"
	Value   *float64 `json:"value"`   // null = not measured
	Verdict string   `json:"verdict"` // "reached", "not reached" or "not measured"
}

// Judge compares every goal with the medians.
func Judge(m medianResults) []Verdict {
	verdicts := make([]Verdict, 0, len(goals))
	for _, g := range goals {
		sign := "≥"
		if g.below {
			sign = "≤"
		}
		v := Verdict{Goal: g.name, Limit: strings.TrimSpace(fmt.Sprintf("%s %g %s", sign, g.limit, g.unit)), Verdict: "not measured"}
		if value, ok := g.value(m); ok {
			v.Value = &value
			v.Verdict = verdict((g.below && value <= g.limit) || (!g.below && value >= g.limit))
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

func verdict(isReached bool) string {
	if isReached {
		return "reached"
	}
	return "not reached"
}
