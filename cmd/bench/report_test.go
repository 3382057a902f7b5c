package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLatency(t *testing.T) {
	t.Parallel()
	spans := make([]int64, 1000)
	for i := range spans {
		spans[i] = int64(1000-i) * int64(time.Millisecond)
	}
	require.Equal(t, Latency{P50: 501, P99: 991, Max: 1000}, newLatency(spans))
	require.Equal(t, Latency{}, newLatency(nil))
}

func TestSpeedCountsEachDeliveryOnce(t *testing.T) {
	t.Parallel()
	const ms = int64(time.Millisecond)
	sent := []Sent{{ID: 1, At: 0, Acked: 10 * ms, Status: 202}, {ID: 2, At: 100 * ms, Acked: 1000 * ms, Status: 503}}
	arrivals := []Arrival{
		{ID: 1, At: 50 * ms, Status: 500},
		{ID: 1, At: 500 * ms, Status: 200},
		{ID: 1, At: 900 * ms, Status: 200},
	}
	var r Result
	r.setSpeed(sent, arrivals)
	require.InDelta(t, 1, r.Accepted, 0.001)
	require.InDelta(t, 2, r.Delivered, 0.001)
	require.Equal(t, Latency{500, 500, 500}, r.EndToEnd)
	require.Equal(t, Latency{10, 10, 10}, r.Answer)
}

func TestCost(t *testing.T) {
	t.Parallel()
	start := time.Now()
	before := cpuReading{at: start, parts: map[string]time.Duration{partService: time.Second, partPostgres: 0, partRedis: 0, partReceiver: 0}}
	after := cpuReading{
		at:      start.Add(10 * time.Second),
		parts:   map[string]time.Duration{partService: 3 * time.Second, partPostgres: time.Second, partRedis: time.Second, partReceiver: time.Second},
		machine: 17 * time.Second, own: 2 * time.Second,
	}
	r := Result{Ledger: Balance{Delivered: 2000}}
	r.setCost(before, after, time.Second)
	require.Equal(t, map[string]float64{
		partService: 1, partPostgres: 0.5, partRedis: 0.5, partReceiver: 0.5, partGenerator: 0.5, partCompared: 2,
	}, r.CPU)
	require.InDelta(t, 1, r.OtherLoad, 0.001)
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	rounds := []*Result{
		{Scenario: "floor-closed", Round: 1, Delivered: 1000, CPU: map[string]float64{partCompared: 0.05}},
		{Scenario: "gateway-closed", Round: 1, Delivered: 100},
		{Scenario: "gateway-closed", Round: 2, Delivered: 600, CPU: map[string]float64{partCompared: 0.1}},
		{Scenario: "gateway-closed", Round: 3, Delivered: 900},
		{Scenario: "gateway-rate", Round: 1, EndToEnd: Latency{P99: 15.1}},
	}
	verdicts := judge(medians(rounds))
	got := make([]string, len(verdicts))
	for i, v := range verdicts {
		got[i] = v.Verdict
	}
	require.Equal(t, []string{"reached", "not reached", "not reached"}, got[:3])
	for i, verdict := range got[3:] {
		require.Equal(t, "not measured", verdict, verdicts[3+i].Goal)
	}
	var printed strings.Builder
	printVerdicts(&printed, verdicts)
	require.Contains(t, printed.String(), "≤ 1.7 ×")
}

func TestChoose(t *testing.T) {
	t.Parallel()
	all, err := choose(nil)
	require.NoError(t, err)
	require.Len(t, all, len(scenarios))
	floors, err := choose([]string{"floor-*", "gateway-idle"})
	require.NoError(t, err)
	require.Len(t, floors, 4)
	_, err = choose([]string{"nothing"})
	require.Error(t, err)
}
