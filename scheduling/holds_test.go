package scheduling_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestHolds(t *testing.T) {
	t.Parallel()
	p := opened(t)
	g := p.guest()
	want := func(after time.Duration) object {
		return object{"service_id": p.service, "professional_id": p.professional, "start_at": p.at(after)}
	}
	held := g.ok(201, "POST", p.public("/hold"), want(0))
	require.Equal(t, "2026-02-27T09:05:00-03:00", held["expires_at"], "five minutes")
	require.Equal(t, p.professional, held["professional_id"])
	require.Equal(t, "2026-03-02T09:30:00-03:00", held["end_at"])
	require.EqualValues(t, 80, held["price"])
	require.Len(t, starts(p.day("&date=2026-03-02")), 5, "nobody else is offered it")
	require.NotEmpty(t, g.refused(409, "slot_unavailable", "POST", p.public("/hold"), want(0))["alternatives"])
	g.refused(409, "slot_unavailable", "POST", p.public("/appointments"), p.wish(0))
	p.refused(409, "slot_unavailable", "POST", "/appointments", p.draft(0))

	moved := want(time.Hour)
	moved["hold_id"] = held["hold_id"]
	second := g.ok(201, "POST", p.public("/hold"), moved)
	require.Equal(t, []string{"09:00", "09:30", "10:30", "11:00", "11:30"}, starts(p.day("&date=2026-03-02")), "the first is let go of")
	wish := p.wish(time.Hour)
	wish["hold_id"] = second["hold_id"]
	g.ok(201, "POST", p.public("/appointments"), wish)
	require.Zero(t, p.count("scheduling.holds where org_id = $1", p.org))
	g.refused(409, "slot_unavailable", "POST", p.public("/appointments"), wish)

	third := g.ok(201, "POST", p.public("/hold"), want(0))
	p.hub.Clock.Advance(5 * time.Minute)
	wish = p.wish(0)
	wish["hold_id"], wish["client_phone"] = third["hold_id"], "+5511911112222"
	g.ok(201, "POST", p.public("/hold"), want(30*time.Minute))
	g.ok(201, "POST", p.public("/appointments"), wish) // it ran out, and the time is free all the same
	unknown := p.wish(2 * time.Hour)
	unknown["hold_id"] = uuid.NewString()
	g.ok(201, "POST", p.public("/appointments"), unknown)

	g.invalid("body.start_at", "POST", p.public("/hold"), object{"service_id": p.service, "start_at": "soon"})
	p.later(0)
	p.ok(200, "PUT", "/organization/settings", object{"booking_enabled": false})
	g.refused(403, "booking_disabled", "POST", p.public("/hold"), want(0))
}

// Who holds a time gets it, also in a crowd that wants it.
func TestAHoldInACrowd(t *testing.T) {
	t.Parallel()
	p := opened(t)
	g := p.guest()
	held := g.ok(201, "POST", p.public("/hold"), object{"service_id": p.service, "professional_id": p.professional, "start_at": p.at(0)})
	var n atomic.Int64
	got := p.together(25, func() answer {
		wish := p.wish(0)
		if n.Add(1)%8 == 0 { // three times by who holds it: a form sent again
			wish["hold_id"] = held["hold_id"]
		}
		one, _ := g.try("POST", p.public("/appointments"), wish)
		return one
	})
	require.Equal(t, map[int]int{201: 1, 409: 24}, got)
}

// Whose time is held with anybody gets the professional it was held with.
func TestAHoldWithAnybody(t *testing.T) {
	t.Parallel()
	p := opened(t)
	p.studio.professional("Eva", p.service)
	g := p.guest()
	anybody := object{"service_id": p.service, "start_at": p.at(0)}
	held := g.ok(201, "POST", p.public("/hold"), anybody)
	other := p.wish(0)
	delete(other, "professional_id")
	require.NotEqual(t, held["professional_id"], p.appointment(g.ok(201, "POST", p.public("/appointments"), other)["appointment_id"].(string))["professional_id"])
	mine := p.wish(0)
	delete(mine, "professional_id")
	mine["hold_id"], mine["client_phone"] = held["hold_id"], "+5511911112222"
	require.Equal(t, held["professional_id"], p.appointment(g.ok(201, "POST", p.public("/appointments"), mine)["appointment_id"].(string))["professional_id"])
	g.refused(409, "slot_unavailable", "POST", p.public("/appointments"), other)
}

func TestAHoldWithADeposit(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	g := p.guest()
	held := g.ok(201, "POST", p.public("/hold"), object{"service_id": p.service, "start_at": p.at(0)})
	require.EqualValues(t, 20, held["deposit"])
	wish := p.wish(0)
	wish["hold_id"] = held["hold_id"]
	require.NotNil(t, g.ok(201, "POST", p.public("/appointments"), wish)["deposit"])
	require.Zero(t, p.count("scheduling.holds where org_id = $1", p.org))
}

func TestFiftyHoldsAtOnce(t *testing.T) {
	t.Parallel()
	p := opened(t)
	g := p.guest()
	got := p.together(25, func() answer {
		one, _ := g.try("POST", p.public("/hold"), object{"service_id": p.service, "professional_id": p.professional, "start_at": p.at(0)})
		return one
	})
	require.Equal(t, map[int]int{201: 1, 409: 24}, got)
	limited := p.together(25, func() answer {
		one, _ := g.try("POST", p.public("/hold"), object{"service_id": p.service, "professional_id": p.professional, "start_at": p.at(0)})
		return one
	})
	require.Equal(t, map[int]int{409: 5, 429: 20}, limited, "an address cannot keep others out")
}

func (p *plan) wait(first, last, email string) object {
	return object{
		"service_id": p.service, "first_date": first, "last_date": last, "client_name": "Rui", "client_phone": "+55119" + email[:1] + "1112222", "client_email": email,
	}
}

func TestWaitlist(t *testing.T) {
	t.Parallel()
	p := opened(t)
	g := p.guest()
	g.refused(403, "waitlist_disabled", "POST", p.public("/waitlist"), p.wait("2026-03-02", "2026-03-03", "1@example.com"))
	p.ok(200, "PUT", "/organization/settings", object{"waitlist_enabled": true})
	var booked []string
	for i := range 6 {
		booked = append(booked, p.book(time.Duration(i)*30*time.Minute))
	}
	g.ok(201, "POST", p.public("/waitlist"), p.wait("2026-03-03", "2026-03-10", "3@example.com"))
	first := g.ok(201, "POST", p.public("/waitlist"), p.wait("2026-02-20", "2026-03-10", "1@example.com"))
	require.Equal(t, first["id"], g.ok(201, "POST", p.public("/waitlist"), p.wait("2026-02-20", "2026-03-10", "1@example.com"))["id"], "the same wish is the same entry")
	p.hub.Clock.Advance(time.Second)
	g.ok(201, "POST", p.public("/waitlist"), p.wait("2026-03-02", "2026-03-02", "2@example.com"))
	for location, change := range map[string]object{
		"body.last_date": {"last_date": "2026-02-01"}, "body.first_date": {"first_date": "soon"}, "body.client_email": {"client_email": ""},
		"body.client_name": {"client_name": "x"}, "body.website": {"website": "x"},
	} {
		wish := p.wait("2026-03-02", "2026-03-03", "1@example.com")
		for name, value := range change {
			wish[name] = value
		}
		g.invalid(location, "POST", p.public("/waitlist"), wish)
	}
	g.invalid("body.last_date", "POST", p.public("/waitlist"), p.wait("2026-03-02", "2026-06-03", "1@example.com"))

	p.do(200, "cancel", booked[2], object{})
	subjects, text := p.mails("1@example.com", 1)
	require.Equal(t, "Abriu um horário: Cut", subjects[0])
	require.Contains(t, text, "segunda-feira, 2 de março de 2026 às 10:00")
	require.Contains(t, text, "/book/"+p.slug)
	p.do(200, "reschedule", booked[3], object{"start_at": p.at(48 * time.Hour)})
	p.mails("2@example.com", 1)
	p.do(200, "cancel", booked[4], object{})
	p.settled()
	p.mails("1@example.com", 1)
	p.mails("3@example.com", 0)
}
