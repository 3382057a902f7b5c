package payment_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// bookForGuest books with a deposit, as a client does.
func bookForGuest(org *schedulingtest.Bookable, after time.Duration) string {
	org.T.Helper()
	return org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(after))["appointment_id"].(string)
}

// paidAtSandbox has a charge paid without a webhook.
func paidAtSandbox(org *schedulingtest.Bookable, txid any) {
	org.T.Helper()
	org.Exec(`update scheduling.sandbox_charges set status = 'paid', paid_at = $2 where txid = $1`, txid, org.Hub.Clock.Now())
}

// The refund of one payment says nothing of another that is owed too.
func TestRefundClearsNoOtherPayment(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id := bookForGuest(org, 0)
	org.PayCharge(org.DepositTxID(id))
	rest := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id})
	require.EqualValues(t, 60, rest["amount"])
	paidAtSandbox(org, rest["txid"])
	org.Transition(200, "cancel", id, object{})
	for range 2 {
		org.RunJob("payments")
		org.AdvanceClock(time.Second)
	}
	gone := org.Appointment(id)
	require.Equal(t, "refunded", gone["deposit_status"])
	require.Equal(t, true, gone["needs_refund"], "60 are still owed")
	org.Exec(`update scheduling.sandbox_charges set status = 'refunded', refunded_cents = amount_cents where txid = $1`, rest["txid"])
	org.Exec(`insert into scheduling.provider_events (provider, event_id, charge_id, body, received_at, due_at) values ('sandbox', $1, $2, '', $3, $3)`,
		"refunded "+id, rest["provider_payment_id"], org.Hub.Clock.Now())
	org.RunJob("payments")
	require.Equal(t, false, org.Appointment(id)["needs_refund"])
}

// Money that no refund returns is marked, whatever its kind and method.
func TestCancellationMarksAllMoney(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"deposit_amount": 60})
	pay := func(id string, amount int, kind string) {
		org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": amount, "method": "cash", "kind": kind})
	}
	cancelled := func(after time.Duration, before func(id string)) object {
		id := bookForGuest(org, after)
		before(id)
		org.Transition(200, "cancel", id, object{})
		for range 2 {
			org.RunJob("payments")
			org.AdvanceClock(time.Second)
		}
		return org.Appointment(id)
	}
	require.Equal(t, true, cancelled(0, func(id string) { pay(id, 10, "deposit") })["needs_refund"], "a part of the deposit")
	mixed := cancelled(time.Hour, func(id string) {
		pay(id, 30, "deposit")
		org.PayCharge(org.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "kind": "deposit"})["txid"])
	})
	require.Equal(t, "refunded", mixed["deposit_status"], "what the provider collected")
	require.Equal(t, true, mixed["needs_refund"], "30 in cash")
	rest := cancelled(2*time.Hour, func(id string) {
		org.PayCharge(org.DepositTxID(id))
		org.PayCharge(org.OK(201, "POST", "/payments/pix", object{"appointment_id": id})["txid"])
	})
	require.Equal(t, "refunded", rest["deposit_status"])
	require.Equal(t, true, rest["needs_refund"], "the rest")

	fee := cancelled(2*time.Hour, func(string) {})
	pay(fee["id"].(string), 15, "full")
	require.Equal(t, false, org.Appointment(fee["id"].(string))["needs_refund"], "a fee for cancelling")

	org.OK(200, "PUT", "/organization/settings", object{"deposit_refund_notice_minutes": 5 * 24 * 60})
	forfeited := cancelled(0, func(id string) {
		org.PayCharge(org.DepositTxID(id))
		pay(id, 5, "other")
	})
	require.Equal(t, []any{"forfeited", false}, []any{forfeited["deposit_status"], forfeited["needs_refund"]})
	forfeited = cancelled(time.Hour, func(id string) {
		org.PayCharge(org.DepositTxID(id))
		pay(id, 20, "full")
	})
	require.Equal(t, []any{"forfeited", true}, []any{forfeited["deposit_status"], forfeited["needs_refund"]}, "only the deposit is")
}

// What was paid above the price is owed until the price allows it.
func TestPaidAboveThePriceNeedsRefund(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewPaidBookable(t)
	id := org.Book(0)
	org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 80, "method": "cash"})
	org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 5, "method": "cash", "kind": "other"})
	for _, test := range []struct {
		price int
		owed  bool
	}{{80, false}, {70, true}, {90, false}} {
		require.Equal(t, test.owed, org.OK(200, "PUT", "/appointments/"+id, object{"price": test.price})["needs_refund"], test.price)
		require.Equal(t, test.owed, org.Appointment(id)["needs_refund"])
	}
}

// A deposit without a deadline has none after a move either.
func TestDepositLeftToStaffSurvivesAMove(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"deposit_amount": 60})
	left := func(after time.Duration) string {
		id := bookForGuest(org, after)
		org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 50, "method": "cash"})
		return id
	}
	plain, charged := left(0), left(time.Hour)
	org.OK(201, "POST", "/payments/pix", object{"appointment_id": charged, "kind": "deposit"})
	unpaid := bookForGuest(org, 2*time.Hour)
	for id, after := range map[string]time.Duration{plain: 0, charged: time.Hour, unpaid: 2 * time.Hour} {
		org.OK(200, "PUT", "/appointments/"+id, object{"start_at": org.At(after + 7*24*time.Hour)})
	}
	org.AdvanceClock(schedulingtest.Monday.Add(4 * time.Hour).Sub(org.Hub.Clock.Now()))
	for range 2 {
		org.RunJob("payments")
		org.AdvanceClock(time.Second)
	}
	require.Equal(t, "scheduled", org.Appointment(plain)["status"])
	require.Equal(t, "scheduled", org.Appointment(charged)["status"])
	require.Equal(t, "cancelled", org.Appointment(unpaid)["status"], "its deposit had a deadline")
}

// A code for the deposit is for what is missing of it, and never above the rest.
func TestDepositCodeIsForTheRest(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"deposit_amount": 60})
	created := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	id := created["appointment_id"].(string)
	org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 50, "method": "cash"})
	code := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "kind": "deposit"})
	require.EqualValues(t, 10, code["amount"])
	shown := org.Guest().OK(200, "GET", org.PublicPath("/appointment?token="+created["cancel_token"].(string)), nil)["deposit"].(object)
	require.EqualValues(t, 10, shown["amount"], "what the code beside it is for")
	org.PayCharge(code["txid"])
	require.Equal(t, "paid", org.Appointment(id)["deposit_status"])
	require.Equal(t, false, org.Appointment(id)["needs_refund"])
	org.Refused(409, "already_paid", "POST", "/payments/pix", object{"appointment_id": id, "kind": "deposit"})
}
