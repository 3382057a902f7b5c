package server

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// A database that does not answer is waited for, for some time; one that refuses is not.
func TestWaitingForTheDatabase(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	url := hubtest.EmptyDatabaseURL(t)
	require.NoError(t, waitForDatabase(t.Context(), url, time.Hour, log))
	require.Empty(t, said.String())

	const patience = time.Second // a busy machine needs some for the first try
	err := waitForDatabase(t.Context(), "postgres://hub:canary@127.0.0.1:1/hub", patience, log)
	require.ErrorIs(t, err, ErrNoDatabase)
	require.ErrorContains(t, err, "no response in 1s")
	require.NotContains(t, err.Error()+said.String(), "canary")
	require.Contains(t, said.String(), "waiting")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err = waitForDatabase(ended, "postgres://hub@127.0.0.1:1/hub", time.Hour, log)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrNoDatabase, "it was asked to stop")
	require.ErrorIs(t, waitForDatabase(t.Context(), "postgres://hub@127.0.0.1:1/hub?sslmode=nonsense", time.Hour, log), ErrSetting)
}

// PostgreSQL ends the sessions of transactions whose process is frozen or cut off.
func TestIdleTransactionsEnd(t *testing.T) {
	t.Parallel()
	url := hubtest.EmptyDatabaseURL(t)
	for _, settings := range []map[string]string{engineSettings, apiSettings, moduleSettings("shop")} {
		pool, err := openPool(t.Context(), url, 1, settings)
		require.NoError(t, err)
		defer pool.Close()
		var timeout string
		require.NoError(t, pool.QueryRow(t.Context(), `show idle_in_transaction_session_timeout`).Scan(&timeout))
		require.Equal(t, "5s", timeout)
	}
}

// The Redis client's lines are spaced, and none is lost without a word.
func TestRedisLogIsSpaced(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	clock := hubtest.NewClock(time.Now())
	r := &redisLog{log: slog.New(slog.NewTextHandler(&said, nil)), now: clock.Now}
	lines := func() (text string) {
		text = said.String()
		said.Reset()
		return text
	}
	r.Printf(t.Context(), "failed to dial after %d attempts", 5)
	require.Contains(t, lines(), `detail="failed to dial after 5 attempts" left_out=0`)
	for range 100 {
		r.Printf(t.Context(), "again")
	}
	require.Empty(t, lines())
	clock.Advance(redisLogEvery)
	r.Printf(t.Context(), "and later")
	require.Contains(t, lines(), `detail="and later" left_out=100`)
}

// Times from the database are in UTC, so that APIs show them with Z in every zone of the process.
func TestTimesAreUTC(t *testing.T) {
	t.Parallel()
	pool, err := openPool(t.Context(), hubtest.EmptyDatabaseURL(t), 1, nil)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	var at time.Time
	var optional *time.Time
	var list []time.Time
	require.NoError(t, pool.QueryRow(t.Context(), `select now(), now(), array[now()]`).Scan(&at, &optional, &list))
	require.Equal(t, []*time.Location{time.UTC, time.UTC, time.UTC}, []*time.Location{at.Location(), optional.Location(), list[0].Location()})
}
