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

// NewLatency sorts spans (nanoseconds) and reads the distribution off them.
func NewLatency(spans []int64) Latency {
	if len(spans) == 0 {
		return Latency{}
	}
	slices.Sort(spans)
	at := func(share float64) float64 {
		return float64(spans[min(len(spans)-1, int(share*float64(len(spans))))]) / 1e6
	}
	return Latency{P50: at(0.50), P99: at(0.99), Max: at(1)}
}

func perSecond(count int, nanoseconds int64) float64 {
	if nanoseconds <= 0 {
		return 0
	}
	return float64(count) / time.Duration(nanoseconds).Seconds()
}
