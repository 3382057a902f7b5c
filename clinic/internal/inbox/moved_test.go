package inbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// movedBooking is a booking that its clients pass on.
type movedBooking struct {
	*clinictest.Clinic
	scheduling *clinictest.Peer
	began      time.Time
}

func newMovedBooking(t *testing.T) *movedBooking {
	t.Helper()
	clinic := clinictest.NewClinic(t)
	return &movedBooking{clinic, clinic.ConnectPeer("scheduling"), time.Now().Add(-time.Hour)}
}

// send sends an event about the booking that happened some minutes after the first.
func (b *movedBooking) send(minute int, outcome, eventType, phone string) {
	b.T.Helper()
	data := object{"appointment_id": "a-1", "client_phone": phone}
	if eventType == "appointment.created" {
		data["service"], data["datetime"] = fmt.Sprint("Check ", minute), b.began.Add(72*time.Hour).UTC().Format(time.RFC3339)
	}
	b.scheduling.SendAt(b.began.Add(time.Duration(minute)*time.Minute), outcome, eventType, data)
}

// services are those of a patient's appointments, each with the status.
func (b *movedBooking) services(patient string) (list []string) {
	b.T.Helper()
	for _, item := range b.Items("/patients/" + patient + "/appointments") {
		list = append(list, item["service"].(string)+" "+item["status"].(string))
	}
	return list
}

// A booking goes to a client whom the clinic does not know: it is the former patient's no
// more, and it and its later events wait for a user.
func TestBookingMovedToAStranger(t *testing.T) {
	t.Parallel()
	b := newMovedBooking(t)
	former, later := b.AddPatient(clinictest.Phone), b.AddPatient("+5511900001111")
	b.send(1, "accepted", "appointment.created", clinictest.Phone)
	b.OK(201, "POST", "/patients/"+former+"/payments", object{"amount": 50, "due_date": clinictest.DateIn(t, 1), "appointment_id": b.Items("/patients/" + former + "/appointments")[0]["id"]})
	b.send(5, "ignored", "appointment.created", stranger)
	require.Empty(t, b.services(former))
	require.Nil(t, b.Get("/patients/" + former)["next_appointment"])
	require.Len(t, b.History(former), 1)
	payments := b.Items("/patients/" + former + "/payments")
	require.Len(t, payments, 1, "what was paid is still the payer's")
	require.Nil(t, payments[0]["appointment_id"])

	b.send(6, "ignored", "appointment.reminded", stranger)
	b.send(7, "ignored", "appointment.noshow", stranger)
	b.send(3, "accepted", "appointment.created", clinictest.Phone) // late: it happened, and is over
	require.Empty(t, b.services(former))
	require.Len(t, b.Items("/integrations/inbox"), 3)

	done := b.OK(200, "POST", InboxEntry(b.Clinic, "event_type = 'appointment.created'")+"/link", object{"patient_id": later})
	require.EqualValues(t, 2, done["also_linked"])
	require.Equal(t, []string{"Check 5 no_show"}, b.services(later))
	require.NotNil(t, b.Items("/patients/" + later + "/appointments")[0]["reminded_at"])
	b.send(2, "accepted", "appointment.created", clinictest.Phone)
	require.Empty(t, b.services(former))
	b.send(9, "accepted", "appointment.created", clinictest.Phone)
	require.Equal(t, []string{"Check 9 no_show"}, b.services(former))
	require.Empty(t, b.Items("/integrations/inbox"))
}

// A booking goes to another patient: what was paid for it is still the payer's, who has that
// appointment no more.
func TestPaymentsOfABookingMovedToAPatient(t *testing.T) {
	t.Parallel()
	b := newMovedBooking(t)
	const phone = "+5511900001111"
	former, later := b.AddPatient(clinictest.Phone), b.AddPatient(phone)
	b.send(1, "accepted", "appointment.created", clinictest.Phone)
	appointment := b.Items("/patients/" + former + "/appointments")[0]["id"]
	payment := b.OK(201, "POST", "/patients/"+former+"/payments", object{"amount": 50, "due_date": clinictest.DateIn(t, 1), "appointment_id": appointment})
	b.send(5, "accepted", "appointment.created", phone)
	require.Equal(t, []string{"Check 5 scheduled"}, b.services(later))
	payments := b.Items("/patients/" + former + "/payments")
	require.Len(t, payments, 1)
	require.Nil(t, payments[0]["appointment_id"])
	require.Empty(t, b.Items("/patients/"+later+"/payments"))
	b.OK(200, "POST", "/payments/"+payment["id"].(string)+"/pay", nil)
	events := b.Events()
	require.Equal(t, "payment.received", events[len(events)-1].Type)
	require.Nil(t, events[len(events)-1].Data["appointment_id"], "another patient's appointment")

	// A payment of the later patient stays one of the appointment when the same event comes again.
	b.OK(201, "POST", "/patients/"+later+"/payments", object{"amount": 20, "due_date": clinictest.DateIn(t, 1), "appointment_id": appointment})
	b.send(6, "accepted", "appointment.created", phone)
	require.Equal(t, appointment, b.Items("/patients/" + later + "/payments")[0]["appointment_id"])
}

// The events of such a booking come in another order.
func TestBookingMovedToAStrangerOutOfOrder(t *testing.T) {
	t.Parallel()
	b := newMovedBooking(t)
	former := b.AddPatient(clinictest.Phone)
	b.send(5, "ignored", "appointment.created", stranger)
	b.send(6, "ignored", "appointment.cancelled", "")
	b.send(1, "accepted", "appointment.created", clinictest.Phone)
	require.Empty(t, b.services(former))
	require.Len(t, b.Items("/integrations/inbox"), 2)

	// An older one of a stranger takes nothing; a newer one of a patient is that patient's.
	b.send(8, "accepted", "appointment.created", clinictest.Phone)
	require.Equal(t, []string{"Check 8 cancelled"}, b.services(former))
	b.send(7, "ignored", "appointment.created", "+5521933335555")
	require.Equal(t, []string{"Check 8 cancelled"}, b.services(former))
	require.Len(t, b.Items("/integrations/inbox"), 2, "both strangers'")
	b.OK(200, "POST", InboxEntry(b.Clinic, "phone = $2", stranger)+"/link", object{"patient_id": b.AddPatient("+5511900001111")})
	require.Equal(t, []string{"Check 8 cancelled"}, b.services(former))
}

// A user links the newest of what waits, as the list has it first: the booking still comes before it.
func TestLinkingAChangeOfAWaitingBooking(t *testing.T) {
	t.Parallel()
	b := newMovedBooking(t)
	patient := b.AddPatient("+5511900001111")
	b.send(7, "ignored", "appointment.noshow", stranger)
	b.send(5, "ignored", "appointment.created", stranger)
	b.send(6, "ignored", "appointment.reminded", stranger)
	done := b.OK(200, "POST", InboxEntry(b.Clinic, "event_type = 'appointment.noshow'")+"/link", object{"patient_id": patient})
	require.EqualValues(t, 2, done["also_linked"])
	require.Equal(t, []string{"Check 5 no_show"}, b.services(patient))
	require.NotNil(t, b.Items("/patients/" + patient + "/appointments")[0]["reminded_at"])
	require.Len(t, b.History(patient), 3)
}

// An event without a number says nothing about the client.
func TestBookingChangedWithoutANumber(t *testing.T) {
	t.Parallel()
	b := newMovedBooking(t)
	former := b.AddPatient(clinictest.Phone)
	b.send(1, "accepted", "appointment.created", clinictest.Phone)
	b.send(2, "accepted", "appointment.created", "")
	require.Equal(t, []string{"Check 2 scheduled"}, b.services(former))
}
