package scheduling_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

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
	"remarketing.start":          `{"dry_run":true}`,
	"payments.create":            `{"appointment_id":"{appointment}","client_id":"{client}","amount":1,"method":"cash"}`,
	"payments.pix":               `{"appointment_id":"{appointment}","client_id":"{client}","amount":1}`,
	"users.create":               `{"name":"Edu","email":"edu-{slug}@example.com"}`,
	"users.update":               `{"name":"Edu"}`,
	"loyalty.configure":          `{"eligible_service_ids":["{service}"],"rewards":[{"id":"{reward}","name":"R","points":5,"type":"free_service","service_id":"{service}"}]}`,
	"loyalty.redeem":             `{"reward_id":"{reward}","appointment_id":"{appointment}"}`,
	"loyalty.adjust":             `{"points":5,"reason":"x"}`,
	"integrations.book":          `{"phone":"+5511987654321","name":"Gil","service_id":"{service}","professional_id":"{professional}","start_at":"2026-03-06T09:00:00-03:00"}`,
	"public.book":                `{"service_id":"{service}","professional_id":"{professional}","start_at":"2026-03-06T10:00:00-03:00","client_name":"Gil","client_phone":"+5511987654321","hold_id":"4c6b0f5e-5b0e-4b8e-9d58-000000000000"}`,
	"public.hold":                `{"service_id":"{service}","professional_id":"{professional}","start_at":"2026-03-06T10:00:00-03:00","hold_id":"4c6b0f5e-5b0e-4b8e-9d58-000000000000"}`,
	"public.wait":                `{"service_id":"{service}","professional_id":"{professional}","first_date":"2026-03-06","last_date":"2026-03-07","client_name":"Gil","client_phone":"+5511987654321","client_email":"gil@example.com"}`,
	"public.cancel":              `{"cancel_token":"{token}"}`,
	"public.reschedule":          `{"cancel_token":"{token}","start_at":"2026-03-06T10:30:00-03:00"}`,
	"appointments.cancel":        `{"reason":"x"}`,
	"api-keys.create":            `{"name":"x"}`,
	"api-keys.rotate":            `{"overlap_seconds":60}`,
	"integrations.connect":       `{"product":"notes","api_key":"nts_live_x","api_url":"http://127.0.0.1:1"}`,
	"integrations.rotate-secret": `{"overlap_seconds":60}`,
	"integrations.register":      `{"webhook_url":"http://127.0.0.1:1/webhook"}`,
	"integrations.unregister":    `{}`,
	"integrations.webhook":       `{}`,
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
	"public.appointment": "?token={token}", "public.calendar": "?token={token}", "webhook-logs.list": "?integration_id={integration}&endpoint_id={endpoint}",
	"audit-log.list": "?actor_id={user}&subject_id={client}&patient_id={client}",
}

// operation is one of the interface, as its document has it.
type operation struct {
	OperationID string                `json:"operationId"`
	Security    []map[string][]string `json:"security"`
	Parameters  []struct{ Name, In string }
	RequestBody *struct {
		Required bool
		Content  map[string]struct{ Schema schema }
	} `json:"requestBody"`
	Method, Path string

	schemas map[string]schema
}

// schema is what is read of a JSON schema.
type schema struct {
	Ref        string `json:"$ref"`
	Type       any    // a name, or a list of them
	Items      *schema
	Properties map[string]schema
}

// operations reads the document of everything under the product's base, what the hub
// adds included: the tests below hold for every route there is.
func operations(s *studio) []operation {
	s.t.Helper()
	res, err := client.Get(s.hub.Base + "/openapi.json")
	require.NoError(s.t, err)
	defer res.Body.Close()
	var document struct {
		Paths      map[string]map[string]operation
		Components struct{ Schemas map[string]schema }
	}
	require.NoError(s.t, json.NewDecoder(res.Body).Decode(&document))
	var list []operation
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for method, op := range document.Paths[path] {
			op.Method, op.Path, op.schemas = strings.ToUpper(method), path, document.Components.Schemas
			list = append(list, op)
		}
	}
	return list
}

// takesJSON tells whether an operation has a JSON body.
func (op operation) takesJSON() bool {
	return op.RequestBody != nil && op.RequestBody.Content["application/json"].Schema.Ref != ""
}

// public tells whether nobody is asked who calls.
func (op operation) public() bool { return len(op.Security) == 0 }

// accepts tells whether a scheme of credentials is good for an operation, and with
// which scopes.
func (op operation) accepts(scheme string) (scopes []string, ok bool) {
	for _, alternative := range op.Security {
		if scopes, ok = alternative[scheme]; ok {
			return scopes, true
		}
	}
	return nil, false
}

// caller gives who may call an operation on behalf of an organization.
func (op operation) caller(p *plan, key string) *studio {
	if op.public() {
		return p.as("")
	}
	if _, ok := op.accepts("bearer"); ok {
		return p.studio
	}
	return p.as(key)
}

var (
	placeholder = regexp.MustCompile(`\{(service|professional|client|appointment|user|reward|token|slug|integration|endpoint)\}`)
	parameter   = regexp.MustCompile(`\{([A-Za-z]+)\}`)
	idMember    = regexp.MustCompile(`_ids?$`)
)

// notIDs are members that end like ids and name nothing of an organization's.
var notIDs = []string{"registration_id", "correlation_id", "event_id", "source_id"}

// fill puts ids in the place of what they stand for.
func fill(text string, idOf func(kind string) string) string {
	return placeholder.ReplaceAllStringFunc(text, func(s string) string { return idOf(strings.Trim(s, "{}")) })
}

// kindOf is what an operation's path names by {id}.
func kindOf(path string) string {
	for part, kind := range map[string]string{
		"/api/v1/services/": "service", "/api/v1/professionals/": "professional", "/schedule-rules/copy": "professional",
		"/schedule-rules/{": "rule", "/schedule-exceptions/": "exception", "/api/v1/appointments/": "appointment",
		"/clients/{": "client", "/users/": "user", "/api-keys/": "key", "/integrations/{": "integration", "/calendar/{": "professional",
	} {
		if strings.Contains(path, part) {
			return kind
		}
	}
	return ""
}

// resolved follows a reference.
func (op operation) resolved(s schema) schema {
	if s.Ref != "" {
		return op.schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	return s
}

// fields are the members of an operation's JSON body, each with a value of a wrong type.
func (op operation) fields() map[string]any {
	wrong := make(map[string]any)
	for name, one := range op.resolved(op.RequestBody.Content["application/json"].Schema).Properties {
		wrong[name] = object{"wrong": []int{1}}
		if one = op.resolved(one); one.Type == "object" || one.Type == nil || slices.Contains(typesOf(one), "object") {
			wrong[name] = "wrong"
		}
	}
	return wrong
}

func typesOf(s schema) (names []string) {
	list, _ := s.Type.([]any)
	for _, one := range list {
		name, _ := one.(string)
		names = append(names, name)
	}
	return names
}

// members are the names of everything a schema can hold, at any depth.
func (op operation) members(s schema, seen map[string]bool) (names []string) {
	if s.Ref != "" {
		if seen[s.Ref] {
			return nil
		}
		seen[s.Ref] = true
		s = op.resolved(s)
	}
	for name, one := range s.Properties {
		names = append(append(names, name), op.members(one, seen)...)
	}
	if s.Items != nil {
		names = append(names, op.members(*s.Items, seen)...)
	}
	return names
}

// complete requires that the tables above know everything an operation takes: a new
// route, or a new id in an old one, has to be written there.
func (op operation) complete(s *studio) {
	s.t.Helper()
	for _, one := range op.Parameters {
		if one.In == "path" && !slices.Contains([]string{"slug", "provider", "token", "file"}, one.Name) {
			require.NotEmpty(s.t, kindOf(op.Path), "say in kindOf what %s names by %s", op.Path, one.Name)
		}
		if one.In == "query" && idMember.MatchString(one.Name) && !slices.Contains(notIDs, one.Name) {
			require.Contains(s.t, queries[op.OperationID], one.Name+"=", "give %s this query in the table", op.OperationID)
		}
	}
	if !op.takesJSON() {
		return
	}
	body, known := bodies[op.OperationID]
	require.True(s.t, known, "give %s a body in the table", op.OperationID)
	for _, name := range op.members(op.RequestBody.Content["application/json"].Schema, map[string]bool{}) {
		if idMember.MatchString(name) && !slices.Contains(notIDs, name) {
			require.Contains(s.t, body, `"`+name+`"`, "the body of %s in the table lacks an id", op.OperationID)
		}
	}
}
