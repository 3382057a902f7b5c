package pages_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// "/book/<slug>/cancel?token=: GET only shows; the button posts".
func TestCancelling(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.changeSettings(object{"booking_page": object{"cancellation_policy": "Até 24 horas antes."}})
	v := s.visitor("en")
	done := s.booked(v, monday)
	token := token(t, done.path)
	status := func() (status string) {
		require.NoError(t, s.Hub.Host.Pool.QueryRow(t.Context(), `select status from scheduling.appointments`).Scan(&status))
		return status
	}
	var p *page
	for range 3 {
		p = v.get(200, s.path("cancel", "token", token))
		require.Equal(t, 200, v.send(http.MethodHead, p.path, "").status)
	}
	require.Equal(t, "scheduled", status(), "looking changes nothing")
	require.Equal(t, "Cancel your booking?", p.h1())
	require.Contains(t, p.text(), "Corte de cabelo")
	require.Contains(t, p.text(), "Até 24 horas antes.")
	require.Equal(t, "Booking received", v.click(p, "Keep my booking").h1())
	gone := v.follow(v.submit(p))
	require.Equal(t, "This booking is cancelled", gone.h1())
	require.Equal(t, "cancelled", status())
	require.Empty(t, gone.all("form", ""))
	require.Equal(t, "This booking is cancelled", v.follow(v.submit(p)).h1(), "again is no error")
	require.Equal(t, "This booking is cancelled", v.get(200, done.path).h1())
	require.Equal(t, "This booking is cancelled", v.get(200, s.path("move", "token", token)).h1())
	require.Contains(t, v.send("GET", s.path("calendar.ics", "token", token), "").body, "STATUS:CANCELLED")
	require.Equal(t, "What would you like to book?", v.click(gone, "Make another booking").h1())

	other := addStudio(t, s.Hub)
	for _, path := range []string{
		s.path("cancel", "token", "x"), s.path("cancel"), s.path("done", "token", token+"A"), s.path("move", "token", "é"),
		s.path("calendar.ics", "token", "x"), other.path("cancel", "token", token),
	} {
		require.Equal(t, "This link is not valid", v.get(404, path).h1(), path)
	}
	long := v.send(http.MethodPost, s.path("cancel"), "token="+token+"&reason="+strings.Repeat("r", 600))
	require.Equal(t, 303, long.status)
}

// Too late, or not allowed at all: the page says so, and whom to ask.
func TestUnchangeableBookings(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.OK(200, "PUT", "/organization", object{"phone": "+5511999990000"})
	v := s.visitor("en")
	done := s.booked(v, monday)
	token := token(t, done.path)
	open, question := v.get(200, s.path("cancel", "token", token)), v.get(200, s.path("move", "token", token, "start", "2026-03-02T11:00:00-03:00"))
	s.changeSettings(object{"cancel_notice_minutes": 43200, "reschedule_notice_minutes": 43200})
	late := v.get(200, open.path)
	require.Empty(t, late.all("form", ""))
	require.Contains(t, late.text(), "It is too late to cancel online. ")
	require.Contains(t, late.text(), "was possible until Saturday, January 31, 2026, 08:00 São Paulo (GMT−3).")
	require.Contains(t, late.text(), "Please contact the business.")
	require.Equal(t, "tel:+5511999990000", late.link("(11) 99999-0000"))
	refused := v.submit(open)
	require.Equal(t, 409, refused.status)
	require.Contains(t, refused.text(), "It is too late to cancel online.")
	require.Contains(t, v.get(200, s.path("move", "token", token)).text(), "It is too late to move this booking online.")
	require.Equal(t, 409, v.submit(question).status)

	s.changeSettings(object{"allow_client_cancel": false, "allow_client_reschedule": false})
	require.Contains(t, v.get(200, open.path).text(), "does not take cancellations online.")
	require.Equal(t, 409, v.submit(open).status)
	require.Contains(t, v.get(200, s.path("move", "token", token)).text(), "does not move bookings online.")
	require.Equal(t, 409, v.submit(question).status)

	s.changeSettings(object{"booking_enabled": false})
	require.Equal(t, 200, v.get(200, open.path).status, "what is booked can still be seen")
	s.Hub.Clock.Advance(96 * time.Hour)
	require.Equal(t, "This booking is in the past", v.get(200, open.path).h1())
	require.Equal(t, "This booking is in the past", v.get(200, done.path).h1())
	require.Empty(t, v.get(200, done.path).links("button")[1:], "nothing to do with it but to book again")
}

// "reschedule from there".
func TestRescheduling(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	v := s.visitor("en")
	done := s.booked(v, monday)
	p := v.click(v.click(done, "Cancel or move"), "Move to another time")
	require.Equal(t, "Choose a new day", p.h1())
	require.Contains(t, p.text(), "Monday, March 2, 2026, 08:00", "where it is now")
	p = v.click(v.click(p, "Next month"), "March 2, 2026")
	require.Equal(t, "Choose a time", p.h1())
	require.Contains(t, p.links("slot")[0], "08%3A00", "its own time counts as free")
	question := v.click(p, "08:45")
	require.Equal(t, "Move your booking?", question.h1())
	moved := v.follow(v.submit(question))
	require.Contains(t, moved.text(), "Monday, March 2, 2026, 08:45")
	require.Equal(t, moved.path, v.follow(v.submit(question)).path, "twice is once")
	require.Contains(t, v.send("GET", s.path("calendar.ics", "token", token(t, done.path)), "").body, "SEQUENCE:1\r\n")
	var times int
	require.NoError(t, s.Hub.Host.Pool.QueryRow(t.Context(), `select rescheduled_count from scheduling.appointments`).Scan(&times))
	require.Equal(t, 1, times)

	question = v.get(200, s.path("move", "token", token(t, done.path), "start", "2026-03-02T11:00:00-03:00"))
	other := v.follow(v.submit(s.details(v, "2026-03-02T11:00:00-03:00"), "name", "Davi Reis", "phone", "(11) 91234-5678"))
	taken := v.submit(question)
	require.Equal(t, 409, taken.status)
	require.Equal(t, "Somebody was faster", taken.h1())
	require.Contains(t, taken.text(), "Your booking stays where it was")
	require.Len(t, taken.all("input", "type=radio"), 3)
	require.Contains(t, v.follow(v.submit(taken)).text(), "March 2, 2026, 09:30")
	require.Contains(t, other.text(), "11:00")
	require.Equal(t, 2, s.appointments())
	require.Equal(t, 404, v.get(404, s.path("move", "token", token(t, done.path), "start", "soon")).status)
}

// A booking of a deleted service can still be moved; with a removed professional the page
// sends the client to the organization.
func TestReschedulingWhatIsNoLongerOffered(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	v := s.visitor("en")
	done := s.booked(v, monday)
	require.Equal(t, 204, s.Call("DELETE", "/services/"+s.service, nil).Status)
	p := v.click(v.click(done, "Cancel or move"), "Move to another time")
	p = v.click(v.click(p, "Next month"), "March 2, 2026")
	question := v.click(p, "08:45")
	require.Contains(t, v.follow(v.submit(question)).text(), "Monday, March 2, 2026, 08:45")

	question = v.get(200, s.path("move", "token", token(t, done.path), "start", "2026-03-02T11:00:00-03:00"))
	for _, professional := range []string{s.ana, s.bruno} {
		require.Equal(t, 204, s.Call("DELETE", "/professionals/"+professional, nil).Status)
	}
	for _, path := range []string{s.path("move", "token", token(t, done.path)), p.path} {
		require.Contains(t, v.get(200, path).text(), "does not move bookings online.")
	}
	refused := v.submit(question)
	require.Equal(t, 409, refused.status)
	require.Contains(t, refused.text(), "Please contact the business.")
}
