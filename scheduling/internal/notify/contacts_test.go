package notify_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// file returns the newest attachment sent to an address, its lines unfolded.
func file(org *schedulingtest.Organization, to string) (text string) {
	org.T.Helper()
	require.NoError(org.T, org.Hub.Host.Pool.QueryRow(org.T.Context(), `select convert_from(decode(attachments->0->>'Content', 'base64'), 'UTF8')
		from hub.mails where recipient = $1 order by id desc limit 1`, to).Scan(&text))
	return strings.ReplaceAll(text, "\r\n ", "")
}

// Several people share a phone. Each is notified under the name and at the address they
// typed, and learns nothing of the client on file, who stays as it is.
func TestEmailsGoToTheTypedContact(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/organization/settings", object{"notify_emails": []string{"desk@example.com"}, "waitlist_enabled": true, "reminder_offsets_minutes": []int{60}})
	client := org.AddClients(object{"name": "Ana Secreta", "phone": "+5511987650000", "email": "ana@example.com"})[0]
	before := org.OK(200, "GET", "/clients/"+client, nil)
	guest := org.Guest()
	created := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0)) // as Gil, at gil@example.com
	_, text := org.WaitForEmails("gil@example.com", 1)
	require.Contains(t, text, "Olá, Gil!")
	require.NotContains(t, text, "Secreta")
	invitation := file(org.Organization, "gil@example.com")
	require.Contains(t, invitation, `ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=ACCEPTED;RSVP=FALSE;CN="Gil":`)
	require.NotContains(t, invitation, "Secreta")
	require.NotContains(t, invitation, "ana@")

	// Without an address of their own nobody else's is used; the client's own is.
	other := org.BookingBody(time.Hour)
	delete(other, "client_email")
	guest.OK(201, "POST", org.PublicPath("/appointments"), other)
	own := org.BookingBody(2 * time.Hour)
	delete(own, "client_email")
	own["client_name"] = "ana  secreta"
	mine := guest.OK(201, "POST", org.PublicPath("/appointments"), own)
	org.WaitForEmails("ana@example.com", 1)
	key := org.As(org.Hub.CreateKey(org.ID, "live"))
	key.OK(201, "POST", "/integrations/action/book", object{"phone": "+5511987650000", "name": "Bia", "email": "bia@example.com", "service": "Cut", "start_at": org.At(90 * time.Minute)})
	_, text = org.WaitForEmails("bia@example.com", 1)
	require.Contains(t, text, "Olá, Bia!")
	org.WaitForEmails("desk@example.com", 4)

	// Reminders and later e-mails go to the same address.
	org.Transition(200, "confirm", created["appointment_id"].(string), nil)
	org.WaitForEmails("gil@example.com", 2)
	org.AdvanceClock(71 * time.Hour)
	org.RunJob("reminders")
	_, text = org.WaitForEmails("gil@example.com", 3)
	require.Contains(t, text, "Olá, Gil!")
	guest.OK(200, "POST", org.PublicPath("/cancel"), object{"cancel_token": mine["cancel_token"]})
	org.WaitForEmails("ana@example.com", 2)
	require.Equal(t, 4, org.Count("scheduling.appointments where client_id = $1", client))
	after := org.OK(200, "GET", "/clients/"+client, nil)
	for _, member := range []string{"name", "phone", "email", "notes"} {
		require.Equal(t, before[member], after[member], member)
	}

	// Waiting as well.
	wait := org.WaitlistBody("2026-03-02", "2026-03-03", "leo@example.com")
	wait["client_phone"], wait["client_name"] = "+5511987650000", "Leo"
	guest.OK(201, "POST", org.PublicPath("/waitlist"), wait)
	guest.OK(200, "POST", org.PublicPath("/cancel"), object{"cancel_token": created["cancel_token"]})
	_, text = org.WaitForEmails("leo@example.com", 1)
	require.Contains(t, text, "Olá, Leo!")
	org.WaitForJobs()
	org.WaitForEmails("ana@example.com", 2)

	// Staff who give the booking to another client mean that client.
	id := org.Book(24 * time.Hour)
	org.Exec(`update scheduling.appointments set contact_name = 'Gil', contact_email = 'gil@example.com' where id = $1`, id)
	org.OK(200, "PUT", "/appointments/"+id, object{"client_id": client})
	org.Transition(200, "cancel", id, object{})
	org.WaitForEmails("ana@example.com", 3)
}

// An organization without an address invites from the hub's; programs take what was
// cancelled out of the calendar.
func TestInvitationsOfNewOrganizations(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t, "HUB_MAIL_FROM=Hub <no-reply@hub.example.com>")
	created := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	org.WaitForEmails("gil@example.com", 1)
	invitation := file(org.Organization, "gil@example.com")
	require.Contains(t, invitation, "METHOD:REQUEST")
	require.Contains(t, invitation, `ORGANIZER;CN="Studio":mailto:no-reply@hub.example.com`)
	require.Contains(t, invitation, "mailto:gil@example.com")
	org.Guest().OK(200, "POST", org.PublicPath("/cancel"), object{"cancel_token": created["cancel_token"]})
	org.WaitForEmails("gil@example.com", 2)
	invitation = file(org.Organization, "gil@example.com")
	require.Contains(t, invitation, "METHOD:CANCEL")
	require.Contains(t, invitation, `ORGANIZER;CN="Studio":mailto:no-reply@hub.example.com`)
	require.Contains(t, invitation, "SEQUENCE:1")
}
