package publicbooking_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/scheduling/internal/schedulingtest"
)

// Fifty clients at once for one professional's time, and for times a quarter of an hour
// apart: one gets it.
func TestFiftyGuestsAtOnceForOneProfessional(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t, schedulingtest.Unlimited)
	p.OK(200, "PUT", "/services/"+p.ServiceID, object{"slot_interval_minutes": 15})
	g := p.Guest()
	for round, apart := range []time.Duration{0, 15 * time.Minute} {
		requests := make([]func() answer, 50)
		for i := range requests {
			requests[i] = func() answer {
				wish := p.BookingBody(time.Duration(round)*24*time.Hour + time.Duration(i%2)*apart)
				wish["client_phone"] = "11 9876" + []string{"5", "6"}[i/25] + "-00" + []string{"1", "2", "3", "4", "5"}[i%5] + "0"
				got, _ := g.Try("POST", p.PublicPath("/appointments"), wish)
				return got
			}
		}
		require.Equal(t, map[string]int{"201": 1, "409 slot_unavailable": 49}, moduletest.CountCodes(moduletest.Concurrently(requests...)))
		require.Len(t, p.List("/appointments?date=2026-03-0"+[]string{"2", "3"}[round]), 1)
	}
	require.Equal(t, 3, p.Count("scheduling.clients where org_id = $1", p.ID), "who was refused left no client")
}

// What clients may not do has a code for each reason, and the deadline that was missed.
func TestRefusalsOfClients(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	g := p.Guest()
	token := object{"cancel_token": g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))["cancel_token"]}
	move := object{"cancel_token": token["cancel_token"], "start_at": p.At(time.Hour)}
	set := func(fields object) { p.OK(200, "PUT", "/organization/settings", fields) }

	set(object{"cancel_notice_minutes": 4 * 24 * 60, "reschedule_notice_minutes": 4*24*60 + 30})
	require.Equal(t, p.At(-4*24*time.Hour), g.Refused(409, "cancel_window_closed", "POST", p.PublicPath("/cancel"), token)["deadline"])
	require.Equal(t, p.At(-4*24*time.Hour-30*time.Minute), g.Refused(409, "reschedule_window_closed", "POST", p.PublicPath("/reschedule"), move)["deadline"])
	set(object{"cancel_notice_minutes": 0, "reschedule_notice_minutes": 0, "allow_client_cancel": false, "allow_client_reschedule": false})
	g.Refused(403, "client_cancel_disabled", "POST", p.PublicPath("/cancel"), token)
	g.Refused(403, "client_reschedule_disabled", "POST", p.PublicPath("/reschedule"), move)
	set(object{"allow_client_cancel": true, "allow_client_reschedule": true})
	g.OK(200, "POST", p.PublicPath("/reschedule"), move)
	g.OK(200, "POST", p.PublicPath("/cancel"), token)
	g.Refused(409, "invalid_transition", "POST", p.PublicPath("/reschedule"), move)

	again := g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	client := p.Appointment(again["appointment_id"].(string))["client_id"].(string)
	p.OK(200, "PUT", "/clients/"+client, object{"is_blocked": true})
	require.NotContains(t, g.Refused(403, "booking_refused", "POST", p.PublicPath("/appointments"), p.BookingBody(2*time.Hour))["detail"], "Gil")
	p.OK(200, "PUT", "/clients/"+client, object{"is_blocked": false})
	p.Hub.Clock.Advance(72 * time.Hour) // it begins
	require.Equal(t, p.At(0), g.Refused(409, "cancel_window_closed", "POST", p.PublicPath("/cancel"), object{"cancel_token": again["cancel_token"]})["deadline"])
}

// What an organization asks of clients, and how far ahead they may book.
func TestDemandsOnClients(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	g := p.Guest()
	wish := p.BookingBody(0)
	delete(wish, "client_phone")
	g.Invalid("body.client_phone", "POST", p.PublicPath("/appointments"), wish)
	p.OK(200, "PUT", "/organization/settings", object{"require_client_phone": false, "require_client_email": true, "max_advance_days": 4})
	made := g.OK(201, "POST", p.PublicPath("/appointments"), wish)
	detail := p.Appointment(made["appointment_id"].(string))
	require.Nil(t, detail["client"].(object)["phone"])
	wish["start_at"] = p.At(time.Hour)
	second := p.Appointment(g.OK(201, "POST", p.PublicPath("/appointments"), wish)["appointment_id"].(string))
	require.Equal(t, detail["client_id"], second["client_id"], "found by e-mail")
	delete(wish, "client_email")
	g.Invalid("body.client_email", "POST", p.PublicPath("/appointments"), wish)

	stranger := *p
	stranger.Organization = g.Organization
	require.Len(t, stranger.SlotTimes("2026-03-03"), 6, "the fourth day from Friday")
	require.Empty(t, stranger.SlotTimes("2026-03-04"))
	require.Len(t, p.SlotTimes("2026-03-04"), 6, "staff book as far ahead as they like")
	g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(24*time.Hour))
	g.Refused(409, "slot_unavailable", "POST", p.PublicPath("/appointments"), p.BookingBody(48*time.Hour))
	g.Refused(409, "slot_unavailable", "POST", p.PublicPath("/hold"), object{"service_id": p.ServiceID, "start_at": p.At(48 * time.Hour)})
}

// A key is remembered for a day; the same request twice at the same time is one.
func TestIdempotencyKeyLastsADay(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	requests := make([]func() answer, 8)
	for i := range requests {
		requests[i] = func() answer {
			got, _ := p.Try("POST", "/appointments", p.AppointmentBody(0), "Idempotency-Key", "k")
			return got
		}
	}
	answers := moduletest.Concurrently(requests...)
	for _, one := range answers {
		require.Equal(t, 201, one.Status, one.Text)
		require.Equal(t, answers[0].Text, one.Text)
	}
	require.Len(t, p.List("/appointments"), 1)
	id := answers[0].Body["id"].(string)
	p.Transition(200, "cancel", id, object{})
	p.AdvanceClock(24*time.Hour - time.Second)
	require.Equal(t, id, p.OK(201, "POST", "/appointments", p.AppointmentBody(0), "Idempotency-Key", "k")["id"])
	p.AdvanceClock(2 * time.Second)
	require.NotEqual(t, id, p.OK(201, "POST", "/appointments", p.AppointmentBody(0), "Idempotency-Key", "k")["id"])
	p.Refused(409, "idempotency_key_reused", "POST", "/appointments", p.AppointmentBody(time.Hour), "Idempotency-Key", "k")
}
