package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rounds makes the results of both versions in each round: rates and CPU.
func rounds(scenario string, before, now [][2]float64) (results []*Result) {
	for version, values := range [][][2]float64{before, now} {
		for i, value := range values {
			results = append(results, &Result{
				Scenario: scenario, Round: i + 1, Before: version == 0, Delivered: value[0], CPU: map[string]float64{PartCompared: value[1]},
			})
		}
	}
	return results
}

func TestCompare(t *testing.T) {
	t.Parallel()
	// The rounds' ratios of the rate are 0.5, 0.96 and 1; those of CPU 1.06, 1 and 1.2.
	results := rounds("gateway-closed", [][2]float64{{1000, 0.1}, {2000, 0.1}, {1000, 0.1}}, [][2]float64{{500, 0.106}, {1920, 0.1}, {1000, 0.12}})
	comparisons := Compare(results)
	require.Len(t, comparisons, 2)
	rate, cpu := comparisons[0], comparisons[1]
	require.InDelta(t, 0.96, rate.Ratio, 1e-9, "the median of the rounds' ratios, not the ratio of the medians")
	require.InDeltaSlice(t, []float64{0.5, 1, 1000, 1000}, []float64{rate.Least, rate.Most, rate.Before, rate.Now}, 1e-9)
	require.Equal(t, []any{3, "≥ 0.95", "reached"}, []any{rate.Rounds, rate.Limit, rate.Verdict})
	require.InDelta(t, 1.06, cpu.Ratio, 1e-9)
	require.Equal(t, []string{"≤ 1.05", "not reached"}, []string{cpu.Limit, cpu.Verdict})

	slower := Compare(rounds("gateway-fanout100", [][2]float64{{1000, 0.1}, {1000, 0.1}}, [][2]float64{{900, 0.1}, {980, 0.1}}))
	require.InDelta(t, 0.94, slower[0].Ratio, 1e-9, "of two rounds the mean")
	require.Equal(t, "not reached", slower[0].Verdict)
	require.Equal(t, "reached", slower[1].Verdict)
}

// A round that only one version has counts for nothing, and latencies are listed without a
// verdict.
func TestCompareListsAndPairs(t *testing.T) {
	t.Parallel()
	results := []*Result{
		{Scenario: "gateway-rate", Round: 1, Before: true, EndToEnd: Latency{P99: 10}},
		{Scenario: "gateway-rate", Round: 2, EndToEnd: Latency{P99: 90}},
		{Scenario: "gateway-rate", Round: 1, EndToEnd: Latency{P99: 15}},
		{Scenario: "floor-closed", Round: 1, Delivered: 1},
		{Scenario: "gateway-closed", Round: 1, Delivered: 1},
	}
	comparisons := Compare(results)
	require.Equal(t, []Comparison{{Scenario: "gateway-rate", Figure: "p99 ms", Before: 10, Now: 15, Rounds: 1, Ratio: 1.5, Least: 1.5, Most: 1.5}}, comparisons)

	var printed strings.Builder
	PrintComparisons(&printed, comparisons, []LeftOut{{Scenario: "gateway-filters", Reason: "422"}})
	require.Contains(t, printed.String(), "1.500")
	require.Contains(t, printed.String(), "gateway-filters is left out, the version before cannot run it: 422\n")
}

// Goals judge this version only.
func TestMediansLeaveOutTheVersionBefore(t *testing.T) {
	t.Parallel()
	medians := Medians(rounds("gateway-closed", [][2]float64{{9, 0}, {9, 0}}, [][2]float64{{1, 0}}))
	require.InDelta(t, 1, medians["gateway-closed"].Delivered, 0)
}
