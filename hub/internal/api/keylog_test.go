package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// logRoutes are the operations of the log that keys may call, by scope. Of the ids, E is an
// event, D a delivery, R a replay, X an endpoint.
var logRoutes = map[string][]struct {
	method, path, body string
	status             int // for its own tenant
}{
	"deliveries.read": {
		{"GET", "/events", "", 200},
		{"GET", "/events/E", "", 200},
		{"GET", "/events/stream", "", 200},
		{"GET", "/deliveries", "", 200},
		{"GET", "/deliveries/D", "", 200},
		{"GET", "/replays", "", 200},
		{"GET", "/replays/R", "", 200},
	},
	"deliveries.retry": {
		{"POST", "/replays", `{"filter":{"event_id":"E"},"dry_run":true}`, 200},
		{"POST", "/replays", `{"filter":{"event_type":"none"}}`, 202},
		{"POST", "/replays/R/cancel", "", 200},
		{"POST", "/endpoints/X/recover", `{"since":"2026-01-02T03:04:05Z","dry_run":true}`, 200},
		{"POST", "/endpoints/X/recover", `{"since":"2026-01-02T03:04:05Z"}`, 202},
		{"POST", "/deliveries/D/retry", "", 202},
	},
}

// logOf is what a tenant has in the log: an event with its delivery, an endpoint, a replay.
type logOf struct{ read, retry, event, delivery, endpoint, replay string }

func (b *bundle) logOf(i int, environment string) logOf {
	b.t.Helper()
	scope := func(list string) string {
		return b.key(b.tenant[i], `"environment":"`+environment+`","scopes":[`+list+`]`)
	}
	l := logOf{read: scope(`"deliveries.read"`), retry: scope(`"deliveries.retry"`)}
	publisher := map[string]string{"live": b.live[i], "test": b.test[i]}[environment]
	l.endpoint = b.endpoint(publisher, anywhere)["id"].(string)
	l.event = b.publish(publisher, "a.b", `{"of":"`+fmt.Sprint(i)+environment+`"}`)
	l.delivery = b.settled(l.event, "delivered")["id"].(string)
	l.replay = b.ok(202, "POST", "/replays", l.retry, `{"filter":{"event_type":"some"}}`)["id"].(string)
	return l
}

func (l logOf) fill(text string, of logOf) string {
	return strings.NewReplacer("/E", "/"+of.event, `"E"`, `"`+of.event+`"`, "/D", "/"+of.delivery, "/R", "/"+of.replay, "/X", "/"+of.endpoint).Replace(text)
}

// A key with a scope of the log may call its operations, about its tenant and environment, and
// no other: without the scope it is refused by name, and what is another tenant's or of the
// other environment does not exist.
func TestLogScopes(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	own, foreign, test := b.logOf(0, "live"), b.logOf(1, "live"), b.logOf(0, "test")
	unlimited := b.ok(201, "POST", "/keys", b.admin, `{"tenant_id":"`+b.tenant[0].String()+`","rate":"0"}`)
	require.NotContains(t, unlimited["scopes"], "deliveries.read", "a key without a list has no scope of the log")
	require.NotContains(t, unlimited["scopes"], "deliveries.retry")
	without := unlimited["api_key"].(string)
	none := b.key(b.tenant[0], `"scopes":[],"rate":"0"`)
	for scope, routes := range logRoutes {
		key, other := own.read, own.retry
		if scope == "deliveries.retry" {
			key, other = other, key
		}
		for _, route := range routes {
			what := route.method + " " + route.path
			path, body := own.fill(route.path, own), own.fill(route.body, own)
			for name, lacking := range map[string]string{"without a list": without, "of none": none, "of the other scope": other} {
				got := b.refused(403, "missing_scope", route.method, path, lacking, body)
				require.Contains(t, got.body["detail"], scope, "%s by a key %s", what, name)
			}
			for _, of := range []logOf{foreign, test} {
				path, body := own.fill(route.path, of), own.fill(route.body, of)
				switch {
				case path != route.path:
					b.refused(404, "not_found", route.method, path, key, body)
				case body != route.body:
					require.Zero(t, b.ok(200, route.method, path, key, body)["count"], what)
				}
			}
			got := b.call(route.method, path, key, body)
			require.Equal(t, route.status, got.status, "%s: %s", what, got.text)
			for _, of := range []logOf{foreign, test} {
				for _, id := range []string{of.event, of.delivery, of.endpoint, of.replay, supportEmail, adminEmail} {
					require.NotContains(t, got.text, id, what)
				}
			}
		}
	}
	require.Equal(t, "running", b.ok(200, "GET", "/replays/"+foreign.replay, b.admin, "")["status"], "nobody else's was cancelled")
	require.Equal(t, "running", b.ok(200, "GET", "/replays/"+test.replay, b.admin, "")["status"])
	require.Equal(t, "delivered", b.ok(200, "GET", "/deliveries/"+foreign.delivery, b.admin, "")["status"], "nobody else's was sent again")
	for _, path := range []string{"/stats", "/stats/backlog", "/stats/receivers", "/audit", "/lookup?phone=11912345678", "/tenants", "/keys"} {
		require.Equal(t, 401, b.call("GET", path, own.read, "").status, path)
	}
	b.refused(401, "unauthorized", "POST", "/deliveries/"+own.delivery+"/discard", own.retry, "")
}

// A key reads with the filters that operators have, of its own: another tenant and the other
// environment do not exist, and receivers, events, cursors and words of others match nothing.
func TestKeysFilterTheirLog(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	own, foreign, test := b.logOf(0, "live"), b.logOf(1, "live"), b.logOf(0, "test")
	b.clock.Advance(time.Second) // ids are ordered by it
	second := b.publish(b.live[0], "c.d", `{}`, "Idempotency-Key", "x")
	b.settled(second, "delivered")
	ids := func(path string) (list []any) {
		for _, item := range items(b.ok(200, "GET", path, own.read, "")) {
			list = append(list, item["id"])
		}
		return list
	}
	require.Equal(t, []any{second, own.event}, ids("/events"))
	require.Equal(t, []any{second, own.event}, ids("/events?environment=live&tenant_id="+b.tenant[0].String()))
	require.Len(t, ids("/deliveries"), 2)
	for filter, count := range map[string]int{
		"tenant_id=" + b.tenant[0].String(): 2, "environment=live": 2, "product=shop": 2, "product=hub": 0, "product=other": 0, "event_type=a.b": 1, "status=delivered": 2,
		"status=pending": 0, "status=failing": 0, "status_code=200": 2, "direction=outbound": 2, "direction=inbound": 0, "event_id=" + own.event: 1, "q=" + own.delivery: 1,
		"endpoint_id=" + own.endpoint: 2, "integration_id=" + own.endpoint: 0, "since=2001-01-01T00:00:00Z": 2, "until=2001-01-01T00:00:00Z": 0,
		"endpoint_id=" + foreign.endpoint: 0, "endpoint_id=" + test.endpoint: 0, "event_id=" + foreign.event: 0, "q=" + foreign.event: 0, "q=" + foreign.delivery: 0, "q=" + test.delivery: 0,
	} {
		require.Len(t, ids("/deliveries?"+filter), count, filter)
	}
	for _, path := range []string{"/events", "/deliveries", "/replays", "/events/stream"} {
		b.refused(404, "tenant_not_found", "GET", path+"?tenant_id="+b.tenant[1].String(), own.read, "")
		b.refused(404, "environment_not_found", "GET", path+"?environment=test", own.read, "")
	}

	// A cursor is a place in the log and opens nothing.
	cursor := func(path, key string) string {
		next, _ := b.ok(200, "GET", path+"?limit=1", key, "")["next_cursor"].(string)
		require.NotEmpty(t, next)
		return path + "?limit=10&cursor=" + next
	}
	b.settled(b.publish(b.live[1], "a.b", `{}`), "delivered")
	b.ok(202, "POST", "/replays", foreign.retry, `{"filter":{"event_type":"other"}}`)
	for _, path := range []string{"/events", "/deliveries", "/replays"} {
		for _, item := range items(b.ok(200, "GET", cursor(path, foreign.read), own.read, "")) {
			require.Equal(t, b.tenant[0].String(), item["tenant_id"], path)
		}
	}

	// Operators list by tenant as well.
	require.Len(t, items(b.ok(200, "GET", "/events?environment=test&tenant_id="+b.tenant[0].String(), b.support, "")), 1)
	require.Len(t, items(b.ok(200, "GET", "/replays?tenant_id="+b.tenant[1].String(), b.support, "")), 2)
}

// A tenant's keys have up to five replays and recoveries running; others' do not count.
func TestReplaysOfKeysAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	own, foreign := b.logOf(0, "live"), b.logOf(1, "live")
	create := func(key string, status int) map[string]any {
		return b.ok(status, "POST", "/replays", key, `{"filter":{"event_type":"a.b"}}`)
	}
	first := create(own.retry, 202)
	for range 2 { // one of the log is running
		create(own.retry, 202)
	}
	b.ok(202, "POST", "/endpoints/"+own.endpoint+"/recover", own.retry, `{"since":"2026-01-02T03:04:05Z"}`)
	b.refused(429, "too_many_replays", "POST", "/replays", own.retry, `{"filter":{"event_type":"a.b"}}`)
	b.refused(429, "too_many_replays", "POST", "/endpoints/"+own.endpoint+"/recover", own.retry, `{"since":"2026-01-02T03:04:05Z"}`)
	create(foreign.retry, 202)
	create(b.support, 202)
	b.ok(200, "POST", "/replays/"+first["id"].(string)+"/cancel", own.retry, "")
	create(own.retry, 202)
}

// Of dry runs of a tenant at once one counts. The others are refused until later and hold up
// nobody: other tenants are answered, also where they count.
func TestDryRunsOfATenantAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	own, foreign := b.logOf(0, "live"), b.logOf(1, "live")
	slow, err := b.db.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = slow.Rollback(context.WithoutCancel(t.Context())) }() // where the test fails
	_, err = slow.Exec(t.Context(), `lock table hub.events in access exclusive mode`)
	require.NoError(t, err)
	const runs = 20
	answers := make(chan answer, runs)
	for range runs {
		go func() {
			answers <- b.call("POST", "/endpoints/"+own.endpoint+"/recover", own.retry, `{"since":"2026-01-02T03:04:05Z","dry_run":true}`)
		}()
	}
	for range runs - 1 {
		refused := <-answers
		require.Equal(t, 429, refused.status, refused.text)
		require.Equal(t, "too_many_replays", refused.body["code"])
		require.NotEmpty(t, refused.header.Get("Retry-After"))
	}
	b.ok(200, "GET", "/replays", foreign.read, "")
	require.Equal(t, map[string]any{"count": 0.0}, b.ok(200, "POST", "/replays", foreign.retry, `{"filter":{"event_type":"x.y"},"dry_run":true}`))
	require.NoError(t, slow.Rollback(t.Context()))
	require.Equal(t, 200, (<-answers).status)
	b.ok(200, "POST", "/endpoints/"+own.endpoint+"/recover", own.retry, `{"since":"2026-01-02T03:04:05Z","dry_run":true}`)
}

// Replays and recoveries that a key starts send its tenant's, in its environment, whatever the
// filter says; they are the tenant's, and the audit log names the key.
func TestReplaysOfKeys(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	own, foreign, test := b.logOf(0, "live"), b.logOf(1, "live"), b.logOf(0, "test")
	replay := func(body string) map[string]any { return b.ok(202, "POST", "/replays", own.retry, body) }
	b.refused(422, "validation_failed", "POST", "/replays", own.retry, `{"filter":{}}`)
	b.refused(404, "tenant_not_found", "POST", "/replays", own.retry, `{"filter":{"tenant_id":"`+b.tenant[1].String()+`"}}`)
	b.refused(404, "environment_not_found", "POST", "/replays", own.retry, `{"filter":{"environment":"test"}}`)
	require.Equal(t, map[string]any{"count": 1.0}, b.ok(200, "POST", "/replays", own.retry, `{"filter":{"event_type":"a.b"},"dry_run":true}`))
	for _, of := range []logOf{foreign, test} {
		require.Equal(t, map[string]any{"count": 0.0}, b.ok(200, "POST", "/replays", own.retry, `{"filter":{"endpoint_id":"`+of.endpoint+`"},"dry_run":true}`))
	}
	operators := b.ok(202, "POST", "/replays", b.support, `{"filter":{"tenant_id":"`+b.tenant[0].String()+`","event_type":"x"}}`)
	require.Equal(t, b.tenant[0].String(), operators["tenant_id"])
	b.refused(404, "not_found", "GET", "/replays/"+operators["id"].(string), own.read, "")

	made := replay(`{"filter":{"event_type":"a.b"}}`)
	require.Equal(t, []any{1.0, b.tenant[0].String()}, []any{made["total"], made["tenant_id"]})
	require.Equal(t, map[string]any{"event_type": "a.b", "tenant_id": b.tenant[0].String(), "environment": "live"}, made["filter"])
	require.Regexp(t, `^shop_live_….{4}$`, made["created_by"])
	entry := items(b.ok(200, "GET", "/audit?limit=1", b.admin, ""))[0]
	actor := entry["actor"].(map[string]any)
	require.Equal(t, []any{"key", made["created_by"], "replays.create", made["id"], b.tenant[0].String()},
		[]any{actor["type"], actor["label"], entry["action"], entry["resource_id"], entry["tenant_id"]})
	listed := items(b.ok(200, "GET", "/replays", own.read, ""))
	require.Len(t, listed, 2)
	require.Contains(t, listed, made)

	// A recovery is the endpoint's, which is the tenant's.
	late := b.endpoint(b.live[0], anywhere)["id"].(string)
	recovery := b.ok(202, "POST", "/endpoints/"+late+"/recover", own.retry, `{"since":"2026-01-02T03:04:05Z"}`)
	require.EqualValues(t, 1, recovery["total"])
	b.engine.background(b.engine.dispatcher.Sweep)
	b.engine.background(b.engine.replays.Run)
	for _, id := range []any{made["id"], recovery["id"]} {
		require.Eventually(t, func() bool { return b.ok(200, "GET", "/replays/"+id.(string), own.read, "")["status"] == "done" }, soon, 10*tick)
		require.EqualValues(t, 1, b.ok(200, "GET", "/replays/"+id.(string), own.read, "")["delivered"])
	}
	require.EqualValues(t, 1, b.ok(200, "GET", "/deliveries/"+own.delivery, own.read, "")["retries"])
	for _, of := range []logOf{foreign, test} {
		require.EqualValues(t, 0, b.ok(200, "GET", "/deliveries/"+of.delivery, b.admin, "")["retries"])
	}
	b.ok(202, "POST", "/deliveries/"+own.delivery+"/retry", own.retry, "")
	entry = items(b.ok(200, "GET", "/audit?limit=1", b.admin, ""))[0]
	require.Equal(t, []any{"key", "deliveries.retry", own.delivery, b.tenant[0].String()}, []any{entry["actor"].(map[string]any)["type"], entry["action"], entry["resource_id"], entry["tenant_id"]})
}

// A key's tail has its tenant's deliveries. It ends with the key, and a tenant has five at most.
func TestLiveTailOfKeys(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	own := b.logOf(0, "live")
	b.logOf(1, "live")
	made := b.ok(201, "POST", "/keys", b.admin, `{"tenant_id":"`+b.tenant[0].String()+`","scopes":["deliveries.read"]}`)
	tail := b.listenAs(made["api_key"].(string), "")
	b.settled(b.publish(b.live[1], "a.b", "{}"), "delivered")
	b.publish(b.test[0], "a.b", "{}")
	event := b.publish(b.live[0], "e.f", "{}")
	for {
		item := b.next(tail)
		require.Equal(t, []any{b.tenant[0].String(), "live"}, []any{item["tenant_id"], item["environment"]})
		if item["event_id"] == event {
			break
		}
	}
	for range 4 {
		b.listenAs(own.read, "event_type=none")
	}
	b.refused(429, "too_many_streams", "GET", "/events/stream", own.read, "")
	b.ok(204, "DELETE", "/keys/"+made["id"].(string), b.admin, "")
	for open := true; open; {
		_, open = b.receive(tail)
	}
	require.Eventually(t, func() bool { return b.call("GET", "/events/stream", own.read, "").status == 200 }, soon, 10*tick, "another may begin")
}

// What a key reads of the log counts against its rate, and is masked as it is for operators.
func TestLogIsLimitedAndMaskedForKeys(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.endpoint(b.live[0], anywhere)
	event := b.publish(b.live[0], "a.b", `{"cpf":"529.982.247-25"}`)
	delivery := b.settled(event, "delivered")["id"].(string)
	key := b.key(b.tenant[0], `"scopes":["deliveries.read"],"rate":"4-D"`)
	for _, path := range []string{"/events/" + event, "/deliveries/" + delivery, "/events", "/deliveries"} {
		got := b.call("GET", path, key, "")
		require.Equal(t, 200, got.status, got.text)
		require.NotContains(t, got.text, "529.982", path)
		require.Contains(t, got.text, `"***.***.***-25"`, path)
		require.NotContains(t, got.text, "canary-cookie", path)
	}
	require.Equal(t, 429, b.call("GET", "/deliveries", key, "").status)
}

// What operators do to a delivery is in the audit log of the delivery's tenant, also what is
// refused.
func TestDeliveriesOfTenantsAreAudited(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	own := b.logOf(0, "live")
	requireEntry := func(action string, status int) {
		t.Helper()
		entry := items(b.ok(200, "GET", "/audit?limit=1", b.admin, ""))[0]
		require.Equal(t, []any{"operator", action, float64(status), own.delivery, b.tenant[0].String()},
			[]any{entry["actor"].(map[string]any)["type"], entry["action"], entry["status"], entry["resource_id"], entry["tenant_id"]})
	}
	b.refused(409, "delivery_settled", "POST", "/deliveries/"+own.delivery+"/discard", b.admin, "")
	requireEntry("deliveries.discard", 409)
	b.ok(202, "POST", "/deliveries/"+own.delivery+"/retry", b.admin, "")
	requireEntry("deliveries.retry", 202)
	b.ok(200, "POST", "/deliveries/"+own.delivery+"/discard", b.admin, "")
	requireEntry("deliveries.discard", 200)
	b.refused(409, "discarded", "POST", "/deliveries/"+own.delivery+"/retry", b.admin, "")
	requireEntry("deliveries.retry", 409)
}
