package scheduling_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Fifty clients at once for one professional's time, and for times a quarter of an hour
// apart: one gets it.
func TestFiftyGuestsAtOnceForOneProfessional(t *testing.T) {
	t.Parallel()
	p := opened(t, unlimited)
	p.ok(200, "PUT", "/services/"+p.service, object{"slot_interval_minutes": 15})
	g := p.guest()
	for round, apart := range []time.Duration{0, 15 * time.Minute} {
		requests := make([]func() answer, 50)
		for i := range requests {
			requests[i] = func() answer {
				wish := p.wish(time.Duration(round)*24*time.Hour + time.Duration(i%2)*apart)
				wish["client_phone"] = "11 9876" + []string{"5", "6"}[i/25] + "-00" + []string{"1", "2", "3", "4", "5"}[i%5] + "0"
				got, _ := g.try("POST", p.public("/appointments"), wish)
				return got
			}
		}
		require.Equal(t, map[string]int{"201": 1, "409 slot_unavailable": 49}, codes(atOnce(requests...)))
		require.Len(t, p.list("/appointments?date=2026-03-0"+[]string{"2", "3"}[round]), 1)
	}
	require.Equal(t, 3, p.count("scheduling.clients where org_id = $1", p.org), "who was refused left no client")
}

// What clients may not do has a code for each reason, and the deadline that was missed.
func TestRefusalsOfClients(t *testing.T) {
	t.Parallel()
	p := opened(t)
	g := p.guest()
	token := object{"cancel_token": g.ok(201, "POST", p.public("/appointments"), p.wish(0))["cancel_token"]}
	move := object{"cancel_token": token["cancel_token"], "start_at": p.at(time.Hour)}
	set := func(fields object) { p.ok(200, "PUT", "/organization/settings", fields) }

	set(object{"cancel_notice_minutes": 4 * 24 * 60, "reschedule_notice_minutes": 4*24*60 + 30})
	require.Equal(t, p.at(-4*24*time.Hour), g.refused(409, "cancel_window_closed", "POST", p.public("/cancel"), token)["deadline"])
	require.Equal(t, p.at(-4*24*time.Hour-30*time.Minute), g.refused(409, "reschedule_window_closed", "POST", p.public("/reschedule"), move)["deadline"])
	set(object{"cancel_notice_minutes": 0, "reschedule_notice_minutes": 0, "allow_client_cancel": false, "allow_client_reschedule": false})
	g.refused(403, "client_cancel_disabled", "POST", p.public("/cancel"), token)
	g.refused(403, "client_reschedule_disabled", "POST", p.public("/reschedule"), move)
	set(object{"allow_client_cancel": true, "allow_client_reschedule": true})
	g.ok(200, "POST", p.public("/reschedule"), move)
	g.ok(200, "POST", p.public("/cancel"), token)
	g.refused(409, "invalid_transition", "POST", p.public("/reschedule"), move)

	again := g.ok(201, "POST", p.public("/appointments"), p.wish(0))
	client := p.appointment(again["appointment_id"].(string))["client_id"].(string)
	p.ok(200, "PUT", "/clients/"+client, object{"is_blocked": true})
	require.NotContains(t, g.refused(403, "booking_refused", "POST", p.public("/appointments"), p.wish(2*time.Hour))["detail"], "Gil")
	p.ok(200, "PUT", "/clients/"+client, object{"is_blocked": false})
	p.hub.Clock.Advance(72 * time.Hour) // it begins
	require.Equal(t, p.at(0), g.refused(409, "cancel_window_closed", "POST", p.public("/cancel"), object{"cancel_token": again["cancel_token"]})["deadline"])
}

// What an organization asks of clients, and how far ahead they may book.
func TestDemandsOnClients(t *testing.T) {
	t.Parallel()
	p := opened(t)
	g := p.guest()
	wish := p.wish(0)
	delete(wish, "client_phone")
	g.invalid("body.client_phone", "POST", p.public("/appointments"), wish)
	p.ok(200, "PUT", "/organization/settings", object{"require_client_phone": false, "require_client_email": true, "max_advance_days": 4})
	made := g.ok(201, "POST", p.public("/appointments"), wish)
	detail := p.appointment(made["appointment_id"].(string))
	require.Nil(t, detail["client"].(object)["phone"])
	wish["start_at"] = p.at(time.Hour)
	second := p.appointment(g.ok(201, "POST", p.public("/appointments"), wish)["appointment_id"].(string))
	require.Equal(t, detail["client_id"], second["client_id"], "found by e-mail")
	delete(wish, "client_email")
	g.invalid("body.client_email", "POST", p.public("/appointments"), wish)

	stranger := *p
	stranger.studio = g.studio
	require.Len(t, stranger.slots("2026-03-03"), 6, "the fourth day from Friday")
	require.Empty(t, stranger.slots("2026-03-04"))
	require.Len(t, p.slots("2026-03-04"), 6, "staff book as far ahead as they like")
	g.ok(201, "POST", p.public("/appointments"), p.wish(24*time.Hour))
	g.refused(409, "slot_unavailable", "POST", p.public("/appointments"), p.wish(48*time.Hour))
	g.refused(409, "slot_unavailable", "POST", p.public("/hold"), object{"service_id": p.service, "start_at": p.at(48 * time.Hour)})
}

// A key is remembered for a day; the same request twice at the same time is one.
func TestIdempotencyKeyLastsADay(t *testing.T) {
	t.Parallel()
	p := opened(t)
	requests := make([]func() answer, 8)
	for i := range requests {
		requests[i] = func() answer {
			got, _ := p.try("POST", "/appointments", p.draft(0), "Idempotency-Key", "k")
			return got
		}
	}
	answers := atOnce(requests...)
	for _, one := range answers {
		require.Equal(t, 201, one.status, one.text)
		require.Equal(t, answers[0].text, one.text)
	}
	require.Len(t, p.list("/appointments"), 1)
	id := answers[0].body["id"].(string)
	p.do(200, "cancel", id, object{})
	p.later(24*time.Hour - time.Second)
	require.Equal(t, id, p.ok(201, "POST", "/appointments", p.draft(0), "Idempotency-Key", "k")["id"])
	p.later(2 * time.Second)
	require.NotEqual(t, id, p.ok(201, "POST", "/appointments", p.draft(0), "Idempotency-Key", "k")["id"])
	p.refused(409, "idempotency_key_reused", "POST", "/appointments", p.draft(time.Hour), "Idempotency-Key", "k")
}

// Taking back a no-show: its count, its forfeited deposit, and its time where that is
// still there.
func TestReopenANoShow(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	made := p.guest().ok(201, "POST", p.public("/appointments"), p.wish(0))
	id := made["appointment_id"].(string)
	p.pay(p.txid(id))
	client := p.appointment(id)["client_id"].(string)
	missed := func() any { return p.ok(200, "GET", "/clients/"+client, nil)["no_show_count"] }
	require.Equal(t, "forfeited", p.do(200, "noshow", id, nil)["deposit_status"])
	require.EqualValues(t, 1, missed())

	other := p.book(0) // the time is free again
	require.NotEmpty(t, p.refused(409, "slot_unavailable", "POST", "/appointments/"+id+"/reopen", nil)["alternatives"])
	require.Equal(t, "no_show", p.appointment(id)["status"])
	require.EqualValues(t, 1, missed(), "nothing changed")
	p.do(200, "cancel", other, object{})
	back := p.do(200, "reopen", id, nil)
	require.Equal(t, "confirmed", back["status"])
	require.Equal(t, "paid", back["deposit_status"])
	require.Nil(t, back["no_show_at"])
	require.EqualValues(t, 0, missed())
	told := types(p)
	require.Equal(t, []string{"appointment.cancelled", "appointment.created"}, told[len(told)-2:], "who was told of the no-show hears that it takes place")
	p.refused(409, "slot_unavailable", "POST", "/appointments", p.draft(0))
	require.Equal(t, back["version"], p.do(200, "confirm", id, nil)["version"], "in its own state nothing happens")
	require.Equal(t, back["version"], p.do(200, "reopen", id, nil)["version"])
}
