package logid_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/logid"
)

// numbers returns one node number after the other.
func numbers() func(context.Context) (uint64, error) {
	next := uint64(0)
	return func(context.Context) (uint64, error) { next++; return next, nil }
}

func TestEventIDsNameTheirMoment(t *testing.T) {
	t.Parallel()
	ids := logid.NewEventIDs(numbers())
	now := time.Date(2026, 11, 20, 12, 0, 0, 345_678_901, time.UTC)
	seen := make(map[uint64]bool)
	for range 20_000 { // more than a millisecond has
		bits, at, err := ids.Next(t.Context(), now)
		require.NoError(t, err)
		require.False(t, seen[bits], "given twice")
		seen[bits] = true
		seq := logid.NewSeq(at)
		from, upto := logid.EventSpan(bits)
		require.True(t, bytes.Compare(from[:], seq[:]) <= 0 && bytes.Compare(seq[:], upto[:]) < 0)
		require.WithinDuration(t, now, at, 3*time.Millisecond)
	}
}

// A clock that goes back makes no id twice, whatever the step.
func TestEventIDsWithAClockThatGoesBack(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{time.Millisecond, 900 * time.Millisecond, time.Hour} {
		ids := logid.NewEventIDs(numbers())
		now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		seen := make(map[uint64]bool)
		for round := range 3 {
			for n := range 2000 {
				bits, at, err := ids.Next(t.Context(), now.Add(time.Duration(n)*time.Millisecond/4))
				require.NoError(t, err)
				require.False(t, seen[bits], "step %s, round %d", step, round)
				seen[bits] = true
				require.WithinDuration(t, now.Add(time.Duration(n)*time.Millisecond/4), at, 1500*time.Millisecond, "the log's times do not stay ahead")
			}
			now = now.Add(-step)
		}
	}
}

// A step back of a second takes no new number, a longer one does.
func TestStepBackTakesANewNumber(t *testing.T) {
	t.Parallel()
	taken := 0
	ids := logid.NewEventIDs(func(context.Context) (uint64, error) { taken++; return uint64(taken), nil })
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		back  time.Duration
		taken int
	}{{0, 1}, {time.Second, 1}, {time.Second + time.Millisecond, 2}} {
		_, _, err := ids.Next(t.Context(), now.Add(-c.back))
		require.NoError(t, err)
		require.Equal(t, c.taken, taken, c.back)
	}
}

func TestTwoNodesMakeDifferentIDs(t *testing.T) {
	t.Parallel()
	node := numbers()
	a, b := logid.NewEventIDs(node), logid.NewEventIDs(node)
	now := time.Now()
	seen := make(map[uint64]bool)
	for range 1000 {
		for _, ids := range []*logid.EventIDs{a, b} {
			bits, _, err := ids.Next(t.Context(), now)
			require.NoError(t, err)
			require.False(t, seen[bits])
			seen[bits] = true
		}
	}
}

func TestNoNodeNoID(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	_, _, err := logid.NewEventIDs(func(context.Context) (uint64, error) { return 0, away }).Next(t.Context(), time.Now())
	require.ErrorIs(t, err, away)
}
