package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
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
	b := &bench{
		options:    runOptions{rounds: 1, events: 2000, connections: 16, size: 1024, dir: dir},
		dir:        dir,
		executable: executable,
		notes:      io.Discard,
	}
	chosen, err := choose([]string{"floor-closed", "floor-fail10"})
	require.NoError(t, err)
	results, failures := b.runAll(t.Context(), chosen)
	require.Empty(t, failures)
	require.Len(t, results, 2)
	for _, r := range results {
		require.Equal(t, Balance{Accepted: 2000, Expected: 2000, Delivered: 2000}, withoutMissing(r.Ledger), r.Scenario)
		require.Equal(t, map[string]int{"202": 2000}, r.Statuses)
		require.Positive(t, r.Delivered)
		for _, part := range []string{partService, partPostgres, partGenerator, partReceiver} {
			require.Positive(t, r.CPU[part], part)
			require.Positive(t, r.Peak[part], part)
		}
	}
	require.GreaterOrEqual(t, results[1].EndToEnd.P99, 1000.0, "the tenth that failed waited a second for its retry")

	file := filepath.Join(dir, "report.json")
	require.NoError(t, writeReport(file, Report{Results: results, Verdicts: judge(medians(results))}))
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, json.Valid(raw))

	left, err := filepath.Glob(filepath.Join(dir, "stage-*"))
	require.NoError(t, err)
	require.Empty(t, left, "a closed stage leaves nothing behind")
}

func withoutMissing(b Balance) Balance {
	b.missing = nil
	return b
}

// The hub runs in a directory of its own, where a path from here would lead elsewhere.
func TestGivenHubIsFoundFromAnywhere(t *testing.T) {
	t.Parallel()
	b := &bench{options: runOptions{hubBinary: "./bin/hub"}}
	path, err := b.buildHub(t.Context())
	require.NoError(t, err)
	here, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(here, "bin", "hub"), path)
}
