package server_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// What has no payload any more, because its retention ended, cannot be sent again.
func TestRetryWithoutPayloadIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	endpoint := a.endpoint(h, "")
	id := a.publish("a.b", `{}`)
	done := a.settles(id, endpoint, "delivered")
	tag, err := p.pool.Exec(context.Background(), `delete from hub.events`)
	require.NoError(t, err)
	require.EqualValues(t, 1, tag.RowsAffected())
	path := "/deliveries/" + done["id"].(string)
	a.refused(409, "payload_gone", "POST", path+"/retry", a.token, "")
	require.Nil(t, a.ok(200, "GET", path, "")["payload"])
	a.refused(404, "not_found", "POST", "/deliveries/"+uuid.NewString()+"/retry", a.token, "")
	replay := a.ok(202, "POST", "/replays", `{"filter":{"endpoint_id":"`+endpoint+`"}}`)
	ended := a.replayEnds(replay["id"].(string))
	require.EqualValues(t, 1, ended["failed"])
	require.EqualValues(t, 0, ended["done"])
	require.Len(t, h.arrivals(), 1)
}

func (n *node) replayEnds(id string) map[string]any {
	n.t.Helper()
	var replay map[string]any
	require.Eventually(n.t, func() bool {
		replay = n.ok(200, "GET", "/replays/"+id, "")
		return replay["status"] != "running"
	}, soon, 5*tick)
	return replay
}

// "`POST /api/v1/replays {filter, dry_run}` → exact count first, then a durable,
// resumable job with progress and cancel."
func TestReplay(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	var broken atomic.Bool
	broken.Store(true)
	published := make(chan struct{}) // a first 410 would keep the later events away
	h := newHook(t, func(w http.ResponseWriter, r *http.Request, n int) {
		hanging(published)(w, r, n)
		if broken.Load() {
			w.WriteHeader(410) // parks at once
		}
	})
	endpoint, other := a.endpoint(h, `"event_types":["lost.*"]`), a.endpoint(newHook(t, nil), "")
	const many = 700
	ids := a.batch(many, "lost.event")
	close(published)
	require.Eventually(t, func() bool { return p.count(t, `status = 2`) == many }, 2*soon, 5*tick)
	require.Eventually(t, func() bool { return p.count(t, `status = 1`) == many }, 2*soon, 5*tick)

	a.refused(422, "validation_failed", "POST", "/replays", a.token, `{"filter":{}}`)
	a.refused(422, "validation_failed", "POST", "/replays", a.token, `{"filter":{},"dry_run":true}`)
	a.refused(422, "validation_failed", "POST", "/replays", a.token, `{"filter":{"status":"lost"}}`)
	filter := `{"filter":{"endpoint_id":"` + endpoint + `","status":"parked"}`
	require.Equal(t, map[string]any{"count": float64(many)}, a.ok(200, "POST", "/replays", filter+`,"dry_run":true}`))
	require.Equal(t, map[string]any{"count": 0.0}, a.ok(200, "POST", "/replays", `{"filter":{"status":"failed"},"dry_run":true}`))
	require.Equal(t, map[string]any{"count": 2.0 * many}, a.ok(200, "POST", "/replays", `{"filter":{"product":"shop"},"dry_run":true}`))
	require.Equal(t, many, p.count(t, `status = 2`), "a dry run changes nothing")

	broken.Store(false)
	before := h.times()
	a.ok(200, "PUT", "/endpoints/"+endpoint, `{"url":"`+h.url+`","event_types":["lost.*"],"enabled":true}`)
	made := a.ok(202, "POST", "/replays", filter+`}`)
	require.Equal(t, "running", made["status"])
	require.EqualValues(t, many, made["total"])
	ended := a.replayEnds(made["id"].(string))
	require.Equal(t, "done", ended["status"])
	require.EqualValues(t, many, ended["done"])
	require.EqualValues(t, 0, ended["failed"])
	require.NotNil(t, ended["finished_at"])
	require.Eventually(t, func() bool { return p.count(t, `status = 1`) == 2*many }, 2*soon, 5*tick)
	after := h.times()
	for _, id := range ids {
		require.LessOrEqual(t, after[id]-before[id], 1, "each once: %s", id)
		require.Positive(t, after[id])
	}
	require.Equal(t, "done", a.ok(200, "POST", "/replays/"+made["id"].(string)+"/cancel", "")["status"], "an ended one stays as it is")
	require.Zero(t, p.count(t, `status = 1 and target_id = '`+other+`' and attempts <> 1`), "others are left alone")
}

// A replay goes on after a restart where it stopped, and a cancelled one does not.
func TestReplayResumesAfterARestart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.start(t, nil)
	a := first.account()
	h := newHook(t, nil)
	endpoint := a.endpoint(h, "")
	ids := a.batch(600, "a.b")
	require.Eventually(t, func() bool { return p.count(t, `status = 1`) == 600 }, 2*soon, 5*tick)
	first.stop()
	// Two jobs as a process leaves them that dies after 100 deliveries of each.
	db, ctx := p.pool, context.Background()
	leave := func(status string) string {
		var id string
		require.NoError(t, db.QueryRow(ctx, `
			insert into hub.replays (id, filter, status, total, done, cursor, upto, created_by)
			values (gen_random_uuid(), jsonb_build_object('endpoint_id', $1::text), $2, 600, 100,
				(select id from hub.deliveries order by id offset 99 limit 1), (select id from hub.deliveries order by id desc limit 1), 'test')
			returning id`, endpoint, status).Scan(&id))
		return id
	}
	running, cancelled := leave("running"), leave("cancelled")
	second := p.start(t, nil)
	ended := second.replayEnds(running)
	require.Equal(t, "done", ended["status"])
	require.EqualValues(t, 600, ended["done"])
	require.EqualValues(t, 100, second.ok(200, "GET", "/replays/"+cancelled, "")["done"])
	require.Eventually(t, func() bool { return p.count(t, `status = 1`) == 600 }, 2*soon, 5*tick)
	total := 0
	for _, n := range h.times() {
		total += n
	}
	require.Equal(t, 600+500, total)
	require.Len(t, h.times(), len(ids))
}

// "… with progress and cancel": a replay that is cancelled under way ends its batch
// and leaves the rest alone.
func TestRunningReplayIsCancelled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	endpoint := a.endpoint(h, "")
	const many = 2500 // five batches
	a.batch(many, "a.b")
	require.Eventually(t, func() bool { return p.count(t, `status = 1`) == many }, 2*soon, 5*tick)

	// The second batch cannot go on before it is cancelled.
	ctx := context.Background()
	holder, err := p.pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(ctx) }()
	tag, err := holder.Exec(ctx, `select from hub.deliveries where id = (select id from hub.deliveries order by id offset 700 limit 1) for update`)
	require.NoError(t, err)
	require.EqualValues(t, 1, tag.RowsAffected())
	id := a.ok(202, "POST", "/replays", `{"filter":{"endpoint_id":"`+endpoint+`"}}`)["id"].(string)
	require.Eventually(t, func() bool {
		progress := a.ok(200, "GET", "/replays/"+id, "")
		return progress["status"] == "running" && progress["done"] == 500.0 && progress["total"] == float64(many)
	}, soon, tick)
	cancelled := make(chan answer, 1)
	go func() {
		got, _ := a.try("POST", "/replays/"+id+"/cancel", a.token, "")
		cancelled <- got
	}()
	require.Eventually(t, func() bool {
		var waiting int
		require.NoError(t, p.pool.QueryRow(ctx, `
			select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%update hub.replays set status = ''cancelled''%'`).Scan(&waiting))
		return waiting == 1
	}, soon, tick)
	require.NoError(t, holder.Rollback(ctx))
	got := <-cancelled
	require.Equal(t, 200, got.status, got.text)
	require.Equal(t, "cancelled", got.body["status"])
	require.NotNil(t, got.body["finished_at"])
	done := got.body["done"].(float64)
	require.GreaterOrEqual(t, done, 1000.0, "the batch under way was ended")
	require.Less(t, done, float64(many))

	// It stays as it is, another one is worked off, and what was put back is delivered.
	other := a.ok(202, "POST", "/replays", `{"filter":{"event_type":"a.none"}}`)
	require.Equal(t, "done", a.replayEnds(other["id"].(string))["status"])
	require.Eventually(t, func() bool { return p.count(t, `status = 1`) == many }, 2*soon, 5*tick)
	require.Equal(t, got.body, a.ok(200, "GET", "/replays/"+id, ""))
	require.Equal(t, int(done), p.count(t, `attempts = 2`))
	require.Equal(t, "cancelled", a.ok(200, "POST", "/replays/"+id+"/cancel", "")["status"])
}

// count counts deliveries by a condition.
func (p place) count(t *testing.T, condition string) int {
	t.Helper()
	var n int
	p.unfold(t)
	require.NoError(t, p.pool.QueryRow(context.Background(), `select count(*) from hub.deliveries where `+condition).Scan(&n))
	return n
}
