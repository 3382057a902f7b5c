package server_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// publishCounted publishes an event and returns its id and how many deliveries it makes.
func (a *account) publishCounted(eventType, data string) (id string, deliveries int) {
	a.t.Helper()
	made := a.ok(202, "POST", "/events", fmt.Sprintf(`{"event_type":%q,"correlation_id":"cart 7","data":%s}`, eventType, data), a.live)
	return made["id"].(string), int(made["deliveries"].(float64))
}

// metric reads a counter by its name and labels.
func (n *node) metric(name string) float64 {
	n.t.Helper()
	text := n.call("GET", "/metrics", "", "").text
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(text)
	require.NotNil(n.t, found, "%s is not in\n%s", name, text)
	value, err := strconv.ParseFloat(found[1], 64)
	require.NoError(n.t, err)
	return value
}

// filterErrors waits until an endpoint shows so many errors of its filter, and returns them.
func (a *account) filterErrors(endpoint string, count int) map[string]any {
	a.t.Helper()
	var shown map[string]any
	require.Eventually(a.t, func() bool {
		shown, _ = a.ok(200, "GET", "/endpoints/"+endpoint, "")["filter_errors"].(map[string]any)
		return shown != nil && shown["count"] == float64(count)
	}, soon, 5*tick)
	return shown
}

// An endpoint gets the events that its filter is true for. An event that no filter lets pass
// makes no delivery. One that a filter cannot be evaluated for does not match, and the endpoint
// says so.
func TestFilters(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	endpoint := a.endpoint(h, `"filter":"event.type == \"order.paid\" && event.data.total > 99.5"`)
	id, n := a.publishCounted("order.paid", `{"total":100}`)
	require.Equal(t, 1, n)
	_, n = a.publishCounted("order.paid", `{"total":99}`)
	require.Zero(t, n)
	_, n = a.publishCounted("order.open", `{"total":100}`)
	require.Zero(t, n)
	a.settles(id, endpoint, "delivered")
	require.Nil(t, a.ok(200, "GET", "/endpoints/"+endpoint, "")["filter_errors"])

	// What the filter cannot be evaluated for.
	for _, data := range []string{`{}`, `{"total":"a secret"}`, `{"total":null}`} {
		_, n = a.publishCounted("order.paid", data)
		require.Zero(t, n)
	}
	shown := a.filterErrors(endpoint, 3)
	require.Regexp(t, `^column \d+: a value has the wrong type for this$`, shown["last_error"])
	require.NotEmpty(t, shown["last_at"])
	require.InDelta(t, 5.0, a.metric(`hub_deliveries_filtered_total{product="shop"}`), 0)
	require.InDelta(t, 3.0, a.metric(`hub_filter_errors_total{product="shop"}`), 0)
	listed := items(a.ok(200, "GET", "/endpoints?tenant_id="+a.tenant, ""))[0]
	require.Equal(t, shown, listed["filter_errors"])
	a.publishCounted("order.paid", `{}`)
	require.Equal(t, "column 41: the event has no such member: total", a.filterErrors(endpoint, 4)["last_error"])

	// A PUT without the filter keeps it; another one begins to count anew, null removes it.
	put := func(fields string) map[string]any {
		return a.ok(200, "PUT", "/endpoints/"+endpoint, `{"url":"`+h.url+`","event_types":["*"]`+fields+`}`)
	}
	require.Equal(t, `event.type == "order.paid" && event.data.total > 99.5`, put(`,"description":"changed"`)["filter"])
	require.NotNil(t, put("")["filter_errors"])
	changed := put(`,"filter":"event.correlation_id == \"cart 7\" && event.product == \"shop\""`)
	require.Nil(t, changed["filter_errors"])
	id, n = a.publishCounted("a.b", `{}`)
	require.Equal(t, 1, n)
	a.settles(id, endpoint, "delivered")
	_, n = a.publishCounted("a.b", `{}`)
	require.Equal(t, 1, n)
	require.Nil(t, put(`,"filter":null`)["filter"])
	require.Nil(t, put(`,"filter":""`)["filter"])
	entry := items(a.ok(200, "GET", "/audit?action=endpoints.update&resource_id="+endpoint, ""))
	require.Equal(t, []any{"filter"}, entry[0]["changed"])
	require.Equal(t, []any{"description"}, entry[len(entry)-1]["changed"])
	require.NotContains(t, a.call("GET", "/audit", a.token, "").text, "cart 7")
	require.Len(t, h.arrivals(), 3)
	p.balance(t)
}

// What is no boolean expression is refused with its place, and changes nothing.
func TestFilterIsChecked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	endpoint := a.endpoint(h, `"filter":"event.data.a == 1"`)
	for text, want := range map[string]string{
		`event.data.a >`:      `column 15: `,
		`event.totl > 1`:      `column 6: `,
		`"ação" == even.type`: `column 11: undeclared reference`,
		`event.id`:            `must be true or false`,
		`event.id == "` + strings.Repeat("é", 1020) + `"`: `must have at most 2048 bytes`,
	} {
		body := fmt.Sprintf(`{"url":%q,"event_types":["*"],"filter":%q}`, h.url, text)
		for _, call := range [][2]string{{"PUT", "/endpoints/" + endpoint}, {"POST", "/endpoints"}} {
			got := a.refused(422, "validation_failed", call[0], call[1], a.live, body)
			require.Contains(t, got.text, "body.filter")
			require.Contains(t, got.text, want)
		}
	}
	require.Equal(t, "event.data.a == 1", a.ok(200, "GET", "/endpoints/"+endpoint, "")["filter"])
	require.Len(t, items(a.ok(200, "GET", "/endpoints", "", a.live)), 1)
}

// Match says what would become of an event, and sends and counts nothing.
func TestMatch(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	endpoint := a.endpoint(h, `"event_types":["order.*"],"filter":"event.data.total > 100 && event.product == \"shop\" && event.timestamp > timestamp(\"2020-01-01T00:00:00Z\")"`)
	plain, abandoned := a.endpoint(h, `"enabled":false`), a.endpoint(h, `"enabled":false`)
	_, err := p.pool.Exec(t.Context(), `update hub.endpoints set abandoned_at = now() where id = $1`, abandoned)
	require.NoError(t, err)
	for _, c := range []struct {
		endpoint, event string
		matches         bool
		reason          string
	}{
		{endpoint, `{"event_type":"order.paid","data":{"total":100.5}}`, true, "The filter is true for this event."},
		{endpoint, `{"event_type":"order.paid","data":{"total":100},"ordering_key":"k","correlation_id":null}`, false, "The filter is not true for this event."},
		{endpoint, `{"event_type":"cart.paid","data":{"total":101}}`, false, "The endpoint does not subscribe to cart.paid."},
		{endpoint, `{"event_type":"order.paid","data":{}}`, false, "The filter cannot be evaluated for this event: column 11: the event has no such member: total."},
		{endpoint, `{"id":"evt_0123456789ABCDEF","product":"shop","event_type":"order.paid","timestamp":"2019-12-31T23:59:59Z","correlation_id":"c","data":{"total":101}}`, false, "The filter is not true for this event."},
		{endpoint, `{"product":"crm","event_type":"order.paid","data":{"total":101}}`, false, "The filter is not true for this event."},
		{endpoint, `{"event_type":"order.paid","data":{"total":1e400}}`, true, "The filter is true for this event."},
		{endpoint, `{"event_type":"order.paid","data":{"total":-1e309}}`, false, "The filter is not true for this event."},
		{endpoint, `{"event_type":"order.paid","data":{"total":101,"others":[{"a":1e309}]},"correlation_id":null}`, true, "The filter is true for this event."},
		{plain, `{"event_type":"cart.paid","data":{}}`, true, "The endpoint subscribes to the type and has no filter."},
		{abandoned, `{"event_type":"cart.paid","data":{}}`, false, "The endpoint was abandoned because it had been disabled for 15 days: no event makes a delivery until it is enabled."},
	} {
		got := a.ok(200, "POST", "/endpoints/"+c.endpoint+"/match", `{"event":`+c.event+`}`, a.live)
		require.Equal(t, map[string]any{"matches": c.matches, "reason": c.reason}, got, c.event)
	}
	for _, wrong := range []string{`{"data":{}}`, `{"event_type":"a b","data":{}}`, `{"event_type":"a.b","data":[]}`, `{"event_type":"a.b"}`, `{"event_type":"a.b","data":{},"other":1}`, `null`,
		`{"event_type":1e400,"data":{}}`, `{"event_type":null,"data":{"a":1e400}}`, `{"event_type":"a.b","data":1e400}`} {
		got := a.call("POST", "/endpoints/"+endpoint+"/match", a.live, `{"event":`+wrong+`}`)
		require.Equal(t, 422, got.status, "%s: %s", wrong, got.text)
	}
	a.refused(404, "not_found", "POST", "/endpoints/"+endpoint+"/match", a.test, `{"event":{"event_type":"a.b","data":{}}}`)
	require.Empty(t, h.arrivals())
	for _, event := range items(a.ok(200, "GET", "/events", "")) {
		require.Equal(t, "hub.endpoint.abandoned", event["event_type"], "the hub's own; asking publishes nothing")
	}
	for _, entry := range items(a.ok(200, "GET", "/audit?action=endpoints.match", "")) {
		require.NotEqual(t, 200.0, entry["status"], "reading is no change")
	}
	require.Nil(t, a.ok(200, "GET", "/endpoints/"+endpoint, "")["filter_errors"])
	_, routed := a.publishCounted("order.paid", `{"total":1e400}`)
	require.Equal(t, 2, routed, "as match says, and to the one without a filter")
}

// Pings and what is sent again go to the endpoint that was chosen, whatever its filter says. A
// recovery makes the deliveries that the present filter lets pass.
func TestFilterAndSendingAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	endpoint := a.endpoint(h, ``)
	sent := a.publish("a.b", `{"n":1}`)
	a.settles(sent, endpoint, "delivered")
	put := func(filter string) {
		a.ok(200, "PUT", "/endpoints/"+endpoint, fmt.Sprintf(`{"url":%q,"event_types":["*"],"filter":%q}`, h.url, filter))
	}
	put(`event.data.n > 100`)
	missed := make([]string, 20)
	for i := range missed {
		missed[i] = a.publish("a.b", fmt.Sprintf(`{"n":%d}`, i+2))
	}
	a.ok(202, "POST", "/endpoints/"+endpoint+"/ping", "")
	h.wait(2)
	a.ok(202, "POST", "/deliveries/"+a.delivery(sent, endpoint)["id"].(string)+"/retry", "")
	h.wait(3)
	recovery := "/endpoints/" + endpoint + "/recover"
	require.InDelta(t, 0.0, a.ok(200, "POST", recovery, `{"since":"2026-01-01T00:00:00Z","dry_run":true}`)["count"], 0)
	put(`event.data.n % 2 == 0`)
	require.InDelta(t, 10.0, a.ok(200, "POST", recovery, `{"since":"2026-01-01T00:00:00Z","dry_run":true}`)["count"], 0)
	a.ok(202, "POST", recovery, `{"since":"2026-01-01T00:00:00Z"}`)
	h.wait(13)
	for i, id := range missed {
		if i%2 == 0 {
			a.settles(id, endpoint, "delivered")
		} else {
			require.Empty(t, items(a.ok(200, "GET", "/deliveries?event_id="+id, "")))
		}
	}
	require.Len(t, h.arrivals(), 13)
	p.balance(t)
}

// Three hundred endpoints with filters of their own, of which few match; a tenant beside them
// whose events lack the member gets its own.
func TestManyFilters(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, nil)
	a, other := n.account(), n.account()
	h, quiet := newHook(t, nil), newHook(t, func(http.ResponseWriter, *http.Request, int) {})
	const endpoints = 300
	for i := range endpoints {
		a.endpoint(quiet, fmt.Sprintf(`"filter":"event.data[\"número\"] == %d && event.data.nome == \"José 👩🏽\""`, i))
	}
	theirs := other.endpoint(h, ``)
	filtered := other.endpoint(h, `"filter":"event.data[\"número\"] == 1"`)
	for i := range 20 {
		_, deliveries := a.publishCounted("a.b", fmt.Sprintf(`{"número":%d,"nome":"José 👩🏽"}`, i*20))
		require.Equal(t, map[bool]int{true: 1}[i*20 < endpoints], deliveries)
	}
	got, deliveries := other.publishCounted("a.b", `{"number":1}`)
	require.Equal(t, 1, deliveries)
	other.settles(got, theirs, "delivered")
	require.Contains(t, other.filterErrors(filtered, 1)["last_error"], "the event has no such member: número")
	p.balance(t)
}

// A filter that loops over 256 KiB of data ends at its limit of cost. Filters that cost too much
// together are errors beyond a limit of the event, and refuse a batch beyond one of a request.
func TestFiltersAreBounded(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	data := `{"list":[` + strings.Repeat("1,", 120<<10) + `1]}`
	loop := a.endpoint(h, `"event_types":["loop"],"filter":"event.data.list.all(x, event.data.list.all(y, x == y))"`)
	plain := a.endpoint(h, `"event_types":["loop"]`)
	id, deliveries := a.publishCounted("loop", data)
	require.Equal(t, 1, deliveries)
	a.settles(id, plain, "delivered")
	require.Equal(t, "the filter costs too much for this event: more than 10000 steps", a.filterErrors(loop, 1)["last_error"])

	var many []string
	for i := range 40 {
		many = append(many, a.endpoint(h, fmt.Sprintf(`"event_types":["many"],"filter":"event.data.list.exists(x, x == %d)"`, i+2)))
	}
	_, deliveries = a.publishCounted("many", data)
	require.Zero(t, deliveries)
	require.Contains(t, a.filterErrors(many[0], 1)["last_error"], "costs too much for this event")
	require.Contains(t, a.filterErrors(many[39], 1)["last_error"], "cost too much together")
	event := `{"event_type":"many","data":{"list":[` + strings.Repeat("1,", 2500) + `1]}}`
	batch := `{"events":[` + event + strings.Repeat(","+event, 29) + `]}`
	a.refused(422, "filters_too_expensive", "POST", "/events/batch", a.live, batch)
	a.ok(202, "POST", "/events", event, a.live)
}
