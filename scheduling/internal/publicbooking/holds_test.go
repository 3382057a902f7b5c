package publicbooking_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/scheduling/internal/schedulingtest"
	"integrationhub/scheduling/internal/store"
)

// A hold with anybody that ran out leaves the choice of who it is.
func TestExpiredHoldWithAnyProfessional(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.AddProfessional("Eva", org.ServiceID)
	guest := org.Guest()
	held := guest.OK(201, "POST", org.PublicPath("/hold"), object{"service_id": org.ServiceID, "start_at": org.At(0)})
	org.Hub.Clock.Advance(5 * time.Minute)
	first := org.BookingBody(0)
	first["professional_id"] = held["professional_id"]
	guest.OK(201, "POST", org.PublicPath("/appointments"), first)
	late := org.BookingBody(0)
	delete(late, "professional_id")
	late["hold_id"], late["client_phone"] = held["hold_id"], "+5511911112222"
	id := guest.OK(201, "POST", org.PublicPath("/appointments"), late)["appointment_id"].(string)
	org.AdvanceClock(0)
	require.NotEqual(t, held["professional_id"], org.Appointment(id)["professional_id"])
}

func TestHolds(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	guest := org.Guest()
	want := func(after time.Duration) object {
		return object{"service_id": org.ServiceID, "professional_id": org.ProfessionalID, "start_at": org.At(after)}
	}
	held := guest.OK(201, "POST", org.PublicPath("/hold"), want(0))
	require.Equal(t, "2026-02-27T09:05:00-03:00", held["expires_at"], "five minutes")
	require.Equal(t, org.ProfessionalID, held["professional_id"])
	require.Equal(t, "2026-03-02T09:30:00-03:00", held["end_at"])
	require.EqualValues(t, 80, held["price"])
	require.Len(t, schedulingtest.SlotTimesOf(org.Availability("&date=2026-03-02")), 5, "nobody else is offered it")
	require.NotEmpty(t, guest.Refused(409, "slot_unavailable", "POST", org.PublicPath("/hold"), want(0))["alternatives"])
	guest.Refused(409, "slot_unavailable", "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	org.Refused(409, "slot_unavailable", "POST", "/appointments", org.AppointmentBody(0))

	moved := want(time.Hour)
	moved["hold_id"] = held["hold_id"]
	second := guest.OK(201, "POST", org.PublicPath("/hold"), moved)
	require.Equal(t, []string{"09:00", "09:30", "10:30", "11:00", "11:30"}, schedulingtest.SlotTimesOf(org.Availability("&date=2026-03-02")), "the first is let go of")
	request := org.BookingBody(time.Hour)
	request["hold_id"] = second["hold_id"]
	guest.OK(201, "POST", org.PublicPath("/appointments"), request)
	require.Zero(t, org.Count("scheduling.holds where org_id = $1", org.ID))
	guest.Refused(409, "slot_unavailable", "POST", org.PublicPath("/appointments"), request)

	third := guest.OK(201, "POST", org.PublicPath("/hold"), want(0))
	org.Hub.Clock.Advance(5 * time.Minute)
	request = org.BookingBody(0)
	request["hold_id"], request["client_phone"] = third["hold_id"], "+5511911112222"
	guest.OK(201, "POST", org.PublicPath("/hold"), want(30*time.Minute))
	guest.OK(201, "POST", org.PublicPath("/appointments"), request) // it ran out, and the time is free all the same
	unknown := org.BookingBody(2 * time.Hour)
	unknown["hold_id"] = uuid.NewString()
	guest.OK(201, "POST", org.PublicPath("/appointments"), unknown)

	guest.Invalid("body.start_at", "POST", org.PublicPath("/hold"), object{"service_id": org.ServiceID, "start_at": "soon"})
	org.AdvanceClock(0)
	org.OK(200, "PUT", "/organization/settings", object{"booking_enabled": false})
	guest.Refused(403, "booking_disabled", "POST", org.PublicPath("/hold"), want(0))
}

// Who holds a time gets it, also in a crowd that wants it.
func TestHoldUnderConcurrency(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	guest := org.Guest()
	held := guest.OK(201, "POST", org.PublicPath("/hold"), object{"service_id": org.ServiceID, "professional_id": org.ProfessionalID, "start_at": org.At(0)})
	var n atomic.Int64
	got := moduletest.SendTogether(25, func() answer {
		request := org.BookingBody(0)
		if n.Add(1)%8 == 0 { // three times by who holds it: a form sent again
			request["hold_id"] = held["hold_id"]
		}
		response, _ := guest.Try("POST", org.PublicPath("/appointments"), request)
		return response
	})
	require.Equal(t, map[int]int{201: 1, 409: 24}, got)
}

// Whose time is held with anybody gets the professional it was held with.
func TestHoldWithAnyProfessional(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	org.AddProfessional("Eva", org.ServiceID)
	guest := org.Guest()
	anybody := object{"service_id": org.ServiceID, "start_at": org.At(0)}
	held := guest.OK(201, "POST", org.PublicPath("/hold"), anybody)
	other := org.BookingBody(0)
	delete(other, "professional_id")
	require.NotEqual(t, held["professional_id"], org.Appointment(guest.OK(201, "POST", org.PublicPath("/appointments"), other)["appointment_id"].(string))["professional_id"])
	mine := org.BookingBody(0)
	delete(mine, "professional_id")
	mine["hold_id"], mine["client_phone"] = held["hold_id"], "+5511911112222"
	require.Equal(t, held["professional_id"], org.Appointment(guest.OK(201, "POST", org.PublicPath("/appointments"), mine)["appointment_id"].(string))["professional_id"])
	guest.Refused(409, "slot_unavailable", "POST", org.PublicPath("/appointments"), other)
}

func TestHoldWithDeposit(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	guest := org.Guest()
	held := guest.OK(201, "POST", org.PublicPath("/hold"), object{"service_id": org.ServiceID, "start_at": org.At(0)})
	require.EqualValues(t, 20, held["deposit"])
	request := org.BookingBody(0)
	request["hold_id"] = held["hold_id"]
	require.NotNil(t, guest.OK(201, "POST", org.PublicPath("/appointments"), request)["deposit"])
	require.Zero(t, org.Count("scheduling.holds where org_id = $1", org.ID))
}

func TestFiftyConcurrentHolds(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	guest := org.Guest()
	got := moduletest.SendTogether(25, func() answer {
		response, _ := guest.Try("POST", org.PublicPath("/hold"), object{"service_id": org.ServiceID, "professional_id": org.ProfessionalID, "start_at": org.At(0)})
		return response
	})
	require.Equal(t, map[int]int{201: 1, 409: 24}, got)
	limited := moduletest.SendTogether(25, func() answer {
		response, _ := guest.Try("POST", org.PublicPath("/hold"), object{"service_id": org.ServiceID, "professional_id": org.ProfessionalID, "start_at": org.At(0)})
		return response
	})
	require.Equal(t, map[int]int{409: 5, 429: 20}, limited, "an address cannot keep others out")
}

// An address has a few holds at a time. Replaced, booked and expired ones do not count.
func TestLiveHoldsPerAddress(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	guest := org.Guest()
	at := func(i int) object {
		return object{"service_id": org.ServiceID, "professional_id": org.ProfessionalID, "start_at": org.At(time.Duration(i%6)*30*time.Minute + time.Duration(i/6)*24*time.Hour)}
	}
	var last object
	const most = store.MaxHoldsPerAddress
	for i := range most {
		last = guest.OK(201, "POST", org.PublicPath("/hold"), at(i))
	}
	guest.Refused(409, "too_many_holds", "POST", org.PublicPath("/hold"), at(most))
	moved := at(most)
	moved["hold_id"] = last["hold_id"]
	guest.OK(201, "POST", org.PublicPath("/hold"), moved)
	org.Hub.Clock.Advance(5 * time.Minute)
	require.Equal(t, map[int]int{201: most, 409: 3}, moduletest.SendTogether(most+3, numbered(func(i int) answer {
		response, _ := guest.Try("POST", org.PublicPath("/hold"), at(i))
		return response
	})))
}

// numbered passes each call its number.
func numbered(send func(i int) answer) func() answer {
	var calls atomic.Int64
	return func() answer { return send(int(calls.Add(1) - 1)) }
}
