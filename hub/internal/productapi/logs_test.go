package productapi_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// logs reads the tenant's own webhook log as its administrator.
func (o *tenant) logs(query string, headers ...string) []map[string]any {
	o.t.Helper()
	var list []map[string]any
	for _, entry := range o.do(200, "GET", "/webhook-logs"+query, "", headers...).body["items"].([]any) {
		list = append(list, entry.(map[string]any))
	}
	return list
}

// An administrator reads the log of its tenant, in both directions, and of nobody
// else's; test data with X-Environment.
func TestWebhookLogs(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	l := pair(n)
	stranger := pair(n)
	require.Equal(t, 200, stranger.send(envelope(newID(), "board", "note.created", "a stranger's")).status)
	id := newID()
	require.Equal(t, 200, l.send(envelope(id, "board", "note.created", "CPF 529.982.247-25")).status)
	sent := l.publish("hello").body["id"].(string)
	require.Eventually(t, func() bool { return len(l.logs("?direction=outbound&status=delivered")) == 1 }, soon, tick)

	all := l.logs("")
	require.Len(t, all, 2, "newest first, and nothing of the other tenants")
	require.Equal(t, []any{sent, id}, []any{all[0]["event_id"], all[1]["event_id"]})
	// "the same items" as the operators'.
	operators := n.ok(200, "GET", "/api/v1/deliveries?tenant_id="+l.id, "").body["items"].([]any)
	require.Equal(t, operators[0], any(all[0]))
	require.Equal(t, operators[1], any(all[1]))
	require.Equal(t, "CPF ***.***.***-25", all[1]["payload"].(map[string]any)["data"].(map[string]any)["text"])
	for _, field := range []string{"integration_id", "direction", "event_type", "payload", "status_code", "response_body", "delivered", "retries", "created_at"} {
		require.Contains(t, all[1], field, "docs/interfaces/clinic.md")
	}

	since := url.QueryEscape(time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
	for query, want := range map[string][]any{
		"direction=inbound": {id}, "direction=outbound": {sent}, "product=board": {id}, "product=notes": {sent}, "event_type=note.created": {sent, id},
		"event_type=none": nil, "status=parked": nil, "status=delivered&direction=inbound": {id}, "status_code=200": {sent, id}, "status_code=500": nil,
		"correlation_id=c1": {id}, "event_id=" + sent: {sent}, "q=" + id: {id}, "q=c1": {id}, "integration_id=" + l.integration: {sent, id},
		"integration_id=" + stranger.integration: nil, "endpoint_id=" + l.integration: nil, "since=" + since: {sent, id}, "until=" + since: nil,
	} {
		var found []any
		for _, log := range l.logs("?" + query) {
			found = append(found, log["event_id"])
		}
		require.Equal(t, want, found, query)
	}

	first := l.do(200, "GET", "/webhook-logs?limit=1", "")
	require.Len(t, first.body["items"], 1)
	second := l.do(200, "GET", "/webhook-logs?limit=1&cursor="+first.body["next_cursor"].(string), "")
	require.Equal(t, any(all[1]), second.body["items"].([]any)[0])
	require.Nil(t, second.body["next_cursor"])

	// Another tenant's events are not found by name either; its own log has them.
	require.Empty(t, stranger.logs("?event_id="+id))
	require.Len(t, l.peer.logs(""), 1, "what it received, as its own")
	require.Empty(t, l.peer.logs("?tenant_id="+l.id+"&event_id="+id), "a tenant cannot be chosen")

	require.Empty(t, l.logs("", "X-Environment", "test"))
	tests := connectTenants(l.tenant, l.peer, "notes", "X-Environment", "test")
	tried := newID()
	require.Equal(t, 200, tests.send(envelope(tried, "board", "note.created", "a test")).status)
	shown := l.logs("", "X-Environment", "test")
	require.Len(t, shown, 1)
	require.Equal(t, []any{tried, "test"}, []any{shown[0]["event_id"], shown[0]["environment"]})
	require.Len(t, l.logs(""), 2)
}

// What a product could not take in is in the log: not delivered, with the status that the
// peer received; sent again it is the same entry. It cannot be sent again from here.
func TestFailedEventsAreInTheLog(t *testing.T) {
	t.Parallel()
	l := pair(start(t, nil))
	id := newID()
	body := envelope(id, "board", "note.broken", "CPF 529.982.247-25")
	var current answer
	for range 3 {
		current = l.send(body)
		require.Equal(t, 500, current.status)
	}
	for _, query := range []string{"", "?status=failed", "?direction=inbound&status_code=500", "?event_id=" + id} {
		found := l.logs(query)
		require.Len(t, found, 1, query)
		entry := found[0]
		require.Equal(t, []any{id, "inbound", "failed", "handle_failed", false, l.integration}, []any{
			entry["event_id"], entry["direction"], entry["status"], entry["reason"], entry["delivered"], entry["integration_id"],
		})
		require.EqualValues(t, 500, entry["status_code"])
		require.EqualValues(t, 2, entry["retries"])
		require.JSONEq(t, current.text, entry["response_body"].(string), "as the peer received it the last time")
		require.Equal(t, "CPF ***.***.***-25", entry["payload"].(map[string]any)["data"].(map[string]any)["text"])
		refused(t, 409, "received_delivery", call(t, "POST", l.url+"/api/v1/deliveries/"+entry["id"].(string)+"/retry", "", bearer(l.token)...))
	}
	require.Empty(t, l.logs("?status=delivered"))
	require.Empty(t, l.notes())

	// Its sender corrects it: it had no effect before. Now it has, and its id is used up.
	require.Equal(t, "accepted", l.send(envelope(id, "board", "note.created", "other")).body["status"])
	require.Equal(t, []string{"other"}, l.notes())
	refused(t, 409, "event_id_reused", l.send(envelope(id, "board", "note.created", "a third")))
	require.Len(t, l.logs("?event_id="+id), 2, "as it failed, and as it was corrected")
	require.Len(t, l.logs("?status=delivered&event_id="+id), 1)
}

func TestWebhookLogsRefuse(t *testing.T) {
	t.Parallel()
	l := pair(start(t, nil))
	path := l.integrations() + "/webhook-logs"
	refused(t, 401, "unauthorized", call(t, "GET", path, ""))
	refused(t, 401, "unauthorized", call(t, "GET", path, "", withKey(l.key)...))
	refused(t, 403, "admin_only", call(t, "GET", path, "", bearer(l.staff)...))
	for _, query := range []string{
		"cursor=x", "cursor=AAAA", "limit=0", "limit=201", "direction=up", "status=lost", "status_code=1000", "event_id=evt_1",
		"integration_id=1", "since=yesterday", "until=0001-02-03T00:00:00Z",
	} {
		require.Equal(t, 422, l.do(422, "GET", "/webhook-logs?"+query, "").status, query)
	}
	l.do(400, "GET", "/webhook-logs?q=%00", "")
	l.do(422, "GET", "/webhook-logs", "", "X-Environment", "both")
}
