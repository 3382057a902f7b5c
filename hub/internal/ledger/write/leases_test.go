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

func newWriter(pool *pgxpool.Pool) *write.Writer {
	return write.NewWriter(pool, slog.New(slog.DiscardHandler), time.Now, nil)
}

// What is settled gets its row and its attempt; the lease ends with the last of them.
func TestLeaseEndsWithItsLastDelivery(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	c := ledgertest.NewCommit(t, pool, 3)
	w := newWriter(pool)
	w.TrackLease(c.Lease)
	w.Record(c.Attempt(0, delivery.Delivered))
	w.Record(c.Attempt(1, delivery.Pending))
	require.Eventually(t, func() bool { return c.Count(t, `hub.deliveries`) == 2 }, time.Minute, time.Millisecond)
	require.Equal(t, 1, c.Count(t, `hub.leases`), "the third has no row yet")
	w.Record(c.Attempt(2, delivery.Parked))
	w.Close()
	require.Zero(t, c.Count(t, `hub.leases`))
	require.Equal(t, 1, c.Count(t, `hub.deliveries where status = 1 and started_at is not null and attempts = 1 and due_at is null`))
	require.Equal(t, 1, c.Count(t, `hub.deliveries where status = 0 and attempts = 1 and next_attempt_at > now()`))
	require.Equal(t, 1, c.Count(t, `hub.deliveries where status = 2 and attempts = 1`))
	require.Equal(t, 3, c.Count(t, `hub.deliveries where event_id = 7 and correlation_id = 'story' and environment = 'test' and product = 'shop'
		and created_at between now() - interval '1 minute' and now()`))
	require.Equal(t, 2, c.Count(t, `hub.attempts where error = 'timed out'`), "the first needs no row of its own")
	detail, err := query.NewReader(pool).Get(t.Context(), c.Jobs[0].ID, query.Owner{})
	require.NoError(t, err)
	require.Len(t, detail.Attempts, 1)
	require.Equal(t, "ok", *detail.Attempts[0].ResponseBody)
	require.Equal(t, "ok", *detail.ResponseBody)
}

// A delivery that is not settled soon is seen in the log, leased as before.
func TestWaitingDeliveriesGetRows(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	c := ledgertest.NewCommit(t, pool, 2)
	w := newWriter(pool)
	w.TrackLease(c.Lease)
	require.Eventually(t, func() bool {
		return c.Count(t, `hub.deliveries where status = 0 and due_at between now() + interval '20 s' and now() + interval '30 s'`) == 2
	}, time.Minute, time.Millisecond)
	require.Equal(t, 1, c.Count(t, `hub.deliveries where integration`))
	require.Zero(t, c.Count(t, `hub.leases`))
	w.Record(c.Attempt(0, delivery.Delivered))
	w.Record(c.Attempt(1, delivery.Pending))
	w.Close()
	require.Equal(t, 1, c.Count(t, `hub.deliveries where status = 1 and attempts = 1 and started_at is not null`))
	require.Equal(t, 1, c.Count(t, `hub.deliveries where status = 0 and attempts = 1`))
}

// A reader, or a process that takes over, stores the rows before the writer does:
// what came of the attempts is stored all the same, once.
func TestWriterFindsRowsOfOthers(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	c, other := ledgertest.NewCommit(t, pool, 4), ledgertest.NewCommit(t, pool, 1)
	w := newWriter(pool)
	w.TrackLease(c.Lease)
	w.TrackLease(other.Lease)
	_, err := pool.Exec(t.Context(), `select hub.unfold_leases(array[$1]::uuid[])`, c.Lease.ID)
	require.NoError(t, err)
	// Another process was faster with the last one.
	_, err = pool.Exec(t.Context(), `update hub.deliveries set status = 1, attempts = 1, started_at = now() where id = $1`, c.Jobs[3].ID)
	require.NoError(t, err)
	for n, status := range []delivery.Status{delivery.Delivered, delivery.Pending, delivery.Delivered, delivery.Parked} {
		w.Record(c.Attempt(n, status))
	}
	w.Record(other.Attempt(0, delivery.Delivered))
	w.Close()
	require.Equal(t, 4, c.Count(t, `hub.deliveries where status = 1 and attempts = 1`))
	require.Equal(t, 1, c.Count(t, `hub.deliveries where status = 0 and attempts = 1`))
	require.Equal(t, 2, c.Count(t, `hub.attempts`))
	require.Zero(t, c.Count(t, `hub.leases`))
	require.Equal(t, 1, c.Count(t, `(select from hub.rollup_deltas having sum(attempts) = 5 and sum(delivered) = 3 and sum(parked) = 0) d`),
		"the last one was counted by the other process")
}

// The answer of a commit is lost: the writer tries again, finds its own rows, and
// counts nothing twice.
func TestWriterKnowsItsOwnRows(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]delivery.Status{"delivered": delivery.Delivered, "failed": delivery.Pending} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := hubtest.Database(t)
			c := ledgertest.NewCommit(t, pool, 1)
			a := c.Attempt(0, status)
			for range 2 {
				again := *c.Lease // as it was before the first try
				a.CommitLease = &again
				w := newWriter(pool)
				w.TrackLease(&again)
				w.Record(a)
				w.Close()
			}
			require.Equal(t, 1, c.Count(t, `hub.deliveries where attempts = 1`))
			require.Equal(t, 1, c.Count(t, `(select from hub.rollup_deltas having sum(attempts) = 1) d`))
		})
	}
}

// While the database was away the leases ended: what another process has settled since is
// counted once, whoever stores its attempt first. What a commit had whose response was lost is
// counted once, too.
func TestLateAttemptsAreCountedOnce(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	c := ledgertest.NewCommit(t, pool, 4)
	_, err := pool.Exec(t.Context(), `select hub.unfold_leases(array[$1]::uuid[])`, c.Lease.ID)
	require.NoError(t, err)
	c.Lease.Materialized = true
	again := func(a delivery.AttemptResult, status delivery.Status) delivery.AttemptResult {
		a.StartedAt, a.Decision.Status = a.StartedAt.Add(delivery.LeaseDuration), status
		return a
	}
	delivered, parked, failed, other := c.Attempt(0, delivery.Delivered), c.Attempt(1, delivery.Parked), c.Attempt(2, delivery.Failed), c.Attempt(3, delivery.Delivered)
	for _, a := range []delivery.AttemptResult{
		delivered, again(delivered, delivery.Delivered), parked, again(parked, delivery.Failed), failed, again(failed, delivery.Parked), other, other,
	} {
		w := newWriter(pool)
		w.Record(a)
		w.Close()
	}
	require.Equal(t, 4, c.Count(t, `hub.deliveries where status > 0 and attempts = 1`))
	require.Equal(t, 1, c.Count(t, `(select from hub.rollup_deltas having sum(delivered) = 2 and sum(parked) = 1 and sum(failed) = 1 and sum(attempts) = 7) d`))
}
