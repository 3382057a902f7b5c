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
	p := newPractice(t)
	sandbox := p.on("test")
	id := p.patient(phone)
	booked := object{"appointment_id": "a-1", "client_phone": phone, "service": "Cleaning", "professional": "Dra. Lima", "datetime": "2027-01-04T12:00:00Z"}
	p.connect("messaging").send("accepted", "ticket.created", object{"phone": phone, "name": "Ana", "ticket_id": 42, "queue": "Reception"})
	p.connect("scheduling").send("accepted", "appointment.created", booked)
	owed := p.due(inDays(t, 5))
	before := p.snapshot()

	sandbox.connect("messaging").send("ignored", "ticket.closed", object{"ticket_id": 42, "resolution": "done"})
	s := sandbox.connect("scheduling")
	s.send("ignored", "appointment.cancelled", object{"appointment_id": "a-1", "reason": "travelling"})
	s.send("ignored", "appointment.noshow", object{"appointment_id": "a-1", "client_phone": phone})
	waiting := sandbox.items("/integrations/inbox")
	require.Len(t, waiting, 3)
	require.Empty(t, p.items("/integrations/inbox"))
	sandbox.exec(`delete from clinic.inbox where clinic_id = $1 and env = 'test' and event_type <> 'ticket.closed'`)
	entry := sandbox.items("/integrations/inbox")[0]["id"].(string)
	sandbox.refused(404, "not_found", "POST", "/integrations/inbox/"+entry+"/link", object{"patient_id": id})
	trial := sandbox.key()
	trial.headers = nil
	said := object{"patient_phone": phone, "interaction_type": "call", "source_id": "7"}
	trial.refused(404, "patient_not_found", "POST", "/integrations/action/log-interaction", said)
	p.exec(`delete from clinic.inbox where clinic_id = $1 and env = 'test'`)
	require.Equal(t, before, p.snapshot())

	// The other way round, and with somebody of the same number.
	double := sandbox.patient(phone)
	require.Equal(t, double, trial.ok(200, "POST", "/integrations/action/log-interaction", said)["patient_id"])
	require.Equal(t, []string{"call: "}, sandbox.history(double))
	require.Len(t, p.history(id), 2)
	appointment := sandbox.ok(201, "POST", "/patients/"+double+"/appointments", object{"datetime": "2027-01-04T12:00:00Z"})["id"]
	p.refused(404, "not_found", "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": inDays(t, 0), "appointment_id": appointment})
	p.ok(200, "POST", "/payments/"+owed+"/cancel", nil)
	p.connect("messaging").send("ignored", "message.received", object{"phone": "+5511911112222", "body": "Hi", "ticket_id": 1})
	entry = p.items("/integrations/inbox")[0]["id"].(string)
	p.refused(404, "not_found", "POST", "/integrations/inbox/"+entry+"/link", object{"patient_id": double})
	require.Len(t, p.items("/integrations/inbox"), 1, "it still waits")
}

// Every list begins with the newest.
func TestListsBeginWithTheNewest(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	one, key := "/patients/"+id, p.key()
	for _, day := range []string{"2026-03-02", "2026-03-04", "2026-03-01", "2026-03-03"} {
		p.ok(201, "POST", one+"/records", object{"date": day, "type": "x"})
		p.ok(201, "POST", one+"/appointments", object{"datetime": day + "T12:00:00Z"})
		p.ok(201, "POST", one+"/payments", object{"amount": 1, "due_date": day})
		p.ok(201, "POST", one+"/interactions", object{"interaction_type": "call", "summary": "x", "occurred_at": day + "T12:00:00Z"})
	}
	days := func(list []any, field string) (found []string) {
		for _, one := range list {
			found = append(found, one.(object)[field].(string)[:len("2026-03-02")])
		}
		return found
	}
	newest := []string{"2026-03-04", "2026-03-03", "2026-03-02", "2026-03-01"}
	for path, field := range map[string]string{"/records": "date", "/appointments": "datetime", "/payments": "due_date", "/interactions": "occurred_at"} {
		require.Equal(t, newest, days(p.get(one + path)["items"].([]any), field), path)
		require.Equal(t, newest[2:], days(p.get(one + path + "?per_page=2&page=2")["items"].([]any), field), path)
	}
	require.Equal(t, newest[:3], days(key.get("/integrations/search/appointments?limit=3&patient_id=" + id)["appointments"].([]any), "datetime"))
	require.Equal(t, newest[:3], days(key.get("/integrations/search/records?limit=3&patient_id=" + id)["records"].([]any), "date"))
}

// What document 3 has search/patients answer, exactly: the last appointment that took
// place, the next one that is to, and what is owed.
func TestSearchedPatientIsWhole(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 3, 15, 0, 0, 0, time.UTC)
	p := practiceOn(t, now)
	id := p.ok(201, "POST", "/patients", object{"name": "Ana Souza", "phone": phone, "email": "ana@example.com", "cpf": cpf, "birth_date": "1990-05-17"})["id"].(string)
	one, key := "/patients/"+id, p.key()
	at := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	for after, status := range map[time.Duration]string{
		-72 * time.Hour: "completed", -48 * time.Hour: "completed", -24 * time.Hour: "no_show", -12 * time.Hour: "cancelled",
		12 * time.Hour: "cancelled", 24 * time.Hour: "scheduled", 48 * time.Hour: "confirmed",
	} {
		p.ok(201, "POST", one+"/appointments", object{"datetime": at(after), "status": status})
	}
	p.ok(201, "POST", one+"/payments", object{"amount": 10.55, "due_date": "2026-04-01"})
	p.ok(201, "POST", one+"/payments", object{"amount": 5.20, "due_date": "2026-03-02"})
	p.ok(201, "POST", one+"/payments", object{"amount": 7, "due_date": "2026-03-02", "status": "paid"})
	p.ok(200, "POST", "/payments/run-overdue", nil)
	require.Equal(t, object{"found": true, "patient": object{
		"id": id, "name": "Ana Souza", "phone": phone, "email": "ana@example.com", "cpf": "***.***.***-09", "birth_date": "1990-05-17",
		"last_appointment": at(-48 * time.Hour), "next_appointment": at(24 * time.Hour), "balance_due": 15.75, "status": "active",
	}}, key.get("/integrations/search/patients?phone=%2B5511987654321"))

	// Who was put away is found, where nobody else has the number; of two numbers the first is asked for.
	p.ok(204, "DELETE", one, nil)
	p.patient("+5511900001111")
	for _, query := range []string{"phone=5511987654321", "phone=5511987654321&phone=5511900001111"} {
		got := key.get("/integrations/search/patients?" + query)
		require.Equal(t, true, got["found"], query)
		require.Equal(t, id, got["patient"].(object)["id"], query)
		require.Equal(t, "inactive", got["patient"].(object)["status"], query)
	}
}

// Who logs something without saying for whom is called integration, or by the product its
// key belongs to; a booking stands on the history with what, with whom and when.
func TestHistoryLines(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	s := p.connect("scheduling")
	said := object{"patient_phone": phone, "interaction_type": "call", "summary": "x"}
	p.key().ok(200, "POST", "/integrations/action/log-interaction", said)
	require.Equal(t, "integration", p.items("/patients/" + id + "/interactions")[0]["source"])
	p.as(s.key).ok(200, "POST", "/integrations/action/log-interaction", said)
	require.Equal(t, "scheduling", p.items("/patients/" + id + "/interactions")[0]["source"])
	for _, booked := range []object{
		{"appointment_id": "a-1", "service": "Cleaning", "professional": "Dra. Lima"}, {"appointment_id": "a-2", "service": "Cleaning", "professional": ""},
		{"appointment_id": "a-3", "service": "", "professional": "Dra. Lima"},
	} {
		booked["client_phone"], booked["datetime"] = phone, "2027-01-04T09:00:00-03:00"
		s.send("accepted", "appointment.created", booked)
	}
	require.Subset(t, p.history(id), []string{
		"appointment_created: Cleaning, Dra. Lima, 2027-01-04T12:00:00Z", "appointment_created: Cleaning, 2027-01-04T12:00:00Z", "appointment_created: Dra. Lima, 2027-01-04T12:00:00Z",
	})
}

// What is encrypted opens in its own row only: copied to another one, of the same clinic
// even, it does not.
func TestSealedValuesAreBoundToTheirRows(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	p.ok(200, "PUT", "/clinic", object{"reveal_cpf": true})
	ana := p.ok(201, "POST", "/patients", object{"name": "Ana", "cpf": cpf})["id"].(string)
	gil := p.ok(201, "POST", "/patients", object{"name": "Gil", "cpf": "529.982.247-25"})["id"].(string)
	first := p.ok(201, "POST", "/patients/"+ana+"/records", object{"date": "2026-03-02", "type": "x", "content": "What Ana told"})["id"]
	p.ok(201, "POST", "/patients/"+gil+"/records", object{"date": "2026-03-02", "type": "x", "content": "What Gil told"})
	require.Equal(t, cpf, p.get("/patients/" + ana + "?reveal=cpf")["cpf"])
	require.Equal(t, "What Gil told", p.items("/patients/" + gil + "/records")[0]["content"])

	p.exec(`update clinic.records r set content_enc = (select o.content_enc from clinic.records o where o.clinic_id = $1 and o.id = $2) where clinic_id = $1 and patient_id = $3`, first, gil)
	p.exec(`update clinic.patients r set cpf_enc = (select o.cpf_enc from clinic.patients o where o.clinic_id = $1 and o.id = $2) where clinic_id = $1 and id = $3`, ana, gil)
	for _, path := range []string{"/records", "?reveal=cpf"} {
		got := p.call("GET", "/patients/"+gil+path, nil)
		require.Equal(t, 500, got.status, got.text)
		require.NotContains(t, got.text, "Ana")
		require.NotContains(t, got.text, cpf)
		require.Equal(t, 200, p.call("GET", "/patients/"+ana+path, nil).status, "its own row's is as it was")
	}
}
