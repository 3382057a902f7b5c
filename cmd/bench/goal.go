package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// goal is a figure the gateway is to reach.
type goal struct {
	name  string
	limit float64
	below bool // reached when the value is below or at the limit; else when above or at it
	unit  string
	value func(m measured) (float64, bool) // false = its scenarios did not run
}

// goals are judged at the end of every run.
var goals = []goal{
	{"delivered/s, of the floor's", 0.6, false, "×", deliveredRatio("gateway-closed")},
	{"CPU per 1,000 deliveries, of the floor's", 1.7, true, "×", cpuRatio},
	{"p99 end to end at the fixed rate", 15, true, "ms", func(m measured) (float64, bool) {
		r, ok := m["gateway-rate"]
		if !ok {
			return 0, false
		}
		return r.EndToEnd.P99, true
	}},
	{"delivered/s with 10 % of first attempts failing, of the floor's without failures", 0.4, false, "×", deliveredRatio("gateway-fail10")},
	{"share delivered with 10 % of first attempts failing", 1, false, "", deliveredShare("gateway-fail10")},
	{"deliveries/s, 100 endpoints subscribed to one event", 12000, false, "/s", func(m measured) (float64, bool) {
		r, ok := m["gateway-fanout100"]
		if !ok {
			return 0, false
		}
		return r.Delivered, true
	}},
	{"webhooks received/s, of events published/s to one endpoint", 0.5, false, "×", func(m measured) (float64, bool) {
		r, ok := m["gateway-inbound"]
		if !ok {
			return 0, false
		}
		return r.Figures[figureInboundPercent] / 100, true
	}},
	{"delivery-log query, worst filter's p95", 50, true, "ms", figureOf("gateway-log", figureWorstQuery)},
	{"scheduling: a day of one professional, p95", 10, true, "ms", figureOf("scheduling", figureDay)},
	{"scheduling: a month of 50 professionals with 10,000 appointments, p95", 50, true, "ms", figureOf("scheduling", figureMonth)},
	{"scheduling: CPU of the engine for that month", 5, true, "ms", figureOf("scheduling", figureEngine)},
	{"scheduling: a public booking that 50 guests want at once, p95", 100, true, "ms", figureOf("scheduling", figureBooking)},
	{"scheduling: doubles among them", 0, true, "", figureOf("scheduling", figureDoubles)},
	{"scheduling: dashboard over 100,000 appointments, p95", 50, true, "ms", figureOf("scheduling", figureDashboard)},
	{"clinic: a phone number among 100,000 patients, p95", 20, true, "ms", figureOf("clinic-search", figurePhoneSearch)},
	{"clinic: the same by FHIR, p95", 20, true, "ms", figureOf("clinic-search", figureFHIRPhone)},
	{"clinic: the users' list by name, e-mail or phone, p95", 20, true, "ms", figureOf("clinic-search", figureClinicList)},
	{"clinic: import of 10,000 patients", 30, true, "s", figureOf("clinic-import", figureImport)},
	{"clinic: peak memory of the hub by then", 200, true, "MB", figureOf("clinic-import", figureImportMemory)},
	{"clinic: peak memory of the hub after a file ten times as long", 200, true, "MB", figureOf("clinic-import", figureImportTenth)},
	{"clinic: the latter, of the former", 1.3, true, "×", func(m measured) (float64, bool) {
		r := m["clinic-import"]
		if r == nil || r.Figures[figureImportMemory] == 0 {
			return 0, false
		}
		return r.Figures[figureImportTenth] / r.Figures[figureImportMemory], true
	}},
	{"idle memory of the hub process", 80, true, "MB", figureOf("gateway-idle", figureIdleMemory)},
}

// figureOf is a figure that only one scenario has.
func figureOf(scenario, figure string) func(measured) (float64, bool) {
	return func(m measured) (float64, bool) {
		r, ok := m[scenario]
		if !ok {
			return 0, false
		}
		value, ok := r.Figures[figure]
		return value, ok
	}
}

// measured holds the median round of each scenario that ran.
type measured map[string]*Result

// deliveredRatio compares a scenario's deliveries per second with the floor's in
// the closed loop.
func deliveredRatio(name string) func(measured) (float64, bool) {
	return func(m measured) (float64, bool) {
		floor, gateway := m["floor-closed"], m[name]
		if floor == nil || gateway == nil || floor.Delivered == 0 {
			return 0, false
		}
		return gateway.Delivered / floor.Delivered, true
	}
}

// deliveredShare is delivered by promised deliveries.
func deliveredShare(name string) func(measured) (float64, bool) {
	return func(m measured) (float64, bool) {
		r := m[name]
		if r == nil || r.Ledger.Expected == 0 {
			return 0, false
		}
		return float64(r.Ledger.Delivered) / float64(r.Ledger.Expected), true
	}
}

func cpuRatio(m measured) (float64, bool) {
	floor, gateway := m["floor-closed"], m["gateway-closed"]
	if floor == nil || gateway == nil || floor.CPU[partCompared] == 0 {
		return 0, false
	}
	return gateway.CPU[partCompared] / floor.CPU[partCompared], true
}

// Verdict is a goal held against the run.
type Verdict struct {
	Goal    string   `json:"goal"`
	Limit   string   `json:"limit"`   // "≥ 0.6 ×"
	Value   *float64 `json:"value"`   // null = not measured
	Verdict string   `json:"verdict"` // "reached", "not reached" or "not measured"
}

// judge holds every goal against the medians.
func judge(m measured) []Verdict {
	verdicts := make([]Verdict, 0, len(goals))
	for _, g := range goals {
		sign := "≥"
		if g.below {
			sign = "≤"
		}
		v := Verdict{Goal: g.name, Limit: strings.TrimSpace(fmt.Sprintf("%s %g %s", sign, g.limit, g.unit)), Verdict: "not measured"}
		if value, ok := g.value(m); ok {
			v.Value = &value
			v.Verdict = "not reached"
			if (g.below && value <= g.limit) || (!g.below && value >= g.limit) {
				v.Verdict = "reached"
			}
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// printVerdicts prints the goals, reached or not.
func printVerdicts(w io.Writer, verdicts []Verdict) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "goal\tlimit\tmeasured\tverdict")
	for _, v := range verdicts {
		value := "–"
		if v.Value != nil {
			value = fmt.Sprintf("%.4g", *v.Value)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", v.Goal, v.Limit, value, v.Verdict)
	}
	_ = table.Flush() // an error of the terminal has nowhere to go
}
