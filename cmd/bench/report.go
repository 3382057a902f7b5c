package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// Result is what one scenario gave in one round.
type Result struct {
	Scenario string `json:"scenario"`
	Round    int    `json:"round"`

	Events       int            `json:"events"`           // POSTs sent
	Rate         float64        `json:"rate_per_second"`  // 0 = closed loop
	Endpoints    int            `json:"endpoints"`        // subscribed to each event
	Connections  int            `json:"connections"`      // of the generator
	PayloadBytes int            `json:"payload_bytes"`    // of each data object
	Statuses     map[string]int `json:"statuses"`         // answers to the generator; "0" = none
	Ledger       Balance        `json:"ledger"`           //
	Accepted     float64        `json:"accepted_per_s"`   // first send to last answer
	Delivered    float64        `json:"delivered_per_s"`  // first send to last arrival
	EndToEnd     Latency        `json:"end_to_end_ms"`    // send (or due time) to first arrival answered 2xx
	Answer       Latency        `json:"answer_ms"`        // send (or due time) to the generator's answer
	OtherLoad    float64        `json:"other_load_cores"` // cores kept busy meanwhile by processes that are not ours

	CPU     map[string]float64 `json:"cpu_s_per_1000"`    // CPU seconds per 1,000 deliveries, by part
	Peak    map[string]float64 `json:"peak_mb"`           // peak memory in MB (2^20), by part
	Figures map[string]float64 `json:"figures"`           // what only this scenario measures
	Queries []QueryTiming      `json:"queries,omitempty"` // of the delivery log
}

// figureIdleMemory is the key of the idle hub's resident memory in [Result.Figures].
const figureIdleMemory = "idle_mb"

// Latency is a distribution in milliseconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// newLatency sorts spans (nanoseconds) and reads the distribution off them.
func newLatency(spans []int64) Latency {
	if len(spans) == 0 {
		return Latency{}
	}
	slices.Sort(spans)
	at := func(share float64) float64 {
		return float64(spans[min(len(spans)-1, int(share*float64(len(spans))))]) / 1e6
	}
	return Latency{P50: at(0.50), P99: at(0.99), Max: at(1)}
}

// setSpeed computes rates and latencies.
func (r *Result) setSpeed(sent []Sent, arrivals []Arrival) {
	var answers []int64
	var first, lastAnswer int64
	for i, s := range sent {
		if i == 0 || s.At < first {
			first = s.At
		}
		lastAnswer = max(lastAnswer, s.Acked)
		if s.Accepted() {
			answers = append(answers, s.Acked-s.At)
		}
	}
	var spans []int64
	var lastArrival int64
	seen := make(map[arrivalKey]bool, len(arrivals))
	for _, a := range arrivals {
		key := arrivalKey{a.ID, a.Endpoint}
		if !a.Delivered() || seen[key] {
			continue
		}
		seen[key] = true
		spans = append(spans, a.At-a.Sent)
		lastArrival = max(lastArrival, a.At)
	}
	r.Accepted = perSecond(len(answers), lastAnswer-first)
	r.Delivered = perSecond(len(spans), lastArrival-first)
	r.Answer, r.EndToEnd = newLatency(answers), newLatency(spans)
}

func perSecond(count int, nanoseconds int64) float64 {
	if nanoseconds <= 0 {
		return 0
	}
	return float64(count) / time.Duration(nanoseconds).Seconds()
}

// setCost computes CPU seconds per 1,000 deliveries.
func (r *Result) setCost(before, after cpuReading, generator time.Duration) {
	used := map[string]time.Duration{partGenerator: generator}
	for part := range after.parts {
		used[part] = after.parts[part] - before.parts[part]
	}
	used[partCompared] = used[partService] + used[partPostgres] + used[partRedis]
	r.CPU = make(map[string]float64, len(used))
	if r.Ledger.Delivered > 0 {
		for part, cpu := range used {
			r.CPU[part] = cpu.Seconds() * 1000 / float64(r.Ledger.Delivered)
		}
	}
	r.OtherLoad = otherLoad(before, after)
}

// otherLoad is how many cores were kept busy between two readings by processes that are
// not ours.
func otherLoad(before, after cpuReading) float64 {
	ours := after.own - before.own // holds the generator
	for part := range after.parts {
		ours += after.parts[part] - before.parts[part]
	}
	other := (after.machine - before.machine) - ours
	return max(0, other.Seconds()/after.at.Sub(before.at).Seconds())
}

// setMemory takes the peaks over in MB.
func (r *Result) setMemory(peaks map[string]int64) {
	r.Peak = make(map[string]float64, len(peaks))
	for part, bytes := range peaks {
		r.Peak[part] = megabytes(bytes)
	}
}

func megabytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// medians gives, for each scenario, the round with the median deliveries per
// second: one real round, not a mix of several.
func medians(results []*Result) map[string]*Result {
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

// columnsOf are the parts in the order of the tables.
var columnsOf = []string{partService, partPostgres, partRedis, partCompared, partGenerator, partReceiver}

// printTables prints every round.
func printTables(w io.Writer, results []*Result) {
	loads := slices.DeleteFunc(slices.Clone(results), func(r *Result) bool { return r.Events == 0 })
	if len(loads) > 0 {
		printSpeed(w, loads)
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
			fmt.Fprintf(w, "\n%s: %s = %.1f", r.Scenario, name, r.Figures[name])
		}
	}
	fmt.Fprintln(w)
}

func printSpeed(w io.Writer, results []*Result) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "scenario\tround\tevents\taccepted/s\tdelivered/s\tp50 ms\tp99 ms\tanswer p99 ms\trefused\tlost\tduplicated\tother load\t")
	for _, r := range results {
		fmt.Fprintf(table, "%s\t%d\t%d\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%d\t%d\t%d\t%.2f\t\n",
			r.Scenario, r.Round, r.Events, r.Accepted, r.Delivered, r.EndToEnd.P50, r.EndToEnd.P99, r.Answer.P99,
			r.Events-r.Ledger.Accepted, r.Ledger.Lost, r.Ledger.Duplicated, r.OtherLoad)
	}
	_ = table.Flush() // an error of the terminal has nowhere to go
}

func printParts(w io.Writer, results []*Result, format string, of func(*Result) map[string]float64) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "scenario\tround\t")
	for _, part := range columnsOf {
		fmt.Fprint(table, part, "\t")
	}
	fmt.Fprintln(table)
	for _, r := range results {
		fmt.Fprint(table, r.Scenario, "\t", strconv.Itoa(r.Round), "\t")
		for _, part := range columnsOf {
			if value, known := of(r)[part]; known {
				fmt.Fprintf(table, format, value)
			}
			fmt.Fprint(table, "\t")
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush()
}
