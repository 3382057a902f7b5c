package api_test

import (
	"regexp"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
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
	"payments.refund":            `{"amount":1}`,
	"payments.pix":               `{"appointment_id":"{appointment}","client_id":"{client}","amount":1}`,
	"users.create":               `{"name":"Edu","email":"edu-{slug}@example.com"}`,
	"users.update":               `{"name":"Edu"}`,
	"loyalty.configure":          `{"eligible_service_ids":["{service}"],"rewards":[{"id":"{reward}","name":"R","points":5,"type":"free_service","service_id":"{service}"}]}`,
	"loyalty.redeem":             `{"reward_id":"{reward}","appointment_id":"{appointment}"}`,
	"loyalty.adjust":             `{"points":5,"reason":"x"}`,
	"integrations.book":          `{"phone":"+5511987654321","name":"Gil","service_id":"{service}","professional_id":"{professional}","start_at":"2026-03-06T09:00:00-03:00"}`,
	"integrations.confirm":       `{"appointment_id":"{appointment}"}`,
	"integrations.cancel":        `{"appointment_id":"{appointment}"}`,
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

// uploads are operations that take a file.
var uploads = []string{"services.image", "professionals.avatar"}

// queries holds ids that lists can be filtered by.
var queries = map[string]string{
	"schedule-rules.list": "?professional_id={professional}", "schedule-exceptions.list": "?professional_id={professional}",
	"integrations.search-free-times": "?service_id={service}&professional_id={professional}",
	"availability.day":               "?service_id={service}&professional_id={professional}&date=2026-03-02",
	"availability.month":             "?service_id={service}&professional_id={professional}&month=2026-03",
	"appointments.list":              "?client_id={client}&professional_id={professional}", "payments.list": "?client_id={client}",
	"reports.dashboard": "?professional_id={professional}", "reports.occupancy": "?professional_id={professional}",
	"reports.revenue": "?professional_id={professional}", "reports.noshow": "?professional_id={professional}",
	"reports.popular":      "?professional_id={professional}",
	"public.professionals": "?service_id={service}", "public.availability": "?service_id={service}&professional_id={professional}&date=2026-03-02",
	"public.appointment": "?token={token}", "public.calendar": "?token={token}", "webhook-logs.list": "?integration_id={integration}&endpoint_id={endpoint}&client_id={client}",
	"audit-log.list": "?actor_id={user}&subject_id={client}&patient_id={client}",
}

// callerOf returns a caller that an operation takes: nobody, the owner, or a key.
func callerOf(op operation, org *schedulingtest.Bookable, key string) *schedulingtest.Organization {
	if op.IsPublic() {
		return org.As("")
	}
	if _, ok := op.Accepts("bearer"); ok {
		return org.Organization
	}
	return org.As(key)
}

var (
	placeholder = regexp.MustCompile(`\{(service|professional|client|appointment|user|reward|token|slug|integration|endpoint)\}`)
	idMember    = regexp.MustCompile(`_ids?$`)
)

// notIDs are members that end like ids and name nothing of an organization's.
var notIDs = []string{"registration_id", "correlation_id", "event_id", "source_id"}

// fill puts ids in the place of what they stand for.
func fill(text string, idOf func(kind string) string) string {
	return placeholder.ReplaceAllStringFunc(text, func(s string) string { return idOf(strings.Trim(s, "{}")) })
}

// requireTableEntries requires that the tables above know everything an operation takes: a new
// route, or a new id in an old one, has to be written there.
func requireTableEntries(org *schedulingtest.Organization, op operation) {
	org.T.Helper()
	for _, parameter := range op.Parameters {
		if parameter.In == "path" && !slices.Contains([]string{"slug", "provider", "token", "file"}, parameter.Name) {
			require.NotEmpty(org.T, schedulingtest.ResourceKind(op.Path), "say in kindOf what %s names by %s", op.Path, parameter.Name)
		}
		if parameter.In == "query" && idMember.MatchString(parameter.Name) && !slices.Contains(notIDs, parameter.Name) {
			require.Contains(org.T, queries[op.ID], parameter.Name+"=", "give %s this query in the table", op.ID)
		}
	}
	if !op.TakesJSON() {
		return
	}
	body, known := bodies[op.ID]
	require.True(org.T, known, "give %s a body in the table", op.ID)
	for _, name := range op.MemberNames() {
		if idMember.MatchString(name) && !slices.Contains(notIDs, name) {
			require.Contains(org.T, body, `"`+name+`"`, "the body of %s in the table lacks an id", op.ID)
		}
	}
}
