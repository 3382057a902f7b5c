package payment_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/scheduling/internal/schedulingtest"
)

func TestDepositBooking(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
	p.OK(200, "PUT", "/organization/settings", object{"auto_confirm": true, "deposit_hold_minutes": 45})
	g := p.Guest()
	made := g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	deposit := made["deposit"].(object)
	require.EqualValues(t, 20, deposit["amount"])
	require.Contains(t, deposit["pix_copy_paste"], "540520.00")
	require.Equal(t, "2026-02-27T09:45:00-03:00", deposit["expires_at"])
	requireQR(t, deposit["qr_code_base64"])
	require.Equal(t, "scheduled", made["status"], "auto_confirm waits for the deposit")
	require.Equal(t, made, g.OK(200, "GET", p.PublicPath("/appointment?token="+made["cancel_token"].(string)), nil), "the code can be looked up again")
	id := made["appointment_id"].(string)
	detail := p.Appointment(id)
	require.Equal(t, "pending", detail["deposit_status"])
	require.EqualValues(t, 20, detail["deposit_amount"])
	require.Equal(t, "deposit", detail["payments"].([]any)[0].(object)["kind"])
	g.Refused(409, "slot_unavailable", "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	require.Equal(t, []string{"appointment.created"}, p.EventTypes())

	p.PayCharge(p.DepositTxID(id))
	paid := p.Appointment(id)
	require.Equal(t, "paid", paid["deposit_status"])
	require.Equal(t, "partial", paid["payment_status"])
	require.Equal(t, "confirmed", paid["status"])
	last := paid["history"].([]any)[1].(object)
	require.Equal(t, "confirm", last["action"])
	require.Equal(t, "system", last["by"])
	require.Nil(t, g.OK(200, "GET", p.PublicPath("/appointment?token="+made["cancel_token"].(string)), nil)["deposit"], "none is due any more")
	p.Refused(409, "already_paid", "POST", "/payments/pix", object{"appointment_id": id, "kind": "deposit"})
	require.EqualValues(t, 60, p.OK(201, "POST", "/payments/pix", object{"appointment_id": id})["amount"], "what is left to pay")
	p.AdvanceClock(time.Hour)
	p.RunJob("payments")
	require.Equal(t, "confirmed", p.Appointment(id)["status"], "and it stays")
}

func TestAnUnpaidDepositLetsGoOfItsSlot(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
	g := p.Guest()
	id := g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))["appointment_id"].(string)
	p.AdvanceClock(29 * time.Minute)
	p.RunJob("payments")
	require.Equal(t, "scheduled", p.Appointment(id)["status"], "half an hour is not over")
	p.AdvanceClock(time.Minute)
	p.RunJob("payments")
	p.RunJob("payments")
	gone := p.Appointment(id)
	require.Equal(t, "cancelled", gone["status"])
	require.Equal(t, "system", gone["cancelled_by"])
	require.Equal(t, "none", gone["deposit_status"])
	require.Equal(t, "expired", gone["payments"].([]any)[0].(object)["status"])
	history := gone["history"].([]any)
	require.Len(t, history, 2)
	require.Equal(t, "cancel", history[1].(object)["action"])
	require.Equal(t, "system", history[1].(object)["by"])
	require.Equal(t, "Deposit not paid in time", history[1].(object)["reason"])
	require.Equal(t, []string{"appointment.created", "appointment.cancelled"}, p.EventTypes())
	require.Len(t, schedulingtest.SlotTimesOf(p.Availability("&date=2026-03-02")), 6, "the time is free again")
	g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
}

// A deposit that is taken in otherwise counts too.
func TestADepositPaidAtTheDesk(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
	id := p.Guest().OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))["appointment_id"].(string)
	p.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 15, "method": "cash", "kind": "deposit"})
	require.Equal(t, "pending", p.Appointment(id)["deposit_status"], "not all of it")
	p.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 5, "method": "cash"})
	require.Equal(t, "paid", p.Appointment(id)["deposit_status"])
	p.AdvanceClock(time.Hour)
	p.RunJob("payments")
	require.Equal(t, "scheduled", p.Appointment(id)["status"])
	p.Transition(200, "cancel", id, object{})
	gone := p.Appointment(id)
	require.Equal(t, "refunded", gone["deposit_status"])
	require.Equal(t, true, gone["needs_refund"], "no provider can give it back")
}

// expired books with a deposit and lets the time for it go by; whoever pays at the
// provider pays late.
func expired(p *schedulingtest.Bookable) (id, txid string) {
	p.T.Helper()
	id = p.Guest().OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))["appointment_id"].(string)
	txid = p.DepositTxID(id)
	p.Exec(`update scheduling.sandbox_charges set expires_at = expires_at + interval '1 day' where txid = $1`, txid)
	p.Exec(`update scheduling.charges set due_at = null where txid = $1`, txid) // as where the provider did not answer
	p.Exec(`update scheduling.payments set status = 'expired' where appointment_id = $1`, id)
	p.AdvanceClock(31 * time.Minute)
	p.RunJob("payments")
	require.Equal(p.T, "cancelled", p.Appointment(id)["status"])
	return id, txid
}

func TestALateDepositBooksAgainWhereTheTimeIsFree(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
	id, txid := expired(p)
	p.PayCharge(txid)
	back := p.Appointment(id)
	require.Equal(t, "scheduled", back["status"])
	require.Equal(t, "paid", back["deposit_status"])
	require.Equal(t, false, back["needs_refund"])
	require.Nil(t, back["cancelled_at"])
	require.Nil(t, back["reason"])
	last := back["history"].([]any)[2].(object)
	require.Equal(t, "rebook", last["action"])
	require.Equal(t, "system", last["by"])
	require.Equal(t, []string{"appointment.created", "appointment.cancelled", "appointment.created"}, p.EventTypes())
	require.Len(t, schedulingtest.SlotTimesOf(p.Availability("&date=2026-03-02")), 5)
	require.Equal(t, 2, p.Count("scheduling.reminders where appointment_id = $1", id), "reminders are planned again")
}

func TestALateDepositNeedsARefundWhereTheTimeIsTaken(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
	id, txid := expired(p)
	p.Book(0)
	p.PayCharge(txid)
	late := p.Appointment(id)
	require.Equal(t, "cancelled", late["status"])
	require.Equal(t, true, late["needs_refund"])
	require.Equal(t, "paid", late["payments"].([]any)[0].(object)["status"], "the money is there")
	// Somebody gives it back at the provider, which tells.
	p.Exec(`update scheduling.sandbox_charges set status = 'refunded', refunded_cents = amount_cents where txid = $1`, txid)
	p.Exec(`update scheduling.provider_events set processed_at = null, due_at = received_at where charge_id = 'sbx_' || $1`, txid)
	p.RunJob("payments")
	require.Equal(t, false, p.Appointment(id)["needs_refund"])
}

func TestALateDepositOfWhatIsOverNeedsARefund(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
	id, txid := expired(p)
	p.Exec(`update scheduling.sandbox_charges set expires_at = expires_at + interval '30 days' where txid = $1`, txid)
	p.AdvanceClock(5 * 24 * time.Hour)
	p.PayCharge(txid)
	require.Equal(t, "cancelled", p.Appointment(id)["status"])
	require.Equal(t, true, p.Appointment(id)["needs_refund"])
}

func TestDepositsAreRefunded(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
	p.OK(200, "PUT", "/loyalty/config", object{"enabled": true})
	g := p.Guest()
	made := g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	id := made["appointment_id"].(string)
	p.PayCharge(p.DepositTxID(id))
	client := p.Appointment(id)["client_id"].(string)
	require.EqualValues(t, 20, p.LoyaltyAccount(client)["balance"])
	gone := g.OK(200, "POST", p.PublicPath("/cancel"), object{"cancel_token": made["cancel_token"]})
	require.Equal(t, "pending", gone["refund"])
	require.Equal(t, "refunded", p.Appointment(id)["deposit_status"])
	require.EqualValues(t, 20, p.OK(200, "GET", "/clients/"+client, nil)["total_spent"], "not yet")
	for range 2 {
		p.RunJob("payments")
		done := p.Appointment(id)
		payment := done["payments"].([]any)[0].(object)
		require.Equal(t, "refunded", payment["status"])
		require.EqualValues(t, 20, payment["refunded_amount"])
		require.Equal(t, "unpaid", done["payment_status"])
		require.Equal(t, false, done["needs_refund"])
		require.EqualValues(t, 0, p.OK(200, "GET", "/clients/"+client, nil)["total_spent"])
		require.EqualValues(t, 0, p.LoyaltyAccount(client)["balance"], "the points go too")
	}
	require.Equal(t, 1, p.Count(`scheduling.sandbox_charges where txid = $1 and status = 'refunded' and refunded_cents = 2000`, p.DepositTxID(id)))
}

func TestDepositsAreKeptWhereTheNoticeIsNot(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
	p.OK(200, "PUT", "/organization/settings", object{"deposit_refund_notice_minutes": 5 * 24 * 60})
	g := p.Guest()
	made := g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	p.PayCharge(p.DepositTxID(made["appointment_id"]))
	require.Nil(t, g.OK(200, "POST", p.PublicPath("/cancel"), object{"cancel_token": made["cancel_token"]})["refund"])
	p.RunJob("payments")
	kept := p.Appointment(made["appointment_id"].(string))
	require.Equal(t, "forfeited", kept["deposit_status"])
	require.Equal(t, "paid", kept["payments"].([]any)[0].(object)["status"])
	require.Zero(t, p.Count("scheduling.refunds where org_id = $1", p.ID))
}

// A cancellation ends the charge too, here and at the provider.
func TestACancelledBookingCannotBePaid(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
	g := p.Guest()
	made := g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	txid := p.DepositTxID(made["appointment_id"])
	g.OK(200, "POST", p.PublicPath("/cancel"), object{"cancel_token": made["cancel_token"]})
	require.Equal(t, "cancelled", p.Appointment(made["appointment_id"].(string))["payments"].([]any)[0].(object)["status"])
	p.RunJob("payments")
	g.Refused(409, "charge_state", "POST", "/dev/payments/"+txid+"/pay", nil)
	p.Refused(409, "appointment_cancelled", "POST", "/payments/pix", object{"appointment_id": made["appointment_id"]})
}

// A refund that the provider does not make is left to people.
func TestARefundThatFails(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
	made := p.Guest().OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	id := made["appointment_id"].(string)
	p.PayCharge(p.DepositTxID(id))
	p.Exec(`update scheduling.sandbox_charges set status = 'cancelled' where txid = $1`, p.DepositTxID(id))
	p.Transition(200, "cancel", id, object{})
	for range 20 {
		p.RunJob("payments")
		p.Hub.Clock.Advance(3 * time.Hour)
	}
	p.AdvanceClock(0)
	require.Equal(t, true, p.Appointment(id)["needs_refund"])
	require.Equal(t, 1, p.Count("scheduling.refunds where org_id = $1 and failed_at is not null", p.ID))
}

func TestFiftyDepositsAtOnce(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
	g := p.Guest()
	got := moduletest.SendTogether(50, func() answer {
		one, _ := g.Try("POST", p.PublicPath("/appointments"), p.BookingBody(0))
		return one
	})
	require.Equal(t, map[int]int{201: 1, 409: 49}, got)
	require.Equal(t, 1, p.Count("scheduling.charges where org_id = $1", p.ID), "only who got the time asked for a charge")
	require.Zero(t, p.Count("scheduling.holds where org_id = $1", p.ID))
}

// The event of an appointment that the system cancels or takes back stands or falls
// with the change, and with the money that caused it.
func TestTheSystemsChangesPublishInTheirTransaction(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
	id := p.Guest().OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))["appointment_id"].(string)
	txid := p.DepositTxID(id)
	p.Exec(`update scheduling.sandbox_charges set expires_at = expires_at + interval '1 day' where txid = $1`, txid)
	p.Exec(`update scheduling.charges set due_at = null where txid = $1`, txid)
	p.Exec(`update scheduling.payments set status = 'expired' where appointment_id = $1`, id)
	p.Hub.FailPublishing.Store(true) // before the time is over: the hub runs the job by itself, too
	p.AdvanceClock(31 * time.Minute)
	p.RunJob("payments")
	require.Equal(t, "scheduled", p.Appointment(id)["status"])
	p.Hub.FailPublishing.Store(false)
	p.RunJob("payments")
	require.Equal(t, "cancelled", p.Appointment(id)["status"])
	p.Hub.FailPublishing.Store(true)
	p.PayCharge(txid)
	still := p.Appointment(id)
	require.Equal(t, "cancelled", still["status"])
	require.Equal(t, "unpaid", still["payment_status"])
	require.Equal(t, "expired", still["payments"].([]any)[0].(object)["status"])
	p.Hub.FailPublishing.Store(false)
	p.AdvanceClock(2 * time.Minute)
	p.RunJob("payments")
	require.Equal(t, "scheduled", p.Appointment(id)["status"], "the notice was kept and is worked at again")
	require.Equal(t, "partial", p.Appointment(id)["payment_status"])
}

// Who pays all of a price that was lowered below the deposit keeps the appointment.
func TestAPriceBelowTheDeposit(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
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
