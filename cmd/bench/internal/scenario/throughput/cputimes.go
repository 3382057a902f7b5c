package throughput

import (
	"time"

	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/usage"
)

// cpuTimes are CPU times by part, summed over the slices of a load.
type cpuTimes map[string]time.Duration

// add adds what was used between two readings, and by a generator that has ended.
func (c *cpuTimes) add(before, after usage.Reading, generator time.Duration) {
	if *c == nil {
		*c = make(cpuTimes)
	}
	for part := range after.Parts {
		(*c)[part] += after.Parts[part] - before.Parts[part]
	}
	(*c)[report.PartGenerator] += generator
}

// per1000 returns CPU seconds per 1,000 events, by part.
func (c cpuTimes) per1000(events int) map[string]float64 {
	cost := make(map[string]float64, len(c)+1)
	for part, used := range c {
		cost[part] = used.Seconds() * 1000 / float64(events)
	}
	cost[report.PartCompared] = cost[report.PartService] + cost[report.PartPostgres] + cost[report.PartRedis]
	return cost
}
