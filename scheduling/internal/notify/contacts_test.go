package notify_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// file gives the newest attachment sent to an address, its lines unfolded.
func file(s *schedulingtest.Organization, to string) (text string) {
	s.T.Helper()
	require.NoError(s.T, s.Hub.Host.Pool.QueryRow(s.T.Context(), `select convert_from(decode(attachments->0->>'Content', 'base64'), 'UTF8')
		from hub.mails where recipient = $1 order by id desc limit 1`, to).Scan(&text))
	return strings.ReplaceAll(text, "\r\n ", "")
}

// Several people share a phone. Each is told under the name and at the address they
// typed, and learns nothing of the client on file, who stays as it is.
func TestWhoBooksIsWhoIsTold(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	p.OK(200, "PUT", "/organization/settings", object{"notify_emails": []string{"desk@example.com"}, "waitlist_enabled": true, "reminder_offsets_minutes": []int{60}})
	client := p.AddClients(object{"name": "Ana Secreta", "phone": "+5511987650000", "email": "ana@example.com"})[0]
	before := p.OK(200, "GET", "/clients/"+client, nil)
	g := p.Guest()
	made := g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0)) // as Gil, at gil@example.com
	_, text := p.WaitForEmails("gil@example.com", 1)
	require.Contains(t, text, "Olá, Gil!")
	require.NotContains(t, text, "Secreta")
	invitation := file(p.Organization, "gil@example.com")
	require.Contains(t, invitation, `ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=ACCEPTED;RSVP=FALSE;CN="Gil":`)
	require.NotContains(t, invitation, "Secreta")
	require.NotContains(t, invitation, "ana@")

	// Without an address of their own nobody else's is used; the client's own is.
	other := p.BookingBody(time.Hour)
	delete(other, "client_email")
	g.OK(201, "POST", p.PublicPath("/appointments"), other)
	own := p.BookingBody(2 * time.Hour)
	delete(own, "client_email")
	own["client_name"] = "ana  secreta"
	mine := g.OK(201, "POST", p.PublicPath("/appointments"), own)
	p.WaitForEmails("ana@example.com", 1)
	key := p.As(p.Hub.CreateKey(p.ID, "live"))
	key.OK(201, "POST", "/integrations/action/book", object{"phone": "+5511987650000", "name": "Bia", "email": "bia@example.com", "service": "Cut", "start_at": p.At(90 * time.Minute)})
	_, text = p.WaitForEmails("bia@example.com", 1)
	require.Contains(t, text, "Olá, Bia!")
	p.WaitForEmails("desk@example.com", 4)

	// Reminders and later letters go the same way.
	p.Transition(200, "confirm", made["appointment_id"].(string), nil)
	p.WaitForEmails("gil@example.com", 2)
	p.AdvanceClock(71 * time.Hour)
	p.RunJob("reminders")
	_, text = p.WaitForEmails("gil@example.com", 3)
	require.Contains(t, text, "Olá, Gil!")
	g.OK(200, "POST", p.PublicPath("/cancel"), object{"cancel_token": mine["cancel_token"]})
	p.WaitForEmails("ana@example.com", 2)
	require.Equal(t, 4, p.Count("scheduling.appointments where client_id = $1", client))
	after := p.OK(200, "GET", "/clients/"+client, nil)
	for _, member := range []string{"name", "phone", "email", "notes"} {
		require.Equal(t, before[member], after[member], member)
	}

	// Waiting as well.
	wait := p.WaitlistBody("2026-03-02", "2026-03-03", "leo@example.com")
	wait["client_phone"], wait["client_name"] = "+5511987650000", "Leo"
	g.OK(201, "POST", p.PublicPath("/waitlist"), wait)
	g.OK(200, "POST", p.PublicPath("/cancel"), object{"cancel_token": made["cancel_token"]})
	_, text = p.WaitForEmails("leo@example.com", 1)
	require.Contains(t, text, "Olá, Leo!")
	p.WaitForJobs()
	p.WaitForEmails("ana@example.com", 2)

	// Staff who give the booking to another client mean that client.
	id := p.Book(24 * time.Hour)
	p.Exec(`update scheduling.appointments set contact_name = 'Gil', contact_email = 'gil@example.com' where id = $1`, id)
	p.OK(200, "PUT", "/appointments/"+id, object{"client_id": client})
	p.Transition(200, "cancel", id, object{})
	p.WaitForEmails("ana@example.com", 3)
}

// An organization that told no address invites from the hub's; programs take what was
// cancelled out of the calendar.
func TestInvitationsOfNewOrganizations(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t, "HUB_MAIL_FROM=Hub <no-reply@hub.example.com>")
	made := p.Guest().OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	p.WaitForEmails("gil@example.com", 1)
	invitation := file(p.Organization, "gil@example.com")
	require.Contains(t, invitation, "METHOD:REQUEST")
	require.Contains(t, invitation, `ORGANIZER;CN="Studio":mailto:no-reply@hub.example.com`)
	require.Contains(t, invitation, "mailto:gil@example.com")
	p.Guest().OK(200, "POST", p.PublicPath("/cancel"), object{"cancel_token": made["cancel_token"]})
	p.WaitForEmails("gil@example.com", 2)
	invitation = file(p.Organization, "gil@example.com")
	require.Contains(t, invitation, "METHOD:CANCEL")
	require.Contains(t, invitation, `ORGANIZER;CN="Studio":mailto:no-reply@hub.example.com`)
	require.Contains(t, invitation, "SEQUENCE:1")
}
