package publicbooking_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/scheduling/internal/schedulingtest"
)

// A hold with anybody that ran out leaves the choice of who it is.
func TestAHoldWithAnybodyThatRanOut(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	p.Organization.AddProfessional("Eva", p.ServiceID)
	g := p.Guest()
	held := g.OK(201, "POST", p.PublicPath("/hold"), object{"service_id": p.ServiceID, "start_at": p.At(0)})
	p.Hub.Clock.Advance(5 * time.Minute)
	first := p.BookingBody(0)
	first["professional_id"] = held["professional_id"]
	g.OK(201, "POST", p.PublicPath("/appointments"), first)
	late := p.BookingBody(0)
	delete(late, "professional_id")
	late["hold_id"], late["client_phone"] = held["hold_id"], "+5511911112222"
	id := g.OK(201, "POST", p.PublicPath("/appointments"), late)["appointment_id"].(string)
	p.AdvanceClock(0)
	require.NotEqual(t, held["professional_id"], p.Appointment(id)["professional_id"])
}

func TestHolds(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	g := p.Guest()
	want := func(after time.Duration) object {
		return object{"service_id": p.ServiceID, "professional_id": p.ProfessionalID, "start_at": p.At(after)}
	}
	held := g.OK(201, "POST", p.PublicPath("/hold"), want(0))
	require.Equal(t, "2026-02-27T09:05:00-03:00", held["expires_at"], "five minutes")
	require.Equal(t, p.ProfessionalID, held["professional_id"])
	require.Equal(t, "2026-03-02T09:30:00-03:00", held["end_at"])
	require.EqualValues(t, 80, held["price"])
	require.Len(t, schedulingtest.SlotTimesOf(p.Availability("&date=2026-03-02")), 5, "nobody else is offered it")
	require.NotEmpty(t, g.Refused(409, "slot_unavailable", "POST", p.PublicPath("/hold"), want(0))["alternatives"])
	g.Refused(409, "slot_unavailable", "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	p.Refused(409, "slot_unavailable", "POST", "/appointments", p.AppointmentBody(0))

	moved := want(time.Hour)
	moved["hold_id"] = held["hold_id"]
	second := g.OK(201, "POST", p.PublicPath("/hold"), moved)
	require.Equal(t, []string{"09:00", "09:30", "10:30", "11:00", "11:30"}, schedulingtest.SlotTimesOf(p.Availability("&date=2026-03-02")), "the first is let go of")
	wish := p.BookingBody(time.Hour)
	wish["hold_id"] = second["hold_id"]
	g.OK(201, "POST", p.PublicPath("/appointments"), wish)
	require.Zero(t, p.Count("scheduling.holds where org_id = $1", p.ID))
	g.Refused(409, "slot_unavailable", "POST", p.PublicPath("/appointments"), wish)

	third := g.OK(201, "POST", p.PublicPath("/hold"), want(0))
	p.Hub.Clock.Advance(5 * time.Minute)
	wish = p.BookingBody(0)
	wish["hold_id"], wish["client_phone"] = third["hold_id"], "+5511911112222"
	g.OK(201, "POST", p.PublicPath("/hold"), want(30*time.Minute))
	g.OK(201, "POST", p.PublicPath("/appointments"), wish) // it ran out, and the time is free all the same
	unknown := p.BookingBody(2 * time.Hour)
	unknown["hold_id"] = uuid.NewString()
	g.OK(201, "POST", p.PublicPath("/appointments"), unknown)

	g.Invalid("body.start_at", "POST", p.PublicPath("/hold"), object{"service_id": p.ServiceID, "start_at": "soon"})
	p.AdvanceClock(0)
	p.OK(200, "PUT", "/organization/settings", object{"booking_enabled": false})
	g.Refused(403, "booking_disabled", "POST", p.PublicPath("/hold"), want(0))
}

// Who holds a time gets it, also in a crowd that wants it.
func TestAHoldInACrowd(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	g := p.Guest()
	held := g.OK(201, "POST", p.PublicPath("/hold"), object{"service_id": p.ServiceID, "professional_id": p.ProfessionalID, "start_at": p.At(0)})
	var n atomic.Int64
	got := moduletest.SendTogether(25, func() answer {
		wish := p.BookingBody(0)
		if n.Add(1)%8 == 0 { // three times by who holds it: a form sent again
			wish["hold_id"] = held["hold_id"]
		}
		one, _ := g.Try("POST", p.PublicPath("/appointments"), wish)
		return one
	})
	require.Equal(t, map[int]int{201: 1, 409: 24}, got)
}

// Whose time is held with anybody gets the professional it was held with.
func TestAHoldWithAnybody(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	p.Organization.AddProfessional("Eva", p.ServiceID)
	g := p.Guest()
	anybody := object{"service_id": p.ServiceID, "start_at": p.At(0)}
	held := g.OK(201, "POST", p.PublicPath("/hold"), anybody)
	other := p.BookingBody(0)
	delete(other, "professional_id")
	require.NotEqual(t, held["professional_id"], p.Appointment(g.OK(201, "POST", p.PublicPath("/appointments"), other)["appointment_id"].(string))["professional_id"])
	mine := p.BookingBody(0)
	delete(mine, "professional_id")
	mine["hold_id"], mine["client_phone"] = held["hold_id"], "+5511911112222"
	require.Equal(t, held["professional_id"], p.Appointment(g.OK(201, "POST", p.PublicPath("/appointments"), mine)["appointment_id"].(string))["professional_id"])
	g.Refused(409, "slot_unavailable", "POST", p.PublicPath("/appointments"), other)
}

func TestAHoldWithADeposit(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
	g := p.Guest()
	held := g.OK(201, "POST", p.PublicPath("/hold"), object{"service_id": p.ServiceID, "start_at": p.At(0)})
	require.EqualValues(t, 20, held["deposit"])
	wish := p.BookingBody(0)
	wish["hold_id"] = held["hold_id"]
	require.NotNil(t, g.OK(201, "POST", p.PublicPath("/appointments"), wish)["deposit"])
	require.Zero(t, p.Count("scheduling.holds where org_id = $1", p.ID))
}

func TestFiftyHoldsAtOnce(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	g := p.Guest()
	got := moduletest.SendTogether(25, func() answer {
		one, _ := g.Try("POST", p.PublicPath("/hold"), object{"service_id": p.ServiceID, "professional_id": p.ProfessionalID, "start_at": p.At(0)})
		return one
	})
	require.Equal(t, map[int]int{201: 1, 409: 24}, got)
	limited := moduletest.SendTogether(25, func() answer {
		one, _ := g.Try("POST", p.PublicPath("/hold"), object{"service_id": p.ServiceID, "professional_id": p.ProfessionalID, "start_at": p.At(0)})
		return one
	})
	require.Equal(t, map[int]int{409: 5, 429: 20}, limited, "an address cannot keep others out")
}
