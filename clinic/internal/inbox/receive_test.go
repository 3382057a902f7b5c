package inbox_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub"
)

func TestMessagesAndTickets(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	messaging := clinic.ConnectPeer("messaging")
	first := messaging.Send("accepted", "message.received", object{"phone": "+551187654321", "name": "Ana", "body": "Hello, my CPF is 123.456.789-09", "ticket_id": 42})
	messaging.Send("accepted", "message.sent", object{"phone": clinictest.Phone, "body": "Hello", "ticket_id": 42})
	messaging.Send("accepted", "ticket.created", object{"phone": clinictest.Phone, "name": "Ana", "ticket_id": "43", "queue": "Reception"})
	messaging.Send("accepted", "ticket.closed", object{"ticket_id": 43, "resolution": "booked"}) // names nobody: the ticket does
	messaging.Send("accepted", "contact.created", object{"phone": clinictest.Phone, "name": "Ana", "email": ""})
	require.ElementsMatch(t, []string{
		"message_received: Hello, my CPF is ***.***.***-09", "message_sent: Hello", "ticket_created: Reception", "ticket_closed: booked", "contact_created: ",
	}, clinic.History(id))
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from clinic.interactions where clinic_id = $1 and source = 'messaging' and source_id = $2`, first))
	require.Empty(t, clinic.Items("/integrations/inbox"))
	require.Len(t, clinic.Items("/patients"), 1, "nobody is made of a contact")
}

func TestBookingsBecomeAppointments(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	scheduling := clinic.ConnectPeer("scheduling")
	when := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Minute)
	book := object{"appointment_id": "a-1", "client_phone": clinictest.Phone, "service": "Cleaning", "professional": "Dr. Lima", "datetime": when.Format(time.RFC3339)}
	appointment := func() object {
		t.Helper()
		list := clinic.Items("/patients/" + id + "/appointments")
		require.Len(t, list, 1)
		return list[0]
	}
	scheduling.Send("accepted", "appointment.created", book)
	require.Equal(t, "scheduled", appointment()["status"])
	require.Equal(t, when.Format(time.RFC3339), appointment()["datetime"])
	require.Equal(t, "a-1", appointment()["external_id"])
	require.Equal(t, when.Format(time.RFC3339), clinic.Get("/patients/" + id)["next_appointment"])
	scheduling.Send("accepted", "appointment.reminded", object{"appointment_id": "a-1", "client_phone": clinictest.Phone})
	require.NotNil(t, appointment()["reminded_at"])
	later := when.Add(time.Hour)
	book["datetime"] = later.Format(time.RFC3339)
	scheduling.Send("accepted", "appointment.created", book) // moved: the same appointment
	require.Equal(t, later.Format(time.RFC3339), appointment()["datetime"])
	scheduling.Send("accepted", "appointment.noshow", object{"appointment_id": "a-1", "client_phone": "+5500000000000"})
	require.Equal(t, "no_show", appointment()["status"])
	scheduling.Send("accepted", "appointment.cancelled", object{"appointment_id": "a-1", "reason": "travelling"})
	require.Equal(t, "cancelled", appointment()["status"])
	require.Equal(t, "travelling", appointment()["reason"])
	require.Len(t, clinic.History(id), 5)
	require.Contains(t, clinic.History(id), "appointment_cancelled: travelling")
}

// A time without an offset counts in the clinic's zone, also of an event that waits in the
// inbox while the zone changes.
func TestBookingsWithoutOffset(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	clinic.OK(200, "PUT", "/clinic", object{"timezone": "America/Manaus"})
	id := clinic.AddPatient(clinictest.Phone)
	scheduling := clinic.ConnectPeer("scheduling")
	book := func(outcome, phone, datetime string) {
		t.Helper()
		scheduling.Send(outcome, "appointment.created", object{"client_phone": phone, "service": "Cleaning", "professional": "Dr. Lima", "datetime": datetime})
	}
	book("accepted", clinictest.Phone, "2027-01-04T09:00:00")
	book("accepted", clinictest.Phone, "2027-01-05T09:00")
	book("accepted", clinictest.Phone, "2027-01-06T09:00:00-03:00")
	const stranger = "+5521999998888"
	book("ignored", stranger, "2027-01-07T09:00:00")
	clinic.OK(200, "PUT", "/clinic", object{"timezone": "America/Sao_Paulo"})
	scheduling.Send("accepted", "appointment.cancelled", object{"appointment_id": "a-1", "client_phone": clinictest.Phone, "datetime": "2027-01-04T10:00:00"})
	entry := clinic.Items("/integrations/inbox")[0]
	require.Equal(t, "Cleaning, Dr. Lima, 2027-01-07T13:00:00Z", entry["summary"])
	clinic.OK(200, "POST", "/integrations/inbox/"+entry["id"].(string)+"/link", object{"patient_id": id})
	storedStatuses := map[any]any{}
	for _, item := range clinic.Items("/patients/" + id + "/appointments") {
		storedStatuses[item["datetime"]] = item["status"]
	}
	require.Equal(t, map[any]any{
		"2027-01-04T13:00:00Z": "cancelled", "2027-01-05T13:00:00Z": "scheduled", "2027-01-06T12:00:00Z": "scheduled", "2027-01-07T13:00:00Z": "scheduled",
	}, storedStatuses)
	for _, invalid := range []string{"2027-01-04", "2027-01-04 09:00:00", "2027-13-04T09:00:00", "1899-01-04T09:00:00", "soon"} {
		refused := scheduling.Deliver(hub.NewEventID(), "appointment.created", object{"client_phone": clinictest.Phone, "datetime": invalid})
		require.Equal(t, 400, refused.Status, refused.Text)
	}
}

// appointment.created may have no id (docs/interfaces/clinic.md, "Events"): patient and time
// identify the booking. A later event with an unknown id is about it only if no other booking
// is possible.
func TestBookingsWithoutIDs(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	scheduling := clinic.ConnectPeer("scheduling")
	soonest := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	at := func(when time.Time) string { return when.Format(time.RFC3339) }
	book := func(when time.Time) {
		scheduling.Send("accepted", "appointment.created", object{"client_phone": clinictest.Phone, "service": "Cleaning", "professional": "Dr. Lima", "datetime": at(when)})
	}
	later, past := soonest.Add(240*time.Hour), soonest.Add(-20*time.Hour)
	for _, when := range []time.Time{later, soonest, past, soonest, soonest.Add(-90 * time.Hour)} {
		book(when)
	}
	// standing is how each appointment stands, by its time.
	storedStatuses := func() map[string]string {
		list := map[string]string{}
		for _, item := range clinic.Items("/patients/" + id + "/appointments") {
			list[item["datetime"].(string)] = item["status"].(string)
			if item["external_id"] != nil {
				list[item["datetime"].(string)] += " " + item["external_id"].(string)
			}
		}
		return list
	}
	want := map[string]string{at(later): "scheduled", at(soonest): "scheduled", at(past): "scheduled", at(soonest.Add(-90 * time.Hour)): "scheduled"}
	require.Equal(t, want, storedStatuses())

	// Two are to come: which is meant, a person has to say.
	scheduling.Send("ignored", "appointment.reminded", object{"appointment_id": "a-9", "client_phone": clinictest.Phone})
	scheduling.Send("ignored", "appointment.cancelled", object{"appointment_id": "a-8", "client_phone": clinictest.Phone, "reason": ""})
	scheduling.Send("ignored", "appointment.cancelled", object{"appointment_id": "a-8", "client_phone": clinictest.Phone, "datetime": at(soonest.Add(time.Minute))})
	require.Equal(t, want, storedStatuses())
	require.Len(t, clinic.Items("/integrations/inbox"), 3)

	// The time says which, whatever is nearer to now. Its id is known from then on, and what waited for it follows.
	scheduling.Send("accepted", "appointment.cancelled", object{"appointment_id": "a-7", "client_phone": clinictest.Phone, "datetime": at(later)})
	want[at(later)] = "cancelled a-7"
	require.Equal(t, want, storedStatuses())
	// One is left to come, and one that may just have been missed.
	scheduling.Send("accepted", "appointment.noshow", object{"appointment_id": "a-6", "client_phone": clinictest.Phone})
	want[at(past)] = "no_show a-6"
	require.Equal(t, want, storedStatuses())
	scheduling.Send("accepted", "appointment.reminded", object{"appointment_id": "a-9", "client_phone": clinictest.Phone})
	want[at(soonest)] = "scheduled a-9"
	require.Equal(t, want, storedStatuses())
	scheduling.Send("accepted", "appointment.cancelled", object{"appointment_id": "a-9", "reason": ""})
	want[at(soonest)] = "cancelled a-9"
	require.Equal(t, want, storedStatuses())
	require.Len(t, clinic.Items("/integrations/inbox"), 2, "the reminder followed")
}

// The latest event about an appointment counts, in whatever order the events arrive.
func TestEventsOutOfOrder(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	scheduling := clinic.ConnectPeer("scheduling")
	now := time.Now().UTC().Truncate(time.Second)
	when, moved := now.Add(48*time.Hour), now.Add(72*time.Hour)
	appointment := func() object {
		t.Helper()
		list := clinic.Items("/patients/" + id + "/appointments")
		require.Len(t, list, 1)
		return list[0]
	}
	created := func(at time.Time, service string) object {
		return object{"appointment_id": "a-1", "client_phone": clinictest.Phone, "service": service, "professional": "Dr. Lima", "datetime": at.Format(time.RFC3339)}
	}
	reference := object{"appointment_id": "a-1", "client_phone": clinictest.Phone}
	scheduling.SendAt(now.Add(-10*time.Minute), "accepted", "appointment.created", created(moved, "Moved"))
	scheduling.SendAt(now.Add(-30*time.Minute), "accepted", "appointment.created", created(when, "First"))
	require.Equal(t, moved.Format(time.RFC3339), appointment()["datetime"])
	require.Equal(t, "Moved", appointment()["service"])
	scheduling.SendAt(now.Add(-5*time.Minute), "accepted", "appointment.cancelled", reference)
	scheduling.SendAt(now.Add(-8*time.Minute), "accepted", "appointment.noshow", reference)
	require.Equal(t, "cancelled", appointment()["status"])
	scheduling.SendAt(now.Add(-9*time.Minute), "accepted", "appointment.reminded", reference)
	scheduling.SendAt(now.Add(-20*time.Minute), "accepted", "appointment.reminded", reference)
	require.Equal(t, now.Add(-9*time.Minute).Format(time.RFC3339), appointment()["reminded_at"])
	require.Len(t, clinic.History(id), 6, "all of it happened")
	scheduling.SendAt(now.Add(-4*time.Minute), "accepted", "appointment.created", created(when, "Back"))
	require.Equal(t, "Back", appointment()["service"])
	require.Equal(t, "cancelled", appointment()["status"])

	// An event that it takes place reactivates it, unless that event is older.
	again := created(when, "Again")
	again["status"] = "confirmed"
	scheduling.SendAt(now.Add(-4*time.Minute), "accepted", "appointment.cancelled", object{"appointment_id": "a-1", "reason": "ill"})
	scheduling.SendAt(now.Add(-210*time.Second), "accepted", "appointment.created", again)
	require.Equal(t, "confirmed", appointment()["status"])
	require.Nil(t, appointment()["reason"])
	require.Contains(t, clinic.History(id), "appointment_created: Again, Dr. Lima, "+when.Format(time.RFC3339)+": confirmed")
	scheduling.SendAt(now.Add(-220*time.Second), "accepted", "appointment.noshow", reference)
	require.Equal(t, "confirmed", appointment()["status"])
	scheduling.SendAt(now.Add(-190*time.Second), "accepted", "appointment.noshow", reference)
	scheduling.SendAt(now.Add(-200*time.Second), "accepted", "appointment.created", again)
	require.Equal(t, "no_show", appointment()["status"])
	again["status"] = "completed"
	scheduling.SendAt(now.Add(-180*time.Second), "accepted", "appointment.created", again)
	require.Equal(t, "no_show", appointment()["status"])

	// What the clinic's users say counts too, from when they said it.
	clinic.OK(200, "PUT", "/appointments/"+appointment()["id"].(string), object{"status": "confirmed", "service": "Ours"})
	scheduling.SendAt(now.Add(-time.Minute), "accepted", "appointment.noshow", reference)
	scheduling.SendAt(now.Add(-time.Minute), "accepted", "appointment.created", created(moved, "Theirs"))
	require.Equal(t, "confirmed", appointment()["status"])
	require.Equal(t, "Ours", appointment()["service"])
	scheduling.SendAt(now.Add(time.Minute), "accepted", "appointment.cancelled", reference)
	require.Equal(t, "cancelled", appointment()["status"])
}

func TestEventsHaveOneEffect(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	messaging := clinic.ConnectPeer("messaging")
	event := hub.NewEventID()
	data := object{"phone": clinictest.Phone, "name": "Ana", "body": "Hello", "ticket_id": 1}
	raw := messaging.Envelope(event, "message.received", data, time.Now())
	outcomes := make(chan any, 50)
	var group sync.WaitGroup
	for range cap(outcomes) {
		group.Go(func() { outcomes <- messaging.Post(raw).Body["status"] })
	}
	group.Wait()
	close(outcomes)
	counts := map[any]int{}
	for outcome := range outcomes {
		counts[outcome]++
	}
	require.Equal(t, map[any]int{"accepted": 1, "duplicate": 49}, counts)
	require.Len(t, clinic.History(id), 1)
	data["body"] = "Another"
	require.Equal(t, 409, messaging.Deliver(event, "message.received", data).Status)
	require.Len(t, clinic.History(id), 1)
	require.Equal(t, 200, messaging.Deliver(hub.NewEventID(), "message.exploded", data).Status)
	require.Equal(t, 400, messaging.Deliver(hub.NewEventID(), "message.received", object{"phone": 7}).Status)
	require.Len(t, clinic.History(id), 1)
	require.Equal(t, 400, clinic.ConnectPeer("scheduling").Deliver(hub.NewEventID(), "appointment.created", object{"client_phone": clinictest.Phone, "datetime": "soon"}).Status)
}

func TestInboxLink(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	messaging, scheduling := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling")
	const stranger = "+5521999998888"
	messaging.Send("ignored", "contact.created", object{"phone": stranger, "name": "Mother of Ana", "email": "m@example.com"})
	messaging.Send("ignored", "message.received", object{"phone": "+552199998888", "name": "Mother of Ana", "body": "Hello", "ticket_id": 7})
	messaging.Send("ignored", "ticket.closed", object{"ticket_id": 7, "resolution": "done"})
	scheduling.Send("ignored", "appointment.cancelled", object{"appointment_id": "a-1", "reason": "x"})
	list := clinic.Items("/integrations/inbox")
	require.Len(t, list, 4)
	require.Equal(t, "appointment.cancelled", list[0]["event_type"])
	require.Nil(t, list[0]["phone"])
	contact := list[3]
	require.Equal(t, stranger, contact["phone"])
	require.Equal(t, "Mother of Ana", contact["name"])
	require.Equal(t, "messaging", contact["product"])
	require.Empty(t, clinic.History(id))

	staff := clinic.AddStaff()
	staff.Refused(403, "admin_only", "GET", "/integrations/inbox", nil)
	path := "/integrations/inbox/" + list[2]["id"].(string)
	staff.Refused(403, "admin_only", "POST", path+"/link", object{"patient_id": id})
	clinic.Refused(404, "not_found", "POST", path+"/link", object{"patient_id": clinic.AnotherClinic().AddPatient(clinictest.Phone)})
	require.Len(t, clinic.Items("/integrations/inbox"), 4)

	// The number is hers from now on; what waits from it, or about her ticket, follows.
	done := clinic.OK(200, "POST", path+"/link", object{"patient_id": id})
	require.Equal(t, "linked", done["status"])
	require.EqualValues(t, 2, done["also_linked"])
	require.Nil(t, done["phone"], "not kept longer than needed")
	require.ElementsMatch(t, []string{"contact_created: ", "message_received: Hello", "ticket_closed: done"}, clinic.History(id))
	clinic.OK(200, "POST", path+"/link", object{"patient_id": id})
	clinic.Refused(409, "already_settled", "POST", path+"/dismiss", nil)
	require.Len(t, clinic.History(id), 3)
	messaging.Send("accepted", "message.received", object{"phone": stranger, "body": "Again", "ticket_id": 8})
	require.Len(t, clinic.History(id), 4)
	require.Equal(t, id, clinic.NewKey().Get("/integrations/search/patients?phone=%2B5521999998888")["patient"].(object)["id"])

	// A booking that was cancelled before it was heard of.
	scheduling.Send("accepted", "appointment.created", object{"appointment_id": "a-1", "client_phone": clinictest.Phone, "service": "Check", "datetime": "2027-01-04T12:00:00Z"})
	require.Equal(t, "cancelled", clinic.Items("/patients/" + id + "/appointments")[0]["status"])
	require.Empty(t, clinic.Items("/integrations/inbox"))
	require.Len(t, clinic.Items("/integrations/inbox?status=linked"), 4)
}

func TestInboxDismiss(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	messaging := clinic.ConnectPeer("messaging")
	messaging.Send("ignored", "message.received", object{"phone": clinictest.Phone, "name": "Nobody", "body": "Buy now", "ticket_id": 1})
	id := clinic.Items("/integrations/inbox")[0]["id"].(string)
	clinic.AnotherClinic().Refused(404, "not_found", "POST", "/integrations/inbox/"+id+"/dismiss", nil)
	for range 2 {
		require.Equal(t, "dismissed", clinic.OK(200, "POST", "/integrations/inbox/"+id+"/dismiss", nil)["status"])
	}
	clinic.Refused(409, "already_settled", "POST", "/integrations/inbox/"+id+"/link", object{"patient_id": clinic.AddPatient(clinictest.Phone)})
	require.Empty(t, clinic.Items("/integrations/inbox"))
	require.Equal(t, 0, clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and (name is not null or phone is not null or data_enc is not null)`))
}
