package payment_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// A code that is paid while a new one replaces it as expired stays paid.
func TestExpiryKeepsASettledPayment(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewPaidBookable(t)
	id := org.Book(0)
	code := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "expires_in_minutes": 5})
	org.StopOwnRuns("payments")
	org.AdvanceClock(5 * time.Minute)
	settling, err := org.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = settling.Rollback(t.Context()) }()
	_, err = settling.Exec(t.Context(), `update scheduling.payments set status = 'paid', paid_at = $2 where id = $1`, code["id"], org.Hub.Clock.Now())
	require.NoError(t, err)
	renewed := make(chan answer, 1)
	go func() {
		got, _ := org.Try("POST", "/payments/pix", object{"appointment_id": id, "expires_in_minutes": 5})
		renewed <- got
	}()
	require.Eventually(t, func() bool {
		return org.Count("pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%update scheduling.payments%'") == 1
	}, time.Minute, 20*time.Millisecond)
	require.NoError(t, settling.Commit(t.Context()))
	got := <-renewed
	require.Equal(t, 201, got.Status, got.Text)
	require.Equal(t, 1, org.Count("scheduling.payments where id = $1 and status = 'paid' and paid_at is not null", code["id"]))
}

// notify has the sandbox's charge read.
func notify(org *schedulingtest.Bookable, txid, event string) {
	org.T.Helper()
	org.Exec(`insert into scheduling.provider_events (provider, event_id, charge_id, body, received_at, due_at) values ('sandbox', $1, 'sbx_' || $2, '', $3, $3)`,
		event+txid, txid, org.Hub.Clock.Now())
	org.RunJob("payments")
}

// refundedAtSandbox has a charge paid and refunded before it is read for the first time.
func refundedAtSandbox(org *schedulingtest.Bookable, txid string, cents int) {
	org.T.Helper()
	paidAtSandbox(org, txid)
	org.Exec(`update scheduling.sandbox_charges set refunded_cents = $2, status = case when amount_cents = $2 then 'refunded' else 'paid' end where txid = $1`, txid, cents)
}

// Money that went back before the hub heard of it neither confirms nor restores a booking.
func TestFirstReadAfterTheRefund(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	org.OK(200, "PUT", "/organization/settings", object{"auto_confirm": true})
	org.OK(200, "PUT", "/loyalty/config", object{"enabled": true})
	gone, txid := expired(org)
	open := bookForGuest(org, time.Hour)
	for id, txid := range map[string]string{gone: txid, open: org.DepositTxID(open)} {
		refundedAtSandbox(org, txid, 2000)
		notify(org, txid, "refunded ")
		got := org.Appointment(id)
		require.Equal(t, "refunded", got["payments"].([]any)[0].(object)["status"])
		require.Equal(t, "unpaid", got["payment_status"])
		require.Equal(t, false, got["needs_refund"])
		client := got["client_id"].(string)
		require.EqualValues(t, 0, org.OK(200, "GET", "/clients/"+client, nil)["total_spent"])
		require.EqualValues(t, 0, org.LoyaltyAccount(client)["balance"])
	}
	require.Equal(t, []any{"cancelled", "none"}, []any{org.Appointment(gone)["status"], org.Appointment(gone)["deposit_status"]})
	require.Equal(t, []any{"scheduled", "pending"}, []any{org.Appointment(open)["status"], org.Appointment(open)["deposit_status"]})
	require.Len(t, org.Appointment(open)["history"], 1)
}

// A deposit of which a part went back before the hub heard of it is not covered: it neither
// confirms nor restores a booking until the rest is paid.
func TestFirstReadAfterAPartOfTheRefund(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	org.OK(200, "PUT", "/organization/settings", object{"auto_confirm": true})
	gone, txid := expired(org)
	open := bookForGuest(org, time.Hour)
	for id, txid := range map[string]string{gone: txid, open: org.DepositTxID(open)} {
		refundedAtSandbox(org, txid, 500)
		notify(org, txid, "refunded ")
		require.Equal(t, 1, org.Count("scheduling.appointments where id = $1 and paid_cents = 1500", id))
	}
	got := org.Appointment(gone)
	require.Equal(t, []any{"cancelled", "none", true}, []any{got["status"], got["deposit_status"], got["needs_refund"]})
	got = org.Appointment(open)
	require.Equal(t, []any{"scheduled", "pending", false}, []any{got["status"], got["deposit_status"], got["needs_refund"]})
	org.OK(201, "POST", "/payments", object{"appointment_id": open, "amount": 5, "method": "cash"})
	got = org.Appointment(open)
	require.Equal(t, []any{"confirmed", "paid"}, []any{got["status"], got["deposit_status"]})
}

// Of a deposit that was refunded in part, the rest is refunded after a cancellation.
func TestRestOfARefundedDepositIsRefunded(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id := bookForGuest(org, 0)
	txid := org.DepositTxID(id)
	refundedAtSandbox(org, txid, 500)
	org.Transition(200, "cancel", id, object{})
	for range 2 {
		org.RunJob("payments")
		org.AdvanceClock(time.Second)
	}
	require.Equal(t, 1, org.Count("scheduling.refunds where org_id = $1 and amount_cents = 1500 and done_at is not null", org.ID))
	require.Equal(t, 1, org.Count("scheduling.sandbox_charges where txid = $1 and refunded_cents = 2000", txid))
	back := org.Appointment(id)
	require.Equal(t, []any{"refunded", false}, []any{back["deposit_status"], back["needs_refund"]})
}

// Money for something else pays neither the price nor the deposit.
func TestOtherMoneyIsBesideThePrice(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id := bookForGuest(org, 0)
	client := org.Appointment(id)["client_id"].(string)
	spent := func() any { return org.OK(200, "GET", "/clients/"+client, nil)["total_spent"] }
	org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 90, "method": "cash", "kind": "other"})
	got := org.Appointment(id)
	require.Equal(t, []any{"pending", "unpaid", false}, []any{got["deposit_status"], got["payment_status"], got["needs_refund"]})
	require.EqualValues(t, 90, spent())
	org.PayCharge(org.DepositTxID(id)) // its code is still good
	tip := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "kind": "other", "amount": 5})
	org.PayCharge(tip["txid"])
	require.EqualValues(t, 115, spent())
	org.Exec(`update scheduling.sandbox_charges set status = 'refunded', refunded_cents = amount_cents where txid = $1`, tip["txid"])
	notify(org, tip["txid"].(string), "refunded ")
	got = org.Appointment(id)
	require.Equal(t, []any{"paid", "partial", false}, []any{got["deposit_status"], got["payment_status"], got["needs_refund"]})
	require.EqualValues(t, 110, spent())
	require.EqualValues(t, 60, org.OK(201, "POST", "/payments/pix", object{"appointment_id": id})["amount"], "what is left of the price")
}

// A paid amount that is wrong, as an older process left it, heals at the next change of the
// money: whatever its kind.
func TestPaidAmountHeals(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id := bookForGuest(org, 0)
	wrong := func(cents int) {
		org.Exec(`update scheduling.appointments set paid_cents = $2 where id = $1`, id, cents)
	}
	require.Zero(t, org.Count("scheduling.appointments where id = $1 and paid_cents <> 0", id))
	paid := func(cents int) {
		t.Helper()
		require.Equal(t, 1, org.Count("scheduling.appointments where id = $1 and paid_cents = $2", id, cents))
	}
	wrong(-500)
	org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 5, "method": "cash", "kind": "other"})
	paid(0)
	wrong(-500)
	org.PayCharge(org.DepositTxID(id))
	paid(2000)
	require.Equal(t, "paid", org.Appointment(id)["deposit_status"])
	wrong(1500)
	org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 60, "method": "cash"})
	paid(8000)
	require.Equal(t, "paid", org.Appointment(id)["payment_status"])
	wrong(7000)
	txid := org.DepositTxID(id)
	refundedAtSandbox(org, txid, 500)
	notify(org, txid, "refunded ")
	paid(7500)
}
