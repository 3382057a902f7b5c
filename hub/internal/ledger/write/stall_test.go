package write_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger/ledgertest"
	"integrationhub/hub/internal/ledger/write"
)

// While the database is away, and until everything is stored that was recorded meanwhile, the
// sweep waits: it would find these deliveries due once their leases have ended.
func TestSweepWaitsForTheWriter(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	w, warned := newWarningWriter(pool)
	w.AwaitStored(t.Context()) // nothing waits
	const count = 3000         // more than two batches
	c := ledgertest.NewCommit(t, pool, count)
	returnStatistics := takeStatisticsAway(t, pool)
	for n := range count {
		w.Record(c.Attempt(n, delivery.Delivered))
	}
	<-warned
	stored := awaited(t.Context(), w)
	returnStatistics()
	<-stored
	require.Equal(t, count, c.Count(t, `hub.deliveries where status = 1`))
	w.Close()
}

// What is waited for may be the attempt of a locked order, with which nothing else is stored.
func TestSweepWaitsForDeferredAttempts(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	w, warned := newWarningWriter(pool)
	o := newOrder(t, pool, 1)
	holder := o.lock()
	w.Record(o.delivered(0))
	<-warned // it is deferred
	returnStatistics := takeStatisticsAway(t, pool)
	require.NoError(t, holder.Rollback(t.Context()))
	<-warned
	stored := awaited(t.Context(), w)
	returnStatistics()
	<-stored
	o.requireStatus(0, delivery.Delivered)
	w.Close()
}

// The database may be away without refusing anything: the writer waits for it, and so does the
// sweep.
func TestSweepWaitsForASlowDatabase(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	w := newWriter(pool)
	c := ledgertest.NewCommit(t, pool, 1)
	holder, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = holder.Exec(t.Context(), `lock table hub.rollup_deltas in access exclusive mode`)
	require.NoError(t, err)
	w.Record(c.Attempt(0, delivery.Delivered))
	var stored <-chan struct{}
	require.Eventually(t, func() bool {
		stored = awaited(t.Context(), w)
		select {
		case <-stored:
			return false
		case <-time.After(time.Second):
			return true
		}
	}, 12*time.Second, time.Millisecond) // a flush that waits for the lock takes 15 s
	require.NoError(t, holder.Rollback(t.Context()))
	<-stored
	w.Close()
	require.Equal(t, 1, c.Count(t, `hub.deliveries where status = 1`))
}

// Several attempts of a delivery may be stored at once, as when an order was locked for longer
// than the lease: each change of a row is counted.
func TestRepeatedAttemptsOfABatch(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	w, warned := newWarningWriter(pool)
	o := newOrder(t, pool, 1)
	holder := o.lock()
	for range 3 {
		w.Record(o.delivered(0))
	}
	<-warned
	require.NoError(t, holder.Rollback(t.Context()))
	o.awaitDelivered(0)
	w.Close()
	var delivered, attempts int
	require.NoError(t, pool.QueryRow(t.Context(), `select sum(delivered), sum(attempts) from hub.rollup_deltas`).Scan(&delivered, &attempts))
	require.Equal(t, []int{1, 3}, []int{delivered, attempts})
}

// newWarningWriter returns a writer, and a channel that gets a value for each of its warnings.
func newWarningWriter(pool *pgxpool.Pool) (*write.Writer, <-chan struct{}) {
	warned := make(warnings, 100)
	return write.NewWriter(pool, slog.New(slog.NewTextHandler(warned, &slog.HandlerOptions{Level: slog.LevelWarn})), time.Now, nil), warned
}

// warnings is where a log is written: it counts the lines.
type warnings chan struct{}

func (w warnings) Write(line []byte) (int, error) {
	w <- struct{}{}
	return len(line), nil
}

// takeStatisticsAway makes PostgreSQL refuse statistics, as if it were starting, until the
// function that it returns is called.
func takeStatisticsAway(t *testing.T, pool *pgxpool.Pool) (end func()) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `
		create function hub.be_away() returns trigger language plpgsql as $$ begin raise exception using errcode = 'cannot_connect_now'; end $$;
		create trigger away before insert on hub.rollup_deltas execute function hub.be_away()`)
	require.NoError(t, err)
	return func() {
		_, err = pool.Exec(t.Context(), `drop trigger away on hub.rollup_deltas`)
		require.NoError(t, err)
	}
}

// awaited returns a channel that is closed when AwaitStored returns.
func awaited(ctx context.Context, w *write.Writer) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.AwaitStored(ctx)
	}()
	return ended
}
