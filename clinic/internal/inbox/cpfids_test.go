package inbox_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

const cpfID = "529.982.247-25"

// Some products name appointments and tickets by the client's CPF. The clinic keeps a keyed hash,
// and knows the appointment and the ticket by it.
func TestIDsThatAreCPFs(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	messaging, scheduling := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling")
	scheduling.Send("ignored", "appointment.reminded", object{"appointment_id": cpfID, "client_phone": stranger})
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and external_id like '%982%'`))
	book := object{"appointment_id": cpfID, "client_phone": clinictest.Phone, "service": "Check", "datetime": "2027-01-04T12:00:00Z"}
	scheduling.Send("accepted", "appointment.created", book)
	require.Empty(t, clinic.Items("/integrations/inbox"), "what waited for it followed")
	scheduling.Send("accepted", "appointment.cancelled", object{"appointment_id": cpfID, "reason": "ill"})
	appointments := clinic.Items("/patients/" + id + "/appointments")
	require.Len(t, appointments, 1)
	require.Equal(t, "cancelled", appointments[0]["status"])
	require.NotNil(t, appointments[0]["reminded_at"])
	require.True(t, strings.HasPrefix(appointments[0]["external_id"].(string), "cpf-"), "%v", appointments[0])
	messaging.Send("accepted", "ticket.created", object{"phone": clinictest.Phone, "name": "Ana", "ticket_id": 52998224725, "queue": "Sales"})
	messaging.Send("accepted", "ticket.closed", object{"ticket_id": 52998224725, "resolution": "done"})
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.tickets where clinic_id = $1 and ticket_id not like 'cpf-%'`))
	require.NotContains(t, fmt.Sprint(clinic.Get("/patients/"+id+"/export")), "52998224725")

	// The ids of an erased patient are recognized.
	clinic.OK(202, "POST", "/patients/"+id+"/deletion-request", nil)
	book["client_phone"] = stranger
	scheduling.Send("ignored", "appointment.created", book)
	messaging.Send("ignored", "ticket.closed", object{"ticket_id": 52998224725, "resolution": "done"})
	require.Empty(t, clinic.Items("/integrations/inbox"))
}

// Ids from before they were masked: the next event finds what is stored, and a job masks the rest.
func TestStoredIDsThatAreCPFs(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.AddPatient(clinictest.Phone)
	messaging, scheduling := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling")
	for _, appointment := range []string{"a-1", "a-2", "12345678901"} {
		scheduling.Send("accepted", "appointment.created", object{"appointment_id": appointment, "client_phone": clinictest.Phone, "service": "Check", "datetime": "2027-01-04T12:00:00Z"})
	}
	messaging.Send("accepted", "ticket.created", object{"phone": clinictest.Phone, "name": "Ana", "ticket_id": "t-1", "queue": "Sales"})
	scheduling.Send("ignored", "appointment.cancelled", object{"appointment_id": "a-3", "reason": "ill"})
	clinic.Exec(`update clinic.appointments set external_id = '` + cpfID + `' where clinic_id = $1 and external_id = 'a-1'`)
	clinic.Exec(`update clinic.appointments set external_id = '52998224725' where clinic_id = $1 and external_id = 'a-2'`)
	clinic.Exec(`update clinic.inbox set external_id = 'appointment ` + cpfID + `' where clinic_id = $1 and status = 'open'`)
	clinic.Exec(`update clinic.tickets set ticket_id = '` + cpfID + `' where clinic_id = $1`)
	scheduling.Send("accepted", "appointment.noshow", object{"appointment_id": cpfID, "client_phone": clinictest.Phone})
	messaging.Send("accepted", "ticket.closed", object{"ticket_id": cpfID, "resolution": "done"})
	require.Len(t, clinic.Items("/patients/"+id+"/appointments"), 3)
	require.Len(t, clinic.Items("/patients/"+id+"/appointments?status=no_show"), 1)
	for range 2 {
		require.NoError(t, clinic.Job("inbox").Run(t.Context(), nil))
		require.Equal(t, 2, clinic.QueryInt(`select count(*) from clinic.appointments where clinic_id = $1 and external_id like 'cpf-%'`))
		require.Equal(t, 1, clinic.QueryInt(`select count(*) from clinic.appointments where clinic_id = $1 and external_id = '12345678901'`), "no CPF")
	}
}
