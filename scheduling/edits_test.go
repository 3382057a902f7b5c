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
	p := NewDepositBookable(t)
	wash := p.OK(201, "POST", "/services", object{"name": "Wash", "duration_minutes": 30, "price": 12})["id"].(string)
	p.Call("PUT", "/professionals/"+p.ProfessionalID+"/services", object{"service_ids": []string{p.ServiceID, wash}})
	p.OK(200, "PUT", "/organization/settings", object{"auto_confirm": true})
	booked := func(after time.Duration) string {
		return p.Guest().OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(after))["appointment_id"].(string)
	}
	priced, moved, free, half := booked(0), booked(time.Hour), booked(2*time.Hour), booked(150*time.Minute)
	p.OK(200, "PUT", "/appointments/"+priced, object{"price": 10})
	require.EqualValues(t, 10, p.Appointment(priced)["deposit_amount"])
	p.OK(200, "PUT", "/appointments/"+moved, object{"service_id": wash})
	require.EqualValues(t, 12, p.Appointment(moved)["deposit_amount"])
	p.PayCharge(p.OK(201, "POST", "/payments/pix", object{"appointment_id": priced, "kind": "deposit"})["txid"])
	p.OK(201, "POST", "/payments", object{"appointment_id": moved, "amount": 12, "method": "cash"})
	p.OK(200, "PUT", "/appointments/"+free, object{"price": 0})
	require.Equal(t, "none", p.Appointment(free)["deposit_status"])
	p.OK(201, "POST", "/payments", object{"appointment_id": half, "amount": 15, "method": "cash"})
	p.OK(200, "PUT", "/appointments/"+half, object{"price": 15})
	p.AdvanceClock(time.Hour)
	p.RunJob("payments")
	for _, id := range []string{priced, moved, free, half} {
		kept := p.Appointment(id)
		require.Equal(t, "confirmed", kept["status"])
		require.Contains(t, []string{"paid", "none"}, kept["deposit_status"])
	}
}

// With the client of an appointment change who may cancel and move it.
func TestTheLinkOfAFormerClient(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	g := p.Guest()
	made := g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	id, looked := made["appointment_id"].(string), p.PublicPath("/appointment?token="+made["cancel_token"].(string))
	p.OK(200, "PUT", "/appointments/"+id, object{"notes": "window seat", "client_id": p.Appointment(id)["client_id"]})
	g.OK(200, "GET", looked, nil)
	other := p.OK(201, "POST", "/clients", object{"name": "Other"})["id"]
	p.OK(200, "PUT", "/appointments/"+id, object{"client_id": other})
	g.Refused(404, "invalid_token", "GET", looked, nil)
	g.Refused(404, "invalid_token", "POST", p.PublicPath("/cancel"), object{"cancel_token": made["cancel_token"]})
	require.Equal(t, "scheduled", p.Appointment(id)["status"])
}

// What is still to be paid is the new client's.
func TestOpenChargesGoWithTheClient(t *testing.T) {
	t.Parallel()
	p := NewPaidBookable(t)
	p.OK(200, "PUT", "/loyalty/config", object{"enabled": true})
	id := p.Book(0)
	charge := p.OK(201, "POST", "/payments/pix", object{"appointment_id": id})
	other := p.OK(201, "POST", "/clients", object{"name": "Other"})["id"].(string)
	p.OK(200, "PUT", "/appointments/"+id, object{"client_id": other})
	again := p.OK(200, "POST", "/payments/pix", object{"appointment_id": id})
	require.Equal(t, []any{charge["id"], other}, []any{again["id"], again["client_id"]})
	p.PayCharge(charge["txid"])
	require.EqualValues(t, 0, p.TotalSpent())
	require.EqualValues(t, 80, p.OK(200, "GET", "/clients/"+other, nil)["total_spent"])
	require.EqualValues(t, 0, p.LoyaltyAccount(p.ClientID)["balance"])
	require.EqualValues(t, 80, p.LoyaltyAccount(other)["balance"])
}

// What somebody had booked who was forgotten takes place, and is paid.
func TestAppointmentsOfWhoWasForgotten(t *testing.T) {
	t.Parallel()
	p := NewPaidBookable(t)
	p.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "accrual_type": "visit", "points_per_visit": 5})
	done, open := p.Book(0), p.Book(time.Hour)
	p.Transition(200, "complete", done, nil)
	require.EqualValues(t, 5, p.LoyaltyAccount(p.ClientID)["balance"])
	p.OK(204, "DELETE", "/clients/"+p.ClientID, nil)
	p.Transition(200, "complete", open, nil)
	p.Transition(200, "reopen", open, nil)
	p.Transition(200, "reopen", done, nil)
	p.OK(201, "POST", "/payments", object{"appointment_id": open, "amount": 30, "method": "cash"})
	p.OK(201, "POST", "/payments", object{"appointment_id": open, "client_id": p.ClientID, "amount": 50, "method": "cash"})
	require.Equal(t, "paid", p.Appointment(open)["payment_status"])
	p.Refused(404, "not_found", "POST", "/payments", object{"client_id": p.ClientID, "amount": 30, "method": "cash"})
	p.OK(200, "PUT", "/appointments/"+open, object{"client_id": p.ClientID, "notes": "came with a friend"})
}

// A hold with anybody that ran out leaves the choice of who it is.
func TestAHoldWithAnybodyThatRanOut(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
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

// Half a yen can be neither owed nor paid.
func TestACurrencyThatAmountsDoNotFit(t *testing.T) {
	t.Parallel()
	p := NewPaidBookable(t)
	refused := func() {
		p.Refused(409, "currency_unsuitable", "PUT", "/organization", object{"currency": "JPY", "name": "New"})
		require.Equal(t, "Studio", p.OK(200, "GET", "/organization", nil)["name"])
	}
	service, priced, paid := "/services/"+p.ServiceID, "/appointments/"+p.Book(0), p.Book(time.Hour)
	p.OK(200, "PUT", service, object{"price": 80.5})
	refused()
	p.OK(200, "PUT", service, object{"price": 80, "requires_deposit": true, "deposit_amount": 10.5})
	refused()
	p.OK(200, "PUT", service, object{"requires_deposit": false})
	p.OK(200, "PUT", priced, object{"price": 79.5})
	refused()
	p.OK(200, "PUT", priced, object{"price": 79})
	open := p.OK(201, "POST", "/payments/pix", object{"appointment_id": paid, "amount": 0.5})
	refused()
	p.PayCharge(open["txid"])
	refused()
	p.OK(200, "PUT", "/organization", object{"currency": "USD"})
	refused()
	p.Transition(200, "cancel", paid, nil)
	p.OK(200, "PUT", "/organization", object{"currency": "JPY"})
	require.ErrorIs(t, p.ReceiveEvent("evt_0123456789abcdef", "payment.received", object{"appointment_id": priced[14:], "amount": 10.5}), hub.ErrInvalid)
	require.NoError(t, p.ReceiveEvent("evt_1123456789abcdef", "payment.received", object{"appointment_id": priced[14:], "amount": 10}))
}

// Who changed a price, a client or the notes can be read afterwards.
func TestEditsAreInTheHistory(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	id := p.Book(0)
	other := p.OK(201, "POST", "/clients", object{"name": "Other"})["id"]
	for _, body := range []object{{"price": 60}, {"client_id": other, "notes": "x"}, {"price": 60, "client_id": other, "notes": "x"}, {"notes": "y"}} {
		p.OK(200, "PUT", "/appointments/"+id, body)
	}
	var seen [][]any
	for _, one := range p.Appointment(id)["history"].([]any)[1:] {
		row := one.(object)
		require.Equal(t, []any{"edit", "staff", "Bia", "scheduled", "scheduled"}, []any{row["action"], row["by"], row["user"], row["from_status"], row["to_status"]})
		seen = append(seen, []any{row["from_price"], row["to_price"], row["from_client_id"], row["to_client_id"]})
	}
	require.Equal(t, [][]any{{80.0, 60.0, nil, nil}, {nil, nil, p.ClientID, other}, {nil, nil, nil, nil}}, seen)
}

// Who was blocked does not get around that through a connected product.
func TestConnectedProductsDoNotBookForWhoWasBlocked(t *testing.T) {
	t.Parallel()
	p := NewBookableBesidePeer(t)
	p.OK(200, "PUT", "/clients/"+p.ClientID, object{"is_blocked": true})
	wish := object{"phone": "+5511987654321", "name": "Caio", "service": "Cut", "start_at": p.At(0)}
	require.NotContains(t, p.Refused(403, "booking_refused", "POST", "/integrations/action/book", wish)["detail"], "Caio")
	p.OK(200, "PUT", "/clients/"+p.ClientID, object{"is_blocked": false})
	p.OK(201, "POST", "/integrations/action/book", wish)
}
