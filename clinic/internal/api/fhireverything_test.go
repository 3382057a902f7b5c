package api_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest/fhirtest"
)

// An export and $everything are complete, however many pages they read.
func TestEverythingOfManyPages(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	const many = 1203
	_, err := clinic.Hub.Host.Pool.Exec(t.Context(), `insert into clinic.interactions (clinic_id, env, id, patient_id, type, summary, source, source_id, occurred_at)
		select $1, 'live', gen_random_uuid(), $2, 'call', 'number ' || n, 'elsewhere', n::text, now() from generate_series(1, $3::int) n`, clinic.ID, id, many)
	require.NoError(t, err)
	distinct := func(list []any, text func(object) any) map[any]bool {
		seen := make(map[any]bool)
		for _, item := range list {
			seen[text(item.(object))] = true
		}
		return seen
	}
	all := clinic.Get("/patients/" + id + "/export")["interactions"].([]any)
	require.Len(t, all, many)
	require.Len(t, distinct(all, func(o object) any { return o["summary"] }), many)
	for _, path := range []string{"/fhir/Patient/" + id + "/$everything", "/api/v1/patients/" + id + "/export?format=fhir"} {
		bundle := clinic.Get(path)
		require.EqualValues(t, many+1, bundle["total"])
		require.Len(t, distinct(bundle["entry"].([]any), func(o object) any { return o["fullUrl"] }), many+1)
	}
	table := clinic.Call("GET", "/patients/"+id+"/export?format=csv", nil).Text
	require.Equal(t, many, strings.Count(table, "\ninteraction,"))
	clinic.Refused(422, "validation_failed", "GET", "/patients/"+id+"/export?format=fhir&reveal=cpf", nil)
}

// $everything for an administrator and for a connected product.
func TestEverything(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	bundle := FHIR(chart.Clinic, 200, "/fhir/Patient/"+chart.PatientID+"/$everything")
	require.Equal(t, "searchset", bundle["type"])
	require.Equal(t, []string{chart.PatientID, chart.AppointmentID, chart.VisitID, chart.CancelledAppointmentID, chart.VisitID, chart.RecordID, chart.RestrictedRecordID, chart.SecretRecordID, chart.InteractionID}, BundleIDs(bundle))
	require.EqualValues(t, 9, bundle["total"])
	require.Equal(t, chart.Hub.Base+"/fhir/Patient/"+chart.PatientID, bundle["entry"].([]any)[0].(object)["fullUrl"])
	require.Equal(t, 1, chart.QueryInt(`select count(*) from hub.audit where tenant_id = $1 and action = 'fhir.everything' and resource_id = $2`, chart.PatientID))

	export := chart.Get("/patients/" + chart.PatientID + "/export")
	for kind, want := range map[string][]string{
		"records": {chart.RecordID, chart.RestrictedRecordID, chart.SecretRecordID}, "appointments": {chart.AppointmentID, chart.VisitID, chart.CancelledAppointmentID}, "payments": {chart.PaymentID}, "interactions": {chart.InteractionID},
	} {
		var got []string
		for _, entry := range export[kind].([]any) {
			got = append(got, entry.(object)["id"].(string))
		}
		require.Equal(t, want, got, kind)
	}
	require.Equal(t, "the whole story", export["records"].([]any)[0].(object)["content"])
	require.Equal(t, "***.***.***-09", export["patient"].(object)["cpf"])
	require.Equal(t, "Clínica Sol", export["clinic"].(object)["name"])
	require.Equal(t, 1, chart.QueryInt(`select count(*) from hub.audit where tenant_id = $1 and action = 'patients.export' and resource_id = $2`, chart.PatientID))

	got := chart.Call("GET", "/patients/"+chart.PatientID+"/export?format=fhir", nil)
	require.Equal(t, fhirType, got.Header.Get("Content-Type"))
	require.NoError(t, fhirtest.Validate([]byte(got.Text)))
	require.Equal(t, BundleIDs(bundle), BundleIDs(got.Body))

	got = chart.Call("GET", "/patients/"+chart.PatientID+"/export?format=csv", nil)
	require.Equal(t, "text/csv; charset=utf-8", got.Header.Get("Content-Type"))
	require.Equal(t, `attachment; filename="patient-`+chart.PatientID+`.csv"`, got.Header.Get("Content-Disposition"))
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(got.Text, "\ufeff"))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 10)
	for _, row := range rows {
		for _, cell := range row {
			require.False(t, cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])), cell)
		}
	}
	require.Contains(t, got.Text, "'=HYPERLINK(1)")
	require.Contains(t, got.Text, "'+5511987654321")

	// The whole tax id, where the clinic allows it.
	chart.Refused(403, "reveal_forbidden", "GET", "/patients/"+chart.PatientID+"/export?reveal=cpf", nil)
	chart.OK(200, "PUT", "/clinic", object{"reveal_cpf": true})
	require.Equal(t, clinictest.CPF, chart.Get("/patients/" + chart.PatientID + "/export?reveal=cpf")["patient"].(object)["cpf"])

	chart.Refused(404, "not_found", "GET", "/patients/"+uuid.NewString()+"/export", nil)
	require.Equal(t, 403, chart.AddStaff().Call("GET", "/patients/"+chart.PatientID+"/export", nil).Status)
	require.Equal(t, 401, chart.NewKey().Call("GET", "/patients/"+chart.PatientID+"/export", nil).Status)
}

// $everything returns what its parameters select, and refuses unsupported ones.
func TestEverythingParameters(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	path := "/fhir/Patient/" + chart.PatientID + "/$everything"
	for query, want := range map[string][]string{
		"_type=Patient": {chart.PatientID}, "_type=Encounter,Communication": {chart.VisitID, chart.InteractionID}, "_type=Patient&_type=Encounter": {chart.PatientID, chart.VisitID}, "_type=Observation": {},
		"start=2026-02-03": {chart.PatientID, chart.AppointmentID, chart.RestrictedRecordID, chart.SecretRecordID, chart.InteractionID},
		"end=2026-02-02":   {chart.PatientID, chart.VisitID, chart.CancelledAppointmentID, chart.VisitID, chart.RecordID},
		"start=2026-02&end=2026-02&_type=Appointment,DocumentReference":               {chart.VisitID, chart.RecordID, chart.RestrictedRecordID, chart.SecretRecordID},
		"start=2026-02-03T03:00:00Z&end=2026-02-03T03:00:00Z&_type=DocumentReference": {chart.RestrictedRecordID},
		"_format=json&start=&_pretty=true&_type=Communication":                        {chart.InteractionID},
	} {
		got := FHIR(chart.Clinic, 200, path+"?"+query)
		require.Equal(t, want, BundleIDs(got), query)
		require.EqualValues(t, len(want), got["total"], query)
	}
	require.Equal(t, "_type=Patient&start=2026", selfLink(t, FHIR(chart.Clinic, 200, path+"?start=2026&_pretty=true&_type=Patient")))
	for query, code := range map[string]string{"_count=1": "not-supported", "_since=2026-01-01T00:00:00Z": "not-supported", "foo=1": "not-supported", "start=x": "invalid", "end=2026&end=2027": "invalid"} {
		got, expression := firstIssue(t, FHIR(chart.Clinic, 400, path+"?"+query))
		require.Equal(t, code, got, query)
		require.Equal(t, "http."+strings.SplitN(query, "=", 2)[0], expression)
	}
}

// "POST `$everything`": with Parameters in the body, the same as GET with them in the address.
func TestEverythingByPost(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	path := "/fhir/Patient/" + chart.PatientID + "/$everything"
	for body, query := range map[string]string{
		"":                              "",
		`{"resourceType":"Parameters"}`: "",
		`{"resourceType":"Parameters","parameter":[{"name":"start","valueDate":"2026-02-03"}]}`:                                                          "start=2026-02-03",
		`{"resourceType":"Parameters","parameter":[{"name":"_type","valueCode":"Encounter"},{"name":"_type","valueCode":"Patient"}]}`:                    "_type=Encounter&_type=Patient",
		`{"resourceType":"Parameters","parameter":[{"valueDate":"2026-02-02","name":"end"},{"name":"_type","valueString":"Appointment,Communication"}]}`: "end=2026-02-02&_type=Appointment,Communication",
	} {
		got := chart.Call("POST", path, body, "Content-Type", fhirType)
		require.Equal(t, 200, got.Status, "%s: %s", body, got.Text)
		require.NoError(t, fhirtest.Validate([]byte(got.Text)), got.Text)
		want := FHIR(chart.Clinic, 200, path+"?"+query)
		require.Equal(t, BundleIDs(want), BundleIDs(got.Body), body)
		require.Equal(t, want["link"], got.Body["link"], body)
	}
	for _, body := range []string{
		`{"resourceType":"Patient"}`, `[]`, `{"resourceType":"Parameters","parameter":[{"name":"start"}]}`, `{"resourceType":"Parameters","parameter":[{"name":"start","valueInteger":2026}]}`,
		`{"resourceType":"Parameters","parameter":[{"name":"start","part":[]}]}`, `{"resourceType":"Parameters","parameter":[{"name":"_count","valueString":"1"}]}`,
		`{"resourceType":"Parameters","parameter":[{"name":"start","valueDate":"x"}]}`, `{"resourceType":"Parameters","parameter":[null]}`,
	} {
		got := chart.Call("POST", path, body, "Content-Type", fhirType)
		require.Equal(t, 400, got.Status, "%s: %s", body, got.Text)
		require.NoError(t, fhirtest.Validate([]byte(got.Text)), got.Text)
	}
	require.Equal(t, 415, chart.Call("POST", path, "start=2026", "Content-Type", formType).Status)
	require.Equal(t, 404, chart.AnotherClinic().Call("POST", path, nil).Status)
	require.Equal(t, 403, chart.NewKey("record.read").Call("POST", path, nil).Status)
	require.Equal(t, 403, chart.AddStaff().Call("POST", path, nil).Status)
	require.Positive(t, chart.QueryInt(`select count(*) from hub.audit where tenant_id = $1 and action = 'fhir.everything-by-post' and resource_id = $2`, chart.PatientID))
}
