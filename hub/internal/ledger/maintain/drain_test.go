package maintain_test

import (
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// drainTest has a drainer over a log of two endpoints. The test is the receiver.
type drainTest struct {
	*replayTest
	drainer *maintain.Drainer
	failed  map[string]int
}

func newDrainTest(t *testing.T) *drainTest {
	t.Helper()
	return &drainTest{replayTest: newReplayTest(t), failed: make(map[string]int)}
}

// park stores n parked deliveries of a target, as the writer does, and makes their trial due.
func (d *drainTest) park(n int, target uuid.UUID) []uuid.UUID {
	d.t.Helper()
	ids := d.add(n, target, 2)
	d.exec(`insert into hub.drains (target_id, integration, state, due_at) values ($1, false, 'waiting', now()) on conflict (target_id) do update set state = 'waiting', due_at = now()`, target)
	return ids
}

// round makes what waits for the next round due, and runs it in another process than the
// last one.
func (d *drainTest) round() {
	d.t.Helper()
	d.drainer = maintain.NewDrainer(d.pool, slog.New(slog.DiscardHandler), func(uuid.UUID) {}, func(product string, n int) { d.failed[product] += n })
	d.exec(`update hub.drains set due_at = now() where state in ('trying', 'draining')`)
	_, err := d.drainer.DrainOnce(d.t.Context())
	require.NoError(d.t, err)
}

// pending lists the pending deliveries of a target, oldest first.
func (d *drainTest) pending(target uuid.UUID) []uuid.UUID {
	d.t.Helper()
	rows, err := d.pool.Query(d.t.Context(), `select id from hub.deliveries where target_id = $1 and status = 0 order by id`, target)
	require.NoError(d.t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	require.NoError(d.t, err)
	return ids
}

// settle settles deliveries as the writer does: 1 delivered, 2 parked.
func (d *drainTest) settle(status int, ids ...uuid.UUID) {
	d.t.Helper()
	d.exec(`update hub.deliveries set status = $1::smallint, next_attempt_at = null, finished_at = clock_timestamp(), attempts = attempts + 1,
		reason = case when $1::smallint = 2 then 'retries_exhausted' end, parked_at = case when $1::smallint = 2 then coalesce(parked_at, now()) end where id = any($2)`, status, ids)
}

func (d *drainTest) state(target uuid.UUID) (state string, wait time.Duration) {
	d.t.Helper()
	var seconds float64
	err := d.pool.QueryRow(d.t.Context(), `select state, coalesce(extract(epoch from due_at - clock_timestamp()), -1)::float8 from hub.drains where target_id = $1`, target).Scan(&state, &seconds)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", 0
	}
	require.NoError(d.t, err)
	return state, time.Duration(seconds * float64(time.Second))
}

// due makes the next step of every target due.
func (d *drainTest) due() { d.exec(`update hub.drains set due_at = now() where due_at is not null`) }

// The oldest delivery is tried, once, after 1, 2, 4, 8, 15 and 15 min, and the rest follow
// when it is delivered, oldest first.
func TestTrialsOfAnEndpoint(t *testing.T) {
	t.Parallel()
	d := newDrainTest(t)
	target := d.target[0]
	ids := d.park(9, target)
	for trial, minutes := range []int{1, 2, 4, 8, 15, 15} {
		d.due()
		d.round()
		tried := d.pending(target)
		require.Len(t, tried, 1)
		if trial < 3 {
			require.Equal(t, ids[0], tried[0])
		}
		var spent int
		require.NoError(t, d.pool.QueryRow(t.Context(), `select spent from hub.deliveries where id = $1`, tried[0]).Scan(&spent))
		require.Equal(t, 3, spent, "a single attempt")
		d.round()
		state, _ := d.state(target)
		require.Equal(t, "trying", state)
		d.settle(2, tried...)
		d.round()
		state, wait := d.state(target)
		require.Equal(t, "waiting", state)
		require.InDelta(t, float64(minutes), wait.Minutes(), 0.12*float64(minutes))
	}
	d.due()
	d.round()
	trial := d.pending(target)
	require.Equal(t, ids[:1], trial, "the oldest is tried in every second trial")
	d.settle(1, trial...)
	var sent []uuid.UUID
	batches := 0
	for range 20 {
		d.round()
		batch := d.pending(target)
		require.LessOrEqual(t, len(batch), 1<<batches, "a ramp")
		sent = append(sent, batch...)
		d.settle(1, batch...)
		batches++
	}
	require.Equal(t, ids[1:], sent)
	state, _ := d.state(target)
	require.Equal(t, "settling", state)
	d.due()
	d.round()
	d.due()
	d.round()
	state, _ = d.state(target)
	require.Empty(t, state, "it is over")
}

// A delivery that is refused again and again does not hold up the others.
func TestPoisonousDeliveryHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	d := newDrainTest(t)
	target := d.target[0]
	ids := d.park(30, target)
	poison := ids[0]
	for step := range 200 {
		state, wait := d.state(target)
		if state == "waiting" && wait > 0 {
			d.due()
		}
		d.round()
		for _, id := range d.pending(target) {
			if id == poison {
				d.settle(2, id)
				continue
			}
			d.settle(1, id)
		}
		var delivered int
		require.NoError(t, d.pool.QueryRow(t.Context(), `select count(*) from hub.deliveries where target_id = $1 and status = 1`, target).Scan(&delivered))
		if delivered == 29 {
			require.Less(t, step, 60)
			return
		}
	}
	t.Fatal("the others were not delivered")
}

// A target that fails in the middle of a drain is not sent the rest; what it got is counted.
func TestFlappingTarget(t *testing.T) {
	t.Parallel()
	d := newDrainTest(t)
	target, other := d.target[0], d.target[1]
	d.park(300, target)
	d.park(40, other)
	for range 6 {
		d.round()
		d.settle(1, d.pending(target)...)
		d.settle(1, d.pending(other)...)
	}
	d.round()
	open := d.pending(target)
	require.NotEmpty(t, open)
	// It fails now: the attempts wait for their retries.
	d.exec(`update hub.deliveries set next_attempt_at = now() + interval '5 seconds', attempts = attempts + 1 where id = any($1)`, open)
	for range 10 {
		d.round()
		d.settle(1, d.pending(other)...)
		d.exec(`update hub.deliveries set next_attempt_at = now() + interval '5 seconds' where target_id = $1 and status = 0`, target)
	}
	require.LessOrEqual(t, len(d.pending(target)), max(len(open), 4), "no more is sent to it")
	d.settle(2, d.pending(target)...)
	d.round()
	state, wait := d.state(target)
	if len(open) >= 3 {
		require.Equal(t, "waiting", state)
		require.InDelta(t, 30, wait.Seconds(), 4)
	}
	var left int
	require.NoError(t, d.pool.QueryRow(t.Context(), `select count(*) from hub.deliveries where target_id = $1 and status <> 1`, other).Scan(&left))
	require.Zero(t, left, "others are not affected")
}

// What is parked for a target that is not in use waits for the moment when it is. It may be
// parked after that moment, by a process that learns of it late: then it goes at once.
func TestEnablingDrains(t *testing.T) {
	t.Parallel()
	d := newDrainTest(t)
	target := d.target[0]
	d.exec(`update hub.endpoints set enabled = false where id = $1`, target)
	ids := d.park(3, target)
	d.round()
	state, _ := d.state(target)
	require.Equal(t, "held", state)
	require.Empty(t, d.pending(target))

	// A process parks while the endpoint is being enabled: its transaction ends after the
	// drain has found nothing more.
	parking, err := d.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = parking.Rollback(t.Context()) }()
	late := d.add(1, target, 0)[0]
	_, err = parking.Exec(t.Context(), `update hub.deliveries set status = 2, reason = 'disabled', finished_at = now(), parked_at = now() where id = $1`, late)
	require.NoError(t, err)
	d.exec(`update hub.endpoints set enabled = true where id = $1`, target)
	state, _ = d.state(target)
	require.Equal(t, "draining", state)
	for range 5 {
		d.round()
		d.settle(1, slices.DeleteFunc(d.pending(target), func(id uuid.UUID) bool { return id == late })...)
	}
	state, _ = d.state(target)
	require.Equal(t, "settling", state)
	require.Equal(t, 3, d.count(`target_id = $1 and status = 1 and id = any($2)`, target, ids))
	require.NoError(t, parking.Commit(t.Context()))
	d.due()
	d.round()
	d.round()
	require.Equal(t, []uuid.UUID{late}, d.pending(target))

	// And one that parks while the drain goes on.
	d.settle(1, late)
	d.round()
	d.settle(2, d.add(1, target, 0)...)
	d.exec(`update hub.deliveries set reason = 'disabled' where target_id = $1 and status = 2`, target)
	for range 4 {
		d.round()
	}
	require.Len(t, d.pending(target), 1, "not only after 30 s")
}

// A process that does not know yet that a target is in use again parks what it is sent
// without an attempt. This is no failed attempt: it goes again at once, oldest first.
func TestParkedBeforeTheProcessKnew(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"disabled", "gone", "integration_inactive", "peer_unavailable"} {
		d := newDrainTest(t)
		target := d.target[0]
		ids := d.park(4, target)
		parkUnsent := func() {
			d.exec(`update hub.deliveries set status = 2, reason = $2, finished_at = clock_timestamp() where target_id = $1 and status = 0`, target, reason)
		}
		d.exec(`update hub.endpoints set enabled = false where id = $1`, target)
		d.exec(`update hub.endpoints set enabled = true where id = $1`, target)
		for range 3 {
			d.round()
			require.Equal(t, ids[:1], d.pending(target), reason)
			parkUnsent()
			d.round()
			state, wait := d.state(target)
			require.Equal(t, "draining", state)
			require.Less(t, wait, time.Second)
		}
		var sent []uuid.UUID
		for range 10 {
			d.round()
			sent = append(sent, d.pending(target)...)
			d.settle(1, d.pending(target)...)
		}
		require.Equal(t, ids, sent)

		// The same of a trial.
		trial := d.park(1, d.target[1])
		target = d.target[1]
		for range 3 {
			d.due()
			d.round()
			require.Equal(t, trial, d.pending(target))
			parkUnsent()
			d.round()
			state, wait := d.state(target)
			require.Equal(t, "waiting", state)
			require.Less(t, wait, time.Second)
		}
	}
}

// An integration whose peer responds 410 stays in use: its deliveries were attempted. Trials wait
// longer each time, and a drain ends after three of them.
func TestIntegrationThatResponds410(t *testing.T) {
	t.Parallel()
	d := newDrainTest(t)
	target := d.target[0]
	d.park(9, target)
	d.exec(`update hub.deliveries set integration = true where target_id = $1`, target)
	d.exec(`update hub.drains set integration = true where target_id = $1`, target)
	refuse := func() {
		d.settle(2, d.pending(target)...)
		d.exec(`update hub.deliveries set reason = 'gone' where target_id = $1 and status = 2`, target)
	}
	for _, minutes := range []float64{1, 2, 4} {
		d.due()
		d.round()
		require.Len(t, d.pending(target), 1)
		refuse()
		d.round()
		state, wait := d.state(target)
		require.Equal(t, "waiting", state)
		require.InDelta(t, minutes, wait.Minutes(), 0.12*minutes)
	}
	d.due()
	d.round()
	d.settle(1, d.pending(target)...)
	d.round()
	for range 3 {
		d.round()
		refuse()
	}
	d.round()
	state, wait := d.state(target)
	require.Equal(t, "waiting", state)
	require.Greater(t, wait, 20*time.Second, "the drain has ended")
}

func (d *drainTest) count(where string, args ...any) (n int) {
	d.t.Helper()
	require.NoError(d.t, d.pool.QueryRow(d.t.Context(), `select count(*) from hub.deliveries where `+where, args...).Scan(&n))
	return n
}

// DELETE fails what waits, counted, and leaves alone what a process has leased.
func TestDeletedEndpointFailsWhatWaits(t *testing.T) {
	t.Parallel()
	d := newDrainTest(t)
	target := d.target[0]
	d.park(3, target)
	d.add(2, target, 0)
	leased := d.add(1, target, 0)[0]
	d.exec(`update hub.deliveries set due_at = now() + interval '30 seconds' where id = $1`, leased)
	kept := d.park(1, d.target[1])
	d.exec(`update hub.endpoints set deleted_at = now(), enabled = false where id = $1`, target)
	d.round()
	require.Equal(t, 5, d.count(`target_id = $1 and status = 3 and reason = 'endpoint_deleted'`, target))
	require.Equal(t, []uuid.UUID{leased}, d.pending(target))
	require.Equal(t, kept, d.pending(d.target[1]))
	require.Equal(t, map[string]int{"shop": 5}, d.failed)
	state, _ := d.state(target)
	require.Empty(t, state)
}

// One target whose step fails holds up no other, and more targets than a round takes get
// their turns.
func TestDrainsAreFair(t *testing.T) {
	t.Parallel()
	d := newDrainTest(t)
	bad := d.park(1, d.target[0])
	d.exec(`create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'out of order'; end $$`)
	d.exec(`create trigger refuse before update on hub.deliveries for each row when (new.target_id = '` + d.target[0].String() + `') execute function public.refuse()`)
	d.exec(`
		insert into hub.endpoints (id, tenant_id, environment, url, event_types, secret) select gen_random_uuid(), $1, 'live', 'http://x/', '{*}', '' from generate_series(1, 250)`, d.target[0])
	d.exec(`
		insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, status, finished_at)
		select (left($1::uuid::text, 24) || lpad(to_hex(row_number() over ()), 12, '0'))::uuid, 1, tenant_id, id, 'live', 'shop', 'a.b', 2, now() from hub.endpoints
		where id <> all($2)`, logid.Floor(time.Now()), d.target[:])
	d.exec(`insert into hub.drains (target_id, integration, state, due_at) select target_id, false, 'waiting', now() from hub.deliveries where status = 2 on conflict do nothing`)
	for range 3 {
		d.round()
	}
	require.Equal(t, 250, d.count(`status = 0`))
	require.Equal(t, 1, d.count(`id = $1 and status = 2`, bad[0]))
}

// A retry that parks again does not begin the 15 days anew; a delivery that was delivered
// in between does.
func TestFirstParkingCounts(t *testing.T) {
	t.Parallel()
	d := newDrainTest(t)
	target := d.target[0]
	ids := d.park(2, target)
	d.exec(`update hub.deliveries set finished_at = now() - interval '14 days'`)
	d.round()
	d.settle(2, ids[0])
	require.Equal(t, 1, d.count(`id = $1 and parked_at < now() - interval '13 days' and finished_at > now() - interval '1 minute'`, ids[0]))
	d.due()
	d.round()
	d.settle(1, ids[0])
	d.start(target)
	d.work()
	replay, err := d.Create(t.Context(), filterOf(ids[0]), maintain.Creator{Label: "test"})
	require.NoError(t, err)
	d.work()
	require.NotEqual(t, uuid.Nil, replay.ID)
	require.Equal(t, 1, d.count(`id = $1 and status = 0 and parked_at is null`, ids[0]))
}

// filterOf matches one delivery.
func filterOf(id uuid.UUID) query.Filter { return query.Filter{Search: id.String()} }
