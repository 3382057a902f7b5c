package clinic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module"
)

func (p *practice) job(name string) module.Job {
	p.t.Helper()
	for _, job := range p.hub.Instance.(module.Worker).Jobs() {
		if job.Name == name {
			return job
		}
	}
	require.Fail(p.t, "no such job", name)
	return module.Job{}
}

// write is one path that changes data, and the events of it.
type write struct {
	name  string
	do    func(f *fixture) answer
	kinds []string
}

// fixture is a clinic with one of everything.
type fixture struct {
	*practice
	patient, other, appointment, pending, late, professional, entry, deletion string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newPractice(t).fixture(t)
}

func (p *practice) fixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{practice: p}
	f.patient = p.ok(201, "POST", "/patients", object{"name": "Ana", "phone": phone, "email": "ana@example.com", "cpf": cpf})["id"].(string)
	f.other = p.patient("+5511900001111")
	f.appointment = p.ok(201, "POST", "/patients/"+f.patient+"/appointments", object{"datetime": "2027-01-04T12:00:00Z"})["id"].(string)
	f.pending = p.ok(201, "POST", "/patients/"+f.patient+"/payments", object{"amount": 5, "due_date": inDays(t, 5)})["id"].(string)
	f.late = p.ok(201, "POST", "/patients/"+f.patient+"/payments", object{"amount": 5, "due_date": inDays(t, -5)})["id"].(string)
	f.professional = p.ok(201, "POST", "/professionals", object{"name": "Dra. Lima", "register": "CRM/SP 1"})["id"].(string)
	p.connect("messaging").send("ignored", "message.received", object{"phone": "+5511911112222", "body": "Hi", "ticket_id": 1})
	f.entry = p.items("/integrations/inbox")[0]["id"].(string)
	path := p.deleted(p.patient("+5511900002222"))
	p.follows(path, "completed") // so that it can be acknowledged
	f.deletion = strings.TrimPrefix(path, "/deletion-requests/")
	return f
}

// writes is every way to change a clinic's data, over HTTP and by jobs.
func writes() []write {
	call := func(method, path string, body any) func(*fixture) answer {
		return func(f *fixture) answer { return f.call(method, path, body) }
	}
	of := func(method, path string, body any) func(*fixture) answer {
		return func(f *fixture) answer { return f.call(method, "/patients/"+f.patient+path, body) }
	}
	return []write{
		{"patients.create", call("POST", "/patients", object{"name": "Davi"}), []string{"patient.created"}},
		{"patients.update", of("PUT", "", object{"name": "Ana Lima"}), []string{"patient.updated"}},
		{"patients.update", of("PUT", "", object{"name": "Ana", "phone": phone, "cpf": cpf}), nil}, // nothing changes
		{"patients.delete", of("DELETE", "", nil), []string{"patient.updated"}},
		{"records.create", of("POST", "/records", object{"date": "2026-03-02", "type": "x"}), []string{"record.created"}},
		{"records.create", of("POST", "/records", object{"date": "2026-03-02", "type": "x", "sensitivity": "R"}), []string{"record.created"}},
		{"records.create", of("POST", "/records", object{"date": "2026-03-02", "type": "x", "sensitivity": "V"}), nil},
		{"appointments.create", of("POST", "/appointments", object{"datetime": "2026-03-02T09:00:00Z"}), nil},
		{"appointments.update", func(f *fixture) answer {
			return f.call("PUT", "/appointments/"+f.appointment, object{"status": "completed"})
		}, nil},
		{"payments.create", of("POST", "/payments", object{"amount": 1, "due_date": "2099-01-01"}), nil},
		{"payments.create", of("POST", "/payments", object{"amount": 1, "due_date": "2026-03-02", "status": "paid"}), []string{"payment.received"}},
		{"payments.pay", func(f *fixture) answer { return f.call("POST", "/payments/"+f.pending+"/pay", nil) }, []string{"payment.received"}},
		{"payments.pay", func(f *fixture) answer { return f.call("POST", "/payments/"+f.late+"/pay", object{"method": "cash"}) }, []string{"payment.received"}},
		{"payments.cancel", func(f *fixture) answer { return f.call("POST", "/payments/"+f.pending+"/cancel", nil) }, nil},
		{"payments.run-overdue", call("POST", "/payments/run-overdue", nil), []string{"payment.overdue"}},
		{"interactions.create", of("POST", "/interactions", object{"interaction_type": "call", "summary": "x"}), nil},
		{"integrations.log-interaction", func(f *fixture) answer {
			return f.key().call("POST", "/integrations/action/log-interaction", object{"patient_phone": phone, "interaction_type": "call"})
		}, nil},
		{"deletions.request", of("POST", "/deletion-request", nil), []string{"patient.deleted"}},
		{"deletions.acknowledge", func(f *fixture) answer {
			return f.call("POST", "/deletion-requests/"+f.deletion+"/peers/messaging/acknowledge", nil)
		}, nil},
		{"inbox.link", func(f *fixture) answer {
			return f.call("POST", "/integrations/inbox/"+f.entry+"/link", object{"patient_id": f.patient})
		}, nil},
		{"inbox.dismiss", func(f *fixture) answer { return f.call("POST", "/integrations/inbox/"+f.entry+"/dismiss", nil) }, nil},
		{"professionals.create", call("POST", "/professionals", object{"name": "Dr. Reis"}), nil},
		{"professionals.update", func(f *fixture) answer {
			return f.call("PUT", "/professionals/"+f.professional, object{"is_active": false})
		}, nil},
		{"professionals.delete", func(f *fixture) answer { return f.call("DELETE", "/professionals/"+f.professional, nil) }, nil},
		{"clinic.update", call("PUT", "/clinic", object{"name": "Clínica Lua"}), nil},
		{"users.create", func(f *fixture) answer {
			return f.call("POST", "/users", object{"name": "Edu", "email": "edu-" + f.email, "password": password})
		}, nil},
		{"users.update", nil, nil}, {"users.delete", nil, nil}, // TestUsers
		{"imports.create", nil, nil}, // in the background: TestImportIsWholeOrNot
	}
}

// Every write path is in the table, so that a new one cannot skip its events.
func TestEveryWriteIsTried(t *testing.T) {
	t.Parallel()
	f := newPractice(t)
	tried := map[string]bool{"auth.register": true, "auth.login": true, "auth.refresh": true, "auth.forgot-password": true, "auth.reset-password": true, "patients.search": true, "fhir.find-patients": true,
		"fhir.find-appointments": true, "fhir.find-encounters": true, "fhir.find-documents": true, "fhir.find-communications": true}
	for _, w := range writes() {
		tried[w.name] = true
	}
	for _, op := range f.operations() {
		if op.method != "GET" {
			require.True(t, tried[op.id], "%s %s (%s): add it to writes()", op.method, op.path, op.id)
		}
	}
}

// Every write has its events, in its transaction: where they cannot be stored, nothing is.
func TestWritesAndTheirEvents(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	for _, w := range writes() {
		if w.do == nil {
			continue
		}
		f := p.another().fixture(t)
		already := len(f.sent())
		if len(w.kinds) > 0 {
			before := f.snapshot()
			f.hub.FailPublishing.Store(true)
			require.Equal(t, 500, w.do(f).status, w.name)
			f.hub.FailPublishing.Store(false)
			require.Equal(t, before, f.snapshot(), "%s: rolled back", w.name)
			require.Empty(t, f.kinds(already), w.name)
		}
		got := w.do(f)
		require.Less(t, got.status, 300, "%s: %s", w.name, got.text)
		require.ElementsMatch(t, w.kinds, f.kinds(already), w.name)
	}
}

// What the events say, as document 3 has it.
func TestEventData(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m := f.connect("scheduling")
	already := len(f.sent())
	made := f.ok(201, "POST", "/patients", object{"name": "Davi", "phone": "+5511922223333", "email": "davi@example.com", "cpf": "529.982.247-25"})["id"]
	f.ok(200, "PUT", "/patients/"+f.patient, object{"name": "Ana Lima", "phone": "+5511944445555", "email": nil})
	f.ok(201, "POST", "/patients/"+f.patient+"/records", object{"date": "2026-03-02", "type": "consultation", "content": "secret", "summary": "Fine"})
	f.ok(201, "POST", "/patients/"+f.patient+"/records", object{"date": "2026-03-02", "type": "psychiatry", "summary": "secret", "sensitivity": "R"})
	done := f.ok(202, "POST", "/patients/"+f.patient+"/deletion-request", nil)
	events := f.sent()[already:]
	require.Equal(t, object{"patient_id": made, "name": "Davi", "phone": "+5511922223333", "email": "davi@example.com", "cpf": "***.***.***-25"}, events[0].data)
	require.Equal(t, object{"patient_id": f.patient, "changed_fields": []any{"name", "phone", "email"}, "phone": phone}, events[1].data)
	require.Equal(t, object{"patient_id": f.patient, "record_type": "consultation", "summary": "Fine"}, events[2].data)
	require.Equal(t, object{"patient_id": f.patient, "record_type": "restricted", "summary": "***"}, events[3].data)
	deleted := events[4].data
	when, err := time.Parse(time.RFC3339, deleted["requested_at"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), when, time.Minute)
	delete(deleted, "requested_at")
	require.Equal(t, object{"patient_id": f.patient, "name": "Ana Lima", "phone": "+5511944445555", "phones": []any{phone}, "phone_shared": false, "email_shared": false, "email": nil, "deletion_request_id": done["id"]}, deleted)
	require.Eventually(t, func() bool { return len(m.arrived("patient.deleted")) == 1 && len(m.arrived("record.created")) == 2 }, soon, tick)
}
