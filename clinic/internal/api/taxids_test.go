package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest"
)

// field is a text that an operation's body can have.
type field struct {
	operation, method, path, name string
}

// textFields returns the text fields of all JSON bodies in the OpenAPI document.
func textFields(clinic *clinictest.Clinic) (list []field) {
	t := clinic.T
	t.Helper()
	res, err := hubtest.HTTPClient.Get(clinic.Hub.Base + "/openapi.json")
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

// validBodies are bodies with what each operation of the clinic's needs, by its id.
func validBodies() map[string]object {
	return map[string]object{
		"patients.create": {"name": "X"}, "records.create": {"date": "2026-03-02", "type": "x"}, "appointments.create": {"datetime": "2026-03-02T09:00:00Z"},
		"payments.create": {"amount": 1, "due_date": "2026-03-02", "status": "paid"}, "payments.pay": {}, "interactions.create": {"interaction_type": "call", "summary": "x"},
		"professionals.create": {"name": "X"}, "clinic.update": {}, "users.create": {"name": "X", "email": "x@example.com", "password": clinictest.Password},
		"integrations.log-interaction": {"patient_phone": clinictest.Phone, "interaction_type": "call", "source": "x"},
		"auth.register":                {"clinic_name": "X", "name": "X", "email": "y@example.com", "password": clinictest.Password},
	}
}

// A CPF in any text field is stored only encrypted: it is in no column, event, log or
// response. E-mail addresses are the exception: they have to be deliverable.
func TestTaxIDsInEveryField(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t).WithRecords()
	clinic.OK(200, "PUT", "/clinic", object{"reveal_cpf": false})
	ids := ResourceIDs(clinic)
	ids["{product}"] = "messaging"
	canaries := []string{"709.481.400-38", "70948140038"}
	good := validBodies()
	// What a tax id or a secret belongs into, and addresses.
	apart := map[string]bool{"cpf": true, "password": true, "new_password": true, "email": true, "refresh_token": true, "token": true}
	ours := map[string]bool{} // what the hub has under every product has its tests there
	for _, op := range clinic.OwnOperations() {
		ours[op.ID] = true
	}
	key, stored := clinic.NewKey(), map[string]bool{}
	for n, text := range textFields(clinic.Clinic) {
		if apart[text.name] || !ours[text.operation] || strings.HasPrefix(text.operation, "auth.") && text.operation != "auth.register" {
			continue
		}
		body := object{}
		for name, value := range good[text.operation] {
			body[name] = value
		}
		if body["email"] != nil {
			body["email"] = strings.Replace(body["email"].(string), "@", string(rune('a'+n%26))+string(rune('a'+n/26))+"@", 1)
		}
		body[text.name] = "a 101 " + canaries[n%2] + " z"
		if text.name == "url" {
			body[text.name] = "https://x.example/101/" + canaries[n%2]
		}
		who := clinic.Clinic
		if text.operation == "integrations.log-interaction" {
			who = key
		}
		path := strings.ReplaceAll(strings.ReplaceAll(text.path, "{id}", idKind(text.path)), "{product}", "messaging")
		got := who.Call(text.method, fillPlaceholders(path, ids), body)
		require.Less(t, got.Status, 500, "%v: %s", text, got.Text)
		for _, canary := range canaries {
			if text.name != "content" { // which users of the clinic read
				require.NotContains(t, got.Text, canary, "%v", text)
			}
		}
		if got.Status < 300 {
			stored[text.operation+" "+text.name] = true
		}
	}
	for _, text := range []string{
		"patients.create name", "patients.update name", "records.create type", "records.create professional", "records.create summary", "records.create content",
		"appointments.create service", "appointments.create professional", "appointments.create reason", "appointments.update reason", "payments.create description",
		"payments.create method", "interactions.create summary", "integrations.log-interaction summary", "integrations.log-interaction source_id",
		"professionals.create name", "professionals.create specialty", "professionals.create register", "users.create name", "clinic.update name",
		"deletions.acknowledge note", "auth.register name", "auth.register clinic_name",
	} {
		require.True(t, stored[text], "%s: not tried with success: %v", text, stored)
	}
	clinictest.RequireImportCounts(t, clinic.Import("csv", "external_id;nome;telefone\n709.481.400-38;Gil 70948140038;11 98888-7777\n"), 1, 0, 0, 0)
	clinictest.RequireImportCounts(t, clinic.Import("csv", "external_id;nome;telefone\n709.481.400-38;Gil 70948140038;11 98888-7777\n"), 0, 0, 1, 0)

	for _, path := range []string{
		"/integrations/search/records?patient_id=" + clinic.PatientID, "/integrations/search/appointments?patient_id=" + clinic.PatientID, "/integrations/search/patients?phone=%2B5511987654321",
		"/fhir/Patient", "/fhir/Appointment", "/fhir/Encounter", "/fhir/DocumentReference", "/fhir/Communication",
	} {
		got := key.Call("GET", path, nil)
		require.Equal(t, 200, got.Status, got.Text)
		for _, canary := range canaries {
			require.NotContains(t, got.Text, canary, path)
		}
	}
	for _, canary := range canaries {
		require.Empty(t, hubtest.FindInDatabase(t, clinic.Hub.DatabaseURL, canary), canary)
		require.NotContains(t, clinic.Hub.Log(), canary)
	}
}
