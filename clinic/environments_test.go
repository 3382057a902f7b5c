package clinic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// News of the test environment that name what is live, by its ticket, its appointment or
// its number, are nobody's there, and change nothing that is live; what a key or a user
// has in test reaches nothing live either.
func TestTestNewsDoNotReachLiveData(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	sandbox := p.InEnvironment("test")
	id := p.AddPatient(Phone)
	booked := object{"appointment_id": "a-1", "client_phone": Phone, "service": "Cleaning", "professional": "Dra. Lima", "datetime": "2027-01-04T12:00:00Z"}
	p.ConnectPeer("messaging").Send("accepted", "ticket.created", object{"phone": Phone, "name": "Ana", "ticket_id": 42, "queue": "Reception"})
	p.ConnectPeer("scheduling").Send("accepted", "appointment.created", booked)
	owed := p.AddDuePayment(DateIn(t, 5))
	before := p.Snapshot()

	sandbox.ConnectPeer("messaging").Send("ignored", "ticket.closed", object{"ticket_id": 42, "resolution": "done"})
	s := sandbox.ConnectPeer("scheduling")
	s.Send("ignored", "appointment.cancelled", object{"appointment_id": "a-1", "reason": "travelling"})
	s.Send("ignored", "appointment.noshow", object{"appointment_id": "a-1", "client_phone": Phone})
	waiting := sandbox.Items("/integrations/inbox")
	require.Len(t, waiting, 3)
	require.Empty(t, p.Items("/integrations/inbox"))
	sandbox.Exec(`delete from clinic.inbox where clinic_id = $1 and env = 'test' and event_type <> 'ticket.closed'`)
	entry := sandbox.Items("/integrations/inbox")[0]["id"].(string)
	sandbox.Refused(404, "not_found", "POST", "/integrations/inbox/"+entry+"/link", object{"patient_id": id})
	trial := sandbox.NewKey()
	trial.Headers = nil
	said := object{"patient_phone": Phone, "interaction_type": "call", "source_id": "7"}
	trial.Refused(404, "patient_not_found", "POST", "/integrations/action/log-interaction", said)
	p.Exec(`delete from clinic.inbox where clinic_id = $1 and env = 'test'`)
	require.Equal(t, before, p.Snapshot())

	// The other way round, and with somebody of the same number.
	double := sandbox.AddPatient(Phone)
	require.Equal(t, double, trial.OK(200, "POST", "/integrations/action/log-interaction", said)["patient_id"])
	require.Equal(t, []string{"call: "}, sandbox.History(double))
	require.Len(t, p.History(id), 2)
	appointment := sandbox.OK(201, "POST", "/patients/"+double+"/appointments", object{"datetime": "2027-01-04T12:00:00Z"})["id"]
	p.Refused(404, "not_found", "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": DateIn(t, 0), "appointment_id": appointment})
	p.OK(200, "POST", "/payments/"+owed+"/cancel", nil)
	p.ConnectPeer("messaging").Send("ignored", "message.received", object{"phone": "+5511911112222", "body": "Hi", "ticket_id": 1})
	entry = p.Items("/integrations/inbox")[0]["id"].(string)
	p.Refused(404, "not_found", "POST", "/integrations/inbox/"+entry+"/link", object{"patient_id": double})
	require.Len(t, p.Items("/integrations/inbox"), 1, "it still waits")
}

// Every list begins with the newest.
func TestListsBeginWithTheNewest(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	id := p.AddPatient(Phone)
	one, key := "/patients/"+id, p.NewKey()
	for _, day := range []string{"2026-03-02", "2026-03-04", "2026-03-01", "2026-03-03"} {
		p.OK(201, "POST", one+"/records", object{"date": day, "type": "x"})
		p.OK(201, "POST", one+"/appointments", object{"datetime": day + "T12:00:00Z"})
		p.OK(201, "POST", one+"/payments", object{"amount": 1, "due_date": day})
		p.OK(201, "POST", one+"/interactions", object{"interaction_type": "call", "summary": "x", "occurred_at": day + "T12:00:00Z"})
	}
	days := func(list []any, field string) (found []string) {
		for _, one := range list {
			found = append(found, one.(object)[field].(string)[:len("2026-03-02")])
		}
		return found
	}
	newest := []string{"2026-03-04", "2026-03-03", "2026-03-02", "2026-03-01"}
	for path, field := range map[string]string{"/records": "date", "/appointments": "datetime", "/payments": "due_date", "/interactions": "occurred_at"} {
		require.Equal(t, newest, days(p.Get(one + path)["items"].([]any), field), path)
		require.Equal(t, newest[2:], days(p.Get(one + path + "?per_page=2&page=2")["items"].([]any), field), path)
	}
	require.Equal(t, newest[:3], days(key.Get("/integrations/search/appointments?limit=3&patient_id=" + id)["appointments"].([]any), "datetime"))
	require.Equal(t, newest[:3], days(key.Get("/integrations/search/records?limit=3&patient_id=" + id)["records"].([]any), "date"))
}

// What document 3 has search/patients answer, exactly: the last appointment that took
// place, the next one that is to, and what is owed.
func TestSearchedPatientIsWhole(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 3, 15, 0, 0, 0, time.UTC)
	p := NewClinicAt(t, now)
	id := p.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": Phone, "email": "ana@example.com", "cpf": CPF, "birth_date": "1990-05-17"})["id"].(string)
	one, key := "/patients/"+id, p.NewKey()
	at := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	for after, status := range map[time.Duration]string{
		-72 * time.Hour: "completed", -48 * time.Hour: "completed", -24 * time.Hour: "no_show", -12 * time.Hour: "cancelled",
		12 * time.Hour: "cancelled", 24 * time.Hour: "scheduled", 48 * time.Hour: "confirmed",
	} {
		p.OK(201, "POST", one+"/appointments", object{"datetime": at(after), "status": status})
	}
	p.OK(201, "POST", one+"/payments", object{"amount": 10.55, "due_date": "2026-04-01"})
	p.OK(201, "POST", one+"/payments", object{"amount": 5.20, "due_date": "2026-03-02"})
	p.OK(201, "POST", one+"/payments", object{"amount": 7, "due_date": "2026-03-02", "status": "paid"})
	p.OK(200, "POST", "/payments/run-overdue", nil)
	require.Equal(t, object{"found": true, "patient": object{
		"id": id, "name": "Ana Souza", "phone": Phone, "email": "ana@example.com", "cpf": "***.***.***-09", "birth_date": "1990-05-17",
		"last_appointment": at(-48 * time.Hour), "next_appointment": at(24 * time.Hour), "balance_due": 15.75, "status": "active",
	}}, key.Get("/integrations/search/patients?phone=%2B5511987654321"))

	// Who was put away is found, where nobody else has the number; of two numbers the first is asked for.
	p.OK(204, "DELETE", one, nil)
	p.AddPatient("+5511900001111")
	for _, query := range []string{"phone=5511987654321", "phone=5511987654321&phone=5511900001111"} {
		got := key.Get("/integrations/search/patients?" + query)
		require.Equal(t, true, got["found"], query)
		require.Equal(t, id, got["patient"].(object)["id"], query)
		require.Equal(t, "inactive", got["patient"].(object)["status"], query)
	}
}

// Who logs something without saying for whom is called integration, or by the product its
// key belongs to; a booking stands on the history with what, with whom and when.
func TestHistoryLines(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	id := p.AddPatient(Phone)
	s := p.ConnectPeer("scheduling")
	said := object{"patient_phone": Phone, "interaction_type": "call", "summary": "x"}
	p.NewKey().OK(200, "POST", "/integrations/action/log-interaction", said)
	require.Equal(t, "integration", p.Items("/patients/" + id + "/interactions")[0]["source"])
	p.As(s.Key).OK(200, "POST", "/integrations/action/log-interaction", said)
	require.Equal(t, "scheduling", p.Items("/patients/" + id + "/interactions")[0]["source"])
	for _, booked := range []object{
		{"appointment_id": "a-1", "service": "Cleaning", "professional": "Dra. Lima"}, {"appointment_id": "a-2", "service": "Cleaning", "professional": ""},
		{"appointment_id": "a-3", "service": "", "professional": "Dra. Lima"},
	} {
		booked["client_phone"], booked["datetime"] = Phone, "2027-01-04T09:00:00-03:00"
		s.Send("accepted", "appointment.created", booked)
	}
	require.Subset(t, p.History(id), []string{
		"appointment_created: Cleaning, Dra. Lima, 2027-01-04T12:00:00Z", "appointment_created: Cleaning, 2027-01-04T12:00:00Z", "appointment_created: Dra. Lima, 2027-01-04T12:00:00Z",
	})
}

// What is encrypted opens in its own row only: copied to another one, of the same clinic
// even, it does not.
func TestSealedValuesAreBoundToTheirRows(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	p.OK(200, "PUT", "/clinic", object{"reveal_cpf": true})
	ana := p.OK(201, "POST", "/patients", object{"name": "Ana", "cpf": CPF})["id"].(string)
	gil := p.OK(201, "POST", "/patients", object{"name": "Gil", "cpf": "529.982.247-25"})["id"].(string)
	first := p.OK(201, "POST", "/patients/"+ana+"/records", object{"date": "2026-03-02", "type": "x", "content": "What Ana told"})["id"]
	p.OK(201, "POST", "/patients/"+gil+"/records", object{"date": "2026-03-02", "type": "x", "content": "What Gil told"})
	require.Equal(t, CPF, p.Get("/patients/" + ana + "?reveal=cpf")["cpf"])
	require.Equal(t, "What Gil told", p.Items("/patients/" + gil + "/records")[0]["content"])

	p.Exec(`update clinic.records r set content_enc = (select o.content_enc from clinic.records o where o.clinic_id = $1 and o.id = $2) where clinic_id = $1 and patient_id = $3`, first, gil)
	p.Exec(`update clinic.patients r set cpf_enc = (select o.cpf_enc from clinic.patients o where o.clinic_id = $1 and o.id = $2) where clinic_id = $1 and id = $3`, ana, gil)
	for _, path := range []string{"/records", "?reveal=cpf"} {
		got := p.Call("GET", "/patients/"+gil+path, nil)
		require.Equal(t, 500, got.Status, got.Text)
		require.NotContains(t, got.Text, "Ana")
		require.NotContains(t, got.Text, CPF)
		require.Equal(t, 200, p.Call("GET", "/patients/"+ana+path, nil).Status, "its own row's is as it was")
	}
}
