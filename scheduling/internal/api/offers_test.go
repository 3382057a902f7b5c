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
func TestSlotsOfAnyProfessionalHaveTheirOwnTerms(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	eva := org.AddProfessional("Eva", org.ServiceID)
	org.Call("PUT", "/professionals/"+eva+"/services", object{"service_ids": []string{org.ServiceID}, "overrides": object{org.ServiceID: object{"custom_duration": 20, "custom_price": 60.5}}})
	org.Book(0) // so Eva is next
	day := org.Guest().OK(200, "GET", org.PublicPath("/availability?service_id="+org.ServiceID+"&date=2026-03-02"), nil)
	require.EqualValues(t, 20, day["duration"])
	require.InDelta(t, 60.5, day["price"], 1e-9)
	require.Empty(t, day["professional"])
	terms := map[string][]any{}
	for _, entry := range day["slots"].([]any) {
		slot := entry.(object)
		terms[slot["start"].(string)] = []any{slot["professional_id"], slot["duration"], slot["price"], slot["end"]}
	}
	require.Equal(t, []any{eva, 20.0, 60.5, "09:20"}, terms["09:00"])
	require.Equal(t, []any{org.ProfessionalID, 30.0, 80.0, "10:00"}, terms["09:30"])
	named := org.Availability("&date=2026-03-02")
	require.EqualValues(t, 80, named["price"])
	require.NotContains(t, named["slots"].([]any)[0], "price", "one professional has one price")
}

// A request without a professional is refused everywhere where one must be chosen.
func TestAnyProfessionalDisabled(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	guest := org.Guest()
	org.OK(200, "PUT", "/organization/settings", object{"allow_any_professional": false, "waitlist_enabled": true})
	guest.Invalid("query.professional_id", "GET", org.PublicPath("/availability?service_id="+org.ServiceID+"&date=2026-03-02"), nil)
	guest.Invalid("query.professional_id", "GET", "/availability?service_id="+org.ServiceID+"&date=2026-03-02", nil)
	guest.Invalid("query.professional_id", "GET", "/availability/month?service_id="+org.ServiceID+"&month=2026-03", nil)
	request := org.BookingBody(0)
	delete(request, "professional_id")
	guest.Invalid("body.professional_id", "POST", org.PublicPath("/appointments"), request)
	guest.Invalid("body.professional_id", "POST", org.PublicPath("/hold"), object{"service_id": org.ServiceID, "start_at": org.At(0)})
	org.OK(200, "GET", "/availability/month?service_id="+org.ServiceID+"&month=2026-03", nil)
	guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
}

// A 422 names the field that was sent.
func TestServiceNotOfferedNamesTheField(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	guest := org.Guest()
	eva := org.AddUnscheduledProfessional("Eva")
	const code = "service_not_offered"
	query := "service_id=" + org.ServiceID + "&professional_id=" + eva
	for _, path := range []string{"/availability?date=2026-03-02&", "/availability/month?month=2026-03&", org.PublicPath("/availability?date=2026-03-02&")} {
		guest.InvalidWith(code, "query.service_id", "GET", path+query, nil)
	}
	draft, request := org.AppointmentBody(0), org.BookingBody(0)
	draft["professional_id"], request["professional_id"] = eva, eva
	org.InvalidWith(code, "body.service_id", "POST", "/appointments", draft)
	guest.InvalidWith(code, "body.service_id", "POST", org.PublicPath("/appointments"), request)
	guest.InvalidWith(code, "body.service_id", "POST", org.PublicPath("/hold"), object{"service_id": org.ServiceID, "professional_id": eva, "start_at": org.At(0)})
	org.InvalidWith(code, "body.service_id", "POST", "/integrations/action/book", object{"phone": "+5511987654321", "service_id": org.ServiceID, "professional_id": eva, "start_at": org.At(0)})
	path := "/appointments/" + org.Book(0)
	org.InvalidWith(code, "body.professional_id", "POST", path+"/reschedule", object{"start_at": org.At(time.Hour), "professional_id": eva})
	org.InvalidWith(code, "body.professional_id", "PUT", path, object{"professional_id": eva})
	other := org.OK(201, "POST", "/services", object{"name": "Dye", "duration_minutes": 60, "price": 10})["id"]
	org.InvalidWith(code, "body.service_id", "PUT", path, object{"service_id": other})
	org.Refused(404, "not_found", "PUT", path, object{"service_id": uuid.NewString()})
}

// A professional's day that is full is so for clients; staff see the free times, may
// give them away, and are notified.
func TestStaffMayBookFullDays(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	org.OK(200, "PUT", "/organization/settings", object{"max_bookings_per_day": 2})
	org.Book(0)
	require.Empty(t, org.OK(201, "POST", "/appointments", org.AppointmentBody(time.Hour))["warnings"])
	stranger := *org
	stranger.Organization = org.As("")
	require.Empty(t, stranger.SlotTimes("2026-03-02"))
	require.Len(t, stranger.SlotTimes("2026-03-03"), 6)
	org.Guest().Refused(409, "slot_unavailable", "POST", org.PublicPath("/appointments"), org.BookingBody(2*time.Hour))
	require.Equal(t, []string{"09:30", "10:30", "11:00", "11:30"}, org.SlotTimes("2026-03-02"))
	require.EqualValues(t, 4, org.OK(200, "GET", "/availability/month?service_id="+org.ServiceID+"&month=2026-03", nil)["days"].([]any)[1].(object)["free"])
	taken := org.Refused(409, "slot_unavailable", "POST", "/appointments", org.AppointmentBody(0))
	require.Equal(t, org.At(30*time.Minute), taken["alternatives"].([]any)[0].(object)["start_at"])
	require.Equal(t, []any{"daily_limit_reached"}, org.OK(201, "POST", "/appointments", org.AppointmentBody(30*time.Minute))["warnings"])
}

// What is kept free around appointments, the organization's or the
// service's own, each before and after its own appointment.
func TestBuffers(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	own := func(fields object) { org.OK(200, "PUT", "/services/"+org.ServiceID, fields) }
	all := func(fields object) { org.OK(200, "PUT", "/organization/settings", fields) }
	id := org.Book(time.Hour) // 10:00 to 10:30
	after := func(want ...string) {
		t.Helper()
		require.Equal(t, want, org.SlotTimes("2026-03-02"))
	}
	after("09:00", "09:30", "10:30", "11:00", "11:30")
	all(object{"buffer_after_minutes": 45})
	after("11:30") // the others before want 45 minutes too, and 10:30 and 11:00 lie in what follows
	org.Refused(409, "slot_unavailable", "POST", "/appointments", org.AppointmentBody(2*time.Hour))
	org.Guest().Refused(409, "slot_unavailable", "POST", org.PublicPath("/appointments"), org.BookingBody(2*time.Hour))
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
	dye := org.OK(201, "POST", "/services", object{"name": "Dye", "duration_minutes": 30, "price": 10, "buffer_before_minutes": 30, "buffer_after_minutes": 0})["id"].(string)
	org.Call("PUT", "/professionals/"+org.ProfessionalID+"/services", object{"service_ids": []string{org.ServiceID, dye}})
	other := *org
	other.ServiceID = dye
	require.Equal(t, []string{"09:00", "09:30", "11:00", "11:30"}, other.SlotTimes("2026-03-02"), "half an hour after the cut")
	require.Equal(t, []string{"09:00", "09:30", "10:30", "11:00", "11:30"}, org.SlotTimes("2026-03-02"))
	org.Transition(200, "cancel", id, object{})
	other.Book(time.Hour)
	require.Equal(t, []string{"09:00", "10:30", "11:00", "11:30"}, org.SlotTimes("2026-03-02"), "nothing in the half hour before the dye")
	org.Refused(409, "slot_unavailable", "POST", "/appointments", org.AppointmentBody(30*time.Minute))
	org.Book(90 * time.Minute)
	org.Refused(409, "slot_unavailable", "POST", "/appointments", object{"client_id": org.ClientID, "professional_id": org.ProfessionalID, "service_id": dye, "start_at": org.At(2 * time.Hour)})
}

// How far apart slots start: the service's own, else the organization's, else the length.
func TestSlotIntervals(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	org.OK(200, "PUT", "/organization/settings", object{"slot_interval_minutes": 60})
	require.Equal(t, []string{"09:00", "10:00", "11:00"}, org.SlotTimes("2026-03-02"))
	org.Guest().Refused(409, "slot_unavailable", "POST", org.PublicPath("/appointments"), org.BookingBody(30*time.Minute))
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"slot_interval_minutes": 15})
	require.Len(t, org.SlotTimes("2026-03-02"), 11)
	org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(15*time.Minute))
	require.Equal(t, []string{"09:45", "10:00", "10:15"}, org.SlotTimes("2026-03-02")[:3])
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"slot_interval_minutes": nil})
	require.Equal(t, []string{"10:00", "11:00"}, org.SlotTimes("2026-03-02"))
	org.OK(200, "PUT", "/organization/settings", object{"slot_interval_minutes": nil})
	require.Equal(t, []string{"10:00", "10:30", "11:00", "11:30"}, org.SlotTimes("2026-03-02"))
}

// Clients see what a professional takes for a service, and how long, not what the
// service says.
func TestPublicProfessionalsHaveTheirOwnTerms(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	eva := org.OK(201, "POST", "/professionals", object{"name": "Eva", "bio": "Ten years", "specialty": "Colour", "avatar_url": "https://example.com/eva.png"})["id"].(string)
	org.Call("PUT", "/professionals/"+eva+"/services", object{"service_ids": []string{org.ServiceID}, "overrides": object{org.ServiceID: object{"custom_duration": 20, "custom_price": 60.5}}})
	terms := map[any]object{}
	for _, item := range org.Guest().List(org.PublicPath("/professionals?service_id=" + org.ServiceID)) {
		terms[item["id"]] = item
	}
	require.Equal(t, object{
		"id": eva, "name": "Eva", "bio": "Ten years", "specialty": "Colour", "avatar_url": "https://example.com/eva.png", "duration_minutes": 20.0, "price": 60.5,
	}, terms[eva])
	require.EqualValues(t, 30, terms[org.ProfessionalID]["duration_minutes"])
	require.EqualValues(t, 80, terms[org.ProfessionalID]["price"])
}
