package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
)

// tableParts are the parts in the order of the tables.
var tableParts = []string{PartService, PartPostgres, PartRedis, PartCompared, PartGenerator, PartReceiver}

// PrintTables prints every round.
func PrintTables(w io.Writer, results []*Result) {
	loads := slices.DeleteFunc(slices.Clone(results), func(r *Result) bool { return r.Events == 0 })
	if len(loads) > 0 {
		printThroughput(w, loads)
		fmt.Fprintln(w, "\nCPU seconds per 1,000 deliveries (compared = service + postgres + redis)")
		printParts(w, loads, "%.4f", func(r *Result) map[string]float64 { return r.CPU })
		fmt.Fprintln(w, "\nPeak memory, MB")
		printParts(w, loads, "%.0f", func(r *Result) map[string]float64 { return r.Peak })
	}
	printQueries(w, results)
	for _, r := range results {
		names := make([]string, 0, len(r.Figures))
		for name := range r.Figures {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Fprintf(w, "\n%s: %s = %.2f", r.label(), name, r.Figures[name])
		}
	}
	fmt.Fprintln(w)
}

func printThroughput(w io.Writer, results []*Result) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "scenario\tround\tevents\taccepted/s\tdelivered/s\tp50 ms\tp99 ms\tanswer p99 ms\trefused\tlost\tduplicated\tother load\t")
	for _, r := range results {
		fmt.Fprintf(table, "%s\t%d\t%d\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%d\t%d\t%d\t%.2f\t\n",
			r.label(), r.Round, r.Events, r.Accepted, r.Delivered, r.EndToEnd.P50, r.EndToEnd.P99, r.Response.P99,
			r.Events-r.Ledger.Accepted, r.Ledger.Lost, r.Ledger.Duplicated, r.OtherLoad)
	}
	_ = table.Flush() // an error of the terminal has nowhere to go
}

func printParts(w io.Writer, results []*Result, format string, of func(*Result) map[string]float64) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "scenario\tround\t")
	for _, part := range tableParts {
		fmt.Fprint(table, part, "\t")
	}
	fmt.Fprintln(table)
	for _, r := range results {
		fmt.Fprint(table, r.label(), "\t", strconv.Itoa(r.Round), "\t")
		for _, part := range tableParts {
			if value, known := of(r)[part]; known {
				fmt.Fprintf(table, format, value)
			}
			fmt.Fprint(table, "\t")
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush()
}

// PrintVerdicts prints the goals, reached or not.
func PrintVerdicts(w io.Writer, verdicts []Verdict) {
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
