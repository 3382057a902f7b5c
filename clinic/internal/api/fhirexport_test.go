package api_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/clinic/internal/exports"
	"integrationhub/hub/hubtest/fhirtest"
	"integrationhub/hub/hubtest/moduletest"
)

const exportAddress = "/fhir/Patient/$export"

// ExportedFiles returns the lines of each file of a manifest, by type.
func ExportedFiles(clinic *clinictest.Clinic, manifest object) map[string][]string {
	clinic.T.Helper()
	files := map[string][]string{}
	for _, entry := range manifest["output"].([]any) {
		file := entry.(object)
		got := clinic.Call("GET", file["url"].(string), nil)
		require.Equal(clinic.T, 200, got.Status, got.Text)
		require.Equal(clinic.T, "application/fhir+ndjson", got.Header.Get("Content-Type"))
		require.True(clinic.T, strings.HasSuffix(got.Text, "\n"))
		lines := strings.Split(strings.TrimSuffix(got.Text, "\n"), "\n")
		require.Len(clinic.T, lines, int(file["count"].(float64)))
		for _, line := range lines {
			require.NoError(clinic.T, fhirtest.Validate([]byte(line)), line)
		}
		files[file["type"].(string)] = lines
	}
	return files
}

// FoundResources returns all resources that a search finds, as lines.
func FoundResources(clinic *clinictest.Clinic, resourceType, query string) (lines []string) {
	clinic.T.Helper()
	address := "/fhir/" + resourceType + "?_count=2" + query
	for address != "" {
		bundle := FHIR(clinic, 200, address)
		entries, _ := bundle["entry"].([]any)
		for _, entry := range entries {
			lines = append(lines, clinictest.JSON(clinic.T, entry.(object)["resource"]))
		}
		address = ""
		for _, link := range bundle["link"].([]any) {
			if link := link.(object); link["relation"] == "next" {
				address = link["url"].(string)
			}
		}
	}
	return lines
}

var exportedTypes = []string{"Patient", "Appointment", "Encounter", "DocumentReference", "Communication"}

// requireAsSearched requires that an export has what its caller's searches find, and no more.
func requireAsSearched(clinic *clinictest.Clinic, files map[string][]string, types []string, query string) {
	clinic.T.Helper()
	for _, name := range exportedTypes {
		want := []string{}
		for _, wanted := range types {
			if wanted == name {
				want = FoundResources(clinic, name, query)
			}
		}
		require.Len(clinic.T, files[name], len(want), name)
		for i, line := range files[name] {
			require.JSONEq(clinic.T, want[i], line)
		}
	}
}

// An administrator exports the clinic's patients with their resources: what searches find, and
// nothing of another clinic.
func TestExport(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	chart.AddPatient("+5511900001111")
	chart.AddPatient("+5511900002222")
	other := chart.AnotherClinic().AddPatientWithChart()

	before := time.Now()
	status := chart.StartExport("")
	require.True(t, strings.HasPrefix(status, chart.Hub.Base+"/fhir/exports/"), status)
	manifest := chart.WaitForExport(status)
	require.Equal(t, chart.Hub.Base+exportAddress, manifest["request"])
	require.Equal(t, true, manifest["requiresAccessToken"])
	require.Equal(t, []any{}, manifest["error"])
	completeTo, err := time.Parse(time.RFC3339, manifest["transactionTime"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, before.Add(-time.Minute), completeTo, 10*time.Second, "a minute early: changes under way may come later")
	got := chart.Call("GET", status, nil)
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	expires, err := time.Parse(time.RFC1123, got.Header.Get("Expires"))
	require.NoError(t, err)
	require.WithinDuration(t, before.Add(24*time.Hour), expires, 10*time.Second)

	files := ExportedFiles(chart.Clinic, manifest)
	requireAsSearched(chart.Clinic, files, exportedTypes, "")
	require.Len(t, files["Patient"], 3)
	require.NotContains(t, strings.Join(files["Patient"], ""), clinictest.CPF, "masked")
	require.Zero(t, chart.QueryInt(`select count(*) from clinic.export_chunks where clinic_id = $1 and position('resourceType' in encode(content, 'escape')) > 0`), "encrypted")

	for _, stranger := range []*clinictest.Clinic{other.Clinic, chart.InEnvironment("test")} {
		FHIR(stranger, 404, status)
		FHIR(stranger, 404, status+"/Patient")
		require.Equal(t, 404, stranger.Call("DELETE", status, nil).Status)
	}
	FHIR(chart.AddStaff(), 403, status)
	FHIR(chart.As(""), 401, status+"/Patient")
	FHIR(chart.Clinic, 404, status+"/Observation")
	head := chart.Call("HEAD", status+"/Patient", nil)
	require.Equal(t, 200, head.Status)
	require.Empty(t, head.Text)
	for action, least := range map[string]int{"fhir.export": 1, "fhir.export-file": 5} {
		require.GreaterOrEqual(t, chart.QueryInt(`select count(*) from hub.audit where tenant_id = $1 and action = $2`, action), least, action)
	}

	require.Equal(t, 202, chart.Call("DELETE", status, nil).Status)
	FHIR(chart.Clinic, 404, status)
	FHIR(chart.Clinic, 404, status+"/Patient")
	require.Zero(t, chart.QueryInt(`select count(*) from clinic.export_chunks where clinic_id = $1`))

	posted := chart.Call("POST", exportAddress+"?_type=Patient", nil, "Prefer", "respond-async, handling=lenient")
	require.Equal(t, 202, posted.Status, posted.Text)
	manifest = chart.WaitForExport(posted.Header.Get("Content-Location"))
	require.Equal(t, chart.Hub.Base+exportAddress+"?_type=Patient", manifest["request"])
	require.Equal(t, files["Patient"], ExportedFiles(chart.Clinic, manifest)["Patient"])
}

// _type selects types, _since what changed then or later; both together narrow it down.
func TestExportParameters(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	old := chart.AddPatient("+5511900001111")
	chart.Exec(`update clinic.patients set updated_at = '2020-01-01T12:00:00Z' where clinic_id = $1 and id = $2`, old)
	chart.Exec(`update clinic.records set updated_at = '2021-01-01T12:00:00Z' where clinic_id = $1 and id = $2`, chart.RecordID)
	for query, want := range map[string]struct {
		types  []string
		filter string
	}{
		"_type=Patient": {[]string{"Patient"}, ""},
		"_type=Encounter,Communication&_outputFormat=ndjson":                        {[]string{"Encounter", "Communication"}, ""},
		"_type=Patient&_type=Encounter,Patient":                                     {[]string{"Patient", "Encounter"}, ""},
		"_since=2020-01-01T12:00:00Z&_outputFormat=application/fhir%2Bndjson":       {exportedTypes, "&_lastUpdated=ge2020-01-01T12:00:00Z"},
		"_since=2020-01-01T12:00:01Z":                                               {exportedTypes, "&_lastUpdated=ge2020-01-01T12:00:01Z"},
		"_since=2021-01-01T09:00:01-03:00&_type=DocumentReference":                  {[]string{"DocumentReference"}, "&_lastUpdated=ge2021-01-01T12:00:01Z"},
		"_since=2999-01-01T00:00:00Z":                                               {nil, ""},
		"_since=0001-01-01T00:00:00%2B14:00&_type=Patient&_format=json&_pretty=yes": {[]string{"Patient"}, ""},
		"_since=2020-01-01T12:00:01+00:00&_type=Patient":                            {[]string{"Patient"}, "&_lastUpdated=ge2020-01-01T12:00:01Z"},
	} {
		status := chart.StartExport("?" + query)
		requireAsSearched(chart.Clinic, ExportedFiles(chart.Clinic, chart.WaitForExport(status)), want.types, want.filter)
		require.Equal(t, 202, chart.Call("DELETE", status, nil).Status)
	}
	status := chart.StartExport("?_type=Patient&_since=2020-01-01T12:00:01Z")
	files := ExportedFiles(chart.Clinic, chart.WaitForExport(status))
	require.Len(t, files["Patient"], 1)
	require.Contains(t, files["Patient"][0], chart.PatientID)
}

// Requests that cannot be served are refused with an OperationOutcome, and start nothing.
func TestExportRefusals(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	for query, want := range map[string][2]string{
		"_type=Observation":                     {"not-supported", "http._type"},
		"_type=Patient,":                        {"not-supported", "http._type"},
		"_since=2026-01-01":                     {"invalid", "http._since"},
		"_since=2026-01-01T00:00:00":            {"invalid", "http._since"},
		"_since=x":                              {"invalid", "http._since"},
		"_outputFormat=text/csv":                {"not-supported", "http._outputFormat"},
		"_outputFormat=ndjson&_outputFormat=x":  {"invalid", "http._outputFormat"},
		"_typeFilter=Patient%3Factive%3Dtrue":   {"not-supported", "http._typeFilter"},
		"patient=Patient/" + uuid.NewString():   {"not-supported", "http.patient"},
		"_elements=id&_since=2026-01-01T00:00Z": {},
	} {
		got := clinic.Call("GET", exportAddress+"?"+query, nil, "Prefer", "respond-async")
		require.Equal(t, 400, got.Status, "%s: %s", query, got.Text)
		require.Equal(t, fhirType, got.Header.Get("Content-Type"))
		require.NoError(t, fhirtest.Validate([]byte(got.Text)), got.Text)
		if want[0] != "" {
			code, expression := firstIssue(t, got.Body)
			require.Equal(t, want, [2]string{code, expression}, query)
		}
	}
	FHIR(clinic, 400, exportAddress) // without Prefer
	require.Equal(t, 400, clinic.Call("POST", exportAddress, nil, "Prefer", "handling=strict").Status)
	require.Equal(t, 406, clinic.Call("GET", exportAddress, nil, "Prefer", "respond-async", "Accept", "text/html").Status)
	require.Equal(t, 404, clinic.Call("HEAD", exportAddress, nil, "Prefer", "respond-async").Status)
	for _, path := range []string{"/fhir/exports/x", "/fhir/exports/" + uuid.NewString(), "/fhir/exports/x/Patient"} {
		FHIR(clinic, 404, path)
	}
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.exports where clinic_id = $1`))
}

// A key exports what its scopes allow, as its reads have it. Administrators see its exports,
// other keys do not, and it does not see those of administrators.
func TestExportForKeys(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	for _, scopes := range [][]string{{"patient.read"}, {"record.read"}, {"appointment.read", "payment.read"}} {
		types := map[string][]string{"patient.read": exportedTypes, "record.read": {"DocumentReference"}, "appointment.read": {"Appointment", "Encounter"}}[scopes[0]]
		key := chart.NewKey(scopes...)
		status := key.StartExport("")
		files := ExportedFiles(key, key.WaitForExport(status))
		requireAsSearched(key, files, types, "")
		for _, line := range files["DocumentReference"] {
			require.NotContains(t, line, chart.SecretRecordID)
			require.NotContains(t, line, base64.StdEncoding.EncodeToString([]byte("the whole story")), "no content")
		}
		require.Equal(t, files, ExportedFiles(chart.Clinic, chart.WaitForExport(status)), "the key's view, for administrators too")
		another := chart.NewKey()
		FHIR(another, 404, status)
		FHIR(another, 404, status+"/"+types[0])
		require.Equal(t, 404, another.Call("DELETE", status, nil).Status)
		require.Equal(t, 202, key.Call("DELETE", status, nil).Status)
	}
	records := chart.NewKey("record.read")
	for _, query := range []string{"?_type=Patient", "?_type=DocumentReference,Patient"} {
		require.Equal(t, 403, records.Call("GET", exportAddress+query, nil, "Prefer", "respond-async").Status)
	}
	require.Equal(t, 403, chart.NewKey("payment.read").Call("GET", exportAddress, nil, "Prefer", "respond-async").Status)
	FHIR(records, 404, chart.StartExport(""))
	require.Equal(t, 1, chart.QueryInt(`select count(*) from clinic.exports where clinic_id = $1`))
}

// A clinic has at most three exports at a time; deleting one makes room.
func TestExportLimit(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	request := func() answer { return clinic.Call("GET", exportAddress, nil, "Prefer", "respond-async") }
	require.Equal(t, map[int]int{202: 3, 429: 5}, moduletest.SendTogether(8, request))
	refused := request()
	require.Equal(t, 429, refused.Status)
	wait, err := time.ParseDuration(refused.Header.Get("Retry-After") + "s")
	require.NoError(t, err)
	require.InDelta(t, exports.KeptFor.Seconds(), wait.Seconds(), 60)
	code, _ := firstIssue(t, refused.Body)
	require.Equal(t, "throttled", code)
	clinic.AnotherClinic().StartExport("")
	clinic.InEnvironment("test").StartExport("")
	var id uuid.UUID
	require.NoError(t, clinic.Hub.Host.Pool.QueryRow(t.Context(), `select id from clinic.exports where clinic_id = $1 and env = 'live' limit 1`, clinic.ID).Scan(&id))
	require.Equal(t, 202, clinic.Call("DELETE", "/fhir/exports/"+id.String(), nil).Status)
	require.Equal(t, 202, request().Status)
}

// An export is there for 24 hours.
func TestExportExpiry(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clinic := clinictest.NewClinicAt(t, start)
	clinic.AddPatient(clinictest.Phone)
	key := clinic.NewKey()
	status := key.StartExport("")
	manifest := key.WaitForExport(status)
	require.Equal(t, "2026-11-20T11:59:00.000Z", manifest["transactionTime"])
	clinic.Hub.Clock.Advance(exports.KeptFor - time.Second)
	FHIR(key, 200, "/fhir/Patient")
	require.Equal(t, 200, key.Call("GET", status+"/Patient", nil).Status)
	require.NoError(t, clinic.Job(exports.CleanupJob).Run(t.Context(), nil))
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from clinic.exports where clinic_id = $1`))
	clinic.Hub.Clock.Advance(time.Second)
	FHIR(key, 404, status)
	FHIR(key, 404, status+"/Patient")
	for range exports.MaxStored {
		key.StartExport("")
	}
	require.NoError(t, clinic.Job(exports.CleanupJob).Run(t.Context(), nil))
	require.Equal(t, exports.MaxStored, clinic.QueryInt(`select count(*) from clinic.exports where clinic_id = $1`))
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.export_chunks where clinic_id = $1 and export_id::text = $2`, status[strings.LastIndex(status, "/")+1:]))
}

// The facade declares the operation and its parameters.
func TestExportIsDeclared(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	patient := FHIR(clinic.As(""), 200, "/fhir/metadata")["rest"].([]any)[0].(object)["resource"].([]any)[0].(object)
	var names []string
	for _, operation := range patient["operation"].([]any) {
		names = append(names, operation.(object)["name"].(string)+" "+operation.(object)["definition"].(string))
	}
	require.Contains(t, names, "export http://hl7.org/fhir/uv/bulkdata/OperationDefinition/patient-export")
	var document struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, Description string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(clinic.Call("GET", clinic.Hub.Base+"/openapi.json", nil).Text), &document))
	described := url.Values{}
	for path, operations := range document.Paths {
		if strings.HasSuffix(path, exportAddress) {
			for _, parameter := range operations["get"].Parameters {
				described.Set(parameter.Name, parameter.Description)
			}
		}
	}
	for _, name := range []string{"_type", "_since", "_outputFormat", "Prefer"} {
		require.NotEmpty(t, described.Get(name), name)
	}
}
