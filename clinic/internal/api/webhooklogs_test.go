package api_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// A clinic's administrator finds what concerns a patient in the log: by the id, present
// and earlier numbers, appointments and tickets. Nothing of it is found by others.
func TestWebhookLogsOfAPatient(t *testing.T) {
	t.Parallel()
	c := clinictest.NewClinic(t)
	messaging, scheduling := c.ConnectPeer("messaging"), c.ConnectPeer("scheduling")
	other := c.AddPatient("+5511900001111")
	id := c.AddPatient(clinictest.Phone)
	var received []any
	for _, event := range []struct {
		peer *clinictest.Peer
		kind string
		data object
	}{
		{messaging, "ticket.created", object{"phone": clinictest.Phone, "name": "Ana", "ticket_id": "17", "queue": "Q"}},
		{messaging, "ticket.closed", object{"ticket_id": "17", "resolution": "solved"}}, // names no number
		{scheduling, "appointment.created", object{"appointment_id": "a-1", "client_phone": clinictest.Phone, "service": "S", "professional": "P", "datetime": "2027-01-04T12:00:00Z"}},
		{scheduling, "appointment.cancelled", object{"appointment_id": "a-1", "reason": "ill"}},
	} {
		received = append([]any{event.peer.Send("accepted", event.kind, event.data)}, received...)
	}
	messaging.Send("accepted", "message.received", object{"phone": "+5511900001111", "name": "Bia", "body": "Hi", "ticket_id": "18"})
	search := func(query string) (ids []any) {
		for _, entry := range c.Items("/integrations/webhook-logs?limit=200&" + query) {
			ids = append(ids, entry["event_id"])
		}
		return ids
	}
	require.Equal(t, received, search("direction=inbound&patient_id="+id))
	require.Equal(t, []any{received[1], received[3]}, search("direction=inbound&phone="+url.QueryEscape(clinictest.Phone)), "only where the number is")
	require.Len(t, search("direction=inbound&patient_id="+other), 1)

	// What the clinic sent has the id; a number that changed is still the patient's.
	c.OK(200, "PUT", "/patients/"+id, object{"phone": "+5511955556666"})
	sent := search("direction=outbound&patient_id=" + id + "&event_type=patient.updated")
	require.Len(t, sent, 2, "one for each peer")
	require.Equal(t, received, search("direction=inbound&patient_id="+id))
	require.Len(t, search("direction=inbound&patient_id="+id+"&phone="+url.QueryEscape(clinictest.Phone)), 2)
	require.Empty(t, search("patient_id="+id+"&phone=11900001111"), "not the patient's number")

	detail := c.OK(200, "GET", "/integrations/webhook-logs/"+c.Items("/integrations/webhook-logs?patient_id=" + id)[0]["id"].(string), nil)
	require.Contains(t, detail, "attempts")

	stranger := c.AnotherClinic()
	require.Empty(t, stranger.Items("/integrations/webhook-logs?patient_id="+id))
	stranger.Refused(404, "not_found", "GET", "/integrations/webhook-logs/"+detail["id"].(string), nil)
	require.Empty(t, stranger.Items("/integrations/webhook-logs?phone=11987654321"))
	require.Empty(t, c.InEnvironment("test").Items("/integrations/webhook-logs?patient_id="+id))
	c.AddStaff().Refused(403, "admin_only", "GET", "/integrations/webhook-logs?patient_id="+id, nil)
	looked := c.Items("/integrations/audit-log?subject_id=" + id + "&action=webhook-logs.list")
	require.NotEmpty(t, looked, "whose data was looked for is on record")
}
