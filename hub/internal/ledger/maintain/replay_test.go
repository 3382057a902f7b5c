package maintain_test

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
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// replayTest has replays over a log of two endpoints.
type replayTest struct {
	*maintain.Replays
	t      *testing.T
	pool   *pgxpool.Pool
	target [2]uuid.UUID
}

func newReplayTest(t *testing.T) *replayTest {
	t.Helper()
	pool := hubtest.Database(t)
	j := &replayTest{t: t, pool: pool, target: [2]uuid.UUID{uuid.New(), uuid.New()}}
	j.Replays = maintain.NewReplays(pool, slog.New(slog.DiscardHandler), time.Now, func(uuid.UUID) {})
	j.exec(`insert into hub.products (name, prefix, title) values ('shop', 'shop', 'Shop')`)
	j.exec(`insert into hub.tenants (id, product, name) values ($1, 'shop', 'Tenant')`, j.target[0])
	for _, target := range j.target {
		j.exec(`insert into hub.endpoints (id, tenant_id, environment, url, event_types, secret) values ($1, $2, 'live', 'http://x/', '{*}', '')`, target, j.target[0])
	}
	return j
}

func (j *replayTest) exec(sql string, args ...any) {
	j.t.Helper()
	_, err := j.pool.Exec(j.t.Context(), sql, args...)
	require.NoError(j.t, err)
}

// add stores n deliveries with their events and returns their ids.
func (j *replayTest) add(n int, target uuid.UUID, status int) (ids []uuid.UUID) {
	j.t.Helper()
	for range n {
		seq := logid.NewSeq(time.Now())
		id := logid.Delivery(seq, 1)
		ids = append(ids, id)
		j.exec(`insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body) values ($1, 1, $2, 'live', 'shop', 'a.b', 1, '{}')`, seq, target)
		j.exec(`
			insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, status, finished_at)
			values ($1, 1, $2, $2, 'live', 'shop', 'a.b', $3::smallint, case when $3::smallint <> 0 then now() end)`, id, target, status)
	}
	return ids
}

// start begins a replay of what an endpoint has parked.
func (j *replayTest) start(target uuid.UUID) uuid.UUID {
	j.t.Helper()
	replay, err := j.Create(j.t.Context(), query.Filter{EndpointID: &target, Status: "parked"}, maintain.Creator{Label: "test"})
	require.NoError(j.t, err)
	return replay.ID
}

func (j *replayTest) get(id uuid.UUID) maintain.Replay {
	j.t.Helper()
	replay, err := j.Get(j.t.Context(), id, query.Owner{})
	require.NoError(j.t, err)
	require.LessOrEqual(j.t, replay.Done, replay.Total)
	require.Equal(j.t, replay.Done, replay.Delivered+replay.Parked+replay.Failed)
	return replay
}

// deliver settles what a replay waits for, as the writer does: 1 delivered, 2 parked.
func (j *replayTest) deliver(id uuid.UUID, status int) {
	j.t.Helper()
	j.exec(`update hub.deliveries set status = $2::smallint, attempts = attempts + 1, finished_at = now() where status = 0 and id in (
		select delivery_id from hub.replay_deliveries where replay_id = $1)`, id, status)
	j.exec(`update hub.replays set due_at = now() where id = $1`, id)
}

// finish works on a replay until it ends; everything is delivered.
func (j *replayTest) finish(id uuid.UUID) maintain.Replay {
	j.t.Helper()
	for range 100 {
		j.deliver(id, 1)
		j.work()
		if replay := j.get(id); replay.Status != "running" {
			return replay
		}
	}
	j.t.Fatal("the replay does not end")
	return maintain.Replay{}
}

// work makes steps until there is nothing to do now.
func (j *replayTest) work() {
	j.t.Helper()
	for more := true; more; {
		var err error
		more, err = j.Step(j.t.Context())
		require.NoError(j.t, err)
	}
}

// due ends the wait of a replay behind its back and returns how long it would have been.
func (j *replayTest) due(id uuid.UUID) (wait time.Duration) {
	j.t.Helper()
	var seconds float64
	require.NoError(j.t, j.pool.QueryRow(j.t.Context(), `
		update hub.replays r set due_at = now() from (select id, extract(epoch from due_at - now())::float8 as wait from hub.replays where id = $1) o
		where r.id = o.id returning o.wait`, id).Scan(&seconds))
	return time.Duration(seconds * float64(time.Second))
}

// A replay that keeps failing holds up no other, waits longer each time and is
// given up in the end, with the reason.
func TestAFailingReplayHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	j := newReplayTest(t)
	j.add(3, j.target[0], 2)
	j.add(3, j.target[1], 2)
	j.exec(`create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'out of order'; end $$`)
	j.exec(`create trigger refuse before update on hub.deliveries for each row when (new.target_id = '` + j.target[0].String() + `') execute function public.refuse()`)
	bad, good := j.start(j.target[0]), j.start(j.target[1])
	j.work()
	require.EqualValues(t, 3, j.finish(good).Delivered)
	failing := j.get(bad)
	require.Equal(t, "running", failing.Status)
	require.Contains(t, *failing.Error, "out of order")

	// It heals: what it said is forgotten.
	before := j.due(bad)
	for range 3 {
		j.work()
		after := j.due(bad)
		require.Greater(t, after, before*3/2, "longer each time")
		before = after
	}
	j.exec(`alter table hub.deliveries disable trigger refuse`)
	j.work()
	healed := j.finish(bad)
	require.Equal(t, []any{"done", int64(3), int64(0)}, []any{healed.Status, healed.Done, healed.Failed})
	require.Nil(t, healed.Error)

	// It does not: the end comes.
	j.add(2, j.target[0], 2)
	hopeless := j.start(j.target[0])
	j.exec(`alter table hub.deliveries enable trigger refuse`)
	var waited time.Duration
	tries := 0
	for ; j.get(hopeless).Status == "running" && tries < 100; tries++ {
		j.work()
		wait := j.due(hopeless)
		require.LessOrEqual(t, wait, time.Minute)
		waited += wait
	}
	ended := j.get(hopeless)
	require.Equal(t, "failed", ended.Status)
	require.Contains(t, *ended.Error, "out of order")
	require.NotNil(t, ended.FinishedAt)
	require.Zero(t, ended.Done)
	require.Less(t, waited, 15*time.Minute)
	require.Greater(t, waited, 5*time.Minute, "a short trouble is waited for")
}

// A replay is of what stood settled when it was made: what is settled later is none
// of its, so it never does more than it counted.
func TestAReplayDoesNoMoreThanItCounted(t *testing.T) {
	t.Parallel()
	j := newReplayTest(t)
	j.add(5, j.target[0], 2)
	waiting := j.add(5, j.target[0], 0)
	id := j.start(j.target[0])
	require.EqualValues(t, 5, j.get(id).Total)
	j.exec(`update hub.deliveries set status = 2, finished_at = now() where id = any($1)`, waiting)
	j.add(5, j.target[0], 2) // within the second after
	ended := j.finish(id)
	require.Equal(t, []any{"done", int64(5), int64(5)}, []any{ended.Status, ended.Total, ended.Done})

	// What a transaction was settling while it was counted is replayed, and counted then.
	j.exec(`update hub.deliveries set status = 1`)
	settling, err := j.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = settling.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = settling.Exec(t.Context(), `update hub.deliveries set status = 2, finished_at = now() where id = any($1)`, waiting)
	require.NoError(t, err)
	id = j.start(j.target[0])
	require.Zero(t, j.get(id).Total)
	require.NoError(t, settling.Commit(t.Context()))
	ended = j.finish(id)
	require.Equal(t, []any{"done", int64(5), int64(5)}, []any{ended.Status, ended.Total, ended.Done})
}

// A replay that is cancelled while it waits for its next try, or before its first
// one, does nothing more.
func TestACancelledReplayDoesNothingMore(t *testing.T) {
	t.Parallel()
	j := newReplayTest(t)
	j.add(3, j.target[0], 2)
	id := j.start(j.target[0])
	cancelled, err := j.Cancel(t.Context(), id, query.Owner{})
	require.NoError(t, err)
	require.Equal(t, "cancelled", cancelled.Status)
	require.NotNil(t, cancelled.FinishedAt)
	j.work()
	require.Equal(t, "cancelled", j.get(id).Status)
	require.Zero(t, j.get(id).Done)
	_, err = j.Cancel(t.Context(), uuid.New(), query.Owner{})
	require.ErrorIs(t, err, hub.ErrNotFound)
}

// A replay counts what became of its deliveries, and is never more than 1,000 ahead of
// what was sent. Those that wait for a retry do not hold up the others.
func TestReplayCountsWhatWasSettled(t *testing.T) {
	t.Parallel()
	j := newReplayTest(t)
	target := j.target[0]
	j.exec(`
		with made as (
			insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body)
			select (left($1::uuid::text, 24) || lpad(to_hex(n), 8, '0') || '0000')::uuid, n, $2, 'live', 'shop', 'a.b', 1, '{}' from generate_series(1, 2300) n
			returning seq, id)
		insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, status, finished_at)
		select (overlay(seq::text placing '0001' from 33))::uuid, id, $2, $2, 'live', 'shop', 'a.b', 2, now() from made`, logid.Floor(time.Now()), target)
	id := j.start(target)
	pending := func() (n int) {
		require.NoError(t, j.pool.QueryRow(t.Context(), `select count(*) from hub.deliveries where status = 0`).Scan(&n))
		return n
	}
	step := func() maintain.Replay {
		for range 6 {
			j.exec(`update hub.replays set due_at = now()`)
			j.work()
		}
		return j.get(id)
	}
	require.Zero(t, step().Done, "nothing was sent")
	require.Equal(t, 1000, pending())
	// Half of them are in retries.
	j.exec(`update hub.deliveries set next_attempt_at = now() + interval '1 hour', spent = 1 where id in (select id from hub.deliveries where status = 0 order by id limit 500)`)
	step()
	require.Equal(t, 1500, pending())
	j.exec(`update hub.deliveries set status = 2, finished_at = now() where id in (select id from hub.deliveries where next_attempt_at is not null order by id limit 100)`)
	j.exec(`update hub.deliveries set status = 3, finished_at = now() where id in (select id from hub.deliveries where status = 0 and next_attempt_at is null order by id limit 10)`)
	got := step()
	require.Equal(t, []int64{0, 100, 10, 110, 2300}, []int64{got.Delivered, got.Parked, got.Failed, got.Done, got.Total})
	require.Equal(t, "running", got.Status)
	j.exec(`delete from hub.deliveries where id in (select id from hub.deliveries where status = 0 order by id desc limit 5)`) // their day was dropped
	got = j.finish(id)
	require.Equal(t, []any{"done", int64(2185), int64(100), int64(15), int64(2300)}, []any{got.Status, got.Delivered, got.Parked, got.Failed, got.Done})
	require.Zero(t, j.tracked())
}

func (j *replayTest) tracked() (n int) {
	j.t.Helper()
	require.NoError(j.t, j.pool.QueryRow(j.t.Context(), `select count(*) from hub.replay_deliveries`).Scan(&n))
	return n
}

// A replay that waits for its receivers holds up no other.
func TestWaitingReplayHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	j := newReplayTest(t)
	j.add(3, j.target[0], 2)
	j.add(3, j.target[1], 2)
	slow, quick := j.start(j.target[0]), j.start(j.target[1])
	j.work()
	require.Equal(t, "running", j.get(slow).Status)
	require.Equal(t, "done", j.finish(quick).Status)
	require.Equal(t, "running", j.get(slow).Status)
	require.Equal(t, "done", j.finish(slow).Status)
}

// Cancelling parks what was not attempted; what a process has in hand is asked back from
// that process, and what was attempted goes on and is counted.
func TestCancelledReplayIsTakenBack(t *testing.T) {
	t.Parallel()
	j := newReplayTest(t)
	var asked []uuid.UUID
	j.OnCancelled(func(ids []uuid.UUID) { asked = append(asked, ids...) })
	ids := j.add(6, j.target[0], 1)
	replay, err := j.Create(t.Context(), query.Filter{EndpointID: &j.target[0]}, maintain.Creator{Label: "test"})
	require.NoError(t, err)
	j.work()
	j.exec(`update hub.deliveries set due_at = now() + interval '30 seconds' where id = any($1)`, ids[:2])              // leased
	j.exec(`update hub.deliveries set next_attempt_at = now() + interval '5 seconds', spent = 1 where id = $1`, ids[2]) // attempted
	j.exec(`update hub.deliveries set status = 1, finished_at = now() where id = $1`, ids[3])                           // delivered
	other := maintain.NewReplays(j.pool, slog.New(slog.DiscardHandler), time.Now, func(uuid.UUID) {})                   // another replica cancels
	cancelled, err := other.Cancel(t.Context(), replay.ID, query.Owner{})
	require.NoError(t, err)
	require.Equal(t, []any{"cancelled", int64(1), int64(2)}, []any{cancelled.Status, cancelled.Delivered, cancelled.Parked})
	count := func(where string) (n int) {
		require.NoError(t, j.pool.QueryRow(t.Context(), `select count(*) from hub.deliveries where `+where).Scan(&n))
		return n
	}
	require.Equal(t, 2, count(`status = 2 and reason = 'replay_cancelled'`))
	require.Equal(t, 3, count(`status = 0`))
	require.NoError(t, j.ParkAllCancelled(t.Context()))
	require.Subset(t, asked, ids[:2])
	j.exec(`update hub.deliveries set status = 2, reason = 'replay_cancelled', finished_at = now() where id = any($1)`, ids[:2]) // the process does
	j.exec(`update hub.deliveries set status = 2, reason = 'retries_exhausted', finished_at = now() where id = $1`, ids[2])
	require.NoError(t, j.ParkAllCancelled(t.Context()))
	got := j.get(replay.ID)
	require.Equal(t, []any{"cancelled", int64(1), int64(5), int64(6)}, []any{got.Status, got.Delivered, got.Parked, got.Done})
	require.Zero(t, j.tracked())

	// No drain sends them again: an operator said stop.
	d := &drainTest{replayTest: j, failed: map[string]int{}}
	d.exec(`insert into hub.drains (target_id, integration, state, due_at) values ($1, false, 'waiting', now())`, j.target[0])
	d.round()
	require.Equal(t, ids[2:3], d.pending(j.target[0]))
}
