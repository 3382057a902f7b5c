package scheduling_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// Who pays all of a price that was lowered below the deposit keeps the appointment.
func TestAPriceBelowTheDeposit(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	wash := p.ok(201, "POST", "/services", object{"name": "Wash", "duration_minutes": 30, "price": 12})["id"].(string)
	p.call("PUT", "/professionals/"+p.professional+"/services", object{"service_ids": []string{p.service, wash}})
	p.ok(200, "PUT", "/organization/settings", object{"auto_confirm": true})
	booked := func(after time.Duration) string {
		return p.guest().ok(201, "POST", p.public("/appointments"), p.wish(after))["appointment_id"].(string)
	}
	priced, moved, free, half := booked(0), booked(time.Hour), booked(2*time.Hour), booked(150*time.Minute)
	p.ok(200, "PUT", "/appointments/"+priced, object{"price": 10})
	require.EqualValues(t, 10, p.appointment(priced)["deposit_amount"])
	p.ok(200, "PUT", "/appointments/"+moved, object{"service_id": wash})
	require.EqualValues(t, 12, p.appointment(moved)["deposit_amount"])
	p.pay(p.ok(201, "POST", "/payments/pix", object{"appointment_id": priced, "kind": "deposit"})["txid"])
	p.ok(201, "POST", "/payments", object{"appointment_id": moved, "amount": 12, "method": "cash"})
	p.ok(200, "PUT", "/appointments/"+free, object{"price": 0})
	require.Equal(t, "none", p.appointment(free)["deposit_status"])
	p.ok(201, "POST", "/payments", object{"appointment_id": half, "amount": 15, "method": "cash"})
	p.ok(200, "PUT", "/appointments/"+half, object{"price": 15})
	p.later(time.Hour)
	p.work("payments")
	for _, id := range []string{priced, moved, free, half} {
		kept := p.appointment(id)
		require.Equal(t, "confirmed", kept["status"])
		require.Contains(t, []string{"paid", "none"}, kept["deposit_status"])
	}
}

// With the client of an appointment change who may cancel and move it.
func TestTheLinkOfAFormerClient(t *testing.T) {
	t.Parallel()
	p := opened(t)
	g := p.guest()
	made := g.ok(201, "POST", p.public("/appointments"), p.wish(0))
	id, looked := made["appointment_id"].(string), p.public("/appointment?token="+made["cancel_token"].(string))
	p.ok(200, "PUT", "/appointments/"+id, object{"notes": "window seat", "client_id": p.appointment(id)["client_id"]})
	g.ok(200, "GET", looked, nil)
	other := p.ok(201, "POST", "/clients", object{"name": "Other"})["id"]
	p.ok(200, "PUT", "/appointments/"+id, object{"client_id": other})
	g.refused(404, "invalid_token", "GET", looked, nil)
	g.refused(404, "invalid_token", "POST", p.public("/cancel"), object{"cancel_token": made["cancel_token"]})
	require.Equal(t, "scheduled", p.appointment(id)["status"])
}

// What is still to be paid is the new client's.
func TestOpenChargesGoWithTheClient(t *testing.T) {
	t.Parallel()
	p := collecting(t)
	p.ok(200, "PUT", "/loyalty/config", object{"enabled": true})
	id := p.book(0)
	charge := p.ok(201, "POST", "/payments/pix", object{"appointment_id": id})
	other := p.ok(201, "POST", "/clients", object{"name": "Other"})["id"].(string)
	p.ok(200, "PUT", "/appointments/"+id, object{"client_id": other})
	again := p.ok(200, "POST", "/payments/pix", object{"appointment_id": id})
	require.Equal(t, []any{charge["id"], other}, []any{again["id"], again["client_id"]})
	p.pay(charge["txid"])
	require.EqualValues(t, 0, p.spent())
	require.EqualValues(t, 80, p.ok(200, "GET", "/clients/"+other, nil)["total_spent"])
	require.EqualValues(t, 0, p.points(p.client)["balance"])
	require.EqualValues(t, 80, p.points(other)["balance"])
}

// What somebody had booked who was forgotten takes place, and is paid.
func TestAppointmentsOfWhoWasForgotten(t *testing.T) {
	t.Parallel()
	p := collecting(t)
	p.ok(200, "PUT", "/loyalty/config", object{"enabled": true, "accrual_type": "visit", "points_per_visit": 5})
	done, open := p.book(0), p.book(time.Hour)
	p.do(200, "complete", done, nil)
	require.EqualValues(t, 5, p.points(p.client)["balance"])
	p.ok(204, "DELETE", "/clients/"+p.client, nil)
	p.do(200, "complete", open, nil)
	p.do(200, "reopen", open, nil)
	p.do(200, "reopen", done, nil)
	p.ok(201, "POST", "/payments", object{"appointment_id": open, "amount": 30, "method": "cash"})
	p.ok(201, "POST", "/payments", object{"appointment_id": open, "client_id": p.client, "amount": 50, "method": "cash"})
	require.Equal(t, "paid", p.appointment(open)["payment_status"])
	p.refused(404, "not_found", "POST", "/payments", object{"client_id": p.client, "amount": 30, "method": "cash"})
	p.ok(200, "PUT", "/appointments/"+open, object{"client_id": p.client, "notes": "came with a friend"})
}

// A hold with anybody that ran out leaves the choice of who it is.
func TestAHoldWithAnybodyThatRanOut(t *testing.T) {
	t.Parallel()
	p := opened(t)
	p.studio.professional("Eva", p.service)
	g := p.guest()
	held := g.ok(201, "POST", p.public("/hold"), object{"service_id": p.service, "start_at": p.at(0)})
	p.hub.Clock.Advance(5 * time.Minute)
	first := p.wish(0)
	first["professional_id"] = held["professional_id"]
	g.ok(201, "POST", p.public("/appointments"), first)
	late := p.wish(0)
	delete(late, "professional_id")
	late["hold_id"], late["client_phone"] = held["hold_id"], "+5511911112222"
	id := g.ok(201, "POST", p.public("/appointments"), late)["appointment_id"].(string)
	p.later(0)
	require.NotEqual(t, held["professional_id"], p.appointment(id)["professional_id"])
}

// Half a yen can be neither owed nor paid.
func TestACurrencyThatAmountsDoNotFit(t *testing.T) {
	t.Parallel()
	p := collecting(t)
	refused := func() {
		p.refused(409, "currency_unsuitable", "PUT", "/organization", object{"currency": "JPY", "name": "New"})
		require.Equal(t, "Studio", p.ok(200, "GET", "/organization", nil)["name"])
	}
	service, priced, paid := "/services/"+p.service, "/appointments/"+p.book(0), p.book(time.Hour)
	p.ok(200, "PUT", service, object{"price": 80.5})
	refused()
	p.ok(200, "PUT", service, object{"price": 80, "requires_deposit": true, "deposit_amount": 10.5})
	refused()
	p.ok(200, "PUT", service, object{"requires_deposit": false})
	p.ok(200, "PUT", priced, object{"price": 79.5})
	refused()
	p.ok(200, "PUT", priced, object{"price": 79})
	open := p.ok(201, "POST", "/payments/pix", object{"appointment_id": paid, "amount": 0.5})
	refused()
	p.pay(open["txid"])
	refused()
	p.ok(200, "PUT", "/organization", object{"currency": "USD"})
	refused()
	p.do(200, "cancel", paid, nil)
	p.ok(200, "PUT", "/organization", object{"currency": "JPY"})
	require.ErrorIs(t, p.receive("evt_0123456789abcdef", "payment.received", object{"appointment_id": priced[14:], "amount": 10.5}), hub.ErrInvalid)
	require.NoError(t, p.receive("evt_1123456789abcdef", "payment.received", object{"appointment_id": priced[14:], "amount": 10}))
}

// Who changed a price, a client or the notes can be read afterwards.
func TestEditsAreInTheHistory(t *testing.T) {
	t.Parallel()
	p := opened(t)
	id := p.book(0)
	other := p.ok(201, "POST", "/clients", object{"name": "Other"})["id"]
	for _, body := range []object{{"price": 60}, {"client_id": other, "notes": "x"}, {"price": 60, "client_id": other, "notes": "x"}, {"notes": "y"}} {
		p.ok(200, "PUT", "/appointments/"+id, body)
	}
	var seen [][]any
	for _, one := range p.appointment(id)["history"].([]any)[1:] {
		row := one.(object)
		require.Equal(t, []any{"edit", "staff", "Bia", "scheduled", "scheduled"}, []any{row["action"], row["by"], row["user"], row["from_status"], row["to_status"]})
		seen = append(seen, []any{row["from_price"], row["to_price"], row["from_client_id"], row["to_client_id"]})
	}
	require.Equal(t, [][]any{{80.0, 60.0, nil, nil}, {nil, nil, p.client, other}, {nil, nil, nil, nil}}, seen)
}

// Who was blocked does not get around that through a connected product.
func TestConnectedProductsDoNotBookForWhoWasBlocked(t *testing.T) {
	t.Parallel()
	p := besideNotes(t)
	p.ok(200, "PUT", "/clients/"+p.client, object{"is_blocked": true})
	wish := object{"phone": "+5511987654321", "name": "Caio", "service": "Cut", "start_at": p.at(0)}
	require.NotContains(t, p.refused(403, "booking_refused", "POST", "/integrations/action/book", wish)["detail"], "Caio")
	p.ok(200, "PUT", "/clients/"+p.client, object{"is_blocked": false})
	p.ok(201, "POST", "/integrations/action/book", wish)
}
