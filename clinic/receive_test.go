package clinic_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

const phone = "+5511987654321"

// history is what stands on a patient's history, newest first, as "type: summary".
func (p *practice) history(patient string) (list []string) {
	p.t.Helper()
	for _, one := range p.items("/patients/" + patient + "/interactions?per_page=100") {
		list = append(list, one["interaction_type"].(string)+": "+one["summary"].(string))
	}
	return list
}

func TestMessagesAndTickets(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	m := p.connect("messaging")
	first := m.send("accepted", "message.received", object{"phone": "+551187654321", "name": "Ana", "body": "Hello, my CPF is 123.456.789-09", "ticket_id": 42})
	m.send("accepted", "message.sent", object{"phone": phone, "body": "Hello", "ticket_id": 42})
	m.send("accepted", "ticket.created", object{"phone": phone, "name": "Ana", "ticket_id": "43", "queue": "Reception"})
	m.send("accepted", "ticket.closed", object{"ticket_id": 43, "resolution": "booked"}) // names nobody: the ticket does
	m.send("accepted", "contact.created", object{"phone": phone, "name": "Ana", "email": ""})
	require.ElementsMatch(t, []string{
		"message_received: Hello, my CPF is ***.***.***-09", "message_sent: Hello", "ticket_created: Reception", "ticket_closed: booked", "contact_created: ",
	}, p.history(id))
	require.Equal(t, 1, p.count(`select count(*) from clinic.interactions where clinic_id = $1 and source = 'messaging' and source_id = $2`, first))
	require.Empty(t, p.items("/integrations/inbox"))
	require.Len(t, p.items("/patients"), 1, "nobody is made of a contact")
}

func TestBookingsBecomeAppointments(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	s := p.connect("scheduling")
	when := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Minute)
	book := object{"appointment_id": "a-1", "client_phone": phone, "service": "Cleaning", "professional": "Dr. Lima", "datetime": when.Format(time.RFC3339)}
	one := func() object {
		t.Helper()
		list := p.items("/patients/" + id + "/appointments")
		require.Len(t, list, 1)
		return list[0]
	}
	s.send("accepted", "appointment.created", book)
	require.Equal(t, "scheduled", one()["status"])
	require.Equal(t, when.Format(time.RFC3339), one()["datetime"])
	require.Equal(t, "a-1", one()["external_id"])
	require.Equal(t, when.Format(time.RFC3339), p.get("/patients/" + id)["next_appointment"])
	s.send("accepted", "appointment.reminded", object{"appointment_id": "a-1", "client_phone": phone})
	require.NotNil(t, one()["reminded_at"])
	later := when.Add(time.Hour)
	book["datetime"] = later.Format(time.RFC3339)
	s.send("accepted", "appointment.created", book) // moved: the same appointment
	require.Equal(t, later.Format(time.RFC3339), one()["datetime"])
	s.send("accepted", "appointment.noshow", object{"appointment_id": "a-1", "client_phone": "+5500000000000"})
	require.Equal(t, "no_show", one()["status"])
	s.send("accepted", "appointment.cancelled", object{"appointment_id": "a-1", "reason": "travelling"})
	require.Equal(t, "cancelled", one()["status"])
	require.Equal(t, "travelling", one()["reason"])
	require.Len(t, p.history(id), 5)
	require.Contains(t, p.history(id), "appointment_cancelled: travelling")
}

// Document 3's appointment.created tells no id; who and when do.
func TestBookingsWithoutIDs(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	s := p.connect("scheduling")
	soonest := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	for _, when := range []time.Time{soonest, soonest.Add(240 * time.Hour), soonest} {
		s.send("accepted", "appointment.created", object{"client_phone": phone, "service": "Cleaning", "professional": "Dr. Lima", "datetime": when.Format(time.RFC3339)})
	}
	require.Len(t, p.items("/patients/"+id+"/appointments"), 2)
	s.send("accepted", "appointment.reminded", object{"appointment_id": "a-9", "client_phone": phone})
	s.send("accepted", "appointment.cancelled", object{"appointment_id": "a-9", "reason": ""})
	list := p.items("/patients/" + id + "/appointments") // the newest first
	require.Equal(t, "scheduled", list[0]["status"])
	require.Nil(t, list[0]["external_id"])
	require.Equal(t, "cancelled", list[1]["status"])
	require.Equal(t, "a-9", list[1]["external_id"])
}

func TestEventsHaveOneEffect(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	m := p.connect("messaging")
	event := hub.NewEventID()
	data := object{"phone": phone, "name": "Ana", "body": "Hello", "ticket_id": 1}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { m.deliver(event, "message.received", data) })
	}
	group.Wait()
	require.Equal(t, "duplicate", m.deliver(event, "message.received", data).body["status"])
	require.Len(t, p.history(id), 1)
	data["body"] = "Another"
	require.Equal(t, 409, m.deliver(event, "message.received", data).status)
	require.Len(t, p.history(id), 1)
	require.Equal(t, 200, m.deliver(hub.NewEventID(), "message.exploded", data).status)
	require.Equal(t, 400, m.deliver(hub.NewEventID(), "message.received", object{"phone": 7}).status)
	require.Len(t, p.history(id), 1)
	require.Equal(t, 400, p.connect("scheduling").deliver(hub.NewEventID(), "appointment.created", object{"client_phone": phone, "datetime": "soon"}).status)
}

func TestInboxLink(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	m, s := p.connect("messaging"), p.connect("scheduling")
	const stranger = "+5521999998888"
	m.send("ignored", "contact.created", object{"phone": stranger, "name": "Mother of Ana", "email": "m@example.com"})
	m.send("ignored", "message.received", object{"phone": "+552199998888", "name": "Mother of Ana", "body": "Hello", "ticket_id": 7})
	m.send("ignored", "ticket.closed", object{"ticket_id": 7, "resolution": "done"})
	s.send("ignored", "appointment.cancelled", object{"appointment_id": "a-1", "reason": "x"})
	list := p.items("/integrations/inbox")
	require.Len(t, list, 4)
	require.Equal(t, "appointment.cancelled", list[0]["event_type"])
	require.Nil(t, list[0]["phone"])
	contact := list[3]
	require.Equal(t, stranger, contact["phone"])
	require.Equal(t, "Mother of Ana", contact["name"])
	require.Equal(t, "messaging", contact["product"])
	require.Empty(t, p.history(id))

	staff := p.staff()
	staff.refused(403, "admin_only", "GET", "/integrations/inbox", nil)
	path := "/integrations/inbox/" + list[2]["id"].(string)
	staff.refused(403, "admin_only", "POST", path+"/link", object{"patient_id": id})
	p.refused(404, "not_found", "POST", path+"/link", object{"patient_id": p.another().patient(phone)})
	require.Len(t, p.items("/integrations/inbox"), 4)

	// The number is hers from now on; what waits from it, or about her ticket, follows.
	done := p.ok(200, "POST", path+"/link", object{"patient_id": id})
	require.Equal(t, "linked", done["status"])
	require.EqualValues(t, 2, done["also_linked"])
	require.Nil(t, done["phone"], "not kept longer than needed")
	require.ElementsMatch(t, []string{"contact_created: ", "message_received: Hello", "ticket_closed: done"}, p.history(id))
	p.ok(200, "POST", path+"/link", object{"patient_id": id})
	p.refused(409, "already_settled", "POST", path+"/dismiss", nil)
	require.Len(t, p.history(id), 3)
	m.send("accepted", "message.received", object{"phone": stranger, "body": "Again", "ticket_id": 8})
	require.Len(t, p.history(id), 4)
	require.Equal(t, id, p.key().get("/integrations/search/patients?phone=%2B5521999998888")["patient"].(object)["id"])

	// A booking that was cancelled before it was heard of.
	s.send("accepted", "appointment.created", object{"appointment_id": "a-1", "client_phone": phone, "service": "Check", "datetime": "2027-01-04T12:00:00Z"})
	require.Equal(t, "cancelled", p.items("/patients/" + id + "/appointments")[0]["status"])
	require.Empty(t, p.items("/integrations/inbox"))
	require.Len(t, p.items("/integrations/inbox?status=linked"), 4)
}

func TestInboxDismiss(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	m := p.connect("messaging")
	m.send("ignored", "message.received", object{"phone": phone, "name": "Nobody", "body": "Buy now", "ticket_id": 1})
	id := p.items("/integrations/inbox")[0]["id"].(string)
	p.another().refused(404, "not_found", "POST", "/integrations/inbox/"+id+"/dismiss", nil)
	for range 2 {
		require.Equal(t, "dismissed", p.ok(200, "POST", "/integrations/inbox/"+id+"/dismiss", nil)["status"])
	}
	p.refused(409, "already_settled", "POST", "/integrations/inbox/"+id+"/link", object{"patient_id": p.patient(phone)})
	require.Empty(t, p.items("/integrations/inbox"))
	require.Equal(t, 0, p.count(`select count(*) from clinic.inbox where clinic_id = $1 and (name is not null or phone is not null or data_enc is not null)`))
}

func TestLogInteraction(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	key := p.key("interaction.write")
	body := object{"patient_phone": "11987654321", "interaction_type": "message_received", "summary": "Diagnosis F32.1", "source": "messaging", "source_id": "m-1"}
	done := key.ok(200, "POST", "/integrations/action/log-interaction", body)
	require.Equal(t, true, done["logged"])
	require.Equal(t, id, done["patient_id"])
	require.Equal(t, done, key.ok(200, "POST", "/integrations/action/log-interaction", body), "once")
	list := p.items("/patients/" + id + "/interactions")
	require.Len(t, list, 1)
	require.Equal(t, done["interaction_id"], list[0]["id"])
	require.Equal(t, "Diagnosis ***", list[0]["summary"])
	require.Equal(t, "messaging", list[0]["source"])
	require.Equal(t, "m-1", list[0]["source_id"])

	body["patient_phone"] = "+5511900000000"
	key.refused(404, "patient_not_found", "POST", "/integrations/action/log-interaction", body)
	for location, bad := range map[string]object{
		"body.patient_phone":    {"patient_phone": "x", "interaction_type": "a"},
		"body.interaction_type": {"patient_phone": phone, "interaction_type": "Not Snake"},
	} {
		key.invalid(location, "POST", "/integrations/action/log-interaction", bad)
	}
	p.key("patient.search").refused(403, "missing_scope", "POST", "/integrations/action/log-interaction", body)
	require.Equal(t, 1, p.count(`select count(*) from hub.audit where tenant_id = $1 and action = 'integrations.log-interaction' and status = 404`), "every integration call is audited")
}
