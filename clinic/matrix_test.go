package clinic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// operation is one of the product's own, from its document.
type operation struct {
	id, method, path string
	security         []map[string][]string
	body             bool
}

// operations are the product's own. What the hub has under every product has its tests there.
func (p *practice) operations() (list []operation) {
	p.t.Helper()
	ours := regexp.MustCompile(`^/api/v1/integrations/(search|action|inbox)`)
	for _, op := range p.document() {
		if !strings.HasPrefix(op.path, "/api/v1/integrations") || ours.MatchString(op.path) {
			list = append(list, op)
		}
	}
	require.NotEmpty(p.t, list)
	return list
}

// document are all operations of the document that is served.
func (p *practice) document() []operation {
	p.t.Helper()
	t := p.t
	res, err := http.Get(p.hub.Base + "/openapi.json")
	require.NoError(t, err)
	defer res.Body.Close()
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string                `json:"operationId"`
			Security    []map[string][]string `json:"security"`
			RequestBody *struct {
				Content map[string]any `json:"content"`
			} `json:"requestBody"`
		} `json:"paths"`
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&document))
	var list []operation
	for path, methods := range document.Paths {
		for method, op := range methods {
			list = append(list, operation{op.OperationID, strings.ToUpper(method), path, op.Security, op.RequestBody != nil && op.RequestBody.Content["application/json"] != nil})
		}
	}
	require.NotEmpty(t, list)
	return list
}

func (o operation) needs(scheme, role string) bool {
	for _, one := range o.security {
		if roles, ok := one[scheme]; ok && (role == "" || len(roles) > 0 && roles[0] == role) {
			return true
		}
	}
	return false
}

// bodies are good ones for operations that reach another clinic's things; {patient} and
// its like stand for ids.
var bodies = map[string]string{
	"patients.update": `{"name":"X"}`, "records.create": `{"date":"2026-03-02","type":"x"}`, "appointments.create": `{"datetime":"2026-03-02T09:00:00Z"}`,
	"appointments.update": `{"status":"completed"}`, "payments.create": `{"amount":1,"due_date":"2026-03-02","appointment_id":"{appointment}"}`, "payments.pay": `{}`,
	"interactions.create": `{"interaction_type":"call","summary":"x"}`, "professionals.update": `{"name":"X"}`, "users.update": `{"name":"X"}`,
	"inbox.link": `{"patient_id":"{patient}"}`, "deletions.acknowledge": `{"note":"x"}`,
	"clinic.update": `{"name":"X"}`, "users.create": `{"name":"X","email":"x@example.com","password":"correct horse"}`, "professionals.create": `{"name":"X"}`,
}

// queries are those that name a thing.
var queries = map[string]string{
	"integrations.search-records": "?patient_id={patient}", "integrations.search-appointments": "?patient_id={patient}",
}

// kindOf is what {id} of a path names.
func kindOf(path string) string {
	for part, kind := range map[string]string{
		"/patients/{": "{patient}", "/appointments/{": "{appointment}", "/payments/{": "{payment}", "/professionals/{": "{professional}",
		"/users/{": "{user}", "/inbox/{": "{entry}", "/deletion-requests/{": "{deletion}", "/api-keys/{": "{key}", "/integrations/{": "{integration}",
		"/Patient/{": "{patient}", "/Appointment/{": "{appointment}", "/Encounter/{": "{visit}", "/DocumentReference/{": "{record}",
		"/Communication/{": "{interaction}", "/imports/{": "{import}",
	} {
		if strings.Contains(path, part) {
			return kind
		}
	}
	return ""
}

// owned are the ids of everything a clinic has, by what stands for them.
func (f *fixture) owned() map[string]string {
	f.t.Helper()
	c := &chart{practice: f.practice}
	c.seen(f.patient)
	imported := f.upload("csv", "nome;cpf\nGil;529.982.247-25\n").body["id"].(string)
	f.settled(imported)
	return map[string]string{
		"{visit}": c.visit, "{record}": c.record, "{interaction}": c.interaction, "{import}": imported,
		"{patient}": f.patient, "{appointment}": f.appointment, "{payment}": f.pending, "{professional}": f.professional, "{entry}": f.entry,
		"{user}":     f.staff().get("/auth/me")["id"].(string),
		"{deletion}": f.ok(202, "POST", "/patients/"+f.other+"/deletion-request", nil)["id"].(string),
	}
}

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

func fill(text string, ids map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(s string) string { return ids[s] })
}

// snapshot is everything a clinic owns.
func (p *practice) snapshot() string {
	p.t.Helper()
	rows, err := p.hub.Host.Pool.Query(p.t.Context(), `select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'clinic_id'
		where c.relnamespace = 'clinic'::regnamespace and c.relkind = 'r' order by 1`)
	require.NoError(p.t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(p.t, err)
	require.NotEmpty(p.t, names)
	var all strings.Builder
	for _, name := range names {
		var text *string
		require.NoError(p.t, p.hub.Host.Pool.QueryRow(p.t.Context(), fmt.Sprintf(`select string_agg(t::text, E'\n' order by t::text) from clinic.%s t where clinic_id = $1`, name), p.id).Scan(&text))
		if text != nil {
			all.WriteString(name + "\n" + *text + "\n")
		}
	}
	return all.String()
}

// Every operation that names a thing, with another clinic's, or with the other
// environment's: 404, and nothing is changed.
func TestForeignThingsDoNotExist(t *testing.T) {
	t.Parallel()
	me := newFixture(t)
	them := me.another().fixture(t)
	mine, theirs := me.owned(), them.owned()
	before, own := them.snapshot(), me.snapshot()
	tried := 0
	for _, op := range me.operations() {
		as := me.practice
		if op.needs("key", "") && !op.needs("bearer", "") {
			as = me.key()
		}
		path, query, body := strings.Replace(op.path, "{product}", "messaging", 1), queries[op.id], bodies[op.id]
		if op.body && op.method != "GET" && strings.Contains(path, "{") {
			require.NotEmpty(t, body, "give %s a body in this test", op.id)
		}
		if kind := kindOf(path); strings.Contains(path, "{") {
			require.NotEmpty(t, kind, "tell what %s names", path)
			own := fill(body, mine)
			for what, id := range map[string]string{"foreign": theirs[kind], "unknown": uuid.NewString()} {
				got := as.call(op.method, strings.Replace(path, "{id}", id, 1), bodyOf(own))
				require.Equal(t, 404, got.status, "%s with a %s id: %s", op.id, what, got.text)
				tried++
			}
			if kind != "{user}" { // people work on both
				got := as.on("test").call(op.method, strings.Replace(path, "{id}", mine[kind], 1), bodyOf(own))
				require.Equal(t, 404, got.status, "%s in the other environment: %s", op.id, got.text)
				tried++
			}
			if placeholder.MatchString(body) {
				got := as.call(op.method, strings.Replace(path, "{id}", mine[kind], 1), bodyOf(fill(body, theirs)))
				require.Equal(t, 404, got.status, "%s with a foreign id in the body: %s", op.id, got.text)
				tried++
			}
		}
		if query != "" {
			require.Equal(t, 404, as.call(op.method, path+fill(query, theirs), nil).status, op.id)
			require.Equal(t, 200, as.call(op.method, path+fill(query, mine), nil).status, op.id)
			tried++
		}
	}
	require.Greater(t, tried, 60)
	require.Equal(t, before, them.snapshot(), "theirs is as it was")
	require.Equal(t, own, me.snapshot(), "and so is mine")
}

func bodyOf(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Bad bodies are never a 5xx, on any operation that takes one.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owned := f.owned()
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for _, op := range f.operations() {
		if !op.body {
			continue
		}
		as := f.practice
		if op.needs("key", "") {
			as = f.key()
		}
		path := strings.Replace(op.path, "{id}", owned[kindOf(op.path)], 1)
		for text, want := range map[string]int{
			`{`: 400, `{"a":1}}`: 400, "{\"a\":\"\xff\"}": 400, `{"a":"\u0000"}`: 400, `{"a":"\ud800"}`: 400, `{"a":` + deep + `}`: 400,
			`{"a":1` + strings.Repeat("0", 40) + `}`: 400, `{"a":1,"a":2}`: 400, `[]`: 422, `7`: 422, `"x"`: 422,
			`{"a":"` + strings.Repeat("x", 1<<20) + `"}`: 413,
		} {
			got := as.call(op.method, path, text)
			require.Equal(t, want, got.status, "%s with %.40q: %.200s", op.id, text, got.text)
		}
		got := as.call(op.method, path, `{}`, "Content-Encoding", "gzip")
		require.Equal(t, 415, got.status, op.id)
		got = as.call(op.method, path, `{}`, "Content-Type", "text/plain")
		require.Equal(t, 415, got.status, op.id)
		for _, value := range []string{`null`, `7`, `"x"`, `[]`, `{}`, `true`} {
			wrong := regexp.MustCompile(`:("[^"]*"|[0-9]+)`).ReplaceAllString(fill(bodies[op.id], owned), ":"+value)
			if wrong != "" && wrong != "{}" {
				got := as.call(op.method, path, wrong)
				require.Less(t, got.status, 500, "%s with %s: %s", op.id, wrong, got.text)
			}
		}
	}
	// Names of columns that nobody may set are ignored.
	p := f.another()
	made := p.ok(201, "POST", "/patients", object{
		"name": "A", "id": uuid.NewString(), "clinic_id": uuid.NewString(), "env": "test", "balance_due": 99, "anonymized_at": "2026-01-01T00:00:00Z",
	})
	require.EqualValues(t, 0, made["balance_due"])
	require.Equal(t, "active", made["status"])
	require.Len(t, p.items("/patients"), 1)
}
