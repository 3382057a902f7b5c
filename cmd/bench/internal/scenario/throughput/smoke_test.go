package throughput

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
	"integrationhub/hub/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// openStage opens a stage with the hub that hosts the product notes, for a whole test.
func openStage(t *testing.T, endpoints int) (*stage.Stage, *service.Gateway) {
	t.Helper()
	bench, err := hubtest.BuildProgram("bench", "integrationhub/cmd/bench")
	require.NoError(t, err)
	notes, err := hubtest.BuildProgram("hubnotes-failpoint", "integrationhub/hub/hubtest/notes/hubnotes", "-tags", "failpoint") // as other tests build it
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "hub-bench-test-") // t.TempDir is closed to PostgreSQL's user
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o711))
	run := &stage.Run{
		Options: stage.Options{Connections: 8, Size: 1024}, Dir: dir, Progress: io.Discard,
		Programs: &service.Programs{Bench: bench, NotesBinary: notes},
	}
	gateway := newNotesGateway(run)
	st, err := stage.Open(t.Context(), run, gateway, endpoints)
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return st, gateway
}

// The scenarios of order, validation, filters and links, each with the smallest load. One hub
// serves them all: they make tenants of their own.
func TestScenariosOfOneHub(t *testing.T) {
	t.Parallel()
	const endpoints = 3
	st, gateway := openStage(t, endpoints)
	slices := sliceSizes{slices: 1, time: 100 * time.Millisecond, deliveries: 8}

	requireFigures := func(result *report.Result, err error, names ...string) {
		t.Helper()
		require.NoError(t, err)
		require.True(t, result.Ledger.Sound(), result.Ledger)
		for _, name := range names {
			require.Positive(t, result.Figures[name], name)
		}
		require.NoError(t, st.ClearRecord(t.Context()))
	}
	result, err := measureOrder(t.Context(), st, &gateway.API, slices)
	requireFigures(result, err, report.FigureUnordered, report.FigureOrdered, report.FigureOrderedManyKeys, report.FigureOrderMemory)

	result, err = measureFilters(t.Context(), st, &gateway.API, endpoints, slices)
	requireFigures(result, err, report.FigureUnfilteredCPU, report.FigureFilteredCPU, report.FigureFilteredRatio, report.FigureOneMatches)

	result, err = measureValidation(t.Context(), st, &gateway.API, slices)
	requireFigures(result, err, report.FigureUncheckedCPU, report.FigureCheckedCPU, report.FigureCheckedGroupsCPU, report.FigureCheckedGroupsPart)

	result, err = measureOrderBacklog(t.Context(), st, gateway, backlogSizes{keys: 20, eventsPerKey: 3, warmUp: 8})
	requireFigures(result, err, report.FigureBacklogIdle, report.FigureBacklogDrained)
	require.Equal(t, 60, result.Ledger.Delivered)
	require.Zero(t, result.Figures[report.FigureBacklogOutOfOrder])

	// The last one: what it publishes still waits at its end.
	result, err = measureLink(t.Context(), st, &gateway.API, linkSizes{events: 400, window: 500 * time.Millisecond, deletions: 1})
	requireFigures(result, err, report.FigureLinkRate, report.FigureLinkDeletion)
}
