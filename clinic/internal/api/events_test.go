package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// write is one path that changes data, and the events of it.
type write struct {
	name  string
	do    func(f *clinictest.ChartedClinic) answer
	kinds []string
}

// writes is every way to change a clinic's data, over HTTP and by jobs.
func writes() []write {
	call := func(method, path string, body any) func(*clinictest.ChartedClinic) answer {
		return func(clinic *clinictest.ChartedClinic) answer { return clinic.Call(method, path, body) }
	}
	of := func(method, path string, body any) func(*clinictest.ChartedClinic) answer {
		return func(clinic *clinictest.ChartedClinic) answer {
			return clinic.Call(method, "/patients/"+clinic.PatientID+path, body)
		}
	}
	return []write{
		{"patients.create", call("POST", "/patients", object{"name": "Davi"}), []string{"patient.created"}},
		{"patients.update", of("PUT", "", object{"name": "Ana Lima"}), []string{"patient.updated"}},
		{"patients.update", of("PUT", "", object{"name": "Ana", "phone": clinictest.Phone, "cpf": clinictest.CPF}), nil}, // nothing changes
		{"patients.delete", of("DELETE", "", nil), []string{"patient.updated"}},
		{"records.create", of("POST", "/records", object{"date": "2026-03-02", "type": "x"}), []string{"record.created"}},
		{"records.create", of("POST", "/records", object{"date": "2026-03-02", "type": "x", "sensitivity": "R"}), []string{"record.created"}},
		{"records.create", of("POST", "/records", object{"date": "2026-03-02", "type": "x", "sensitivity": "V"}), nil},
		{"appointments.create", of("POST", "/appointments", object{"datetime": "2026-03-02T09:00:00Z"}), nil},
		{"appointments.update", func(clinic *clinictest.ChartedClinic) answer {
			return clinic.Call("PUT", "/appointments/"+clinic.AppointmentID, object{"status": "completed"})
		}, nil},
		{"payments.create", of("POST", "/payments", object{"amount": 1, "due_date": "2099-01-01"}), nil},
		{"payments.create", of("POST", "/payments", object{"amount": 1, "due_date": "2026-03-02", "status": "paid"}), []string{"payment.received"}},
		{"payments.pay", func(clinic *clinictest.ChartedClinic) answer {
			return clinic.Call("POST", "/payments/"+clinic.PendingPaymentID+"/pay", nil)
		}, []string{"payment.received"}},
		{"payments.pay", func(clinic *clinictest.ChartedClinic) answer {
			return clinic.Call("POST", "/payments/"+clinic.LatePaymentID+"/pay", object{"method": "cash"})
		}, []string{"payment.received"}},
		{"payments.cancel", func(clinic *clinictest.ChartedClinic) answer {
			return clinic.Call("POST", "/payments/"+clinic.PendingPaymentID+"/cancel", nil)
		}, nil},
		{"payments.run-overdue", call("POST", "/payments/run-overdue", nil), []string{"payment.overdue"}},
		{"interactions.create", of("POST", "/interactions", object{"interaction_type": "call", "summary": "x"}), nil},
		{"integrations.log-interaction", func(clinic *clinictest.ChartedClinic) answer {
			return clinic.NewKey().Call("POST", "/integrations/action/log-interaction", object{"patient_phone": clinictest.Phone, "interaction_type": "call"})
		}, nil},
		{"deletions.request", of("POST", "/deletion-request", nil), []string{"patient.deleted"}},
		{"deletions.acknowledge", func(clinic *clinictest.ChartedClinic) answer {
			return clinic.Call("POST", "/deletion-requests/"+clinic.DeletionID+"/peers/messaging/acknowledge", nil)
		}, nil},
		{"patients.merge", func(clinic *clinictest.ChartedClinic) answer {
			return clinic.Call("POST", "/patients/"+clinic.PatientID+"/merge", object{"into": clinic.OtherPatientID})
		}, []string{"patient.updated", "patient.updated"}},
		{"merges.undo", nil, nil}, // TestMergeAndUndo
		{"inbox.link", func(clinic *clinictest.ChartedClinic) answer {
			return clinic.Call("POST", "/integrations/inbox/"+clinic.InboxEntryID+"/link", object{"patient_id": clinic.PatientID})
		}, nil},
		{"inbox.dismiss", func(clinic *clinictest.ChartedClinic) answer {
			return clinic.Call("POST", "/integrations/inbox/"+clinic.InboxEntryID+"/dismiss", nil)
		}, nil},
		{"professionals.create", call("POST", "/professionals", object{"name": "Dr. Reis"}), nil},
		{"professionals.update", func(clinic *clinictest.ChartedClinic) answer {
			return clinic.Call("PUT", "/professionals/"+clinic.ProfessionalID, object{"is_active": false})
		}, nil},
		{"professionals.delete", func(clinic *clinictest.ChartedClinic) answer {
			return clinic.Call("DELETE", "/professionals/"+clinic.ProfessionalID, nil)
		}, nil},
		{"clinic.update", call("PUT", "/clinic", object{"name": "Clínica Lua"}), nil},
		{"users.create", func(clinic *clinictest.ChartedClinic) answer {
			return clinic.Call("POST", "/users", object{"name": "Edu", "email": "edu-" + clinic.Email, "password": clinictest.Password})
		}, nil},
		{"users.update", nil, nil}, {"users.delete", nil, nil}, // TestUsers
		{"imports.create", nil, nil}, {"imports.undo", nil, nil}, // in the background: TestImportBatchIsAtomic
		{"fhir.export-by-post", nil, nil}, {"fhir.delete-export", nil, nil}, // they change no data of patients
	}
}

// Every write operation is in the table, so that a new one cannot skip its events.
func TestEveryWriteIsInTheTable(t *testing.T) {
	t.Parallel()
	f := clinictest.NewClinic(t)
	tried := map[string]bool{"auth.register": true, "auth.login": true, "auth.refresh": true, "auth.logout": true, "auth.forgot-password": true, "auth.reset-password": true, "patients.search": true, "fhir.find-patients": true,
		"fhir.find-appointments": true, "fhir.find-encounters": true, "fhir.find-documents": true, "fhir.find-communications": true, "fhir.everything-by-post": true}
	for _, w := range writes() {
		tried[w.name] = true
	}
	for _, op := range f.OwnOperations() {
		if op.Method != "GET" {
			require.True(t, tried[op.ID], "%s %s (%s): add it to writes()", op.Method, op.Path, op.ID)
		}
	}
}

// A write and its events are one transaction: if the events cannot be stored, nothing is.
func TestWritesAreAtomicWithTheirEvents(t *testing.T) {
	t.Parallel()
	p := clinictest.NewClinicAlone(t)
	for _, w := range writes() {
		if w.do == nil {
			continue
		}
		f := p.AnotherClinic().WithRecords()
		already := len(f.Events())
		if len(w.kinds) > 0 {
			before := f.Snapshot()
			f.Hub.FailPublishing.Store(true)
			require.Equal(t, 500, w.do(f).Status, w.name)
			f.Hub.FailPublishing.Store(false)
			require.Equal(t, before, f.Snapshot(), "%s: rolled back", w.name)
			require.Empty(t, f.EventTypes(already), w.name)
		}
		got := w.do(f)
		require.Less(t, got.Status, 300, "%s: %s", w.name, got.Text)
		require.ElementsMatch(t, w.kinds, f.EventTypes(already), w.name)
	}
}

// The data of events is that of docs/interfaces/clinic.md, "Events".
func TestEventData(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewChartedClinic(t)
	messaging := clinic.ConnectPeer("scheduling")
	already := len(clinic.Events())
	created := clinic.OK(201, "POST", "/patients", object{"name": "Davi", "phone": "+5511922223333", "email": "davi@example.com", "cpf": "529.982.247-25"})["id"]
	clinic.OK(200, "PUT", "/patients/"+clinic.PatientID, object{"name": "Ana Lima", "phone": "+5511944445555", "email": nil})
	clinic.OK(201, "POST", "/patients/"+clinic.PatientID+"/records", object{"date": "2026-03-02", "type": "consultation", "content": "secret", "summary": "Fine"})
	clinic.OK(201, "POST", "/patients/"+clinic.PatientID+"/records", object{"date": "2026-03-02", "type": "psychiatry", "summary": "secret", "sensitivity": "R"})
	events := clinic.Events()[already:] // before the deletion clears them in the log
	require.Equal(t, object{"patient_id": created, "name": "Davi", "phone": "+5511922223333", "email": "davi@example.com", "cpf": "***.***.***-25"}, events[0].Data)
	require.Equal(t, object{"patient_id": clinic.PatientID, "changed_fields": []any{"name", "phone", "email"}, "phone": clinictest.Phone}, events[1].Data)
	require.Equal(t, object{"patient_id": clinic.PatientID, "record_type": "consultation", "summary": "Fine"}, events[2].Data)
	require.Equal(t, object{"patient_id": clinic.PatientID, "record_type": "restricted", "summary": "***"}, events[3].Data)
	require.Len(t, events, 4)
	require.Eventually(t, func() bool { return len(messaging.Received("record.created")) == 2 }, clinictest.Timeout, clinictest.Tick)
	updated := clinic.OK(202, "POST", "/patients/"+clinic.PatientID+"/deletion-request", nil)
	deleted := clinic.Events()[already+4].Data
	when, err := time.Parse(time.RFC3339, deleted["requested_at"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), when, time.Minute)
	delete(deleted, "requested_at")
	require.Equal(t, object{"patient_id": clinic.PatientID, "name": "Ana Lima", "phone": "+5511944445555", "phones": []any{clinictest.Phone}, "names": []any{"Ana"}, "phone_shared": false, "email_shared": false, "email": nil, "deletion_request_id": updated["id"]}, deleted)
	require.Eventually(t, func() bool { return len(messaging.Received("patient.deleted")) == 1 }, clinictest.Timeout, clinictest.Tick)
}
