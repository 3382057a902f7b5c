package clinic_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// field is a text that an operation's body can have.
type field struct {
	operation, method, path, name string
}

// texts are the texts of all JSON bodies that the document describes.
func (p *practice) texts() (list []field) {
	t := p.t
	t.Helper()
	res, err := http.Get(p.hub.Base + "/openapi.json")
	require.NoError(t, err)
	defer res.Body.Close()
	type schema struct {
		Ref        string          `json:"$ref"`
		Type       json.RawMessage `json:"type"`
		Format     string          `json:"format"`
		Properties map[string]schema
	}
	var document struct {
		Components struct{ Schemas map[string]schema }
		Paths      map[string]map[string]struct {
			OperationID string `json:"operationId"`
			RequestBody *struct {
				Content map[string]struct{ Schema schema }
			} `json:"requestBody"`
		}
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&document))
	for path, methods := range document.Paths {
		for method, op := range methods {
			if op.RequestBody == nil {
				continue
			}
			body := op.RequestBody.Content["application/json"].Schema
			if name, ok := strings.CutPrefix(body.Ref, "#/components/schemas/"); ok {
				body = document.Components.Schemas[name]
			}
			for name, property := range body.Properties {
				if strings.Contains(string(property.Type), `"string"`) {
					list = append(list, field{op.OperationID, strings.ToUpper(method), path, name})
				}
			}
		}
	}
	require.Greater(t, len(list), 30)
	return list
}

// goodBodies are bodies with what each operation of the clinic's needs, by its id.
func goodBodies() map[string]object {
	return map[string]object{
		"patients.create": {"name": "X"}, "records.create": {"date": "2026-03-02", "type": "x"}, "appointments.create": {"datetime": "2026-03-02T09:00:00Z"},
		"payments.create": {"amount": 1, "due_date": "2026-03-02", "status": "paid"}, "payments.pay": {}, "interactions.create": {"interaction_type": "call", "summary": "x"},
		"professionals.create": {"name": "X"}, "clinic.update": {}, "users.create": {"name": "X", "email": "x@example.com", "password": password},
		"integrations.log-interaction": {"patient_phone": phone, "interaction_type": "call", "source": "x"},
		"auth.register":                {"clinic_name": "X", "name": "X", "email": "y@example.com", "password": password},
	}
}

// A tax id that somebody types into any field there is stands nowhere but where it is
// encrypted: not in a column, an event, a log or an answer. Addresses are as they are: who
// has a tax id in one wants letters there.
func TestTaxIDsInEveryField(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ok(200, "PUT", "/clinic", object{"reveal_cpf": false})
	ids := f.owned()
	ids["{product}"] = "messaging"
	canaries := []string{"709.481.400-38", "70948140038"}
	good := goodBodies()
	// What a tax id or a secret belongs into, and addresses.
	apart := map[string]bool{"cpf": true, "password": true, "new_password": true, "email": true, "refresh_token": true, "token": true}
	ours := map[string]bool{} // what the hub has under every product has its tests there
	for _, op := range f.operations() {
		ours[op.id] = true
	}
	key, stored := f.key(), map[string]bool{}
	for n, one := range f.texts() {
		if apart[one.name] || !ours[one.operation] || strings.HasPrefix(one.operation, "auth.") && one.operation != "auth.register" {
			continue
		}
		body := object{}
		for name, value := range good[one.operation] {
			body[name] = value
		}
		if body["email"] != nil {
			body["email"] = strings.Replace(body["email"].(string), "@", string(rune('a'+n%26))+string(rune('a'+n/26))+"@", 1)
		}
		body[one.name] = "a 101 " + canaries[n%2] + " z"
		if one.name == "url" {
			body[one.name] = "https://x.example/101/" + canaries[n%2]
		}
		who := f.practice
		if one.operation == "integrations.log-interaction" {
			who = key
		}
		path := strings.ReplaceAll(strings.ReplaceAll(one.path, "{id}", kindOf(one.path)), "{product}", "messaging")
		got := who.call(one.method, fill(path, ids), body)
		require.Less(t, got.status, 500, "%v: %s", one, got.text)
		for _, canary := range canaries {
			if one.name != "content" { // which users of the clinic read
				require.NotContains(t, got.text, canary, "%v", one)
			}
		}
		if got.status < 300 {
			stored[one.operation+" "+one.name] = true
		}
	}
	for _, one := range []string{
		"patients.create name", "patients.update name", "records.create type", "records.create professional", "records.create summary", "records.create content",
		"appointments.create service", "appointments.create professional", "appointments.create reason", "appointments.update reason", "payments.create description",
		"payments.create method", "interactions.create summary", "integrations.log-interaction summary", "integrations.log-interaction source_id",
		"professionals.create name", "professionals.create specialty", "professionals.create register", "users.create name", "clinic.update name",
		"deletions.acknowledge note", "auth.register name", "auth.register clinic_name",
	} {
		require.True(t, stored[one], "%s: not tried with success: %v", one, stored)
	}
	counts(t, f.imported("csv", "external_id;nome;telefone\n709.481.400-38;Gil 70948140038;11 98888-7777\n"), 1, 0, 0, 0)
	counts(t, f.imported("csv", "external_id;nome;telefone\n709.481.400-38;Gil 70948140038;11 98888-7777\n"), 0, 0, 1, 0)

	for _, path := range []string{
		"/integrations/search/records?patient_id=" + f.patient, "/integrations/search/appointments?patient_id=" + f.patient, "/integrations/search/patients?phone=%2B5511987654321",
		"/fhir/Patient", "/fhir/Appointment", "/fhir/Encounter", "/fhir/DocumentReference", "/fhir/Communication",
	} {
		got := key.call("GET", path, nil)
		require.Equal(t, 200, got.status, got.text)
		for _, canary := range canaries {
			require.NotContains(t, got.text, canary, path)
		}
	}
	for _, canary := range canaries {
		require.Empty(t, hubtest.FindInDatabase(t, f.hub.DatabaseURL, canary), canary)
		require.NotContains(t, f.hub.Log(), canary)
	}
}

// Codes of diagnoses leave the clinic in no field of what other products see.
func TestDiagnosesStayInTheClinic(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	m := p.connect("messaging")
	id := p.patient(phone)
	p.ok(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-02", "type": "F32.1 follow-up", "professional": "Dr. Rui F32.1", "summary": "F32.1", "url": "https://x.example/F32.1"})
	plain := p.ok(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-03", "type": "x", "url": "https://x.example/1b9d6bcd-bbfd-e123-9b5d-ab8dfbbd4bed"})
	p.ok(201, "POST", "/patients/"+id+"/appointments", object{"datetime": "2026-03-02T09:00:00Z", "service": "Session F32.1", "professional": "Dr. Rui F32.1", "status": "completed"})
	p.ok(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": "2026-03-02", "status": "paid", "description": "F32.1", "method": "plan F32.1"})
	require.Equal(t, "Session F32.1", p.items("/patients/" + id + "/appointments")[0]["service"], "its own users read what they wrote")
	require.Equal(t, "https://x.example/F32.1", p.items("/patients/" + id + "/records")[1]["url"])
	require.Eventually(t, func() bool { return len(m.arrived("payment.received")) == 1 && len(m.arrived("record.created")) == 2 }, soon, tick)
	for _, one := range m.got {
		require.NotContains(t, text(t, one.data), "F32", one.kind)
	}
	key := p.key()
	for _, path := range []string{
		"/integrations/search/records?patient_id=" + id, "/integrations/search/appointments?patient_id=" + id, "/fhir/Appointment", "/fhir/Encounter", "/fhir/DocumentReference",
	} {
		got := key.call("GET", path, nil)
		require.Equal(t, 200, got.status, got.text)
		require.NotContains(t, got.text, "F32", path)
		require.Contains(t, got.text, "***", path)
	}
	records := key.get("/integrations/search/records?patient_id=" + id)["records"].([]any)
	require.Equal(t, plain["url"], records[0].(object)["url"])
	require.Contains(t, records[1].(object)["url"], "/patients/records/"+records[1].(object)["id"].(string), "the page that says nothing")
}
