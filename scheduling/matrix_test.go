package scheduling_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
	"integrationhub/scheduling"
)

// owned are the ids of everything an organization has.
func (p *plan) owned() map[string]string {
	p.t.Helper()
	ids := map[string]string{"service": p.service, "professional": p.professional, "client": p.client, "slug": p.slug}
	p.ok(200, "PUT", "/organization/settings", object{"waitlist_enabled": true})
	ids["appointment"] = p.book(0)
	ids["token"] = p.guest().ok(201, "POST", p.public("/appointments"), p.wish(3*24*3600*1e9))["cancel_token"].(string)
	ids["rule"] = p.list("/schedule-rules?professional_id=" + p.professional)[0]["id"].(string)
	ids["exception"] = p.ok(201, "POST", "/schedule-exceptions", object{"professional_id": p.professional, "date": "2026-03-12", "exception_type": "block"})["id"].(string)
	ids["user"] = p.ok(201, "POST", "/users", object{"name": "Edu", "email": "u-" + p.email})["id"].(string)
	config := p.ok(200, "PUT", "/loyalty/config", object{"rewards": []object{{"name": "R", "points": 5, "type": "free_service"}}})
	ids["reward"] = config["rewards"].([]any)[0].(object)["id"].(string)
	ids["key"] = p.ok(200, "POST", "/integrations/api-keys", nil)["id"].(string)
	ids["integration"] = p.linked()
	ids["endpoint"] = uuid.NewString()
	return ids
}

// snapshot reads everything an organization owns.
func (p *plan) snapshot() string {
	p.t.Helper()
	return rowsOf(p.t, p.hub.Host.Pool, p.org)
}

// rowsOf reads an organization's rows in the service's tables, and its keys and
// integrations.
func rowsOf(t testing.TB, db *pgxpool.Pool, org uuid.UUID) string {
	t.Helper()
	tables, err := db.Query(t.Context(), `select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'org_id'
		where c.relnamespace = 'scheduling'::regnamespace and c.relkind = 'r' order by 1`)
	require.NoError(t, err)
	names, err := pgx.CollectRows(tables, pgx.RowTo[string])
	require.NoError(t, err)
	queries := []string{
		`select string_agg(t::text, E'\n' order by t::text) from scheduling.organizations t where id = $1`,
		`select string_agg(concat_ws(' ', id, revoked_at, expires_at), ', ' order by id) from hub.keys where tenant_id = $1`,
		`select string_agg(concat_ws(' ', id, status, revoked_at, api_url), ', ' order by id) from hub.integrations where tenant_id = $1`,
	}
	for _, name := range names {
		queries = append(queries, `select string_agg(t::text, E'\n' order by t::text) from scheduling.`+name+` t where org_id = $1`)
	}
	var all strings.Builder
	for _, query := range queries {
		var rows *string
		require.NoError(t, db.QueryRow(t.Context(), query, org).Scan(&rows), query)
		if rows != nil {
			all.WriteString(*rows + "\n")
		}
	}
	return all.String()
}

// linked connects the organization with a tenant of another product of its hub, and
// gives the integration's id.
func (p *plan) linked() string {
	p.t.Helper()
	var peer struct {
		TenantID string `json:"tenant_id"`
	}
	p.hub.CallAPI("POST", "/notes/api/v1/auth/register", object{"name": "Peer"}, &peer)
	var made struct{ Integrations []struct{ ID string } }
	p.hub.CallAPI("POST", "/api/v1/integrations/link", object{"tenant_id": p.org, "peer_tenant_id": peer.TenantID}, &made)
	return made.Integrations[0].ID
}

// besideNotes makes a studio in a hub that hosts another product too.
func besideNotes(t *testing.T) *plan {
	t.Helper()
	return another(t, moduletest.Start(t, scheduling.New(), moduletest.Options{
		Start: monday.Add(-72 * time.Hour), OtherModules: []module.Module{notes.New("notes")},
	})).open()
}

// attempt is a request that reaches for somebody else's thing.
type attempt struct{ method, path, body, what string }

// attempts are all requests of an operation, on behalf of an organization with its
// own ids, that have a foreign id in one place.
func (op operation) attempts(mine, theirs map[string]string) []attempt {
	body := bodies[op.OperationID]
	path := op.Path + queries[op.OperationID]
	kind := kindOf(op.Path)
	ownPath := func(s string) string {
		s = fill(s, func(k string) string { return mine[k] })
		return parameter.ReplaceAllStringFunc(s, func(string) string { return mine[kind] })
	}
	own := func(s string) string { return fill(s, func(k string) string { return mine[k] }) }
	var list []attempt
	for _, name := range parameter.FindAllString(op.Path, -1) {
		if name != "{slug}" && kind != "" {
			list = append(list, attempt{op.Method, ownPath(strings.Replace(path, name, theirs[kind], 1)), own(body), "path " + name})
		}
	}
	for place, text := range map[string]string{"body": body, "query": queries[op.OperationID]} {
		for at, name := range placeholder.FindAllString(text, -1) {
			if name == "{slug}" {
				continue
			}
			n := -1
			foreign := placeholder.ReplaceAllStringFunc(text, func(s string) string {
				if n++; n == at {
					return theirs[strings.Trim(s, "{}")]
				}
				return mine[strings.Trim(s, "{}")]
			})
			one := attempt{op.Method, ownPath(path), foreign, place + " " + name}
			if place == "query" {
				one.path, one.body = ownPath(op.Path)+foreign, ""
			}
			list = append(list, one)
		}
	}
	return list
}

// Every resource and verb, with another organization's id in the path, the query or
// the body: 404, and nothing of theirs is changed or told.
func TestForeignOrganizationsDoNotExist(t *testing.T) {
	t.Parallel()
	me := besideNotes(t)
	them := another(t, me.hub).open()
	mine, theirs := me.owned(), them.owned()
	key := me.hub.CreateKey(me.org, hub.Live)
	before := them.snapshot()
	tried := 0
	for _, op := range operations(me.studio) {
		op.complete(me.studio)
		for _, one := range op.attempts(mine, theirs) {
			tried++
			var body any
			if one.body != "" {
				body = one.body
			}
			got := op.caller(me, key).call(one.method, one.path, body)
			about := fmt.Sprintf("%s %s, %s: %s", op.OperationID, one.path, one.what, got.text)
			if slices.Contains([]string{"appointments.list", "payments.list", "webhook-logs.list", "audit-log.list"}, op.OperationID) { // filters
				require.Equal(t, 200, got.status, about)
				require.NotContains(t, got.text, theirs["client"], about)
				require.NotContains(t, got.text, theirs["integration"], about)
				continue
			}
			require.Equal(t, 404, got.status, about)
			require.Contains(t, []any{"not_found", "invalid_token"}, got.body["code"], about)
		}
	}
	require.Greater(t, tried, 70)
	require.Equal(t, before, them.snapshot(), "nothing of theirs changed")
	for _, path := range []string{
		"/services", "/professionals", "/schedule-rules", "/clients", "/appointments", "/users", "/payments",
		"/integrations/", "/integrations/api-keys", "/integrations/webhook-logs",
	} {
		got := me.call("GET", path, nil)
		require.Equal(t, 200, got.status, got.text)
		require.NotContains(t, got.text, them.org.String(), path)
		for kind, id := range theirs {
			require.NotContains(t, got.text, id, "%s: the %s of somebody else", path, kind)
		}
	}
}

// Members that are not the caller's to set are not applied, whatever they say.
func TestNobodySetsWhatIsNotTheirs(t *testing.T) {
	t.Parallel()
	me := besideNotes(t)
	them := another(t, me.hub).open()
	mine := me.owned()
	them.owned()
	before := them.snapshot()
	extra := fmt.Sprintf(`"org_id":%q,"tenant_id":%q,"role":"owner","plan":"gold","total_spent":99,"total_appointments":99,"loyalty_points":99,"balance_due":0,"status":"paid","created_by":%[1]q,`, them.org, them.org)
	tried := 0
	for _, op := range operations(me.studio) {
		body := bodies[op.OperationID]
		if strings.HasPrefix(op.Path, "/api/v1/auth/") || strings.HasPrefix(op.OperationID, "users.") || body == "" {
			continue // roles of users are an owner's to give
		}
		idOf := func(kind string) string { return mine[kind] }
		path := parameter.ReplaceAllStringFunc(fill(op.Path, idOf), func(string) string { return mine[kindOf(op.Path)] })
		got := op.caller(me, me.hub.CreateKey(me.org, hub.Live)).call(op.Method, path, strings.Replace(fill(body, idOf), "{", "{"+extra, 1))
		require.Less(t, got.status, 500, "%s: %s", op.OperationID, got.text)
		require.NotContains(t, got.text, them.org.String(), op.OperationID)
		tried++
	}
	require.Greater(t, tried, 25)
	require.Equal(t, before, them.snapshot())
	require.Equal(t, "free", me.ok(200, "GET", "/organization", nil)["plan"])
	for _, c := range me.ok(200, "GET", "/clients", nil)["items"].([]any) {
		require.NotEqual(t, 99.0, c.(object)["total_spent"])
		require.NotEqual(t, 99.0, c.(object)["total_appointments"])
		require.NotEqual(t, 99.0, c.(object)["loyalty_points"])
	}
}

// Without credentials, with bad ones, and with some of too small a role.
func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	p := besideNotes(t)
	mine := p.owned()
	p.as("").ok(200, "POST", "/auth/reset-password", object{"token": p.mailed("u-" + p.email), "password": password})
	staff := p.as(p.as("").ok(200, "POST", "/auth/login", object{"email": "u-" + p.email, "password": password})["access_token"].(string))
	powerless := p.as(p.hub.CreateKey(p.org, hub.Live, "events.publish"))
	var managers, scoped []string
	for _, op := range operations(p.studio) {
		idOf := func(k string) string { return mine[k] }
		path := parameter.ReplaceAllString(op.Path, uuid.NewString()) + fill(queries[op.OperationID], idOf)
		var body any
		if text := bodies[op.OperationID]; text != "" {
			body = fill(text, idOf)
		}
		roles, bearer := op.accepts("bearer")
		scopes, key := op.accepts("key")
		if len(roles) > 0 {
			managers = append(managers, op.OperationID)
			staff.refused(403, "admin_only", op.Method, path, body)
		}
		if len(scopes) > 0 {
			scoped = append(scoped, op.OperationID)
			powerless.refused(403, "missing_scope", op.Method, path, body)
		}
		if slices.ContainsFunc(op.Security, func(one map[string][]string) bool { return len(one) == 0 }) || op.public() {
			continue
		}
		switch {
		case bearer:
			p.as("").refused(401, "unauthorized", op.Method, path, body)
			p.as("eyJhbGciOiJub25lIn0.e30.").refused(401, "invalid_token", op.Method, path, body)
		case key:
			p.as("").refused(401, "invalid_key", op.Method, path, body)
			p.refused(401, "invalid_key", op.Method, path, body)
		}
		if key {
			p.as("sch_live_0123456789abcdefghijABCDEFGHIJ").refused(401, "invalid_key", op.Method, path, body)
		} else {
			p.as(p.hub.CreateKey(p.org, hub.Live)).refused(401, "unauthorized", op.Method, path, body)
		}
	}
	require.Subset(t, managers, []string{
		"organization.update", "organization.settings", "organization.logo", "organization.delete-logo", "users.list", "users.create", "users.update",
		"users.delete", "appointments.reopen", "loyalty.configure", "loyalty.adjust", "integrations.connect", "integrations.list", "integrations.revoke",
		"integrations.rotate-secret", "api-keys.create", "api-keys.revoke", "api-keys.rotate", "webhook-logs.list",
	})
	require.Subset(t, scoped, []string{
		"integrations.book", "integrations.search-clients", "integrations.search-appointments", "availability.day", "availability.month",
	})
}

// The rules for bodies, on every operation that takes one; never a 5xx.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	p := besideNotes(t)
	key := p.hub.CreateKey(p.org, hub.Live)
	for _, op := range operations(p.studio) {
		if !op.takesJSON() || op.OperationID == "integrations.webhook" { // what is not signed is not read
			continue
		}
		as := op.caller(p, key)
		path := parameter.ReplaceAllString(op.Path, uuid.NewString())
		for body, want := range map[string]int{
			`{`: 400, `{"a":1,"a":2}`: 400, `{"a":"\u0000"}`: 400, `{"a":1}x`: 400, `{"a":"\ud800"}`: 400, "{\"a\":\"\xff\"}": 400,
			`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`: 400, `{"a":` + strings.Repeat("1", 33) + `}`: 400,
			`[]`: 422, `"x"`: 422, `{"a":"` + strings.Repeat("x", 1<<20) + `"}`: 413,
		} {
			got := as.call(op.Method, path, body)
			require.Equal(t, want, got.status, "%s %.40q: %.300s", op.OperationID, body, got.text)
		}
		require.Equal(t, 415, as.call(op.Method, path, `{}`, "Content-Type", "text/plain").status, op.OperationID)
		require.Equal(t, 415, as.call(op.Method, path, `{}`, "Content-Encoding", "gzip").status, op.OperationID)
	}
}

// A value of the wrong type is a 422 that names its member, on every member of every body.
func TestWrongTypes(t *testing.T) {
	t.Parallel()
	p := besideNotes(t)
	key := p.hub.CreateKey(p.org, hub.Live)
	tried := 0
	for _, op := range operations(p.studio) {
		if !op.takesJSON() || op.OperationID == "integrations.webhook" {
			continue
		}
		path := parameter.ReplaceAllString(op.Path, uuid.NewString())
		for name, wrong := range op.fields() {
			var body object
			require.NoError(t, json.Unmarshal([]byte(fill(bodies[op.OperationID], func(string) string { return uuid.NewString() })), &body))
			body[name] = wrong
			got := op.caller(p, key).call(op.Method, path, body)
			require.Equal(t, 422, got.status, "%s with a wrong %s: %s", op.OperationID, name, got.text)
			var places []string
			for _, one := range got.body["errors"].([]any) {
				place, _, _ := strings.Cut(strings.TrimPrefix(one.(object)["location"].(string), "body."), "[")
				places = append(places, place)
			}
			require.Contains(t, places, name, "%s: %s", op.OperationID, got.text)
			tried++
		}
	}
	require.Greater(t, tried, 150)
}
