package contactlinks_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/messaging/internal/messagingtest"
)

type object = map[string]any

// clinicRoom is a company that is connected with a clinic.
type clinicRoom struct {
	*messagingtest.Company
	line   messagingtest.Connection
	clinic *messagingtest.Calendar
}

func newClinicRoom(t *testing.T) *clinicRoom {
	t.Helper()
	company := messagingtest.NewCompanyAt(t, time.Now())
	r := &clinicRoom{company, company.Connect(), company.ConnectPeer("clinic")}
	// The hub runs a job once at a time. The test runs it by itself, and never beside the hub.
	require.Eventually(t, func() bool {
		stopped, err := r.Hub.Host.Pool.Exec(t.Context(), `update hub.jobs set due_at = now() + interval '1 year' where product = 'messaging' and job = 'contact-links' and leased_to is null`)
		require.NoError(t, err)
		return stopped.RowsAffected() == 1
	}, time.Minute, 10*time.Millisecond)
	return r
}

// ask runs the job until nothing waits that may be asked now.
func (r *clinicRoom) ask() {
	r.T.Helper()
	r.RunJob("contact-links")
}

// awaitEvents waits until the clinic has events of a type, and returns their phones.
func (r *clinicRoom) awaitEvents(eventType string, count int) (phones []string) {
	r.T.Helper()
	require.Eventually(r.T, func() bool { return len(r.clinic.Events(eventType)) >= count }, time.Minute, 10*time.Millisecond)
	list := r.clinic.Events(eventType)
	require.Len(r.T, list, count)
	for _, event := range list {
		phones = append(phones, fmt.Sprint(event.Data["phone"]))
	}
	return phones
}

// receive passes an event of the clinic to the product, as the hub does.
func (r *clinicRoom) receive(id, eventType string, data object) {
	r.T.Helper()
	raw, err := json.Marshal(data)
	require.NoError(r.T, err)
	require.NoError(r.T, pgx.BeginFunc(r.T.Context(), r.Hub.Host.Pool, func(tx pgx.Tx) error {
		err := r.Hub.Instance.Handle(r.T.Context(), tx, hub.Event{ID: id, TenantID: r.Tenant, Environment: hub.Live, Product: "clinic", Type: eventType, Data: raw})
		if errors.Is(err, module.ErrIgnored) {
			return nil
		}
		return err
	}))
}

// What a clinic says of a patient may come twice and in any order: who was deleted stays
// anonymous, and nothing waits for an answer about it.
func TestPatientEventsInAnyOrder(t *testing.T) {
	t.Parallel()
	first := newClinicRoom(t)
	for _, order := range [][]string{
		{"created", "updated", "deleted"}, {"deleted", "updated", "created"}, {"updated", "deleted", "created"}, {"created", "deleted", "updated"},
	} {
		company := first.AnotherCompany()
		r := &clinicRoom{company, company.Connect(), company.ConnectPeer("clinic")}
		r.clinic.Fail(503)
		phone := r.AddPhone("Zoraide Quintela")
		r.SendFromPhone(phone, r.line, "I am Zoraide Quintela")
		for range 2 {
			for i, event := range order {
				for range 2 {
					r.receive(fmt.Sprintf("evt_%016d", i), "patient."+event, object{"patient_id": "p", "name": "Zoraide Quintela", "phone": "+" + phone})
				}
			}
		}
		r.ask()
		contacts := r.Get("/contacts")["contacts"].([]any)
		require.Len(t, contacts, 1, order)
		require.Equal(t, "Anonymized", contacts[0].(object)["name"], order)
		require.Zero(t, r.Hub.Count("messaging.held_events where company_id = $1", r.ID), order)
		require.Zero(t, r.Hub.Count("messaging.messages t where t.company_id = $1 and t::text ilike '%quintela%'", r.ID), order)
	}
}

// A clinic gets messages and new tickets of the contacts that its search finds; new contacts
// and closed tickets of all. What happens before the answer waits for it.
func TestEventsOfLinkedContacts(t *testing.T) {
	t.Parallel()
	r := newClinicRoom(t)
	patient, stranger := r.AddPhone("Ana"), r.AddPhone("Bruno")
	r.clinic.Know("+" + patient)
	r.SendFromPhone(stranger, r.line, "Hi")
	r.SendFromPhone(patient, r.line, "first")
	r.SendFromPhone(patient, r.line, "second")
	require.ElementsMatch(t, []string{"+" + patient, "+" + stranger}, r.awaitEvents("contact.created", 2))
	require.Eventually(t, func() bool { r.ask(); return len(r.clinic.Events("message.received")) == 2 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, []string{"+" + patient}, r.awaitEvents("ticket.created", 1))
	for i, event := range r.clinic.Events("message.received") {
		require.Contains(t, []string{"first", "second"}, event.Data["body"], i)
	}
	require.ElementsMatch(t, []string{"+" + patient, "+" + stranger}, r.clinic.Checked(), "each once")
	require.Zero(t, r.Hub.Count("messaging.held_events"))

	// Answers are kept.
	r.SendFromPhone(patient, r.line, "third")
	r.SendFromPhone(stranger, r.line, "Hello?")
	r.awaitEvents("message.received", 3)
	r.ask()
	require.Len(t, r.clinic.Checked(), 2)
	for _, ticket := range r.Tickets("") {
		r.OK(200, "PUT", messagingtest.TicketPath(ticket), object{"status": "closed"})
	}
	r.awaitEvents("ticket.closed", 2)
	contact := r.Tickets("searchParam=" + patient)[0]["contactId"]
	r.OK(201, "POST", "/tickets", object{"contactId": contact, "queueId": r.AddQueueRow("Sales", "#0000aa")})
	r.awaitEvents("ticket.created", 2)
	var queues []any
	for _, event := range r.clinic.Events("ticket.created") {
		queues = append(queues, event.Data["queue"])
	}
	require.ElementsMatch(t, []any{"", "Sales"}, queues)

	// A new patient's number is asked for again; otherwise after a day.
	r.clinic.Know("+"+patient, "+"+stranger)
	r.receive("evt_00000000000000a1", "patient.created", object{"name": "Bruno", "phone": "+" + stranger})
	r.SendFromPhone(stranger, r.line, "I am a patient now")
	require.Eventually(t, func() bool { r.ask(); return len(r.clinic.Events("message.received")) == 4 }, time.Minute, 10*time.Millisecond)
	require.Len(t, r.clinic.Checked(), 3)
	late := r.AddPhone("Carla")
	r.SendFromPhone(late, r.line, "Hi")
	require.Eventually(t, func() bool { r.ask(); return len(r.clinic.Checked()) == 4 }, time.Minute, 10*time.Millisecond)
	r.clinic.Know("+"+patient, "+"+stranger, "+"+late)
	r.Advance(23 * time.Hour)
	r.SendFromPhone(late, r.line, "Hello?")
	r.ask()
	require.Len(t, r.clinic.Checked(), 4)
	r.Advance(time.Hour)
	r.SendFromPhone(late, r.line, "Anybody?")
	require.Eventually(t, func() bool { r.ask(); return len(r.clinic.Events("message.received")) == 5 }, time.Minute, 10*time.Millisecond)

	// What people wait for is normal. What only campaigns and programs wait for is bulk.
	require.Zero(t, r.Hub.Count("hub.events where tenant_id = $1 and priority <> 0", r.Tenant))
	announced := r.AddPhone("Eva")
	r.clinic.Know("+" + announced)
	r.SendFromPhone(announced, r.line, "Hi")
	require.Eventually(t, func() bool { return r.Hub.Count("messaging.held_events") > 0 }, time.Minute, 10*time.Millisecond)
	_, err := r.Hub.Host.Pool.Exec(t.Context(), `update messaging.contact_links set is_bulk = true where wanted_at is not null`)
	require.NoError(t, err)
	require.Eventually(t, func() bool { r.ask(); return len(r.clinic.Events("message.received")) == 6 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, 1, r.Hub.Count("hub.events where tenant_id = $1 and event_type = 'message.received' and priority = 1", r.Tenant))

	// All about a ticket has its id as ordering key, also what waited.
	require.Zero(t, r.Hub.Count("hub.events where deliveries > 0 and event_type <> 'contact.created' and coalesce(ordering_key, '') not in (select id::text from messaging.tickets)"))

	// What waits goes with the contact.
	gone := r.AddPhone("Davi")
	r.clinic.FailChecks(503)
	r.SendFromPhone(gone, r.line, "Hi")
	id := r.Tickets("searchParam=" + gone)[0]["contactId"]
	r.OK(200, "POST", fmt.Sprintf("/contacts/%v/anonymize", id), nil)
	require.Zero(t, r.Hub.Count("messaging.held_events"))
}

// Searches take 30 of the 100 calls a minute that a product takes, and campaigns 20 of them;
// people's contacts are asked for first.
func TestPaceOfSearches(t *testing.T) {
	t.Parallel()
	r := newClinicRoom(t)
	_, err := r.Hub.Host.Pool.Exec(t.Context(), `
		with made as (insert into messaging.contacts (company_id, name, number, number_key)
			select $1, 'Contact ' || i, '5511970000' || (100 + i), '5511970000' || (100 + i) from generate_series(1, 100) i returning id),
		integration as (select id from hub.integrations where tenant_id = $2)
		insert into messaging.contact_links (company_id, contact_id, integration_id, wanted_at, is_bulk) select $1, m.id, i.id, $3, true from made m, integration i`, r.ID, r.Tenant, r.Hub.Clock.Now())
	require.NoError(t, err)
	searched := func(count int) {
		t.Helper()
		require.Eventually(t, func() bool { r.ask(); return len(r.clinic.Checked()) == count }, time.Minute, 10*time.Millisecond)
		r.ask()
		require.Len(t, r.clinic.Checked(), count)
	}
	searched(20)
	ana := r.AddPhone("Ana")
	r.SendFromPhone(ana, r.line, "Hi")
	searched(21)
	require.Equal(t, "+"+ana, r.clinic.Checked()[20], "before the 80 others")
	r.Hub.Clock.Advance(61 * time.Second)
	searched(41)

	// Retry-After is obeyed, and failures pause for longer each time.
	r.Hub.Clock.Advance(61 * time.Second)
	r.clinic.FailChecks(429)
	searched(42)
	r.Hub.Clock.Advance(6 * time.Second)
	searched(42)
	r.Hub.Clock.Advance(time.Second)
	r.clinic.FailChecks(503, 503)
	searched(43)
	r.Hub.Clock.Advance(29 * time.Second)
	searched(43)
	r.Hub.Clock.Advance(91 * time.Second)
	searched(44)
	require.Equal(t, 101, r.Hub.Count("messaging.contact_links"))
	require.Equal(t, 60, r.Hub.Count("messaging.contact_links where wanted_at is not null"), "41 have their answer")
}
