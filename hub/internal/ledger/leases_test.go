package ledger_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/logid"
)

// commit is one event with so many deliveries that a process took on, as the outbox
// leaves them: no rows, and a lease that stands for them.
type commit struct {
	pool   *pgxpool.Pool
	leased *delivery.Leased
	jobs   []delivery.Job
}

func newCommit(t *testing.T, pool *pgxpool.Pool, deliveries int) *commit {
	t.Helper()
	now := time.Now()
	event := &delivery.Event{
		Seq: logid.NewSeq(now), ID: hub.FormatEventID(7), Bits: 7, TenantID: uuid.New(), Environment: "test",
		Product: "shop", Type: "a.b", Correlation: "story", Body: []byte("{}"),
	}
	c := &commit{pool: pool, leased: &delivery.Leased{ID: logid.New(now), TakenAt: now, Open: deliveries}}
	var promised []byte
	for n := range deliveries {
		job := delivery.Job{ID: logid.Delivery(event.Seq, n+1), Target: uuid.New(), Event: event, Leased: c.leased}
		c.jobs = append(c.jobs, job)
		promised = append(append(append(promised, job.ID[:]...), job.Target[:]...), byte(n%2))
	}
	_, err := pool.Exec(t.Context(), `
		insert into hub.events (seq, id, tenant_id, environment, product, event_type, correlation_id, deliveries, body)
		values ($1, 7, $2, 'test', 'shop', 'a.b', 'story', $3, '{}')`, event.Seq, event.TenantID, deliveries)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `insert into hub.leases (id, deliveries) values ($1, $2)`, c.leased.ID, promised)
	require.NoError(t, err)
	return c
}

// attempt is what came of the n-th delivery.
func (c *commit) attempt(n int, status delivery.Status) delivery.Attempt {
	a := delivery.Attempt{
		Job: c.jobs[n], Made: true, StartedAt: time.Now(), Code: 200, Header: []byte("A: b"), Body: []byte("ok"),
		Verdict: delivery.Verdict{Status: status, Spent: 1},
	}
	if status != delivery.Delivered {
		a.Code, a.Verdict.Wait, a.Error = 0, time.Second, "timed out"
	}
	return a
}

func (c *commit) count(t *testing.T, query string) (n int) {
	t.Helper()
	require.NoError(t, c.pool.QueryRow(t.Context(), `select count(*) from `+query).Scan(&n))
	return n
}

func newWriter(pool *pgxpool.Pool) *ledger.Writer {
	return ledger.NewWriter(pool, slog.New(slog.DiscardHandler), time.Now, nil)
}

// What is settled gets its row and its attempt; the lease ends with the last of them.
func TestLeaseEndsWithItsLastDelivery(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	c := newCommit(t, pool, 3)
	w := newWriter(pool)
	w.Took(c.leased)
	w.Record(c.attempt(0, delivery.Delivered))
	w.Record(c.attempt(1, delivery.Pending))
	require.Eventually(t, func() bool { return c.count(t, `hub.deliveries`) == 2 }, 10*time.Second, time.Millisecond)
	require.Equal(t, 1, c.count(t, `hub.leases`), "the third has no row yet")
	w.Record(c.attempt(2, delivery.Parked))
	w.Close()
	require.Zero(t, c.count(t, `hub.leases`))
	require.Equal(t, 1, c.count(t, `hub.deliveries where status = 1 and started_at is not null and attempts = 1 and due_at is null`))
	require.Equal(t, 1, c.count(t, `hub.deliveries where status = 0 and attempts = 1 and next_attempt_at > now()`))
	require.Equal(t, 1, c.count(t, `hub.deliveries where status = 2 and attempts = 1`))
	require.Equal(t, 3, c.count(t, `hub.deliveries where event_id = 7 and correlation_id = 'story' and environment = 'test' and product = 'shop'
		and created_at between now() - interval '1 minute' and now()`))
	require.Equal(t, 2, c.count(t, `hub.attempts where error = 'timed out'`), "the first needs no row of its own")
	detail, err := ledger.NewReader(pool).Get(t.Context(), c.jobs[0].ID)
	require.NoError(t, err)
	require.Len(t, detail.Attempts, 1)
	require.Equal(t, "ok", *detail.Attempts[0].ResponseBody)
	require.Equal(t, "ok", *detail.ResponseBody)
}

// A delivery that is not settled soon is seen in the log, leased as before.
func TestWaitingDeliveriesGetRows(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	c := newCommit(t, pool, 2)
	w := newWriter(pool)
	w.Took(c.leased)
	require.Eventually(t, func() bool {
		return c.count(t, `hub.deliveries where status = 0 and due_at between now() + interval '20 s' and now() + interval '30 s'`) == 2
	}, 10*time.Second, time.Millisecond)
	require.Equal(t, 1, c.count(t, `hub.deliveries where integration`))
	require.Zero(t, c.count(t, `hub.leases`))
	w.Record(c.attempt(0, delivery.Delivered))
	w.Record(c.attempt(1, delivery.Pending))
	w.Close()
	require.Equal(t, 1, c.count(t, `hub.deliveries where status = 1 and attempts = 1 and started_at is not null`))
	require.Equal(t, 1, c.count(t, `hub.deliveries where status = 0 and attempts = 1`))
}

// A reader, or a process that takes over, gives the rows before the writer does:
// what came of the attempts is stored all the same, once.
func TestWriterFindsRowsOfOthers(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	c, other := newCommit(t, pool, 4), newCommit(t, pool, 1)
	w := newWriter(pool)
	w.Took(c.leased)
	w.Took(other.leased)
	_, err := pool.Exec(t.Context(), `select hub.unfold_leases(array[$1]::uuid[])`, c.leased.ID)
	require.NoError(t, err)
	// Another process was faster with the last one.
	_, err = pool.Exec(t.Context(), `update hub.deliveries set status = 1, attempts = 1, started_at = now() where id = $1`, c.jobs[3].ID)
	require.NoError(t, err)
	for n, status := range []delivery.Status{delivery.Delivered, delivery.Pending, delivery.Delivered, delivery.Parked} {
		w.Record(c.attempt(n, status))
	}
	w.Record(other.attempt(0, delivery.Delivered))
	w.Close()
	require.Equal(t, 4, c.count(t, `hub.deliveries where status = 1 and attempts = 1`))
	require.Equal(t, 1, c.count(t, `hub.deliveries where status = 0 and attempts = 1`))
	require.Equal(t, 2, c.count(t, `hub.attempts`))
	require.Zero(t, c.count(t, `hub.leases`))
	require.Equal(t, 1, c.count(t, `(select from hub.rollup_deltas having sum(attempts) = 5 and sum(delivered) = 3) d`), "counted once")
}

// Writers make rows in the order of the attempts: a reader who wants the same rows, and
// waits in a circle with one, goes again instead of failing.
func TestReaderGivesWayToWriters(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	c := newCommit(t, pool, 2)
	writer, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = writer.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = writer.Exec(t.Context(), `set local deadlock_timeout = '5min'`)
	require.NoError(t, err)
	store := func(n int) {
		_, err := writer.Exec(t.Context(), `
			insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, created_at, round_at, status, reason)
			values ($1, 7, $2, $3, 'test', 'shop', 'a.b', now(), now(), 2, 'endpoint_disabled')`, c.jobs[n].ID, c.jobs[n].Event.TenantID, c.jobs[n].Target)
		require.NoError(t, err)
	}
	store(1)
	read := make(chan error, 1)
	go func() {
		_, err := ledger.NewReader(pool).Get(t.Context(), c.jobs[0].ID)
		read <- err
	}()
	require.Eventually(t, func() bool {
		return c.count(t, `pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%hub.unfold_leases%'`) == 1
	}, 30*time.Second, time.Millisecond)
	store(0)
	require.NoError(t, writer.Commit(t.Context()))
	require.NoError(t, <-read)
	require.Equal(t, 2, c.count(t, `hub.deliveries where status = 2`))
	require.Zero(t, c.count(t, `hub.leases`))
}

// The answer of a commit is lost: the writer tries again, finds its own rows, and
// counts nothing twice.
func TestWriterKnowsItsOwnRows(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]delivery.Status{"delivered": delivery.Delivered, "failed": delivery.Pending} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := hubtest.Database(t)
			c := newCommit(t, pool, 1)
			a := c.attempt(0, status)
			for range 2 {
				again := *c.leased // as it was before the first try
				a.Leased = &again
				w := newWriter(pool)
				w.Took(&again)
				w.Record(a)
				w.Close()
			}
			require.Equal(t, 1, c.count(t, `hub.deliveries where attempts = 1`))
			require.Equal(t, 1, c.count(t, `(select from hub.rollup_deltas having sum(attempts) = 1) d`))
		})
	}
}

// Who reads right after an attempt sees what came of it.
func TestReaderWaitsForTheWriter(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	w := newWriter(pool)
	r := ledger.NewReader(pool).Behind(w)
	for range 20 {
		c := newCommit(t, pool, 1)
		w.Took(c.leased)
		w.Record(c.attempt(0, delivery.Delivered))
		items, err := r.List(t.Context(), ledger.Filter{}, nil, 1)
		require.NoError(t, err)
		require.Equal(t, c.jobs[0].ID, items[0].ID)
		require.Equal(t, "delivered", items[0].Status)
	}
	w.Close()
	_, err := r.List(t.Context(), ledger.Filter{}, nil, 1)
	require.NoError(t, err, "a writer that has ended is not waited for")
}
