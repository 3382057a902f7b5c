package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/reconcile"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/scenario"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
)

// The whole of a run against the floor: real PostgreSQL, real Redis, every
// process of its own.
func TestRunFloor(t *testing.T) {
	t.Parallel()
	executable, err := os.Executable()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "hub-bench-test-") // t.TempDir is closed to PostgreSQL's user
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o711))
	b := &stage.Run{
		Options:  stage.Options{Rounds: 1, Events: 2000, Connections: 16, Size: 1024},
		Dir:      dir,
		Programs: &service.Programs{Bench: executable, Dir: dir},
		Progress: io.Discard,
	}
	chosen, err := scenario.Select([]string{"floor-closed", "floor-fail10"})
	require.NoError(t, err)
	outcome := scenario.RunRounds(t.Context(), b, chosen)
	require.Empty(t, outcome.Failures)
	results := outcome.Results
	require.Len(t, results, 2)
	for _, r := range results {
		require.Equal(t, reconcile.Balance{Accepted: 2000, Expected: 2000, Delivered: 2000}, withoutMissing(r.Ledger), r.Scenario)
		require.Equal(t, map[string]int{"202": 2000}, r.Statuses)
		require.Positive(t, r.Delivered)
		for _, part := range []string{report.PartService, report.PartPostgres, report.PartGenerator, report.PartReceiver} {
			require.Positive(t, r.CPU[part], part)
			require.Positive(t, r.Peak[part], part)
		}
	}
	require.GreaterOrEqual(t, results[1].EndToEnd.P99, 1000.0, "the tenth that failed waited a second for its retry")

	file := filepath.Join(dir, "report.json")
	require.NoError(t, report.Save(file, report.Report{Results: results, Verdicts: report.Judge(report.Medians(results))}))
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, json.Valid(raw))

	left, err := filepath.Glob(filepath.Join(dir, "stage-*"))
	require.NoError(t, err)
	require.Empty(t, left, "a closed stage leaves nothing behind")
}

func withoutMissing(b reconcile.Balance) reconcile.Balance {
	b.Missing = nil
	return b
}
