package clinic_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/fhirtest"
)

const formType = "application/x-www-form-urlencoded"

// issue is what an answer says is wrong.
func issue(t *testing.T, outcome object) (code, expression string) {
	t.Helper()
	one := outcome["issue"].([]any)[0].(object)
	if list, ok := one["expression"].([]any); ok {
		expression = list[0].(string)
	}
	return one["code"].(string), expression
}

// selfOf is the query of a bundle's link to itself: what the search was answered by.
func selfOf(t *testing.T, bundle object) string {
	t.Helper()
	address, err := url.Parse(bundle["link"].([]any)[0].(object)["url"].(string))
	require.NoError(t, err)
	return address.Query().Encode()
}

// family is a clinic with two patients, of whom each has an appointment.
func family(t *testing.T) (c *chart, other, theirs string) {
	t.Helper()
	c = newChart(t)
	other = c.ok(201, "POST", "/patients", object{"name": "Silvana 100%", "phone": "+5521912345678", "cpf": "529.982.247-25", "birth_date": "1990-01-01", "status": "inactive"})["id"].(string)
	theirs = c.ok(201, "POST", "/patients/"+other+"/appointments", object{"datetime": "2026-03-04T09:00:00-03:00", "service": "Consulta"})["id"].(string)
	return c, other, theirs
}

// A modifier changes what a parameter means: one that is not supported is refused, never
// passed over.
func TestFHIRModifiers(t *testing.T) {
	t.Parallel()
	c, other, theirs := family(t)
	for _, query := range []string{
		"Appointment?patient:Group=" + other, "Appointment?patient:missing=true", "Appointment?status:not=booked", "Appointment?patient:Patient.name=x", "Appointment?_id:not=x",
		"Patient?name:contains=ilva", "Patient?identifier:not=52998224725", "Patient?active:not=true", "Patient?birthdate:missing=true", "Patient?foo:bar=x", "Patient?name:=x",
		"Patient?_has:Appointment:patient:date=2026", "DocumentReference?date:missing=true", "Communication?sent:missing=false", "Encounter?subject:identifier=x",
	} {
		got := c.fhir(400, "/fhir/"+query)
		code, expression := issue(t, got)
		require.Equal(t, "not-supported", code, query)
		name, _, _ := strings.Cut(strings.SplitN(query, "?", 2)[1], "=")
		require.Equal(t, "http."+name, expression)
		if strings.HasPrefix(query, "Patient") {
			require.Contains(t, got["issue"].([]any)[0].(object)["diagnostics"], "name:exact", "it says which there are")
		}
	}
	for query, want := range map[string][]string{
		"Appointment?patient:Patient=" + other: {theirs}, "Appointment?subject:Patient=Patient/" + other: {theirs}, "Appointment?patient:Patient=x": {},
		"Patient?name:exact=Silvana+100%25": {other}, "Patient?name:exact=silvana+100%25": {}, "Patient?name:exact=Silvana": {}, "Patient?name:exact=x,%C3%89dson+da+Silva": {c.patient},
		"Patient?name:exact=Edson+da+Silva": {},
	} {
		require.Equal(t, want, ids(c.fhir(200, "/fhir/"+query)), query)
	}
}

// What nobody knows does not count, and the answer says what did; who wants it handled
// strictly is refused.
func TestFHIRUnknownParameters(t *testing.T) {
	t.Parallel()
	c, other, theirs := family(t)
	for _, query := range []string{"email=a@b.example", "family=x", "gender=female", "general-practitioner.name=x", "_sort=name", "_include=Patient:organization", "phone2="} {
		got := c.fhir(200, "/fhir/Patient?active=false&"+query)
		require.Equal(t, []string{other}, ids(got))
		require.Equal(t, "active=false", selfOf(t, got), "it did not count")
		for _, prefer := range []string{"handling=strict", `return=minimal; Handling="strict"`, "respond-async, handling=strict"} {
			got := c.call("GET", "/fhir/Patient?active=false&"+query, nil, "Prefer", prefer)
			if query == "phone2=" {
				require.Equal(t, 200, got.status, "what has no value is not there")
				continue
			}
			require.Equal(t, 400, got.status, query)
			require.NoError(t, fhirtest.Validate([]byte(got.text)), got.text)
			code, expression := issue(t, got.body)
			require.Equal(t, "not-supported", code)
			name, _, _ := strings.Cut(query, "=")
			require.Equal(t, "http."+name, expression)
		}
	}
	require.Equal(t, 200, c.call("GET", "/fhir/Appointment?_format=json&_pretty=true&_count=1&patient="+other, nil, "Prefer", "handling=strict").status)
	require.Equal(t, 200, c.call("GET", "/fhir/Appointment?sent=2026", nil, "Prefer", "handling=lenient").status)
	require.Equal(t, 400, c.call("GET", "/fhir/Appointment?sent=2026", nil, "Prefer", "handling=strict").status, "that is Communication's")
	got := c.call("POST", "/fhir/Appointment/_search?date=2026-03", "patient="+other+"&foo=x", "Content-Type", formType)
	require.Equal(t, []string{theirs}, ids(got.body))
	require.Equal(t, 400, c.call("POST", "/fhir/Appointment/_search", "patient="+other+"&foo=x", "Content-Type", formType, "Prefer", "handling=strict").status)
	require.Equal(t, 400, c.call("POST", "/fhir/Appointment/_search?patient:Group=x", "patient="+other, "Content-Type", formType).status)
}

// Parameters that are given several times hold at once; of values with commas between
// them one is enough.
func TestFHIRSeveralValues(t *testing.T) {
	t.Parallel()
	c, other, theirs := family(t)
	_, err := c.hub.Host.Pool.Exec(t.Context(), `insert into clinic.linked_phones (clinic_id, env, phone_key, patient_id) values ($1, 'live', '+552187650000', $2)`, c.id, uuid.MustParse(c.patient))
	require.NoError(t, err)
	hers := []string{c.appointment, c.visit, c.cancelled}
	all := append(append([]string{}, hers...), theirs)
	const cpfSystem = "urn:oid:2.16.840.1.113883.13.237|"
	for query, want := range map[string][]string{
		"Appointment?patient=" + c.patient + "," + other:                                                 all,
		"Appointment?patient=x," + other:                                                                 {theirs},
		"Appointment?patient=" + c.patient + "&patient=" + other:                                         {},
		"Appointment?patient=" + other + "&patient:Patient=" + other:                                     {theirs},
		"Appointment?patient=" + c.patient + "," + other + "&subject=" + other:                           {theirs},
		"Appointment?status=booked&status=fulfilled":                                                     {},
		"Appointment?status=booked,fulfilled&status=fulfilled":                                           {c.visit},
		"Appointment?status=,cancelled":                                                                  {c.cancelled},
		"Appointment?status=" + url.QueryEscape("http://hl7.org/fhir/appointmentstatus|cancelled"):       {c.cancelled},
		"Appointment?status=" + url.QueryEscape("http://hl7.org/fhir/appointmentstatus|"):                all,
		"Appointment?status=" + url.QueryEscape("urn:x|cancelled"):                                       {},
		"Appointment?status=" + url.QueryEscape("urn:x|"):                                                {},
		"Appointment?date=2026-01,2026-02":                                                               {c.visit, c.cancelled},
		"Appointment?date=2026-01,2026-02&date=ge2026-01-15":                                             {c.visit},
		"Appointment?_lastUpdated=lt2000,gt2020":                                                         all,
		"Encounter?status=finished&status=planned":                                                       {},
		"Encounter?status=planned,finished":                                                              {c.visit},
		"DocumentReference?date=2026-02-02,2026-02-04":                                                   {c.record, c.secret},
		"Communication?sent=2026-02-05&date=2026-02-05":                                                  {c.interaction},
		"Communication?sent=2026-02-05&date=2026-02-06":                                                  {},
		"Patient?_id=" + c.patient + "&_id=" + other:                                                     {},
		"Patient?_id=" + c.patient + "," + other + "&_id=" + other:                                       {other},
		"Patient?phone=11987654321,21912345678":                                                          {c.patient, other},
		"Patient?phone=11987654321&phone=21912345678":                                                    {},
		"Patient?phone=11987654321&phone=2187650000":                                                     {c.patient}, // has both
		"Patient?phone=11987654321&telecom=21912345678":                                                  {},
		"Patient?phone=11987654321&telecom=2187650000":                                                   {c.patient},
		"Patient?telecom=" + url.QueryEscape("phone|+5511987654321"):                                     {c.patient},
		"Patient?phone=" + url.QueryEscape("phone|+5511987654321"):                                       {c.patient},
		"Patient?phone=" + url.QueryEscape("fax|+5511987654321"):                                         {},
		"Patient?name=edson,silvana":                                                                     {c.patient, other},
		"Patient?name=silv&name=edson":                                                                   {c.patient},
		"Patient?name=edson&name=silvana":                                                                {},
		`Patient?name=edson%5C,silvana`:                                                                  {}, // an escaped comma is a part of the name
		"Patient?identifier=12345678909,52998224725":                                                     {c.patient, other},
		"Patient?identifier=12345678909&identifier=52998224725":                                          {},
		"Patient?identifier=" + url.QueryEscape("urn:x|1,"+cpfSystem+"52998224725"):                      {other},
		"Patient?identifier=" + url.QueryEscape("|52998224725"):                                          {}, // none without a system
		"Patient?birthdate=1980-03-02,1990":                                                              {c.patient, other},
		"Patient?birthdate=ge1980&birthdate=lt1985":                                                      {c.patient},
		"Patient?active=true,false":                                                                      {c.patient, other},
		"Patient?active=true&active=false":                                                               {},
		"Patient?active=" + url.QueryEscape("http://terminology.hl7.org/CodeSystem/special-values|true"): {c.patient},
		"Patient?active=" + url.QueryEscape("|false"):                                                    {other},
		"Patient?active=" + url.QueryEscape("urn:x|true"):                                                {},
	} {
		got := c.fhir(200, "/fhir/"+query)
		require.ElementsMatch(t, want, ids(got), query)
		require.EqualValues(t, len(want), got["total"], query)
	}
	for query, name := range map[string]string{
		"Patient?phone=11987654321,x": "phone", "Patient?phone=11987654321,": "phone", "Patient?telecom=" + url.QueryEscape("email|a@b.example"): "telecom",
		"Patient?identifier=" + url.QueryEscape(cpfSystem): "identifier", "Patient?active=true,x": "active", "Patient?birthdate=1980,x": "birthdate",
		"Patient?birthdate=1980-03-02T10:00:00Z": "birthdate", "Patient?_count=1&_count=2": "_count", "Patient?_summary=true": "_summary",
		"Appointment?date=2026-01,ne2026-02": "date", "Appointment?_page=x": "_page", "Patient?_page=x&name=y": "_page", "Patient?name=%00": "name",
		"Appointment?" + strings.Repeat("status=booked&", 11): "status", "Appointment?status=" + strings.Repeat("booked,", 200): "status",
	} {
		_, expression := issue(t, c.fhir(400, "/fhir/"+query))
		require.Equal(t, "http."+name, expression, query)
	}
	c.fhir(400, "/fhir/Patient?name=%zz")
}

// Who only wants the number gets that, and who wants another form is told so.
func TestFHIRForms(t *testing.T) {
	t.Parallel()
	c := newChart(t)
	for _, query := range []string{"_summary=count", "_summary=count&_count=1", "_count=0"} {
		got := c.fhir(200, "/fhir/Appointment?"+query)
		require.EqualValues(t, 3, got["total"])
		require.NotContains(t, got, "entry")
	}
	require.Len(t, ids(c.fhir(200, "/fhir/Appointment?_summary=false")), 3)
	require.Equal(t, "_count=200", selfOf(t, c.fhir(200, "/fhir/Appointment?_count=5000")), "what was done, not what was asked")
	key := c.key("patient.read")
	for _, path := range []string{
		"metadata", "OperationDefinition/Patient-everything", "Patient", "Patient/" + c.patient, "Patient/" + c.patient + "/$everything", "Appointment?patient=" + c.patient, "Appointment/" + c.appointment,
	} {
		for accept, want := range map[string]int{
			"application/fhir+xml": 406, "text/html, application/xml;q=0.9": 406, "application/json;q=0": 406, "x": 406, "application/fhir+json; fhirVersion=4.0": 200,
			"text/html, */*;q=0.1": 200, "application/json": 200, "": 200,
		} {
			got := key.call("GET", "/fhir/"+path, nil, "Accept", accept)
			require.Equal(t, want, got.status, "%s as %s: %s", path, accept, got.text)
			require.Equal(t, fhirType, got.header.Get("Content-Type"))
			if want == 406 {
				require.NoError(t, fhirtest.Validate([]byte(got.text)), got.text)
				code, _ := issue(t, got.body)
				require.Equal(t, "not-supported", code)
				require.NotContains(t, got.text, "dson")
			}
		}
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		for format, want := range map[string]int{"xml": 406, "application/fhir%2Bxml": 406, "json": 200, "application/fhir+json": 200, "application/json": 200} {
			require.Equal(t, want, key.call("GET", "/fhir/"+path+join+"_format="+format, nil, "Accept", "application/fhir+xml").status, "%s as %s", path, format)
		}
	}
	require.Equal(t, 406, key.call("POST", "/fhir/Patient/_search", "_format=xml", "Content-Type", formType).status)
	require.Equal(t, 200, key.call("POST", "/fhir/Patient/_search", "_format=json", "Content-Type", formType, "Accept", "text/html").status)
}

// A record is found by the instant that the facade shows of it, wherever the clinic is.
func TestFHIRDaysOfDocuments(t *testing.T) {
	t.Parallel()
	c := newChart(t)
	for _, zone := range []string{"America/Sao_Paulo", "Pacific/Kiritimati", "Pacific/Niue"} {
		c.ok(200, "PUT", "/clinic", object{"timezone": zone})
		shown := c.fhir(200, "/fhir/DocumentReference/"+c.restricted)["date"].(string)
		day := shown[:len("2026-02-03")]
		if zone == "America/Sao_Paulo" {
			require.Equal(t, "2026-02-03T03:00:00.000Z", shown)
		}
		for value, want := range map[string][]string{
			shown: {c.restricted}, "le" + shown: {c.record, c.restricted}, "gt" + shown: {c.secret}, "lt" + shown: {c.record}, "2026-02-03": {c.restricted},
			"lt" + day + "T23:59:59Z": {c.record, c.restricted}, "ge" + day + "T23:59:59Z": {c.secret}, "gt" + day + "T23:30:00Z": {c.secret},
		} {
			require.Equal(t, want, ids(c.fhir(200, "/fhir/DocumentReference?date="+value)), "%s in %s", value, zone)
		}
	}
}

// Everything that is declared answers, and what is not does not.
func TestFHIRCapabilities(t *testing.T) {
	t.Parallel()
	c := newChart(t)
	nothing := map[string]string{
		"_id": uuid.NewString(), "_lastUpdated": "lt1970", "patient": uuid.NewString(), "subject": uuid.NewString(), "date": "1970", "sent": "1970", "status": "entered-in-error",
		"phone": "+5531900000000", "telecom": "+5531900000000", "name": "Zuleica", "identifier": "70948140038", "birthdate": "1970", "active": "false",
	}
	one := map[string]string{
		"Patient": c.patient, "Appointment": c.appointment, "Encounter": c.visit, "DocumentReference": c.record, "Communication": c.interaction,
	}
	statement := c.fhir(200, "/fhir/metadata")
	types := statement["rest"].([]any)[0].(object)["resource"].([]any)
	require.Len(t, types, len(one))
	declared := map[string]bool{}
	for _, each := range types {
		kind := each.(object)
		name := kind["type"].(string)
		var does []any
		for _, interaction := range kind["interaction"].([]any) {
			does = append(does, interaction.(object)["code"])
		}
		require.Equal(t, []any{"read", "search-type"}, does)
		require.Equal(t, one[name], c.fhir(200, "/fhir/"+name+"/"+one[name])["id"])
		require.NotEmpty(t, ids(c.fhir(200, "/fhir/"+name)))
		for _, param := range kind["searchParam"].([]any) {
			declared[param.(object)["name"].(string)] = true
			query := param.(object)["name"].(string) + "=" + url.QueryEscape(nothing[param.(object)["name"].(string)])
			for _, got := range []answer{
				c.call("GET", "/fhir/"+name+"?"+query, nil, "Prefer", "handling=strict"),
				c.call("POST", "/fhir/"+name+"/_search", query, "Content-Type", formType, "Prefer", "handling=strict"),
			} {
				require.Equal(t, 200, got.status, "%s?%s: %s", name, query, got.text)
				require.EqualValues(t, 0, got.body["total"], "%s?%s", name, query)
				require.NotContains(t, got.body, "entry")
			}
		}
		for param := range nothing { // of the other types
			if !strings.Contains(declaredBy(kind), " "+param+" ") {
				require.Equal(t, 400, c.call("GET", "/fhir/"+name+"?"+param+"=x", nil, "Prefer", "handling=strict").status, "%s?%s", name, param)
			}
		}
		operations, _ := kind["operation"].([]any)
		for _, operation := range operations {
			c.fhir(200, "/fhir/"+name+"/"+one[name]+"/$"+operation.(object)["name"].(string))
			c.as("").fhir(200, strings.TrimPrefix(operation.(object)["definition"].(string), c.hub.Base))
		}
		require.Equal(t, name == "Patient", len(operations) == 1)
		require.Equal(t, 404, c.call("GET", "/fhir/"+name+"/"+one[name]+"/_history", nil).status, "no history")
		require.Equal(t, 404, c.call("GET", "/fhir/"+name+"/"+one[name]+"/$validate", nil).status)
		require.Equal(t, 405, c.call("POST", "/fhir/"+name, object{}).status, "no create")
		require.Equal(t, 405, c.call("DELETE", "/fhir/"+name+"/"+one[name], nil).status)
	}
	require.Len(t, declared, len(nothing))
}

// declaredBy are the names of the parameters of a type, with spaces around each.
func declaredBy(kind object) string {
	names := " "
	for _, param := range kind["searchParam"].([]any) {
		names += param.(object)["name"].(string) + " "
	}
	return names
}

// A connected product reads back what it did with a patient, by the key it got, and nothing
// of what others did; a key of no product's reads nothing of it.
func TestFHIROwnCommunications(t *testing.T) {
	t.Parallel()
	c := newChart(t)
	logged := map[string]string{}
	keys := map[string]*practice{"messaging": c.as(c.connect("messaging").key), "scheduling": c.as(c.connect("scheduling").key), "": c.key()}
	for product, key := range keys {
		body := object{"patient_phone": "+5511987654321", "interaction_type": "call", "summary": "by " + product}
		if product == "" {
			body["source"] = "elsewhere"
		}
		logged[product] = key.ok(200, "POST", "/integrations/action/log-interaction", body)["interaction_id"].(string)
	}
	for product, key := range keys {
		want := []string{logged[product]}
		if product == "" {
			want = []string{}
		}
		require.Equal(t, want, ids(key.fhir(200, "/fhir/Communication")), product)
		require.Equal(t, want, ids(key.fhir(200, "/fhir/Communication?patient="+c.patient)), product)
		require.Equal(t, want, ids(key.fhir(200, "/fhir/Patient/"+c.patient+"/$everything?_type=Communication")), product)
		for other, id := range logged {
			status := 404
			if other == product && product != "" {
				status = 200
			}
			key.fhir(status, "/fhir/Communication/"+id)
		}
	}
	require.Len(t, ids(c.fhir(200, "/fhir/Communication")), 4, "the clinic sees them all")
}

// $everything gives as much as it is asked for, and refuses what it cannot do.
func TestEverythingOfSome(t *testing.T) {
	t.Parallel()
	c := newChart(t)
	path := "/fhir/Patient/" + c.patient + "/$everything"
	for query, want := range map[string][]string{
		"_type=Patient": {c.patient}, "_type=Encounter,Communication": {c.visit, c.interaction}, "_type=Patient&_type=Encounter": {c.patient, c.visit}, "_type=Observation": {},
		"start=2026-02-03": {c.patient, c.appointment, c.restricted, c.secret, c.interaction},
		"end=2026-02-02":   {c.patient, c.visit, c.cancelled, c.visit, c.record},
		"start=2026-02&end=2026-02&_type=Appointment,DocumentReference":               {c.visit, c.record, c.restricted, c.secret},
		"start=2026-02-03T03:00:00Z&end=2026-02-03T03:00:00Z&_type=DocumentReference": {c.restricted},
		"_format=json&start=&_pretty=true&_type=Communication":                        {c.interaction},
	} {
		got := c.fhir(200, path+"?"+query)
		require.Equal(t, want, ids(got), query)
		require.EqualValues(t, len(want), got["total"], query)
	}
	require.Equal(t, "_type=Patient&start=2026", selfOf(t, c.fhir(200, path+"?start=2026&_pretty=true&_type=Patient")))
	for query, code := range map[string]string{"_count=1": "not-supported", "_since=2026-01-01T00:00:00Z": "not-supported", "foo=1": "not-supported", "start=x": "invalid", "end=2026&end=2027": "invalid"} {
		got, expression := issue(t, c.fhir(400, path+"?"+query))
		require.Equal(t, code, got, query)
		require.Equal(t, "http."+strings.SplitN(query, "=", 2)[0], expression)
	}
}
