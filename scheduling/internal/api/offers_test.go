package api_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// With anybody, each slot says who would do it, how long it takes them and what they
// ask; the day says from what on.
func TestSlotsOfAnybodyTellTheirOwnTerms(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	eva := p.Organization.AddProfessional("Eva", p.ServiceID)
	p.Call("PUT", "/professionals/"+eva+"/services", object{"service_ids": []string{p.ServiceID}, "overrides": object{p.ServiceID: object{"custom_duration": 20, "custom_price": 60.5}}})
	p.Book(0) // so Eva is next
	day := p.Guest().OK(200, "GET", p.PublicPath("/availability?service_id="+p.ServiceID+"&date=2026-03-02"), nil)
	require.EqualValues(t, 20, day["duration"])
	require.InDelta(t, 60.5, day["price"], 1e-9)
	require.Empty(t, day["professional"])
	terms := map[string][]any{}
	for _, one := range day["slots"].([]any) {
		slot := one.(object)
		terms[slot["start"].(string)] = []any{slot["professional_id"], slot["duration"], slot["price"], slot["end"]}
	}
	require.Equal(t, []any{eva, 20.0, 60.5, "09:20"}, terms["09:00"])
	require.Equal(t, []any{p.ProfessionalID, 30.0, 80.0, "10:00"}, terms["09:30"])
	named := p.Availability("&date=2026-03-02")
	require.EqualValues(t, 80, named["price"])
	require.NotContains(t, named["slots"].([]any)[0], "price", "one professional has one price")
}

// Who leaves the professional open where that is not allowed is told so everywhere.
func TestAnybodyWhereThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	g := p.Guest()
	p.OK(200, "PUT", "/organization/settings", object{"allow_any_professional": false, "waitlist_enabled": true})
	g.Invalid("query.professional_id", "GET", p.PublicPath("/availability?service_id="+p.ServiceID+"&date=2026-03-02"), nil)
	g.Invalid("query.professional_id", "GET", "/availability?service_id="+p.ServiceID+"&date=2026-03-02", nil)
	g.Invalid("query.professional_id", "GET", "/availability/month?service_id="+p.ServiceID+"&month=2026-03", nil)
	wish := p.BookingBody(0)
	delete(wish, "professional_id")
	g.Invalid("body.professional_id", "POST", p.PublicPath("/appointments"), wish)
	g.Invalid("body.professional_id", "POST", p.PublicPath("/hold"), object{"service_id": p.ServiceID, "start_at": p.At(0)})
	p.OK(200, "GET", "/availability/month?service_id="+p.ServiceID+"&month=2026-03", nil)
	g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
}

// A 422 names the field that was sent.
func TestServiceNotOfferedNamesTheField(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	g := p.Guest()
	eva := p.AddUnscheduledProfessional("Eva")
	const code = "service_not_offered"
	query := "service_id=" + p.ServiceID + "&professional_id=" + eva
	for _, path := range []string{"/availability?date=2026-03-02&", "/availability/month?month=2026-03&", p.PublicPath("/availability?date=2026-03-02&")} {
		g.InvalidWith(code, "query.service_id", "GET", path+query, nil)
	}
	draft, wish := p.AppointmentBody(0), p.BookingBody(0)
	draft["professional_id"], wish["professional_id"] = eva, eva
	p.InvalidWith(code, "body.service_id", "POST", "/appointments", draft)
	g.InvalidWith(code, "body.service_id", "POST", p.PublicPath("/appointments"), wish)
	g.InvalidWith(code, "body.service_id", "POST", p.PublicPath("/hold"), object{"service_id": p.ServiceID, "professional_id": eva, "start_at": p.At(0)})
	p.InvalidWith(code, "body.service_id", "POST", "/integrations/action/book", object{"phone": "+5511987654321", "service_id": p.ServiceID, "professional_id": eva, "start_at": p.At(0)})
	path := "/appointments/" + p.Book(0)
	p.InvalidWith(code, "body.professional_id", "POST", path+"/reschedule", object{"start_at": p.At(time.Hour), "professional_id": eva})
	p.InvalidWith(code, "body.professional_id", "PUT", path, object{"professional_id": eva})
	other := p.OK(201, "POST", "/services", object{"name": "Dye", "duration_minutes": 60, "price": 10})["id"]
	p.InvalidWith(code, "body.service_id", "PUT", path, object{"service_id": other})
	p.Refused(404, "not_found", "PUT", path, object{"service_id": uuid.NewString()})
}

// A professional's day that is full is so for clients; staff see the free times, may
// give them away, and are told.
func TestAFullDayIsForStaffToDecide(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	p.OK(200, "PUT", "/organization/settings", object{"max_bookings_per_day": 2})
	p.Book(0)
	require.Empty(t, p.OK(201, "POST", "/appointments", p.AppointmentBody(time.Hour))["warnings"])
	stranger := *p
	stranger.Organization = p.As("")
	require.Empty(t, stranger.SlotTimes("2026-03-02"))
	require.Len(t, stranger.SlotTimes("2026-03-03"), 6)
	p.Guest().Refused(409, "slot_unavailable", "POST", p.PublicPath("/appointments"), p.BookingBody(2*time.Hour))
	require.Equal(t, []string{"09:30", "10:30", "11:00", "11:30"}, p.SlotTimes("2026-03-02"))
	require.EqualValues(t, 4, p.OK(200, "GET", "/availability/month?service_id="+p.ServiceID+"&month=2026-03", nil)["days"].([]any)[1].(object)["free"])
	taken := p.Refused(409, "slot_unavailable", "POST", "/appointments", p.AppointmentBody(0))
	require.Equal(t, p.At(30*time.Minute), taken["alternatives"].([]any)[0].(object)["start_at"])
	require.Equal(t, []any{"daily_limit_reached"}, p.OK(201, "POST", "/appointments", p.AppointmentBody(30*time.Minute))["warnings"])
}

// What is kept free around appointments, the organization's or the
// service's own, each before and after its own appointment.
func TestBuffers(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	own := func(fields object) { p.OK(200, "PUT", "/services/"+p.ServiceID, fields) }
	all := func(fields object) { p.OK(200, "PUT", "/organization/settings", fields) }
	id := p.Book(time.Hour) // 10:00 to 10:30
	after := func(want ...string) {
		t.Helper()
		require.Equal(t, want, p.SlotTimes("2026-03-02"))
	}
	after("09:00", "09:30", "10:30", "11:00", "11:30")
	all(object{"buffer_after_minutes": 45})
	after("11:30") // the others before want 45 minutes too, and 10:30 and 11:00 lie in what follows
	p.Refused(409, "slot_unavailable", "POST", "/appointments", p.AppointmentBody(2*time.Hour))
	p.Guest().Refused(409, "slot_unavailable", "POST", p.PublicPath("/appointments"), p.BookingBody(2*time.Hour))
	own(object{"buffer_after_minutes": 0}) // its own, of nothing
	after("09:00", "09:30", "10:30", "11:00", "11:30")
	all(object{"buffer_after_minutes": 0, "buffer_before_minutes": 45})
	own(object{"buffer_after_minutes": nil})
	after("11:30") // the same the other way round
	own(object{"buffer_before_minutes": 15})
	after("09:00", "11:00", "11:30")
	own(object{"buffer_before_minutes": nil})
	all(object{"buffer_before_minutes": 0})
	after("09:00", "09:30", "10:30", "11:00", "11:30")

	// Another service keeps its own distance from this one, whose buffers are none: before
	// itself and after itself are not the same.
	dye := p.OK(201, "POST", "/services", object{"name": "Dye", "duration_minutes": 30, "price": 10, "buffer_before_minutes": 30, "buffer_after_minutes": 0})["id"].(string)
	p.Call("PUT", "/professionals/"+p.ProfessionalID+"/services", object{"service_ids": []string{p.ServiceID, dye}})
	other := *p
	other.ServiceID = dye
	require.Equal(t, []string{"09:00", "09:30", "11:00", "11:30"}, other.SlotTimes("2026-03-02"), "half an hour after the cut")
	require.Equal(t, []string{"09:00", "09:30", "10:30", "11:00", "11:30"}, p.SlotTimes("2026-03-02"))
	p.Transition(200, "cancel", id, object{})
	other.Book(time.Hour)
	require.Equal(t, []string{"09:00", "10:30", "11:00", "11:30"}, p.SlotTimes("2026-03-02"), "nothing in the half hour before the dye")
	p.Refused(409, "slot_unavailable", "POST", "/appointments", p.AppointmentBody(30*time.Minute))
	p.Book(90 * time.Minute)
	p.Refused(409, "slot_unavailable", "POST", "/appointments", object{"client_id": p.ClientID, "professional_id": p.ProfessionalID, "service_id": dye, "start_at": p.At(2 * time.Hour)})
}

// How far apart slots start: the service's own, else the organization's, else the length.
func TestSlotIntervals(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	p.OK(200, "PUT", "/organization/settings", object{"slot_interval_minutes": 60})
	require.Equal(t, []string{"09:00", "10:00", "11:00"}, p.SlotTimes("2026-03-02"))
	p.Guest().Refused(409, "slot_unavailable", "POST", p.PublicPath("/appointments"), p.BookingBody(30*time.Minute))
	p.OK(200, "PUT", "/services/"+p.ServiceID, object{"slot_interval_minutes": 15})
	require.Len(t, p.SlotTimes("2026-03-02"), 11)
	p.Guest().OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(15*time.Minute))
	require.Equal(t, []string{"09:45", "10:00", "10:15"}, p.SlotTimes("2026-03-02")[:3])
	p.OK(200, "PUT", "/services/"+p.ServiceID, object{"slot_interval_minutes": nil})
	require.Equal(t, []string{"10:00", "11:00"}, p.SlotTimes("2026-03-02"))
	p.OK(200, "PUT", "/organization/settings", object{"slot_interval_minutes": nil})
	require.Equal(t, []string{"10:00", "10:30", "11:00", "11:30"}, p.SlotTimes("2026-03-02"))
}

// Clients see what a professional takes for a service, and how long, not what the
// service says.
func TestProfessionalsTellTheirOwnTerms(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	eva := p.OK(201, "POST", "/professionals", object{"name": "Eva", "bio": "Ten years", "specialty": "Colour", "avatar_url": "https://example.com/eva.png"})["id"].(string)
	p.Call("PUT", "/professionals/"+eva+"/services", object{"service_ids": []string{p.ServiceID}, "overrides": object{p.ServiceID: object{"custom_duration": 20, "custom_price": 60.5}}})
	terms := map[any]object{}
	for _, one := range p.Guest().List(p.PublicPath("/professionals?service_id=" + p.ServiceID)) {
		terms[one["id"]] = one
	}
	require.Equal(t, object{
		"id": eva, "name": "Eva", "bio": "Ten years", "specialty": "Colour", "avatar_url": "https://example.com/eva.png", "duration_minutes": 20.0, "price": 60.5,
	}, terms[eva])
	require.EqualValues(t, 30, terms[p.ProfessionalID]["duration_minutes"])
	require.EqualValues(t, 80, terms[p.ProfessionalID]["price"])
}
