package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// Texts have maximum lengths, in characters as stored: one more is a 422 at the field, also if
// masking a CPF makes the text longer. The list is that of the OpenAPI document.
func TestLengthsOfEveryField(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewChartedClinic(t)
	limits := map[string]int{
		"patients.create name": 120, "patients.update name": 120,
		"records.create type": 60, "records.create professional": 120, "records.create content": 200_000, "records.create summary": 500,
		"appointments.create service": 200, "appointments.create professional": 120, "appointments.create reason": 500,
		"appointments.update service": 200, "appointments.update professional": 120, "appointments.update reason": 500,
		"payments.create description": 200, "payments.create method": 40, "payments.pay method": 40,
		"interactions.create interaction_type": 60, "interactions.create summary": 4000,
		"integrations.log-interaction interaction_type": 60, "integrations.log-interaction summary": 4000,
		"integrations.log-interaction source": 60, "integrations.log-interaction source_id": 200,
		"professionals.create name": 120, "professionals.create specialty": 120, "professionals.create register": 60,
		"professionals.update name": 120, "professionals.update specialty": 120, "professionals.update register": 60,
		"users.create name": 120, "users.update name": 120, "clinic.update name": 120, "deletions.acknowledge note": 500,
		"auth.register name": 120, "auth.register clinic_name": 120,
	}
	// Texts with a form of their own, whose bounds are that form.
	formed := map[string]bool{
		"phone": true, "patient_phone": true, "email": true, "cpf": true, "birth_date": true, "date": true, "due_date": true, "paid_at": true, "occurred_at": true, "datetime": true,
		"status": true, "sensitivity": true, "url": true, "role": true, "timezone": true, "locale": true, "search": true, "password": true, "new_password": true, "refresh_token": true, "token": true,
		"patient_id": true, "appointment_id": true, "into": true, "default_area_code": true,
	}
	// Texts that hold no tax id: they are refused with one, or kept as a hash.
	without := map[string]bool{"interaction_type": true, "source": true, "source_id": true, "content": true}
	ours := map[string]bool{}
	for _, op := range clinic.OwnOperations() {
		ours[op.ID] = true
	}
	ids, key, good := ResourceIDs(clinic), clinic.NewKey(), validBodies()
	tried := 0
	for _, text := range textFields(clinic.Clinic) {
		if !ours[text.operation] || formed[text.name] {
			continue
		}
		limit := limits[text.operation+" "+text.name]
		require.NotZero(t, limit, "%v has no bound here", text)
		who := clinic.Clinic
		if text.operation == "integrations.log-interaction" {
			who = key
		}
		path := fillPlaceholders(strings.ReplaceAll(strings.ReplaceAll(text.path, "{id}", idKind(text.path)), "{product}", "messaging"), ids)
		send := func(value string) answer {
			tried++
			body := object{}
			for name, is := range good[text.operation] {
				body[name] = is
			}
			if body["email"] != nil {
				body["email"] = strings.Replace(body["email"].(string), "@", strings.Repeat("a", tried%40)+string(rune('a'+tried/40))+"@", 1)
			}
			body[text.name] = value
			return who.Call(text.method, path, body)
		}
		char := "é"
		if text.name == "interaction_type" {
			char = "e"
		}
		accepts := func(value string) {
			t.Helper()
			got := send(value)
			require.Less(t, got.Status, 300, "%v: %s", text, got.Text)
		}
		refuses := func(value string) {
			t.Helper()
			got := send(value)
			require.Equal(t, 422, got.Status, "%v: %s", text, got.Text)
			require.Contains(t, got.Text, "body."+text.name, "%v", text)
		}
		accepts(strings.Repeat(char, limit))
		refuses(strings.Repeat(char, limit+1))
		if without[text.name] {
			continue
		}
		const digits, hidden = "52998224725 ", len("***.***.***-25 ")
		accepts(digits + strings.Repeat(char, limit-hidden))
		for _, over := range []int{1, hidden - len(digits)} {
			refuses(digits + strings.Repeat(char, limit-hidden+over))
		}
		refuses(strings.Repeat(digits, limit/len(digits)))
	}
	require.Greater(t, tried, 2*len(limits), "every bound was tried")
}

// Names are one line of visible characters.
func TestUnreadableNames(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	professional := clinic.OK(201, "POST", "/professionals", object{"name": "Dra. Lima"})["id"].(string)
	for _, name := range []string{"", "  ", "\u200b", "\ufeff", "\u202e", "\u00a0\u2003", "\x01", "\x1b[2J", "Ana\nSouza", "Ana\u2028Souza", "Ana\u202eSouza", "Ana\ufeffSouza", "Ana\tSouza"} {
		for path, body := range map[string]object{
			"POST /patients": {"name": name}, "PUT /patients/" + id: {"name": name}, "POST /professionals": {"name": name}, "PUT /professionals/" + professional: {"name": name},
			"POST /users": {"name": name, "email": "x@example.com", "password": clinictest.Password}, "PUT /clinic": {"name": name},
		} {
			method, path, _ := strings.Cut(path, " ")
			got := clinic.Call(method, path, body)
			require.Equal(t, 422, got.Status, "%s %s %q: %s", method, path, name, got.Text)
			require.Contains(t, got.Text, "body.name")
		}
	}
	clinic.Invalid("body.type", "POST", "/patients/"+id+"/records", object{"date": "2026-03-02", "type": "\u200b"})
	clinic.OK(201, "POST", "/patients", object{"name": "नर्\u200dस Łukasz O'Hara"})
	clinictest.RequireImportCounts(t, clinic.Import("csv", "nome;telefone\n\u200b;11 98888-7777\nAna\u202e;11 98888-7777\n"), 0, 0, 0, 2)
}

// A key names the source of its interactions, which must not be empty or the clinic's own.
func TestSourcesOfInteractions(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	key := clinic.NewKey("interaction.write")
	const path = "/integrations/action/log-interaction"
	for member, values := range map[string][]string{
		"source": {" ", "\u200b", "clinic", "Clinic", "CLINIC ", " clinic", "a\nb"}, "source_id": {" ", "\u200b"}, "interaction_type": {"", "Call", "1call", "_call", strings.Repeat("a", 61)},
	} {
		for _, value := range values {
			body := object{"patient_phone": clinictest.Phone, "interaction_type": "call", member: value}
			key.Invalid("body."+member, "POST", path, body)
		}
	}
	require.Contains(t, key.Call("POST", path, object{"patient_phone": clinictest.Phone, "interaction_type": strings.Repeat("a", 61)}).Text, "60")
	require.Empty(t, clinic.History(id))
	created := clinic.OK(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-02", "type": " x ", "professional": " Dra. Lima ", "summary": " fine "})
	require.Equal(t, []any{"x", "Dra. Lima", "fine"}, []any{created["type"], created["professional"], created["summary"]})
}
