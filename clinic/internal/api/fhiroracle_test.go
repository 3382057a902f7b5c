package api_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest"
)

// runNode runs a script of fhirclients with its npm packages, and decodes what it writes.
func runNode(t *testing.T, script string, input, output any) {
	t.Helper()
	hubtest.SkipShort(t)
	const directory = "clinic/internal/api/fhirclients"
	root := hubtest.ModuleRoot()
	var notes bytes.Buffer
	ensure := exec.CommandContext(t.Context(), "sh", filepath.Join(root, "configs", "setup", "ensure-node.sh"), directory)
	ensure.Stderr = &notes
	modules, err := ensure.Output()
	require.NoError(t, err, "this test needs npm packages: %s", notes.String())
	raw, err := json.Marshal(input)
	require.NoError(t, err)
	run := exec.CommandContext(t.Context(), "node", filepath.Join(root, directory, script))
	run.Env = append(os.Environ(), "FHIR_MODULES="+strings.TrimSpace(string(modules)))
	run.Stdin, run.Stderr = bytes.NewReader(raw), &notes
	out, err := run.Output()
	require.NoError(t, err, notes.String())
	require.NoError(t, json.Unmarshal(out, output), "%s", out)
}

// addPeople adds patients who differ in all that is searched, each with a chart of one of
// everything. It returns their CPFs, as digits, by id.
func addPeople(chart *clinictest.Chart) map[string]string {
	chart.T.Helper()
	cpfs := map[string]string{chart.PatientID: "12345678909"}
	for i, person := range []object{
		{"name": "Ana Maria Souza", "phone": "+5511912345678", "email": "Ana.Maria@Example.com", "birth_date": "1980-03-02"},
		{"name": "Ana", "phone": "+551133334444"},
		{"name": "Zoë Ångström-Sá", "email": "zoe@example.com", "birth_date": "1980-03-31", "status": "inactive"},
		{"name": "José d'Ávila, Neto", "phone": "+5511987654321", "birth_date": "2024-02-29", "cpf": "529.982.247-25"},
		{"name": "maria das dores", "phone": "+14155550100", "email": "maria@example.com", "birth_date": "1949-12-31"},
		{"name": "Édson Arantes", "birth_date": "1981-01-01"},
		{"name": "李 小龍", "email": "lee+1@example.com", "birth_date": "1940-11-27"},
	} {
		id := chart.OK(201, "POST", "/patients", person)["id"].(string)
		if cpf, ok := person["cpf"].(string); ok {
			cpfs[id] = strings.NewReplacer(".", "", "-", "").Replace(cpf)
		}
		day := time.Date(2025, 11, 1, 12, 30, 0, 0, time.UTC).AddDate(0, i, i)
		status := []string{"scheduled", "confirmed", "completed", "cancelled", "no_show"}[i%5]
		chart.OK(201, "POST", "/patients/"+id+"/appointments", object{"datetime": day.Format(time.RFC3339), "status": status})
		chart.OK(201, "POST", "/patients/"+id+"/records", object{"date": day.AddDate(0, 0, -200).Format(time.DateOnly), "type": "evolution", "content": "x"})
		chart.OK(201, "POST", "/patients/"+id+"/interactions", object{"interaction_type": "call", "summary": "x", "occurred_at": day.AddDate(0, 0, -100).Format(time.RFC3339)})
	}
	return cpfs
}

// "a table of search cases derived from R4's definitions with `fhirpath` as oracle": every
// parameter that the facade declares, in every form that R4 has for its type, finds what the
// definitions say; so do orders, includes and summaries.
func TestFHIRSearchesAgreeWithR4(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	cpfs := addPeople(chart)
	erased := chart.AddPatient("+5521955554444")
	chart.OK(202, "POST", "/patients/"+erased+"/deletion-request", nil)
	type search struct {
		Type  string `json:"type"`
		Query string `json:"query"`
	}
	var searches []search
	for _, query := range []string{
		"Patient?name=ana&given=ana", "Patient?given=maria", "Patient?family=maria", "Patient?family=souza&given=ana", "Patient?family=ana", "Patient?given=Zoe", "Patient?family=sa", "Patient?family=Angstrom",
		"Patient?family=neto,dores", "Patient?given=%E6%9D%8E", "Patient?name=d%27avila", "Patient?name=maria+souza", "Patient?telecom=zoe@example.com,11912345678", "Patient?telecom=email%7C", "Patient?telecom=phone%7C",
		"Patient?telecom=email%7C,phone%7C", "Patient?email=ANA.MARIA@EXAMPLE.COM", "Patient?email=phone%7Cana.maria@example.com", "Patient?email:not=zoe@example.com&email:missing=false", "Patient?phone:missing=true&email:missing=true",
		"Patient?identifier=https://saude.gov.br/fhir/sid/cpf%7C52998224725", "Patient?identifier=https://rnds-fhir.saude.gov.br/NamingSystem/cpf%7C529.982.247-25",
		"Patient?identifier=urn:oid:2.16.840.1.113883.13.237%7C52998224725", "Patient?identifier=https://saude.gov.br/fhir/sid/cpf%7C", "Patient?identifier=https://rnds-fhir.saude.gov.br/NamingSystem/cpf%7C",
		"Patient?identifier:not=52998224725", "Patient?identifier:not=https://saude.gov.br/fhir/sid/cpf%7C", "Patient?identifier:missing=true", "Patient?active:not=true", "Patient?active:not=true,false",
		"Patient?birthdate=ne1980-03", "Patient?birthdate=ge1980&birthdate=ne1980-03-31", "Patient?birthdate=ap1980", "Patient?birthdate=ap2000-01-01", "Patient?birthdate=lt1945,gt2020", "Patient?birthdate:missing=true&active=true",
		"Patient?_sort=name", "Patient?_sort=-name&_count=2", "Patient?_sort=birthdate&_count=3", "Patient?_sort=-birthdate&_count=2", "Patient?_sort=birthdate,-name&active=true", "Patient?_sort=-_lastUpdated", "Patient?_sort=-_id&_count=1",
		"Patient?name=ana&_revinclude=Appointment:patient&_revinclude=Communication:subject&_count=1", "Patient?given=ana&_revinclude=Encounter:patient&_revinclude=DocumentReference:patient",
		"Appointment?_sort=date", "Appointment?_sort=-date&_count=2&status:not=booked", "Appointment?status:not=booked,fulfilled", "Appointment?status:not=http://hl7.org/fhir/appointmentstatus%7Cbooked", "Appointment?status:not=urn:x%7Cbooked",
		"Appointment?_include=Appointment:patient&_revinclude=Encounter:appointment", "Appointment?_include=*&status=cancelled", "Appointment?date=ne2026", "Appointment?date=ap2026-02-02", "Appointment?date=2026-02-02T12:00",
		"Appointment?date=2026-02-02T09:00:00", "Appointment?date=2026-02-02T09:00:00-03:00", "Appointment?date=sa2026-02-02T12:00:00Z", "Appointment?date=eb2026-02-02T12:00:00.000Z", "Appointment?actor=Patient/" + chart.PatientID + "&status=booked",
		"Encounter?_include=*&_sort=-date", "Encounter?appointment=Appointment/" + chart.VisitID, "Encounter?appointment=" + chart.AppointmentID, "Encounter?appointment:Appointment=" + chart.VisitID + "&_include=Encounter:appointment:Appointment",
		"Encounter?status:not=finished", "DocumentReference?_sort=date,_id&_count=2&_include=DocumentReference:subject", "DocumentReference?date=ne2026-02-03", "DocumentReference?subject:missing=true", "Communication?_sort=-sent&_count=2&_include=Communication:patient",
		"Communication?sent=ap2026-02-05T10:00:00Z", "Communication?date:missing=false",
	} {
		kind, query, _ := strings.Cut(query, "?")
		searches = append(searches, search{kind, query})
	}
	var result struct {
		Searches, Matched int
		Differences       []struct {
			Query     string
			Want, Got []string
			Total     *int
		}
	}
	runNode(t, "oracle.mjs", map[string]any{
		"base": chart.Hub.Base + "/fhir", "headers": map[string]string{"Authorization": "Bearer " + chart.Token}, "offset": -3 * 3600 * 1000, "now": time.Now().UnixMilli(), "cpfs": cpfs, "erased": "Removed", "searches": searches,
		"definitions": filepath.Join(hubtest.ModuleRoot(), "clinic", "internal", "fhir", "testdata", "r4.json"),
		"systems":     []string{"urn:oid:2.16.840.1.113883.13.237", "https://saude.gov.br/fhir/sid/cpf", "https://rnds-fhir.saude.gov.br/NamingSystem/cpf"},
	}, &result)
	for _, difference := range result.Differences {
		t.Errorf("%s\n  by R4 %v\n  found %v", difference.Query, difference.Want, difference.Got)
	}
	t.Logf("%d searches, of which %d matched some resources and not all", result.Searches, result.Matched)
	require.Greater(t, result.Searches, 700)
	require.Greater(t, result.Matched, 300)
}
