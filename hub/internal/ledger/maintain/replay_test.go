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
	replay, err := j.Create(j.t.Context(), query.Filter{EndpointID: &target, Status: "parked"}, "test")
	require.NoError(j.t, err)
	return replay.ID
}

func (j *replayTest) get(id uuid.UUID) maintain.Replay {
	j.t.Helper()
	replay, err := j.Get(j.t.Context(), id)
	require.NoError(j.t, err)
	require.LessOrEqual(j.t, replay.Done+replay.Failed, replay.Total)
	return replay
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
		update hub.replays r set retry_at = now() from (select id, extract(epoch from retry_at - now())::float8 as wait from hub.replays where id = $1) o
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
	require.Equal(t, "done", j.get(good).Status)
	require.EqualValues(t, 3, j.get(good).Done)
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
	healed := j.get(bad)
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
	j.work()
	ended := j.get(id)
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
	j.work()
	ended = j.get(id)
	require.Equal(t, []any{"done", int64(5), int64(5)}, []any{ended.Status, ended.Total, ended.Done})
}

// A replay that is cancelled while it waits for its next try, or before its first
// one, does nothing more.
func TestACancelledReplayDoesNothingMore(t *testing.T) {
	t.Parallel()
	j := newReplayTest(t)
	j.add(3, j.target[0], 2)
	id := j.start(j.target[0])
	cancelled, err := j.Cancel(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "cancelled", cancelled.Status)
	require.NotNil(t, cancelled.FinishedAt)
	j.work()
	require.Equal(t, "cancelled", j.get(id).Status)
	require.Zero(t, j.get(id).Done)
	_, err = j.Cancel(t.Context(), uuid.New())
	require.ErrorIs(t, err, hub.ErrNotFound)
}
