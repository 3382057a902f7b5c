package fhir_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/fhir"
	"integrationhub/hub/hubtest/fhirtest"
)

// validJSON returns a resource as it is sent, after checking it against HL7's schema.
func validJSON(t *testing.T, resource any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(resource)
	require.NoError(t, err)
	require.NoError(t, fhirtest.Validate(raw), "%s", raw)
	var plain map[string]any
	require.NoError(t, json.Unmarshal(raw, &plain))
	return plain
}

// The schema refuses invalid resources: otherwise these tests could not fail.
func TestSchemaFindsErrors(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{
		`{"resourceType":"Patient","phone":"+5511987654321"}`,
		`{"resourceType":"Patient","birthDate":"02/03/1980"}`,
		`{"resourceType":"Appointment","status":"scheduled","participant":[{"status":"accepted"}]}`,
		`{"resourceType":"Communication","status":"completed","payload":[{"content":"x"}]}`,
		`{"resourceType":"Bundle","type":"searchset","entry":[{"resource":{"resourceType":"Client"}}]}`,
	} {
		require.Error(t, fhirtest.Validate([]byte(wrong)), wrong)
	}
}

var (
	people  = fhir.Converter{Base: "https://hub.example.com/clinic/fhir", Clinic: "Clínica Aurora"}
	outside = fhir.Converter{Base: people.Base, Clinic: people.Clinic, ForPeer: true}
	someone = uuid.MustParse("019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11")
	thing   = uuid.MustParse("019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b12")
	at      = time.Date(2026, 3, 2, 9, 30, 0, 123_456_789, time.FixedZone("", -3*3600))
)

// at some path of objects and list indexes.
func pick(t *testing.T, value any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch s := step.(type) {
		case string:
			require.Contains(t, value, s)
			value = value.(map[string]any)[s]
		case int:
			require.Greater(t, len(value.([]any)), s)
			value = value.([]any)[s]
		}
	}
	return value
}

const (
	absentURL   = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
	renderedURL = "http://hl7.org/fhir/StructureDefinition/rendered-value"
)

func TestPatient(t *testing.T) {
	t.Parallel()
	got := validJSON(t, people.Patient(fhir.PatientRow{
		ID: someone, Name: "Ana Souza", Phone: "+5511987654321", Email: "ana@example.com", CPF: "***.***.***-09",
		BirthDate: time.Date(1980, 3, 2, 0, 0, 0, 0, time.UTC), Active: true, UpdatedAt: at,
	}))
	require.Equal(t, someone.String(), got["id"])
	require.Equal(t, "2026-03-02T12:30:00.123Z", pick(t, got, "meta", "lastUpdated"))
	require.Equal(t, "1980-03-02", got["birthDate"])
	require.Equal(t, true, got["active"])
	require.Equal(t, "Ana Souza", pick(t, got, "name", 0, "text"))
	require.Equal(t, map[string]any{"system": "phone", "value": "+5511987654321"}, pick(t, got, "telecom", 0))
	require.Equal(t, map[string]any{"system": "email", "value": "ana@example.com"}, pick(t, got, "telecom", 1))
	cpf := pick(t, got, "identifier", 0).(map[string]any)
	require.Equal(t, "urn:oid:2.16.840.1.113883.13.237", cpf["system"])
	require.NotContains(t, cpf, "value", "there is no value, only how it looks")
	require.Equal(t, map[string]any{"url": absentURL, "valueCode": "masked"}, pick(t, cpf, "_value", "extension", 0))
	require.Equal(t, map[string]any{"url": renderedURL, "valueString": "***.***.***-09"}, pick(t, cpf, "_value", "extension", 1))

	bare := validJSON(t, people.Patient(fhir.PatientRow{ID: someone, Name: "Caio"}))
	for _, none := range []string{"identifier", "telecom", "birthDate", "meta"} {
		require.NotContains(t, bare, none)
	}
	require.Equal(t, false, bare["active"])
}

func TestLastUpdated(t *testing.T) {
	t.Parallel()
	require.True(t, at.Truncate(time.Millisecond).Equal(people.Patient(fhir.PatientRow{ID: someone, UpdatedAt: at}).LastUpdated()))
	require.True(t, people.Patient(fhir.PatientRow{ID: someone}).LastUpdated().IsZero())
	require.True(t, fhir.Base{Meta: &fhir.Meta{LastUpdated: "yesterday"}}.LastUpdated().IsZero())
}

func TestErasedPatient(t *testing.T) {
	t.Parallel()
	got := validJSON(t, people.Patient(fhir.PatientRow{ID: someone, Name: "Removed", Anonymized: true, UpdatedAt: at}))
	require.NotContains(t, pick(t, got, "name", 0), "text")
	require.Equal(t, "masked", pick(t, got, "name", 0, "_text", "extension", 0, "valueCode"))
	require.Equal(t, false, got["active"])
}

func TestAppointment(t *testing.T) {
	t.Parallel()
	row := fhir.AppointmentRow{ID: thing, PatientID: someone, StartsAt: at, Service: "Consulta", Professional: "Dra. Lia", CreatedAt: at, UpdatedAt: at}
	for ours, theirs := range map[care.AppointmentStatus][2]string{
		"scheduled": {"booked", "needs-action"}, "confirmed": {"booked", "accepted"}, "completed": {"fulfilled", "accepted"},
		"cancelled": {"cancelled", "declined"}, "no_show": {"noshow", "needs-action"},
	} {
		row.Status = ours
		got := validJSON(t, people.Appointment(row))
		require.Equal(t, theirs[0], got["status"], "%s", ours)
		require.Equal(t, theirs[1], pick(t, got, "participant", 0, "status"), "%s", ours)
		require.Equal(t, "Patient/"+someone.String(), pick(t, got, "participant", 0, "actor", "reference"))
		require.Equal(t, "Dra. Lia", pick(t, got, "participant", 1, "actor", "display"))
		require.Equal(t, "Consulta", pick(t, got, "serviceType", 0, "text"))
		require.Equal(t, "2026-03-02T12:30:00.123Z", got["start"])
		require.Equal(t, "unknown", pick(t, got, "_end", "extension", 0, "valueCode"), "app-2 and app-3 want an end beside a start")
		require.Contains(t, fhir.AppointmentStatuses(theirs[0]), ours)
	}
	require.Empty(t, fhir.AppointmentStatuses("arrived"))
	require.Equal(t, []care.AppointmentStatus{care.NoShow}, fhir.AppointmentStatuses("noshow"))
	require.Len(t, fhir.AppointmentStatuses(""), 5)
	row.Professional, row.Service = "", ""
	got := validJSON(t, people.Appointment(row))
	require.Len(t, got["participant"], 1)
	require.NotContains(t, got, "serviceType")
}

func TestEncounter(t *testing.T) {
	t.Parallel()
	got := validJSON(t, people.Encounter(fhir.AppointmentRow{ID: thing, PatientID: someone, StartsAt: at, Service: "Consulta", Professional: "Dra. Lia", Status: "completed", UpdatedAt: at}))
	require.Equal(t, "finished", got["status"])
	require.Equal(t, "AMB", pick(t, got, "class", "code"))
	require.Equal(t, "Patient/"+someone.String(), pick(t, got, "subject", "reference"))
	require.Equal(t, "Appointment/"+thing.String(), pick(t, got, "appointment", 0, "reference"))
	require.Equal(t, "2026-03-02T12:30:00.123Z", pick(t, got, "period", "start"))
	require.Equal(t, "Dra. Lia", pick(t, got, "participant", 0, "individual", "display"))
	require.Equal(t, "Clínica Aurora", pick(t, got, "serviceProvider", "display"))
	require.Equal(t, "Consulta", pick(t, got, "serviceType", "text"))
	bare := validJSON(t, people.Encounter(fhir.AppointmentRow{ID: thing, PatientID: someone, StartsAt: at, Status: "completed"}))
	require.NotContains(t, bare, "serviceType")
	require.NotContains(t, bare, "participant")
}

func TestDocumentReference(t *testing.T) {
	t.Parallel()
	row := fhir.RecordRow{
		ID: thing, PatientID: someone, Date: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Zone: at.Location(), Type: "evolution", Professional: "Dra. Lia",
		Content: "the whole story", Summary: "seen", URL: "https://clinic.example.com/r/1", UpdatedAt: at,
	}
	content := func(d map[string]any) any { return pick(t, d, "content", 0, "attachment") }
	for _, test := range []struct {
		reader      fhir.Converter
		sensitivity care.Sensitivity
		data        string // base64
	}{
		{people, "N", "dGhlIHdob2xlIHN0b3J5"}, {people, "R", "dGhlIHdob2xlIHN0b3J5"}, {people, "V", "dGhlIHdob2xlIHN0b3J5"}, {outside, "N", "c2Vlbg=="},
	} {
		row.Sensitivity = test.sensitivity
		document, ok := test.reader.DocumentReference(row)
		require.True(t, ok)
		got := validJSON(t, document)
		require.Equal(t, "evolution", pick(t, got, "type", "text"))
		require.Equal(t, test.data, pick(t, content(got), "data"), "%s", test.sensitivity)
		require.Equal(t, "https://clinic.example.com/r/1", pick(t, content(got), "url"))
		require.Equal(t, "seen", got["description"])
		require.Equal(t, string(test.sensitivity), pick(t, got, "securityLabel", 0, "coding", 0, "code"))
		require.Equal(t, "2026-03-01", pick(t, got, "context", "period", "start"))
		require.Equal(t, "2026-03-01T03:00:00.000Z", got["date"])
		require.Equal(t, "Dra. Lia", pick(t, got, "author", 0, "display"))
	}

	// One that was written before such addresses were refused.
	row.URL, row.Sensitivity = "https://clinic.example.com/my file\u00a0\u2028.pdf?é=1", care.Normal
	document, ok := people.DocumentReference(row)
	require.True(t, ok)
	require.Equal(t, "https://clinic.example.com/my%20file%C2%A0%E2%80%A8.pdf?é=1", pick(t, content(validJSON(t, document)), "url"))

	row.Sensitivity = "R"
	document, ok = outside.DocumentReference(row)
	require.True(t, ok)
	got := validJSON(t, document)
	require.Equal(t, "restricted", pick(t, got, "type", "text"))
	require.Equal(t, "***", got["description"])
	require.NotContains(t, content(got), "data")
	require.NotContains(t, content(got), "url", "the address may tell what it is about")
	require.Equal(t, "masked", pick(t, content(got), "_data", "extension", 0, "valueCode"))
	require.NotContains(t, got, "author")

	row.Sensitivity = "V"
	_, ok = outside.DocumentReference(row)
	require.False(t, ok)

	row.Sensitivity, row.Withheld = "N", true
	document, ok = people.DocumentReference(row)
	require.True(t, ok)
	got = validJSON(t, document)
	require.NotContains(t, content(got), "data")
	require.Equal(t, "masked", pick(t, content(got), "_data", "extension", 0, "valueCode"))

	row.Withheld, row.Content = false, ""
	document, ok = people.DocumentReference(row)
	require.True(t, ok)
	require.NotContains(t, content(validJSON(t, document)), "_data", "the content is at its address")

	row.Summary, row.URL, row.Professional = "", "", ""
	document, ok = people.DocumentReference(row)
	require.True(t, ok)
	got = validJSON(t, document)
	require.Equal(t, "unknown", pick(t, content(got), "_data", "extension", 0, "valueCode"))
	require.NotContains(t, got, "author")
}

func TestCommunication(t *testing.T) {
	t.Parallel()
	row := fhir.InteractionRow{ID: thing, PatientID: someone, Type: "message_received", Summary: "Olá", Source: "my messages", SourceID: "evt_0123456789abcdef", OccurredAt: at, UpdatedAt: at}
	got := validJSON(t, people.Communication(row))
	require.Equal(t, "completed", got["status"])
	require.Equal(t, "message_received", pick(t, got, "category", 0, "text"))
	require.Equal(t, "my messages", pick(t, got, "medium", 0, "text"))
	require.Equal(t, "Olá", pick(t, got, "payload", 0, "contentString"))
	require.Equal(t, "evt_0123456789abcdef", pick(t, got, "identifier", 0, "value"))
	require.Equal(t, people.Base+"/NamingSystem/my-messages", pick(t, got, "identifier", 0, "system"))
	require.Equal(t, "2026-03-02T12:30:00.123Z", got["sent"])
	row.Summary, row.Source = "", "azAZ09-_ /:@[`{é"
	got = validJSON(t, people.Communication(row))
	require.NotContains(t, got, "payload")
	require.Equal(t, people.Base+"/NamingSystem/azAZ09-_--------", pick(t, got, "identifier", 0, "system"))
}

func TestBundle(t *testing.T) {
	t.Parallel()
	total := 3
	b := validJSON(t, fhir.NewSearchset(fhir.SearchPage{
		Base: people.Base, Self: people.Base + "/Patient?_count=1", Next: people.Base + "/Patient?_count=1&_after=x", Timestamp: fhir.FormatInstant(at), Total: &total,
		Matches: []fhir.Resource{people.Patient(fhir.PatientRow{ID: someone, Name: "Ana", CPF: "***.***.***-09"})},
	}))
	require.Equal(t, "searchset", b["type"])
	require.EqualValues(t, 3, b["total"])
	require.Equal(t, "self", pick(t, b, "link", 0, "relation"))
	require.Equal(t, people.Base+"/Patient?_count=1&_after=x", pick(t, b, "link", 1, "url"))
	require.Equal(t, people.Base+"/Patient/"+someone.String(), pick(t, b, "entry", 0, "fullUrl"))
	require.Equal(t, "match", pick(t, b, "entry", 0, "search", "mode"))
	require.Len(t, b["entry"], 1)

	last := validJSON(t, fhir.NewSearchset(fhir.SearchPage{
		Base: people.Base, Self: people.Base + "/Appointment", Previous: people.Base + "/Appointment?_before=x",
		Included: []fhir.Resource{people.Patient(fhir.PatientRow{ID: someone, Name: "Ana"})}, Outcome: append(fhir.IgnoredIssues([]string{"foo", "bar"}), fhir.TooManyIncludedIssue(100)),
	}))
	require.NotContains(t, last, "total", "not counted")
	require.Len(t, last["link"], 2)
	require.Equal(t, map[string]any{"relation": "prev", "url": people.Base + "/Appointment?_before=x"}, pick(t, last, "link", 1))
	require.Equal(t, "include", pick(t, last, "entry", 0, "search", "mode"))
	require.Equal(t, "outcome", pick(t, last, "entry", 1, "search", "mode"))
	require.NotContains(t, pick(t, last, "entry", 1), "fullUrl")
	require.Equal(t, []any{"http.foo", "http.bar"}, pick(t, last, "entry", 1, "resource", "issue", 0, "expression"))
	require.Contains(t, pick(t, last, "entry", 1, "resource", "issue", 0, "diagnostics"), "ignored: foo, bar.")
	require.Contains(t, pick(t, last, "entry", 1, "resource", "issue", 1, "diagnostics"), "More than 100 resources")
	require.Nil(t, fhir.IgnoredIssues(nil))

	empty := validJSON(t, fhir.NewSearchset(fhir.SearchPage{Base: people.Base, Self: people.Base + "/Patient", Total: new(int)}))
	require.EqualValues(t, 0, empty["total"])
	require.NotContains(t, empty, "entry")
	require.Len(t, empty["link"], 1)
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	got := validJSON(t, fhir.NewOutcome(404, "not_found", "Patient not found"))
	require.Equal(t, "not-found", pick(t, got, "issue", 0, "code"))
	require.Equal(t, "error", pick(t, got, "issue", 0, "severity"))
	require.Equal(t, "Patient not found", pick(t, got, "issue", 0, "diagnostics"))
	require.Equal(t, "not_found", pick(t, got, "issue", 0, "details", "text"))
	require.NotContains(t, pick(t, got, "issue", 0), "expression")
	got = validJSON(t, fhir.NewOutcome(400, "not_supported", "patient:Group has …", "patient:Group"))
	require.Equal(t, "not-supported", pick(t, got, "issue", 0, "code"))
	require.Equal(t, "http.patient:Group", pick(t, got, "issue", 0, "expression", 0))
	got = validJSON(t, fhir.NewOutcome(500, "", "x"))
	require.Equal(t, "exception", pick(t, got, "issue", 0, "code"))
	require.NotContains(t, pick(t, got, "issue", 0), "details")
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	statement := fhir.NewCapabilityStatement(people.Base, "1.0.0", "2026-11-20")
	require.Equal(t, "4.0.1", statement.FHIRVersion)
	statement.FHIRVersion = "4.0.0" // the schema's own version is the last it knows
	got := validJSON(t, statement)
	require.Equal(t, "instance", got["kind"])
	names := []any{}
	for _, entry := range pick(t, got, "rest", 0, "resource").([]any) {
		names = append(names, pick(t, entry, "type"))
		require.NotEmpty(t, pick(t, entry, "searchParam"))
	}
	require.Equal(t, []any{"Patient", "Appointment", "Encounter", "DocumentReference", "Communication"}, names)
	require.NotContains(t, pick(t, got, "rest", 0, "resource", 1), "operation")
	params := pick(t, got, "rest", 0, "resource", 0, "searchParam").([]any)
	require.Equal(t, "One or several ids, with commas between them. Modifiers: not. Also for _sort.", pick(t, params, 0, "documentation"))
	require.NotContains(t, pick(t, params, 1, "documentation"), "Modifiers", "_lastUpdated has none")
	require.Equal(t, "true or false. Modifiers: not, missing.", pick(t, params, len(params)-1, "documentation"))
	require.Contains(t, pick(t, got, "rest", 0, "resource", 0, "documentation"), "Sorted by _id, _lastUpdated, name, birthdate;")
	require.Equal(t, "everything", pick(t, got, "rest", 0, "resource", 0, "operation", 0, "name"))
	definition := validJSON(t, fhir.NewEverythingDefinition(people.Base, "2026-11-20"))
	require.Equal(t, definition["url"], pick(t, got, "rest", 0, "resource", 0, "operation", 0, "definition"), "what the standard has is more")
	require.Equal(t, "http://hl7.org/fhir/OperationDefinition/Patient-everything", definition["base"])
}
