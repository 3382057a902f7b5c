package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
)

func TestSelect(t *testing.T) {
	t.Parallel()
	all, err := Select(nil)
	require.NoError(t, err)
	require.Len(t, all, len(All))
	floors, err := Select([]string{"floor-*", "gateway-idle"})
	require.NoError(t, err)
	require.Len(t, floors, 4)
	_, err = Select([]string{"nothing"})
	require.Error(t, err)
}

// Everything but the floor has something to compare.
func TestScenariosAreCompared(t *testing.T) {
	t.Parallel()
	for _, scenario := range All {
		require.NotEqual(t, strings.HasPrefix(scenario.Name, "floor-"), report.Compares(scenario.Name), scenario.Name)
	}
}

// recorder makes scenarios that note the order in which they run.
type recorder struct {
	run  *stage.Run
	runs []string
}

func (r *recorder) scenario(name string, once bool, fail func(before bool) error) Scenario {
	return Scenario{name, "", once, func(_ context.Context, run *stage.Run) (*report.Result, error) {
		version := "now"
		if run.Programs == r.run.Before {
			version = "before"
		}
		r.runs = append(r.runs, name+" "+version)
		if err := fail(version == "before"); err != nil {
			return nil, err
		}
		return &report.Result{}, nil
	}}
}

func succeed(bool) error { return nil }

// The version before and this one take turns; what is compared runs in every round.
func TestVersionsAlternate(t *testing.T) {
	t.Parallel()
	var progress strings.Builder
	r := &recorder{run: &stage.Run{Options: stage.Options{Rounds: 2}, Programs: &service.Programs{}, Before: &service.Programs{}, Progress: &progress}}
	lacking := func(before bool) error {
		if before {
			return fmt.Errorf("setting up: %w", hubapi.ErrNotUnderstood)
		}
		return nil
	}
	outcome := RunRounds(t.Context(), r.run, []Scenario{
		r.scenario("floor-closed", true, succeed), r.scenario("gateway-closed", false, succeed), r.scenario("gateway-rate", true, succeed),
		r.scenario("gateway-filters", false, lacking), r.scenario("gateway-link", true, lacking),
	})
	require.Empty(t, outcome.Failures)
	require.Equal(t, []string{
		"floor-closed now", "gateway-closed before", "gateway-closed now", "gateway-rate before", "gateway-rate now",
		"gateway-filters before", "gateway-filters now", "gateway-link before", "gateway-link now",
		"gateway-closed now", "gateway-closed before", "gateway-rate now", "gateway-rate before", "gateway-filters now",
	}, r.runs)
	require.Equal(t, []report.LeftOut{
		{Scenario: "gateway-filters", Reason: "setting up: " + hubapi.ErrNotUnderstood.Error()},
		{Scenario: "gateway-link", Reason: "setting up: " + hubapi.ErrNotUnderstood.Error()},
	}, outcome.LeftOut)
	require.Contains(t, progress.String(), "gateway-filters is left out of the comparison: setting up")
	labels := make([]string, len(outcome.Results))
	for i, result := range outcome.Results {
		labels[i] = fmt.Sprintf("%s %d %t", result.Scenario, result.Round, result.Before)
	}
	require.Equal(t, []string{
		"floor-closed 1 false", "gateway-closed 1 true", "gateway-closed 1 false", "gateway-rate 1 true", "gateway-rate 1 false", "gateway-filters 1 false",
		"gateway-link 1 false", "gateway-closed 2 false", "gateway-closed 2 true", "gateway-rate 2 false", "gateway-rate 2 true", "gateway-filters 2 false",
	}, labels)
}

// Only what the version before lacks is left out. Its other failures are failures, and so is what
// this version lacks.
func TestFailuresAreNotLeftOut(t *testing.T) {
	t.Parallel()
	r := &recorder{run: &stage.Run{Options: stage.Options{Rounds: 1}, Programs: &service.Programs{}, Before: &service.Programs{}, Progress: &strings.Builder{}}}
	failure, missing := errors.New("it broke"), &pgconn.PgError{Code: "42703"}
	outcome := RunRounds(t.Context(), r.run, []Scenario{
		r.scenario("gateway-closed", false, func(before bool) error {
			if before {
				return failure
			}
			return nil
		}),
		r.scenario("gateway-log", true, func(bool) error { return missing }),
	})
	require.Len(t, outcome.Failures, 2)
	require.ErrorIs(t, outcome.Failures[0], failure)
	require.ErrorContains(t, outcome.Failures[0], "gateway-closed (before)")
	require.ErrorIs(t, outcome.Failures[1], missing)
	require.Equal(t, []report.LeftOut{{Scenario: "gateway-log", Reason: missing.Error()}}, outcome.LeftOut)
}
