package report

import (
	"time"

	"integrationhub/cmd/bench/internal/reconcile"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/cmd/bench/internal/usage"
)

// Result is the result of one scenario in one round.
type Result struct {
	Scenario string `json:"scenario"`
	Round    int    `json:"round"`
	Before   bool   `json:"before,omitempty"` // of the version to compare with

	Events       int               `json:"events"`           // POSTs sent
	Rate         float64           `json:"rate_per_second"`  // 0 = closed loop
	Endpoints    int               `json:"endpoints"`        // subscribed to each event
	Connections  int               `json:"connections"`      // of the generator
	PayloadBytes int               `json:"payload_bytes"`    // of each data object
	Statuses     map[string]int    `json:"statuses"`         // responses to the generator; "0" = none
	Ledger       reconcile.Balance `json:"ledger"`           //
	Accepted     float64           `json:"accepted_per_s"`   // first send to last response
	Delivered    float64           `json:"delivered_per_s"`  // first send to last arrival
	EndToEnd     Latency           `json:"end_to_end_ms"`    // send (or due time) to first arrival answered 2xx
	Response     Latency           `json:"answer_ms"`        // send (or due time) to the response
	OtherLoad    float64           `json:"other_load_cores"` // cores kept busy by processes outside the run

	CPU     map[string]float64 `json:"cpu_s_per_1000"`    // CPU seconds per 1,000 deliveries, by part
	Peak    map[string]float64 `json:"peak_mb"`           // peak memory in MB (2^20), by part
	Figures map[string]float64 `json:"figures"`           // what only this scenario measures
	Queries []QueryTiming      `json:"queries,omitempty"` // of the delivery log
}

// label names the result in tables.
func (r *Result) label() string {
	if r.Before {
		return r.Scenario + " (before)"
	}
	return r.Scenario
}

// SetThroughput computes rates and latencies.
func (r *Result) SetThroughput(sent []records.Sent, arrivals []records.Arrival) {
	var responses []int64
	var first, lastResponse int64
	for i, s := range sent {
		if i == 0 || s.SentAt < first {
			first = s.SentAt
		}
		lastResponse = max(lastResponse, s.AnsweredAt)
		if s.Accepted() {
			responses = append(responses, s.AnsweredAt-s.SentAt)
		}
	}
	var durations []int64
	var lastArrival int64
	seen := make(map[records.DeliveryKey]bool, len(arrivals))
	for _, a := range arrivals {
		key := a.Key()
		if !a.Delivered() || seen[key] {
			continue
		}
		seen[key] = true
		durations = append(durations, a.ArrivedAt-a.SentAt)
		lastArrival = max(lastArrival, a.ArrivedAt)
	}
	r.Accepted = perSecond(len(responses), lastResponse-first)
	r.Delivered = perSecond(len(durations), lastArrival-first)
	r.Response, r.EndToEnd = NewLatency(responses), NewLatency(durations)
}

// SetCPU computes CPU seconds per 1,000 deliveries.
func (r *Result) SetCPU(before, after usage.Reading, generator time.Duration) {
	used := map[string]time.Duration{PartGenerator: generator}
	for part := range after.Parts {
		used[part] = after.Parts[part] - before.Parts[part]
	}
	used[PartCompared] = used[PartService] + used[PartPostgres] + used[PartRedis]
	r.CPU = make(map[string]float64, len(used))
	if r.Ledger.Delivered > 0 {
		for part, cpu := range used {
			r.CPU[part] = cpu.Seconds() * 1000 / float64(r.Ledger.Delivered)
		}
	}
	r.OtherLoad = usage.OtherLoad(before, after)
}

// SetMemory sets the peaks, given in bytes, in MB.
func (r *Result) SetMemory(peaks map[string]int64) {
	r.Peak = make(map[string]float64, len(peaks))
	for part, bytes := range peaks {
		r.Peak[part] = usage.Megabytes(bytes)
	}
}
