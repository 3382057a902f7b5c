package server_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// "`retry` … an erased one is 409": what has no payload any more cannot be sent again.
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

// count counts deliveries by a condition.
func (p place) count(t *testing.T, condition string) int {
	t.Helper()
	var n int
	p.unfold(t)
	require.NoError(t, p.pool.QueryRow(context.Background(), `select count(*) from hub.deliveries where `+condition).Scan(&n))
	return n
}
