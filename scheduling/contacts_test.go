package scheduling_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// file gives the newest attachment sent to an address, its lines unfolded.
func (s *studio) file(to string) (text string) {
	s.t.Helper()
	require.NoError(s.t, s.hub.Host.Pool.QueryRow(s.t.Context(), `select convert_from(decode(attachments->0->>'Content', 'base64'), 'UTF8')
		from hub.mails where recipient = $1 order by id desc limit 1`, to).Scan(&text))
	return strings.ReplaceAll(text, "\r\n ", "")
}

// Several people share a phone. Each is told under the name and at the address they
// typed, and learns nothing of the client on file, who stays as it is.
func TestWhoBooksIsWhoIsTold(t *testing.T) {
	t.Parallel()
	p := opened(t)
	p.ok(200, "PUT", "/organization/settings", object{"notify_emails": []string{"desk@example.com"}, "waitlist_enabled": true, "reminder_offsets_minutes": []int{60}})
	client := p.family(object{"name": "Ana Secreta", "phone": "+5511987650000", "email": "ana@example.com"})[0]
	before := p.ok(200, "GET", "/clients/"+client, nil)
	g := p.guest()
	made := g.ok(201, "POST", p.public("/appointments"), p.wish(0)) // as Gil, at gil@example.com
	_, text := p.mails("gil@example.com", 1)
	require.Contains(t, text, "Olá, Gil!")
	require.NotContains(t, text, "Secreta")
	invitation := p.file("gil@example.com")
	require.Contains(t, invitation, `ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=ACCEPTED;RSVP=FALSE;CN="Gil":`)
	require.NotContains(t, invitation, "Secreta")
	require.NotContains(t, invitation, "ana@")

	// Without an address of their own nobody else's is used; the client's own is.
	other := p.wish(time.Hour)
	delete(other, "client_email")
	g.ok(201, "POST", p.public("/appointments"), other)
	own := p.wish(2 * time.Hour)
	delete(own, "client_email")
	own["client_name"] = "ana  secreta"
	mine := g.ok(201, "POST", p.public("/appointments"), own)
	p.mails("ana@example.com", 1)
	key := p.as(p.hub.CreateKey(p.org, "live"))
	key.ok(201, "POST", "/integrations/action/book", object{"phone": "+5511987650000", "name": "Bia", "email": "bia@example.com", "service": "Cut", "start_at": p.at(90 * time.Minute)})
	_, text = p.mails("bia@example.com", 1)
	require.Contains(t, text, "Olá, Bia!")
	p.mails("desk@example.com", 4)

	// Reminders and later letters go the same way.
	p.do(200, "confirm", made["appointment_id"].(string), nil)
	p.mails("gil@example.com", 2)
	p.later(71 * time.Hour)
	p.work("reminders")
	_, text = p.mails("gil@example.com", 3)
	require.Contains(t, text, "Olá, Gil!")
	g.ok(200, "POST", p.public("/cancel"), object{"cancel_token": mine["cancel_token"]})
	p.mails("ana@example.com", 2)
	require.Equal(t, 4, p.count("scheduling.appointments where client_id = $1", client))
	after := p.ok(200, "GET", "/clients/"+client, nil)
	for _, member := range []string{"name", "phone", "email", "notes"} {
		require.Equal(t, before[member], after[member], member)
	}

	// Waiting as well.
	wait := p.wait("2026-03-02", "2026-03-03", "leo@example.com")
	wait["client_phone"], wait["client_name"] = "+5511987650000", "Leo"
	g.ok(201, "POST", p.public("/waitlist"), wait)
	g.ok(200, "POST", p.public("/cancel"), object{"cancel_token": made["cancel_token"]})
	_, text = p.mails("leo@example.com", 1)
	require.Contains(t, text, "Olá, Leo!")
	p.settled()
	p.mails("ana@example.com", 2)

	// Staff who give the booking to another client mean that client.
	id := p.book(24 * time.Hour)
	p.exec(`update scheduling.appointments set contact_name = 'Gil', contact_email = 'gil@example.com' where id = $1`, id)
	p.ok(200, "PUT", "/appointments/"+id, object{"client_id": client})
	p.do(200, "cancel", id, object{})
	p.mails("ana@example.com", 3)
}

// An organization that told no address invites from the hub's; programs take what was
// cancelled out of the calendar.
func TestInvitationsOfNewOrganizations(t *testing.T) {
	t.Parallel()
	p := opened(t, "HUB_MAIL_FROM=Hub <no-reply@hub.example.com>")
	made := p.guest().ok(201, "POST", p.public("/appointments"), p.wish(0))
	p.mails("gil@example.com", 1)
	invitation := p.file("gil@example.com")
	require.Contains(t, invitation, "METHOD:REQUEST")
	require.Contains(t, invitation, `ORGANIZER;CN="Studio":mailto:no-reply@hub.example.com`)
	require.Contains(t, invitation, "mailto:gil@example.com")
	p.guest().ok(200, "POST", p.public("/cancel"), object{"cancel_token": made["cancel_token"]})
	p.mails("gil@example.com", 2)
	invitation = p.file("gil@example.com")
	require.Contains(t, invitation, "METHOD:CANCEL")
	require.Contains(t, invitation, `ORGANIZER;CN="Studio":mailto:no-reply@hub.example.com`)
	require.Contains(t, invitation, "SEQUENCE:1")
}
