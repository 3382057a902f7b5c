package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestRetry(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.endpoint(b.live[0], anywhere)
	event := b.publish(b.live[0], "a.b", "{}")
	id := b.settled(event, "delivered")["id"].(string)
	b.clock.Advance(time.Second) // an attempt is known by when it began
	retry := "/deliveries/" + id + "/retry"
	require.Equal(t, map[string]any{"id": id, "status": "pending"}, b.ok(202, "POST", retry, b.support, ""))
	require.Equal(t, "pending", b.ok(200, "GET", "/deliveries/"+id, b.admin, "")["status"])
	b.engine.background(b.engine.dispatcher.Sweep)
	again := b.settled(event, "delivered")
	require.EqualValues(t, 1, again["retries"], "every attempt after the first counts")
	require.Len(t, again["attempts"], 2)
	b.refused(404, "not_found", "POST", "/deliveries/"+uuid.NewString()+"/retry", b.admin, "")
	b.refused(422, "validation_failed", "POST", "/deliveries/1/retry", b.admin, "")
}

func TestRefusedRetries(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	endpoint := b.endpoint(b.live[0], anywhere)["id"].(string)
	gone, kept := b.publish(b.live[0], "a.b", "{}"), b.publish(b.live[0], "a.b", "{}")
	b.settled(gone, "delivered")
	b.settled(kept, "delivered")
	path := func(event string) string {
		return "/deliveries/" + items(b.ok(200, "GET", "/deliveries?q="+event, b.admin, ""))[0]["id"].(string)
	}
	id := path(gone)
	_, err := b.db.Exec(t.Context(), `delete from hub.events where seq = (overlay($1 placing '0000' from 33))::uuid`, id[len("/deliveries/"):])
	require.NoError(t, err)
	b.refused(409, "payload_gone", "POST", id+"/retry", b.support, "")
	require.Nil(t, b.ok(200, "GET", id, b.admin, "")["payload"])

	b.ok(200, "PUT", "/endpoints/"+endpoint, b.admin, `{"url":"http://hook.example.com/in","event_types":["*"],"enabled":false}`)
	b.refused(409, "endpoint_disabled", "POST", path(kept)+"/retry", b.support, "")
	b.ok(200, "PUT", "/endpoints/"+endpoint, b.admin, `{"url":"http://hook.example.com/in","event_types":["*"]}`)
	b.ok(202, "POST", path(kept)+"/retry", b.support, "")
	b.ok(204, "DELETE", "/endpoints/"+endpoint, b.admin, "")
	b.refused(409, "endpoint_deleted", "POST", path(kept)+"/retry", b.support, "")
}

var replayFields = sorted("id kind filter status total done delivered parked failed error tenant_id created_by created_at finished_at")

func TestReplays(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.endpoint(b.live[0], anywhere)
	event := b.publish(b.live[0], "a.b", "{}")
	b.settled(event, "delivered")
	b.settled(b.publish(b.live[0], "c.d", "{}"), "delivered")

	dry := `{"filter":{"event_type":"a.b"},"dry_run":true}`
	require.Equal(t, map[string]any{"count": 1.0}, b.ok(200, "POST", "/replays", b.support, dry))
	require.Empty(t, items(b.ok(200, "GET", "/replays", b.support, "")), "a dry run makes nothing")

	made := b.ok(202, "POST", "/replays", b.support, `{"filter":{"event_type":"a.b"}}`)
	require.Equal(t, replayFields, fieldsOf(made))
	require.Equal(t, []any{"running", 1.0, 0.0, 0.0, supportEmail, nil}, []any{made["status"], made["total"], made["done"], made["failed"], made["created_by"], made["finished_at"]})
	require.Equal(t, map[string]any{"event_type": "a.b"}, made["filter"])
	id := made["id"].(string)
	require.Equal(t, made, b.ok(200, "GET", "/replays/"+id, b.support, ""))
	require.Equal(t, []map[string]any{made}, items(b.ok(200, "GET", "/replays", b.support, "")))
	require.Equal(t, id, items(b.ok(200, "GET", "/audit?limit=1", b.admin, ""))[0]["resource_id"])

	b.engine.background(b.engine.dispatcher.Sweep)
	b.engine.background(b.engine.replays.Run)
	require.Eventually(t, func() bool { return b.ok(200, "GET", "/replays/"+id, b.support, "")["status"] == "done" }, soon, tick)
	require.EqualValues(t, 1, b.ok(200, "GET", "/replays/"+id, b.support, "")["done"])
	require.EqualValues(t, 1, b.settled(event, "delivered")["retries"])
	done := b.ok(200, "POST", "/replays/"+id+"/cancel", b.support, "")
	require.Equal(t, "done", done["status"], "what has ended stays as it is")
	require.NotNil(t, done["finished_at"])
}

func TestReplayCancel(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	id := b.ok(202, "POST", "/replays", b.local, `{"filter":{"status":"failed"},"dry_run":false}`)["id"].(string)
	cancelled := b.ok(200, "POST", "/replays/"+id+"/cancel", b.support, "")
	require.Equal(t, replayFields, fieldsOf(cancelled))
	require.Equal(t, "cancelled", cancelled["status"])
	require.NotNil(t, cancelled["finished_at"])
	require.Equal(t, cancelled, b.ok(200, "POST", "/replays/"+id+"/cancel", b.admin, ""))
	b.refused(404, "not_found", "GET", "/replays/"+uuid.NewString(), b.admin, "")
	b.refused(404, "not_found", "POST", "/replays/"+uuid.NewString()+"/cancel", b.admin, "")
	b.refused(422, "validation_failed", "GET", "/replays/1", b.admin, "")
	b.refused(422, "validation_failed", "POST", "/replays/1/cancel", b.admin, "")
}

func TestReplayRules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, body := range []string{
		`{}`, `{"filter":{}}`, `{"filter":null}`, `{"filter":{},"dry_run":true}`, `{"filter":[]}`, `{"filter":{"everything":true}}`,
		`{"filter":{"status":"done"}}`, `{"filter":{"direction":"up"}}`, `{"filter":{"status_code":"200"}}`, `{"filter":{"status_code":1000}}`,
		`{"filter":{"status_code":0},"dry_run":true}`, `{"filter":{"status_code":99},"dry_run":true}`,
		`{"filter":{"tenant_id":"x"}}`, `{"filter":{"tenant_id":5}}`, `{"filter":{"event_id":"evt_1"}}`, `{"filter":{"since":"yesterday"}}`,
		`{"filter":{"since":"1969-12-31T23:59:59Z"}}`, `{"filter":{"until":"0001-02-01T00:00:00Z"}}`, `{"filter":{"status":"failed"},"dry_run":"yes"}`,
	} {
		b.refused(422, "validation_failed", "POST", "/replays", b.admin, body)
	}
	require.Empty(t, items(b.ok(200, "GET", "/replays", b.admin, "")))
}

func TestStats(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	first, second, between := b.several()
	b.clock.Advance(time.Minute)
	sum := func(query string) (accepted, delivered float64) {
		for _, bucket := range items(b.ok(200, "GET", "/stats?"+query, b.support, "")) {
			accepted += bucket["accepted"].(float64)
			delivered += bucket["delivered"].(float64)
		}
		return accepted, delivered
	}
	whole := b.ok(200, "GET", "/stats", b.support, "")
	require.Equal(t, sorted("from to bucket items"), fieldsOf(whole))
	require.Equal(t, "30m", whole["bucket"])
	now := b.clock.Now().UTC()
	from := now.Add(-24 * time.Hour).Truncate(30 * time.Minute)
	require.Equal(t, []any{from.Format(time.RFC3339), now.Format(time.RFC3339)}, []any{whole["from"], whole["to"]})
	require.Len(t, whole["items"], int((now.Sub(from)+30*time.Minute-1)/(30*time.Minute)), "empty buckets are there")
	bucket := items(whole)[0]
	require.Equal(t, sorted("at accepted delivered failed parked attempts errors p50_ms p95_ms p99_ms"), fieldsOf(bucket))
	require.Equal(t, whole["from"], bucket["at"])
	require.Nil(t, bucket["p50_ms"])

	minute := "from=" + between.UTC().Add(-2*time.Minute).Format(time.RFC3339) + "&bucket=1m"
	for query, want := range map[string]float64{
		"": 2, minute: 2, "bucket=3h": 2, "bucket=12h": 2, "product=shop": 1, "product=third": 0, "tenant_id=" + second["tenant_id"].(string): 1,
		"tenant_id=" + uuid.NewString(): 0, "endpoint_id=" + first["endpoint_id"].(string): 1, "integration_id=" + second["integration_id"].(string): 1,
		minute + "&to=" + between.UTC().Format(time.RFC3339): 1, "to=2000-01-02T00:00:00Z": 0,
	} {
		accepted, delivered := sum(query)
		require.Equal(t, []float64{want, want}, []float64{accepted, delivered}, query)
	}
	for _, query := range []string{
		"bucket=5m", "bucket=1m&from=2026-01-01T00:00:00Z&to=2026-01-03T00:00:00Z", "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
		"from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00Z", "from=x", "to=x", "tenant_id=1", "endpoint_id=1", "integration_id=1", "from=1000-01-01T00:00:00Z",
		"endpoint_id=" + uuid.NewString() + "&integration_id=" + uuid.NewString(),
	} {
		b.refused(422, "validation_failed", "GET", "/stats?"+query, b.admin, "")
	}
	require.Len(t, items(b.ok(200, "GET", "/stats?bucket=1m&from=2026-01-01T00:00:00Z&to=2026-01-02T01:00:00Z", b.admin, "")), 1500)
}

func TestIdempotentPublishing(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	body := `{"event_type":"a.b","data":{},"id":"evt_00000000000000aa"}`
	first := b.ok(202, "POST", "/events", b.live[0], body)
	require.Equal(t, first, b.ok(200, "POST", "/events", b.live[0], body))
	require.Equal(t, []map[string]any{first}, items(b.ok(200, "POST", "/events/batch", b.live[0], `{"events":[`+body+`]}`)))
	b.ok(202, "POST", "/events", b.live[1], body)
	require.Equal(t, 409, b.call("POST", "/events", b.live[0], `{"event_type":"a.c","data":{},"id":"evt_00000000000000aa"}`).status)
	made := b.ok(202, "POST", "/events", b.live[0], `{"event_type":"a.b","data":{}}`, "Idempotency-Key", "k")
	require.Equal(t, made, b.ok(200, "POST", "/events", b.live[0], `{"event_type":"a.b","data":{}}`, "Idempotency-Key", "k"))
	require.Equal(t, 409, b.call("POST", "/events", b.live[0], `{"event_type":"a.b","data":{"n":1}}`, "Idempotency-Key", "k").status)
	b.refused(422, "validation_failed", "POST", "/events", b.live[0], bodies["events.publish"], "Idempotency-Key", strings.Repeat("k", 201))
}

func TestKeysAreLimitedOnEveryRow(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	slow := b.key(b.tenant[0], `"rate":"1-H"`)
	b.ok(202, "POST", "/events", slow, bodies["events.publish"])
	for _, row := range b.api.Rows() {
		if row.Scope != "" {
			got := b.refused(429, "rate_limited", row.Method, b.path(row, uuid.NewString()), slow, bodyFor(t, row, b.tenant[0]))
			require.NotEmpty(t, got.header.Get("Retry-After"))
			require.Equal(t, "0", got.header.Get("RateLimit-Remaining"))
		}
	}
}

// What an operator limits to one tenant, by the tenant itself or by an endpoint of it, is listed
// and audited under that tenant. The tenant's keys see only what keys started.
func TestOperatorsReplaysOfATenant(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	of, other := b.tenant[0].String(), b.tenant[1].String()
	endpoint := b.endpoint(b.live[0], anywhere)["id"].(string)
	start := func(filter string) string {
		return b.ok(202, "POST", "/replays", b.support, `{"filter":{`+filter+`}}`)["id"].(string)
	}
	byTenant, byEndpoint := start(`"tenant_id":"`+of+`","environment":"test"`), start(`"endpoint_id":"`+endpoint+`"`)
	recovery := b.ok(202, "POST", "/endpoints/"+endpoint+"/recover", b.support, `{"since":"2026-01-02T03:04:05Z"}`)["id"].(string)
	anyTenants, others := start(`"status":"failed"`), start(`"tenant_id":"`+other+`"`)
	ids := func(path, member, credential string) (list []any) {
		for _, item := range items(b.ok(200, "GET", path, credential, "")) {
			list = append(list, item[member])
		}
		return list
	}
	require.ElementsMatch(t, []any{recovery, byEndpoint, byTenant}, ids("/replays?tenant_id="+of, "id", b.support))
	require.ElementsMatch(t, []any{byTenant}, ids("/replays?environment=test&tenant_id="+of, "id", b.support))
	require.ElementsMatch(t, []any{recovery, byEndpoint}, ids("/replays?environment=live", "id", b.support))
	require.ElementsMatch(t, []any{others}, ids("/replays?tenant_id="+other, "id", b.support))
	require.Len(t, ids("/replays", "id", b.support), 5)
	require.Equal(t, of, b.ok(200, "GET", "/replays/"+byEndpoint, b.support, "")["tenant_id"])
	require.Nil(t, b.ok(200, "GET", "/replays/"+anyTenants, b.support, "")["tenant_id"])

	b.ok(200, "POST", "/replays/"+byEndpoint+"/cancel", b.support, "")
	require.ElementsMatch(t, []any{byEndpoint, byEndpoint, byTenant}, ids("/audit?resource=replays&tenant_id="+of, "resource_id", b.admin))
	require.ElementsMatch(t, []any{others}, ids("/audit?resource=replays&tenant_id="+other, "resource_id", b.admin))

	key := b.key(b.tenant[0], `"scopes":["deliveries.read","deliveries.retry"]`)
	require.Empty(t, ids("/replays", "id", key))
	b.refused(404, "not_found", "GET", "/replays/"+byTenant, key, "")
	b.refused(404, "not_found", "POST", "/replays/"+byTenant+"/cancel", key, "")
}
