package report

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/reconcile"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/cmd/bench/internal/usage"
)

func TestLatency(t *testing.T) {
	t.Parallel()
	spans := make([]int64, 1000)
	for i := range spans {
		spans[i] = int64(1000-i) * int64(time.Millisecond)
	}
	require.Equal(t, Latency{P50: 501, P99: 991, Max: 1000}, NewLatency(spans))
	require.Equal(t, Latency{}, NewLatency(nil))
}

func TestSpeedCountsEachDeliveryOnce(t *testing.T) {
	t.Parallel()
	const ms = int64(time.Millisecond)
	sent := []records.Sent{{ID: 1, SentAt: 0, AnsweredAt: 10 * ms, Status: 202}, {ID: 2, SentAt: 100 * ms, AnsweredAt: 1000 * ms, Status: 503}}
	arrivals := []records.Arrival{
		{ID: 1, ArrivedAt: 50 * ms, Status: 500},
		{ID: 1, ArrivedAt: 500 * ms, Status: 200},
		{ID: 1, ArrivedAt: 900 * ms, Status: 200},
	}
	var r Result
	r.SetThroughput(sent, arrivals)
	require.InDelta(t, 1, r.Accepted, 0.001)
	require.InDelta(t, 2, r.Delivered, 0.001)
	require.Equal(t, Latency{500, 500, 500}, r.EndToEnd)
	require.Equal(t, Latency{10, 10, 10}, r.Response)
}

func TestCost(t *testing.T) {
	t.Parallel()
	start := time.Now()
	before := usage.Reading{At: start, Parts: map[string]time.Duration{PartService: time.Second, PartPostgres: 0, PartRedis: 0, PartReceiver: 0}}
	after := usage.Reading{
		At:      start.Add(10 * time.Second),
		Parts:   map[string]time.Duration{PartService: 3 * time.Second, PartPostgres: time.Second, PartRedis: time.Second, PartReceiver: time.Second},
		Machine: 17 * time.Second, Own: 2 * time.Second,
	}
	r := Result{Ledger: reconcile.Balance{Delivered: 2000}}
	r.SetCPU(before, after, time.Second)
	require.Equal(t, map[string]float64{
		PartService: 1, PartPostgres: 0.5, PartRedis: 0.5, PartReceiver: 0.5, PartGenerator: 0.5, PartCompared: 2,
	}, r.CPU)
	require.InDelta(t, 1, r.OtherLoad, 0.001)
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	rounds := []*Result{
		{Scenario: "floor-closed", Round: 1, Delivered: 1000, CPU: map[string]float64{PartCompared: 0.05}},
		{Scenario: "gateway-closed", Round: 1, Delivered: 100},
		{Scenario: "gateway-closed", Round: 2, Delivered: 600, CPU: map[string]float64{PartCompared: 0.1}},
		{Scenario: "gateway-closed", Round: 3, Delivered: 900},
		{Scenario: "gateway-rate", Round: 1, EndToEnd: Latency{P99: 15.1}},
		{Scenario: "gateway-fail10", Round: 1, Delivered: 300, CPU: map[string]float64{PartCompared: 0.089}},
	}
	verdicts := Judge(Medians(rounds))
	got := make([]string, len(verdicts))
	for i, v := range verdicts {
		got[i] = v.Verdict
	}
	require.Equal(t, []string{"reached", "not reached", "not reached", "not reached", "reached"}, got[:5])
	require.InDelta(t, 1.78, *verdicts[4].Value, 0.001, "CPU with failing attempts, of the floor's without")
	for i, verdict := range got[5:] {
		require.Equal(t, "not measured", verdict, verdicts[5+i].Goal)
	}
	var printed strings.Builder
	PrintVerdicts(&printed, verdicts)
	require.Contains(t, printed.String(), "≤ 1.7 ×")
}
