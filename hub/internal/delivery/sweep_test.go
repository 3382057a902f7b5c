package delivery

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/logid"
)

// fillPending stores one pending delivery for each of n targets, over the partitions of
// some days. All are due in an hour.
func fillPending(t *testing.T, pool *pgxpool.Pool, n, days int) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `select hub.ensure_partitions((now() at time zone 'UTC')::date - $1::integer + 1, $1)`, days)
	require.NoError(t, err)
	now := time.Now().UTC()
	ids, targets := make([]uuid.UUID, n), make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = logid.Delivery(logid.NewSeq(now.AddDate(0, 0, -(i%days))), 1)
		targets[i] = uuid.New()
	}
	_, err = pool.Exec(t.Context(), `
		insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, due_at)
		select id, 1, $3, target, 'live', 'shop', 'a.b', now() + interval '1 hour' from unnest($1::uuid[], $2::uuid[]) u(id, target)`, ids, targets, uuid.New())
	require.NoError(t, err)
}

// makeDueNow makes some of the pending deliveries due.
func makeDueNow(t *testing.T, pool *pgxpool.Pool, n int) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `
		update hub.deliveries set due_at = now() where id in (select id from hub.deliveries where status = 0 order by target_id limit $1)`, n)
	require.NoError(t, err)
}

// buffersRead returns how many buffers a statement touches.
func buffersRead(t *testing.T, pool *pgxpool.Pool, statement string, args ...any) int {
	t.Helper()
	var raw []byte
	require.NoError(t, pool.QueryRow(t.Context(), `explain (analyze, buffers, format json) `+statement, args...).Scan(&raw))
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	require.NoError(t, json.Unmarshal(raw, &plans), string(raw))
	return plans[0].Plan.Hit + plans[0].Plan.Read
}

// What a sweep reads follows what is due, not how many targets wait over how many days.
func TestSweepReadsWhatIsDue(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	fillPending(t, pool, 10_000, 38)
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			_, err := pool.Exec(t.Context(), `analyze hub.deliveries`)
			require.NoError(t, err)
		}
		idle := buffersRead(t, pool, dueTargetsSQL)
		require.LessOrEqual(t, idle, 47*2, "nothing is due: little more than a look into each partition")
		makeDueNow(t, pool, 50)
		due := buffersRead(t, pool, dueTargetsSQL)
		require.LessOrEqual(t, due-idle, 50*8, "50 are due")
		_, err := pool.Exec(t.Context(), `update hub.deliveries set due_at = now() + interval '1 hour' where due_at <= now()`)
		require.NoError(t, err)
		_, err = pool.Exec(t.Context(), `vacuum hub.deliveries`)
		require.NoError(t, err)
	}
	requireClaimReadsWhatItClaims(t, pool)
}

// requireClaimReadsWhatItClaims fails the test unless claims of many targets in one
// statement read no other targets' rows: each looks once into each partition.
func requireClaimReadsWhatItClaims(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	makeDueNow(t, pool, 2*maxTargetsPerClaim)
	claim := func() int {
		var targets []uuid.UUID
		require.NoError(t, pool.QueryRow(t.Context(), `
			select array_agg(target_id) from (select target_id from hub.deliveries where status = 0 and due_at <= now() limit $1) d`, maxTargetsPerClaim).Scan(&targets))
		require.Len(t, targets, maxTargetsPerClaim)
		places := make([]int32, len(targets))
		for i := range places {
			places[i] = claimBatch / maxTargetsPerClaim
		}
		return buffersRead(t, pool, claimTargetsSQL, targets, make([]int16, len(targets)), places)
	}
	for range 2 {
		require.LessOrEqual(t, claim(), maxTargetsPerClaim*47*4)
	}
	require.Equal(t, 2*maxTargetsPerClaim, count(t, pool, `hub.deliveries where due_at between now() and now() + interval '50 seconds'`), "all are leased")
}

func count(t *testing.T, pool *pgxpool.Pool, from string) (n int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), `select count(*) from `+from).Scan(&n))
	return n
}

// marked returns how many lanes have a backlog, and clears the marks.
func (d *Dispatcher) marked() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.lanes {
		if l.backlog != 0 {
			n++
			l.backlog = 0
		}
	}
	return n
}

// The sweep finds everything that is due: at once what came due since its last scan, and
// whatever a scan could not see with the next scan of everything.
func TestSweepFindsWhatIsDue(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	fillPending(t, pool, 200, 1)
	now := time.Unix(1767323045, 0)
	d := NewDispatcher(Config{Pool: pool, Now: func() time.Time { return now }, Concurrency: 1, EndpointConcurrency: 1})
	scan := func() int {
		t.Helper()
		require.NoError(t, d.findDue(t.Context()))
		return d.marked()
	}
	require.Zero(t, scan())
	makeDueNow(t, pool, 3)
	require.Equal(t, 3, scan())
	require.Len(t, d.tenants, 1, "and knows whose they are")

	d.dueScan.completeAt = now.Add(time.Hour) // as if there were a long backlog
	_, err := pool.Exec(t.Context(), `update hub.deliveries set due_at = now() - interval '1 minute' where due_at <= now()`)
	require.NoError(t, err)
	require.Zero(t, scan(), "what was seen is not read again")
	_, err = pool.Exec(t.Context(), `update hub.deliveries set due_at = now() - interval '2 seconds' where id = (select id from hub.deliveries where due_at > now() order by id limit 1)`)
	require.NoError(t, err)
	require.Equal(t, 1, scan(), "it came due while it was being committed")
	now = now.Add(time.Hour)
	require.Equal(t, 4, scan(), "everything")

	d.dueScan.completeAt = now.Add(time.Hour)
	d.dueScan.upTo = time.Now().Add(time.Hour) // the database's clock went back
	require.Zero(t, scan())
	require.Equal(t, 4, scan(), "everything")
}

// Leases that ended while no process ran are as new to the scan as what just came due.
func TestSweepFindsLeasesThatEndedLongAgo(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	d := NewDispatcher(Config{Pool: pool, Now: time.Now, Concurrency: 1, EndpointConcurrency: 1})
	require.NoError(t, d.findDue(t.Context()))
	d.dueScan.completeAt = time.Now().Add(time.Hour)
	seq, tenant, target := logid.NewSeq(time.Now()), uuid.New(), uuid.New()
	_, err := pool.Exec(t.Context(), `
		insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body) values ($1, 7, $2, 'live', 'shop', 'a.b', 1, '{}')`, seq, tenant)
	require.NoError(t, err)
	id := logid.Delivery(seq, 1)
	_, err = pool.Exec(t.Context(), `insert into hub.leases (id, due_at, deliveries) values ($1, now() - interval '1 hour', $2)`,
		uuid.New(), append(append(append([]byte(nil), id[:]...), target[:]...), 0))
	require.NoError(t, err)
	require.NoError(t, d.sweepAll(t.Context()))
	require.Equal(t, tenant, d.lanes[target].tenant.id)
	require.Equal(t, 1, d.marked())
	require.Len(t, d.claimSignal, 1)
}

// Scans of everything take a small share of the time, however long one takes.
func TestScansOfEverythingBecomeRare(t *testing.T) {
	t.Parallel()
	now := time.Unix(1767323045, 0)
	for took, want := range map[time.Duration]time.Duration{time.Millisecond: 50 * time.Millisecond, time.Second: 50 * time.Second, time.Minute: time.Minute} {
		s := &dueScan{}
		require.Zero(t, s.since(now), "the first")
		s.done(s.since(now), now, took, now)
		if want > time.Second {
			require.Equal(t, now.Add(-scanOverlap), s.since(now.Add(want-1)))
			s.done(now, now.Add(want-1), 0, now.Add(want-1))
		}
		require.Zero(t, s.since(now.Add(want)))
	}
}
