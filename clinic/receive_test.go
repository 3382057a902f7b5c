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

// Document 3's appointment.created tells no id; who and when do. What is told of one
// later by an id that nobody knows is believed to mean it only where nothing else can be
// meant.
func TestBookingsWithoutIDs(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	s := p.connect("scheduling")
	soonest := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	at := func(when time.Time) string { return when.Format(time.RFC3339) }
	book := func(when time.Time) {
		s.send("accepted", "appointment.created", object{"client_phone": phone, "service": "Cleaning", "professional": "Dr. Lima", "datetime": at(when)})
	}
	later, past := soonest.Add(240*time.Hour), soonest.Add(-20*time.Hour)
	for _, when := range []time.Time{later, soonest, past, soonest, soonest.Add(-90 * time.Hour)} {
		book(when)
	}
	// standing is how each appointment stands, by its time.
	standing := func() map[string]string {
		list := map[string]string{}
		for _, one := range p.items("/patients/" + id + "/appointments") {
			list[one["datetime"].(string)] = one["status"].(string)
			if one["external_id"] != nil {
				list[one["datetime"].(string)] += " " + one["external_id"].(string)
			}
		}
		return list
	}
	want := map[string]string{at(later): "scheduled", at(soonest): "scheduled", at(past): "scheduled", at(soonest.Add(-90 * time.Hour)): "scheduled"}
	require.Equal(t, want, standing())

	// Two are to come: which is meant, a person has to say.
	s.send("ignored", "appointment.reminded", object{"appointment_id": "a-9", "client_phone": phone})
	s.send("ignored", "appointment.cancelled", object{"appointment_id": "a-8", "client_phone": phone, "reason": ""})
	s.send("ignored", "appointment.cancelled", object{"appointment_id": "a-8", "client_phone": phone, "datetime": at(soonest.Add(time.Minute))})
	require.Equal(t, want, standing())
	require.Len(t, p.items("/integrations/inbox"), 3)

	// The time says which, whatever is nearer to now. Its id is known from then on, and what waited for it follows.
	s.send("accepted", "appointment.cancelled", object{"appointment_id": "a-7", "client_phone": phone, "datetime": at(later)})
	want[at(later)] = "cancelled a-7"
	require.Equal(t, want, standing())
	// One is left to come, and one that may just have been missed.
	s.send("accepted", "appointment.noshow", object{"appointment_id": "a-6", "client_phone": phone})
	want[at(past)] = "no_show a-6"
	require.Equal(t, want, standing())
	s.send("accepted", "appointment.reminded", object{"appointment_id": "a-9", "client_phone": phone})
	want[at(soonest)] = "scheduled a-9"
	require.Equal(t, want, standing())
	s.send("accepted", "appointment.cancelled", object{"appointment_id": "a-9", "reason": ""})
	want[at(soonest)] = "cancelled a-9"
	require.Equal(t, want, standing())
	require.Len(t, p.items("/integrations/inbox"), 2, "the reminder followed")
}

// Of what is told of an appointment the latest is true, in whatever order it comes.
func TestLateNewsOfBookings(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	s := p.connect("scheduling")
	now := time.Now().UTC().Truncate(time.Second)
	when, moved := now.Add(48*time.Hour), now.Add(72*time.Hour)
	one := func() object {
		t.Helper()
		list := p.items("/patients/" + id + "/appointments")
		require.Len(t, list, 1)
		return list[0]
	}
	created := func(at time.Time, service string) object {
		return object{"appointment_id": "a-1", "client_phone": phone, "service": service, "professional": "Dr. Lima", "datetime": at.Format(time.RFC3339)}
	}
	about := object{"appointment_id": "a-1", "client_phone": phone}
	s.sendAt(now.Add(-10*time.Minute), "accepted", "appointment.created", created(moved, "Moved"))
	s.sendAt(now.Add(-30*time.Minute), "accepted", "appointment.created", created(when, "First"))
	require.Equal(t, moved.Format(time.RFC3339), one()["datetime"])
	require.Equal(t, "Moved", one()["service"])
	s.sendAt(now.Add(-5*time.Minute), "accepted", "appointment.cancelled", about)
	s.sendAt(now.Add(-8*time.Minute), "accepted", "appointment.noshow", about)
	require.Equal(t, "cancelled", one()["status"])
	s.sendAt(now.Add(-9*time.Minute), "accepted", "appointment.reminded", about)
	s.sendAt(now.Add(-20*time.Minute), "accepted", "appointment.reminded", about)
	require.Equal(t, now.Add(-9*time.Minute).Format(time.RFC3339), one()["reminded_at"])
	require.Len(t, p.history(id), 6, "all of it happened")
	s.sendAt(now.Add(-4*time.Minute), "accepted", "appointment.created", created(when, "Back"))
	require.Equal(t, "Back", one()["service"])
	require.Equal(t, "cancelled", one()["status"])

	// Where it is told to take place, it does again, unless that is older.
	again := created(when, "Again")
	again["status"] = "confirmed"
	s.sendAt(now.Add(-4*time.Minute), "accepted", "appointment.cancelled", object{"appointment_id": "a-1", "reason": "ill"})
	s.sendAt(now.Add(-210*time.Second), "accepted", "appointment.created", again)
	require.Equal(t, "scheduled", one()["status"])
	require.Nil(t, one()["reason"])
	s.sendAt(now.Add(-220*time.Second), "accepted", "appointment.noshow", about)
	require.Equal(t, "scheduled", one()["status"])
	s.sendAt(now.Add(-190*time.Second), "accepted", "appointment.noshow", about)
	s.sendAt(now.Add(-200*time.Second), "accepted", "appointment.created", again)
	require.Equal(t, "no_show", one()["status"])
	again["status"] = "completed"
	s.sendAt(now.Add(-180*time.Second), "accepted", "appointment.created", again)
	require.Equal(t, "no_show", one()["status"])

	// What the clinic's users say counts too, from when they said it.
	p.ok(200, "PUT", "/appointments/"+one()["id"].(string), object{"status": "confirmed", "service": "Ours"})
	s.sendAt(now.Add(-time.Minute), "accepted", "appointment.noshow", about)
	s.sendAt(now.Add(-time.Minute), "accepted", "appointment.created", created(moved, "Theirs"))
	require.Equal(t, "confirmed", one()["status"])
	require.Equal(t, "Ours", one()["service"])
	s.sendAt(now.Add(time.Minute), "accepted", "appointment.cancelled", about)
	require.Equal(t, "cancelled", one()["status"])
}

func TestEventsHaveOneEffect(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	m := p.connect("messaging")
	event := hub.NewEventID()
	data := object{"phone": phone, "name": "Ana", "body": "Hello", "ticket_id": 1}
	raw := m.envelope(event, "message.received", data, time.Now())
	outcomes := make(chan any, 50)
	var group sync.WaitGroup
	for range cap(outcomes) {
		group.Go(func() { outcomes <- m.post(raw).body["status"] })
	}
	group.Wait()
	close(outcomes)
	counts := map[any]int{}
	for outcome := range outcomes {
		counts[outcome]++
	}
	require.Equal(t, map[any]int{"accepted": 1, "duplicate": 49}, counts)
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

// What a key calls its source is its own: it tells nothing of another patient, speaks for
// no other product where it belongs to one, and keeps no product's event out.
func TestLogInteractionOfAnotherSource(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id, other := p.patient(phone), p.patient("+5511900001111")
	m := p.connect("messaging")
	const path = "/integrations/action/log-interaction"
	key, own := p.key("interaction.write"), p.as(m.key)
	event := hub.NewEventID()
	body := func(change object) object {
		b := object{"patient_phone": phone, "interaction_type": "call", "summary": "Hello", "source": "messaging", "source_id": event}
		for name, value := range change {
			b[name] = value
		}
		return b
	}
	key.ok(200, "POST", path, body(nil))
	for _, change := range []object{{"patient_phone": "+5511900001111"}, {"summary": "Bye"}, {"interaction_type": "visit"}} {
		got := key.refused(409, "source_id_reused", "POST", path, body(change))
		require.NotContains(t, text(t, got), id)
	}
	require.Empty(t, p.history(other))
	key.invalid("body.source", "POST", path, body(object{"source": "clinic"}))
	own.invalid("body.source", "POST", path, body(object{"source": "scheduling"}))
	own.invalid("body.source", "POST", path, body(object{"source": "clinic"}))

	// The product's own call, and its own event, of the same id.
	own.ok(200, "POST", path, body(object{"summary": "Own call"}))
	without := body(object{"summary": "Without", "source_id": "m-2"})
	delete(without, "source")
	own.ok(200, "POST", path, without)
	require.Equal(t, 200, m.deliver(event, "message.received", object{"phone": phone, "body": "The event", "ticket_id": 1}).status)
	require.ElementsMatch(t, []string{"call: Hello", "call: Own call", "call: Without", "message_received: The event"}, p.history(id))
	for _, one := range p.items("/patients/" + id + "/interactions") {
		require.Equal(t, "messaging", one["source"])
	}

	// Ids that read as tax ids are kept as something else, the same each time.
	digits := body(object{"source_id": "529.982.247-25"})
	require.Equal(t, key.ok(200, "POST", path, digits), key.ok(200, "POST", path, digits))
	require.NotContains(t, p.snapshot(), "529.982.247-25")
}
