package report

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Limits of a figure that is judged against the version before.
const (
	leastOfBefore = 0.95 // where more is better
	mostOfBefore  = 1.05 // where less is better
)

// Comparison compares one figure of a scenario with that of the version before.
type Comparison struct {
	Scenario string  `json:"scenario"`
	Figure   string  `json:"figure"`
	Before   float64 `json:"before"` // median of the rounds
	Now      float64 `json:"now"`    // median of the rounds
	Rounds   int     `json:"rounds"`
	Ratio    float64 `json:"ratio"` // now of before: the median of the rounds' ratios
	Least    float64 `json:"least"` // of the rounds' ratios
	Most     float64 `json:"most"`
	Limit    string  `json:"limit"`   // "≥ 0.95"; "" = not judged
	Verdict  string  `json:"verdict"` // "reached" or "not reached"; "" = not judged
}

// LeftOut is a scenario that the version before cannot run.
type LeftOut struct {
	Scenario string `json:"scenario"`
	Reason   string `json:"reason"`
}

// comparedFigure is a figure that is compared with the version before.
type comparedFigure struct {
	name   string
	judged judgement
	value  func(*Result) (float64, bool)
}

// judgement is which way a figure is judged. Latencies and memory are listed only: from one
// round to the next they vary by more than the limit.
type judgement int

const (
	listed judgement = iota
	atLeast
	atMost
)

// comparedFigures are the figures that are compared, by scenario.
var comparedFigures = map[string][]comparedFigure{
	"gateway-closed":    {deliveredFigure, cpuFigure},
	"gateway-fail10":    {deliveredFigure, cpuFigure},
	"gateway-rate":      {cpuFigure, p99Figure},
	"gateway-fanout100": {deliveredFigure, cpuFigure},
	"gateway-tenants":   figures(listed, FigureQuietTenants, FigureTenantsBesideOne, FigureTenantsBesideTen),
	"gateway-batches":   figures(listed, FigureBatches, FigureQuietTenants, FigureBesideBatches, FigureBatchesMemory),
	"gateway-churn":     figures(atLeast, FigureQuiet, FigureChurn, FigureNoOps),
	"gateway-order":     figures(atLeast, FigureUnordered, FigureOrdered, FigureOrderedManyKeys),
	"gateway-order-backlog": slices.Concat(figures(atLeast, FigureBacklogDrained),
		figures(listed, FigureBacklogGrowth)),
	"gateway-validation": slices.Concat(figures(atLeast, FigureUnchecked, FigureChecked, FigureCheckedGroups),
		figures(atMost, FigureUncheckedCPU, FigureCheckedCPU, FigureCheckedGroupsCPU)),
	"gateway-filters": slices.Concat(figures(atLeast, FigureUnfiltered, FigureFiltered, FigureOneMatches),
		figures(atMost, FigureUnfilteredCPU, FigureFilteredCPU, FigureOneMatchesCPU)),
	"gateway-inbound": slices.Concat([]comparedFigure{acceptedFigure}, figures(atLeast, FigurePublish, FigureUndelivered, FigureInsert),
		figures(atMost, FigureInboundCPU, FigurePublishCPU, FigureUndeliveredCPU, FigureInsertCPU)),
	"gateway-link": figures(listed, FigureLinkRate, FigureLinkDeletion),
	"gateway-log":  figures(listed, FigureWorstQuery),
	"scheduling":   figures(listed, FigureDay, FigureMonth, FigureMonthCPU, FigureBooking, FigureDashboard),
	"clinic-search": figures(listed, FigurePhoneSearch, FigureFHIRSearch,
		FigurePatientList),
	"clinic-import":      slices.Concat(figures(atMost, FigureImport, FigureReimport), figures(listed, FigureLargeImportMemory)),
	"messaging-inbound":  figures(atMost, FigureInboundMessagesCPU),
	"messaging-tickets":  figures(listed, FigureTicketList),
	"messaging-send":     figures(listed, FigureSend),
	"messaging-campaign": slices.Concat(figures(atLeast, FigureCampaign), figures(listed, FigureCampaignMemory)),
	"gateway-idle":       figures(listed, FigureIdleMemory),
}

var (
	deliveredFigure = comparedFigure{"delivered/s", atLeast, func(r *Result) (float64, bool) { return r.Delivered, true }}
	acceptedFigure  = comparedFigure{"accepted/s", atLeast, func(r *Result) (float64, bool) { return r.Accepted, true }}
	cpuFigure       = comparedFigure{"CPU s per 1,000", atMost, func(r *Result) (float64, bool) { return r.CPU[PartCompared], true }}
	p99Figure       = comparedFigure{"p99 ms", listed, func(r *Result) (float64, bool) { return r.EndToEnd.P99, true }}
)

// figures are entries of [Result.Figures].
func figures(judged judgement, names ...string) []comparedFigure {
	list := make([]comparedFigure, len(names))
	for i, name := range names {
		list[i] = comparedFigure{name, judged, func(r *Result) (float64, bool) {
			value, ok := r.Figures[name]
			return value, ok
		}}
	}
	return list
}

// Compares reports whether figures of a scenario are compared with the version before.
func Compares(scenario string) bool { return len(comparedFigures[scenario]) > 0 }

// Compare compares the rounds that were measured with both versions.
func Compare(results []*Result) (comparisons []Comparison) {
	var scenarios []string
	for _, r := range results {
		if !slices.Contains(scenarios, r.Scenario) {
			scenarios = append(scenarios, r.Scenario)
		}
	}
	for _, scenario := range scenarios {
		for _, figure := range comparedFigures[scenario] {
			if comparison, ok := figure.compare(scenario, results); ok {
				comparisons = append(comparisons, comparison)
			}
		}
	}
	return comparisons
}

// compare compares a figure of a scenario; not ok if no round has it of both versions.
func (f comparedFigure) compare(scenario string, results []*Result) (c Comparison, ok bool) {
	rounds := make(map[int]float64) // of the version before
	for _, r := range results {
		if value, isMeasured := f.value(r); isMeasured && r.Before && r.Scenario == scenario && value > 0 {
			rounds[r.Round] = value
		}
	}
	var before, now, ratios []float64
	for _, r := range results {
		value, isMeasured := f.value(r)
		former, isComparable := rounds[r.Round]
		if isMeasured && isComparable && !r.Before && r.Scenario == scenario {
			before, now, ratios = append(before, former), append(now, value), append(ratios, value/former)
		}
	}
	if len(ratios) == 0 {
		return c, false
	}
	c = Comparison{
		Scenario: scenario, Figure: f.name, Before: median(before), Now: median(now), Rounds: len(ratios),
		Ratio: median(ratios), Least: slices.Min(ratios), Most: slices.Max(ratios),
	}
	isReached := false
	switch f.judged {
	case listed:
		return c, true
	case atLeast:
		c.Limit, isReached = fmt.Sprintf("≥ %g", leastOfBefore), c.Ratio >= leastOfBefore
	case atMost:
		c.Limit, isReached = fmt.Sprintf("≤ %g", mostOfBefore), c.Ratio <= mostOfBefore
	}
	c.Verdict = verdict(isReached)
	return c, true
}

// median sorts the values. Of an even number it is the mean of the two in the middle.
func median(values []float64) float64 {
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}

// PrintComparisons prints the comparisons with the version before, and what was left out of
// them.
func PrintComparisons(w io.Writer, comparisons []Comparison, leftOut []LeftOut) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "compared with the version before\tfigure\tbefore\tnow\tratio\tof rounds\tlimit\tverdict")
	for _, c := range comparisons {
		fmt.Fprintf(table, "%s\t%s\t%.4g\t%.4g\t%.3f\t%.3f–%.3f (%d)\t%s\t%s\n", c.Scenario, c.Figure, c.Before, c.Now, c.Ratio, c.Least, c.Most, c.Rounds, c.Limit, c.Verdict)
	}
	_ = table.Flush() // an error of the terminal has nowhere to go
	for _, left := range leftOut {
		fmt.Fprintf(w, "%s is left out, the version before cannot run it: %s\n", left.Scenario, left.Reason)
	}
}
