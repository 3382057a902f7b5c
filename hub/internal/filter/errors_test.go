package filter

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// What cannot be stored is kept and counted together with what comes later. A count of an
// earlier filter is dropped.
func TestErrorsAreKept(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(context.Background(), "postgres://127.0.0.1:1/none") // nothing listens there
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	var log bytes.Buffer
	counted := NewErrors(pool, slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { now = now.Add(time.Second); return now })
	require.NoError(t, counted.store(t.Context()), "there is nothing to store")
	failing, quiet := uuid.New(), uuid.New()
	first, second := New("true"), New("false")
	count := func(endpoint uuid.UUID, f *Filter, text string) { counted.Count(endpoint, f, errors.New(text)) }
	count(failing, first, "a")
	count(failing, first, "b")
	count(quiet, first, "a")
	taken := counted.counts
	require.Equal(t, errorCount{filter: "true", count: 2, last: "b", at: now.Add(-time.Second)}, *taken[failing])
	require.ErrorContains(t, counted.store(t.Context()), "storing the errors of filters")
	require.Equal(t, taken, counted.counts, "nothing is lost")

	count(quiet, first, "b")
	require.EqualValues(t, 2, counted.counts[quiet].count)
	count(failing, second, "c")
	require.Equal(t, errorCount{filter: "false", count: 1, last: "c", at: now}, *counted.counts[failing], "a new filter begins at one")

	stopped, stop := context.WithCancel(t.Context())
	stop()
	counted.Run(stopped)
	require.Contains(t, log.String(), "the last ones are not counted")
	log.Reset()
	counted.counts = nil
	counted.Run(stopped)
	require.Empty(t, log.String(), "there is nothing to store")
}
