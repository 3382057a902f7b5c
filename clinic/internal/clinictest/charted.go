package clinictest

import (
	"strings"
	"testing"
)

// ChartedClinic is a clinic with one of everything.
type ChartedClinic struct {
	*Clinic
	PatientID, OtherPatientID, AppointmentID, PendingPaymentID, LatePaymentID, ProfessionalID, InboxEntryID, DeletionID string
}

func NewChartedClinic(t *testing.T) *ChartedClinic {
	t.Helper()
	return NewClinic(t).WithRecords(t)
}

func (p *Clinic) WithRecords(t *testing.T) *ChartedClinic {
	t.Helper()
	f := &ChartedClinic{Clinic: p}
	f.PatientID = p.OK(201, "POST", "/patients", object{"name": "Ana", "phone": Phone, "email": "ana@example.com", "cpf": CPF})["id"].(string)
	f.OtherPatientID = p.AddPatient("+5511900001111")
	f.AppointmentID = p.OK(201, "POST", "/patients/"+f.PatientID+"/appointments", object{"datetime": "2027-01-04T12:00:00Z"})["id"].(string)
	f.PendingPaymentID = p.OK(201, "POST", "/patients/"+f.PatientID+"/payments", object{"amount": 5, "due_date": DateIn(t, 5)})["id"].(string)
	f.LatePaymentID = p.OK(201, "POST", "/patients/"+f.PatientID+"/payments", object{"amount": 5, "due_date": DateIn(t, -5)})["id"].(string)
	f.ProfessionalID = p.OK(201, "POST", "/professionals", object{"name": "Dra. Lima", "register": "CRM/SP 1"})["id"].(string)
	p.ConnectPeer("messaging").Send("ignored", "message.received", object{"phone": "+5511911112222", "body": "Hi", "ticket_id": 1})
	f.InboxEntryID = p.Items("/integrations/inbox")[0]["id"].(string)
	path := p.RequestDeletion(p.AddPatient("+5511900002222"))
	p.WaitForDeletion(path, "completed") // so that it can be acknowledged
	f.DeletionID = strings.TrimPrefix(path, "/deletion-requests/")
	return f
}

// Chart is a patient with one of everything.
type Chart struct {
	*Clinic
	PatientID, AppointmentID, VisitID, CancelledAppointmentID, RecordID, RestrictedRecordID, SecretRecordID, PaymentID, InteractionID string
}

func NewChart(t *testing.T) *Chart {
	t.Helper()
	c := &Chart{Clinic: NewClinic(t)}
	c.AddPatientWithChart()
	return c
}

// AddPatientWithChart makes the patient too.
func (c *Chart) AddPatientWithChart() {
	c.T.Helper()
	c.AddChart(c.OK(201, "POST", "/patients", object{
		"name": "Édson da Silva", "phone": "+5511987654321", "email": "edson@example.com", "cpf": CPF, "birth_date": "1980-03-02",
	})["id"].(string))
}

// AddChart gives a patient one of everything.
func (c *Chart) AddChart(patient string) {
	c.T.Helper()
	add := func(path string, body object) string {
		c.T.Helper()
		return c.OK(201, "POST", "/patients/"+patient+path, body)["id"].(string)
	}
	c.PatientID = patient
	c.AppointmentID = add("/appointments", object{"datetime": "2026-03-02T09:00:00-03:00", "service": "Consulta", "professional": "Dra. Lia"})
	c.VisitID = add("/appointments", object{"datetime": "2026-02-02T09:00:00-03:00", "service": "Retorno", "professional": "Dra. Lia", "status": "completed"})
	c.CancelledAppointmentID = add("/appointments", object{"datetime": "2026-01-02T09:00:00-03:00", "status": "cancelled"})
	c.RecordID = add("/records", object{"date": "2026-02-02", "type": "evolution", "professional": "Dra. Lia", "content": "the whole story", "summary": "seen, all is well"})
	c.RestrictedRecordID = add("/records", object{"date": "2026-02-03", "type": "psychiatry", "professional": "Dr. Rui", "content": "a restricted story", "summary": "told to nobody", "sensitivity": "R"})
	c.SecretRecordID = add("/records", object{"date": "2026-02-04", "type": "serology", "content": "a secret story", "summary": "not even that it is", "sensitivity": "V"})
	c.PaymentID = add("/payments", object{"amount": 150.5, "description": "Consulta", "due_date": "2026-03-02"})
	c.InteractionID = add("/interactions", object{"interaction_type": "phone_call", "summary": "=HYPERLINK(1)", "occurred_at": "2026-02-05T10:00:00Z"})
}
