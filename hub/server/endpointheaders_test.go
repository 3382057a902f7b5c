package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An endpoint's headers go out with each attempt and ping. They are shown masked, and stand
// neither in the log, nor in the audit log, nor readable in the database.
func TestEndpointHeaders(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	const token = "Bearer a-secret-token-x7Qz"
	endpoint := a.endpoint(h, `"headers":{"Authorization":"`+token+`","X-Api-Key":"short"}`)
	first := a.publish("a.b", `{}`)
	a.settles(first, endpoint, "delivered")
	a.ok(202, "POST", "/endpoints/"+endpoint+"/ping", "")
	h.wait(2)
	for _, arrival := range h.arrivals() {
		require.Equal(t, []string{token}, arrival.header["Authorization"])
		require.Equal(t, "short", arrival.header.Get("X-Api-Key"))
	}
	shown := map[string]any{"Authorization": "***x7Qz", "X-Api-Key": "***"}
	require.Equal(t, shown, a.ok(200, "GET", "/endpoints/"+endpoint, "")["headers"])
	require.Equal(t, shown, items(a.ok(200, "GET", "/endpoints", ""))[0]["headers"])

	// Absent keeps, an object replaces, {} and null remove; each works from the next attempt on.
	put := func(fields string) map[string]any {
		return a.ok(200, "PUT", "/endpoints/"+endpoint, `{"url":"`+h.url+`","event_types":["*"]`+fields+`}`)
	}
	require.Equal(t, shown, put(`,"description":"d"`)["headers"])
	require.Equal(t, map[string]any{"X-Other": "***"}, put(`,"headers":{"X-Other":"value"}`)["headers"])
	a.settles(a.publish("a.b", `{}`), endpoint, "delivered")
	require.Equal(t, "value", h.arrivals()[2].header.Get("X-Other"))
	require.Empty(t, h.arrivals()[2].header.Get("Authorization"))
	before := len(items(a.ok(200, "GET", "/audit?action=endpoints.update", "")))
	put(`,"headers":{"X-Other":"value"}`)
	entries := items(a.ok(200, "GET", "/audit?action=endpoints.update", ""))
	require.Len(t, entries, before, "the same headers are no change")
	require.Equal(t, []any{"description", "headers"}, entries[0]["changed"])

	// They are sent to no other host.
	moved := newHook(t, nil)
	to := func(status int, url, fields string) map[string]any {
		return a.ok(status, "PUT", "/endpoints/"+endpoint, `{"url":"`+url+`","event_types":["*"]`+fields+`}`)
	}
	refused := a.call("PUT", "/endpoints/"+endpoint, a.token, `{"url":"`+moved.url+`","event_types":["*"]}`)
	require.Equal(t, 422, refused.status, refused.text)
	require.Contains(t, refused.text, "body.headers")
	require.Equal(t, map[string]any{"X-Other": "***"}, to(200, h.url+"/other", "")["headers"])
	require.Empty(t, to(200, moved.url, `,"headers":{}`)["headers"])
	put(`,"headers":{"X-Other":"value"}`)
	require.Empty(t, put(`,"headers":{}`)["headers"])
	put(`,"headers":{"X-Other":"value"}`)
	require.Empty(t, put(`,"headers":null`)["headers"])
	a.settles(a.publish("a.b", `{}`), endpoint, "delivered")
	require.Empty(t, h.arrivals()[3].header.Get("X-Other"))

	detail := a.delivery(first, endpoint)
	for place, text := range map[string]string{
		"log":      a.call("GET", "/deliveries/"+detail["id"].(string), a.token, "").text,
		"audit":    a.call("GET", "/audit", a.token, "").text,
		"hub log":  a.log.String(),
		"database": p.endpointRow(t),
	} {
		require.NotContains(t, text, "secret-token", place)
	}
}

// endpointRow returns the endpoints as they are stored.
func (p place) endpointRow(t *testing.T) (text string) {
	t.Helper()
	require.NoError(t, p.pool.QueryRow(t.Context(), `select string_agg(row_to_json(e)::text, ' ') from hub.endpoints e`).Scan(&text))
	return text
}

// Headers that are the hub's, or that concern the connection, are refused, and so are masked
// values. Nothing is changed.
func TestEndpointHeadersAreChecked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	endpoint := a.endpoint(h, `"headers":{"X-Api-Key":"kept"}`)
	refused := func(headers, message string) {
		t.Helper()
		for _, call := range [][2]string{{"PUT", "/endpoints/" + endpoint}, {"POST", "/endpoints"}} {
			got := a.refused(422, "validation_failed", call[0], call[1], a.live, `{"url":"`+h.url+`","event_types":["*"],"headers":`+headers+`}`)
			require.Contains(t, got.text, message, headers)
		}
	}
	for _, name := range []string{
		"Host", "content-type", "Content-Length", "Proxy-Authorization", "Transfer-Encoding", "Connection", "keep-alive", "TE", "Trailer", "Upgrade", "Expect", "User-Agent", "Accept-Encoding",
		"X-Webhook-Signature", "webhook-id", "WEBHOOK-Anything", "X-Integration-Key", "X-Integration-Hub", "X-Hub-Signature",
	} {
		refused(`{"`+name+`":"v"}`, "is set by the hub or concerns the connection")
	}
	for _, name := range []string{"", "a b", "a:b", "ação", strings.Repeat("x", 101)} {
		refused(fmt.Sprintf(`{%q:"v"}`, name), "whose name is not that of a header")
	}
	for _, value := range []string{"", " v", "v ", `a\r\nX-Evil: 1`, "ação", strings.Repeat("x", 4097), `\t`} {
		refused(`{"X-A":"`+value+`"}`, "must be 1 to 4096 printable ASCII characters")
	}
	refused(`{"X-A":"***Qz"}`, "is masked")
	refused(`{"X-A":"1","x-a":"2"}`, "occurs twice")
	var many []string
	for i := range 11 {
		many = append(many, fmt.Sprintf(`"X-%d":"v"`, i))
	}
	refused("{"+strings.Join(many, ",")+"}", "must have at most 10 members")
	refused(`{"X-A":7}`, "")
	refused(`[]`, "")
	require.Equal(t, map[string]any{"X-Api-Key": "***"}, a.ok(200, "GET", "/endpoints/"+endpoint, "")["headers"])
	a.ok(200, "PUT", "/endpoints/"+endpoint, `{"url":"`+h.url+`","event_types":["*"],"headers":{`+strings.Join(many[:9], ",")+`,"X-Long":"`+strings.Repeat("x", 4096)+`"}}`)
	a.settles(a.publish("a.b", `{}`), endpoint, "delivered")
	require.Len(t, h.arrivals()[0].header.Get("X-Long"), 4096)
}
