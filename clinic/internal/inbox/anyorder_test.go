package inbox_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub"
)

// sentEvent is an event of a connected product.
type sentEvent struct {
	peer *clinictest.Peer
	raw  []byte
}

// eventStream returns what messaging and scheduling send about one patient, in the order in
// which it happened. Some of it names only the appointment or the ticket. name makes the ids
// its own.
func eventStream(messaging, scheduling *clinictest.Peer, name, phone string, began time.Time) (events []sentEvent) {
	minute := 0
	add := func(peer *clinictest.Peer, eventType string, data object) {
		minute++
		events = append(events, sentEvent{peer, peer.Envelope(hub.NewEventID(), eventType, data, began.Add(time.Duration(minute)*time.Minute))})
	}
	id := func(appointment string) string { return appointment + "-" + name }
	book := func(appointment string, day int, status string) {
		data := object{"appointment_id": id(appointment), "client_phone": phone, "service": "Cleaning " + appointment, "professional": "Dr. Lima", "datetime": began.AddDate(0, 0, day).Format(time.RFC3339)}
		if status != "" {
			data["status"] = status
		}
		add(scheduling, "appointment.created", data)
	}
	change := func(eventType, appointment string, extra object) {
		data := object{"appointment_id": id(appointment)}
		for member, value := range extra {
			data[member] = value
		}
		add(scheduling, eventType, data)
	}
	known, ticket := object{"client_phone": phone}, "t-"+name
	add(messaging, "contact.created", object{"phone": phone, "name": "Ana", "email": ""})
	add(messaging, "ticket.created", object{"phone": phone, "name": "Ana", "ticket_id": ticket, "queue": "Reception"})
	add(messaging, "message.received", object{"phone": phone, "name": "Ana", "body": "May I come?", "ticket_id": ticket})
	book("a", 2, "")
	add(messaging, "message.sent", object{"phone": phone, "body": "On Monday", "ticket_id": ticket})
	change("appointment.reminded", "a", known)
	book("a", 2, "confirmed")
	book("a", 3, "") // moved
	change("appointment.reminded", "a", known)
	book("b", 4, "")
	change("appointment.cancelled", "b", object{"reason": "travelling"})
	book("b", 5, "confirmed") // it takes place again
	book("c", 1, "")
	change("appointment.noshow", "c", known)
	book("c", 1, "scheduled") // the no-show was taken back
	book("d", 6, "")
	change("appointment.reminded", "d", known)
	book("d", 6, "confirmed")
	change("appointment.cancelled", "d", object{"reason": "ill"})
	add(messaging, "ticket.closed", object{"ticket_id": ticket, "resolution": "booked"})
	return events
}

// outcomeOf is what a patient's appointments and history say, without ids that differ. A
// reminder and a no-show do not have the appointment's time: their texts have the one that was
// known when they came, and are compared without it.
func outcomeOf(clinic *clinictest.Clinic, patient, name string) (appointments, history []string) {
	for _, a := range clinic.Items("/patients/" + patient + "/appointments?per_page=100") {
		external := a["external_id"].(string)
		appointments = append(appointments, fmt.Sprintln(external[:len(external)-len(name)], a["datetime"], a["service"], a["professional"], a["status"], a["reason"], a["reminded_at"]))
	}
	for _, i := range clinic.Items("/patients/" + patient + "/interactions?per_page=100") {
		summary := i["summary"].(string)
		if kind := i["interaction_type"]; kind == "appointment_reminded" || kind == "appointment_noshow" {
			summary, _, _ = strings.Cut(summary, ", 20")
		}
		history = append(history, fmt.Sprint(i["interaction_type"], ": ", summary, " ", i["source"], " ", i["occurred_at"]))
	}
	slices.Sort(appointments)
	slices.Sort(history)
	return appointments, history
}

// Events of connected products come repeatedly, late and in any order. What they make of a
// patient is always the same.
func TestEventsInAnyOrder(t *testing.T) {
	t.Parallel()
	const permutations = 30
	clinic := clinictest.NewClinic(t)
	messaging, scheduling := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling")
	began := time.Now().UTC().Truncate(time.Second).Add(-time.Hour)
	play := func(seed int, arrange func([]sentEvent) []sentEvent) (appointments, history []string) {
		name, phone := fmt.Sprint(seed), fmt.Sprintf("+55119876%05d", seed)
		patient := clinic.AddPatient(phone)
		events := eventStream(messaging, scheduling, name, phone, began)
		for _, event := range arrange(slices.Clone(events)) {
			response := event.peer.Post(event.raw)
			require.Equal(t, 200, response.Status, response.Text)
			require.Contains(t, []any{"accepted", "ignored", "duplicate"}, response.Body["status"], response.Text)
		}
		require.Empty(t, clinic.Items("/integrations/inbox"), "seed %d: nothing waits at the end", seed)
		appointments, history = outcomeOf(clinic, patient, name)
		require.Len(t, history, len(events), "seed %d: each event once", seed)
		return appointments, history
	}
	appointments, history := play(0, func(events []sentEvent) []sentEvent { return events })
	require.Len(t, appointments, 4)
	for seed := 1; seed <= permutations; seed++ {
		random := rand.New(rand.NewPCG(uint64(seed), 13))
		gotAppointments, gotHistory := play(seed, func(events []sentEvent) []sentEvent {
			if seed == 1 {
				slices.Reverse(events)
				return slices.Concat(events, events)
			}
			for range len(events) / 2 {
				events = append(events, events[random.IntN(len(events))])
			}
			random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
			return events
		})
		require.Equal(t, appointments, gotAppointments, "seed %d", seed)
		require.Equal(t, history, gotHistory, "seed %d", seed)
	}
}
