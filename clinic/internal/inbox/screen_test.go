package inbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub"
	"integrationhub/hub/hubtest"
)

// traces are what may be nowhere after an erasure.
var traces = []string{"Zulmira", "Quixeramobim", "98765-4321", "987654321", "zulmira@", "52998224725", "529.982.247-25"}

// requireNoTraces requires that no table of any schema has anything of the erased patient.
func requireNoTraces(clinic *clinictest.Clinic, event string) {
	clinic.T.Helper()
	for _, trace := range traces {
		require.Empty(clinic.T, hubtest.FindInDatabase(clinic.T, clinic.Hub.DatabaseURL, trace), "%s after %s", trace, event)
	}
}

// eraseZulmira makes a patient and has her erased, in the log too.
func eraseZulmira(clinic *clinictest.Clinic) {
	clinic.T.Helper()
	id := clinic.OK(201, "POST", "/patients", object{"name": "Zulmira Quixeramobim", "phone": "+5511987654321", "email": "zulmira@example.com", "cpf": "529.982.247-25"})["id"].(string)
	clinic.WaitForDeletion(clinic.RequestDeletion(id), "completed")
	require.Eventually(clinic.T, func() bool {
		clinic.HurryErasures()
		return clinic.QueryInt(`select count(*) from hub.erasures where tenant_id = $1 and finished_at is null`) == 0
	}, 4*clinictest.Timeout, 10*clinictest.Tick)
}

// A late event about an erased patient leaves nothing of the patient in any table, whatever
// its type and whether it can be read.
func TestLateEventsAboutTheErased(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging, scheduling, crm := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling"), clinic.ConnectPeer("crm")
	patient := object{"name": "Zulmira Quixeramobim", "phone": "+5511987654321", "email": "zulmira@example.com", "cpf": "529.982.247-25"}
	id := clinic.OK(201, "POST", "/patients", patient)["id"].(string)
	messaging.Send("accepted", "ticket.created", object{"phone": "+5511987654321", "name": "Zulmira", "ticket_id": 71, "queue": "Reception"})
	scheduling.Send("accepted", "appointment.created", object{"appointment_id": "zulmira@example.com/7", "client_phone": "+5511987654321", "service": "Check", "professional": "Dr. Lima", "datetime": "2027-01-04T12:00:00Z"})
	clinic.WaitForDeletion(clinic.RequestDeletion(id), "completed")
	require.Eventually(t, func() bool {
		clinic.HurryErasures()
		return clinic.QueryInt(`select count(*) from hub.erasures where tenant_id = $1 and finished_at is null`) == 0
	}, 4*clinictest.Timeout, 10*clinictest.Tick)
	requireNoTraces(clinic, "the erasure")

	send := func(peer *clinictest.Peer, eventType string, data object) {
		t.Helper()
		got := peer.Post(peer.Envelope(hub.NewEventID(), eventType, data, time.Now()))
		require.Equal(t, 200, got.Status, got.Text)
		require.Equal(t, "ignored", got.Body["status"], got.Text)
		requireNoTraces(clinic, eventType)
	}
	send(messaging, "message.received", object{"phone": "+5511987654321", "name": "Zulmira Quixeramobim", "body": "Zulmira here", "ticket_id": 99})
	send(messaging, "message.sent", object{"phone": "11 8765-4321", "body": "Dear Zulmira", "ticket_id": 99}) // without the ninth digit, and no name
	send(messaging, "contact.created", object{"phone": "+5521999998888", "name": "Zu", "email": " ZULMIRA@example.com"})
	send(messaging, "ticket.closed", object{"ticket_id": 71, "resolution": "Zulmira Quixeramobim was informed"})
	send(messaging, "message.received", object{"phone": "+5521999998888", "name": "Somebody", "body": "For Zulmira, CPF 5 2 9 . 9 8 2 . 2 4 7 - 2 5", "ticket_id": 98})
	send(scheduling, "appointment.created", object{"client_phone": "+5511987654321", "client_name": "Zulmira Quixeramobim", "service": "Check", "professional": "Dr. Lima", "datetime": "2027-01-04T12:00:00Z"})
	send(scheduling, "appointment.cancelled", object{"appointment_id": "zulmira@example.com/7", "reason": "Zulmira is ill"})
	send(scheduling, "appointment.created", object{"client_phone": "+5511987654321", "client_name": "Zulmira", "datetime": "no time"}) // cannot be read
	send(scheduling, "message.received", object{"phone": "+5511987654321", "name": "Zulmira", "body": "not its to send"})
	send(crm, "lead.created", object{"person": object{"name": "Zulmira Quixeramobim", "contact_phone": "+5511987654321"}}) // of no known type
	require.Empty(t, clinic.Items("/integrations/inbox"))

	// The correlation id goes too; the event is known when it comes again.
	event, data := hub.NewEventID(), object{"phone": "+5511987654321", "name": "Zulmira Quixeramobim", "body": "Hi", "ticket_id": 1}
	envelope := messaging.Envelope(event, "message.received", data, time.Now())
	require.Equal(t, "ignored", messaging.Post(envelope).Body["status"])
	require.Equal(t, "duplicate", messaging.Post(envelope).Body["status"])
	require.Equal(t, 0, clinic.QueryInt(`select count(*) from hub.events where tenant_id = $1 and correlation_id = $2`, "corr-"+event))
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from hub.events e join hub.received r on r.seq = e.seq where e.tenant_id = $1 and 'evt_' || to_hex(e.id) = $2 and convert_from(e.body, 'UTF8') = '{"erased":true}'`, "evt_"+trimZeros(event)))
}

// trimZeros returns the hexadecimal digits of an event's id as PostgreSQL writes them.
func trimZeros(event string) string {
	digits := event[len("evt_"):]
	for digits[0] == '0' {
		digits = digits[1:]
	}
	return digits
}

// Events about other people are stored whole, also those who have the number of an erased
// patient now, and the patient who came back.
func TestLateEventsAboutOthers(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging := clinic.ConnectPeer("messaging")
	eraseZulmira(clinic)
	stored := func(text string) bool { return len(hubtest.FindInDatabase(t, clinic.Hub.DatabaseURL, text)) > 0 }
	messaging.Send("ignored", "message.received", object{"phone": "+5521999998888", "name": "Zulmira Quixeramobim", "body": "marker-1", "ticket_id": 1})
	require.True(t, stored("marker-1"), "of the same name, with another number")
	require.Len(t, clinic.Items("/integrations/inbox"), 1)

	daughter := clinic.OK(201, "POST", "/patients", object{"name": "Bia Quixeramobim", "phone": "+5511987654321"})["id"].(string)
	messaging.Send("accepted", "message.received", object{"phone": "+5511987654321", "name": "Bia", "body": "marker-2", "ticket_id": 2})
	require.True(t, stored("marker-2"))
	messaging.Send("ignored", "message.received", object{"phone": "+5511987654321", "name": "Zulmira Quixeramobim", "body": "marker-3", "ticket_id": 3})
	require.False(t, stored("marker-3"), "the mother's name")
	// One that names her beside the daughter has its effect, and its payload is not stored.
	messaging.Send("accepted", "message.received", object{"phone": "+5511987654321", "name": "Bia", "body": "Her CPF was 529.982.247-25", "ticket_id": 4})
	require.False(t, stored("529.982.247-25"))
	require.ElementsMatch(t, []string{"message_received: marker-2", "message_received: Her CPF was ***.***.***-25"}, clinic.History(daughter))

	again := clinic.OK(201, "POST", "/patients", object{"name": "Zulmira Quixeramobim", "phone": "+5511987654321"})["id"].(string)
	messaging.Send("accepted", "message.received", object{"phone": "+5511987654321", "name": "Zulmira Quixeramobim", "body": "marker-5", "ticket_id": 5})
	require.True(t, stored("marker-5"), "she came back")
	require.Equal(t, []string{"message_received: marker-5"}, clinic.History(again))
	require.Empty(t, clinic.AnotherClinic().Items("/patients"))
}
