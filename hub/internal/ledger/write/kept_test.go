package write_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger/ledgertest"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/ledger/write"
)

// keptAttempt returns a first attempt that failed and keeps the lease of its commit. Its retry is
// due after wait.
func keptAttempt(c *ledgertest.Commit, n int, wait time.Duration) delivery.AttemptResult {
	a := c.Attempt(n, delivery.Pending)
	a.StatusCode, a.Error, a.KeepsLease, a.Decision.Wait = 500, "", true, wait
	a.Phases.Total = 42 * time.Millisecond
	return a
}

// retryOf returns the second attempt of a delivery whose lease was kept.
func retryOf(c *ledgertest.Commit, n int, status delivery.Status) delivery.AttemptResult {
	a := c.Attempt(n, status)
	a.PriorAttempts, a.CountedAttempts, a.Decision.CountedAttempts = 1, 1, 2
	a.Previous = &delivery.PreviousAttempt{StatusCode: 500, Duration: 42 * time.Millisecond}
	return a
}

// unfold inserts the rows of all deliveries that leases cover, as a reader does.
func unfold(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `select hub.unfold_leases(array(select id from hub.leases))`)
	require.NoError(t, err)
}

// A kept delivery gets one row, with its second attempt; the lease covers it until then.
func TestKeptDeliveryGetsItsRowWithTheRetry(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	c := ledgertest.NewCommit(t, pool, 4)
	w := newWriter(pool)
	w.TrackLease(c.Lease)
	w.Record(c.Attempt(0, delivery.Delivered))
	for n := 1; n < 4; n++ {
		w.Record(keptAttempt(c, n, time.Second))
	}
	require.Eventually(t, func() bool { return c.Count(t, `hub.attempts`) == 3 }, time.Minute, time.Millisecond)
	require.Equal(t, 1, c.Count(t, `hub.deliveries`))
	require.Equal(t, 1, c.Count(t, `hub.leases where has_attempts`))
	require.Equal(t, 3, c.Count(t, `hub.attempts where number = 1 and counted_attempts = 1 and next_attempt_at > started_at + interval '900 ms'`))
	w.Record(retryOf(c, 1, delivery.Delivered))
	w.Record(retryOf(c, 2, delivery.Pending))
	require.Eventually(t, func() bool { return c.Count(t, `hub.deliveries where attempts = 2`) == 2 }, time.Minute, time.Millisecond)
	unfold(t, pool)
	require.Equal(t, 2, c.Count(t, `hub.deliveries where attempts = 2`), "their second attempts count")
	unsent := retryOf(c, 3, delivery.Parked)
	unsent.Sent, unsent.StatusCode, unsent.Decision.CountedAttempts = false, 0, 1
	w.Record(unsent)
	w.Close()
	require.Zero(t, c.Count(t, `hub.leases`))
	require.Equal(t, 1, c.Count(t, `hub.deliveries where status = 1 and attempts = 2 and spent = 2 and status_code = 200 and finished_at is not null and started_at is null`))
	require.Equal(t, 1, c.Count(t, `hub.deliveries where status = 0 and attempts = 2 and next_attempt_at > now() and round_at = created_at`))
	require.Equal(t, 1, c.Count(t, `hub.deliveries where status = 2 and attempts = 1 and status_code = 500 and duration_ms = 42`), "not sent: the first attempt is the last")
	require.Equal(t, 5, c.Count(t, `hub.attempts`))
	require.Equal(t, 2, c.Count(t, `hub.attempts where number = 2 and counted_attempts is null and next_attempt_at is null`))
	detail, err := query.NewReader(pool).Get(t.Context(), c.Jobs[1].ID, query.Owner{})
	require.NoError(t, err)
	require.Len(t, detail.Attempts, 2)
	require.Equal(t, 1, c.Count(t, `(select from hub.rollup_deltas having sum(attempts) = 6 and sum(delivered) = 2 and sum(parked) = 1 and sum(errors) = 4) d`))
}

// Who reads before the retry sees the first attempt, and a delivery that others may claim or
// discard. Once the retry is due, the delivery belongs to the process until the lease ends.
func TestReaderSeesKeptDelivery(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wait  time.Duration
		state string
	}{
		"not due": {time.Minute, `next_attempt_at = (select next_attempt_at from hub.attempts) and due_at = next_attempt_at + interval '2 s'`},
		"due":     {0, `next_attempt_at is null and due_at between now() + interval '20 s' and now() + interval '30 s'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := hubtest.Database(t)
			c := ledgertest.NewCommit(t, pool, 2)
			w := newWriter(pool)
			w.TrackLease(c.Lease)
			w.Record(keptAttempt(c, 0, test.wait))
			require.Eventually(t, func() bool { return c.Count(t, `hub.attempts`) == 1 }, time.Minute, time.Millisecond)
			unfold(t, pool)
			require.Equal(t, 1, c.Count(t, `hub.deliveries where id = '`+c.Jobs[0].ID.String()+`'
				and status = 0 and attempts = 1 and spent = 1 and status_code = 500 and duration_ms = 42 and `+test.state))
			require.Equal(t, 1, c.Count(t, `hub.deliveries where status = 0 and attempts = 0 and status_code is null and next_attempt_at is null`), "the other was not attempted")
			w.Record(retryOf(c, 0, delivery.Delivered))
			w.Close()
			require.Equal(t, 1, c.Count(t, `hub.deliveries where status = 1 and attempts = 2 and spent = 2`))
			require.Equal(t, 2, c.Count(t, `hub.attempts`))
		})
	}
}

// A reader who stores the rows first changes the writer's mind: the attempt is stored in the row,
// and the retry is scheduled as any other.
func TestKeptDeliveryHasRowBefore(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	c, other := ledgertest.NewCommit(t, pool, 1), ledgertest.NewCommit(t, pool, 1)
	kept := make(map[string]bool)
	w := write.NewWriter(pool, slog.New(slog.DiscardHandler), time.Now, func(batch []delivery.AttemptResult) {
		for i := range batch {
			kept[batch[i].ID.String()] = batch[i].IsKept()
		}
	})
	w.TrackLease(c.Lease)
	w.TrackLease(other.Lease)
	_, err := pool.Exec(t.Context(), `select hub.unfold_leases(array[$1]::uuid[])`, c.Lease.ID)
	require.NoError(t, err)
	w.Record(keptAttempt(c, 0, time.Minute))
	w.Record(keptAttempt(other, 0, time.Minute))
	require.Eventually(t, func() bool { return c.Count(t, `hub.attempts`) == 2 }, time.Minute, time.Millisecond)
	require.Equal(t, 1, c.Count(t, `hub.deliveries where attempts = 1 and spent = 1 and next_attempt_at > now()`))
	w.Close()
	require.Equal(t, map[string]bool{c.Jobs[0].ID.String(): false, other.Jobs[0].ID.String(): true}, kept)
	require.Equal(t, 2, c.Count(t, `hub.deliveries where attempts = 1 and spent = 1 and next_attempt_at > now()`), "closing inserts the rows of what waits")
	require.Zero(t, c.Count(t, `hub.leases`))
	require.Equal(t, 1, c.Count(t, `(select from hub.rollup_deltas having sum(attempts) = 2) d`), "counted once")
}

// A retry that is due while the process stops is for the next one at once.
func TestCloseReleasesDueRetries(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	c := ledgertest.NewCommit(t, pool, 2)
	w := newWriter(pool)
	w.TrackLease(c.Lease)
	w.Record(keptAttempt(c, 0, 0))
	w.Close()
	require.Equal(t, 1, c.Count(t, `hub.deliveries where status = 0 and attempts = 1 and due_at <= now()`))
	require.Equal(t, 1, c.Count(t, `hub.deliveries where status = 0 and attempts = 0 and due_at <= now()`), "not attempted")
	require.Zero(t, c.Count(t, `hub.leases`))
}

// The answer of the commit is lost: what keeps its lease is not stored twice.
func TestWriterKnowsKeptAttempts(t *testing.T) {
	t.Parallel()
	for name, isUnfolded := range map[string]bool{"lease still there": false, "rows inserted meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := hubtest.Database(t)
			c := ledgertest.NewCommit(t, pool, 1)
			a := keptAttempt(c, 0, time.Minute)
			stored := 0
			for range 2 {
				again := *c.Lease // as it was before the first try
				a.CommitLease = &again
				// The lease is not tracked: closing leaves it.
				w := write.NewWriter(pool, slog.New(slog.DiscardHandler), time.Now, func(batch []delivery.AttemptResult) { stored += len(batch) })
				w.Record(a)
				w.Close()
				if isUnfolded {
					unfold(t, pool)
				}
			}
			unfold(t, pool)
			require.Equal(t, 2, stored, "each time the retry is scheduled")
			require.Equal(t, 1, c.Count(t, `hub.attempts`))
			require.Equal(t, 1, c.Count(t, `hub.deliveries where attempts = 1`))
			require.Equal(t, 1, c.Count(t, `(select from hub.rollup_deltas having sum(attempts) = 1) d`))
		})
	}
}
