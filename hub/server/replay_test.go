package server_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

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
	require.EqualValues(t, 0, ended["delivered"])
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
	require.Equal(t, map[string]any{"count": 0.0}, a.ok(200, "POST", "/replays", filter+`,"dry_run":true}`), "the endpoint is disabled")
	require.Equal(t, map[string]any{"count": 0.0}, a.ok(200, "POST", "/replays", `{"filter":{"status":"failed"},"dry_run":true}`))
	require.Equal(t, map[string]any{"count": float64(many)}, a.ok(200, "POST", "/replays", `{"filter":{"product":"shop"},"dry_run":true}`))
	require.Equal(t, many, p.count(t, `status = 2`), "a dry run changes nothing")

	broken.Store(false)
	_, err := p.pool.Exec(t.Context(), `update hub.deliveries set reason = 'replay_cancelled' where status = 2`) // else enabling sends them
	require.NoError(t, err)
	before := h.times()
	a.ok(200, "PUT", "/endpoints/"+endpoint, `{"url":"`+h.url+`","event_types":["lost.*"],"enabled":true}`)
	require.Equal(t, map[string]any{"count": float64(many)}, a.ok(200, "POST", "/replays", filter+`,"dry_run":true}`))
	made := a.ok(202, "POST", "/replays", filter+`}`)
	require.Equal(t, "running", made["status"])
	require.EqualValues(t, many, made["total"])
	ended := a.replayEnds(made["id"].(string))
	require.Equal(t, "done", ended["status"])
	require.EqualValues(t, many, ended["done"])
	require.EqualValues(t, many, ended["delivered"])
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

// A replay stays at most 1,000 ahead of what was sent. One that is cancelled, by whichever
// replica, parks what was not attempted; what is under way goes on.
func TestRunningReplayIsCancelled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	second := p.start(t, nil)
	var isReplaying atomic.Bool
	var hangs atomic.Int64
	release := make(chan struct{})
	h := newHook(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if isReplaying.Load() {
			hangs.Add(1)
			hanging(release)(w, r, n)
		}
	})
	endpoint := a.endpoint(h, "")
	const many = 1500
	a.batch(many, "a.b")
	require.Eventually(t, func() bool { return p.count(t, `status = 1`) == many }, 2*soon, 5*tick)
	isReplaying.Store(true)
	id := a.ok(202, "POST", "/replays", `{"filter":{"endpoint_id":"`+endpoint+`"}}`)["id"].(string)
	require.Eventually(t, func() bool { return p.count(t, `status = 0`) == 1000 && hangs.Load() > 0 }, soon, tick)
	progress := a.ok(200, "GET", "/replays/"+id, "")
	require.Equal(t, []any{"running", 1500.0, 0.0}, []any{progress["status"], progress["total"], progress["done"]}, "nothing was settled")

	cancelled := second.ok(200, "POST", "/replays/"+id+"/cancel", "")
	began := time.Now()
	require.Equal(t, "cancelled", cancelled["status"])
	require.NotNil(t, cancelled["finished_at"])
	require.Eventually(t, func() bool { return p.count(t, `status = 0`) <= int(hangs.Load()) }, soon, tick)
	t.Logf("taken back after %s, %d under way", time.Since(began), hangs.Load())
	isReplaying.Store(false)
	close(release)
	require.Eventually(t, func() bool { return p.count(t, `status = 0`) == 0 }, soon, tick)
	again := p.count(t, `attempts = 2 and status = 1`)
	require.Equal(t, 1000-again, p.count(t, `status = 2 and reason = 'replay_cancelled'`))
	require.Less(t, again, 200, "what was under way")
	require.Len(t, h.arrivals(), many+again)
	require.Eventually(t, func() bool {
		got := a.ok(200, "GET", "/replays/"+id, "")
		return got["status"] == "cancelled" && got["delivered"] == float64(again) && got["done"] == 1000.0 && got["parked"] == float64(1000-again)
	}, soon, tick, "what was under way counts, and what was parked")
	p.balance(t)

	other := a.ok(202, "POST", "/replays", `{"filter":{"event_type":"a.none"}}`)
	require.Equal(t, "done", a.replayEnds(other["id"].(string))["status"])
	require.Equal(t, "cancelled", second.ok(200, "POST", "/replays/"+id+"/cancel", "")["status"])
}

// An endpoint that was added late is sent what was published before, each event once.
func TestRecoverEndpoint(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	a.endpoint(newHook(t, nil), "")
	before := append(a.batch(30, "a.b"), a.publish("c.d", `{}`))
	h := newHook(t, nil)
	endpoint := a.endpoint(h, `"event_types":["a.*"]`)
	after := a.batch(5, "a.b")
	h.waitAll(after)
	path := "/endpoints/" + endpoint + "/recover"
	body := `{"since":"` + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) + `"`
	require.Equal(t, map[string]any{"count": 30.0}, a.ok(200, "POST", path, body+`,"dry_run":true}`))
	require.Equal(t, map[string]any{"count": 0.0}, a.ok(200, "POST", path, body+`,"event_types":["c.*"],"dry_run":true}`))
	made := a.ok(202, "POST", path, body+`}`)
	require.Equal(t, []any{"recover", "running", 30.0}, []any{made["kind"], made["status"], made["total"]})
	require.Equal(t, endpoint, made["filter"].(map[string]any)["endpoint_id"])
	ended := a.replayEnds(made["id"].(string))
	require.Equal(t, []any{"done", 30.0, 30.0}, []any{ended["status"], ended["delivered"], ended["done"]})
	times := h.times()
	require.Len(t, times, 35)
	for _, id := range before[:30] {
		require.Equal(t, 1, times[id])
	}
	require.EqualValues(t, 2, a.ok(200, "GET", "/events/"+before[0], "")["deliveries"])
	again := a.replayEnds(a.ok(202, "POST", path, body+`}`)["id"].(string))
	require.Equal(t, []any{"done", 0.0, 0.0}, []any{again["status"], again["total"], again["done"]})
	require.Len(t, h.arrivals(), 35)
	p.balance(t)
	entry := items(a.ok(200, "GET", "/audit?limit=1&action=endpoints.recover", ""))[0]
	require.Equal(t, endpoint, entry["resource_id"])
	a.refused(422, "validation_failed", "POST", path, a.token, `{}`)
	a.refused(422, "validation_failed", "POST", path, a.token, body+`,"until":"2026-01-01T00:00:00Z"}`)
	a.refused(422, "validation_failed", "POST", path, a.token, body+`,"event_types":["a b"]}`)
	a.refused(404, "not_found", "POST", "/endpoints/"+uuid.NewString()+"/recover", a.token, body+`}`)
	a.refused(401, "unauthorized", "POST", path, "", body+`}`)
}

// count counts deliveries by a condition.
func (p place) count(t *testing.T, condition string) int {
	t.Helper()
	var n int
	p.unfold(t)
	require.NoError(t, p.pool.QueryRow(context.Background(), `select count(*) from hub.deliveries where `+condition).Scan(&n))
	return n
}

// What a dry run promises is sent: deliveries to endpoints that are disabled or deleted, and
// discarded ones, are not promised. A replay of them counts them as failed.
func TestDryRunPromisesWhatIsSent(t *testing.T) {
	t.Parallel()
	a := newPlace(t).start(t, nil).account()
	h := newHook(t, nil)
	kept, off, deleted := a.endpoint(h, `"event_types":["kept"]`), a.endpoint(h, `"event_types":["off"]`), a.endpoint(h, `"event_types":["deleted"]`)
	late := a.endpoint(h, `"event_types":["late"],"enabled":false`)
	for eventType, to := range map[string]string{"kept": kept, "off": off, "deleted": deleted} {
		a.settles(a.publish(eventType, `{}`), to, "delivered")
	}
	discarded := a.settles(a.publish("late", `{}`), late, "parked")["id"].(string)
	a.ok(200, "POST", "/deliveries/"+discarded+"/discard", "")
	a.ok(200, "PUT", "/endpoints/"+late, `{"url":"`+h.url+`","event_types":["late"]}`)
	a.ok(200, "PUT", "/endpoints/"+off, `{"url":"`+h.url+`","event_types":["off"],"enabled":false}`)
	a.ok(204, "DELETE", "/endpoints/"+deleted, "")
	for filter, promised := range map[string]int{
		`"endpoint_id":"` + kept + `"`: 1, `"endpoint_id":"` + off + `"`: 0, `"endpoint_id":"` + deleted + `"`: 0, `"endpoint_id":"` + late + `"`: 0, `"tenant_id":"` + a.tenant + `"`: 1,
	} {
		require.Equal(t, map[string]any{"count": float64(promised)}, a.ok(200, "POST", "/replays", `{"filter":{`+filter+`},"dry_run":true}`), filter)
		ended := a.replayEnds(a.ok(202, "POST", "/replays", `{"filter":{`+filter+`}}`)["id"].(string))
		require.EqualValues(t, promised, ended["delivered"], "%s: %v", filter, ended)
		require.Equal(t, ended["total"], ended["done"], filter)
		require.EqualValues(t, int(ended["done"].(float64))-promised, ended["failed"], filter)
	}
}
