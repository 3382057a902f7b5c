package api_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest/fhirtest"
)

const fhirType = "application/fhir+json"

// FHIR asks the facade and holds the answer against HL7's schema.
func FHIR(clinic *clinictest.Clinic, status int, path string) object {
	clinic.T.Helper()
	got := clinic.Call("GET", path, nil)
	require.Equal(clinic.T, status, got.Status, "%s: %s", path, got.Text)
	require.Equal(clinic.T, fhirType, got.Header.Get("Content-Type"), path)
	if got.Body["resourceType"] != "CapabilityStatement" { // the schema is that of 4.0.0
		require.NoError(clinic.T, fhirtest.Validate([]byte(got.Text)), "%s: %s", path, got.Text)
	}
	if status >= 400 {
		require.Equal(clinic.T, "OperationOutcome", got.Body["resourceType"], got.Text)
	}
	return got.Body
}

// BundleIDs are those of the resources in a bundle, in order.
func BundleIDs(bundle object) []string {
	list := []string{}
	entries, _ := bundle["entry"].([]any)
	for _, entry := range entries {
		if id, ok := entry.(object)["resource"].(object)["id"].(string); ok { // an outcome has none
			list = append(list, id)
		}
	}
	return list
}

func TestFHIRResources(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	patient := FHIR(chart.Clinic, 200, "/fhir/Patient/"+chart.PatientID)
	require.Equal(t, "Édson da Silva", patient["name"].([]any)[0].(object)["text"])
	require.NotContains(t, patient["identifier"].([]any)[0], "value")
	require.Equal(t, "Clínica Sol", patient["managingOrganization"].(object)["display"])

	require.Equal(t, "booked", FHIR(chart.Clinic, 200, "/fhir/Appointment/"+chart.AppointmentID)["status"])
	require.Equal(t, "2026-03-02T12:00:00.000Z", FHIR(chart.Clinic, 200, "/fhir/Appointment/"+chart.AppointmentID)["start"])
	require.Equal(t, "finished", FHIR(chart.Clinic, 200, "/fhir/Encounter/"+chart.VisitID)["status"])
	FHIR(chart.Clinic, 404, "/fhir/Encounter/"+chart.AppointmentID) // it has not taken place
	for id, content := range map[string]string{chart.RecordID: "the whole story", chart.RestrictedRecordID: "a restricted story", chart.SecretRecordID: "a secret story"} {
		document := FHIR(chart.Clinic, 200, "/fhir/DocumentReference/"+id)
		data := document["content"].([]any)[0].(object)["attachment"].(object)["data"].(string)
		raw, err := base64.StdEncoding.DecodeString(data)
		require.NoError(t, err)
		require.Equal(t, content, string(raw), "the clinic's own people read it")
	}
	require.Equal(t, "2026-02-02T03:00:00.000Z", FHIR(chart.Clinic, 200, "/fhir/DocumentReference/"+chart.RecordID)["date"], "midnight in São Paulo")
	communication := FHIR(chart.Clinic, 200, "/fhir/Communication/"+chart.InteractionID)
	require.Equal(t, "=HYPERLINK(1)", communication["payload"].([]any)[0].(object)["contentString"])
	require.Equal(t, chart.Hub.Base+"/fhir/NamingSystem/clinic", communication["identifier"].([]any)[0].(object)["system"])

	statement := FHIR(chart.As(""), 200, "/fhir/metadata")
	require.Equal(t, "4.0.1", statement["fhirVersion"])
	require.Equal(t, chart.Hub.Base+"/fhir", statement["implementation"].(object)["url"])

	for _, missing := range []string{"/fhir/Patient/x", "/fhir/Patient/" + uuid.NewString(), "/fhir/Communication/" + chart.RecordID, "/fhir/Patient/x/$everything"} {
		got := FHIR(chart.Clinic, 404, missing)
		require.Equal(t, "not-found", got["issue"].([]any)[0].(object)["code"])
	}
	FHIR(chart.Clinic, 404, "/fhir/Observation")
}

// Connected products see no content of records, of restricted ones only that they exist, and
// no very restricted ones.
func TestFHIRForConnectedProducts(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	peer := &clinictest.Chart{Clinic: chart.NewKey("patient.read")}
	documents := FHIR(peer.Clinic, 200, "/fhir/DocumentReference?patient="+chart.PatientID)
	require.ElementsMatch(t, []string{chart.RecordID, chart.RestrictedRecordID}, BundleIDs(documents))
	require.EqualValues(t, 2, documents["total"])
	FHIR(peer.Clinic, 404, "/fhir/DocumentReference/"+chart.SecretRecordID)
	all := peer.Call("GET", "/fhir/Patient/"+chart.PatientID+"/$everything", nil)
	require.Equal(t, 200, all.Status)
	require.NoError(t, fhirtest.Validate([]byte(all.Text)))
	for _, text := range []string{all.Text, peer.Call("GET", "/fhir/DocumentReference?patient="+chart.PatientID, nil).Text} {
		for _, hidden := range []string{"psychiatry", "serology", "Dr. Rui", "story", "known to nobody", "not even", chart.SecretRecordID, "123456789", clinictest.CPF, base64.StdEncoding.EncodeToString([]byte("the whole story"))} {
			require.NotContains(t, text, hidden)
		}
		require.Contains(t, text, base64.StdEncoding.EncodeToString([]byte("seen, all is well")))
		require.Contains(t, text, `"restricted"`)
	}
	require.Empty(t, BundleIDs(FHIR(peer.Clinic, 200, "/fhir/Communication")), "the clinic's own notes are its own")

	// One scope for everything, or the resource's own.
	for scope, allowed := range map[string][]string{
		"patient.search": {}, "record.read": {"DocumentReference"}, "appointment.read": {"Appointment", "Encounter"},
		"patient.read": {"Patient", "Appointment", "Encounter", "DocumentReference", "Communication"},
	} {
		key := chart.NewKey(scope)
		for _, name := range []string{"Patient", "Appointment", "Encounter", "DocumentReference", "Communication"} {
			want := 403
			for _, text := range allowed {
				if text == name {
					want = 200
				}
			}
			FHIR(key, want, "/fhir/"+name)
		}
	}
	require.Equal(t, 403, chart.NewKey("record.read").Call("GET", "/fhir/Patient/"+chart.PatientID+"/$everything", nil).Status)
	require.Equal(t, 401, chart.As("").Call("GET", "/fhir/Patient", nil).Status)
	require.Equal(t, 403, chart.AddStaff().Call("GET", "/fhir/Patient", nil).Status)
}

func TestFHIRSearch(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	other := chart.OK(201, "POST", "/patients", object{"name": "Silvana 100%", "phone": "+5521912345678", "birth_date": "1990-01-01", "status": "inactive"})["id"].(string)
	everybody := []string{chart.PatientID, other}
	today := time.Now().UTC().Format(time.DateOnly)
	for query, want := range map[string][]string{
		"": everybody, "phone=%2B5511987654321": {chart.PatientID}, "phone=+5511987654321": {chart.PatientID}, "phone=1187654321": {chart.PatientID}, "telecom=11987654321": {chart.PatientID},
		"name=EDSON": {chart.PatientID}, "name=silv": everybody, "name=da+sil": {chart.PatientID}, "name=ilva": {}, "name=100%25": {other}, "name=%25": {},
		"identifier=12345678909": {chart.PatientID}, "identifier=" + url.QueryEscape("urn:oid:2.16.840.1.113883.13.237|"+clinictest.CPF): {chart.PatientID},
		"identifier=urn:x|12345678909": {}, "identifier=52998224725": {}, "identifier=1": {},
		"_id=" + chart.PatientID + "," + other: everybody, "_id=x": {}, "_id=" + chart.VisitID: {},
		"birthdate=1980-03-02": {chart.PatientID}, "birthdate=ge1985": {other}, "active=true": {chart.PatientID}, "active=false": {other},
		"_lastUpdated=ge" + today: everybody, "_lastUpdated=lt2026-01-01": {}, "unknown=x": everybody, "phone=%2B5511987654321&name=silvana": {},
	} {
		got := FHIR(chart.Clinic, 200, "/fhir/Patient?"+query)
		require.Equal(t, want, BundleIDs(got), query)
		require.EqualValues(t, len(want), got["total"], query)
		require.NotContains(t, got["link"].([]any)[0].(object)["url"], "12345678909", "no tax id in an address")
	}
	for path, want := range map[string][]string{
		"Appointment":                                                  {chart.AppointmentID, chart.VisitID, chart.CancelledAppointmentID},
		"Appointment?patient=" + chart.PatientID:                       {chart.AppointmentID, chart.VisitID, chart.CancelledAppointmentID},
		"Appointment?patient=Patient/" + chart.PatientID:               {chart.AppointmentID, chart.VisitID, chart.CancelledAppointmentID},
		"Appointment?patient=" + other:                                 {},
		"Appointment?patient=x":                                        {},
		"Appointment?patient=" + chart.PatientID + "&subject=" + other: {},
		"Appointment?status=booked,fulfilled":                          {chart.AppointmentID, chart.VisitID},
		"Appointment?status=cancelled":                                 {chart.CancelledAppointmentID},
		"Appointment?status=arrived":                                   {},
		"Appointment?date=2026-03-02":                                  {chart.AppointmentID},
		"Appointment?date=ge2026-02-01&date=lt2026-03-01":              {chart.VisitID},
		"Encounter":                           {chart.VisitID},
		"Encounter?status=finished":           {chart.VisitID},
		"Encounter?status=planned":            {},
		"Encounter?date=2026-03":              {},
		"DocumentReference":                   {chart.RecordID, chart.RestrictedRecordID, chart.SecretRecordID},
		"DocumentReference?date=2026-02-03":   {chart.RestrictedRecordID},
		"DocumentReference?date=gt2026-02-02": {chart.RestrictedRecordID, chart.SecretRecordID},
		"DocumentReference?status=current":    {chart.RecordID, chart.RestrictedRecordID, chart.SecretRecordID},
		"DocumentReference?status=superseded": {},
		"Communication?sent=2026-02-05":       {chart.InteractionID},
		"Communication?date=2026-02-06":       {},
		"Communication?status=completed":      {chart.InteractionID},
	} {
		require.Equal(t, want, BundleIDs(FHIR(chart.Clinic, 200, "/fhir/"+path)), path)
	}
	for _, bad := range []string{"Patient?_count=x", "Patient?_count=-1", "Patient?phone=abc", "Patient?active=maybe", "Patient?birthdate=x", "Patient?_lastUpdated=nx2026", "Appointment?date=02/03/2026", "Appointment?_after=x"} {
		got := FHIR(chart.Clinic, 400, "/fhir/"+bad)
		require.Equal(t, "invalid", got["issue"].([]any)[0].(object)["code"], bad)
	}

	// Pages lead to each other.
	next, seen := "/fhir/Appointment?_count=2&patient="+chart.PatientID, []string{}
	for next != "" {
		page := FHIR(chart.Clinic, 200, next)
		seen = append(seen, BundleIDs(page)...)
		require.EqualValues(t, 3, page["total"])
		next = ""
		for _, link := range page["link"].([]any) {
			if link.(object)["relation"] == "next" {
				next = strings.TrimPrefix(link.(object)["url"].(string), chart.Hub.Base)
			}
		}
	}
	require.Equal(t, []string{chart.AppointmentID, chart.VisitID, chart.CancelledAppointmentID}, seen)
	counted := FHIR(chart.Clinic, 200, "/fhir/Appointment?_count=0")
	require.EqualValues(t, 3, counted["total"])
	require.NotContains(t, counted, "entry")
	require.Len(t, FHIR(chart.Clinic, 200, "/fhir/Appointment?_count=3")["link"], 1, "no next page without anything on it")
}

// Ids of another clinic or of test data are not found.
func TestFHIRTenancy(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	stranger := chart.AnotherClinic()
	for _, who := range []*clinictest.Clinic{stranger, stranger.NewKey(), chart.InEnvironment("test")} {
		for path, id := range map[string]string{
			"Patient/": chart.PatientID, "Appointment/": chart.AppointmentID, "Encounter/": chart.VisitID, "DocumentReference/": chart.RecordID, "Communication/": chart.InteractionID,
		} {
			FHIR(who, 404, "/fhir/"+path+id)
			require.Empty(t, BundleIDs(FHIR(who, 200, "/fhir/"+strings.TrimSuffix(path, "/"))), path)
			require.Empty(t, BundleIDs(FHIR(who, 200, "/fhir/"+strings.TrimSuffix(path, "/")+"?_id="+id)), path)
		}
		FHIR(who, 404, "/fhir/Patient/"+chart.PatientID+"/$everything")
		for _, name := range []string{"Appointment", "Encounter", "DocumentReference", "Communication"} {
			require.Empty(t, BundleIDs(FHIR(who, 200, "/fhir/"+name+"?patient="+chart.PatientID)), name)
		}
	}
	require.Equal(t, http.StatusNotFound, stranger.Call("GET", "/patients/"+chart.PatientID+"/export", nil).Status)
}

// The facade is for reading: nothing is written, changed or deleted through it.
func TestFHIRIsReadOnly(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	before, key := chart.Snapshot(), chart.NewKey()
	for _, name := range []string{
		"Patient", "Patient/" + chart.PatientID, "Patient/" + chart.PatientID + "/$everything", "Appointment", "Appointment/" + chart.AppointmentID, "Encounter", "Encounter/" + chart.VisitID,
		"DocumentReference", "DocumentReference/" + chart.RecordID, "Communication", "Communication/" + chart.InteractionID, "metadata",
	} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			if method == "POST" && strings.HasSuffix(name, "$everything") {
				continue // reads, by POST
			}
			for who, as := range map[string]*clinictest.Clinic{"administrator": chart.Clinic, "key": key} {
				got := as.Call(method, "/fhir/"+name, `{"resourceType":"Patient","name":[{"text":"X"}]}`, "Content-Type", fhirType)
				require.Equal(t, 405, got.Status, "%s %s by %s: %s", method, name, who, got.Text)
				require.Contains(t, got.Header.Get("Allow"), "GET", "%s %s", method, name)
			}
		}
	}
	require.Equal(t, before, chart.Snapshot())
}
