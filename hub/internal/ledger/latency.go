package ledger

import (
	"math"
	"time"
)

// Latencies are counted in classes that grow by a quarter power of two: class 0
// is below 0.1 ms, the last takes all from about 11 s up. A percentile read from
// them is at most 19 % off.
const (
	latencyClasses = 70
	smallest       = 100 * time.Microsecond
)

// latencyClass is the class of a latency.
func latencyClass(d time.Duration) int {
	if d < smallest {
		return 0
	}
	return min(latencyClasses-1, 1+int(4*math.Log2(float64(d)/float64(smallest))))
}

// classMillis is the upper bound of a class in milliseconds.
func classMillis(class int) float64 {
	return float64(smallest) / float64(time.Millisecond) * math.Exp2(float64(class)/4)
}

// percentile reads the p-th percentile (0–1) in milliseconds from counts by
// class; nil where nothing was counted.
func percentile(counts []int64, p float64) *float64 {
	var total int64
	for _, n := range counts {
		total += n
	}
	if total == 0 {
		return nil
	}
	rank := max(1, int64(math.Ceil(p*float64(total))))
	for class, n := range counts {
		if rank -= n; rank <= 0 {
			ms := math.Round(classMillis(class)*100) / 100
			return &ms
		}
	}
	return nil // unreachable: the counts add up to total
}
