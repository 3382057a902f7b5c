package api_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest/moduletest"
)

// mergeable is a clinic with two patients who are one person, each with a chart, messages,
// bookings, numbers in lists and earlier contacts.
type mergeable struct {
	*clinictest.Clinic
	from, into string
	peer       *clinictest.Peer
}

func newMergeable(t *testing.T) *mergeable {
	t.Helper()
	c := &clinictest.Chart{Clinic: clinictest.NewClinic(t)}
	m := &mergeable{Clinic: c.Clinic, peer: c.ConnectPeer("messaging")}
	scheduling := c.ConnectPeer("scheduling")
	imported := c.UploadImport("csv", "nome;cpf;external_id;celular\nAna Souza;529.982.247-25;7;+5511987654321\n").Body["id"].(string)
	c.WaitForImport(imported)
	m.from = c.Items("/patients")[0]["id"].(string)
	m.into = c.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": "+5511955556666", "birth_date": "1980-03-02"})["id"].(string)
	for id, phone := range map[string]string{m.from: "+5511987654321", m.into: "+5511955556666"} {
		c.AddChart(id)
		m.peer.Send("accepted", "ticket.created", object{"phone": phone, "name": "Ana", "ticket_id": "t" + phone, "queue": "Q"})
		scheduling.Send("accepted", "appointment.created", object{"client_phone": phone, "service": "S", "professional": "P", "datetime": "2027-01-04T12:00:00Z"}) // the same, without an id
		c.OK(200, "PUT", "/patients/"+id, object{"email": "before@example.com"})
		c.OK(200, "PUT", "/patients/"+id, object{"email": nil}) // both had it
	}
	c.Exec(`insert into clinic.patient_references (clinic_id, env, source, reference, patient_id) values ($1, 'live', 'list', '17', $2)`, m.from)
	return m
}

// changeTimes are the columns that say when a row changed: a merge and its undo are changes.
var changeTimes = regexp.MustCompile(`"updated_at": "[^"]*"`)

// state is all rows of the clinic's patients as text, without when they changed.
func (m *mergeable) state() string {
	m.T.Helper()
	var all strings.Builder
	for _, table := range []string{
		"patients", "records", "appointments", "payments", "interactions", "tickets", "linked_phones", "patient_references", "earlier_contacts", "import_matches", "inbox", "linkings",
	} {
		var text string
		require.NoError(m.T, m.Hub.Host.Pool.QueryRow(m.T.Context(), fmt.Sprintf(`select coalesce(string_agg(jsonb_set(to_jsonb(t), '{updated_at}', '"-"')::text, E'\n' order by (to_jsonb(t) - 'updated_at')::text), '') from clinic.%s t where clinic_id = $1`, table), m.ID).Scan(&text))
		all.WriteString(table + "\n" + changeTimes.ReplaceAllString(text, "") + "\n")
	}
	return all.String()
}

func (m *mergeable) merge() string {
	m.T.Helper()
	return m.OK(200, "POST", "/patients/"+m.from+"/merge", object{"into": m.into})["merge_id"].(string)
}

// A merge moves all that a patient has, the other patient gets what it lacks, and an undo
// restores both exactly.
func TestMergeAndUndo(t *testing.T) {
	t.Parallel()
	m := newMergeable(t)
	before := m.state()
	published := len(m.Events())
	total := len(m.Items("/patients/"+m.from+"/appointments?per_page=100")) + len(m.Items("/patients/"+m.into+"/appointments?per_page=100"))
	merge := m.merge()

	// All is the other patient's; the id of the merged one says whose.
	require.Zero(t, m.QueryInt(`select count(*) from clinic.records where clinic_id = $1 and patient_id = $2`, m.from))
	require.Len(t, m.Items("/patients/"+m.into+"/appointments?per_page=100"), total)
	survivor := m.Get("/patients/" + m.into)
	require.Equal(t, []any{"+5511955556666", "***.***.***-25", "1980-03-02"}, []any{survivor["phone"], survivor["cpf"], survivor["birth_date"]})
	require.Equal(t, m.into, m.Refused(404, "patient_merged", "GET", "/patients/"+m.from, nil)["merged_into"])
	m.Refused(404, "not_found", "POST", "/patients/"+m.from+"/records", object{"date": "2026-02-02", "type": "x", "content": "x"})
	require.Len(t, m.Items("/patients"), 1)
	types := map[string]string{}
	for _, event := range m.Events()[published:] {
		require.Equal(t, "patient.updated", event.Type)
		types[event.Data["patient_id"].(string)] = fmt.Sprint(event.Data["merged_into"])
	}
	require.Equal(t, map[string]string{m.into: "<nil>", m.from: m.into}, types)
	require.Eventually(t, func() bool { return len(m.peer.Received("patient.updated")) >= 2 }, clinictest.Timeout, clinictest.Tick, "peers hear of it")
	require.Len(t, m.Items("/integrations/audit-log?action=patients.merge"), 1)
	var sealed []byte
	require.NoError(t, m.Hub.Host.Pool.QueryRow(t.Context(), `select state_enc from clinic.patient_merges where clinic_id = $1`, m.ID).Scan(&sealed))
	require.NotContains(t, string(sealed), "Ana Souza")

	// A message from the merged patient's number is the survivor's.
	messages := len(m.History(m.into))
	m.OK(200, "POST", "/merges/"+merge+"/undo", nil)
	require.Len(t, m.Items("/integrations/audit-log?action=merges.undo"), 1)
	require.Equal(t, before, m.state(), "exactly as it was")
	require.Len(t, m.Items("/patients"), 2)
	require.Less(t, len(m.History(m.into)), messages)

	again := m.merge()
	m.peer.Send("accepted", "message.received", object{"phone": "+5511987654321", "name": "Ana", "body": "Hi", "ticket_id": "t9"})
	require.Contains(t, fmt.Sprint(m.History(m.into)), "Hi")
	m.OK(200, "POST", "/merges/"+again+"/undo", nil)
}

// What was paid after a merge for an appointment of the merged patient goes back with it.
func TestUndoOfAMergeMovesPaymentsWithTheirAppointments(t *testing.T) {
	t.Parallel()
	c := clinictest.NewClinic(t)
	from, into := c.AddPatient(clinictest.Phone), c.AddPatient("+5511900001111")
	appointment := c.OK(201, "POST", "/patients/"+from+"/appointments", object{"datetime": "2027-01-04T12:00:00Z"})["id"]
	merge := c.OK(200, "POST", "/patients/"+from+"/merge", object{"into": into})["merge_id"].(string)
	due := clinictest.DateIn(t, 1)
	c.OK(201, "POST", "/patients/"+into+"/payments", object{"amount": 50, "due_date": due, "appointment_id": appointment})
	c.OK(201, "POST", "/patients/"+into+"/payments", object{"amount": 20, "due_date": due})
	c.OK(200, "POST", "/merges/"+merge+"/undo", nil)
	moved, stayed := c.Items("/patients/"+from+"/payments"), c.Items("/patients/"+into+"/payments")
	require.Len(t, moved, 1)
	require.Equal(t, appointment, moved[0]["appointment_id"])
	require.Len(t, stayed, 1)
	require.Nil(t, stayed[0]["appointment_id"])
	require.EqualValues(t, 50, c.Get("/patients/" + from)["balance_due"])
	require.EqualValues(t, 20, c.Get("/patients/" + into)["balance_due"])
}

// Only administrators merge, patients of one clinic and environment, once, and never two
// people with different CPFs.
func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	c := clinictest.NewClinic(t)
	a, b := c.AddPatient(clinictest.Phone), c.AddPatient("+5511900001111")
	stranger := c.AnotherClinic()
	foreign := stranger.AddPatient(clinictest.Phone)
	path := "/patients/" + a + "/merge"
	for _, into := range []string{foreign, uuid.NewString()} {
		c.Refused(404, "not_found", "POST", path, object{"into": into})
		c.Refused(404, "not_found", "POST", "/patients/"+into+"/merge", object{"into": a})
	}
	c.InEnvironment("test").Refused(404, "not_found", "POST", path, object{"into": b})
	c.AddStaff().Refused(403, "admin_only", "POST", path, object{"into": b})
	c.Invalid("body.into", "POST", path, object{"into": a})
	c.Invalid("body.into", "POST", path, object{})
	c.OK(200, "PUT", "/patients/"+a, object{"cpf": clinictest.CPF})
	c.OK(200, "PUT", "/patients/"+b, object{"cpf": "529.982.247-25"})
	c.Refused(409, "cpf_differs", "POST", path, object{"into": b})
	c.WaitForDeletion(c.RequestDeletion(b), "completed")
	c.Refused(409, "patient_anonymized", "POST", path, object{"into": b})
	c.Refused(404, "not_found", "POST", "/merges/"+uuid.NewString()+"/undo", nil)
	require.Len(t, c.Items("/patients"), 1, "nothing was merged")
}

// Merges of the same patients at once, and changes meanwhile: one merge happens, and
// nothing is lost.
func TestConcurrentMerges(t *testing.T) {
	t.Parallel()
	c := clinictest.NewClinic(t)
	for range 5 {
		a, b := c.AddPatient(clinictest.Phone), c.AddPatient("+5511900001111")
		requests := []func() moduletest.Response{
			func() moduletest.Response { return c.Call("POST", "/patients/"+a+"/merge", object{"into": b}) },
			func() moduletest.Response { return c.Call("POST", "/patients/"+b+"/merge", object{"into": a}) },
			func() moduletest.Response { return c.Call("POST", "/patients/"+a+"/merge", object{"into": b}) },
		}
		for _, id := range []string{a, b} {
			requests = append(requests, func() moduletest.Response {
				return c.Call("POST", "/patients/"+id+"/appointments", object{"datetime": "2027-01-04T12:00:00Z"})
			})
		}
		responses := moduletest.Concurrently(requests...)
		merged, made := 0, 0
		for i, response := range responses {
			require.Contains(t, []int{200, 201, 404}, response.Status, response.Text)
			if i < 3 && response.Status == 200 {
				merged++
			}
			if response.Status == 201 {
				made++
			}
		}
		require.Equal(t, 1, merged)
		survivor := a
		if c.Call("GET", "/patients/"+a, nil).Status != 200 {
			survivor = b
		}
		require.Len(t, c.Items("/patients/"+survivor+"/appointments"), made)
	}
}

// After 30 days, of an erased patient, and before a later merge is undone, a merge stays.
func TestUndoOfAMergeRefuses(t *testing.T) {
	t.Parallel()
	c := clinictest.NewClinic(t)
	merge := func(from, into string) string {
		return c.OK(200, "POST", "/patients/"+from+"/merge", object{"into": into})["merge_id"].(string)
	}
	a, b, d := c.AddPatient(clinictest.Phone), c.AddPatient("+5511900001111"), c.AddPatient("+5511900002222")
	first := merge(a, b)
	second := merge(b, d)
	c.Refused(409, "merged_again", "POST", "/merges/"+first+"/undo", nil)
	require.Equal(t, d, c.Refused(404, "patient_merged", "GET", "/patients/"+a, nil)["merged_into"])
	c.AddStaff().Refused(403, "admin_only", "POST", "/merges/"+second+"/undo", nil)
	c.AnotherClinic().Refused(404, "not_found", "POST", "/merges/"+second+"/undo", nil)
	require.Equal(t, b, c.OK(200, "POST", "/merges/"+second+"/undo", nil)["patient_id"])
	c.Refused(409, "already_undone", "POST", "/merges/"+second+"/undo", nil)
	c.OK(200, "POST", "/merges/"+first+"/undo", nil)
	require.Equal(t, a, c.Get("/patients/" + a)["id"])

	// Meanwhile another patient got the merged patient's CPF.
	c.OK(200, "PUT", "/patients/"+a, object{"cpf": clinictest.CPF})
	taken := merge(a, b)
	c.OK(200, "PUT", "/patients/"+b, object{"cpf": nil})
	c.OK(200, "PUT", "/patients/"+d, object{"cpf": clinictest.CPF})
	c.Refused(409, "cpf_taken", "POST", "/merges/"+taken+"/undo", nil)
	c.OK(200, "PUT", "/patients/"+d, object{"cpf": nil})
	c.OK(200, "POST", "/merges/"+taken+"/undo", nil)

	old := merge(a, b)
	c.Exec(`update clinic.patient_merges set merged_at = merged_at - interval '31 days' where clinic_id = $1 and id = $2`, old)
	c.Refused(409, "undo_expired", "POST", "/merges/"+old+"/undo", nil)
	require.NoError(t, c.Job("merges").Run(t.Context(), nil))
	require.Zero(t, c.QueryInt(`select count(*) from clinic.patient_merges where clinic_id = $1 and state_enc is not null`), "what an undo needed is gone")

	erased := merge(b, d)
	c.WaitForDeletion(c.RequestDeletion(d), "completed")
	c.Refused(409, "patient_anonymized", "POST", "/merges/"+erased+"/undo", nil)
	require.Zero(t, c.QueryInt(`select count(*) from clinic.patient_merges where clinic_id = $1 and state_enc is not null`), "an erasure takes it too")
}
