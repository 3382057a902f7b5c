package api_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/messagingtest"
)

// A user books for the contact of a ticket, who gets a message; the same key books once.
func TestBookingsOfTickets(t *testing.T) {
	t.Parallel()
	start := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	company := messagingtest.NewCompanyAt(t, start)
	line, ana := company.Connect(), company.AddPhone("Ana")
	company.SendFromPhone(ana, line, "Is there a time tomorrow?")
	ticket := messagingtest.TicketPath(company.Tickets("")[0])
	company.Refused(400, "ERR_NO_SCHEDULING_FOUND", "GET", ticket+"/services", nil)
	calendar := company.ConnectCalendar("Corte", "Barba")
	at := func(hours int) time.Time {
		return start.Add(time.Duration(24+hours) * time.Hour).In(time.FixedZone("", -3*3600))
	}
	calendar.Free(at(0), at(1), at(2))

	services := company.Get(ticket + "/services")["services"].([]any)
	require.Len(t, services, 2)
	service := services[0].(object)["id"].(string)
	path := ticket + "/free-times?service_id=" + service
	free := company.Get(path)
	require.Equal(t, "Corte", free["service"])
	require.Len(t, free["times"], 3)
	require.Len(t, company.Get(path + "&after=" + url.QueryEscape(at(0).Format(time.RFC3339)))["times"], 2)
	for _, query := range []string{"?service_id=", "?service_id=x&limit=0", "?service_id=x&after=soon"} {
		company.Refused(400, "ERR_VALIDATION", "GET", ticket+"/free-times"+query, nil)
	}

	body := object{"service_id": service, "start_at": at(1).Format(time.RFC3339), "professional_id": "ana"}
	booked := company.OK(201, "POST", ticket+"/bookings", body, "Idempotency-Key", "b-1")
	require.Equal(t, booked["appointment_id"], company.OK(201, "POST", ticket+"/bookings", body, "Idempotency-Key", "b-1")["appointment_id"])
	require.Equal(t, 1, calendar.Bookings())
	company.FlushOutbox()
	require.Equal(t, []string{"Agendado: Corte com Ana, ter 02/03 às 10:00.\nPara alterar ou cancelar: https://studio.example/cancel"}, company.Inbox(ana), "one message")
	require.Equal(t, "+"+ana, calendar.Actions()[0]["phone"])
	company.Refused(400, "ERR_SLOT_UNAVAILABLE", "POST", ticket+"/bookings", body)
	body["start_at"] = at(0).Format(time.RFC3339)
	body["silent"] = true
	require.Nil(t, company.OK(201, "POST", ticket+"/bookings", body)["message_id"])
	require.Len(t, company.Inbox(ana), 1)
	calendar.Speak("en-US")
	body["start_at"], body["silent"] = at(2).Format(time.RFC3339), false
	company.OK(201, "POST", ticket+"/bookings", body)
	company.FlushOutbox()
	require.Equal(t, "Booked: Corte with Ana, Tue 2 Mar at 11:00.\nTo change or cancel it: https://studio.example/cancel", company.Inbox(ana)[1], "the organization's language")
	calendar.Fail(503)
	company.OK(502, "GET", path, nil)
	calendar.Fail(422)
	company.Refused(400, "ERR_SCHEDULING_REFUSED", "POST", ticket+"/bookings", body)
	for name, value := range map[string]any{"service_id": "", "start_at": "soon", "professional_id": 5} {
		wrong := object{"service_id": service, "start_at": at(2).Format(time.RFC3339), name: value}
		company.Refused(400, "ERR_VALIDATION", "POST", ticket+"/bookings", wrong)
	}
	require.Equal(t, 3, calendar.Bookings())
}

// A booking stands whose ticket another user takes meanwhile: nothing is written there.
func TestBookingInATicketThatIsTaken(t *testing.T) {
	t.Parallel()
	start := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	company := messagingtest.NewCompanyAt(t, start)
	ticket := receiveFrom(company, company.Connect(), "Ana", "Hi")
	path := messagingtest.TicketPath(ticket)
	calendar := company.ConnectCalendar("Corte")
	calendar.Free(start.Add(24 * time.Hour))
	service := company.Get(path + "/services")["services"].([]any)[0].(object)["id"]
	_, owner := company.AddUser(nil)
	user, _ := company.AddUser(nil)
	responses := heldTicket(company, ticket, fmt.Sprintf(`update messaging.tickets set status = 'open', user_id = %d`, owner), func() moduletest.Response {
		return user.Call("POST", path+"/bookings", object{"service_id": service, "start_at": start.Add(24 * time.Hour).Format(time.RFC3339)})
	})
	require.Equal(t, []any{201, nil}, []any{responses[0].Status, responses[0].Body["message_id"]}, responses[0].Text)
	require.Equal(t, 1, calendar.Bookings())
	require.Equal(t, []string{"Hi"}, bodies(company, path))
}
