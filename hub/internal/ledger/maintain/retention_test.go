package maintain_test

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/ledger/maintain"
)

// A day that cannot be dropped keeps nothing else: what was parked for too long expires, targets
// that are not in use stop to collect, and old rows go.
func TestRetentionGoesOnBehindADayThatFails(t *testing.T) {
	t.Parallel()
	c := newCompactTest(t, 20, 10)
	failed := 0
	clock := hubtest.NewClock(time.Now().Add(16 * day))
	m := maintain.NewMaintenance(c.pool, slog.New(slog.DiscardHandler), clock.Now, 3*day, func(_ string, n int) { failed += n })
	c.exec(`update hub.endpoints set enabled = false where id = $1`, c.target[0])
	c.exec(`insert into hub.login_failures (account_hash, ip) values ('a', 'b')`)
	c.exec(`create view a_view as select * from hub.attempts_` + c.day) // PostgreSQL drops no table that a view reads
	require.ErrorContains(t, m.EnforceRetention(t.Context()), "dropping the partitions of", "a view reads it")
	require.Equal(t, 10, failed)
	var left, abandoned int
	require.NoError(t, c.pool.QueryRow(t.Context(), `
		select (select count(*) from hub.login_failures), (select count(*) from hub.endpoints where abandoned_at is not null)`).Scan(&left, &abandoned))
	require.Equal(t, []int{0, 1}, []int{left, abandoned})
	require.Equal(t, 30, c.rows("deliveries"))
	c.exec(`drop view a_view`)
	require.NoError(t, m.EnforceRetention(t.Context()))
	require.NoError(t, c.pool.QueryRow(t.Context(), `select count(*) from pg_class where relname like '%' || $1 || '%'`, c.day).Scan(&left))
	require.Zero(t, left)
}

// A process whose clock jumps ahead ends nothing that is young by the database's clock, and
// says that one of the two is wrong.
func TestRetentionOfAProcessWhoseClockJumped(t *testing.T) {
	t.Parallel()
	d := newDrainTest(t)
	var log bytes.Buffer
	clock := hubtest.NewClock(time.Now())
	m := maintain.NewMaintenance(d.pool, slog.New(slog.NewTextHandler(&log, nil)), clock.Now, 3*day, nobody).WithAuditRetention(30 * day).BoundedByDatabase()
	d.exec(`update hub.endpoints set enabled = false where id = $1`, d.target[0])
	parked := d.park(3, d.target[0])
	d.exec(`insert into hub.login_failures (account_hash, ip) values ('a', 'b')`)
	d.exec(`insert into hub.idempotency (tenant_id, environment, key, body_hash, seq, event_id, deliveries) values ($1, 'live', 'k', '', $1, 1, 1)`, d.target[0])
	kept := func() (n int) {
		t.Helper()
		require.NoError(t, d.pool.QueryRow(t.Context(), `
			select (select count(*) from hub.deliveries where status = 2) + (select count(*) from hub.endpoints where abandoned_at is null and not enabled)
				+ (select count(*) from hub.login_failures) + (select count(*) from hub.idempotency) + (select count(*) from hub.audit_partitions())`).Scan(&n))
		return n
	}
	require.NoError(t, m.EnforceRetention(t.Context()))
	before := kept()
	require.NotContains(t, log.String(), "clock")
	clock.Advance(60 * day)
	require.NoError(t, m.EnforceRetention(t.Context()))
	require.GreaterOrEqual(t, kept(), before)
	require.Contains(t, log.String(), "this machine's clock and the database's differ")
	var isReady bool
	require.NoError(t, d.pool.QueryRow(t.Context(), `select to_regclass('hub.events_p' || to_char($1::timestamptz at time zone 'UTC', 'YYYYMMDD')) is not null`, clock.Now()).Scan(&isReady))
	require.True(t, isReady, "the ids of this process have its time")

	// What is old by both goes, and a clock that is behind decides too.
	d.exec(`update hub.login_failures set at = at - interval '70 minutes'`)
	clock.Advance(-60*day - 30*time.Minute)
	log.Reset()
	require.NoError(t, m.EnforceRetention(t.Context()))
	require.GreaterOrEqual(t, kept(), before)
	require.NotContains(t, log.String(), "clock")
	clock.Advance(30 * time.Minute)
	require.NoError(t, m.EnforceRetention(t.Context()))
	require.NotEmpty(t, parked)
	var failures int
	require.NoError(t, d.pool.QueryRow(t.Context(), `select count(*) from hub.login_failures`).Scan(&failures))
	require.Zero(t, failures)
}

// A deletion event stays in the log until what is about the person is erased, whoever gets it.
// The rest of its day goes.
func TestRetentionKeepsTheEventsOfErasures(t *testing.T) {
	t.Parallel()
	c := newCompactTest(t, 90, 10)
	c.exec(`update hub.deliveries set status = 1, finished_at = now() where status = 2`)
	c.exec(`delete from hub.deliveries where event_id = 1`) // nobody gets it
	c.exec(`insert into hub.erasures (seq, tenant_id, environment) select seq, tenant_id, 'live' from hub.events where id in (1, 2)`)
	for range 2 {
		require.NoError(t, c.maintenance.EnforceRetention(t.Context()))
		require.Equal(t, []int{1, 2, 1}, []int{c.rows("deliveries"), c.rows("events"), c.rows("attempts")})
	}
	c.exec(`update hub.erasures set erased_at = now()`)
	require.NoError(t, c.maintenance.EnforceRetention(t.Context()))
	var left int
	require.NoError(t, c.pool.QueryRow(t.Context(), `select count(*) from pg_class where relname like '%' || $1 || '%'`, c.day).Scan(&left))
	require.Zero(t, left)
}

// The jobs of replays are kept as long as the log, and what an erasure was to look for 60 days, but
// not while something is left to do.
func TestRetentionOfReplaysAndTraces(t *testing.T) {
	t.Parallel()
	d := newDrainTest(t)
	clock := hubtest.NewClock(time.Now())
	m := maintain.NewMaintenance(d.pool, slog.New(slog.DiscardHandler), clock.Now, 3*day, nobody)
	for _, status := range []string{"running", "done", "cancelled", "failed"} {
		d.exec(`insert into hub.replays (id, filter, status, total, upto, created_by, finished_at) values (gen_random_uuid(), '{}', $1, 0, gen_random_uuid(), 'x', case when $1 <> 'running' then now() end)`, status)
	}
	d.exec(`insert into hub.replay_deliveries (replay_id, delivery_id) select id, id from hub.replays where status = 'failed'`)
	busy := uuid.New()
	d.exec(`insert into hub.erasure_traces (tenant_id, environment, event_id) values ($1, 'live', 1), (gen_random_uuid(), 'live', 2)`, busy)
	d.exec(`insert into hub.erasures (seq, tenant_id, environment) values (gen_random_uuid(), $1, 'live')`, busy)
	requireLeft := func(replays, traces int) {
		t.Helper()
		require.NoError(t, m.EnforceRetention(t.Context()))
		var left [2]int
		require.NoError(t, d.pool.QueryRow(t.Context(), `select (select count(*) from hub.replays), (select count(*) from hub.erasure_traces)`).Scan(&left[0], &left[1]))
		require.Equal(t, [2]int{replays, traces}, left)
	}
	requireLeft(4, 2)
	clock.Advance(3*day + time.Minute)
	requireLeft(2, 2)
	d.exec(`delete from hub.replay_deliveries`)
	requireLeft(1, 2)
	clock.Advance(57 * day)
	requireLeft(1, 1)
	d.exec(`update hub.erasures set finished_at = now()`)
	requireLeft(1, 0)
}
