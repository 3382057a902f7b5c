package productapi_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// waitForLog waits for an entry of the tenant's own log and returns it.
func (o *tenant) waitForLog(query string) map[string]any {
	o.t.Helper()
	var found []map[string]any
	require.Eventually(o.t, func() bool { found = o.logs(query); return len(found) == 1 }, soon, tick)
	return found[0]
}

// An administrator sees an entry of the own log with its attempts and sends it again;
// another tenant's, and the other environment's, is not there.
func TestWebhookLogDetailAndRetry(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	l, stranger := pair(n), pair(n)
	require.Equal(t, 202, l.publish("hello 529.982.247-25").status)
	sent := l.waitForLog("?direction=outbound&status=delivered")
	id := sent["id"].(string)
	detail := l.do(200, "GET", "/webhook-logs/"+id, "")
	require.Equal(t, n.ok(200, "GET", "/api/v1/deliveries/"+id, "").body, detail.body, "as operators see it")
	attempts := detail.body["attempts"].([]any)
	require.Len(t, attempts, 1)
	require.Equal(t, "***", attempts[0].(map[string]any)["request_headers"].(map[string]any)["X-Integration-Key"])
	for _, secret := range []string{l.key, l.secret, "529.982.247-25"} {
		require.NotContains(t, detail.text, secret)
	}

	// Sent again it is the same delivery, with an attempt more; the peer takes it once.
	retried := l.do(202, "POST", "/webhook-logs/"+id+"/retry", "")
	require.Equal(t, map[string]any{"id": id, "status": "pending"}, retried.body)
	require.Eventually(t, func() bool {
		return len(l.do(200, "GET", "/webhook-logs/"+id, "").body["attempts"].([]any)) == 2
	}, soon, tick)
	require.Equal(t, []string{"hello 529.982.247-25"}, l.peer.notes())

	require.Equal(t, 200, l.send(envelope(newID(), "board", "note.created", "received")).status)
	received := l.waitForLog("?direction=inbound")["id"].(string)
	l.do(200, "GET", "/webhook-logs/"+received, "")
	refused(t, 409, "received_delivery", l.do(409, "POST", "/webhook-logs/"+received+"/retry", ""))

	for _, call := range []struct{ method, path string }{{"GET", "/webhook-logs/" + id}, {"POST", "/webhook-logs/" + id + "/retry"}} {
		refused(t, 404, "not_found", stranger.do(404, call.method, call.path, ""))
		refused(t, 404, "not_found", l.do(404, call.method, call.path, "", "X-Environment", "test"))
		refused(t, 404, "not_found", l.do(404, call.method, strings.Replace(call.path, id, stranger.id, 1), ""))
		l.do(422, call.method, strings.Replace(call.path, id, "7", 1), "")
		refuseToStaffAndKeys(t, l, call.method, call.path)
	}
	require.Len(t, l.do(200, "GET", "/webhook-logs/"+id, "").body["attempts"], 2, "nothing was sent")
	actions := l.do(200, "GET", "/audit-log", "").text
	require.Contains(t, actions, "webhook-logs.get")
	require.Contains(t, actions, "webhook-logs.retry")
}

// refuseToStaffAndKeys requires that only administrators may call an operation.
func refuseToStaffAndKeys(t *testing.T, l *link, method, path string) {
	t.Helper()
	refused(t, 403, "admin_only", call(t, method, l.integrations()+path, "", bearer(l.staff)...))
	refused(t, 401, "unauthorized", call(t, method, l.integrations()+path, "", withKey(l.key)...))
	refused(t, 401, "unauthorized", call(t, method, l.integrations()+path, ""))
}

// An administrator pauses an integration of the own tenant and resumes it: what was
// published meanwhile is parked, and sent then.
func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	l, stranger := pair(n), pair(n)
	path := "/" + l.integration
	for _, action := range []string{"/disable", "/enable"} {
		stranger.do(404, "POST", path+action, "")
		l.do(404, "POST", path+action, "", "X-Environment", "test")
		refuseToStaffAndKeys(t, l, "POST", path+action)
	}
	require.Equal(t, "active", l.only()["status"])

	paused := l.do(200, "POST", path+"/disable", "").body
	require.Equal(t, []any{"inactive", true, l.integration}, []any{paused["status"], paused["disabled"], paused["id"]})
	require.Equal(t, true, l.do(200, "POST", path+"/disable", "").body["disabled"], "once more changes nothing")
	refused(t, 403, "integration_inactive", l.send(envelope(newID(), "board", "note.created", "not now")))
	require.Equal(t, 202, l.publish("while paused").status)
	parked := l.waitForLog("?direction=outbound&status=parked")
	require.Empty(t, l.peer.notes())

	resumed := l.do(200, "POST", path+"/enable", "").body
	require.Equal(t, []any{"active", false}, []any{resumed["status"], resumed["disabled"]})
	require.Eventually(t, func() bool { return len(l.peer.notes()) == 1 }, soon, tick)
	require.Equal(t, parked["id"], l.waitForLog("?direction=outbound&status=delivered")["id"])
	require.Equal(t, "active", l.do(200, "POST", path+"/enable", "").body["status"])

	l.do(200, "DELETE", path, "")
	refused(t, 409, "integration_revoked", l.do(409, "POST", path+"/enable", ""))
	refused(t, 409, "integration_revoked", l.do(409, "POST", path+"/disable", ""))
}

// A signed webhook that is refused stands in the log, each time, with the answer; one with
// a wrong signature does not. The event may come again, corrected.
func TestRefusedWebhooksAreInTheLog(t *testing.T) {
	t.Parallel()
	l := pair(start(t, nil))
	id := newID()
	long := `{"text":"` + strings.Repeat("x", 100<<10) + `"}`
	for _, c := range []struct {
		name, body, code, event, eventType string
		status                             int
	}{
		{"twice the same member", `{"id":"` + id + `","id":"` + id + `"}`, "json_duplicate_key", id, "", 400},
		{"no JSON", `{"id":` + "\xff", "json_syntax", "", "", 400},
		{"a wrong id", envelope("evt_1", "board", "note.created", "x"), "validation_failed", "", "note.created", 422},
		{"another product's", envelope(id, "clinic", "note.created", "CPF 529.982.247-25"), "wrong_product", id, "note.created", 403},
		{"too old", strings.Replace(envelope(id, "board", "note.created", "x"), `"timestamp":"20`, `"timestamp":"19`, 1), "event_too_old", id, "note.created", 400},
		{"long", strings.Replace(envelope(id, "clinic", "note.created", ""), `{"text":""}`, long, 1), "wrong_product", id, "note.created", 403},
	} {
		before := len(l.logs("?limit=200"))
		got := l.send(c.body)
		refused(t, c.status, c.code, got)
		logs := l.logs("?limit=200")
		require.Len(t, logs, before+1, c.name)
		entry := logs[0]
		require.Equal(t, []any{"inbound", "failed", "refused", false, float64(c.status), l.integration, c.event, c.eventType, "board"}, []any{
			entry["direction"], entry["status"], entry["reason"], entry["delivered"], entry["status_code"], entry["integration_id"],
			entry["event_id"], entry["event_type"], entry["product"],
		}, c.name)
		require.JSONEq(t, got.text, entry["response_body"].(string), c.name)
		require.NotContains(t, l.do(200, "GET", "/webhook-logs?limit=200", "").text, "529.982.247-25")
		detail := l.do(200, "GET", "/webhook-logs/"+entry["id"].(string), "")
		require.Less(t, len(detail.text), 20<<10)
		refused(t, 409, "received_delivery", l.do(409, "POST", "/webhook-logs/"+entry["id"].(string)+"/retry", ""))
	}
	require.Len(t, l.logs("?event_id="+id), 4)
	require.Len(t, l.logs("?q="+id), 4)
	require.Empty(t, l.peer.logs("?event_id="+id+"&direction=inbound"), "another tenant does not see them")

	before := len(l.logs("?limit=200"))
	body := envelope(id, "board", "note.created", "at last")
	refused(t, 401, "invalid_signature", call(t, "POST", l.integrations()+"/webhook", body, "X-Integration-Key", l.key, "X-Webhook-Signature", sign("wrong", body)))
	require.Len(t, l.logs("?limit=200"), before, "strangers do not fill the log")
	require.Equal(t, "accepted", l.send(body).body["status"], "the id was not taken")
	refused(t, 409, "event_id_reused", l.send(envelope(id, "board", "note.created", "another")))
	require.Len(t, l.logs("?status_code=409"), 1)
	require.Equal(t, []string{"at last"}, l.notes())
	require.Len(t, l.logs("?event_id="+id), 6)
	events := l.ok(200, "GET", "/api/v1/events/"+id, "").body
	require.Contains(t, events["payload"].(map[string]any)["data"].(map[string]any)["text"], "at last", "the event is the accepted one")
}

// The log is searched by phone number, in both directions, in any spelling and page by
// page. Other tenants' events and test data are not found, nor what was erased.
func TestWebhookLogsByPhone(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	l, stranger := pair(n), pair(n)
	eventAbout := func(id, phone string) string {
		return strings.Replace(envelope(id, "board", "note.created", ""), `{"text":""}`, `{"text":"x","client_phone":"`+phone+`"}`, 1)
	}
	first, second, other, foreign := newID(), newID(), newID(), newID()
	for _, event := range []struct{ id, phone string }{{first, "+5511987654321"}, {other, "+5511912345678"}, {second, "(11) 8765-4321"}} {
		require.Equal(t, 200, l.send(eventAbout(event.id, event.phone)).status)
	}
	require.Equal(t, 200, stranger.send(eventAbout(foreign, "+5511987654321")).status)
	refused(t, 403, "wrong_product", l.send(strings.Replace(eventAbout(newID(), "+5511987654321"), `"product":"board"`, `"product":"clinic"`, 1)))
	published := call(t, "POST", l.base+"/api/v1/publish", `{"author":"+5511987654321","text":"sent"}`, bearer(l.admin)...)
	require.Equal(t, 202, published.status, published.text)
	search := func(query string) (ids []any) {
		for _, entry := range l.logs("?limit=200&phone=" + query) {
			ids = append(ids, entry["event_id"])
		}
		return ids
	}
	for _, spelling := range []string{"+5511987654321", "11 98765-4321", "+551187654321"} {
		found := search(url.QueryEscape(spelling))
		require.Len(t, found, 4, spelling)
		require.Equal(t, []any{published.body["id"], second, first}, []any{found[0], found[2], found[3]}, spelling)
	}
	require.Len(t, search("+5511987654321"), 4, "a plus that was sent as it is")
	require.Equal(t, []any{other}, search("11912345678"))
	require.Empty(t, search("11900000000"))
	require.Equal(t, []any{second, first}, search("11987654321&direction=inbound&status=delivered"))
	require.Empty(t, search("11987654321&event_type=note.seen"))
	require.Empty(t, l.logs("?phone=11987654321", "X-Environment", "test"))

	var paged []any
	for cursor := ""; ; {
		page := l.do(200, "GET", "/webhook-logs?limit=1&phone=11987654321"+cursor, "")
		require.Len(t, page.body["items"], 1)
		paged = append(paged, page.body["items"].([]any)[0].(map[string]any)["event_id"])
		next, more := page.body["next_cursor"].(string)
		if !more {
			break
		}
		cursor = "&cursor=" + next
	}
	require.Equal(t, search("11987654321"), paged)
	for _, bad := range []string{"tomorrow", "98765-4321", "1", strings.Repeat("1", 41)} {
		l.do(422, "GET", "/webhook-logs?phone="+url.QueryEscape(bad), "")
	}

	require.Equal(t, 200, l.send(deleted(newID(), "board")).status)
	n.erasures(1)
	for _, entry := range l.logs("?phone=11987654321") {
		require.Equal(t, map[string]any{"erased": true}, entry["payload"], "no entry leads from the number to an erased event")
		require.Fail(t, "the number of an erased person is found")
	}
	require.Equal(t, []any{other}, search("11912345678"))
	var left int
	require.NoError(t, n.db.QueryRow(t.Context(), `select count(*) from hub.events where body = '{"erased":true}' and subjects is not null`).Scan(&left))
	require.Zero(t, left)
	require.Len(t, stranger.logs("?phone=11987654321"), 1)
}
