package ledger

import (
	"math"
	"time"
)

// Latencies are counted in classes that grow by a quarter power of two: class 0
// is below 0.1 ms, the last takes all from about 11 s up. A percentile read from
// them is at most 19 % off.
const (
	latencyClasses  = 70
	smallestLatency = 100 * time.Microsecond
)

// LatencyClass returns the class of a latency.
func LatencyClass(latency time.Duration) int {
	if latency < smallestLatency {
		return 0
	}
	return min(latencyClasses-1, 1+int(4*math.Log2(float64(latency)/float64(smallestLatency))))
}

// AddLatencyClasses adds one to the counts for each class listed, and returns the counts.
func AddLatencyClasses(counts []int64, classes []int32) []int64 {
	counts = withClasses(counts, len(classes))
	for _, class := range classes {
		counts[class]++
	}
	return counts
}

// AddLatencyCounts adds counts by class, from class 0 on, and returns the sums.
func AddLatencyCounts(counts []int64, more []int32) []int64 {
	counts = withClasses(counts, len(more))
	for class, count := range more {
		counts[class] += int64(count)
	}
	return counts
}

// withClasses returns counts with room for every class where there is anything to add.
func withClasses(counts []int64, added int) []int64 {
	if counts == nil && added > 0 {
		return make([]int64, latencyClasses)
	}
	return counts
}

// upperMillis returns the upper bound of a class in milliseconds.
func upperMillis(class int) float64 {
	return float64(smallestLatency) / float64(time.Millisecond) * math.Exp2(float64(class)/4)
}

// Percentile returns the p-th percentile (0–1) in milliseconds of counts by class,
// nil where nothing was counted.
func Percentile(counts []int64, p float64) *float64 {
	var total int64
	for _, count := range counts {
		total += count
	}
	if total == 0 {
		return nil
	}
	rank := max(1, int64(math.Ceil(p*float64(total))))
	for class, count := range counts {
		if rank -= count; rank <= 0 {
			millis := math.Round(upperMillis(class)*100) / 100
			return &millis
		}
	}
	return nil // unreachable: the counts add up to total
}
