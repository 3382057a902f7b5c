package inbox_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
)

// Entries of a number are linked, dismissed, received and erased at the same time. There are
// no deadlocks, and each event is in one history once or in the inbox.
func TestLinkingDuringOtherRequests(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	messaging, scheduling := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling")
	for round := range 4 {
		number := fmt.Sprintf("+5511955550%03d", round)
		id, other := clinic.AddPatient(fmt.Sprintf("+5511944440%03d", round)), clinic.AddPatient(fmt.Sprintf("+5511933330%03d", round))
		AddWaitingEvents(clinic, number, messages(450, number)...)
		entries := clinic.Items("/integrations/inbox?per_page=20")
		call := func(n int, what string, body any) func() answer {
			return func() answer { return clinic.Call("POST", "/integrations/inbox/"+entries[n]["id"].(string)+what, body) }
		}
		var calls []func() answer
		for n := range 4 {
			calls = append(calls, call(n, "/link", object{"patient_id": id}), call(4+n, "/link", object{"patient_id": other}), call(n, "/dismiss", nil), call(8+n, "/dismiss", nil),
				func() answer {
					return messaging.Deliver(hub.NewEventID(), "message.received", object{"phone": number, "body": "New", "ticket_id": 10*round + n})
				},
				func() answer {
					return scheduling.Deliver(hub.NewEventID(), "appointment.cancelled", object{"appointment_id": fmt.Sprintf("r-%d-%d", round, n), "client_phone": number})
				})
		}
		if round%2 == 1 {
			calls = append(calls, func() answer { return clinic.Call("POST", "/patients/"+id+"/deletion-request", nil) })
		}
		responses := moduletest.Concurrently(calls...)
		for i, response := range responses {
			require.NotZero(t, response.Status)
			require.Less(t, response.Status, 500, "%d: %s", i, response.Text)
		}
		WaitForLinking(clinic)
		if round%2 == 0 {
			require.Equal(t, 450+8, clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1`)+
				clinic.QueryInt(`select count(*) from clinic.interactions i where clinic_id = $1 and not exists (select from clinic.inbox b where b.clinic_id = i.clinic_id and b.event_id = i.source_id)`), "nothing is lost")
			require.Equal(t, 1, clinic.QueryInt(`select count(distinct patient_id) from clinic.interactions where clinic_id = $1`), "one of them has the number")
		}
		require.Zero(t, clinic.QueryInt(`select count(*) from clinic.inbox b where clinic_id = $1 and (meant_for is not null
			or (status = 'open') = exists (select from clinic.interactions i where i.clinic_id = b.clinic_id and i.source_id = b.event_id) and status <> 'dismissed')`))
		require.Zero(t, clinic.QueryInt(`select count(*) from clinic.interactions i join clinic.patients p on p.id = i.patient_id where i.clinic_id = $1 and p.status = 'anonymized' and summary <> ''`))
		clinic.Exec(`delete from clinic.inbox where clinic_id = $1`)
		clinic.Exec(`delete from clinic.interactions where clinic_id = $1`)
	}
}
