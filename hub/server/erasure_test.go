package server_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
	"integrationhub/hub/hubtest"
)

// The patient whose data is erased in these tests.
const (
	mariaID    = "0198c9a0-1111-7222-8333-444455556666"
	mariaName  = "Maria Aparecida"
	mariaEmail = "maria.aparecida@example.com"
	mariaIs    = `{"patient_id":"` + mariaID + `","phone":"+5511987654321","email":"` + mariaEmail + `","deletion_request_id":"r-1","requested_at":"2026-11-20T12:00:00Z"}`
)

var erasedPayload = map[string]any{"erased": true}

// echo responds with data of the deleted person: responses may hold it too.
func echo(status int) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, r *http.Request, _ int) {
		w.Header().Set("X-About", mariaName+" "+mariaEmail)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"got":"`+mariaName+`","email":"`+mariaEmail+`","path":"`+r.URL.Path+`"}`)
	}
}

// putOff returns a respond that answers 503 until its switch is set.
func putOff(after string, open *atomic.Bool) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) {
		if !open.Load() {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(503)
		}
	}
}

// erased waits until nothing of a person is left but the deletion event; finished, until
// that is gone too.
func (p place) erased(t *testing.T, n int, finished bool) {
	t.Helper()
	moment := "erased_at"
	if finished {
		moment = "finished_at"
	}
	require.Eventually(t, func() bool {
		var done int
		require.NoError(t, p.pool.QueryRow(context.Background(), `select count(*) from hub.erasures where `+moment+` is not null`).Scan(&done))
		return done == n
	}, 2*soon, 5*tick, moment)
}

// "Erasure of a person (`patient.deleted`): payloads of finished deliveries about them
// become {"erased":true}, waiting ones become `failed` with reason `erased`, only the
// deletion event itself still goes out; retrying an erased one is 409." "After a deletion
// request is finished, name, phone and e-mail are in no table but the unacknowledged
// deletion event."
func TestErasure(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, nil)
	a, other := n.account(), n.account()
	var open, acknowledged atomic.Bool
	done, gone, busy := newHook(t, echo(200)), newHook(t, echo(410)), newHook(t, putOff("600", &open))
	deletions := newHook(t, putOff("1", &acknowledged))
	endpoint := a.endpoint(done, `"event_types":["patient.created","appointment.*","message.*","payment.*"]`)
	goneTo, busyTo := a.endpoint(gone, `"event_types":["parked.*"]`), a.endpoint(busy, `"event_types":["waiting.*"]`)
	deletionsTo := a.endpoint(deletions, `"event_types":["patient.deleted"]`)
	theirs := other.endpoint(newHook(t, nil), "")
	tests := newHook(t, nil)
	testsTo := a.endpoint(tests, `"environment":"test"`)

	mentions := []string{
		a.publish("patient.created", `{"name":"`+mariaName+`","phone":"+5511987654321","email":"`+strings.ToUpper(mariaEmail)+`"}`),
		a.publish("appointment.created", `{"client_name":"`+mariaName+`","client_phone":"1187654321"}`), // before the ninth digit
		a.publish("payment.received", `{"patient_id":"`+mariaID+`","description":"`+mariaName+`"}`),
		a.ok(202, "POST", "/events", `{"event_type":"message.sent","data":{"to":"`+mariaName+`"},"correlation_id":"5511987654321"}`, a.live)["id"].(string),
	}
	keyed := a.call("POST", "/events", a.live, `{"event_type":"message.sent","data":{"to":5511987654321}}`, "Idempotency-Key", mariaEmail)
	mentions = append(mentions, keyed.body["id"].(string))
	nobody := a.publish("nobody.wants", `{"name":"`+mariaName+`","email":"`+mariaEmail+`"}`)
	bystander := a.publish("message.sent", `{"to":"João","phone":"11912345678"}`) // answered with what is about her
	parked := a.publish("parked.event", `{"client_phone":"(11) 98765-4321","name":"`+mariaName+`"}`)
	waiting := a.publish("waiting.event", `{"text":"ring `+mariaName+` at 11 98765-4321"}`)
	kept := a.publish("waiting.event", `{"text":"ring João"}`)
	theirEvent := other.publish("message.sent", `{"name":"Outra","phone":"+55 (11) 98765-4321"}`)
	testEvent := a.ok(202, "POST", "/events", `{"event_type":"a.b","data":{"phone":"+55 (11) 98765-4321"}}`, a.test)["id"].(string)
	for _, id := range append(mentions, bystander) {
		a.settles(id, endpoint, "delivered")
	}
	a.settles(parked, goneTo, "parked")
	busy.wait(2)
	other.settles(theirEvent, theirs, "delivered")
	a.settles(testEvent, testsTo, "delivered")

	deletion := a.publish("patient.deleted", mariaIs)
	p.erased(t, 1, false)
	failed := 0
	for _, id := range mentions {
		detail := a.delivery(id, endpoint)
		require.Equal(t, erasedPayload, detail["payload"])
		require.Equal(t, "delivered", detail["status"], "what was delivered stays so")
		require.Equal(t, `{"erased":true}`, detail["response_body"])
		require.Empty(t, attemptsOf(detail)[0]["response_headers"])
		require.Equal(t, erasedPayload, a.ok(200, "GET", "/events/"+id, "")["payload"])
		a.refused(409, "erased", "POST", "/deliveries/"+detail["id"].(string)+"/retry", a.token, "")
	}
	for id, to := range map[string]string{parked: goneTo, waiting: busyTo} {
		detail := a.delivery(id, to)
		require.Equal(t, erasedPayload, detail["payload"])
		require.Equal(t, "failed", detail["status"])
		require.Equal(t, "erased", detail["reason"])
		require.Nil(t, detail["next_attempt_at"])
		require.NotNil(t, detail["finished_at"])
		a.refused(409, "erased", "POST", "/deliveries/"+detail["id"].(string)+"/retry", a.token, "")
		failed++
	}
	require.Equal(t, erasedPayload, a.ok(200, "GET", "/events/"+nobody, "")["payload"])
	require.Nil(t, a.ok(200, "GET", "/events/"+mentions[3], "")["correlation_id"], "it is her number")

	for id, to := range map[string]string{theirEvent: theirs, testEvent: testsTo} {
		require.Contains(t, n.delivery(id, to)["payload"].(map[string]any)["data"].(map[string]any)["phone"], "98765-4321", "others' are left alone")
	}
	detail := a.delivery(bystander, endpoint)
	require.Equal(t, "João", detail["payload"].(map[string]any)["data"].(map[string]any)["to"], "he is somebody else")
	require.Equal(t, `{"erased":true}`, detail["response_body"], "but the answer was about her")
	require.Equal(t, "pending", a.delivery(kept, busyTo)["status"])

	// All that is left is the deletion event, until its receiver has it.
	detail = a.delivery(deletion, deletionsTo)
	require.Equal(t, "pending", detail["status"])
	require.Equal(t, mariaEmail, detail["payload"].(map[string]any)["data"].(map[string]any)["email"])
	for _, needle := range []string{mariaEmail, "11987654321", mariaID} {
		found := hubtest.FindInDatabase(t, p.database, needle)
		require.Len(t, found, 1, needle)
		require.Regexp(t, `^hub\.events_p\d{8}\.body$`, found[0])
	}
	require.Empty(t, hubtest.FindInDatabase(t, p.database, mariaName))
	acknowledged.Store(true)
	p.erased(t, 1, true)
	got := deletions.arrivals()
	require.Contains(t, string(got[len(got)-1].body), mariaEmail, "it goes out as it was published")
	a.settles(deletion, deletionsTo, "delivered")
	require.Equal(t, erasedPayload, a.ok(200, "GET", "/events/"+deletion, "")["payload"])
	for _, needle := range []string{mariaName, mariaEmail, "11987654321", "1187654321", mariaID} {
		require.Empty(t, hubtest.FindInDatabase(t, p.database, needle), needle)
		require.NotContains(t, n.log.String(), needle)
	}

	// Nobody sends what was erased, whoever asks; what is new is delivered.
	a.ok(200, "PUT", "/endpoints/"+goneTo, `{"url":"`+gone.url+`","event_types":["parked.*"],"enabled":true}`)
	open.Store(true)
	a.ok(202, "POST", "/deliveries/"+a.delivery(kept, busyTo)["id"].(string)+"/retry", "")
	a.settles(kept, busyTo, "delivered")
	replay := a.replayEnds(a.ok(202, "POST", "/replays", `{"filter":{"tenant_id":"`+a.tenant+`","environment":"live"}}`)["id"].(string))
	require.Equal(t, "done", replay["status"])
	require.EqualValues(t, 2, replay["delivered"], "%v: those of the bystander and of the one that was kept", replay)
	require.EqualValues(t, len(mentions)+3, replay["failed"], "%v: the erased ones, and the deletion itself", replay)
	again := a.publish("message.sent", `{"name":"`+mariaName+`","phone":"+5511987654321"}`)
	a.settles(again, endpoint, "delivered")
	require.Equal(t, mariaName, a.delivery(again, endpoint)["payload"].(map[string]any)["data"].(map[string]any)["name"], "she came back")
	require.Len(t, gone.arrivals(), 1)
	require.Zero(t, busy.times()[waiting]-1, "only the attempt before")
	repeated := a.call("POST", "/events", a.live, `{"event_type":"patient.deleted","data":`+mariaIs+`}`)
	require.Equal(t, 202, repeated.status)
	p.erased(t, 2, true)
	require.Equal(t, erasedPayload, a.delivery(again, endpoint)["payload"])

	p.balance(t)
	require.Contains(t, a.call("GET", "/metrics", "", "").text, "\nhub_erasures_total 2\n")
	entries := items(a.ok(200, "GET", "/audit?action=payloads.erase", ""))
	require.Len(t, entries, 2)
	require.Equal(t, deletion, entries[1]["resource_id"])
	require.Equal(t, a.tenant, entries[1]["tenant_id"])
	require.Contains(t, n.log.String(), `"payloads":8,"deliveries_failed":2`)
	total := 0
	for _, bucket := range items(a.ok(200, "GET", "/stats?bucket=30m", "")) {
		total += int(bucket["failed"].(float64))
	}
	require.Equal(t, failed, total, "the statistics have them as failed")

	// A retry was asked for at the very moment of the erasure: it is pending, and not sent.
	_, err := p.pool.Exec(context.Background(), `
		update hub.deliveries set status = 0, reason = null, due_at = now(), round_at = now() where id = $1`, a.delivery(parked, goneTo)["id"])
	require.NoError(t, err)
	require.Equal(t, "erased", a.settles(parked, goneTo, "failed")["reason"])
	require.Len(t, gone.arrivals(), 1)
	p.balance(t)
}

// "… waiting ones become failed": also those that a process has leased. The attempt
// under way is not cut off; what is queued behind it is not sent any more.
func TestErasureOfDeliveriesInProgress(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, func(c *config.Config) { c.EndpointConcurrency = 1 })
	a := n.account()
	release := make(chan struct{})
	h := newHook(t, func(w http.ResponseWriter, r *http.Request, i int) {
		if hanging(release)(w, r, i); i == 1 {
			echo(200)(w, r, i)
		}
	})
	endpoint := a.endpoint(h, `"event_types":["a.b"]`)
	var ids []string
	for range 4 {
		ids = append(ids, a.publish("a.b", `{"phone":"11987654321","name":"`+mariaName+`"}`))
	}
	last := a.publish("a.b", `{"name":"João"}`)
	h.wait(1)
	a.publish("patient.deleted", mariaIs)
	require.Eventually(t, func() bool {
		var held int
		require.NoError(t, p.pool.QueryRow(context.Background(), `select coalesce(sum(cardinality(held)), 0) from hub.erasures`).Scan(&held))
		return held == len(ids)
	}, soon, tick, "they are in hand")
	require.Eventually(t, func() bool {
		return assert.ObjectsAreEqual(erasedPayload, a.delivery(ids[1], endpoint)["payload"])
	}, soon, tick)
	for _, id := range ids[1:] { // without waiting for the attempt under way
		require.Equal(t, "erased", a.settles(id, endpoint, "failed")["reason"])
	}
	close(release)
	p.erased(t, 1, true)
	first := a.delivery(ids[0], endpoint)
	require.Equal(t, "delivered", first["status"], "its attempt was under way")
	require.Equal(t, `{"erased":true}`, first["response_body"])
	for _, id := range ids[1:] {
		require.Empty(t, attemptsOf(a.delivery(id, endpoint)))
	}
	a.settles(last, endpoint, "delivered")
	require.Len(t, h.arrivals(), 2)
	for _, needle := range []string{mariaName, mariaEmail, "11987654321"} {
		require.Empty(t, hubtest.FindInDatabase(t, p.database, needle), needle)
	}
	p.balance(t)
}

// What nobody took in hand yet, because the process that accepted it died, is not sent by
// whoever takes it over.
func TestErasureOfWhatAProcessLeft(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, nil)
	a := n.account()
	h := newHook(t, nil)
	endpoint := a.endpoint(h, `"event_types":["a.b"]`)
	release := make(chan struct{})
	h.respond = hanging(release)
	id := a.publish("a.b", `{"phone":"11987654321"}`)
	h.wait(1)
	p.unfold(t)
	n.stop() // its attempt is not recorded
	close(release)
	leaseEndsIn := func(interval string) {
		_, err := p.pool.Exec(context.Background(), `update hub.deliveries set due_at = now() + $1::interval where status = 0`, interval)
		require.NoError(t, err)
	}
	leaseEndsIn("1 hour")
	second := p.start(t, nil)
	second.ok(200, "GET", "/deliveries", "")
	a.node = second
	a.publish("patient.deleted", mariaIs)
	require.Eventually(t, func() bool {
		var held int
		require.NoError(t, p.pool.QueryRow(context.Background(), `select coalesce(sum(cardinality(held)), 0) from hub.erasures`).Scan(&held))
		return held == 1
	}, soon, tick, "the erasure waits for it")
	require.Eventually(t, func() bool { // it is noted as waited for first: an attempt of the moment between still sends it
		return assert.ObjectsAreEqual(erasedPayload, a.delivery(id, endpoint)["payload"])
	}, soon, tick)
	leaseEndsIn("0 seconds")
	p.erased(t, 1, true)
	detail := a.delivery(id, endpoint)
	require.Equal(t, "failed", detail["status"])
	require.Equal(t, "erased", detail["reason"])
	require.Len(t, h.arrivals(), 1)
	p.balance(t)
}

// A deletion event that is parked keeps what its receiver has to know, and goes out when
// it is asked for.
func TestDeletionEventWaitsInThePark(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	var well atomic.Bool
	both := make(chan struct{})
	h := newHook(t, func(w http.ResponseWriter, r *http.Request, n int) {
		hanging(both)(w, r, n)
		if !well.Load() {
			w.WriteHeader(410)
		}
	})
	endpoint := a.endpoint(h, "")
	deletion, again := a.publish("patient.deleted", mariaIs), a.publish("patient.deleted", mariaIs)
	close(both)
	parked := a.settles(deletion, endpoint, "parked")
	a.settles(again, endpoint, "parked")
	p.erased(t, 2, false)
	require.Equal(t, mariaEmail, a.delivery(deletion, endpoint)["payload"].(map[string]any)["data"].(map[string]any)["email"])

	a.account().publish("patient.deleted", mariaIs) // which nobody gets
	p.erased(t, 1, true)

	well.Store(true)
	a.ok(200, "PUT", "/endpoints/"+endpoint, `{"url":"`+h.url+`","event_types":["*"],"enabled":true}`)
	for _, id := range []string{parked["id"].(string), a.delivery(again, endpoint)["id"].(string)} {
		a.ok(202, "POST", "/deliveries/"+id+"/retry", "")
	}
	_, err := p.pool.Exec(context.Background(), `update hub.erasures set due_at = now()`) // it looks less and less often
	require.NoError(t, err)
	p.erased(t, 3, true)
	got := h.arrivals()
	require.Contains(t, string(got[len(got)-1].body), mariaEmail)
	a.refused(409, "erased", "POST", "/deliveries/"+parked["id"].(string)+"/retry", a.token, "")
	p.balance(t)
}

// A delivery that settles while a step of the erasure runs keeps no answer.
func TestErasureOfAnAnswerDuringAStep(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, nil)
	a := n.account()
	release := make(chan struct{})
	h := newHook(t, func(w http.ResponseWriter, r *http.Request, i int) {
		hanging(release)(w, r, i)
		echo(200)(w, r, i)
	})
	endpoint := a.endpoint(h, `"event_types":["a.b"]`)
	keyed := a.call("POST", "/events", a.live, `{"event_type":"a.b","data":{"email":"`+mariaEmail+`"}}`, "Idempotency-Key", mariaEmail)
	require.Equal(t, 202, keyed.status, keyed.text)
	named := keyed.body["id"].(string)
	h.wait(1)

	// The step waits for this row after it has erased the answers that there were.
	ctx := context.Background()
	tx, err := p.pool.Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(ctx) // after the commit below there is nothing to roll back
	tag, err := tx.Exec(ctx, `update hub.idempotency set key = key`)
	require.NoError(t, err)
	require.EqualValues(t, 1, tag.RowsAffected())
	a.publish("patient.deleted", mariaIs)
	require.Eventually(t, func() bool {
		var waiting int
		require.NoError(t, p.pool.QueryRow(ctx, `select count(*) from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock' and query like '%hub.idempotency%'`).Scan(&waiting))
		return waiting == 1
	}, soon, tick)
	close(release)
	a.settles(named, endpoint, "delivered")
	require.NoError(t, tx.Commit(ctx))

	p.erased(t, 1, true)
	require.Equal(t, `{"erased":true}`, a.delivery(named, endpoint)["response_body"])
	require.Empty(t, hubtest.FindInDatabase(t, p.database, mariaEmail))
}
