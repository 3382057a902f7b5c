package api_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// bodies are good ones for operations that reach another clinic's things; {patient} and
// its like stand for ids.
var bodies = map[string]string{
	"patients.update": `{"name":"X"}`, "records.create": `{"date":"2026-03-02","type":"x"}`, "appointments.create": `{"datetime":"2026-03-02T09:00:00Z"}`,
	"appointments.update": `{"status":"completed"}`, "payments.create": `{"amount":1,"due_date":"2026-03-02","appointment_id":"{appointment}"}`, "payments.pay": `{}`,
	"interactions.create": `{"interaction_type":"call","summary":"x"}`, "professionals.update": `{"name":"X"}`, "users.update": `{"name":"X"}`,
	"inbox.link": `{"patient_id":"{patient}"}`, "deletions.acknowledge": `{"note":"x"}`, "patients.merge": `{"into":"{patient}"}`,
	"clinic.update": `{"name":"X"}`, "users.create": `{"name":"X","email":"x@example.com","password":"correct horse"}`, "professionals.create": `{"name":"X"}`,
}

// queries are those that name a thing.
var queries = map[string]string{
	"integrations.search-records": "?patient_id={patient}", "integrations.search-appointments": "?patient_id={patient}",
}

// idKind is what {id} of a path names.
func idKind(path string) string {
	for part, kind := range map[string]string{
		"/patients/{": "{patient}", "/appointments/{": "{appointment}", "/payments/{": "{payment}", "/professionals/{": "{professional}",
		"/users/{": "{user}", "/inbox/{": "{entry}", "/deletion-requests/{": "{deletion}", "/api-keys/{": "{key}", "/integrations/{": "{integration}", "/webhook-logs/{": "{delivery}",
		"/Patient/{": "{patient}", "/Appointment/{": "{appointment}", "/Encounter/{": "{visit}", "/DocumentReference/{": "{record}",
		"/Communication/{": "{interaction}", "/imports/{": "{import}", "/merges/{": "{merge}", "/exports/{": "{export}",
	} {
		if strings.Contains(path, part) {
			return kind
		}
	}
	return ""
}

// ResourceIDs are the ids of everything a clinic has, by what stands for them.
func ResourceIDs(clinic *clinictest.ChartedClinic) map[string]string {
	clinic.T.Helper()
	chart := &clinictest.Chart{Clinic: clinic.Clinic}
	chart.AddChart(clinic.PatientID)
	imported := clinic.UploadImport("csv", "nome;cpf\nGil;529.982.247-25\n").Body["id"].(string)
	clinic.WaitForImport(imported)
	merge := clinic.OK(200, "POST", "/patients/"+clinic.AddPatient("+5511900003333")+"/merge", object{"into": clinic.AddPatient("+5511900004444")})["merge_id"].(string)
	deletion := clinic.OK(202, "POST", "/patients/"+clinic.OtherPatientID+"/deletion-request", nil)["id"].(string) // deletes exports
	export := clinic.StartExport("")
	clinic.WaitForExport(export)
	clinic.WaitForDeletion("/deletion-requests/"+deletion, "completed") // else a job changes it while others look
	return map[string]string{
		"{export}": export[strings.LastIndex(export, "/")+1:],
		"{visit}":  chart.VisitID, "{record}": chart.RecordID, "{interaction}": chart.InteractionID, "{import}": imported, "{merge}": merge,
		"{patient}": clinic.PatientID, "{appointment}": clinic.AppointmentID, "{payment}": clinic.PendingPaymentID, "{professional}": clinic.ProfessionalID, "{entry}": clinic.InboxEntryID,
		"{user}":     clinic.AddStaff().Get("/auth/me")["id"].(string),
		"{deletion}": deletion,
	}
}

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

func fillPlaceholders(text string, ids map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(s string) string { return ids[s] })
}

// Every operation with an id of another clinic or environment is a 404 and changes nothing.
func TestOtherTenantsDataIsNotFound(t *testing.T) {
	t.Parallel()
	me := clinictest.NewChartedClinic(t)
	them := me.AnotherClinic().WithRecords()
	mine, theirs := ResourceIDs(me), ResourceIDs(them)
	before, own := them.Snapshot(), me.Snapshot()
	tried := 0
	for _, op := range me.OwnOperations() {
		as := me.Clinic
		if op.Requires("key", "") && !op.Requires("bearer", "") {
			as = me.NewKey()
		}
		path, query, body := strings.NewReplacer("{product}", "messaging", "{type}", "Patient").Replace(op.Path), queries[op.ID], bodies[op.ID]
		if op.TakesJSON() && op.Method != "GET" && strings.Contains(path, "{") {
			require.NotEmpty(t, body, "give %s a body in this test", op.ID)
		}
		if kind := idKind(path); strings.Contains(path, "{") {
			require.NotEmpty(t, kind, "tell what %s names", path)
			own := fillPlaceholders(body, mine)
			for what, id := range map[string]string{"foreign": theirs[kind], "unknown": uuid.NewString()} {
				got := as.Call(op.Method, strings.Replace(path, "{id}", id, 1), bodyOf(own))
				require.Equal(t, 404, got.Status, "%s with a %s id: %s", op.ID, what, got.Text)
				tried++
			}
			if kind != "{user}" { // people work on both
				got := as.InEnvironment("test").Call(op.Method, strings.Replace(path, "{id}", mine[kind], 1), bodyOf(own))
				require.Equal(t, 404, got.Status, "%s in the other environment: %s", op.ID, got.Text)
				tried++
			}
			if placeholder.MatchString(body) {
				got := as.Call(op.Method, strings.Replace(path, "{id}", mine[kind], 1), bodyOf(fillPlaceholders(body, theirs)))
				require.Equal(t, 404, got.Status, "%s with a foreign id in the body: %s", op.ID, got.Text)
				tried++
			}
		}
		if query != "" {
			require.Equal(t, 404, as.Call(op.Method, path+fillPlaceholders(query, theirs), nil).Status, op.ID)
			require.Equal(t, 200, as.Call(op.Method, path+fillPlaceholders(query, mine), nil).Status, op.ID)
			tried++
		}
	}
	require.Greater(t, tried, 60)
	require.Equal(t, before, them.Snapshot(), "theirs is as it was")
	require.Equal(t, own, me.Snapshot(), "and so is mine")
}

func bodyOf(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Bad bodies are never a 5xx.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	f := clinictest.NewChartedClinic(t)
	owned := ResourceIDs(f)
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for _, op := range f.OwnOperations() {
		if !op.TakesJSON() {
			continue
		}
		as := f.Clinic
		if op.Requires("key", "") {
			as = f.NewKey()
		}
		path := strings.Replace(op.Path, "{id}", owned[idKind(op.Path)], 1)
		for text, want := range map[string]int{
			`{`: 400, `{"a":1}}`: 400, "{\"a\":\"\xff\"}": 400, `{"a":"\u0000"}`: 400, `{"a":"\ud800"}`: 400, `{"a":` + deep + `}`: 400,
			`{"a":1` + strings.Repeat("0", 40) + `}`: 400, `{"a":1,"a":2}`: 400, `[]`: 422, `7`: 422, `"x"`: 422,
			`{"a":"` + strings.Repeat("x", 1<<20) + `"}`: 413,
		} {
			got := as.Call(op.Method, path, text)
			require.Equal(t, want, got.Status, "%s with %.40q: %.200s", op.ID, text, got.Text)
		}
		got := as.Call(op.Method, path, `{}`, "Content-Encoding", "gzip")
		require.Equal(t, 415, got.Status, op.ID)
		got = as.Call(op.Method, path, `{}`, "Content-Type", "text/plain")
		require.Equal(t, 415, got.Status, op.ID)
		for _, value := range []string{`null`, `7`, `"x"`, `[]`, `{}`, `true`} {
			wrong := regexp.MustCompile(`:("[^"]*"|[0-9]+)`).ReplaceAllString(fillPlaceholders(bodies[op.ID], owned), ":"+value)
			if wrong != "" && wrong != "{}" {
				got := as.Call(op.Method, path, wrong)
				require.Less(t, got.Status, 500, "%s with %s: %s", op.ID, wrong, got.Text)
			}
		}
	}
	// Names of columns that nobody may set are ignored.
	p := f.AnotherClinic()
	created := p.OK(201, "POST", "/patients", object{
		"name": "A", "id": uuid.NewString(), "clinic_id": uuid.NewString(), "env": "test", "balance_due": 99, "anonymized_at": "2026-01-01T00:00:00Z",
	})
	require.EqualValues(t, 0, created["balance_due"])
	require.Equal(t, "active", created["status"])
	require.Len(t, p.Items("/patients"), 1)
}
