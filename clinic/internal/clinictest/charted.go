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

// NewChartedClinic returns a clinic that has one of everything, at the hub that the tests of the
// process share.
func NewChartedClinic(t testing.TB) *ChartedClinic {
	t.Helper()
	return NewClinic(t).WithRecords()
}

// WithRecords adds one of everything to the clinic.
func (c *Clinic) WithRecords() *ChartedClinic {
	c.T.Helper()
	charted := &ChartedClinic{Clinic: c}
	charted.PatientID = c.OK(201, "POST", "/patients", object{"name": "Ana", "phone": Phone, "email": "ana@example.com", "cpf": CPF})["id"].(string)
	charted.OtherPatientID = c.AddPatient("+5511900001111")
	charted.AppointmentID = c.OK(201, "POST", "/patients/"+charted.PatientID+"/appointments", object{"datetime": "2027-01-04T12:00:00Z"})["id"].(string)
	charted.PendingPaymentID = c.OK(201, "POST", "/patients/"+charted.PatientID+"/payments", object{"amount": 5, "due_date": DateIn(c.T, 5)})["id"].(string)
	charted.LatePaymentID = c.OK(201, "POST", "/patients/"+charted.PatientID+"/payments", object{"amount": 5, "due_date": DateIn(c.T, -5)})["id"].(string)
	charted.ProfessionalID = c.OK(201, "POST", "/professionals", object{"name": "Dra. Lima", "register": "CRM/SP 1"})["id"].(string)
	c.ConnectPeer("messaging").Send("ignored", "message.received", object{"phone": "+5511911112222", "body": "Hi", "ticket_id": 1})
	charted.InboxEntryID = c.Items("/integrations/inbox")[0]["id"].(string)
	path := c.RequestDeletion(c.AddPatient("+5511900002222"))
	c.WaitForDeletion(path, "completed") // so that it can be acknowledged
	charted.DeletionID = strings.TrimPrefix(path, "/deletion-requests/")
	return charted
}

// Chart is a patient with one of everything that a chart can hold.
type Chart struct {
	*Clinic
	PatientID, AppointmentID, VisitID, CancelledAppointmentID, RecordID, RestrictedRecordID, SecretRecordID, PaymentID, InteractionID string
}

// NewChart returns a clinic that has a patient with a chart, at the hub that the tests of the
// process share.
func NewChart(t testing.TB) *Chart {
	t.Helper()
	return NewClinic(t).AddPatientWithChart()
}

// AddPatientWithChart adds a patient with a chart.
func (c *Clinic) AddPatientWithChart() *Chart {
	c.T.Helper()
	chart := &Chart{Clinic: c}
	chart.AddChart(c.OK(201, "POST", "/patients", object{
		"name": "Édson da Silva", "phone": "+5511987654321", "email": "edson@example.com", "cpf": CPF, "birth_date": "1980-03-02",
	})["id"].(string))
	return chart
}

// AddChart adds one of everything to a patient's chart.
func (c *Chart) AddChart(patientID string) {
	c.T.Helper()
	add := func(path string, body object) string {
		c.T.Helper()
		return c.OK(201, "POST", "/patients/"+patientID+path, body)["id"].(string)
	}
	c.PatientID = patientID
	c.AppointmentID = add("/appointments", object{"datetime": "2026-03-02T09:00:00-03:00", "service": "Consulta", "professional": "Dra. Lia"})
	c.VisitID = add("/appointments", object{"datetime": "2026-02-02T09:00:00-03:00", "service": "Retorno", "professional": "Dra. Lia", "status": "completed"})
	c.CancelledAppointmentID = add("/appointments", object{"datetime": "2026-01-02T09:00:00-03:00", "status": "cancelled"})
	c.RecordID = add("/records", object{"date": "2026-02-02", "type": "evolution", "professional": "Dra. Lia", "content": "the whole story", "summary": "seen, all is well"})
	c.RestrictedRecordID = add("/records", object{"date": "2026-02-03", "type": "psychiatry", "professional": "Dr. Rui", "content": "a restricted story", "summary": "known to nobody", "sensitivity": "R"})
	c.SecretRecordID = add("/records", object{"date": "2026-02-04", "type": "serology", "content": "a secret story", "summary": "not even that it is", "sensitivity": "V"})
	c.PaymentID = add("/payments", object{"amount": 150.5, "description": "Consulta", "due_date": "2026-03-02"})
	c.InteractionID = add("/interactions", object{"interaction_type": "phone_call", "summary": "=HYPERLINK(1)", "occurred_at": "2026-02-05T10:00:00Z"})
}
