package notify_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// "mail in the language of the booking": every mail to the client is, until the booking is
// another client's; the organization is written to in its own.
func TestEmailsInTheLanguageOfTheBooking(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/organization/settings", object{"notify_emails": []string{"desk@example.com"}})
	guest := org.Guest()
	request := org.BookingBody(0)
	request["locale"] = "en"
	booked := guest.OK(201, "POST", org.PublicPath("/appointments"), request)
	id := booked["appointment_id"].(string)
	require.Equal(t, "en", org.Appointment(id)["locale"])
	const monday = "Monday, March 2, 2026 at 09:00"
	subjects, text := org.WaitForEmails("gil@example.com", 1)
	require.Equal(t, "We received your booking: Cut, "+monday, subjects[0])
	require.Contains(t, text, monday+" (GMT−3)")
	subjects, _ = org.WaitForEmails("desk@example.com", 1)
	require.Equal(t, "Novo agendamento: Gil, "+monday9, subjects[0])
	org.Transition(200, "confirm", id, nil)
	subjects, _ = org.WaitForEmails("gil@example.com", 2)
	require.Equal(t, "Booking confirmed: Cut, "+monday, subjects[1])
	for i, test := range []struct{ locale, accept, subject string }{
		{"es", "en", "Recibimos tu reserva"}, {"", "en-GB,pt;q=0.5", "We received your booking"}, {"", "fr", "Recebemos seu agendamento"}, {"", "", "Recebemos seu agendamento"},
	} {
		request := org.BookingBody(time.Duration(i+1) * 30 * time.Minute)
		address := "guest" + string(rune('a'+i)) + "@example.com"
		request["client_email"], request["client_phone"] = address, "+551191111000"+string(rune('0'+i))
		if test.locale != "" {
			request["locale"] = test.locale
		}
		got := guest.Call("POST", org.PublicPath("/appointments"), request, "Accept-Language", test.accept)
		require.Equal(t, 201, got.Status, got.Text)
		subjects, _ := org.WaitForEmails(address, 1)
		require.Contains(t, subjects[0], test.subject)
	}
	request = org.BookingBody(150 * time.Minute)
	request["locale"] = "fr"
	guest.Invalid("body.locale", "POST", org.PublicPath("/appointments"), request)

	request["locale"], request["client_email"], request["client_phone"] = "en", "kim@example.com", "+5511911110009"
	id = guest.OK(201, "POST", org.PublicPath("/appointments"), request)["appointment_id"].(string)
	org.OK(200, "PUT", "/appointments/"+id, object{"client_id": org.ClientID})
	require.Nil(t, org.Appointment(id)["locale"], "another client has another language")

	org.Hub.Clock.Advance(48 * time.Hour)
	org.RunJob("reminders")
	subjects, _ = org.WaitForEmails("gil@example.com", 3)
	require.Equal(t, "Reminder: Cut, "+monday, subjects[2])
	guest.OK(200, "POST", org.PublicPath("/cancel"), object{"cancel_token": booked["cancel_token"]})
	subjects, _ = org.WaitForEmails("gil@example.com", 4)
	require.Equal(t, "Booking cancelled: Cut, "+monday, subjects[3])
}
