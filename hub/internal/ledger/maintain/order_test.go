package maintain_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// orderTest is the order of one key.
type orderTest struct {
	t      *testing.T
	pool   *pgxpool.Pool
	target uuid.UUID
}

func (o *orderTest) exec(sql string, args ...any) {
	o.t.Helper()
	_, err := o.pool.Exec(o.t.Context(), sql, args...)
	require.NoError(o.t, err)
}

// fill assigns deliveries the places of the key, in this order; rows are those of them that have
// one in the log.
func (o *orderTest) fill(ids []uuid.UUID, rows ...uuid.UUID) {
	o.t.Helper()
	for _, id := range rows {
		o.exec(`
			insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, ordering_key, due_at)
			values ($1, 1, $2, $2, 'live', 'shop', 'a.b', 'k', case when $1 = $3::uuid then now() else 'infinity' end)`, id, o.target, ids[0])
	}
	o.exec(`insert into hub.ordering_keys (target_id, key, accepted, waiting, head) values ($1, 'k', $2::bigint, $2::bigint, $3)
		on conflict (target_id, key) do update set accepted = excluded.accepted, waiting = excluded.waiting, head = excluded.head`, o.target, len(ids), ids[0])
	for place, id := range ids[1:] {
		o.exec(`insert into hub.ordering_queue (target_id, key, place, delivery_id) values ($1, 'k', $2, $3)`, o.target, place+2, id)
	}
}

// requireOrder requires how many deliveries have places, and which is the head; [uuid.Nil] for none.
func (o *orderTest) requireOrder(waiting int, head uuid.UUID) {
	o.t.Helper()
	var gotWaiting, queued int
	var gotHead uuid.NullUUID
	require.NoError(o.t, o.pool.QueryRow(o.t.Context(), `
		select waiting, head, (select count(*) from hub.ordering_queue where target_id = $1) from hub.ordering_keys where target_id = $1`, o.target).Scan(&gotWaiting, &gotHead, &queued))
	require.Equal(o.t, []any{waiting, head, max(0, waiting-1)}, []any{gotWaiting, gotHead.UUID, queued})
}

// isDue reports whether a delivery is pending and due.
func (o *orderTest) isDue(id uuid.UUID) (due bool) {
	o.t.Helper()
	require.NoError(o.t, o.pool.QueryRow(o.t.Context(), `select status = 0 and due_at <= now() and round_at > now() - interval '1 minute' from hub.deliveries where id = $1`, id).Scan(&due))
	return due
}

// "the 15 days run for the head only, and for each of them from when it becomes head."
func TestHeadsExpireOneAfterTheOther(t *testing.T) {
	t.Parallel()
	o := &orderTest{t: t, pool: hubtest.Database(t), target: uuid.New()}
	clock := hubtest.NewClock(time.Now())
	expired := 0
	m := maintain.NewMaintenance(o.pool, slog.New(slog.DiscardHandler), clock.Now, 400*day, func(_ string, n int) { expired += n })
	accepted := clock.Now().Add(-16 * day)
	o.exec(`select hub.ensure_partitions($1::date - 1, 3)`, accepted)
	var ids []uuid.UUID
	for n := range 3 {
		ids = append(ids, logid.Delivery(logid.NewSeq(accepted.Add(time.Duration(n)*time.Second)), 1))
	}
	o.fill(ids, ids...)
	park := func(id uuid.UUID) { // as the writer does
		o.exec(`update hub.deliveries set status = 2, reason = 'retries_exhausted', parked_at = coalesce(parked_at, now()), finished_at = now(), next_attempt_at = null where id = $1`, id)
	}
	park(ids[0])
	require.NoError(t, m.EnforceRetention(t.Context()))
	require.Zero(t, expired)
	o.exec(`update hub.deliveries set parked_at = $2 where id = $1`, ids[0], accepted.Add(time.Hour))
	require.NoError(t, m.EnforceRetention(t.Context()))
	require.Equal(t, 1, expired)
	o.requireOrder(2, ids[1])
	require.True(t, o.isDue(ids[1]))
	require.False(t, o.isDue(ids[2]))

	park(ids[1])
	require.NoError(t, m.EnforceRetention(t.Context()))
	clock.Advance(14 * day)
	require.NoError(t, m.EnforceRetention(t.Context()))
	require.Equal(t, 1, expired, "its 15 days have begun when it was the first")
	clock.Advance(2 * day)
	require.NoError(t, m.EnforceRetention(t.Context()))
	require.Equal(t, 2, expired)
	o.requireOrder(1, ids[2])
	require.True(t, o.isDue(ids[2]))
	require.NoError(t, m.EnforceRetention(t.Context()))
	require.Equal(t, 2, expired, "it was not attempted yet")
}

// The places of deliveries whose day was dropped are free: the next one of a day that is there
// becomes the head.
func TestOrderPassesDroppedDays(t *testing.T) {
	t.Parallel()
	o := &orderTest{t: t, pool: hubtest.Database(t), target: uuid.New()}
	at := func(age time.Duration) uuid.UUID { return logid.Delivery(logid.NewSeq(time.Now().Add(-age)), 1) }
	head, next, last := at(0), at(0), at(0)
	o.fill([]uuid.UUID{head, at(300 * day), at(299 * day), next, at(298 * day), last}, head, next, last)
	settle := func(id uuid.UUID) {
		o.exec(`update hub.deliveries set status = 1, finished_at = now() where id = $1`, id)
	}
	settle(head)
	o.requireOrder(3, next)
	require.True(t, o.isDue(next))
	require.False(t, o.isDue(last))
	settle(next)
	o.requireOrder(1, last)
	require.True(t, o.isDue(last))
	settle(last)
	o.requireOrder(0, uuid.Nil)

	head = at(0)
	o.fill([]uuid.UUID{head, at(300 * day), at(299 * day)}, head)
	settle(head)
	o.requireOrder(0, uuid.Nil)
}

// What a cancelled replay took back of an order is parked for a drain; others stay parked.
func TestTakenBackHeadIsDrained(t *testing.T) {
	t.Parallel()
	j := newReplayTest(t)
	d := &drainTest{replayTest: j, failed: map[string]int{}}
	target := j.target[0]
	ids := j.add(3, target, 2)
	j.exec(`update hub.deliveries set ordering_key = 'k' where id = $1`, ids[1])
	j.add(1, j.target[1], 2)
	for _, replay := range []uuid.UUID{j.start(target), j.start(j.target[1])} {
		j.work()
		_, err := j.Cancel(t.Context(), replay, query.Owner{})
		require.NoError(t, err)
	}
	require.Empty(t, d.pending(target))
	state, wait := d.state(target)
	require.Equal(t, "waiting", state)
	require.InDelta(t, 30, wait.Seconds(), 10, "as after any parking")
	state, _ = d.state(j.target[1])
	require.Empty(t, state)
	d.due()
	d.round()
	require.Equal(t, ids[1:2], d.pending(target))
	d.settle(1, ids[1])
	for range 3 {
		d.due()
		d.round()
	}
	require.Empty(t, d.pending(target), "somebody said stop")
	require.Empty(t, d.pending(j.target[1]))
}
