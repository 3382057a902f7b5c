package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/api"
)

// bodies holds a good body for every row that takes one. A row that is missing here
// fails the tests.
var bodies = map[string]string{
	"auth.login":                 `{"email":"nobody@example.com","password":"not the password"}`,
	"auth.refresh":               `{"refresh_token":"hubr_nothing"}`,
	"auth.logout":                `{}`,
	"session.create":             `{"email":"nobody@example.com","password":"not the password"}`,
	"operators.create":           `{"email":"new@example.com","name":"New","role":"support","password":"long enough to pass"}`,
	"operators.update":           `{"email":"new@example.com","name":"New","role":"support"}`,
	"tokens.create":              `{"name":"back end","role":"support"}`,
	"products.create":            `{"name":"other","prefix":"oth"}`,
	"products.update":            `{"title":"Shop"}`,
	"event-types.create":         `{"product":"shop","name":"other.made","schema":{"type":"object"},"example":{}}`,
	"event-types.update":         `{"description":"Other"}`,
	"endpoints.ping":             `{"event_type":"hub.ping"}`,
	"tenants.create":             `{"product":"shop","name":"Another"}`,
	"tenants.update":             `{"name":"Renamed","external_ref":"ref_9","limits":{"endpoints":2}}`,
	"keys.create":                `{"tenant_id":"{tenant}"}`,
	"keys.rotate":                `{"overlap_seconds":0}`,
	"integrations.connect":       `{"tenant_id":"{tenant}","product":"clinic","api_key":"k","api_url":"https://clinic.example.com/api/v1"}`,
	"integrations.link":          `{"tenant_id":"{tenant}","peer_tenant_id":"{tenant}"}`,
	"integrations.update":        `{"ordered":false}`,
	"integrations.rotate-secret": `{"overlap_seconds":0}`,
	"endpoints.create":           `{"tenant_id":"{tenant}","url":"https://example.com/hook","event_types":["*"]}`,
	"endpoints.update":           `{"url":"https://example.com/other","event_types":["a.b"]}`,
	"endpoints.rotate-secret":    `{"overlap_seconds":0}`,
	"endpoints.match":            `{"event":{"event_type":"a.b","data":{}}}`,
	"endpoints.check-signature":  `{"body":"{}","signature":"sha256=00"}`,
	"alerts.create":              `{"kind":"webhook","target":"https://example.com/alerts","events":["hub.*"]}`,
	"alerts.update":              `{"target":"https://example.com/other","events":["hub.endpoint.*"],"enabled":false}`,
	"alerts.rotate-secret":       `{"overlap_seconds":0}`,
	"events.publish":             `{"event_type":"a.b","data":{}}`,
	"events.publish-batch":       `{"events":[{"event_type":"a.b","data":{}}]}`,
	"endpoints.recover":          `{"since":"2026-01-02T03:04:05Z"}`,
	"lookup.search":              `{"phone":"+55 11 91234-5678"}`,
	"replays.create":             `{"filter":{"status":"parked","tenant_id":"{tenant}"}}`,
}

// bodiless rows are writes that take no body.
var bodiless = map[string]bool{
	"session.delete": true, "operators.delete": true, "tokens.delete": true, "products.delete": true, "tenants.delete": true, "tenants.suspend": true, "tenants.resume": true, "keys.revoke": true, "endpoints.delete": true, "event-types.delete": true,
	"alerts.delete": true, "alerts.test": true,
	"integrations.revoke": true, "integrations.test": true, "integrations.enable": true, "integrations.disable": true,
	"deliveries.retry": true, "deliveries.discard": true, "replays.cancel": true,
}

// endsLogin reports whether a row ends the login that the next rows need.
func endsLogin(row api.Row) bool {
	return row.Action == "auth.logout" || row.Action == "session.delete"
}

func bodyFor(t *testing.T, row api.Row, tenant uuid.UUID) string {
	t.Helper()
	body, known := bodies[row.Action]
	if row.Method != http.MethodGet && !bodiless[row.Action] {
		require.True(t, known, "give %s a body in this test", row.Action)
	}
	return strings.ReplaceAll(body, "{tenant}", tenant.String())
}

// credential returns a credential that may call a row.
func (b *bundle) credential(row api.Row) string {
	switch {
	case row.Public:
		return ""
	case row.KeysOnly:
		return b.live[0]
	}
	return b.admin
}

func (b *bundle) path(row api.Row, id string) string {
	if row.Action == "events.get" {
		id = "evt_0123456789abcdef"
	}
	return strings.NewReplacer("{id}", id, "{name}", "unknown").Replace(row.Path)
}

// owned reads all rows that belong to tenants, to compare them later.
func (b *bundle) owned() string {
	var all string
	err := b.db.QueryRow(context.Background(), `select
		(select string_agg(e::text, ';' order by id) from hub.endpoints e) || '|' ||
		(select string_agg(k::text, ';' order by id) from hub.keys k) ||
		(select count(*) from hub.integrations)`).Scan(&all)
	require.NoError(b.t, err)
	return all
}

func TestForeignTenantsDoNotExist(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	mine := b.endpoint(b.live[0], `{"url":"https://example.com/mine","event_types":["*"]}`)["id"].(string)
	foreign, test := b.key(b.tenant[1], everyScope), b.key(b.tenant[0], everyScope+`,"environment":"test"`)
	before := b.owned()
	strangers := map[string]string{"another tenant": foreign, "same tenant's test key": test}
	tried := 0
	for _, row := range b.api.Rows() {
		if row.Scope == "" {
			got := b.call(row.Method, b.path(row, mine), b.live[1], bodyFor(t, row, b.tenant[0]))
			if !row.Public {
				require.Equal(t, 401, got.status, "%s takes no keys", row.Action)
			}
			continue
		}
		tried++
		for who, stranger := range strangers {
			body := bodyFor(t, row, b.tenant[0])
			if row.KeysOnly { // theirs, and nobody else's
				require.NotContains(t, b.call(row.Method, row.Path, stranger, body).text, `"deliveries":1`, who)
				for _, field := range []string{`"tenant_id":"` + b.tenant[0].String() + `"`, `"environment":"live"`, `"product":"shop"`} {
					b.refused(422, "validation_failed", row.Method, row.Path, stranger, strings.Replace(body, "{", "{"+field+",", 1))
				}
				continue
			}
			if strings.Contains(row.Path, "{id}") {
				b.refused(404, "not_found", row.Method, b.path(row, mine), stranger, body)
				continue
			}
			if row.Method == http.MethodGet {
				require.NotContains(t, b.call("GET", row.Path, stranger, "").text, mine, who)
				if stranger == foreign {
					b.refused(404, "tenant_not_found", "GET", row.Path+"?tenant_id="+b.tenant[0].String(), stranger, "")
				}
				b.refused(404, "environment_not_found", "GET", row.Path+"?environment="+other(stranger), stranger, "")
			}
		}
		if body := bodyFor(t, row, b.tenant[0]); strings.Contains(body, "tenant_id") {
			b.refused(404, "tenant_not_found", row.Method, row.Path, foreign, body)
			live := strings.Replace(body, `"tenant_id"`, `"environment":"live","tenant_id"`, 1)
			b.refused(404, "environment_not_found", row.Method, row.Path, test, live)
		}
	}
	require.Equal(t, 22, tried)
	require.Equal(t, before, b.owned(), "nothing changed")
	require.Empty(t, b.sent.list)
	b.ok(200, "GET", "/endpoints/"+mine, b.live[0], "")
}

// everyScope are the scopes of keys in these tests, those of the log among them.
const everyScope = `"scopes":["events.publish","endpoints.manage","interaction.write","patient.search","deliveries.read","deliveries.retry"]`

func other(key string) string {
	if strings.Contains(key, "_live_") {
		return "test"
	}
	return "live"
}

// forSupport are the writes support staff may do.
var forSupport = map[string]bool{"lookup.search": true, "auth.logout": true, "session.delete": true, "deliveries.retry": true, "replays.create": true, "replays.cancel": true, "endpoints.recover": true, "endpoints.check-signature": true, "endpoints.match": true}

func TestRoles(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	nobody := uuid.NewString()
	scoped := b.key(b.tenant[0], `"scopes":["interaction.write"]`)
	for _, row := range b.api.Rows() {
		path, body := b.path(row, nobody), bodyFor(t, row, uuid.New())
		if endsLogin(row) {
			continue // ends the very login the next rows need
		}
		if !row.Public {
			require.Equal(t, 401, b.call(row.Method, path, "", body).status, row.Action)
			require.Equal(t, 401, b.call(row.Method, path, "garbage", body).status, row.Action)
			require.Equal(t, 401, b.call(row.Method, path, "", body, "Authorization", "Basic "+b.admin).status, row.Action)
		}
		if row.KeysOnly {
			for _, operator := range []string{b.admin, b.support, b.local} {
				b.refused(401, "invalid_key", row.Method, path, operator, body)
			}
			b.refused(403, "missing_scope", row.Method, path, scoped, body)
			b.ok(202, row.Method, path, b.live[0], body)
			continue
		}
		if row.Method != http.MethodGet && !row.Public {
			require.Equal(t, !forSupport[row.Action], row.AdminsOnly, row.Action)
		}
		support := b.call(row.Method, path, b.support, body)
		if row.AdminsOnly {
			require.True(t, row.Method != http.MethodGet || row.Action == "tokens.list" || row.Action == "dev.mail", "support may call every GET but two: %s", row.Action)
			require.Equal(t, 403, support.status, row.Action)
			require.Equal(t, "admin_only", support.body["code"])
		} else if !row.Public {
			require.NotContains(t, []int{401, 403}, support.status, row.Action)
		}
		admin := b.call(row.Method, path, b.admin, body)
		if !row.Public {
			require.NotContains(t, []int{401, 403}, admin.status, "%s: %s", row.Action, admin.text)
		}
		require.Less(t, admin.status, 500, "%s: %s", row.Action, admin.text)
		if row.Scope != "" {
			b.refused(403, "missing_scope", row.Method, path, scoped, body)
		}
	}
	require.Equal(t, 204, b.call("POST", "/auth/logout", b.support, "").status)
}

func TestBodyRulesHoldEverywhere(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	endpoint := b.endpoint(b.live[0], `{"url":"https://example.com/mine","event_types":["*"]}`)["id"].(string)
	before := b.owned()
	for _, row := range b.api.Rows() {
		body := bodyFor(t, row, b.tenant[0])
		if body == "" || endsLogin(row) {
			continue
		}
		credential, path := b.credential(row), b.path(row, endpoint)
		for name, test := range map[string]struct {
			status int
			body   string
			header string
		}{
			"cut":            {400, body[:len(body)-1], ""},
			"text":           {400, "hello", ""},
			"two values":     {400, body + body, ""},
			"duplicate key":  {400, with(row, body, `"x":1,"x":2`), ""},
			"too deep":       {400, strings.Repeat("[", 65) + strings.Repeat("]", 65), ""},
			"NUL":            {400, with(row, body, `"x":"\u0000"`), ""},
			"lone surrogate": {400, with(row, body, `"x":"\ud800"`), ""},
			"broken UTF-8":   {400, with(row, body, "\"x\":\"\xff\""), ""},
			"long number":    {400, with(row, body, `"x":`+strings.Repeat("1", 33)), ""},
			"gzip":           {415, body, "Content-Encoding: gzip"},
			"form":           {415, body, "Content-Type: application/x-www-form-urlencoded"},
			"unknown field":  {422, strings.Replace(body, "{", `{"canary_field":"canary value",`, 1), ""},
			"a list":         {422, "[]", ""},
			"nothing":        {400, "", ""},
		} {
			if test.body == "" && optional[row.Action] {
				continue
			}
			var headers []string
			if field, value, found := strings.Cut(test.header, ": "); found {
				headers = []string{field, value}
			}
			got := b.call(row.Method, path, credential, test.body, headers...)
			require.Equal(t, test.status, got.status, "%s, %s: %s", row.Action, name, got.text)
			require.Equal(t, "application/problem+json", got.header.Get("Content-Type"))
			require.NotContains(t, got.text, "canary value", "submitted values are never repeated")
		}
		require.Equal(t, 413, b.announce(row.Method, path, 1<<20+1), row.Action)
	}
	require.Equal(t, before, b.owned())
}

// "errors[{location, message}] (never the submitted value)": whatever is wrong, and
// wherever it stands. Names of unknown fields are shown, but cut and made printable.
func TestSubmittedValuesAreNeverRepeated(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	const canary = "c4n4ry"
	invalidValues := []string{`"` + canary + `"`, `"` + canary + `\u202e\u0007"`, `{"x":"` + canary + `"}`, `["` + canary + `",{"x":"` + canary + `"}]`,
		"48879123", "-48879123.5", `"http://` + canary + `@:x/"`, `"2026-13-45T` + canary + `"`, `"` + strings.Repeat(canary, 400) + `"`}
	problems := 0
	check := func(row api.Row, got answer, what string) {
		t.Helper()
		require.NotContains(t, got.text, canary, "%s: %s", row.Action, what)
		require.NotContains(t, got.text, "48879123", "%s: %s", row.Action, what)
		if got.status >= 400 {
			problems++
			require.Equal(t, "application/problem+json", got.header.Get("Content-Type"))
		}
	}
	for _, row := range b.api.Rows() {
		credential, path := b.credential(row), b.path(row, uuid.NewString())
		if strings.Contains(row.Path, "{id}") {
			for _, id := range []string{canary, canary + "%00", "%2e%2e%2f" + canary, strings.Repeat(canary, 100)} {
				check(row, b.call(row.Method, strings.ReplaceAll(row.Path, "{id}", id), credential, ""), "a path")
			}
		}
		for _, p := range b.api.Operation(row).Parameters {
			for _, value := range []string{canary, "48879123", canary + "%00%ff", strings.Repeat(canary, 400)} {
				switch p.In {
				case "query":
					if (row.Action+" "+p.Name == "audit.list resource_id" || row.Action == "event-types.openapi") && value == canary {
						continue // both find the product of that name, made above
					}
					if row.Action != "events.stream" || strings.HasSuffix(p.Name, "_id") && p.Schema.Format == "uuid" { // else it would be a tail
						check(row, b.call(row.Method, path+"?"+p.Name+"="+value, credential, ""), p.Name)
					}
				case "header":
					check(row, b.call(row.Method, path, credential, bodyFor(t, row, b.tenant[0]), p.Name, strings.Repeat(canary, 100)), p.Name)
				}
			}
		}
		body := bodyFor(t, row, b.tenant[0])
		if body == "" || endsLogin(row) {
			continue
		}
		var members map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(body), &members))
		for name := range members {
			for _, value := range invalidValues {
				if row.KeysOnly && name == "data" {
					continue
				}
				changed := maps.Clone(members)
				changed[name] = json.RawMessage(value)
				text, err := json.Marshal(changed)
				require.NoError(t, err)
				if got := b.call(row.Method, path, credential, string(text)); got.status >= 400 {
					check(row, got, name+" "+value)
				}
			}
		}
		long := strings.Replace(body, "{", `{"`+strings.Repeat("n", 5000)+`":"`+canary+`",`, 1)
		got := b.call(row.Method, path, credential, long)
		require.Equal(t, 422, got.status, row.Action)
		check(row, got, "a long name")
		require.Less(t, len(got.text), 1000, row.Action)
		var many strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&many, `"odd\u202e\u0007%d":"%s",`, i, canary)
		}
		got = b.call(row.Method, path, credential, strings.Replace(body, "{", "{"+many.String(), 1))
		require.Equal(t, 422, got.status, row.Action)
		check(row, got, "many names")
		require.Less(t, len(got.text), 5000, "%s: what was sent does not come back whole", row.Action)
		require.NotRegexp(t, `\x{202e}|\\u202e|\\u0007`, got.text)
	}
	require.Greater(t, problems, 500)
}

// with puts members into a body: the first ones of it, or the data of an event,
// which may be anything.
func with(row api.Row, body, members string) string {
	if row.KeysOnly {
		return strings.Replace(body, `"data":{}`, `"data":{`+members+`}`, 1)
	}
	return strings.Replace(body, "{", "{"+members+",", 1)
}

// optional are bodies that may be left out.
var optional = map[string]bool{"endpoints.ping": true, "keys.rotate": true, "endpoints.rotate-secret": true, "alerts.rotate-secret": true, "integrations.rotate-secret": true}

// announce sends the headers of a request with a long body, but no body. The server must
// refuse it without reading the body.
func (b *bundle) announce(method, path string, size int) int {
	connection, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	require.NoError(b.t, err)
	defer func() { _ = connection.Close() }()
	_, err = fmt.Fprintf(connection, "%s %s HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", method, path, size)
	require.NoError(b.t, err)
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(b.t, err)
	defer func() { _ = response.Body.Close() }()
	require.Equal(b.t, "application/problem+json", response.Header.Get("Content-Type"))
	return response.StatusCode
}

func TestOddQueriesAreNotOurFault(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	for _, row := range b.api.Rows() {
		if row.Method != http.MethodGet {
			continue
		}
		path := b.path(row, uuid.NewString())
		for _, query := range []string{
			"?limit=0", "?limit=201", "?limit=x", "?cursor=x", "?cursor=AAAA", "?cursor=" + strings.Repeat("A", 2000), "?q=%00", "?q=%ff", "?product=%00",
			"?tenant_id=1", "?environment=prod", "?since=yesterday", "?actor_id=%00", "?enabled=maybe", "?action=%ff&resource=%00", "?cursor=%00",
		} {
			got := b.call("GET", path+query, b.admin, "")
			require.Less(t, got.status, 500, "%s%s: %s", path, query, got.text)
		}
		require.Less(t, b.call("GET", strings.ReplaceAll(row.Path, "{id}", "%00"), b.admin, "").status, 500)
		require.Less(t, b.call("GET", strings.ReplaceAll(row.Path, "{id}", "..%2f"), b.admin, "").status, 500)
	}
	b.refused(422, "validation_failed", "GET", "/tenants?limit=201", b.admin, "")
	b.refused(422, "invalid_cursor", "GET", "/tenants?cursor=AAAA", b.admin, "")
	b.refused(400, "malformed", "GET", "/tenants?q=%00", b.admin, "")
}

func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.db.Close()
	for _, row := range b.api.Rows() {
		credential := b.local // needs no query of its own
		if row.Public || endsLogin(row) || row.Action == "auth.me" || row.Action == "session.get" || row.Action == "events.stream" || row.Action == "health.get" {
			continue
		}
		if row.KeysOnly {
			credential = b.live[0]
		}
		path := b.path(row, uuid.NewString())
		if row.Action == "lookup.phone" {
			path += "?phone=%2B5511912345678"
		}
		if row.Action == "event-types.openapi" {
			path += "?product=shop"
		}
		got := b.call(row.Method, path, credential, bodyFor(t, row, b.tenant[0]))
		require.Equal(t, 503, got.status, "%s: %s", row.Action, got.text)
		require.NotEmpty(t, got.header.Get("Retry-After"))
	}
	b.refused(503, "database_unavailable", "POST", "/auth/login", "", bodies["auth.login"])
	b.refused(503, "database_unavailable", "GET", "/endpoints", b.live[0], "")
	b.refused(503, "database_unavailable", "GET", "/auth/me", b.admin, "")
}
