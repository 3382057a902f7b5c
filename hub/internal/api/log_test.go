package api_test

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// anywhere is an endpoint whose deliveries reach the tests' own hook.
const anywhere = `{"url":"http://hook.example.com/in","event_types":["*"]}`

// itemFields are the fields of a webhook log entry in docs/interfaces/clinic.md ("Retries"),
// and the hub's own.
var itemFields = sorted("integration_id direction event_type payload status_code response_body delivered retries created_at " +
	"id event_id status next_attempt_at duration_ms product tenant_id priority tenant_name receiver attempt_count environment endpoint_id correlation_id reason finished_at ordering_key out_of_order behind_in_order")

func sorted(fields string) []string { return slices.Sorted(slices.Values(strings.Fields(fields))) }

func fieldsOf(object any) []string { return slices.Sorted(maps.Keys(object.(map[string]any))) }

func TestDeliveryInTheLog(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	endpoint := b.endpoint(b.live[0], anywhere)
	event := b.ok(202, "POST", "/events", b.live[0], `{"event_type":"a.b","data":{"n":1, "big":1152921504606846977,"neg":-0,"cpf":"529.982.247-25"},"correlation_id":"story"}`)
	require.Equal(t, []string{"deliveries", "id"}, fieldsOf(event))
	require.EqualValues(t, 1, event["deliveries"])
	detail := b.settled(event["id"].(string), "delivered")
	require.Equal(t, slices.Sorted(slices.Values(append([]string{"attempts", "payload_text", "waiting"}, itemFields...))), fieldsOf(detail))
	item := items(b.ok(200, "GET", "/deliveries", b.support, ""))[0]
	require.Equal(t, itemFields, fieldsOf(item))
	for field, value := range map[string]any{
		"event_id": event["id"], "direction": "outbound", "product": "shop", "tenant_id": b.tenant[0].String(), "environment": "live",
		"integration_id": nil, "endpoint_id": endpoint["id"], "event_type": "a.b", "correlation_id": "story", "status": "delivered",
		"reason": nil, "status_code": 200.0, "response_body": "thanks", "delivered": true, "retries": 0.0, "next_attempt_at": nil,
	} {
		require.Equal(t, value, item[field], field)
		require.Equal(t, value, detail[field], field)
	}
	payload := item["payload"].(map[string]any)
	require.Equal(t, sorted("id product event_type timestamp correlation_id data"), fieldsOf(payload))
	require.Equal(t, event["id"], payload["id"])
	require.NotContains(t, payload["data"].(map[string]any)["cpf"], "529.982", "CPF numbers are masked")

	text := detail["payload_text"].(string)
	require.True(t, strings.HasSuffix(text, `"correlation_id":"story","data":{"n":1, "big":1152921504606846977,"neg":-0,"cpf":"***.***.***-25"}}`), text)

	attempts := detail["attempts"].([]any)
	require.Len(t, attempts, 1)
	attempt := attempts[0].(map[string]any)
	require.Equal(t, sorted("number started_at status_code error phases request_headers response_headers response_body"), fieldsOf(attempt))
	require.Equal(t, sorted("queue_ms dns_ms connect_ms tls_ms first_byte_ms total_ms"), fieldsOf(attempt["phases"]))
	phases := attempt["phases"].(map[string]any)
	require.EqualValues(t, 1, phases["dns_ms"])
	require.Positive(t, phases["total_ms"])
	require.EqualValues(t, 1, attempt["number"])
	require.Nil(t, attempt["error"])
	sent := attempt["request_headers"].(map[string]any)
	require.Equal(t, event["id"], sent["webhook-id"])
	require.Regexp(t, `^sha256=[0-9a-f]{64}$`, sent["X-Webhook-Signature"])
	require.Equal(t, "***", attempt["response_headers"].(map[string]any)["Set-Cookie"])

	shown := b.ok(200, "GET", "/events/"+event["id"].(string), b.support, "")
	require.Equal(t, sorted("id product tenant_id environment event_type correlation_id deliveries created_at payload"), fieldsOf(shown))
	require.Equal(t, []map[string]any{shown}, items(b.ok(200, "GET", "/events", b.support, "")))
	b.refused(404, "not_found", "GET", "/events/evt_0000000000000000", b.admin, "")
	b.refused(422, "validation_failed", "GET", "/events/evt_1", b.admin, "")
	b.refused(404, "not_found", "GET", "/deliveries/"+uuid.NewString(), b.admin, "")
	b.refused(422, "validation_failed", "GET", "/deliveries/1", b.admin, "")
}

func TestAttemptThatFailedInTheLog(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.endpoint(b.live[0], anywhere)
	b.engine.hook.status.Store(500)
	event := b.publish(b.live[0], "a.b", "{}")
	var item map[string]any
	require.Eventually(t, func() bool {
		item = items(b.ok(200, "GET", "/deliveries?event_id="+event, b.admin, ""))[0]
		return item["next_attempt_at"] != nil
	}, soon, tick)
	require.Equal(t, []any{"pending", 500.0, false, 0.0, nil}, []any{item["status"], item["status_code"], item["delivered"], item["retries"], item["finished_at"]})
	detail := b.ok(200, "GET", "/deliveries/"+item["id"].(string), b.support, "")
	require.EqualValues(t, 500, detail["attempts"].([]any)[0].(map[string]any)["status_code"])
}

// several creates two deliveries that differ in every field that can be filtered by.
func (b *bundle) several() (first, second map[string]any, between time.Time) {
	b.t.Helper()
	b.ok(201, "POST", "/products", b.admin, `{"name":"other","prefix":"oth"}`)
	tenant := uuid.MustParse(b.ok(201, "POST", "/tenants", b.admin, `{"product":"other","name":"Tenant"}`)["id"].(string))
	other := b.key(tenant, `"environment":"test"`)
	b.endpoint(b.live[0], anywhere)
	b.endpoint(other, anywhere)
	text := b.ok(202, "POST", "/events", b.live[0], `{"event_type":"one.made","data":{},"correlation_id":"one"}`)["id"].(string)
	b.settled(text, "delivered")
	b.set(text, "inbound = true")
	between = b.clock.Advance(time.Minute)
	b.clock.Advance(time.Minute)
	two := b.ok(202, "POST", "/events", other, `{"event_type":"two.made","data":{},"correlation_id":"two"}`)["id"].(string)
	b.settled(two, "delivered")
	first = b.settled(text, "delivered")
	b.set(two, "integration = true, status = 2, status_code = 500, reason = 'retries_exhausted'")
	return first, b.settled(two, "parked"), between
}

func TestEveryDeliveryFilterHasAnEffect(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	first, second, between := b.several()
	at := between.UTC().Format(time.RFC3339)
	// What finds the first one, what finds the second one, and what finds none; "" = no such value.
	values := map[string][3]string{
		"direction":      {"inbound", "outbound", ""},
		"product":        {"shop", "other", "third"},
		"tenant_id":      {first["tenant_id"].(string), second["tenant_id"].(string), uuid.NewString()},
		"environment":    {"live", "test", ""},
		"integration_id": {"", second["integration_id"].(string), first["endpoint_id"].(string)},
		"endpoint_id":    {first["endpoint_id"].(string), "", second["integration_id"].(string)},
		"event_type":     {"one.made", "two.made", "one"},
		"status":         {"delivered", "parked", "failed"},
		"status_code":    {"200", "500", "404"},
		"correlation_id": {"one", "two", "three"},
		"event_id":       {first["event_id"].(string), second["event_id"].(string), "evt_0000000000000000"},
		"q":              {first["id"].(string), second["event_id"].(string), "three"},
		"since":          {"", at, "2999-01-01T00:00:00Z"},
		"until":          {at, "", "1999-01-01T00:00:00Z"},
	}
	require.ElementsMatch(t, strings.Fields(deliveryParameters), slices.Collect(maps.Keys(values)), "every parameter is tried")
	for name, tries := range values {
		for i, want := range [][]any{{first["id"]}, {second["id"]}, nil} {
			if tries[i] == "" {
				continue
			}
			var found []any
			for _, item := range items(b.ok(200, "GET", "/deliveries?"+name+"="+url.QueryEscape(tries[i]), b.support, "")) {
				found = append(found, item["id"])
			}
			require.Equal(t, want, found, "%s=%s", name, tries[i])
			value := any(tries[i])
			if name == "status_code" {
				value = json.Number(tries[i])
			}
			body, err := json.Marshal(map[string]any{"filter": map[string]any{name: value}, "dry_run": true})
			require.NoError(t, err)
			sendable := len(want)
			if i == 0 {
				sendable = 0 // it came in: there is nothing to send again
			}
			require.Equal(t, map[string]any{"count": float64(sendable)}, b.ok(200, "POST", "/replays", b.support, string(body)), "%s", body)
		}
	}
	require.Empty(t, items(b.ok(200, "GET", "/deliveries?q=one&status=parked", b.admin, "")), "all of them have to match")
	for path, want := range map[string]any{"/events?since=" + at: second["event_id"], "/events?until=" + at: first["event_id"]} {
		found := items(b.ok(200, "GET", path, b.admin, ""))
		require.Len(t, found, 1, path)
		require.Equal(t, want, found[0]["id"], path)
	}
	require.Empty(t, items(b.ok(200, "GET", "/events?since=2999-01-01T00:00:00Z", b.admin, "")))
	for _, event := range items(b.ok(200, "GET", "/events", b.admin, "")) {
		at := url.QueryEscape(event["created_at"].(string))
		since, until := items(b.ok(200, "GET", "/events?since="+at, b.admin, "")), items(b.ok(200, "GET", "/events?until="+at, b.admin, ""))
		require.Contains(t, since, event, "whoever begins with the time of an event gets that event")
		require.NotContains(t, until, event)
	}
}

func TestBadQueriesOfTheLog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, path := range []string{"/deliveries", "/events/stream"} {
		for _, query := range []string{
			"direction=up", "tenant_id=1", "integration_id=x", "endpoint_id=" + uuid.NewString() + "0", "status=done", "status_code=x", "status_code=-1",
			"status_code=0", "status_code=99", "status_code=1000", "event_id=evt_1", "event_id=" + uuid.NewString(), "since=yesterday", "until=2026-01-02", "since=1969-12-31T23:59:59Z",
			"product=" + strings.Repeat("p", 41), "event_type=" + strings.Repeat("t", 129), "correlation_id=" + strings.Repeat("c", 201), "q=" + strings.Repeat("q", 201),
		} {
			b.refused(422, "validation_failed", "GET", path+"?"+query, b.admin, "")
		}
		for _, name := range []string{"product", "event_type", "correlation_id", "q"} {
			b.refused(400, "malformed", "GET", path+"?"+name+"=a%00b", b.admin, "")
			b.refused(400, "malformed", "GET", path+"?"+name+"=a%ffb", b.admin, "")
		}
	}
	for _, path := range []string{"/deliveries", "/events", "/replays"} {
		for _, cursor := range []string{"x", "AAAA", "%00", strings.Repeat("A", 2000), uuid.NewString()} {
			b.refused(422, "invalid_cursor", "GET", path+"?cursor="+cursor, b.admin, "")
		}
		for _, limit := range []string{"0", "201", "x"} {
			b.refused(422, "validation_failed", "GET", path+"?limit="+limit, b.admin, "")
		}
	}
	for _, query := range []string{"since=1969-12-31T23:59:59Z", "until=0001-01-02T00:00:00Z", "since=x"} {
		b.refused(422, "validation_failed", "GET", "/events?"+query, b.admin, "")
	}
}

func TestPagesOfTheLog(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.endpoint(b.live[0], anywhere)
	batch := `{"events":[` + strings.Repeat(`{"event_type":"a.b","data":{}},`, 4) + `{"event_type":"a.b","data":{}}]}`
	made := b.ok(202, "POST", "/events/batch", b.live[0], batch)
	require.Equal(t, []string{"items"}, fieldsOf(made))
	require.Equal(t, []string{"deliveries", "id"}, fieldsOf(items(made)[0]))
	for range 5 {
		b.ok(202, "POST", "/replays", b.admin, `{"filter":{"status":"failed"}}`)
	}
	for _, path := range []string{"/events?", "/deliveries?", "/deliveries?event_type=a.b&", "/deliveries?product=shop&", "/replays?"} {
		whole := b.ok(200, "GET", path, b.admin, "")
		require.Nil(t, whole["next_cursor"])
		require.Len(t, items(whole), 5, path)
		var ids, seen []any
		for _, item := range items(whole) {
			ids = append(ids, item["id"])
		}
		for cursor, more := "", true; more; {
			page := b.ok(200, "GET", path+"limit=2&cursor="+cursor, b.admin, "")
			for _, item := range items(page) {
				seen = append(seen, item["id"])
			}
			cursor, more = page["next_cursor"].(string)
		}
		require.Equal(t, ids, seen, path)
	}
}

// Failing is what is pending after a failed attempt, parked or failed; not what waits for
// its first attempt, nor what was delivered and is sent again.
func TestFailingDeliveries(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	endpoint := b.endpoint(b.live[0], anywhere)["id"].(string)
	events := make(map[string]string)
	for _, state := range []string{
		"status = 1", "status = 2, attempts = 0, status_code = null, reason = 'disabled'", "status = 3, status_code = 500",
		"status = 0, due_at = now() + interval '1 day', round_at = now(), finished_at = null, status_code = 500, next_attempt_at = now() + interval '1 day'",
		"status = 0, due_at = now() + interval '1 day', round_at = now(), finished_at = null, status_code = null, attempts = 0, next_attempt_at = now() + interval '1 day'",
		"status = 0, due_at = now() + interval '1 day', round_at = now(), finished_at = null, next_attempt_at = now() + interval '1 day'",
	} {
		event := b.publish(b.live[0], "a.b", "{}")
		b.settled(event, "delivered")
		b.set(event, state)
		events[event] = state
	}
	for _, more := range []string{"", "&product=shop", "&tenant_id=" + b.tenant[0].String(), "&endpoint_id=" + endpoint,
		"&event_type=a.b", "&event_type=a.b&product=shop", "&direction=outbound", "&environment=live", "&since=2020-01-01T00:00:00Z"} {
		var found []string
		for _, item := range items(b.ok(200, "GET", "/deliveries?status=failing"+more, b.support, "")) {
			found = append(found, events[item["event_id"].(string)][:10])
		}
		require.ElementsMatch(t, []string{"status = 0", "status = 3", "status = 2"}, found, more)
	}
	require.Len(t, items(b.ok(200, "GET", "/deliveries?status=failing&status_code=500", b.support, "")), 2)
	counted := b.ok(200, "POST", "/replays", b.support, `{"filter":{"status":"failing"},"dry_run":true}`)
	require.EqualValues(t, 2, counted["count"], "what is pending is left alone")
}
