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
	p := schedulingtest.NewBookable(t)
	g := p.Guest()
	const code = "proof_of_work_required"
	require.Equal(t, false, g.OK(200, "GET", p.PublicPath(""), nil)["proof_of_work"])
	wish := p.BookingBody(0)
	p.BookWithProof(wish)
	require.Equal(t, true, g.OK(200, "GET", p.PublicPath(""), nil)["proof_of_work"])
	wish["start_at"] = p.At(time.Hour)
	g.InvalidWith(code, "body.altcha", "POST", p.PublicPath("/appointments"), wish) // spent
	for _, none := range []any{nil, "x"} {
		if wish["altcha"] = none; none == nil {
			delete(wish, "altcha")
		}
		g.InvalidWith(code, "body.altcha", "POST", p.PublicPath("/appointments"), wish)
	}
	other := schedulingtest.RegisterOrganization(t, p.Hub).MakeBookable()
	wish["altcha"] = schedulingtest.SolveChallenge(t, other.Guest().Call("GET", other.PublicPath("/challenge"), nil).Text)
	g.InvalidWith(code, "body.altcha", "POST", p.PublicPath("/appointments"), wish)

	// What could not be booked did not spend it; at once it counts once.
	wish["altcha"], wish["start_at"] = schedulingtest.SolveChallenge(t, g.Call("GET", p.PublicPath("/challenge"), nil).Text), p.At(0)
	g.Refused(409, "slot_unavailable", "POST", p.PublicPath("/appointments"), wish)
	requests := make([]func() answer, 5)
	for i := range requests {
		requests[i] = func() answer {
			mine := object{}
			for name, value := range wish {
				mine[name] = value
			}
			mine["start_at"] = p.At(time.Duration(i+1) * 30 * time.Minute)
			got, _ := g.Try("POST", p.PublicPath("/appointments"), mine)
			return got
		}
	}
	require.Equal(t, map[string]int{"201": 1, "422 " + code: 4}, moduletest.CountCodes(moduletest.Concurrently(requests...)))
	wish["altcha"], wish["start_at"] = schedulingtest.SolveChallenge(t, g.Call("GET", p.PublicPath("/challenge"), nil).Text), p.At(24*time.Hour)
	p.Hub.Clock.Advance(time.Hour)
	g.InvalidWith(code, "body.altcha", "POST", p.PublicPath("/appointments"), wish)
	p.AdvanceClock(0)
	p.OK(201, "POST", "/appointments", p.AppointmentBody(24*time.Hour)) // staff need none
}

var challenged = regexp.MustCompile(`data-proof="([^"]+)"`)

// The page brings its challenge along; without JavaScript it says what is missing.
func TestThePageWithProofOfWork(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	p.OK(200, "PUT", "/organization", object{"locale": "en"})
	form := url.Values{"service": {p.ServiceID}, "professional": {p.ProfessionalID}, "start": {p.At(0)}, "key": {uuid.NewString()}, "name": {"Gil Reis"}, "phone": {"11 98765-0000"}}
	address := p.Hub.URL + "/book/" + p.Slug + "/details?" + form.Encode()
	require.NotContains(t, schedulingtest.GetPage(t, address), "data-proof")
	p.OK(200, "PUT", "/organization/settings", object{"proof_of_work": true})
	page := schedulingtest.GetPage(t, address)
	require.Contains(t, page, "<noscript>")
	without := p.SubmitBookingForm(form)
	require.Equal(t, 422, without.Status)
	require.Contains(t, without.Text, "needs JavaScript")
	require.Contains(t, without.Text, `value="Gil Reis"`)
	again := challenged.FindStringSubmatch(without.Text)[1]
	require.NotEqual(t, challenged.FindStringSubmatch(page)[1], again)
	form.Set("altcha", schedulingtest.SolveChallenge(t, html.UnescapeString(again)))
	done := p.SubmitBookingForm(form)
	require.Equal(t, 303, done.Status, done.Text)
	require.Equal(t, done.Text, p.SubmitBookingForm(form).Text, "sent again it is the same booking")
	require.Len(t, p.List("/appointments"), 1)
}
