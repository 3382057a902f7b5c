package scheduling_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// bodies holds a good body for every operation that takes one; {service} and its
// like stand for ids. An operation that is missing here fails the tests.
var bodies = map[string]string{
	"organization.update":        `{"name":"New"}`,
	"organization.settings":      `{"week_start":1}`,
	"services.create":            `{"name":"Wash","duration_minutes":30}`,
	"services.update":            `{"name":"Wash"}`,
	"services.reorder":           `{"service_ids":["{service}"]}`,
	"professionals.create":       `{"name":"Eva","user_id":"{user}"}`,
	"professionals.update":       `{"name":"Eva","user_id":"{user}"}`,
	"professionals.set-services": `{"service_ids":["{service}"]}`,
	"schedule-rules.create":      `{"professional_id":"{professional}","day_of_week":6,"start_time":"09:00","end_time":"10:00"}`,
	"schedule-rules.update":      `{"professional_id":"{professional}","end_time":"11:00"}`,
	"schedule-exceptions.create": `{"professional_id":"{professional}","date":"2026-03-10","exception_type":"block"}`,
	"schedule-exceptions.update": `{"professional_id":"{professional}","reason":"x"}`,
	"appointments.create":        `{"client_id":"{client}","professional_id":"{professional}","service_id":"{service}","start_at":"2026-03-05T09:00:00-03:00"}`,
	"appointments.update":        `{"client_id":"{client}","professional_id":"{professional}","service_id":"{service}"}`,
	"appointments.reschedule":    `{"start_at":"2026-03-05T10:00:00-03:00","professional_id":"{professional}"}`,
	"clients.create":             `{"name":"Davi"}`,
	"clients.update":             `{"name":"Davi"}`,
	"payments.create":            `{"appointment_id":"{appointment}","client_id":"{client}","amount":1,"method":"cash"}`,
	"payments.pix":               `{"appointment_id":"{appointment}","client_id":"{client}","amount":1}`,
	"users.create":               `{"name":"Edu","email":"edu-{slug}@example.com"}`,
	"users.update":               `{"name":"Edu"}`,
	"loyalty.configure":          `{"eligible_service_ids":["{service}"],"rewards":[{"id":"{reward}","name":"R","points":5,"type":"free_service","service_id":"{service}"}]}`,
	"loyalty.redeem":             `{"reward_id":"{reward}","appointment_id":"{appointment}"}`,
	"loyalty.adjust":             `{"points":5,"reason":"x"}`,
	"integrations.book":          `{"phone":"+5511987654321","name":"Gil","service_id":"{service}","professional_id":"{professional}","start_at":"2026-03-06T09:00:00-03:00"}`,
	"public.book":                `{"service_id":"{service}","professional_id":"{professional}","start_at":"2026-03-06T10:00:00-03:00","client_name":"Gil","client_phone":"+5511987654321"}`,
	"public.cancel":              `{"cancel_token":"{token}"}`,
	"public.reschedule":          `{"cancel_token":"{token}","start_at":"2026-03-06T10:30:00-03:00"}`,
	"auth.register":              `{"org_name":"O","org_slug":"x","name":"N","email":"x","password":"y"}`,
	"auth.login":                 `{"email":"x","password":"y"}`,
	"auth.refresh":               `{"refresh_token":"x"}`,
	"auth.forgot-password":       `{"email":"x"}`,
	"auth.reset-password":        `{"token":"x","new_password":"y"}`,
}

// queries holds ids that lists can be filtered by.
var queries = map[string]string{
	"schedule-rules.list": "?professional_id={professional}", "schedule-exceptions.list": "?professional_id={professional}",
	"availability.day":   "?service_id={service}&professional_id={professional}&date=2026-03-02",
	"availability.month": "?service_id={service}&professional_id={professional}&month=2026-03",
	"appointments.list":  "?client_id={client}&professional_id={professional}", "payments.list": "?client_id={client}",
	"reports.dashboard": "?professional_id={professional}", "reports.occupancy": "?professional_id={professional}",
	"reports.revenue": "?professional_id={professional}", "reports.noshow": "?professional_id={professional}",
	"reports.popular":      "?professional_id={professional}",
	"public.professionals": "?service_id={service}", "public.availability": "?service_id={service}&professional_id={professional}&date=2026-03-02",
	"public.appointment": "?token={token}",
}

// owned are the ids of everything an organization has.
func (p *plan) owned() map[string]string {
	p.t.Helper()
	ids := map[string]string{"service": p.service, "professional": p.professional, "client": p.client, "slug": p.slug}
	ids["appointment"] = p.book(0)
	ids["token"] = p.guest().ok(201, "POST", p.public("/appointments"), p.wish(3*24*3600*1e9))["cancel_token"].(string)
	ids["rule"] = p.list("/schedule-rules?professional_id=" + p.professional)[0]["id"].(string)
	ids["exception"] = p.ok(201, "POST", "/schedule-exceptions", object{"professional_id": p.professional, "date": "2026-03-12", "exception_type": "block"})["id"].(string)
	ids["user"] = p.ok(201, "POST", "/users", object{"name": "Edu", "email": "u-" + p.email})["id"].(string)
	config := p.ok(200, "PUT", "/loyalty/config", object{"rewards": []object{{"name": "R", "points": 5, "type": "free_service"}}})
	ids["reward"] = config["rewards"].([]any)[0].(object)["id"].(string)
	return ids
}

var (
	placeholder = regexp.MustCompile(`\{(service|professional|client|appointment|user|reward|token|slug)\}`)
	parameter   = regexp.MustCompile(`\{([A-Za-z]+)\}`)
)

// fill puts ids in the place of what they stand for.
func fill(text string, idOf func(kind string) string) string {
	return placeholder.ReplaceAllStringFunc(text, func(s string) string { return idOf(strings.Trim(s, "{}")) })
}

// kindOf is what an operation's path names by {id}.
func kindOf(path string) string {
	for part, kind := range map[string]string{
		"/services/": "service", "/professionals/": "professional", "/schedule-rules/copy": "professional", "/schedule-rules/{": "rule",
		"/schedule-exceptions/": "exception", "/appointments/": "appointment", "/clients/": "client", "/users/": "user",
	} {
		if strings.Contains(path, "/api/v1"+part) || strings.Contains(path, "loyalty"+part) {
			return kind
		}
	}
	return ""
}

// snapshot reads everything an organization owns.
func (p *plan) snapshot() string {
	p.t.Helper()
	tables, err := p.hub.DB.Query(p.t.Context(), `select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'org_id'
		where c.relnamespace = 'scheduling'::regnamespace and c.relkind = 'r' order by 1`)
	require.NoError(p.t, err)
	names, err := pgx.CollectRows(tables, pgx.RowTo[string])
	require.NoError(p.t, err)
	var all strings.Builder
	for _, name := range append(names, "organizations") {
		column := "org_id"
		if name == "organizations" {
			column = "id"
		}
		var rows *string
		require.NoError(p.t, p.hub.DB.QueryRow(p.t.Context(), fmt.Sprintf(`select string_agg(t::text, E'\n' order by t::text) from scheduling.%s t where %s = $1`, name, column), p.org).Scan(&rows))
		if rows != nil {
			all.WriteString(name + "\n" + *rows + "\n")
		}
	}
	return all.String()
}

// operation is one of the interface.
type operation struct {
	*huma.Operation
	public bool
}

func operations(api huma.API) []operation {
	var list []operation
	for _, item := range api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op != nil {
				list = append(list, operation{op, len(op.Security) == 0})
			}
		}
	}
	return list
}

// attempt is a request that reaches for somebody else's thing.
type attempt struct{ method, path, body, what string }

// attempts are all requests of an operation, on behalf of an organization with its
// own ids, that have a foreign id in one place.
func (op operation) attempts(t *testing.T, mine, theirs map[string]string) []attempt {
	t.Helper()
	body, known := bodies[op.OperationID]
	if op.RequestBody != nil && op.RequestBody.Required && op.RequestBody.Content["application/json"] != nil {
		require.True(t, known, "give %s a body in this test", op.OperationID)
	}
	path := op.Path + queries[op.OperationID]
	kind := kindOf(op.Path)
	ownPath := func(s string) string {
		s = fill(s, func(k string) string { return mine[k] })
		return parameter.ReplaceAllStringFunc(s, func(string) string { return mine[kind] })
	}
	own := func(s string) string { return fill(s, func(k string) string { return mine[k] }) }
	var list []attempt
	for _, name := range parameter.FindAllString(op.Path, -1) {
		if name != "{slug}" {
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
	me := opened(t)
	them := another(t, me.hub).open()
	mine, theirs := me.owned(), them.owned()
	before := them.snapshot()
	tried := 0
	for _, op := range operations(me.hub.API) {
		as := me.studio
		if op.public {
			as = me.as("")
		}
		for _, one := range op.attempts(t, mine, theirs) {
			tried++
			var body any
			if one.body != "" {
				body = one.body
			}
			got := as.call(one.method, one.path, body)
			about := fmt.Sprintf("%s %s, %s: %s", op.OperationID, one.path, one.what, got.text)
			if op.OperationID == "appointments.list" || op.OperationID == "payments.list" {
				require.Equal(t, 200, got.status, about)
				require.NotContains(t, got.text, theirs["client"], about)
				continue
			}
			require.Equal(t, 404, got.status, about)
			require.Contains(t, []any{"not_found", "invalid_token"}, got.body["code"], about)
		}
	}
	require.Greater(t, tried, 60)
	require.Equal(t, before, them.snapshot(), "nothing of theirs changed")
	for _, path := range []string{"/services", "/professionals", "/schedule-rules", "/clients", "/appointments", "/users"} {
		require.NotContains(t, me.call("GET", path, nil).text, them.org.String(), path)
	}
}

// Without a token, with a bad one, and with one of too small a role.
func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	p := opened(t)
	mine := p.owned()
	p.as("").ok(200, "POST", "/auth/reset-password", object{"token": p.mailed("u-" + p.email), "password": password})
	staff := p.as(p.as("").ok(200, "POST", "/auth/login", object{"email": "u-" + p.email, "password": password})["access_token"].(string))
	managers := 0
	for _, op := range operations(p.hub.API) {
		path := parameter.ReplaceAllString(op.Path, uuid.NewString()) + fill(queries[op.OperationID], func(k string) string { return mine[k] })
		var body any
		if text := bodies[op.OperationID]; text != "" {
			body = fill(text, func(k string) string { return mine[k] })
		}
		open := op.public
		for _, alternative := range op.Security {
			if len(alternative) == 0 {
				open = true
			}
			if len(alternative["bearer"]) > 0 {
				managers++
				staff.refused(403, "admin_only", op.Method, path, body)
			}
		}
		if !open {
			p.as("").refused(401, "unauthorized", op.Method, path, body)
			p.as("eyJhbGciOiJub25lIn0.e30.").refused(401, "invalid_token", op.Method, path, body)
		}
	}
	require.Equal(t, 11, managers)
}

// The rules for bodies, on every operation that takes one; never a 5xx.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	p := opened(t)
	for _, op := range operations(p.hub.API) {
		if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
			continue
		}
		as := p.studio
		if op.public {
			as = p.as("")
		}
		path := parameter.ReplaceAllString(op.Path, uuid.NewString())
		for body, want := range map[string]int{
			`{`: 400, `{"a":1,"a":2}`: 400, `{"a":"\u0000"}`: 400, `[]`: 422, `"x"`: 422, `{"a":1}x`: 400,
		} {
			require.Equal(t, want, as.call(op.Method, path, body).status, "%s %s", op.OperationID, body)
		}
		require.Equal(t, 415, as.call(op.Method, path, `{}`, "Content-Type", "text/plain").status, op.OperationID)
	}
}
