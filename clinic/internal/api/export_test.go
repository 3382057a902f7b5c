package api_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// ExportRows are the rows of a patient's table, by column.
func ExportRows(clinic *clinictest.Clinic, patient string) (rows []map[string]string) {
	clinic.T.Helper()
	got := clinic.Call("GET", "/patients/"+patient+"/export?format=csv", nil)
	require.Equal(clinic.T, 200, got.Status, got.Text)
	read, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(got.Text, "\ufeff"))).ReadAll()
	require.NoError(clinic.T, err)
	for _, cells := range read[1:] {
		row := map[string]string{}
		for i, name := range read[0] {
			if cells[i] != "" {
				row[name] = cells[i]
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// Exports have all of a patient's data, in named columns.
func TestExportsAreWhole(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	clinictest.RequireImportCounts(t, clinic.Import("csv", "external_id;nome;telefone;email;cpf;nascimento\nA-7;Ana Souza;11 98765-4321;ana@example.com;"+clinictest.CPF+";1990-05-17\n"), 1, 0, 0, 0)
	id := clinic.Items("/patients")[0]["id"].(string)
	path := "/patients/" + id
	scheduling := clinic.ConnectPeer("scheduling")
	messaging := clinic.ConnectPeer("messaging")
	messaging.Send("ignored", "message.received", object{"phone": "+5521976543210", "body": "Hi", "ticket_id": 1})
	entry := clinic.Items("/integrations/inbox")[0]
	clinic.OK(200, "POST", "/integrations/inbox/"+entry["id"].(string)+"/link", object{"patient_id": id})
	scheduling.Send("accepted", "appointment.created", object{"appointment_id": "b-1", "client_phone": clinictest.Phone, "service": "Cleaning", "professional": "Dra. Lima", "datetime": "2027-01-04T12:00:00Z"})
	scheduling.Send("accepted", "appointment.reminded", object{"appointment_id": "b-1", "client_phone": clinictest.Phone})
	record := clinic.OK(201, "POST", path+"/records", object{"date": "2026-03-02", "type": "consultation", "professional": "Dra. Lima", "content": "All of it", "summary": "Fine", "url": "https://files.example.com/7"})
	paid := clinic.OK(201, "POST", path+"/payments", object{"amount": 12.5, "description": "Cleaning", "due_date": "2026-03-02", "status": "paid", "method": "pix", "paid_at": "2026-03-01T12:00:00Z"})
	visit := clinic.Items(path + "/appointments")[0]
	clinic.Exec(`delete from clinic.interactions where clinic_id = $1 and type <> 'message_received'`)
	call := clinic.Items(path + "/interactions")[0]

	whole := clinic.Get(path + "/export")
	require.Equal(t, []any{"+552176543210"}, whole["linked_phones"])
	require.Equal(t, "A-7", whole["external_ref"])
	require.NotNil(t, visit["reminded_at"])
	require.Equal(t, []map[string]string{
		{
			"kind": "patient", "id": id, "date": "1990-05-17", "status": "active", "amount": "0.00", "summary": "Ana Souza", "phone": "'" + clinictest.Phone, "email": "ana@example.com",
			"cpf": "***.***.***-09", "linked_phones": "'+552176543210", "external_ref": "A-7",
		},
		{
			"kind": "ticket", "source": "messaging", "source_id": "1",
		},
		{
			"kind": "record", "id": record["id"].(string), "date": "2026-03-02", "type": "consultation", "professional": "Dra. Lima", "status": "N", "summary": "Fine",
			"content": "All of it", "url": "https://files.example.com/7",
		},
		{
			"kind": "appointment", "id": visit["id"].(string), "date": "2027-01-04T12:00:00Z", "type": "Cleaning", "professional": "Dra. Lima", "status": "scheduled",
			"source": "scheduling", "source_id": "b-1", "reminded_at": visit["reminded_at"].(string)[:19] + "Z",
		},
		{
			"kind": "payment", "id": paid["id"].(string), "date": "2026-03-02", "type": "pix", "status": "paid", "amount": "12.50", "summary": "Cleaning",
			"paid_at": "2026-03-01T12:00:00Z",
		},
		{
			"kind": "interaction", "id": call["id"].(string), "date": call["occurred_at"].(string)[:19] + "Z", "type": "message_received", "summary": "Hi",
			"source": "messaging", "source_id": call["source_id"].(string),
		},
		{
			"kind": "inbox_entry", "id": entry["id"].(string), "date": entry["occurred_at"].(string)[:19] + "Z", "type": "message.received", "status": "linked",
			"source": "messaging", "source_id": entry["event_id"].(string),
		},
	}, ExportRows(clinic, id))

	// Who has none of it has empty lists, and another clinic's are not there.
	bare := clinic.OK(201, "POST", "/patients", object{"name": "Gil"})["id"].(string)
	require.Equal(t, []any{}, clinic.Get("/patients/" + bare + "/export")["linked_phones"])
	require.Nil(t, clinic.Get("/patients/" + bare + "/export")["external_ref"])
}

// Exports have what identified the patient before, tickets, inbox entries and merges.
func TestExportsHaveWhatIdentifiesThePatient(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id, other := clinic.AddPatient(clinictest.Phone), clinic.AddPatient("+5511900001111")
	path := "/patients/" + id
	messaging := clinic.ConnectPeer("messaging")
	messaging.Send("ignored", "message.received", object{"phone": "+5521976543210", "body": "Hi", "ticket_id": "t-1"})
	entry := clinic.Items("/integrations/inbox")[0]
	clinic.OK(200, "POST", "/integrations/inbox/"+entry["id"].(string)+"/link", object{"patient_id": id})
	clinic.OK(200, "PUT", path, object{"name": "Ana Lima", "phone": "+5511955556666", "email": "ana@example.com", "cpf": clinictest.CPF})
	clinic.OK(200, "PUT", path, object{"email": nil, "cpf": nil})
	merge := clinic.OK(200, "POST", "/patients/"+other+"/merge", object{"into": id})["merge_id"]

	whole := clinic.Get(path + "/export")
	earlier := map[string]any{}
	for _, contact := range whole["earlier_contacts"].([]any) {
		require.NotEmpty(t, contact.(object)["at"])
		if contact := contact.(object); contact["value"] != "+5511900001111" {
			earlier[contact["kind"].(string)] = contact["value"]
		}
	}
	require.Equal(t, map[string]any{"former_name": "Ana Souza", "phone": clinictest.Phone, "email": "ana@example.com", "cpf": nil}, earlier)
	require.Equal(t, []any{object{"source": "messaging", "ticket_id": "t-1"}}, whole["tickets"])
	merges := whole["merges"].([]any)
	require.Len(t, merges, 1)
	require.Equal(t, []any{merge, other, nil}, []any{merges[0].(object)["merge_id"], merges[0].(object)["merged_id"], merges[0].(object)["undone_at"]})
	inbox := whole["inbox"].([]any)
	require.Len(t, inbox, 1)
	require.Equal(t, []any{entry["id"], "linked", id}, []any{inbox[0].(object)["id"], inbox[0].(object)["status"], inbox[0].(object)["patient_id"]})

	kinds := map[string]int{}
	for _, row := range ExportRows(clinic, id) {
		kinds[row["kind"]]++
	}
	require.Equal(t, map[string]int{"patient": 1, "earlier_contact": 5, "ticket": 1, "merge": 1, "interaction": 1, "inbox_entry": 1}, kinds)

	// What cannot be decrypted any more is left out.
	clinic.Exec(`update clinic.earlier_contacts set value_enc = '\x00112233' where clinic_id = $1 and kind = 'email'`)
	require.NotContains(t, clinictest.JSON(t, clinic.Get(path+"/export")), "ana@example.com")

	bare := clinic.Get("/patients/" + clinic.OK(201, "POST", "/patients", object{"name": "Gil"})["id"].(string) + "/export")
	for _, list := range []string{"earlier_contacts", "tickets", "merges", "inbox"} {
		require.Equal(t, []any{}, bare[list], list)
	}
}

// Cells that a spreadsheet would read as a formula are escaped.
func TestExportedCellsAreNoFormulas(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.OK(201, "POST", "/patients", object{"name": "Ana"})["id"].(string)
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1", "=": "'=",
		"a=1": "a=1", "1-1": "1-1", " =1": " =1", "'=1": "''=1", "é": "é",
	} {
		clinic.Exec(`delete from clinic.interactions where clinic_id = $1`)
		clinic.Exec(`insert into clinic.interactions (clinic_id, env, id, patient_id, type, summary, source, source_id, occurred_at) values ($1, 'live', gen_random_uuid(), $2, 'call', $3, $3, '7', now())`, id, text)
		row := ExportRows(clinic, id)[1]
		require.Equal(t, want, row["summary"], "%q", text)
		require.Equal(t, want, row["source"], "%q", text)
	}
}
