package publicbooking_test

import (
	"html"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/scheduling/internal/schedulingtest"
)

// "optional proof-of-work": off unless an organization wants it, and then every booking
// takes an answer of its own.
func TestProofOfWork(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	guest := org.Guest()
	const code = "proof_of_work_required"
	require.Equal(t, false, guest.OK(200, "GET", org.PublicPath(""), nil)["proof_of_work"])
	request := org.BookingBody(0)
	org.BookWithProof(request)
	require.Equal(t, true, guest.OK(200, "GET", org.PublicPath(""), nil)["proof_of_work"])
	request["start_at"] = org.At(time.Hour)
	guest.InvalidWith(code, "body.altcha", "POST", org.PublicPath("/appointments"), request) // spent
	for _, none := range []any{nil, "x"} {
		if request["altcha"] = none; none == nil {
			delete(request, "altcha")
		}
		guest.InvalidWith(code, "body.altcha", "POST", org.PublicPath("/appointments"), request)
	}
	other := schedulingtest.RegisterOrganization(t, org.Hub).MakeBookable()
	request["altcha"] = schedulingtest.SolveChallenge(t, other.Guest().Call("GET", other.PublicPath("/challenge"), nil).Text)
	guest.InvalidWith(code, "body.altcha", "POST", org.PublicPath("/appointments"), request)

	// What could not be booked did not spend it; at once it counts once.
	request["altcha"], request["start_at"] = schedulingtest.SolveChallenge(t, guest.Call("GET", org.PublicPath("/challenge"), nil).Text), org.At(0)
	guest.Refused(409, "slot_unavailable", "POST", org.PublicPath("/appointments"), request)
	requests := make([]func() answer, 5)
	for i := range requests {
		requests[i] = func() answer {
			mine := object{}
			for name, value := range request {
				mine[name] = value
			}
			mine["start_at"] = org.At(time.Duration(i+1) * 30 * time.Minute)
			got, _ := guest.Try("POST", org.PublicPath("/appointments"), mine)
			return got
		}
	}
	require.Equal(t, map[string]int{"201": 1, "422 " + code: 4}, moduletest.CountCodes(moduletest.Concurrently(requests...)))
	request["altcha"], request["start_at"] = schedulingtest.SolveChallenge(t, guest.Call("GET", org.PublicPath("/challenge"), nil).Text), org.At(24*time.Hour)
	org.Hub.Clock.Advance(time.Hour)
	guest.InvalidWith(code, "body.altcha", "POST", org.PublicPath("/appointments"), request)
	org.AdvanceClock(0)
	org.OK(201, "POST", "/appointments", org.AppointmentBody(24*time.Hour)) // staff need none
}

var challenged = regexp.MustCompile(`data-proof="([^"]+)"`)

// The page brings its challenge along; without JavaScript it says what is missing.
func TestPageWithProofOfWork(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	org.OK(200, "PUT", "/organization", object{"locale": "en"})
	form := url.Values{"service": {org.ServiceID}, "professional": {org.ProfessionalID}, "start": {org.At(0)}, "key": {uuid.NewString()}, "name": {"Gil Reis"}, "phone": {"11 98765-0000"}}
	address := org.Hub.URL + "/book/" + org.Slug + "/details?" + form.Encode()
	require.NotContains(t, schedulingtest.GetPage(t, address), "data-proof")
	org.OK(200, "PUT", "/organization/settings", object{"proof_of_work": true})
	page := schedulingtest.GetPage(t, address)
	require.Contains(t, page, "<noscript>")
	without := org.SubmitBookingForm(form)
	require.Equal(t, 422, without.Status)
	require.Contains(t, without.Text, "needs JavaScript")
	require.Contains(t, without.Text, `value="Gil Reis"`)
	again := challenged.FindStringSubmatch(without.Text)[1]
	require.NotEqual(t, challenged.FindStringSubmatch(page)[1], again)
	form.Set("altcha", schedulingtest.SolveChallenge(t, html.UnescapeString(again)))
	done := org.SubmitBookingForm(form)
	require.Equal(t, 303, done.Status, done.Text)
	require.Equal(t, done.Text, org.SubmitBookingForm(form).Text, "sent again it is the same booking")
	require.Len(t, org.List("/appointments"), 1)
}

// A hold and a place on the waiting list take a solved challenge too: without one, a program
// could keep every time from clients.
func TestProofOfWorkOfHoldsAndWaitlist(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	guest := org.Guest()
	const code = "proof_of_work_required"
	org.OK(200, "PUT", "/organization/settings", object{"proof_of_work": true, "waitlist_enabled": true})
	solve := func() string {
		return schedulingtest.SolveChallenge(t, guest.Call("GET", org.PublicPath("/challenge"), nil).Text)
	}
	hold := object{"service_id": org.ServiceID, "professional_id": org.ProfessionalID, "start_at": org.At(0)}
	wait := org.WaitlistBody("2026-03-02", "2026-03-03", "1@example.com")
	guest.InvalidWith(code, "body.altcha", "POST", org.PublicPath("/hold"), hold)
	guest.InvalidWith(code, "body.altcha", "POST", org.PublicPath("/waitlist"), wait)
	hold["altcha"] = solve()
	guest.OK(201, "POST", org.PublicPath("/hold"), hold)
	hold["start_at"] = org.At(time.Hour)
	guest.InvalidWith(code, "body.altcha", "POST", org.PublicPath("/hold"), hold) // spent
	wait["altcha"] = solve()
	entry := guest.OK(201, "POST", org.PublicPath("/waitlist"), wait)
	require.Equal(t, entry["id"], guest.OK(201, "POST", org.PublicPath("/waitlist"), wait)["id"], "sent again it is the same entry")
	wait["last_date"] = "2026-03-04"
	guest.InvalidWith(code, "body.altcha", "POST", org.PublicPath("/waitlist"), wait)
	require.Equal(t, 1, org.Count("scheduling.waitlist where org_id = $1", org.ID))
}
