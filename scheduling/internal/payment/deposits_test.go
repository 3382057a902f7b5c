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
	org := schedulingtest.NewDepositBookable(t)
	org.OK(200, "PUT", "/organization/settings", object{"auto_confirm": true, "deposit_hold_minutes": 45})
	guest := org.Guest()
	created := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	deposit := created["deposit"].(object)
	require.EqualValues(t, 20, deposit["amount"])
	require.Contains(t, deposit["pix_copy_paste"], "540520.00")
	require.Equal(t, "2026-02-27T09:45:00-03:00", deposit["expires_at"])
	requireQR(t, deposit["qr_code_base64"])
	require.Equal(t, "scheduled", created["status"], "auto_confirm waits for the deposit")
	require.Equal(t, created, guest.OK(200, "GET", org.PublicPath("/appointment?token="+created["cancel_token"].(string)), nil), "the code can be looked up again")
	id := created["appointment_id"].(string)
	detail := org.Appointment(id)
	require.Equal(t, "pending", detail["deposit_status"])
	require.EqualValues(t, 20, detail["deposit_amount"])
	require.Equal(t, "deposit", detail["payments"].([]any)[0].(object)["kind"])
	guest.Refused(409, "slot_unavailable", "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	require.Equal(t, []string{"appointment.created"}, org.EventTypes())

	org.PayCharge(org.DepositTxID(id))
	paid := org.Appointment(id)
	require.Equal(t, "paid", paid["deposit_status"])
	require.Equal(t, "partial", paid["payment_status"])
	require.Equal(t, "confirmed", paid["status"])
	last := paid["history"].([]any)[1].(object)
	require.Equal(t, "confirm", last["action"])
	require.Equal(t, "system", last["by"])
	require.Nil(t, guest.OK(200, "GET", org.PublicPath("/appointment?token="+created["cancel_token"].(string)), nil)["deposit"], "none is due any more")
	org.Refused(409, "already_paid", "POST", "/payments/pix", object{"appointment_id": id, "kind": "deposit"})
	require.EqualValues(t, 60, org.OK(201, "POST", "/payments/pix", object{"appointment_id": id})["amount"], "what is left to pay")
	org.AdvanceClock(time.Hour)
	org.RunJob("payments")
	require.Equal(t, "confirmed", org.Appointment(id)["status"], "and it stays")
}

func TestUnpaidDepositCancelsTheAppointment(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	guest := org.Guest()
	id := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))["appointment_id"].(string)
	org.AdvanceClock(29 * time.Minute)
	org.RunJob("payments")
	require.Equal(t, "scheduled", org.Appointment(id)["status"], "half an hour is not over")
	org.AdvanceClock(time.Minute)
	org.RunJob("payments")
	org.RunJob("payments")
	gone := org.Appointment(id)
	require.Equal(t, "cancelled", gone["status"])
	require.Equal(t, "system", gone["cancelled_by"])
	require.Equal(t, "none", gone["deposit_status"])
	require.Equal(t, "expired", gone["payments"].([]any)[0].(object)["status"])
	history := gone["history"].([]any)
	require.Len(t, history, 2)
	require.Equal(t, "cancel", history[1].(object)["action"])
	require.Equal(t, "system", history[1].(object)["by"])
	require.Equal(t, "Deposit not paid in time", history[1].(object)["reason"])
	require.Equal(t, []string{"appointment.created", "appointment.cancelled"}, org.EventTypes())
	require.Len(t, schedulingtest.SlotTimesOf(org.Availability("&date=2026-03-02")), 6, "the time is free again")
	guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
}

// A deposit that is taken in otherwise counts too.
func TestDepositPaidInPerson(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))["appointment_id"].(string)
	org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 15, "method": "cash", "kind": "deposit"})
	require.Equal(t, "pending", org.Appointment(id)["deposit_status"], "not all of it")
	org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 5, "method": "cash"})
	require.Equal(t, "paid", org.Appointment(id)["deposit_status"])
	org.AdvanceClock(time.Hour)
	org.RunJob("payments")
	require.Equal(t, "scheduled", org.Appointment(id)["status"])
	org.Transition(200, "cancel", id, object{})
	gone := org.Appointment(id)
	require.Equal(t, "paid", gone["deposit_status"], "it was not refunded")
	require.Equal(t, true, gone["needs_refund"], "no provider can give it back")
}

// expired books with a deposit and lets the time for it go by; whoever pays at the
// provider pays late.
func expired(org *schedulingtest.Bookable) (id, txid string) {
	org.T.Helper()
	id = org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))["appointment_id"].(string)
	txid = org.DepositTxID(id)
	org.Exec(`update scheduling.sandbox_charges set expires_at = expires_at + interval '1 day' where txid = $1`, txid)
	org.Exec(`update scheduling.charges set due_at = null where txid = $1`, txid) // as where the provider did not answer
	org.Exec(`update scheduling.payments set status = 'expired' where appointment_id = $1`, id)
	org.AdvanceClock(31 * time.Minute)
	org.RunJob("payments")
	require.Equal(org.T, "cancelled", org.Appointment(id)["status"])
	return id, txid
}

func TestLateDepositRestoresTheAppointment(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id, txid := expired(org)
	org.PayCharge(txid)
	back := org.Appointment(id)
	require.Equal(t, "scheduled", back["status"])
	require.Equal(t, "paid", back["deposit_status"])
	require.Equal(t, false, back["needs_refund"])
	require.Nil(t, back["cancelled_at"])
	require.Nil(t, back["reason"])
	last := back["history"].([]any)[2].(object)
	require.Equal(t, "rebook", last["action"])
	require.Equal(t, "system", last["by"])
	require.Equal(t, []string{"appointment.created", "appointment.cancelled", "appointment.created"}, org.EventTypes())
	require.Len(t, schedulingtest.SlotTimesOf(org.Availability("&date=2026-03-02")), 5)
	require.Equal(t, 2, org.Count("scheduling.reminders where appointment_id = $1", id), "reminders are planned again")
}

func TestLateDepositForATakenTimeNeedsRefund(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id, txid := expired(org)
	org.Book(0)
	org.PayCharge(txid)
	late := org.Appointment(id)
	require.Equal(t, "cancelled", late["status"])
	require.Equal(t, true, late["needs_refund"])
	require.Equal(t, "paid", late["payments"].([]any)[0].(object)["status"], "the money is there")
	// It is refunded at the provider, which sends a webhook.
	org.Exec(`update scheduling.sandbox_charges set status = 'refunded', refunded_cents = amount_cents where txid = $1`, txid)
	org.Exec(`update scheduling.provider_events set processed_at = null, due_at = received_at where charge_id = 'sbx_' || $1`, txid)
	org.RunJob("payments")
	require.Equal(t, false, org.Appointment(id)["needs_refund"])
}

func TestLateDepositAfterTheStartNeedsRefund(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id, txid := expired(org)
	org.Exec(`update scheduling.sandbox_charges set expires_at = expires_at + interval '30 days' where txid = $1`, txid)
	org.AdvanceClock(5 * 24 * time.Hour)
	org.PayCharge(txid)
	require.Equal(t, "cancelled", org.Appointment(id)["status"])
	require.Equal(t, true, org.Appointment(id)["needs_refund"])
}

func TestDepositsAreRefunded(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	org.OK(200, "PUT", "/loyalty/config", object{"enabled": true})
	guest := org.Guest()
	created := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	id := created["appointment_id"].(string)
	org.PayCharge(org.DepositTxID(id))
	client := org.Appointment(id)["client_id"].(string)
	require.EqualValues(t, 20, org.LoyaltyAccount(client)["balance"])
	txid := org.DepositTxID(id)
	org.Exec(`update scheduling.sandbox_charges set status = 'cancelled' where txid = $1`, txid) // the hub runs the job by itself, too
	gone := guest.OK(200, "POST", org.PublicPath("/cancel"), object{"cancel_token": created["cancel_token"]})
	require.Equal(t, "pending", gone["refund"])
	require.Equal(t, "paid", org.Appointment(id)["deposit_status"], "until the provider has made the refund")
	require.EqualValues(t, 20, org.OK(200, "GET", "/clients/"+client, nil)["total_spent"], "not yet")
	org.RunJob("payments")
	require.Equal(t, "paid", org.Appointment(id)["deposit_status"])
	org.Exec(`update scheduling.sandbox_charges set status = 'paid' where txid = $1`, txid)
	org.AdvanceClock(3 * time.Minute)
	for range 2 {
		org.RunJob("payments")
		done := org.Appointment(id)
		payment := done["payments"].([]any)[0].(object)
		require.Equal(t, "refunded", payment["status"])
		require.EqualValues(t, 20, payment["refunded_amount"])
		require.Equal(t, "refunded", done["deposit_status"])
		require.Equal(t, "unpaid", done["payment_status"])
		require.Equal(t, false, done["needs_refund"])
		require.EqualValues(t, 0, org.OK(200, "GET", "/clients/"+client, nil)["total_spent"])
		require.EqualValues(t, 0, org.LoyaltyAccount(client)["balance"], "the points go too")
	}
	require.Equal(t, 1, org.Count(`scheduling.sandbox_charges where txid = $1 and status = 'refunded' and refunded_cents = 2000`, org.DepositTxID(id)))
	require.Nil(t, guest.OK(200, "POST", org.PublicPath("/cancel"), object{"cancel_token": created["cancel_token"]})["refund"], "none is due any more")
}

// A deposit that was paid while the client or staff cancelled is refunded all the same.
func TestDepositPaidDuringTheCancellationIsRefunded(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	guest := org.Guest()
	for i, cancel := range []func(id string, token any) any{
		func(_ string, token any) any {
			return guest.OK(200, "POST", org.PublicPath("/cancel"), object{"cancel_token": token})["refund"]
		},
		func(id string, _ any) any { org.Transition(200, "cancel", id, object{}); return nil },
	} {
		created := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(time.Duration(i)*time.Hour))
		id := created["appointment_id"].(string)
		txid := org.DepositTxID(id)
		org.Exec(`update scheduling.sandbox_charges set status = 'paid', paid_at = $2 where txid = $1`, txid, org.Hub.Clock.Now())
		require.Nil(t, cancel(id, created["cancel_token"]), "the payment is not known yet")
		org.Exec(`update scheduling.settings set deposit_refund_notice_minutes = 4320 where org_id = $1`, org.ID) // three days: just so when it was cancelled
		org.AdvanceClock(time.Second)
		for range 2 {
			org.RunJob("payments")
			org.AdvanceClock(time.Second)
		}
		gone := org.Appointment(id)
		require.Equal(t, "cancelled", gone["status"])
		require.Equal(t, "refunded", gone["deposit_status"])
		require.Equal(t, false, gone["needs_refund"])
		require.Equal(t, "refunded", gone["payments"].([]any)[0].(object)["status"])
		require.Equal(t, 1, org.Count(`scheduling.sandbox_charges where txid = $1 and refunded_cents = 2000`, txid))
		org.Exec(`update scheduling.settings set deposit_refund_notice_minutes = 1440 where org_id = $1`, org.ID)
	}
	require.Equal(t, 2, org.Count("scheduling.refunds where org_id = $1", org.ID))
}

// Who cancels too late has no refund, also of a deposit that arrives afterwards.
func TestDepositPaidDuringALateCancellationIsForfeited(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	org.OK(200, "PUT", "/organization/settings", object{"deposit_refund_notice_minutes": 5 * 24 * 60})
	guest := org.Guest()
	created := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	id := created["appointment_id"].(string)
	org.Exec(`update scheduling.sandbox_charges set status = 'paid', paid_at = $2 where txid = $1`, org.DepositTxID(id), org.Hub.Clock.Now())
	guest.OK(200, "POST", org.PublicPath("/cancel"), object{"cancel_token": created["cancel_token"]})
	org.RunJob("payments")
	kept := org.Appointment(id)
	require.Equal(t, "forfeited", kept["deposit_status"])
	require.Equal(t, false, kept["needs_refund"])
	require.Equal(t, "paid", kept["payments"].([]any)[0].(object)["status"])
	require.Zero(t, org.Count("scheduling.refunds where org_id = $1", org.ID))
}

func TestDepositIsForfeitedWithoutNotice(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	org.OK(200, "PUT", "/organization/settings", object{"deposit_refund_notice_minutes": 5 * 24 * 60})
	guest := org.Guest()
	created := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	org.PayCharge(org.DepositTxID(created["appointment_id"]))
	require.Nil(t, guest.OK(200, "POST", org.PublicPath("/cancel"), object{"cancel_token": created["cancel_token"]})["refund"])
	org.RunJob("payments")
	kept := org.Appointment(created["appointment_id"].(string))
	require.Equal(t, "forfeited", kept["deposit_status"])
	require.Equal(t, "paid", kept["payments"].([]any)[0].(object)["status"])
	require.Zero(t, org.Count("scheduling.refunds where org_id = $1", org.ID))
}

// A cancellation ends the charge too, here and at the provider.
func TestACancelledBookingCannotBePaid(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	guest := org.Guest()
	created := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	txid := org.DepositTxID(created["appointment_id"])
	guest.OK(200, "POST", org.PublicPath("/cancel"), object{"cancel_token": created["cancel_token"]})
	require.Equal(t, "cancelled", org.Appointment(created["appointment_id"].(string))["payments"].([]any)[0].(object)["status"])
	org.RunJob("payments")
	guest.Refused(409, "charge_state", "POST", "/dev/payments/"+txid+"/pay", nil)
	org.Refused(409, "appointment_cancelled", "POST", "/payments/pix", object{"appointment_id": created["appointment_id"]})
}

// A refund that the provider does not make is left to people.
func TestFailedRefund(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	created := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	id := created["appointment_id"].(string)
	org.PayCharge(org.DepositTxID(id))
	org.Exec(`update scheduling.sandbox_charges set status = 'cancelled' where txid = $1`, org.DepositTxID(id))
	org.Transition(200, "cancel", id, object{})
	for range 20 {
		org.RunJob("payments")
		org.Hub.Clock.Advance(3 * time.Hour)
	}
	org.AdvanceClock(0)
	require.Equal(t, true, org.Appointment(id)["needs_refund"])
	require.Equal(t, "paid", org.Appointment(id)["deposit_status"], "nobody has refunded it")
	require.Equal(t, 1, org.Count("scheduling.refunds where org_id = $1 and failed_at is not null", org.ID))
}

func TestFiftyConcurrentDeposits(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	guest := org.Guest()
	got := moduletest.SendTogether(50, func() answer {
		response, _ := guest.Try("POST", org.PublicPath("/appointments"), org.BookingBody(0))
		return response
	})
	require.Equal(t, map[int]int{201: 1, 409: 49}, got)
	require.Equal(t, 1, org.Count("scheduling.charges where org_id = $1", org.ID), "only who got the time asked for a charge")
	require.Zero(t, org.Count("scheduling.holds where org_id = $1", org.ID))
}

// The event of an appointment that the system cancels or takes back stands or falls
// with the change, and with the money that caused it.
func TestSystemChangesPublishInTheirTransaction(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))["appointment_id"].(string)
	txid := org.DepositTxID(id)
	org.Exec(`update scheduling.sandbox_charges set expires_at = expires_at + interval '1 day' where txid = $1`, txid)
	org.Exec(`update scheduling.charges set due_at = null where txid = $1`, txid)
	org.Exec(`update scheduling.payments set status = 'expired' where appointment_id = $1`, id)
	org.Hub.FailPublishing.Store(true) // before the time is over: the hub runs the job by itself, too
	org.AdvanceClock(31 * time.Minute)
	org.RunJob("payments")
	require.Equal(t, "scheduled", org.Appointment(id)["status"])
	org.Hub.FailPublishing.Store(false)
	org.RunJob("payments")
	require.Equal(t, "cancelled", org.Appointment(id)["status"])
	org.Hub.FailPublishing.Store(true)
	org.PayCharge(txid)
	still := org.Appointment(id)
	require.Equal(t, "cancelled", still["status"])
	require.Equal(t, "unpaid", still["payment_status"])
	require.Equal(t, "expired", still["payments"].([]any)[0].(object)["status"])
	org.Hub.FailPublishing.Store(false)
	org.AdvanceClock(2 * time.Minute)
	org.RunJob("payments")
	require.Equal(t, "scheduled", org.Appointment(id)["status"], "the notice was kept and is worked at again")
	require.Equal(t, "partial", org.Appointment(id)["payment_status"])
}

// Who pays all of a price that was lowered below the deposit keeps the appointment.
func TestAPriceBelowTheDeposit(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	wash := org.OK(201, "POST", "/services", object{"name": "Wash", "duration_minutes": 30, "price": 12})["id"].(string)
	org.Call("PUT", "/professionals/"+org.ProfessionalID+"/services", object{"service_ids": []string{org.ServiceID, wash}})
	org.OK(200, "PUT", "/organization/settings", object{"auto_confirm": true})
	booked := func(after time.Duration) string {
		return org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(after))["appointment_id"].(string)
	}
	priced, moved, free, half := booked(0), booked(time.Hour), booked(2*time.Hour), booked(150*time.Minute)
	org.OK(200, "PUT", "/appointments/"+priced, object{"price": 10})
	require.EqualValues(t, 10, org.Appointment(priced)["deposit_amount"])
	org.OK(200, "PUT", "/appointments/"+moved, object{"service_id": wash})
	require.EqualValues(t, 12, org.Appointment(moved)["deposit_amount"])
	org.PayCharge(org.OK(201, "POST", "/payments/pix", object{"appointment_id": priced, "kind": "deposit"})["txid"])
	org.OK(201, "POST", "/payments", object{"appointment_id": moved, "amount": 12, "method": "cash"})
	org.OK(200, "PUT", "/appointments/"+free, object{"price": 0})
	require.Equal(t, "none", org.Appointment(free)["deposit_status"])
	org.OK(201, "POST", "/payments", object{"appointment_id": half, "amount": 15, "method": "cash"})
	org.OK(200, "PUT", "/appointments/"+half, object{"price": 15})
	org.AdvanceClock(time.Hour)
	org.RunJob("payments")
	for _, id := range []string{priced, moved, free, half} {
		kept := org.Appointment(id)
		require.Equal(t, "confirmed", kept["status"])
		require.Contains(t, []string{"paid", "none"}, kept["deposit_status"])
	}
}

// A visit that has begun is not cancelled for its deposit: staff collect it.
func TestUnpaidDepositOfAVisit(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	org.OK(200, "PUT", "/organization/settings", object{"min_notice_minutes": 0})
	org.AdvanceClock(schedulingtest.Monday.Add(-10 * time.Minute).Sub(org.Hub.Clock.Now()))
	created := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	require.Equal(t, org.At(0), created["deposit"].(object)["expires_at"])
	id := created["appointment_id"].(string)
	moved := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(time.Hour))["appointment_id"].(string)
	org.Exec(`update scheduling.appointments set start_at = start_at - interval '50 minutes', end_at = end_at - interval '50 minutes', overbooked = true where id = $1`, moved)
	org.AdvanceClock(35 * time.Minute)
	org.RunJob("payments")
	for _, visit := range []string{id, moved} {
		require.Equal(t, "scheduled", org.Appointment(visit)["status"])
		require.Equal(t, "pending", org.Appointment(visit)["deposit_status"])
	}
	// Nor after staff moved it: its deposit has no deadline any more.
	org.OK(200, "PUT", "/appointments/"+id, object{"start_at": org.At(7 * 24 * time.Hour)})
	org.AdvanceClock(time.Hour)
	org.RunJob("payments")
	require.Equal(t, "scheduled", org.Appointment(id)["status"])
}

// Who paid a part is not cancelled where that closed the code for the deposit, and
// otherwise the part is to be refunded.
func TestPartOfADeposit(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"deposit_amount": 60})
	book := func(after time.Duration, paid int) string {
		id := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(after))["appointment_id"].(string)
		org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": paid, "method": "cash"})
		return id
	}
	kept, gone := book(0, 50), book(time.Hour, 10)
	org.AdvanceClock(31 * time.Minute)
	org.RunJob("payments")
	require.Equal(t, "scheduled", org.Appointment(kept)["status"])
	require.Equal(t, "pending", org.Appointment(kept)["deposit_status"])
	require.Equal(t, "cancelled", org.Appointment(gone)["status"])
	require.Equal(t, true, org.Appointment(gone)["needs_refund"])
}
