package publicbooking_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/scheduling/internal/schedulingtest"
)

// Fifty clients at once for one professional's time, and for times a quarter of an hour
// apart: one gets it.
func TestFiftyConcurrentGuestsOfOneProfessional(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t, schedulingtest.Unlimited)
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"slot_interval_minutes": 15})
	guest := org.Guest()
	for round, apart := range []time.Duration{0, 15 * time.Minute} {
		requests := make([]func() answer, 50)
		for i := range requests {
			requests[i] = func() answer {
				request := org.BookingBody(time.Duration(round)*24*time.Hour + time.Duration(i%2)*apart)
				request["client_phone"] = fmt.Sprintf("11 9876%d-00%d%d", i/25, i%5, round) // no number in both rounds
				got, _ := guest.Try("POST", org.PublicPath("/appointments"), request)
				return got
			}
		}
		require.Equal(t, map[string]int{"201": 1, "409 slot_unavailable": 49}, moduletest.CountCodes(moduletest.Concurrently(requests...)))
		require.Len(t, org.List("/appointments?date=2026-03-0"+[]string{"2", "3"}[round]), 1)
	}
	require.Equal(t, 3, org.Count("scheduling.clients where org_id = $1", org.ID), "who was refused left no client")
}

// What clients may not do has a code for each reason, and the deadline that was missed.
func TestRefusedClients(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	guest := org.Guest()
	token := object{"cancel_token": guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))["cancel_token"]}
	move := object{"cancel_token": token["cancel_token"], "start_at": org.At(time.Hour)}
	set := func(fields object) { org.OK(200, "PUT", "/organization/settings", fields) }

	set(object{"cancel_notice_minutes": 4 * 24 * 60, "reschedule_notice_minutes": 4*24*60 + 30})
	require.Equal(t, org.At(-4*24*time.Hour), guest.Refused(409, "cancel_window_closed", "POST", org.PublicPath("/cancel"), token)["deadline"])
	require.Equal(t, org.At(-4*24*time.Hour-30*time.Minute), guest.Refused(409, "reschedule_window_closed", "POST", org.PublicPath("/reschedule"), move)["deadline"])
	set(object{"cancel_notice_minutes": 0, "reschedule_notice_minutes": 0, "allow_client_cancel": false, "allow_client_reschedule": false})
	guest.Refused(403, "client_cancel_disabled", "POST", org.PublicPath("/cancel"), token)
	guest.Refused(403, "client_reschedule_disabled", "POST", org.PublicPath("/reschedule"), move)
	set(object{"allow_client_cancel": true, "allow_client_reschedule": true})
	guest.OK(200, "POST", org.PublicPath("/reschedule"), move)
	guest.OK(200, "POST", org.PublicPath("/cancel"), token)
	guest.Refused(409, "invalid_transition", "POST", org.PublicPath("/reschedule"), move)

	again := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	client := org.Appointment(again["appointment_id"].(string))["client_id"].(string)
	org.OK(200, "PUT", "/clients/"+client, object{"is_blocked": true})
	require.NotContains(t, guest.Refused(403, "booking_refused", "POST", org.PublicPath("/appointments"), org.BookingBody(2*time.Hour))["detail"], "Gil")
	org.OK(200, "PUT", "/clients/"+client, object{"is_blocked": false})
	org.Hub.Clock.Advance(72 * time.Hour) // it begins
	require.Equal(t, org.At(0), guest.Refused(409, "cancel_window_closed", "POST", org.PublicPath("/cancel"), object{"cancel_token": again["cancel_token"]})["deadline"])
}

// What an organization asks of clients, and how far ahead they may book.
func TestRequiredClientFields(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	guest := org.Guest()
	request := org.BookingBody(0)
	delete(request, "client_phone")
	guest.Invalid("body.client_phone", "POST", org.PublicPath("/appointments"), request)
	org.OK(200, "PUT", "/organization/settings", object{"require_client_phone": false, "require_client_email": true, "max_advance_days": 4})
	created := guest.OK(201, "POST", org.PublicPath("/appointments"), request)
	detail := org.Appointment(created["appointment_id"].(string))
	require.Nil(t, detail["client"].(object)["phone"])
	request["start_at"] = org.At(time.Hour)
	second := org.Appointment(guest.OK(201, "POST", org.PublicPath("/appointments"), request)["appointment_id"].(string))
	require.Equal(t, detail["client_id"], second["client_id"], "found by e-mail")
	delete(request, "client_email")
	guest.Invalid("body.client_email", "POST", org.PublicPath("/appointments"), request)

	stranger := *org
	stranger.Organization = guest.Organization
	require.Len(t, stranger.SlotTimes("2026-03-03"), 6, "the fourth day from Friday")
	require.Empty(t, stranger.SlotTimes("2026-03-04"))
	require.Len(t, org.SlotTimes("2026-03-04"), 6, "staff book as far ahead as they like")
	guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(24*time.Hour))
	guest.Refused(409, "slot_unavailable", "POST", org.PublicPath("/appointments"), org.BookingBody(48*time.Hour))
	guest.Refused(409, "slot_unavailable", "POST", org.PublicPath("/hold"), object{"service_id": org.ServiceID, "start_at": org.At(48 * time.Hour)})
}

// A key is remembered for a day; the same request twice at the same time is one.
func TestIdempotencyKeyLastsADay(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	requests := make([]func() answer, 8)
	for i := range requests {
		requests[i] = func() answer {
			got, _ := org.Try("POST", "/appointments", org.AppointmentBody(0), "Idempotency-Key", "k")
			return got
		}
	}
	answers := moduletest.Concurrently(requests...)
	for _, answer := range answers {
		require.Equal(t, 201, answer.Status, answer.Text)
		require.Equal(t, answers[0].Text, answer.Text)
	}
	require.Len(t, org.List("/appointments"), 1)
	id := answers[0].Body["id"].(string)
	org.Transition(200, "cancel", id, object{})
	org.AdvanceClock(24*time.Hour - time.Second)
	require.Equal(t, id, org.OK(201, "POST", "/appointments", org.AppointmentBody(0), "Idempotency-Key", "k")["id"])
	org.AdvanceClock(2 * time.Second)
	require.NotEqual(t, id, org.OK(201, "POST", "/appointments", org.AppointmentBody(0), "Idempotency-Key", "k")["id"])
	org.Refused(409, "idempotency_key_reused", "POST", "/appointments", org.AppointmentBody(time.Hour), "Idempotency-Key", "k")
}
