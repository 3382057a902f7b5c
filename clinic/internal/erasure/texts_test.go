package erasure_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest"
)

// textColumns reads the columns, as "table.column", that hold texts of the tables with rows of patients.
func textColumns(clinic *clinictest.Clinic) (list []string) {
	clinic.T.Helper()
	rows, err := clinic.Hub.Host.Pool.Query(clinic.T.Context(), `
		select table_name || '.' || column_name from information_schema.columns c
		where table_schema = 'clinic' and is_generated = 'NEVER' and data_type in ('text', 'character varying', 'json', 'jsonb', 'ARRAY')
		and (table_name = 'patients' or exists (
			select from information_schema.columns o where (o.table_schema, o.table_name, o.column_name) = ('clinic', c.table_name, 'patient_id')))
		order by 1`)
	require.NoError(clinic.T, err)
	list, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(clinic.T, err)
	return list
}

// addKnownPatient makes a patient who has a row in every table that has some.
func addKnownPatient(clinic *clinictest.Clinic, name, number, email string) (id string) {
	clinic.T.Helper()
	messaging := clinic.ConnectPeer("messaging")
	id = clinic.OK(201, "POST", "/patients", object{"name": name, "phone": number, "email": email})["id"].(string)
	clinic.OK(200, "PUT", "/patients/"+id, object{"birth_date": "1990-05-17", "name": name + " Lima"})
	clinic.OK(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-02", "type": "consultation"})
	clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": clinictest.DateIn(clinic.T, 1), "status": "paid", "method": "pix"})
	messaging.Send("ignored", "message.received", object{"phone": "+5521955554444", "name": "Z", "body": "x", "ticket_id": 1})
	clinic.OK(200, "POST", "/integrations/inbox/"+clinic.Items("/integrations/inbox")[0]["id"].(string)+"/link", object{"patient_id": id})
	clinic.Exec(`insert into clinic.patient_references (clinic_id, env, source, reference, patient_id) values ($1, 'live', 'other', '17', $2)`, id)
	clinic.ConnectPeer("scheduling").Send("accepted", "appointment.created", object{"appointment_id": "a-1", "client_phone": number, "datetime": "2027-01-04T12:00:00Z", "service": "Check"})
	return id
}

// Identifiers of a patient are erased from every text column of the schema, also from columns
// that are added later.
func TestErasureOfEveryColumn(t *testing.T) {
	t.Parallel()
	p := clinictest.NewClinicAlone(t)
	const name, number, email = "Zuleica Canario", "+5511977771234", "zuleica@canario.example"
	// Columns that take no such text, or have rows only after an erasure, while a file is read or events are
	// linked, and those that programs fill from a list of their own.
	codes := []string{
		"appointments.env", "appointments.status", "earlier_contacts.env", "earlier_contacts.kind", "import_matches.env", "import_matches.kept_reason", "import_matches.reference", "import_matches.source", "inbox.env", "inbox.status", "interactions.env",
		"linked_phones.env", "linkings.env", "linkings.external_id", "linkings.phone_key", "linkings.source", "patient_merges.env", "patient_references.env", "patients.cpf_last2", "patients.env", "patients.status", "payments.env", "payments.status", "record_accesses.env", "record_accesses.reason", "record_accesses.user_name", "records.env", "records.sensitivity", "tickets.env",
	}
	apart := []string{"appointments.source", "interactions.origin", "patients.name", "patients.phone", "patients.email"}
	for _, test := range []struct {
		clinic *clinictest.Clinic
		forms  []string // the first that a column takes
	}{
		{p, []string{"For " + name + ", who asked", "zuleica_canario"}},
		{p.AnotherClinic(), []string{"(11) 97777-1234 or 1177771234", "n5511977771234"}},
		{p.AnotherClinic(), []string{"to Zuleica@Canario.example", "zuleica_"}},
	} {
		p := test.clinic
		id := addKnownPatient(p, name, number, email)
		var refused []string
		for _, place := range textColumns(p) {
			table, column, _ := strings.Cut(place, ".")
			if table == "deletion_requests" || strings.Contains(strings.Join(apart, " "), place) {
				continue
			}
			key := map[bool]string{true: "id", false: "patient_id"}[table == "patients"]
			taken := false
			for _, form := range test.forms {
				request, err := p.Hub.Host.Pool.Exec(t.Context(), `update clinic.`+table+` set `+column+` = $1 || '_' || substr(md5(random()::text), 1, 6) where clinic_id = $2 and `+key+` = $3`, form, p.ID, id)
				if taken = err == nil && request.RowsAffected() > 0; taken {
					break
				}
			}
			if !taken {
				refused = append(refused, place)
			}
		}
		require.Equal(t, codes, refused)
		require.NotEmpty(t, hubtest.FindInDatabase(t, p.Hub.DatabaseURL, test.forms[0]))
		p.RequestDeletion(id)
		require.Equal(t, "Removed", p.Get("/patients/" + id)["name"])
		require.Equal(t, 1, p.QueryInt(`select count(*) from clinic.records where clinic_id = $1 and url is null and locked_at is not null`))
	}
	for _, trace := range []string{"zuleica", "canario", "77771234", "7777-1234"} {
		for _, place := range hubtest.FindInDatabase(t, p.Hub.DatabaseURL, trace) {
			require.False(t, strings.HasPrefix(place, "clinic."), "%s is in %s", trace, place)
		}
	}
}

// Texts about others stay, and so do the names of professionals.
func TestErasureLeavesTextsAboutOthers(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.OK(201, "POST", "/patients", object{"name": "Ana Lúcia Lima", "phone": clinictest.Phone})["id"].(string)
	clinic.OK(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-02", "type": "analysis 11987650000", "professional": "Dr. Ana Souza Lima"})
	clinic.OK(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-01", "type": "call of ANA", "professional": "ana LUCIA lima"})
	clinic.OK(201, "POST", "/patients/"+id+"/appointments", object{"datetime": "2027-01-04T12:00:00Z", "service": "Banana peel", "professional": "Ana Dias"})
	clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": clinictest.DateIn(t, 1), "status": "paid", "method": "pix"})
	clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": clinictest.DateIn(t, 2), "status": "paid", "method": "pix 11 98765-4321"})
	clinic.RequestDeletion(id)
	got := func(path string, fields ...string) (list [][]any) {
		for _, item := range clinic.Items("/patients/" + id + path) {
			var row []any
			for _, field := range fields {
				row = append(row, item[field])
			}
			list = append(list, row)
		}
		return list
	}
	require.Equal(t, [][]any{{"analysis 11987650000", "Dr. Ana Souza Lima"}, {"forgotten", ""}}, got("/records", "type", "professional"))
	require.Equal(t, [][]any{{"Banana peel", "Ana Dias"}}, got("/appointments", "service", "professional"))
	require.Equal(t, [][]any{{nil}, {"pix"}}, got("/payments", "method"))
}

// External ids that contain a number or an address are replaced, and still work: logging the
// same interaction, or an event about the same appointment, is answered as before.
func TestExternalIDsOfErasedPatients(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	scheduling, key := clinic.ConnectPeer("scheduling"), clinic.NewKey()
	const number, booking = "+5511977771234", "wa:+5511977771234"
	id := clinic.OK(201, "POST", "/patients", object{"name": "Zuleica Canario", "phone": number, "email": "zuleica@canario.example"})["id"].(string)
	logged := []object{
		{"patient_phone": number, "interaction_type": "call", "source_id": "whatsapp:" + number},
		{"patient_phone": number, "interaction_type": "call", "source_id": "zuleica@canario.example", "source": "crm"},
		{"patient_phone": number, "interaction_type": "call", "source_id": "4711", "source": "line of Zuleica"},
	}
	const action = "/integrations/action/log-interaction"
	for _, entry := range logged {
		key.OK(200, "POST", action, entry)
	}
	event := scheduling.Send("accepted", "appointment.created", object{"appointment_id": booking, "client_phone": number, "datetime": "2027-01-04T12:00:00Z"})
	path := clinic.RequestDeletion(id)
	clinic.WaitForDeletion(path, "completed")
	for _, path := range []string{"/patients/" + id + "/interactions", "/patients/" + id + "/appointments", "/fhir/Communication", "/fhir/Appointment", "/fhir/Patient/" + id + "/$everything"} {
		got := strings.ToLower(clinic.Call("GET", path, nil).Text)
		require.Contains(t, got, id)
		for _, trace := range []string{"zuleica", "canario", "77771234", "4711"} {
			require.NotContains(t, got, trace, path)
		}
	}
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from clinic.interactions where clinic_id = $1 and source_id = $2`, event), "the hub's ids say nothing")

	for _, entry := range logged {
		key.Refused(404, "patient_not_found", "POST", action, entry)
	}
	scheduling.Send("ignored", "appointment.cancelled", object{"appointment_id": booking, "reason": "Zuleica travels"})
	require.Empty(t, clinic.Items("/integrations/inbox"), "of whom was forgotten nothing waits")
	next := clinic.OK(201, "POST", "/patients", object{"name": "Rui", "phone": number})["id"].(string)
	for _, entry := range logged {
		key.Refused(409, "source_id_reused", "POST", action, entry)
	}
	scheduling.Send("accepted", "appointment.created", object{"appointment_id": booking, "client_phone": number, "datetime": "2027-01-05T12:00:00Z"})
	require.Empty(t, clinic.Items("/patients/"+next+"/appointments"), "it is another's")
	key.OK(200, "POST", action, object{"patient_phone": number, "interaction_type": "call", "source_id": "whatsapp:" + number + "#2"})
	clinic.HurryErasures()
	RequireNoTrace(clinic, "zuleica", "canario")
}

// Clients that synchronize by _lastUpdated see that a patient was erased.
func TestErasureUpdatesResources(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := addKnownPatient(clinic, "Zuleica Canario", "+5511977771234", "zuleica@canario.example")
	for _, table := range []string{"patients", "records", "appointments", "payments"} {
		clinic.Exec(`update clinic.` + table + ` set updated_at = now() - interval '1 hour' where clinic_id = $1`)
	}
	clinic.Exec(`update clinic.interactions set created_at = now() - interval '1 hour' where clinic_id = $1`)
	since := "?_lastUpdated=" + url.QueryEscape("gt"+time.Now().Add(-time.Minute).UTC().Format(time.RFC3339))
	changed := map[string]int{"Patient": 1, "DocumentReference": 1, "Appointment": 1, "Communication": 2}
	for kind := range changed {
		require.EqualValues(t, 0, clinic.Get("/fhir/" + kind + since)["total"], kind)
	}
	clinic.RequestDeletion(id)
	for kind, n := range changed {
		found := clinic.Get("/fhir/" + kind + since)
		require.EqualValues(t, n, found["total"], kind)
		updatedAt, err := time.Parse(time.RFC3339, found["entry"].([]any)[0].(object)["resource"].(object)["meta"].(object)["lastUpdated"].(string))
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), updatedAt, time.Minute, kind)
	}
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from clinic.payments where clinic_id = $1 and updated_at > now() - interval '1 minute'`))
}
