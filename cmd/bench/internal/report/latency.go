package report

import (
	"slices"
	"time"
)

// Latency is a distribution in milliseconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// NewLatency returns the distribution of durations in nanoseconds. It sorts them.
func NewLatency(durations []int64) Latency {
	if len(durations) == 0 {
		return Latency{}
	}
	slices.Sort(durations)
	percentile := func(share float64) float64 {
		return float64(durations[min(len(durations)-1, int(share*float64(len(durations))))]) / 1e6
	}
	return Latency{P50: percentile(0.50), P99: percentile(0.99), Max: percentile(1)}
}

func perSecond(count int, nanoseconds int64) float64 {
	if nanoseconds <= 0 {
		return 0
	}
	return float64(count) / time.Duration(nanoseconds).Seconds()
}
