package report

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// QueryTiming is the duration of one kind of request over HTTP, in milliseconds.
type QueryTiming struct {
	Query  string  `json:"query"`
	P50    float64 `json:"p50_ms"`
	P95    float64 `json:"p95_ms"`
	Max    float64 `json:"max_ms"`
	Rows   int     `json:"rows"`   // in the last response, at most a page
	Judged bool    `json:"judged"` // counts for a goal
}

// SetDurations fills in what durations took.
func (t *QueryTiming) SetDurations(durations []time.Duration) {
	slices.Sort(durations)
	percentile := func(share float64) float64 {
		return durations[int(share*float64(len(durations)-1)+0.5)].Seconds() * 1000
	}
	t.P50, t.P95, t.Max = percentile(0.50), percentile(0.95), percentile(1)
}

// printQueries prints what the queries took.
func printQueries(w io.Writer, results []*Result) {
	for _, r := range results {
		if len(r.Queries) == 0 {
			continue
		}
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, r.label()+"\tp50 ms\tp95 ms\tmax ms\trows")
		for _, q := range r.Queries {
			fmt.Fprintf(table, "%s\t%.1f\t%.1f\t%.1f\t%d\n", q.Query, q.P50, q.P95, q.Max, q.Rows)
		}
		_ = table.Flush() // an error of the terminal has nowhere to go
	}
}
