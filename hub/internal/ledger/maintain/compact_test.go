package maintain_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/ledger/ledgertest"
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// compactTest has a day whose retention has ended: of settled deliveries, and of a few that
// are parked.
type compactTest struct {
	*replayTest
	maintenance *maintain.Maintenance
	day         string // of the tables
	parked      []uuid.UUID
}

func newCompactTest(t *testing.T, settled, parked int) *compactTest {
	t.Helper()
	c := &compactTest{replayTest: newReplayTest(t)}
	clock := hubtest.NewClock(time.Now())
	c.maintenance = maintain.NewMaintenance(c.pool, slog.New(slog.DiscardHandler), clock.Now, 3*day, nobody)
	at := clock.Now().UTC().Truncate(day).Add(-5 * day).Add(time.Hour)
	c.exec(`select hub.ensure_partitions($1::date, 2)`, at)
	first := logid.Floor(at)
	c.day = logid.Partition(first)
	c.exec(`
		insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body)
		select (left($1::uuid::text, 24) || lpad(to_hex(n), 8, '0') || '0000')::uuid, n, $2, 'live', 'shop', 'a.b', 1, convert_to(format('{"n":%s}', n), 'UTF8')
		from generate_series(1, $3::integer) n`, first, c.target[0], settled+parked)
	c.exec(`
		insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, status, reason, finished_at, parked_at, attempts)
		select (overlay(seq::text placing '0001' from 33))::uuid, id, tenant_id, tenant_id, 'live', 'shop', 'a.b',
			case when id % $2 = 0 then 2 when id % 7 = 0 then 3 else 1 end, case when id % $2 = 0 then 'retries_exhausted' end, now(), case when id % $2 = 0 then now() end, 1
		from hub.events where seq >= $1`, first, (settled+parked)/parked)
	c.exec(`
		insert into hub.attempts (delivery_id, started_at, number, queue_us, dns_us, connect_us, tls_us, first_byte_us, total_us, status_code, error, signature)
		select id, now(), 1, 0, 0, 0, 0, 0, 1000, 500, 'refused', '' from hub.deliveries where id >= $1`, first)
	c.exec(`insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, accepted) values ($1, $2, $2, 'shop', $3)`, at, c.target[0], settled+parked)
	rows, err := c.pool.Query(t.Context(), `select id from hub.deliveries where status = 2 order by id desc`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var id uuid.UUID
		require.NoError(t, rows.Scan(&id))
		c.parked = append(c.parked, id)
	}
	require.Len(t, c.parked, parked)
	return c
}

func (c *compactTest) rows(table string) (n int) {
	c.t.Helper()
	require.NoError(c.t, c.pool.QueryRow(c.t.Context(), `select count(*) from hub.`+table+`_`+c.day).Scan(&n))
	return n
}

// tableID is another one after the day was compacted.
func (c *compactTest) tableID() (id int) {
	c.t.Helper()
	require.NoError(c.t, c.pool.QueryRow(c.t.Context(), `select ('hub.deliveries_`+c.day+`')::regclass::oid::int`).Scan(&id))
	return id
}

func (c *compactTest) balanced() query.Balance {
	c.t.Helper()
	sums, err := ledgertest.DailyBalances(c.t.Context(), query.NewReader(c.pool))
	require.NoError(c.t, err)
	for _, sum := range sums {
		require.True(c.t, sum.IsBalanced(), sum.String())
	}
	return sums[0]
}

// Single parked deliveries keep no whole day: the others are dropped on time. Those that
// stay are listed, shown with their attempts, sent again and counted as before.
func TestParkedDeliveriesKeepNoWholeDay(t *testing.T) {
	t.Parallel()
	c := newCompactTest(t, 2970, 30)
	before := c.balanced()
	require.NoError(t, c.maintenance.EnforceRetention(t.Context()))
	require.Equal(t, []int{30, 30, 30}, []int{c.rows("deliveries"), c.rows("events"), c.rows("attempts")})
	require.Equal(t, before, c.balanced())
	reader := query.NewReader(c.pool)
	found, err := reader.List(t.Context(), query.Filter{Status: "parked", EndpointID: &c.target[0]}, nil, 50)
	require.NoError(t, err)
	require.Len(t, found, 30)
	require.Equal(t, c.parked[0], found[0].ID)
	detail, err := reader.Get(t.Context(), c.parked[0], query.Owner{})
	require.NoError(t, err)
	require.Len(t, detail.Attempts, 1)
	require.JSONEq(t, `{"n":3000}`, string(detail.Payload))
	_, _, err = maintain.NewRequeuer(c.pool, reader).Requeue(t.Context(), c.parked[0], query.Owner{})
	require.NoError(t, err)
	replay, err := c.Create(t.Context(), query.Filter{Status: "parked"}, maintain.Creator{Label: "test"})
	require.NoError(t, err)
	require.EqualValues(t, 29, replay.Total)
	require.Equal(t, "done", c.finish(replay.ID).Status)
	require.NoError(t, c.maintenance.EnforceRetention(t.Context()))
	require.Equal(t, 30, c.rows("deliveries"), "one is pending")

	// It can be compacted again, and goes when nothing waits.
	c.exec(`update hub.deliveries set status = 1, finished_at = now() where status = 0`)
	require.NoError(t, c.maintenance.EnforceRetention(t.Context()))
	var left int
	require.NoError(t, c.pool.QueryRow(t.Context(), `
		select (select count(*) from pg_class where relname like '%' || $1 || '%') + (select count(*) from hub.compacted_days)`, c.day).Scan(&left))
	require.Zero(t, left)
}

// A day that is mostly parked is left as it is, and so is a day with leases.
func TestDaysThatAreNotCompacted(t *testing.T) {
	t.Parallel()
	c := newCompactTest(t, 20, 20)
	require.NoError(t, c.maintenance.EnforceRetention(t.Context()))
	require.Equal(t, 40, c.rows("deliveries"))
	c.exec(`update hub.deliveries set status = 1, finished_at = now() where id <> $1`, c.parked[0])
	c.exec(`insert into hub.leases (id, deliveries) values ($1, '')`, logid.Floor(time.Now().Add(-6*day)))
	require.NoError(t, c.maintenance.EnforceRetention(t.Context()))
	require.Equal(t, 40, c.rows("deliveries"))
	c.exec(`delete from hub.leases`)
	require.NoError(t, c.maintenance.EnforceRetention(t.Context()))
	require.Equal(t, 1, c.rows("deliveries"))
	c.balanced()
}

// To decide about a day, and while it is locked, as few rows are read as wait: all tenants wait
// for the lock, whatever the day has besides.
func TestCompactionReadsWhatWaits(t *testing.T) {
	t.Parallel()
	c := newCompactTest(t, 9980, 20)
	c.exec(`
		insert into hub.erasures (seq, tenant_id, environment, erased_at)
		select (overlay(id::text placing '0000' from 33))::uuid, tenant_id, 'live', now() from hub.deliveries where status = 1 order by id limit 1`)
	for _, analyzed := range []string{"", "analyze hub.events; analyze hub.deliveries; analyze hub.attempts"} {
		c.exec(analyzed)
		deciding, locked, err := c.maintenance.CountReads(t.Context(), c.day[1:])
		require.NoError(t, err)
		require.Less(t, deciding, int64(100))
		require.Less(t, locked, int64(500))
	}
	require.NoError(t, c.maintenance.EnforceRetention(t.Context()))
	require.Equal(t, []int{21, 21, 21}, []int{c.rows("deliveries"), c.rows("events"), c.rows("attempts")})
	c.balanced()
}

// A day that would be locked for too long is not compacted: what is settled of it is deleted.
func TestCompactionGivesUp(t *testing.T) {
	t.Parallel()
	c := newCompactTest(t, 190, 10)
	before := c.tableID()
	c.exec(`create function an_hour() returns trigger language plpgsql as $$ begin
		if to_regclass('hub.deliveries_` + c.day + `_kept') is not null then perform pg_sleep(3600); end if; return new; end $$`)
	c.exec(`create trigger slow before insert on hub.compacted_days for each row execute function an_hour()`)
	c.maintenance.LimitLocked(50 * time.Millisecond)
	require.NoError(t, c.maintenance.EnforceRetention(t.Context()))
	require.Equal(t, []int{10, 10, 10}, []int{c.rows("deliveries"), c.rows("events"), c.rows("attempts")})
	require.Equal(t, before, c.tableID())
	c.balanced()
}

// What changes while a day is compacted is not lost: deliveries that are sent meanwhile,
// payloads that are erased.
func TestCompactionUnderChange(t *testing.T) {
	t.Parallel()
	c := newCompactTest(t, 19_000, 1000)
	ctx, stop := context.WithCancel(context.Background())
	var changes atomic.Int64
	changed := make(chan error, 1)
	go func() { changed <- changeWaiting(ctx, c.pool, c.day, c.parked, &changes) }()
	require.Eventually(t, func() bool { return changes.Load() > 20 }, time.Minute, time.Millisecond)
	for range 40 { // it stops where it would wait for long
		if c.rows("deliveries") < 10_000 {
			break
		}
		if err := c.maintenance.EnforceRetention(t.Context()); err != nil {
			t.Log(err)
		}
	}
	during := changes.Load()
	require.Eventually(t, func() bool { return changes.Load() > during+20 }, time.Minute, time.Millisecond, "it goes on in the new tables")
	stop()
	require.NoError(t, <-changed)
	c.balanced()
	require.LessOrEqual(t, c.rows("deliveries"), 1000)
	var wrong int
	require.NoError(t, c.pool.QueryRow(t.Context(), fmt.Sprintf(`
		select count(*) from hub.deliveries_%[1]s d
		where d.status in (0, 2) and not exists (select from hub.events_%[1]s e where e.seq = (overlay(d.id::text placing '0000' from 33))::uuid)
			or d.attempts <> (select count(*) from hub.attempts_%[1]s a where a.delivery_id = d.id)`, c.day)).Scan(&wrong))
	require.Zero(t, wrong)
	// The first 100 were erased by turns, the others delivered by turns: of neither did an earlier state come back.
	var unerased int
	require.NoError(t, c.pool.QueryRow(t.Context(), `select count(*) from erased_by_test t join hub.events e using (seq) where e.body <> '{"erased":true}'`).Scan(&unerased))
	require.Zero(t, unerased)
	var revived int
	require.NoError(t, c.pool.QueryRow(t.Context(), `select count(*) from delivered_by_test t join hub.deliveries d using (id) where d.status <> 1`).Scan(&revived))
	require.Zero(t, revived)
}

// changeWaiting delivers and erases deliveries one after another until ctx ends. It notes
// which, in the same transactions.
func changeWaiting(ctx context.Context, pool *pgxpool.Pool, day string, ids []uuid.UUID, changes *atomic.Int64) error {
	if _, err := pool.Exec(ctx, `create table if not exists erased_by_test (seq uuid); create table if not exists delivered_by_test (id uuid)`); err != nil {
		return err
	}
	for i := 0; ctx.Err() == nil && i < len(ids)-10; i++ {
		statement := `
			with noted as (insert into delivered_by_test values ($1)),
			attempt as (insert into hub.attempts_` + day + ` (delivery_id, started_at, number, queue_us, dns_us, connect_us, tls_us, first_byte_us, total_us, signature) values ($1, now(), 2, 0, 0, 0, 0, 0, 1, ''))
			update hub.deliveries_` + day + ` set status = 1, attempts = attempts + 1, finished_at = now() where id = $1`
		id := ids[i]
		if i%3 == 0 {
			statement, id = `with noted as (insert into erased_by_test values ($1)) update hub.events_`+day+` set body = '{"erased":true}' where seq = $1`, logid.Seq(id)
		}
		if _, err := pool.Exec(context.WithoutCancel(ctx), statement, id); err != nil {
			return fmt.Errorf("changing %s: %w", id, err)
		}
		changes.Add(1)
		if i >= 40 { // the rest of them last for 25 s, far longer than a compaction
			select {
			case <-ctx.Done():
			case <-time.After(25 * time.Millisecond):
			}
		}
	}
	return nil
}
