package payment_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/scheduling/internal/schedulingtest"
)

// cashDeposit books with a deposit of 20 that is paid in cash, cancels the appointment and returns
// it with the payment.
func cashDeposit(org *schedulingtest.Bookable, after time.Duration) (id, payment string) {
	org.T.Helper()
	id = bookForGuest(org, after)
	payment = org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 20, "method": "cash", "kind": "deposit"})["id"].(string)
	org.Transition(200, "cancel", id, object{})
	require.Equal(org.T, []any{"paid", true}, []any{org.Appointment(id)["deposit_status"], org.Appointment(id)["needs_refund"]})
	return id, payment
}

// Staff say that they gave money back; then nothing is owed any more.
func TestRefundByHand(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id, payment := cashDeposit(org, 0)
	path := "/payments/" + payment + "/refund"
	part := org.OK(200, "POST", path, object{"amount": 5}, "Idempotency-Key", "part")
	require.Equal(t, []any{5.0, "paid"}, []any{part["refunded_amount"], part["status"]})
	require.Equal(t, part, org.OK(200, "POST", path, object{"amount": 5}, "Idempotency-Key", "part"), "it counts once")
	org.Refused(409, "idempotency_key_reused", "POST", path, object{"amount": 6}, "Idempotency-Key", "part")
	require.Equal(t, []any{"paid", true}, []any{org.Appointment(id)["deposit_status"], org.Appointment(id)["needs_refund"]}, "15 are owed")
	org.Refused(409, "refund_exceeds_payment", "POST", path, object{"amount": 15.01})
	org.Invalid("body.amount", "POST", path, object{"amount": 0})
	whole := org.OK(200, "POST", path, object{})
	require.Equal(t, []any{20.0, "refunded"}, []any{whole["refunded_amount"], whole["status"]}, "what is left")
	back := org.Appointment(id)
	require.Equal(t, []any{"refunded", false, "unpaid"}, []any{back["deposit_status"], back["needs_refund"], back["payment_status"]})
	org.Refused(409, "nothing_to_refund", "POST", path, object{})
	require.EqualValues(t, 20, org.OK(200, "GET", "/payments", nil)["total_refunded"])
	require.EqualValues(t, 0, org.OK(200, "GET", "/clients/"+back["client_id"].(string), nil)["total_spent"])
	require.NotZero(t, org.Count("hub.audit where action = 'payments.refund' and resource_id = $1 and status = 200", payment))

	org.Refused(404, "not_found", "POST", "/payments/"+id+"/refund", object{})
	other := schedulingtest.RegisterOrganization(t, org.Hub)
	other.Refused(404, "not_found", "POST", path, object{})
}

// Money that no deposit was for is refunded by hand too, and what covers a deposit.
func TestRefundByHandOfOtherMoney(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id := bookForGuest(org, 0)
	first := org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 15, "method": "cash"})["id"].(string)
	second := org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 5, "method": "cash"})["id"].(string)
	org.Transition(200, "cancel", id, object{})
	org.OK(200, "POST", "/payments/"+first+"/refund", object{})
	require.Equal(t, []any{"paid", true}, []any{org.Appointment(id)["deposit_status"], org.Appointment(id)["needs_refund"]})
	org.OK(200, "POST", "/payments/"+second+"/refund", object{})
	require.Equal(t, []any{"refunded", false}, []any{org.Appointment(id)["deposit_status"], org.Appointment(id)["needs_refund"]})

	alone := org.OK(201, "POST", "/payments", object{"client_id": org.ClientID, "amount": 30, "method": "cash"})["id"].(string)
	require.EqualValues(t, 30, org.OK(200, "POST", "/payments/"+alone+"/refund", object{})["refunded_amount"])
}

// What the provider is refunding is not refunded by hand too. After it failed it is, and what the
// provider says later changes nothing.
func TestRefundByHandOfACharge(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	id := bookForGuest(org, 0)
	charge := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id}) // for the price: cancelling refunds deposits only
	path := "/payments/" + charge["id"].(string) + "/refund"
	org.Refused(409, "nothing_to_refund", "POST", path, object{})
	org.PayCharge(charge["txid"])
	org.Transition(200, "cancel", id, object{})
	require.Equal(t, []any{"paid", true}, []any{org.Appointment(id)["deposit_status"], org.Appointment(id)["needs_refund"]})
	org.Exec(`insert into scheduling.refunds (org_id, id, payment_id, amount_cents, due_at) values ($1, $2, $2, 8000, now() + interval '10 years')`, org.ID, charge["id"])
	org.Refused(409, "refund_under_way", "POST", path, object{})
	org.Exec(`update scheduling.refunds set failed_at = $2 where payment_id = $1`, charge["id"], org.Hub.Clock.Now())
	org.OK(200, "POST", path, object{"amount": 50})
	require.Equal(t, true, org.Appointment(id)["needs_refund"])
	org.OK(200, "POST", path, object{"amount": 30})
	require.Equal(t, []any{"refunded", false}, []any{org.Appointment(id)["deposit_status"], org.Appointment(id)["needs_refund"]})
	org.Exec(`insert into scheduling.provider_events (provider, event_id, charge_id, body, received_at, due_at) values ('sandbox', $1, $2, '', $3, $3)`,
		"again "+id, charge["provider_payment_id"], org.Hub.Clock.Now())
	org.RunJob("payments")
	require.Equal(t, []any{"refunded", false}, []any{org.Appointment(id)["deposit_status"], org.Appointment(id)["needs_refund"]})
	require.EqualValues(t, 80, org.OK(200, "GET", "/payments", nil)["total_refunded"])
}

// One hand and many clicks refund the rest once.
func TestRefundByHandAtOnce(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	_, payment := cashDeposit(org, 0)
	require.Equal(t, map[int]int{200: 1, 409: 7}, moduletest.SendTogether(8, func() moduletest.Response { return org.Call("POST", "/payments/"+payment+"/refund", object{}) }))
}
