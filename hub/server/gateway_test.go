package server_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// "400 malformed, 401, 403, … 413, 415, 422, 429 … Never a 5xx for bad input."
func TestPublishRefusesBadInputWithItsStatus(t *testing.T) {
	t.Parallel()
	a := newPlace(t).start(t, nil).account()
	h := newHook(t, nil)
	a.endpoint(h, "")
	deep := strings.Repeat(`{"a":`, 70) + `1` + strings.Repeat(`}`, 70)
	cases := []struct {
		name, body string
		status     int
		code       string
		headers    []string
	}{
		{"empty", ``, 400, "", nil},
		{"not JSON", `{"event_type":`, 400, "", nil},
		{"an array", `[]`, 422, "", nil},
		{"after the value", `{"event_type":"a.b","data":{}} x`, 400, "", nil},
		{"duplicate key", `{"event_type":"a.b","event_type":"a.c","data":{}}`, 400, "", nil},
		{"duplicate key inside", `{"event_type":"a.b","data":{"x":1,"x":2}}`, 400, "", nil},
		{"NUL", `{"event_type":"a.b","data":{"x":"\u0000"}}`, 400, "", nil},
		{"lone surrogate", `{"event_type":"a.b","data":{"x":"\ud800"}}`, 400, "", nil},
		{"bad UTF-8", "{\"event_type\":\"a.b\",\"data\":{\"x\":\"\xff\"}}", 400, "", nil},
		{"long number", `{"event_type":"a.b","data":{"x":` + strings.Repeat("1", 33) + `}}`, 400, "", nil},
		{"too deep", `{"event_type":"a.b","data":` + deep + `}`, 400, "", nil},
		{"too large", `{"event_type":"a.b","data":{"x":"` + strings.Repeat("a", 1<<20) + `"}}`, 413, "too_large", nil},
		{"gzip", zipped(`{"event_type":"a.b","data":{}}`), 415, "", []string{"Content-Encoding", "gzip"}},
		{"not declared JSON", `{"event_type":"a.b","data":{}}`, 415, "", []string{"Content-Type", "text/plain"}},
		{"no event_type", `{"data":{}}`, 422, "validation_failed", nil},
		{"empty event_type", `{"event_type":"","data":{}}`, 422, "validation_failed", nil},
		{"event_type no string", `{"event_type":7,"data":{}}`, 422, "validation_failed", nil},
		{"event_type null", `{"event_type":null,"data":{}}`, 422, "validation_failed", nil},
		{"event_type wild", `{"event_type":"a.*","data":{}}`, 422, "validation_failed", nil},
		{"event_type with empty word", `{"event_type":"a..b","data":{}}`, 422, "validation_failed", nil},
		{"event_type with dot at the end", `{"event_type":"a.","data":{}}`, 422, "validation_failed", nil},
		{"event_type too long", `{"event_type":"` + strings.Repeat("a", 129) + `","data":{}}`, 422, "validation_failed", nil},
		{"no data", `{"event_type":"a.b"}`, 422, "validation_failed", nil},
		{"data null", `{"event_type":"a.b","data":null}`, 422, "validation_failed", nil},
		{"data array", `{"event_type":"a.b","data":[]}`, 422, "validation_failed", nil},
		{"data text", `{"event_type":"a.b","data":"{}"}`, 422, "validation_failed", nil},
		{"correlation_id no string", `{"event_type":"a.b","data":{},"correlation_id":1}`, 422, "validation_failed", nil},
		{"correlation_id too long", `{"event_type":"a.b","data":{},"correlation_id":"` + strings.Repeat("c", 201) + `"}`, 422, "validation_failed", nil},
		{"id with an uppercase prefix", `{"event_type":"a.b","data":{},"id":"EVT_0123456789abcdef"}`, 422, "validation_failed", nil},
		{"id short", `{"event_type":"a.b","data":{},"id":"evt_0123"}`, 422, "validation_failed", nil},
		{"id empty", `{"event_type":"a.b","data":{},"id":""}`, 422, "validation_failed", nil},
		{"id number", `{"event_type":"a.b","data":{},"id":1}`, 422, "validation_failed", nil},
		{"unknown field", `{"event_type":"a.b","data":{},"product":"other"}`, 422, "validation_failed", nil},
		{"unknown field, then no JSON", `{"product":"other","event_type":"a.b","data":{}`, 400, "json_syntax", nil},
		{"wrong field, then no JSON", `{"event_type":7,"data":{]}`, 400, "json_syntax", nil},
		{"long Idempotency-Key beside an id", `{"event_type":"a.b","data":{},"id":"evt_0123456789abcdef"}`, 422, "validation_failed", []string{"Idempotency-Key", strings.Repeat("k", 201)}},
		{"long Idempotency-Key", `{"event_type":"a.b","data":{}}`, 422, "validation_failed", []string{"Idempotency-Key", strings.Repeat("k", 201)}},
		{"empty Idempotency-Key", `{"event_type":"a.b","data":{}}`, 422, "validation_failed", []string{"Idempotency-Key", ""}},
		{"blank Idempotency-Key", `{"event_type":"a.b","data":{}}`, 422, "validation_failed", []string{"Idempotency-Key", "  "}},
		{"empty Idempotency-Key beside an id", `{"event_type":"a.b","data":{},"id":"evt_0123456789abcdef"}`, 422, "validation_failed", []string{"Idempotency-Key", ""}},
		{"Idempotency-Key not ASCII", `{"event_type":"a.b","data":{}}`, 422, "validation_failed", []string{"Idempotency-Key", "schl\u00fcssel"}},
	}
	for _, test := range cases {
		got := a.call("POST", "/events", a.live, test.body, test.headers...)
		require.Equal(t, test.status, got.status, "%s: %s", test.name, got.text)
		require.Equal(t, "application/problem+json", got.header.Get("Content-Type"), test.name)
		if test.code != "" {
			require.Equal(t, test.code, got.body["code"], test.name)
		}
	}
	require.Empty(t, items(a.ok(200, "GET", "/events", "")), "nothing refused may be stored")
	for _, longest := range []string{
		`{"event_type":"` + strings.Repeat("a", 128) + `","data":{}}`,
		`{"event_type":"a.b","data":{},"correlation_id":"` + strings.Repeat("c", 200) + `"}`,
		`{"event_type":"a.b","data":{},"correlation_id":null,"id":null}`,
	} {
		a.ok(202, "POST", "/events", longest, a.live)
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// "Missing, unknown, revoked, expired: the same 401." "A missing scope is 403."
// "the 101st is 429 with an integer Retry-After and RateLimit-* headers."
func TestPublishRefusesByCredential(t *testing.T) {
	t.Parallel()
	a := newPlace(t).start(t, nil).account()
	const event = `{"event_type":"a.b","data":{}}`
	a.refused(401, "invalid_key", "POST", "/events", "", event)
	a.refused(401, "invalid_key", "POST", "/events", a.token, event)
	forged := a.live[:len(a.live)-1] + string('0'+(a.live[len(a.live)-1]-'0'+1)%10)
	a.refused(401, "invalid_key", "POST", "/events", forged, event)
	expires := time.Now().Add(700 * time.Millisecond)
	expiring := a.key(`"expires_at":"` + expires.UTC().Format(time.RFC3339Nano) + `"`)["api_key"].(string)
	require.Eventually(t, func() bool {
		return a.call("POST", "/events", expiring, event).status == 401
	}, soon, tick, "a key that expires is dead")
	require.False(t, time.Now().Before(expires), "and not before its time")
	scoped := a.key(`"scopes":["endpoints.manage"]`)["api_key"].(string)
	a.refused(403, "missing_scope", "POST", "/events", scoped, event)
	a.refused(403, "missing_scope", "POST", "/events/batch", scoped, `{"events":[`+event+`]}`)
	limited := a.key(`"rate":"100-M"`)["api_key"].(string)
	for i := range 100 {
		got := a.call("POST", "/events", limited, event)
		require.Equal(t, 202, got.status, "request %d: %s", i+1, got.text)
		require.NotEmpty(t, got.header.Get("RateLimit-Limit"))
	}
	got := a.refused(429, "rate_limited", "POST", "/events", limited, event)
	require.Regexp(t, `^[1-9][0-9]?$`, got.header.Get("Retry-After"))
	require.Equal(t, "0", got.header.Get("RateLimit-Remaining"))
}

// A revoked key is dead on every replica: on the process that revoked it, and wherever a publish
// reaches a commit, at once. [TestRevokedKeyIsDeadWithinASecond] measures the rest.
func TestRevokedKeyIsDead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.start(t, nil)
	second := p.start(t, nil)
	a := first.account()
	const event = `{"event_type":"a.b","data":{}}`
	for range 3 { // both caches know the key
		first.ok(202, "POST", "/events", event, a.live)
		second.ok(202, "POST", "/events", event, a.live)
	}
	first.ok(204, "DELETE", "/keys/"+a.liveKeyID, "")
	second.refused(401, "invalid_key", "POST", "/events", a.live, event)
	first.refused(401, "invalid_key", "POST", "/events", a.live, event)
	batch := `{"events":[` + event + `,` + event + `]}`
	second.refused(401, "invalid_key", "POST", "/events/batch", a.live, batch)
	keyed := `{"event_type":"a.b","data":{},"id":"evt_00000000000000aa"}`
	second.refused(401, "invalid_key", "POST", "/events", a.live, keyed)
	require.Eventually(t, func() bool { // calls that commit nothing
		return second.call("GET", "/endpoints", a.live, "").status == 401
	}, soon, tick)
	old := a.key(`"name":"rotated"`)
	made := first.ok(201, "POST", "/keys/"+old["id"].(string)+"/rotate", `{"overlap_seconds":0}`)
	second.ok(202, "POST", "/events", event, made["api_key"].(string))
	second.refused(401, "invalid_key", "POST", "/events", old["api_key"].(string), event)
}

// An endpoint created, changed or deleted on one process counts for the next
// publish on another.
func TestConfigurationCountsAtOnceElsewhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	second := p.start(t, nil)
	publish := func(body string) any { return second.ok(202, "POST", "/events", body, a.live)["deliveries"] }
	const event = `{"event_type":"a.b","data":{}}`
	require.EqualValues(t, 0, publish(event), "no subscribers: accepted, no deliveries")
	h := newHook(t, nil)
	for i := range 10 {
		id := a.endpoint(h, "")
		require.EqualValues(t, 1, publish(event), "round %d", i)
		a.ok(200, "PUT", "/endpoints/"+id, `{"url":"`+h.url+`","event_types":["a.c"]}`)
		require.EqualValues(t, 0, publish(event), "round %d", i)
		a.ok(204, "DELETE", "/endpoints/"+id, "")
		require.EqualValues(t, 0, publish(`{"event_type":"a.c","data":{}}`), "round %d", i)
	}
}

// "`event_types` (`*`, `appointment.*`, exact)"; "one delivery for each … endpoint
// that wants it"; "an environment live or test that never mix".
func TestFanOutByTypeAndEnvironment(t *testing.T) {
	t.Parallel()
	a := newPlace(t).start(t, nil).account()
	all, prefix, exact, test := newHook(t, nil), newHook(t, nil), newHook(t, nil), newHook(t, nil)
	a.endpoint(all, "")
	a.endpoint(prefix, `"event_types":["appointment.*"]`)
	a.endpoint(exact, `"event_types":["appointment.created","patient.created"]`)
	a.endpoint(test, `"environment":"test"`)
	other := a.account()
	stranger := newHook(t, nil)
	other.endpoint(stranger, "")
	for eventType, want := range map[string]int{
		"appointment.created": 3, "appointment.created.late": 2, "appointment": 1, "appointmentx.created": 1, "patient.created": 2,
	} {
		got := a.ok(202, "POST", "/events", `{"event_type":"`+eventType+`","data":{}}`, a.live)
		require.EqualValues(t, want, got["deliveries"], eventType)
	}
	sandbox := a.ok(202, "POST", "/events", `{"event_type":"appointment.created","data":{}}`, a.test)
	require.EqualValues(t, 1, sandbox["deliveries"])
	all.wait(5)
	prefix.wait(2)
	exact.wait(2)
	require.Equal(t, sandbox["id"], test.wait(1)[0].id)
	require.Len(t, all.arrivals(), 5)
	require.Len(t, prefix.arrivals(), 2)
	require.Len(t, exact.arrivals(), 2)
	require.Len(t, test.arrivals(), 1)
	require.Empty(t, stranger.arrivals())
}

// The envelope is that of docs/interfaces/clinic.md ("Webhook envelope"); "what was signed is what is kept and resent": the
// bytes of data arrive as they were given, spaces, escapes and number forms included.
func TestDataIsKeptByteForByte(t *testing.T) {
	t.Parallel()
	a := newPlace(t).start(t, nil).account()
	h := newHook(t, nil)
	a.endpoint(h, "")
	for i, data := range []string{
		`{}`, "{ \"a\" :\t1.0e+2 ,\n \"b\":[ ]}", `{"b":1,"a":-0.10}`, `{"x":"\u00e9\/\"","y":"é 𝄞"}`, `{"big":12345678901234567890123}`,
	} {
		correlation := fmt.Sprintf(`line "%d" é`, i)
		id := a.ok(202, "POST", "/events", fmt.Sprintf(`{"event_type":"a.b", "data": %s , "correlation_id":%q}`, data, correlation), a.live)["id"].(string)
		got := h.wait(i + 1)[i]
		require.Equal(t, id, got.id)
		require.Regexp(t, `^evt_[0-9a-f]{16}$`, id)
		text := string(got.body)
		require.True(t, strings.HasPrefix(text, `{"id":"`+id+`","product":"shop","event_type":"a.b","timestamp":"20`), text)
		require.True(t, strings.HasSuffix(text, `,"data":`+data+`}`), text)
		require.Regexp(t, `"timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"`, text)
		found := items(a.ok(200, "GET", "/deliveries?event_id="+id, ""))
		require.Len(t, found, 1)
		require.Equal(t, correlation, found[0]["correlation_id"])
	}
	plain := a.publish("a.b", `{}`)
	require.NotContains(t, string(h.wait(6)[5].body), "correlation_id", plain)
}

// "`id` (or `Idempotency-Key`) makes it idempotent: same body 200 with the first
// answer, another body 409."
func TestPublishIsIdempotent(t *testing.T) {
	t.Parallel()
	a := newPlace(t).start(t, nil).account()
	h := newHook(t, nil)
	a.endpoint(h, "")
	const body = `{"event_type":"a.b","data":{"n":1},"id":"evt_00000000000000ff"}`
	first := a.ok(202, "POST", "/events", body, a.live)
	require.Equal(t, "evt_00000000000000ff", first["id"])
	a.endpoint(newHook(t, nil), "") // the first answer stays the first answer
	require.Equal(t, first, a.ok(200, "POST", "/events", body, a.live))
	upper := strings.Replace(body, "00ff", "00FF", 1) // ids are compared in lower case
	require.Equal(t, first, a.ok(200, "POST", "/events", upper, a.live))
	a.refused(409, "idempotency_conflict", "POST", "/events", a.live, strings.Replace(upper, `"n":1`, `"n":2`, 1))
	require.Len(t, items(a.ok(200, "GET", "/deliveries?event_id=evt_00000000000000FF", "")), 1)
	require.Equal(t, first["id"], a.ok(200, "GET", "/events/evt_00000000000000FF", "")["id"])
	a.refused(409, "idempotency_conflict", "POST", "/events", a.live, strings.Replace(body, `"n":1`, `"n":2`, 1))
	a.ok(202, "POST", "/events", body, a.test) // live and test never mix
	other := a.account()
	other.ok(202, "POST", "/events", body, other.live) // nor do tenants

	const plain = `{"event_type":"a.b","data":{"n":3}}`
	keyed := a.call("POST", "/events", a.live, plain, "Idempotency-Key", "order 7")
	require.Equal(t, 202, keyed.status, keyed.text)
	again := a.call("POST", "/events", a.live, plain, "Idempotency-Key", "order 7")
	require.Equal(t, 200, again.status)
	require.Equal(t, keyed.text, again.text)
	require.Equal(t, 200, a.call("POST", "/events", a.live, body, "Idempotency-Key", "x").status, "an id in the body goes first")
}

// The same of a batch: "all or nothing", by its Idempotency-Key.
func TestBatchIsIdempotentByItsKey(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	nodes := []*node{a.node, p.start(t, nil)}
	h := newHook(t, nil)
	a.endpoint(h, "")
	const eventOne, eventTwo, named = `{"event_type":"a.b","data":{"n":1}}`, `{"event_type":"a.b","data":{"n":2}}`, `{"event_type":"a.b","data":{},"id":"evt_00000000000000c1"}`
	publish := func(n *node, key string, events ...string) answer {
		return n.call("POST", "/events/batch", a.live, `{"events":[`+strings.Join(events, ",")+`]}`, "Idempotency-Key", key)
	}
	stored := func() int { return p.events(t) }

	first := publish(a.node, "batch 1", named, eventOne, eventOne, eventTwo)
	require.Equal(t, 202, first.status, first.text)
	require.Len(t, items(first.body), 4)
	a.endpoint(newHook(t, nil), "") // the first answer stays the first answer
	for _, n := range nodes {
		again := publish(n, "batch 1", named, eventOne, eventOne, eventTwo)
		require.Equal(t, 200, again.status, again.text)
		require.Equal(t, first.text, again.text)
	}
	require.Equal(t, 4, stored())
	for _, events := range [][]string{{eventOne}, {eventTwo, eventOne}, {named, eventOne, eventOne}, {eventOne, eventOne, eventTwo, eventTwo, eventTwo}, {named, eventOne, eventOne, eventTwo, eventOne}} {
		other := publish(a.node, "batch 1", events...)
		require.Equal(t, 409, other.status, other.text)
		require.Equal(t, "idempotency_conflict", other.body["code"])
	}
	require.Equal(t, 409, a.call("POST", "/events", a.live, eventOne, "Idempotency-Key", "batch 1").status, "eventOne event is another body")
	require.Equal(t, 4, stored(), "a refused batch leaves nothing")
	require.Equal(t, 202, publish(a.node, "batch 2", eventOne, eventTwo).status, "another key, another batch")
	require.Equal(t, 6, stored())
	for _, key := range []string{strings.Repeat("k", 201), "schl\u00fcssel", "", " "} {
		require.Equal(t, 422, publish(a.node, key, eventOne).status)
		require.Equal(t, 422, publish(a.node, key, named).status)
	}

	// At once, over eventTwo processes: eventOne batch.
	var wg sync.WaitGroup
	answers := make([]answer, 20)
	for i := range answers {
		wg.Go(func() {
			answers[i], _ = nodes[i%2].try("POST", "/events/batch", a.live, `{"events":[`+eventOne+`,`+eventTwo+`]}`, "Idempotency-Key", "batch 3")
		})
	}
	wg.Wait()
	counts := make(map[int]int)
	for _, got := range answers {
		counts[got.status]++
		require.Equal(t, answers[0].text, got.text)
	}
	require.Equal(t, map[int]int{202: 1, 200: 19}, counts)
	require.Equal(t, 8, stored())
}

// events counts the events there are.
func (p place) events(t *testing.T) (n int) {
	t.Helper()
	require.NoError(t, p.pool.QueryRow(t.Context(), `select count(*) from hub.events`).Scan(&n))
	return n
}

// "50 at once" with one id make one event and one delivery, over two processes.
func TestFiftyAtOnceMakeOneEvent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	nodes := []*node{a.node, p.start(t, nil)}
	h := newHook(t, nil)
	a.endpoint(h, "")
	const body = `{"event_type":"a.b","data":{},"id":"evt_0000000000000050"}`
	var wg sync.WaitGroup
	statuses := make([]int, 50)
	for i := range statuses {
		wg.Go(func() {
			got, err := nodes[i%2].try("POST", "/events", a.live, body)
			if err == nil && got.body["deliveries"] == 1.0 && got.body["id"] == "evt_0000000000000050" {
				statuses[i] = got.status
			}
		})
	}
	wg.Wait()
	counts := make(map[int]int)
	for _, status := range statuses {
		counts[status]++
	}
	require.Equal(t, map[int]int{202: 1, 200: 49}, counts)
	last := a.publish("a.last", `{}`)
	h.waitAll([]string{last, "evt_0000000000000050"})
	require.Equal(t, 1, h.times()["evt_0000000000000050"])
}

// "Batches: POST /api/v1/events/batch, up to 500, all or nothing."
func TestBatchIsAllOrNothing(t *testing.T) {
	t.Parallel()
	a := newPlace(t).start(t, nil).account()
	h := newHook(t, nil)
	a.endpoint(h, "")
	const good, known = `{"event_type":"a.b","data":{}}`, `{"event_type":"a.b","data":{},"id":"evt_00000000000000b1"}`
	a.ok(202, "POST", "/events", known, a.live)
	reused := strings.Replace(known, `{}`, `{"other":true}`, 1)
	fresh := strings.Replace(known, "b1", "b2", 1)
	count := func() int { return len(items(a.ok(200, "GET", "/events?limit=200", ""))) }
	before := count()
	for _, test := range []struct {
		status int
		body   string
	}{
		{422, `{}`}, {422, `{"events":[]}`}, {422, `{"events":{}}`}, {422, `{"events":[1]}`}, {422, `{"events":null}`},
		{422, `{"events":[` + good + `],"more":1}`},
		{422, `{"events":[` + good + `,{"event_type":"a.b"}]}`},
		{422, `{"events":[` + known + `,` + known + `]}`},
		{422, `{"events":[` + good + strings.Repeat(`,`+good, 500) + `]}`},
		{400, `{"events":[` + good + `,]}`},
		{409, `{"events":[` + good + `,` + fresh + `,` + reused + `]}`},
		{409, `{"events":[` + reused + `,` + good + `]}`},
	} {
		got := a.call("POST", "/events/batch", a.live, test.body)
		require.Equal(t, test.status, got.status, "%.80s: %s", test.body, got.text)
	}
	require.Equal(t, before, count(), "a refused batch leaves nothing")
	mixed := `{"events":[` + good + `,` + fresh + `,` + known + `]}` // fresh was not spent by the refused batch
	got := items(a.ok(202, "POST", "/events/batch", mixed, a.live))
	require.Len(t, got, 3)
	require.Equal(t, "evt_00000000000000b2", got[1]["id"])
	require.Equal(t, "evt_00000000000000b1", got[2]["id"])
	again := items(a.ok(200, "POST", "/events/batch", `{"events":[`+fresh+`,`+known+`]}`, a.live))
	require.Equal(t, got[1:], again)
	h.waitAll(a.batch(500, "a.many"))
	require.Equal(t, 1, h.times()["evt_00000000000000b1"])
	require.Equal(t, 1, h.times()["evt_00000000000000b2"])
}
