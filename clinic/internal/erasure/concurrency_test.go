package erasure_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
)

// An erasure runs at the same time as everything else that can happen to the patient and to a
// relative. No request is a 5xx, and afterwards no data is left.
func TestErasureDuringOtherRequests(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging, scheduling := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling")
	post := func(path string, body any) func() answer {
		return func() answer { return clinic.Call("POST", path, body) }
	}
	when := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second).Format(time.RFC3339)
	for round := range 12 {
		number, other := fmt.Sprintf("+5511966660%03d", round), fmt.Sprintf("+5521966660%03d", round)
		id := clinic.OK(201, "POST", "/patients", object{"name": "Zuleica", "phone": number})["id"].(string)
		relative := clinic.OK(201, "POST", "/patients", object{"name": "Bia", "phone": number})["id"].(string)
		path, booking, ticket := "/patients/"+id, fmt.Sprintf("a-%d", round), 1000+round
		booked := object{"appointment_id": booking, "client_phone": number, "client_name": "Zuleica", "service": "Check", "datetime": when}
		scheduling.Send("accepted", "appointment.created", booked)
		appointment := clinic.Items(path + "/appointments")[0]["id"].(string)
		payment := clinic.OK(201, "POST", path+"/payments", object{"amount": 5, "due_date": clinictest.DateIn(t, -1)})["id"].(string)
		messaging.Send("ignored", "message.received", object{"phone": other, "name": "Zuleica", "body": "Hi", "ticket_id": ticket})
		messaging.Send("ignored", "contact.created", object{"phone": other, "name": "Zuleica"})
		entries := clinic.Items("/integrations/inbox")
		link := func(n int, patient string) func() answer {
			return post("/integrations/inbox/"+entries[n]["id"].(string)+"/link", object{"patient_id": patient})
		}
		event := func(from *clinictest.Peer, kind string, data object) func() answer {
			return func() answer { return from.Deliver(hub.NewEventID(), kind, data) }
		}
		responses := moduletest.Concurrently(
			post(path+"/deletion-request", nil), link(0, id), link(1, relative), link(1, id),
			event(messaging, "message.received", object{"phone": number, "name": "Zuleica", "body": "x", "ticket_id": ticket}),
			event(messaging, "ticket.closed", object{"ticket_id": ticket, "resolution": "x"}),
			event(scheduling, "appointment.created", booked), event(scheduling, "appointment.cancelled", object{"appointment_id": booking, "reason": "x"}),
			event(scheduling, "appointment.noshow", object{"appointment_id": booking, "client_phone": number}),
			func() answer {
				return clinic.Call("PUT", "/appointments/"+appointment, object{"status": "confirmed", "reason": "x"})
			},
			func() answer { return clinic.Call("PUT", path, object{"name": "Zuleica Lima", "phone": other}) },
			post("/payments/"+payment+"/pay", nil), post("/payments/run-overdue", nil),
			post(path+"/interactions", object{"interaction_type": "call", "summary": "x"}), post(path+"/records", object{"date": "2026-03-02", "type": "x"}),
			post("/patients/"+relative+"/deletion-request", nil),
		)
		for i, response := range responses {
			require.Less(t, response.Status, 500, "%d: %s", i, response.Text)
			require.NotZero(t, response.Status)
		}
		require.Equal(t, 202, responses[0].Status, responses[0].Text)
		require.Equal(t, "anonymized", clinic.Get(path)["status"])
		for _, entry := range clinic.Items("/integrations/inbox") { // what came too late waits in the inbox
			clinic.OK(200, "POST", "/integrations/inbox/"+entry["id"].(string)+"/dismiss", nil)
		}
	}
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.interactions i join clinic.patients p on p.id = i.patient_id where i.clinic_id = $1 and p.status = 'anonymized' and summary <> ''`))
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.linked_phones l join clinic.patients p on p.id = l.patient_id where l.clinic_id = $1 and p.status = 'anonymized'`))
}
