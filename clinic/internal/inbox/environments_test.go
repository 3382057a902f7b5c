package inbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// Events of the test environment that name a live ticket, appointment or number match nothing
// and change no live data. Neither do keys and users in the test environment.
func TestTestEventsDoNotReachLiveData(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	sandbox := clinic.InEnvironment("test")
	id := clinic.AddPatient(clinictest.Phone)
	booked := object{"appointment_id": "a-1", "client_phone": clinictest.Phone, "service": "Cleaning", "professional": "Dra. Lima", "datetime": "2027-01-04T12:00:00Z"}
	clinic.ConnectPeer("messaging").Send("accepted", "ticket.created", object{"phone": clinictest.Phone, "name": "Ana", "ticket_id": 42, "queue": "Reception"})
	clinic.ConnectPeer("scheduling").Send("accepted", "appointment.created", booked)
	owed := clinic.AddDuePayment(clinictest.DateIn(t, 5))
	before := clinic.Snapshot()

	sandbox.ConnectPeer("messaging").Send("ignored", "ticket.closed", object{"ticket_id": 42, "resolution": "done"})
	scheduling := sandbox.ConnectPeer("scheduling")
	scheduling.Send("ignored", "appointment.cancelled", object{"appointment_id": "a-1", "reason": "travelling"})
	scheduling.Send("ignored", "appointment.noshow", object{"appointment_id": "a-1", "client_phone": clinictest.Phone})
	waiting := sandbox.Items("/integrations/inbox")
	require.Len(t, waiting, 3)
	require.Empty(t, clinic.Items("/integrations/inbox"))
	sandbox.Exec(`delete from clinic.inbox where clinic_id = $1 and env = 'test' and event_type <> 'ticket.closed'`)
	entry := sandbox.Items("/integrations/inbox")[0]["id"].(string)
	sandbox.Refused(404, "not_found", "POST", "/integrations/inbox/"+entry+"/link", object{"patient_id": id})
	trial := sandbox.NewKey()
	trial.Headers = nil
	said := object{"patient_phone": clinictest.Phone, "interaction_type": "call", "source_id": "7"}
	trial.Refused(404, "patient_not_found", "POST", "/integrations/action/log-interaction", said)
	clinic.Exec(`delete from clinic.inbox where clinic_id = $1 and env = 'test'`)
	require.Equal(t, before, clinic.Snapshot())

	// The other way round, and with a patient who has the same number.
	double := sandbox.AddPatient(clinictest.Phone)
	require.Equal(t, double, trial.OK(200, "POST", "/integrations/action/log-interaction", said)["patient_id"])
	require.Equal(t, []string{"call: "}, sandbox.History(double))
	require.Len(t, clinic.History(id), 2)
	appointment := sandbox.OK(201, "POST", "/patients/"+double+"/appointments", object{"datetime": "2027-01-04T12:00:00Z"})["id"]
	clinic.Refused(404, "not_found", "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": clinictest.DateIn(t, 0), "appointment_id": appointment})
	clinic.OK(200, "POST", "/payments/"+owed+"/cancel", nil)
	clinic.ConnectPeer("messaging").Send("ignored", "message.received", object{"phone": "+5511911112222", "body": "Hi", "ticket_id": 1})
	entry = clinic.Items("/integrations/inbox")[0]["id"].(string)
	clinic.Refused(404, "not_found", "POST", "/integrations/inbox/"+entry+"/link", object{"patient_id": double})
	require.Len(t, clinic.Items("/integrations/inbox"), 1, "it still waits")
}
