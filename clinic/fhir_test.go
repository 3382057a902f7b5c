package clinic_test

import (
	"encoding/base64"
	"encoding/csv"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/fhirtest"
)

const fhirType = "application/fhir+json"

// fhir asks the facade and holds the answer against HL7's schema.
func (p *practice) fhir(status int, path string) object {
	p.t.Helper()
	got := p.call("GET", path, nil)
	require.Equal(p.t, status, got.status, "%s: %s", path, got.text)
	require.Equal(p.t, fhirType, got.header.Get("Content-Type"), path)
	if got.body["resourceType"] != "CapabilityStatement" { // the schema is that of 4.0.0
		require.NoError(p.t, fhirtest.Validate([]byte(got.text)), "%s: %s", path, got.text)
	}
	if status >= 400 {
		require.Equal(p.t, "OperationOutcome", got.body["resourceType"], got.text)
	}
	return got.body
}

// ids are those of the resources in a bundle, in order.
func ids(bundle object) []string {
	list := []string{}
	entries, _ := bundle["entry"].([]any)
	for _, one := range entries {
		list = append(list, one.(object)["resource"].(object)["id"].(string))
	}
	return list
}

// chart is a patient with one of everything.
type chart struct {
	*practice
	patient, appointment, visit, cancelled, record, restricted, secret, payment, interaction string
}

func newChart(t *testing.T) *chart {
	t.Helper()
	c := &chart{practice: newPractice(t)}
	c.chart()
	return c
}

// chart makes the patient too.
func (c *chart) chart() {
	c.t.Helper()
	c.seen(c.ok(201, "POST", "/patients", object{
		"name": "Édson da Silva", "phone": "+5511987654321", "email": "edson@example.com", "cpf": cpf, "birth_date": "1980-03-02",
	})["id"].(string))
}

// seen gives a patient one of everything.
func (c *chart) seen(patient string) {
	c.t.Helper()
	add := func(path string, body object) string {
		c.t.Helper()
		return c.ok(201, "POST", "/patients/"+patient+path, body)["id"].(string)
	}
	c.patient = patient
	c.appointment = add("/appointments", object{"datetime": "2026-03-02T09:00:00-03:00", "service": "Consulta", "professional": "Dra. Lia"})
	c.visit = add("/appointments", object{"datetime": "2026-02-02T09:00:00-03:00", "service": "Retorno", "professional": "Dra. Lia", "status": "completed"})
	c.cancelled = add("/appointments", object{"datetime": "2026-01-02T09:00:00-03:00", "status": "cancelled"})
	c.record = add("/records", object{"date": "2026-02-02", "type": "evolution", "professional": "Dra. Lia", "content": "the whole story", "summary": "seen, all is well"})
	c.restricted = add("/records", object{"date": "2026-02-03", "type": "psychiatry", "professional": "Dr. Rui", "content": "a restricted story", "summary": "told to nobody", "sensitivity": "R"})
	c.secret = add("/records", object{"date": "2026-02-04", "type": "serology", "content": "a secret story", "summary": "not even that it is", "sensitivity": "V"})
	c.payment = add("/payments", object{"amount": 150.5, "description": "Consulta", "due_date": "2026-03-02"})
	c.interaction = add("/interactions", object{"interaction_type": "phone_call", "summary": "=HYPERLINK(1)", "occurred_at": "2026-02-05T10:00:00Z"})
}

func TestFHIRResources(t *testing.T) {
	t.Parallel()
	c := newChart(t)
	patient := c.fhir(200, "/fhir/Patient/"+c.patient)
	require.Equal(t, "Édson da Silva", patient["name"].([]any)[0].(object)["text"])
	require.NotContains(t, patient["identifier"].([]any)[0], "value")
	require.Equal(t, "Clínica Sol", patient["managingOrganization"].(object)["display"])

	require.Equal(t, "booked", c.fhir(200, "/fhir/Appointment/"+c.appointment)["status"])
	require.Equal(t, "2026-03-02T12:00:00.000Z", c.fhir(200, "/fhir/Appointment/"+c.appointment)["start"])
	require.Equal(t, "finished", c.fhir(200, "/fhir/Encounter/"+c.visit)["status"])
	c.fhir(404, "/fhir/Encounter/"+c.appointment) // it has not taken place
	for id, content := range map[string]string{c.record: "the whole story", c.restricted: "a restricted story", c.secret: "a secret story"} {
		document := c.fhir(200, "/fhir/DocumentReference/"+id)
		data := document["content"].([]any)[0].(object)["attachment"].(object)["data"].(string)
		raw, err := base64.StdEncoding.DecodeString(data)
		require.NoError(t, err)
		require.Equal(t, content, string(raw), "the clinic's own people read it")
	}
	require.Equal(t, "2026-02-02T03:00:00.000Z", c.fhir(200, "/fhir/DocumentReference/"+c.record)["date"], "midnight in São Paulo")
	communication := c.fhir(200, "/fhir/Communication/"+c.interaction)
	require.Equal(t, "=HYPERLINK(1)", communication["payload"].([]any)[0].(object)["contentString"])
	require.Equal(t, c.hub.Base+"/fhir/NamingSystem/clinic", communication["identifier"].([]any)[0].(object)["system"])

	statement := c.as("").fhir(200, "/fhir/metadata")
	require.Equal(t, "4.0.1", statement["fhirVersion"])
	require.Equal(t, c.hub.Base+"/fhir", statement["implementation"].(object)["url"])

	for _, missing := range []string{"/fhir/Patient/x", "/fhir/Patient/" + uuid.NewString(), "/fhir/Communication/" + c.record, "/fhir/Patient/x/$everything"} {
		got := c.fhir(404, missing)
		require.Equal(t, "not-found", got["issue"].([]any)[0].(object)["code"])
	}
	c.refused(404, "not_found", "GET", "/fhir/Observation", nil)
}

// Connected products see what they may: no content, nothing of restricted records
// but that they are there, nothing at all of very restricted ones.
func TestFHIROutside(t *testing.T) {
	t.Parallel()
	c := newChart(t)
	peer := &chart{practice: c.key("patient.read")}
	documents := peer.fhir(200, "/fhir/DocumentReference?patient="+c.patient)
	require.ElementsMatch(t, []string{c.record, c.restricted}, ids(documents))
	require.EqualValues(t, 2, documents["total"])
	peer.fhir(404, "/fhir/DocumentReference/"+c.secret)
	all := peer.call("GET", "/fhir/Patient/"+c.patient+"/$everything", nil)
	require.Equal(t, 200, all.status)
	require.NoError(t, fhirtest.Validate([]byte(all.text)))
	for _, text := range []string{all.text, peer.call("GET", "/fhir/DocumentReference?patient="+c.patient, nil).text} {
		for _, hidden := range []string{"psychiatry", "serology", "Dr. Rui", "story", "told to nobody", "not even", c.secret, "123456789", cpf, base64.StdEncoding.EncodeToString([]byte("the whole story"))} {
			require.NotContains(t, text, hidden)
		}
		require.Contains(t, text, base64.StdEncoding.EncodeToString([]byte("seen, all is well")))
		require.Contains(t, text, `"restricted"`)
	}
	require.Empty(t, ids(peer.fhir(200, "/fhir/Communication")), "the clinic's own notes are its own")

	// One scope for everything, or the resource's own.
	for scope, allowed := range map[string][]string{
		"patient.search": {}, "record.read": {"DocumentReference"}, "appointment.read": {"Appointment", "Encounter"},
		"patient.read": {"Patient", "Appointment", "Encounter", "DocumentReference", "Communication"},
	} {
		key := c.key(scope)
		for _, name := range []string{"Patient", "Appointment", "Encounter", "DocumentReference", "Communication"} {
			want := 403
			for _, one := range allowed {
				if one == name {
					want = 200
				}
			}
			key.fhir(want, "/fhir/"+name)
		}
	}
	require.Equal(t, 403, c.key("record.read").call("GET", "/fhir/Patient/"+c.patient+"/$everything", nil).status)
	require.Equal(t, 401, c.as("").call("GET", "/fhir/Patient", nil).status)
	require.Equal(t, 403, c.staff().call("GET", "/fhir/Patient", nil).status)
}

func TestFHIRSearch(t *testing.T) {
	t.Parallel()
	c := newChart(t)
	other := c.ok(201, "POST", "/patients", object{"name": "Silvana 100%", "phone": "+5521912345678", "birth_date": "1990-01-01", "status": "inactive"})["id"].(string)
	everybody := []string{c.patient, other}
	today := time.Now().UTC().Format(time.DateOnly)
	for query, want := range map[string][]string{
		"": everybody, "phone=%2B5511987654321": {c.patient}, "phone=+5511987654321": {c.patient}, "phone=1187654321": {c.patient}, "telecom=11987654321": {c.patient},
		"name=EDSON": {c.patient}, "name=silv": everybody, "name=da+sil": {c.patient}, "name=ilva": {}, "name=100%25": {other}, "name=%25": {},
		"identifier=12345678909": {c.patient}, "identifier=" + url.QueryEscape("urn:oid:2.16.840.1.113883.13.237|"+cpf): {c.patient},
		"identifier=urn:x|12345678909": {}, "identifier=52998224725": {}, "identifier=1": {},
		"_id=" + c.patient + "," + other: everybody, "_id=x": {}, "_id=" + c.visit: {},
		"birthdate=1980-03-02": {c.patient}, "birthdate=ge1985": {other}, "active=true": {c.patient}, "active=false": {other},
		"_lastUpdated=ge" + today: everybody, "_lastUpdated=lt2026-01-01": {}, "unknown=x": everybody, "phone=%2B5511987654321&name=silvana": {},
	} {
		got := c.fhir(200, "/fhir/Patient?"+query)
		require.Equal(t, want, ids(got), query)
		require.EqualValues(t, len(want), got["total"], query)
		require.NotContains(t, got["link"].([]any)[0].(object)["url"], "12345678909", "no tax id in an address")
	}
	for path, want := range map[string][]string{
		"Appointment":                                            {c.appointment, c.visit, c.cancelled},
		"Appointment?patient=" + c.patient:                       {c.appointment, c.visit, c.cancelled},
		"Appointment?patient=Patient/" + c.patient:               {c.appointment, c.visit, c.cancelled},
		"Appointment?patient=" + other:                           {},
		"Appointment?patient=x":                                  {},
		"Appointment?patient=" + c.patient + "&subject=" + other: {},
		"Appointment?status=booked,fulfilled":                    {c.appointment, c.visit},
		"Appointment?status=cancelled":                           {c.cancelled},
		"Appointment?status=arrived":                             {},
		"Appointment?date=2026-03-02":                            {c.appointment},
		"Appointment?date=ge2026-02-01&date=lt2026-03-01":        {c.visit},
		"Encounter":                           {c.visit},
		"Encounter?status=finished":           {c.visit},
		"Encounter?status=planned":            {},
		"Encounter?date=2026-03":              {},
		"DocumentReference":                   {c.record, c.restricted, c.secret},
		"DocumentReference?date=2026-02-03":   {c.restricted},
		"DocumentReference?date=gt2026-02-02": {c.restricted, c.secret},
		"DocumentReference?status=current":    {c.record, c.restricted, c.secret},
		"DocumentReference?status=superseded": {},
		"Communication?sent=2026-02-05":       {c.interaction},
		"Communication?date=2026-02-06":       {},
		"Communication?status=completed":      {c.interaction},
	} {
		require.Equal(t, want, ids(c.fhir(200, "/fhir/"+path)), path)
	}
	for _, bad := range []string{"Patient?_count=x", "Patient?_count=-1", "Patient?phone=abc", "Patient?active=maybe", "Patient?birthdate=x", "Patient?_lastUpdated=ne2026", "Appointment?date=02/03/2026", "Appointment?_after=x"} {
		got := c.fhir(400, "/fhir/"+bad)
		require.Equal(t, "invalid", got["issue"].([]any)[0].(object)["code"], bad)
	}

	// Pages lead to each other.
	next, seen := "/fhir/Appointment?_count=2&patient="+c.patient, []string{}
	for next != "" {
		page := c.fhir(200, next)
		seen = append(seen, ids(page)...)
		require.EqualValues(t, 3, page["total"])
		next = ""
		for _, link := range page["link"].([]any) {
			if link.(object)["relation"] == "next" {
				next = strings.TrimPrefix(link.(object)["url"].(string), c.hub.Base)
			}
		}
	}
	require.Equal(t, []string{c.appointment, c.visit, c.cancelled}, seen)
	counted := c.fhir(200, "/fhir/Appointment?_count=0")
	require.EqualValues(t, 3, counted["total"])
	require.NotContains(t, counted, "entry")
	require.Len(t, c.fhir(200, "/fhir/Appointment?_count=3")["link"], 1, "no next page without anything on it")
}

// Everything a clinic's own administrator and a connected product take along.
func TestEverything(t *testing.T) {
	t.Parallel()
	c := newChart(t)
	bundle := c.fhir(200, "/fhir/Patient/"+c.patient+"/$everything")
	require.Equal(t, "searchset", bundle["type"])
	require.Equal(t, []string{c.patient, c.appointment, c.visit, c.cancelled, c.visit, c.record, c.restricted, c.secret, c.interaction}, ids(bundle))
	require.EqualValues(t, 9, bundle["total"])
	require.Equal(t, c.hub.Base+"/fhir/Patient/"+c.patient, bundle["entry"].([]any)[0].(object)["fullUrl"])
	require.Equal(t, 1, c.count(`select count(*) from hub.audit where tenant_id = $1 and action = 'fhir.everything' and resource_id = $2`, c.patient))

	export := c.get("/patients/" + c.patient + "/export")
	for kind, want := range map[string][]string{
		"records": {c.record, c.restricted, c.secret}, "appointments": {c.appointment, c.visit, c.cancelled}, "payments": {c.payment}, "interactions": {c.interaction},
	} {
		var got []string
		for _, one := range export[kind].([]any) {
			got = append(got, one.(object)["id"].(string))
		}
		require.Equal(t, want, got, kind)
	}
	require.Equal(t, "the whole story", export["records"].([]any)[0].(object)["content"])
	require.Equal(t, "***.***.***-09", export["patient"].(object)["cpf"])
	require.Equal(t, "Clínica Sol", export["clinic"].(object)["name"])
	require.Equal(t, 1, c.count(`select count(*) from hub.audit where tenant_id = $1 and action = 'patients.export' and resource_id = $2`, c.patient))

	got := c.call("GET", "/patients/"+c.patient+"/export?format=fhir", nil)
	require.Equal(t, fhirType, got.header.Get("Content-Type"))
	require.NoError(t, fhirtest.Validate([]byte(got.text)))
	require.Equal(t, ids(bundle), ids(got.body))

	got = c.call("GET", "/patients/"+c.patient+"/export?format=csv", nil)
	require.Equal(t, "text/csv; charset=utf-8", got.header.Get("Content-Type"))
	require.Equal(t, `attachment; filename="patient-`+c.patient+`.csv"`, got.header.Get("Content-Disposition"))
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(got.text, "\ufeff"))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 10)
	for _, row := range rows {
		for _, cell := range row {
			require.False(t, cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])), cell)
		}
	}
	require.Contains(t, got.text, "'=HYPERLINK(1)")
	require.Contains(t, got.text, "'+5511987654321")

	// The whole tax id, where the clinic allows it.
	c.refused(403, "reveal_forbidden", "GET", "/patients/"+c.patient+"/export?reveal=cpf", nil)
	c.ok(200, "PUT", "/clinic", object{"reveal_cpf": true})
	require.Equal(t, cpf, c.get("/patients/" + c.patient + "/export?reveal=cpf")["patient"].(object)["cpf"])

	c.refused(404, "not_found", "GET", "/patients/"+uuid.NewString()+"/export", nil)
	require.Equal(t, 403, c.staff().call("GET", "/patients/"+c.patient+"/export", nil).status)
	require.Equal(t, 401, c.key().call("GET", "/patients/"+c.patient+"/export", nil).status)
}

// Another clinic's ids, and those of test data, are not there.
func TestFHIRTenancy(t *testing.T) {
	t.Parallel()
	c := newChart(t)
	stranger := c.another()
	for _, who := range []*practice{stranger, stranger.key(), c.on("test")} {
		for path, id := range map[string]string{
			"Patient/": c.patient, "Appointment/": c.appointment, "Encounter/": c.visit, "DocumentReference/": c.record, "Communication/": c.interaction,
		} {
			who.fhir(404, "/fhir/"+path+id)
			require.Empty(t, ids(who.fhir(200, "/fhir/"+strings.TrimSuffix(path, "/"))), path)
			require.Empty(t, ids(who.fhir(200, "/fhir/"+strings.TrimSuffix(path, "/")+"?_id="+id)), path)
		}
		who.fhir(404, "/fhir/Patient/"+c.patient+"/$everything")
		for _, name := range []string{"Appointment", "Encounter", "DocumentReference", "Communication"} {
			require.Empty(t, ids(who.fhir(200, "/fhir/"+name+"?patient="+c.patient)), name)
		}
	}
	require.Equal(t, http.StatusNotFound, stranger.call("GET", "/patients/"+c.patient+"/export", nil).status)
}

// The facade is for reading: nothing is written, changed or deleted through it.
func TestFHIRIsReadOnly(t *testing.T) {
	t.Parallel()
	c := newChart(t)
	before, key := c.snapshot(), c.key()
	for _, name := range []string{
		"Patient", "Patient/" + c.patient, "Patient/" + c.patient + "/$everything", "Appointment", "Appointment/" + c.appointment, "Encounter", "Encounter/" + c.visit,
		"DocumentReference", "DocumentReference/" + c.record, "Communication", "Communication/" + c.interaction, "metadata",
	} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			for who, as := range map[string]*practice{"administrator": c.practice, "key": key} {
				got := as.call(method, "/fhir/"+name, `{"resourceType":"Patient","name":[{"text":"X"}]}`, "Content-Type", fhirType)
				require.Equal(t, 405, got.status, "%s %s by %s: %s", method, name, who, got.text)
				require.Contains(t, got.header.Get("Allow"), "GET", "%s %s", method, name)
			}
		}
	}
	require.Equal(t, before, c.snapshot())
}
