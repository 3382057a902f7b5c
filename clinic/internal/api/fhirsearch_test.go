package api_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/fhirtest"
)

const formType = "application/x-www-form-urlencoded"

// firstIssue is what an answer says is wrong.
func firstIssue(t *testing.T, outcome object) (code, expression string) {
	t.Helper()
	firstIssue := outcome["issue"].([]any)[0].(object)
	if list, ok := firstIssue["expression"].([]any); ok {
		expression = list[0].(string)
	}
	return firstIssue["code"].(string), expression
}

// selfLink is the query of a bundle's link to itself: what the search was answered by.
func selfLink(t *testing.T, bundle object) string {
	t.Helper()
	address, err := url.Parse(bundle["link"].([]any)[0].(object)["url"].(string))
	require.NoError(t, err)
	return address.Query().Encode()
}

// pageLink is the address of a bundle's link with a relation, or "".
func pageLink(bundle object, relation string) string {
	for _, link := range bundle["link"].([]any) {
		if link.(object)["relation"] == relation {
			return link.(object)["url"].(string)
		}
	}
	return ""
}

// newFamily is a clinic with two patients, of whom each has an appointment.
func newFamily(t *testing.T) (chart *clinictest.Chart, other, theirs string) {
	t.Helper()
	chart = clinictest.NewChart(t)
	other = chart.OK(201, "POST", "/patients", object{"name": "Silvana 100%", "phone": "+5521912345678", "cpf": "529.982.247-25", "birth_date": "1990-01-01", "status": "inactive"})["id"].(string)
	theirs = chart.OK(201, "POST", "/patients/"+other+"/appointments", object{"datetime": "2026-03-04T09:00:00-03:00", "service": "Consulta"})["id"].(string)
	return chart, other, theirs
}

// An unsupported modifier is refused, because it would change the meaning of a parameter.
func TestFHIRModifiers(t *testing.T) {
	t.Parallel()
	chart, other, theirs := newFamily(t)
	for _, query := range []string{
		"Appointment?patient:Group=" + other, "Appointment?patient:not=x", "Appointment?status:in=booked", "Appointment?patient:Patient.name=x", "Appointment?_id:missing=true",
		"Patient?name:contains=ilva", "Patient?identifier:of-type=52998224725", "Patient?active:text=true", "Patient?birthdate:not=1980", "Patient?foo:bar=x", "Patient?name:=x",
		"Patient?_has:Appointment:patient:date=2026", "DocumentReference?date:exact=2026", "Communication?sent:not=2026", "Encounter?subject:identifier=x", "Encounter?_include:iterate=x",
	} {
		got := FHIR(chart.Clinic, 400, "/fhir/"+query)
		code, expression := firstIssue(t, got)
		require.Equal(t, "not-supported", code, query)
		name, _, _ := strings.Cut(strings.SplitN(query, "?", 2)[1], "=")
		require.Equal(t, "http."+name, expression)
		if strings.HasPrefix(query, "Patient") {
			require.Contains(t, got["issue"].([]any)[0].(object)["diagnostics"], "name:exact", "it says which there are")
		}
	}
	for query, want := range map[string][]string{
		"Appointment?patient:Patient=" + other: {theirs}, "Appointment?subject:Patient=Patient/" + other: {theirs}, "Appointment?patient:Patient=x": {},
		"Patient?name:exact=Silvana+100%25": {other}, "Patient?name:exact=silvana+100%25": {}, "Patient?name:exact=Silvana": {}, "Patient?name:exact=x,%C3%89dson+da+Silva": {chart.PatientID},
		"Patient?name:exact=Edson+da+Silva": {},
	} {
		require.Equal(t, want, BundleIDs(FHIR(chart.Clinic, 200, "/fhir/"+query)), query)
	}
}

// Unknown parameters are ignored, and missing in the self link; with Prefer: handling=strict
// they are refused.
func TestFHIRUnknownParameters(t *testing.T) {
	t.Parallel()
	chart, other, theirs := newFamily(t)
	for _, query := range []string{"address-city=x", "death-date=2026", "gender=female", "general-practitioner.name=x", "_sort=phone", "_include=Patient:organization", "_revinclude=Encounter:appointment", "phone2="} {
		got := FHIR(chart.Clinic, 200, "/fhir/Patient?active=false&"+query)
		require.Equal(t, []string{other}, BundleIDs(got))
		require.EqualValues(t, 1, got["total"], "an outcome is no match")
		require.Equal(t, "active=false", selfLink(t, got), "it did not count")
		entries := got["entry"].([]any)
		if query == "phone2=" {
			require.Len(t, entries, 1)
		} else {
			outcome := entries[1].(object)
			require.Equal(t, "outcome", outcome["search"].(object)["mode"])
			code, expression := firstIssue(t, outcome["resource"].(object))
			require.Equal(t, "not-supported", code)
			name, _, _ := strings.Cut(query, "=")
			require.Equal(t, "http."+name, expression)
			require.Equal(t, "warning", outcome["resource"].(object)["issue"].([]any)[0].(object)["severity"])
		}
		for _, prefer := range []string{"handling=strict", `return=minimal; Handling="strict"`, "respond-async, handling=strict"} {
			got := chart.Call("GET", "/fhir/Patient?active=false&"+query, nil, "Prefer", prefer)
			if query == "phone2=" {
				require.Equal(t, 200, got.Status, "what has no value is not there")
				continue
			}
			require.Equal(t, 400, got.Status, query)
			require.NoError(t, fhirtest.Validate([]byte(got.Text)), got.Text)
			code, expression := firstIssue(t, got.Body)
			require.Equal(t, "not-supported", code)
			name, _, _ := strings.Cut(query, "=")
			require.Equal(t, "http."+name, expression)
		}
	}
	require.Equal(t, 200, chart.Call("GET", "/fhir/Appointment?_format=json&_pretty=true&_count=1&patient="+other, nil, "Prefer", "handling=strict").Status)
	require.Equal(t, 200, chart.Call("GET", "/fhir/Appointment?sent=2026", nil, "Prefer", "handling=lenient").Status)
	require.Equal(t, 400, chart.Call("GET", "/fhir/Appointment?sent=2026", nil, "Prefer", "handling=strict").Status, "that is Communication's")
	got := chart.Call("POST", "/fhir/Appointment/_search?date=2026-03", "patient="+other+"&foo=x", "Content-Type", formType)
	require.Equal(t, []string{theirs}, BundleIDs(got.Body))
	require.Equal(t, 400, chart.Call("POST", "/fhir/Appointment/_search", "patient="+other+"&foo=x", "Content-Type", formType, "Prefer", "handling=strict").Status)
	require.Equal(t, []string{theirs}, BundleIDs(chart.Call("POST", "/fhir/Appointment/_search?patient="+other, nil, "Content-Type", formType).Body), "without a body")
	require.Equal(t, 400, chart.Call("POST", "/fhir/Appointment/_search?patient:Group=x", "patient="+other, "Content-Type", formType).Status)
}

// Repeated parameters are conditions that all hold; values with commas are alternatives.
func TestFHIRSeveralValues(t *testing.T) {
	t.Parallel()
	chart, other, theirs := newFamily(t)
	_, err := chart.Hub.Host.Pool.Exec(t.Context(), `insert into clinic.linked_phones (clinic_id, env, phone_key, patient_id) values ($1, 'live', '+552187650000', $2)`, chart.ID, uuid.MustParse(chart.PatientID))
	require.NoError(t, err)
	hers := []string{chart.AppointmentID, chart.VisitID, chart.CancelledAppointmentID}
	all := append(append([]string{}, hers...), theirs)
	const cpfSystem = "urn:oid:2.16.840.1.113883.13.237|"
	for query, want := range map[string][]string{
		"Appointment?patient=" + chart.PatientID + "," + other:                                           all,
		"Appointment?patient=x," + other:                                                                 {theirs},
		"Appointment?patient=" + chart.PatientID + "&patient=" + other:                                   {},
		"Appointment?patient=" + other + "&patient:Patient=" + other:                                     {theirs},
		"Appointment?patient=" + chart.PatientID + "," + other + "&subject=" + other:                     {theirs},
		"Appointment?status=booked&status=fulfilled":                                                     {},
		"Appointment?status=booked,fulfilled&status=fulfilled":                                           {chart.VisitID},
		"Appointment?status=,cancelled":                                                                  {chart.CancelledAppointmentID},
		"Appointment?status=" + url.QueryEscape("http://hl7.org/fhir/appointmentstatus|cancelled"):       {chart.CancelledAppointmentID},
		"Appointment?status=" + url.QueryEscape("http://hl7.org/fhir/appointmentstatus|"):                all,
		"Appointment?status=" + url.QueryEscape("urn:x|cancelled"):                                       {},
		"Appointment?status=" + url.QueryEscape("urn:x|"):                                                {},
		"Appointment?date=2026-01,2026-02":                                                               {chart.VisitID, chart.CancelledAppointmentID},
		"Appointment?date=2026-01,2026-02&date=ge2026-01-15":                                             {chart.VisitID},
		"Appointment?_lastUpdated=lt2000,gt2020":                                                         all,
		"Encounter?status=finished&status=planned":                                                       {},
		"Encounter?status=planned,finished":                                                              {chart.VisitID},
		"DocumentReference?date=2026-02-02,2026-02-04":                                                   {chart.RecordID, chart.SecretRecordID},
		"Communication?sent=2026-02-05&date=2026-02-05":                                                  {chart.InteractionID},
		"Communication?sent=2026-02-05&date=2026-02-06":                                                  {},
		"Patient?_id=" + chart.PatientID + "&_id=" + other:                                               {},
		"Patient?_id=" + chart.PatientID + "," + other + "&_id=" + other:                                 {other},
		"Patient?phone=11987654321,21912345678":                                                          {chart.PatientID, other},
		"Patient?phone=11987654321&phone=21912345678":                                                    {},
		"Patient?phone=11987654321&phone=2187650000":                                                     {chart.PatientID}, // has both
		"Patient?phone=11987654321&telecom=21912345678":                                                  {},
		"Patient?phone=11987654321&telecom=2187650000":                                                   {chart.PatientID},
		"Patient?telecom=" + url.QueryEscape("phone|+5511987654321"):                                     {chart.PatientID},
		"Patient?phone=" + url.QueryEscape("phone|+5511987654321"):                                       {chart.PatientID},
		"Patient?phone=" + url.QueryEscape("fax|+5511987654321"):                                         {},
		"Patient?name=edson,silvana":                                                                     {chart.PatientID, other},
		"Patient?name=silv&name=edson":                                                                   {chart.PatientID},
		"Patient?name=edson&name=silvana":                                                                {},
		`Patient?name=edson%5C,silvana`:                                                                  {}, // an escaped comma is a part of the name
		"Patient?identifier=12345678909,52998224725":                                                     {chart.PatientID, other},
		"Patient?identifier=12345678909&identifier=52998224725":                                          {},
		"Patient?identifier=" + url.QueryEscape("urn:x|1,"+cpfSystem+"52998224725"):                      {other},
		"Patient?identifier=" + url.QueryEscape("|52998224725"):                                          {}, // none without a system
		"Patient?birthdate=1980-03-02,1990":                                                              {chart.PatientID, other},
		"Patient?birthdate=ge1980&birthdate=lt1985":                                                      {chart.PatientID},
		"Patient?active=true,false":                                                                      {chart.PatientID, other},
		"Patient?active=true&active=false":                                                               {},
		"Patient?active=" + url.QueryEscape("http://terminology.hl7.org/CodeSystem/special-values|true"): {chart.PatientID},
		"Patient?active=" + url.QueryEscape("|false"):                                                    {other},
		"Patient?active=" + url.QueryEscape("urn:x|true"):                                                {},
		"Patient?telecom=" + url.QueryEscape("email|a@b.example"):                                        {}, "Patient?identifier=" + url.QueryEscape(cpfSystem): {chart.PatientID, other},
	} {
		got := FHIR(chart.Clinic, 200, "/fhir/"+query)
		require.ElementsMatch(t, want, BundleIDs(got), query)
		require.EqualValues(t, len(want), got["total"], query)
	}
	for query, name := range map[string]string{
		"Patient?phone=11987654321,x": "phone", "Patient?phone=11987654321,": "phone", "Patient?telecom=abc": "telecom", "Patient?email=,": "email",
		"Patient?identifier=,": "identifier", "Patient?active:missing=x": "active:missing", "Patient?active=true,x": "active", "Patient?birthdate=1980,x": "birthdate",
		"Patient?birthdate=1980-03-02T10:00:00Z": "birthdate", "Patient?_count=1&_count=2": "_count", "Patient?_summary=some": "_summary", "Patient?_summary=true&_elements=name": "_elements",
		"Appointment?date=2026-01,nx2026-02": "date", "Appointment?_page=x": "_page", "Patient?_page=x&name=y": "_page", "Patient?name=%00": "name",
		"Appointment?" + strings.Repeat("status=booked&", 11): "status", "Appointment?status=" + strings.Repeat("booked,", 200): "status",
	} {
		_, expression := firstIssue(t, FHIR(chart.Clinic, 400, "/fhir/"+query))
		require.Equal(t, "http."+name, expression, query)
	}
	FHIR(chart.Clinic, 400, "/fhir/Patient?name=%zz")
}

// _summary=count only counts. Other formats than JSON are refused.
func TestFHIRSummaryAndFormat(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	for _, query := range []string{"_summary=count", "_summary=count&_count=1", "_count=0"} {
		got := FHIR(chart.Clinic, 200, "/fhir/Appointment?"+query)
		require.EqualValues(t, 3, got["total"])
		require.NotContains(t, got, "entry")
	}
	require.Len(t, BundleIDs(FHIR(chart.Clinic, 200, "/fhir/Appointment?_summary=false")), 3)
	require.Equal(t, "_count=200", selfLink(t, FHIR(chart.Clinic, 200, "/fhir/Appointment?_count=5000")), "what was done, not what was asked")
	key := chart.NewKey("patient.read")
	for _, path := range []string{
		"metadata", "OperationDefinition/Patient-everything", "Patient", "Patient/" + chart.PatientID, "Patient/" + chart.PatientID + "/$everything", "Appointment?patient=" + chart.PatientID, "Appointment/" + chart.AppointmentID,
	} {
		for accept, want := range map[string]int{
			"application/fhir+xml": 406, "text/html, application/xml;q=0.9": 406, "application/json;q=0": 406, "x": 406, "application/fhir+json; fhirVersion=4.0": 200,
			"text/html, */*;q=0.1": 200, "application/json": 200, "": 200,
		} {
			got := key.Call("GET", "/fhir/"+path, nil, "Accept", accept)
			require.Equal(t, want, got.Status, "%s as %s: %s", path, accept, got.Text)
			require.Equal(t, fhirType, got.Header.Get("Content-Type"))
			if want == 406 {
				require.NoError(t, fhirtest.Validate([]byte(got.Text)), got.Text)
				code, _ := firstIssue(t, got.Body)
				require.Equal(t, "not-supported", code)
				require.NotContains(t, got.Text, "dson")
			}
		}
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		for format, want := range map[string]int{"xml": 406, "application/fhir%2Bxml": 406, "json": 200, "application/fhir+json": 200, "application/json": 200} {
			require.Equal(t, want, key.Call("GET", "/fhir/"+path+join+"_format="+format, nil, "Accept", "application/fhir+xml").Status, "%s as %s", path, format)
		}
	}
	require.Equal(t, 406, key.Call("POST", "/fhir/Patient/_search", "_format=xml", "Content-Type", formType).Status)
	require.Equal(t, 200, key.Call("POST", "/fhir/Patient/_search", "_format=json", "Content-Type", formType, "Accept", "text/html").Status)
}

// A record is found by the instant that the facade shows, in every time zone.
func TestFHIRDaysOfDocuments(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	for _, zone := range []string{"America/Sao_Paulo", "Pacific/Kiritimati", "Pacific/Niue"} {
		chart.OK(200, "PUT", "/clinic", object{"timezone": zone})
		shown := FHIR(chart.Clinic, 200, "/fhir/DocumentReference/"+chart.RestrictedRecordID)["date"].(string)
		day := shown[:len("2026-02-03")]
		if zone == "America/Sao_Paulo" {
			require.Equal(t, "2026-02-03T03:00:00.000Z", shown)
		}
		for value, want := range map[string][]string{
			shown: {chart.RestrictedRecordID}, "le" + shown: {chart.RecordID, chart.RestrictedRecordID}, "gt" + shown: {chart.SecretRecordID}, "lt" + shown: {chart.RecordID}, "2026-02-03": {chart.RestrictedRecordID},
			"lt" + day + "T23:59:59Z": {chart.RecordID, chart.RestrictedRecordID}, "ge" + day + "T23:59:59Z": {chart.SecretRecordID}, "gt" + day + "T23:30:00Z": {chart.SecretRecordID},
		} {
			require.Equal(t, want, BundleIDs(FHIR(chart.Clinic, 200, "/fhir/DocumentReference?date="+value)), "%s in %s", value, zone)
		}
	}
}

// Every declared capability works, and every other is refused.
func TestFHIRCapabilities(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	nothing := map[string]string{
		"_id": uuid.NewString(), "_lastUpdated": "lt1970", "patient": uuid.NewString(), "subject": uuid.NewString(), "date": "1970", "sent": "1970", "status": "entered-in-error",
		"phone": "+5531900000000", "telecom": "+5531900000000", "email": "nobody@example.com", "given": "Zuleica", "family": "Zuleica", "actor": uuid.NewString(), "appointment": uuid.NewString(), "name": "Zuleica", "identifier": "70948140038", "birthdate": "1970", "active": "false",
	}
	queries := map[string]string{
		"Patient": chart.PatientID, "Appointment": chart.AppointmentID, "Encounter": chart.VisitID, "DocumentReference": chart.RecordID, "Communication": chart.InteractionID,
	}
	statement := FHIR(chart.Clinic, 200, "/fhir/metadata")
	types := statement["rest"].([]any)[0].(object)["resource"].([]any)
	require.Len(t, types, len(queries))
	declared := map[string]bool{}
	for _, each := range types {
		kind := each.(object)
		name := kind["type"].(string)
		var does []any
		for _, interaction := range kind["interaction"].([]any) {
			does = append(does, interaction.(object)["code"])
		}
		require.Equal(t, []any{"read", "search-type"}, does)
		require.Equal(t, queries[name], FHIR(chart.Clinic, 200, "/fhir/"+name+"/"+queries[name])["id"])
		require.NotEmpty(t, BundleIDs(FHIR(chart.Clinic, 200, "/fhir/"+name)))
		for _, param := range kind["searchParam"].([]any) {
			declared[param.(object)["name"].(string)] = true
			query := param.(object)["name"].(string) + "=" + url.QueryEscape(nothing[param.(object)["name"].(string)])
			for _, got := range []answer{
				chart.Call("GET", "/fhir/"+name+"?"+query, nil, "Prefer", "handling=strict"),
				chart.Call("POST", "/fhir/"+name+"/_search", query, "Content-Type", formType, "Prefer", "handling=strict"),
			} {
				require.Equal(t, 200, got.Status, "%s?%s: %s", name, query, got.Text)
				require.EqualValues(t, 0, got.Body["total"], "%s?%s", name, query)
				require.NotContains(t, got.Body, "entry")
			}
		}
		for param := range nothing { // of the other types
			if !strings.Contains(declaredParameters(kind), " "+param+" ") {
				require.Equal(t, 400, chart.Call("GET", "/fhir/"+name+"?"+param+"=x", nil, "Prefer", "handling=strict").Status, "%s?%s", name, param)
			}
		}
		operations, _ := kind["operation"].([]any)
		for _, operation := range operations {
			if operation.(object)["name"] == "export" { // TestExportIsDeclared
				continue
			}
			FHIR(chart.Clinic, 200, "/fhir/"+name+"/"+queries[name]+"/$"+operation.(object)["name"].(string))
			FHIR(chart.As(""), 200, strings.TrimPrefix(operation.(object)["definition"].(string), chart.Hub.Base))
		}
		require.Len(t, operations, map[string]int{"Patient": 2}[name])
		require.Equal(t, 404, chart.Call("GET", "/fhir/"+name+"/"+queries[name]+"/_history", nil).Status, "no history")
		require.Equal(t, 404, chart.Call("GET", "/fhir/"+name+"/"+queries[name]+"/$validate", nil).Status)
		require.Equal(t, 405, chart.Call("POST", "/fhir/"+name, object{}).Status, "no create")
		require.Equal(t, 405, chart.Call("DELETE", "/fhir/"+name+"/"+queries[name], nil).Status)
	}
	require.Len(t, declared, len(nothing))
}

// declaredParameters are the names of the parameters of a type, with spaces around each.
func declaredParameters(kind object) string {
	names := " "
	for _, param := range kind["searchParam"].([]any) {
		names += param.(object)["name"].(string) + " "
	}
	return names
}

// A connected product reads its own interactions by its key, and none of others. A key of no
// product reads none.
func TestFHIROwnCommunications(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	logged := map[string]string{}
	keys := map[string]*clinictest.Clinic{"messaging": chart.As(chart.ConnectPeer("messaging").Key), "scheduling": chart.As(chart.ConnectPeer("scheduling").Key), "": chart.NewKey()}
	for product, key := range keys {
		body := object{"patient_phone": "+5511987654321", "interaction_type": "call", "summary": "by " + product}
		if product == "" {
			body["source"] = "elsewhere"
		}
		logged[product] = key.OK(200, "POST", "/integrations/action/log-interaction", body)["interaction_id"].(string)
	}
	for product, key := range keys {
		want := []string{logged[product]}
		if product == "" {
			want = []string{}
		}
		require.Equal(t, want, BundleIDs(FHIR(key, 200, "/fhir/Communication")), product)
		require.Equal(t, want, BundleIDs(FHIR(key, 200, "/fhir/Communication?patient="+chart.PatientID)), product)
		require.Equal(t, want, BundleIDs(FHIR(key, 200, "/fhir/Patient/"+chart.PatientID+"/$everything?_type=Communication")), product)
		for other, id := range logged {
			status := 404
			if other == product && product != "" {
				status = 200
			}
			FHIR(key, status, "/fhir/Communication/"+id)
		}
	}
	require.Len(t, BundleIDs(FHIR(chart.Clinic, 200, "/fhir/Communication")), 4, "the clinic sees them all")
}

// Parameters that name a person are accepted in a body, and are in no address that the facade
// writes.
func TestFHIRSearchByForm(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	key := clinic.NewKey("patient.read")
	var all []string
	for range 3 {
		all = append(all, clinic.OK(201, "POST", "/patients", object{"name": "Zuleica Prado", "phone": "+5511987654321", "birth_date": "1980-03-02"})["id"].(string))
	}
	clinic.OK(200, "PUT", "/patients/"+all[0], object{"cpf": "529.982.247-25"})
	const form = "application/x-www-form-urlencoded"
	find := func(body string) object {
		got := key.Call("POST", "/fhir/Patient/_search", body, "Content-Type", form)
		require.Equal(t, 200, got.Status, got.Text)
		require.Equal(t, fhirType, got.Header.Get("Content-Type"))
		require.NoError(t, fhirtest.Validate([]byte(got.Text)), got.Text)
		return got.Body
	}
	require.Equal(t, all[:1], BundleIDs(find("identifier=529.982.247-25")))
	require.Equal(t, all, BundleIDs(find("phone=%2B5511987654321&name=zul")))
	require.Empty(t, BundleIDs(find("name=maria")))

	for _, first := range []object{
		find("phone=%2B5511987654321&name=zuleica&birthdate=1980-03-02&_count=1"),
		key.OK(200, "GET", "/fhir/Patient?telecom=%2B5511987654321&name=zuleica&birthdate=1980-03-02&_count=1", nil),
	} {
		seen, page := BundleIDs(first), first
		for range 5 {
			links := page["link"].([]any)
			for _, link := range links {
				address := link.(object)["url"].(string)
				for _, private := range []string{"987654321", "uleica", "1980-03", "telecom", "birthdate"} {
					require.NotContains(t, address, private)
				}
			}
			require.Equal(t, BundleIDs(page), BundleIDs(key.OK(200, "GET", strings.TrimPrefix(links[0].(object)["url"].(string), clinic.Hub.Base), nil)), "the link to itself leads to the same page")
			next := pageLink(page, "next")
			if next == "" {
				break
			}
			page = key.OK(200, "GET", strings.TrimPrefix(next, clinic.Hub.Base), nil)
			seen = append(seen, BundleIDs(page)...)
		}
		require.Equal(t, all, seen)
		// Another clinic, and the same one's test data, cannot read it.
		link := strings.TrimPrefix(first["link"].([]any)[1].(object)["url"].(string), clinic.Hub.Base)
		for _, other := range []*clinictest.Clinic{clinic.AnotherClinic(), clinic.InEnvironment("test")} {
			require.Equal(t, 400, other.Call("GET", link, nil).Status)
		}
		require.Equal(t, 400, key.Call("GET", link[:len(link)-4], nil).Status)
	}

	require.Equal(t, 415, key.Call("POST", "/fhir/Patient/_search", object{"phone": "x"}).Status)
	require.Equal(t, 415, key.Call("POST", "/fhir/Patient/_search", "phone=1", "Content-Type", form, "Content-Encoding", "gzip").Status)
	bad := key.Call("POST", "/fhir/Patient/_search", "phone=%zz", "Content-Type", form)
	require.Equal(t, 400, bad.Status)
	require.NoError(t, fhirtest.Validate([]byte(bad.Text)), bad.Text)
	require.Equal(t, 403, clinic.NewKey("record.read").Call("POST", "/fhir/Patient/_search", "phone=1187654321", "Content-Type", form).Status)
}

// FHIR searches with few results use an index.
func TestFHIRSearchesUseIndexes(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	db, err := pgx.Connect(t.Context(), clinic.Hub.DatabaseURL)
	require.NoError(t, err)
	defer func() { _ = db.Close(context.Background()) }()
	const many = 20000
	for _, sql := range []string{
		`insert into clinic.patients (clinic_id, env, id, name, birth_date, status, updated_at)
			select $1, 'live', gen_random_uuid(), 'Ana ' || n, date '1940-01-01' + n, case when n % 4000 = 0 then 'inactive' else 'active' end, now() - n * interval '1 minute' from generate_series(1, $2::int) n`,
		`insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, status, updated_at)
			select clinic_id, env, gen_random_uuid(), id, updated_at, case status when 'inactive' then 'no_show' else 'scheduled' end, updated_at from clinic.patients where clinic_id = $1 limit $2`,
		`insert into clinic.records (clinic_id, env, id, patient_id, date, type, updated_at) select clinic_id, env, gen_random_uuid(), id, birth_date, 'x', updated_at from clinic.patients where clinic_id = $1 limit $2`,
		`insert into clinic.interactions (clinic_id, env, id, patient_id, type, source, source_id, occurred_at, created_at)
			select clinic_id, env, gen_random_uuid(), id, 'x', 'x', id::text, updated_at, updated_at from clinic.patients where clinic_id = $1 limit $2`,
	} {
		_, err := db.Exec(t.Context(), sql, clinic.ID, many)
		require.NoError(t, err)
		_, err = db.Exec(t.Context(), `analyze clinic.patients, clinic.appointments, clinic.records, clinic.interactions`)
		require.NoError(t, err)
	}
	_, err = db.Exec(t.Context(), `select pg_stat_force_next_flush()`) // what filling them read is counted before the first search
	require.NoError(t, err)
	var scans, rows int
	read := func() {
		hubtest.FlushStatistics(t, clinic.Hub.Host.Pool)
		require.NoError(t, db.QueryRow(t.Context(), `select sum(idx_scan + seq_scan), sum(seq_tup_read + idx_tup_fetch) from pg_stat_user_tables
			where relid in ('clinic.patients'::regclass, 'clinic.appointments'::regclass, 'clinic.records'::regclass, 'clinic.interactions'::regclass)`).Scan(&scans, &rows))
	}
	const rounds = 12 // more often than PostgreSQL makes a plan of its own for each
	for query, few := range map[string]int{
		"Patient?birthdate=1950-01-01": 1, "Patient?birthdate=lt1900,gt2100": 0, "Patient?birthdate=1950-01-01,1951-01-01": 2, "Patient?_lastUpdated=gt2100": 0, "Patient?active=false": 5,
		"Patient?name:exact=Ana+77": 1, "Patient?family=19977": 1, "Patient?email=nobody@example.com": 0, "Patient?telecom=nobody@example.com,11987654321": 0, "Appointment?status=noshow&_sort=-date": 5, "Patient?name=19977,19978": 2, "Appointment?status=noshow": 5, "Appointment?status=cancelled": 0, "Appointment?_lastUpdated=gt2100": 0, "Appointment?date=1950": 0,
		"Encounter?status=finished": 0, "DocumentReference?_lastUpdated=gt2100": 0, "DocumentReference?date=1950-01-01": 1, "Communication?_lastUpdated=gt2100": 0, "Communication?sent=1950": 0,
	} {
		read()
		before, least := rows, scans+rounds
		for range rounds {
			require.EqualValues(t, few, clinic.OK(200, "GET", "/fhir/"+query, nil)["total"], query)
		}
		require.Eventually(t, func() bool { read(); return scans >= least }, clinictest.Timeout, clinictest.Tick, "%s: a connection is idle a moment after its answer", query)
		require.Less(t, rows-before, many/2, "rows that %d times %s read", rounds, query)
	}
}
