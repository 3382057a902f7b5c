package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/scheduling/internal/schedulingtest"
)

// club is a studio with a loyalty program whose client has points.
func club(t testing.TB, points int, rewards ...object) (org *schedulingtest.Bookable, ids []string) {
	t.Helper()
	org = schedulingtest.NewPaidBookable(t)
	created := org.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "rewards": rewards})
	for _, reward := range created["rewards"].([]any) {
		ids = append(ids, reward.(object)["id"].(string))
	}
	org.OK(200, "POST", "/loyalty/clients/"+org.ClientID+"/adjust", object{"points": points, "reason": "welcome"})
	return org, ids
}

func TestDuplicateRedemptionCountsOnce(t *testing.T) {
	t.Parallel()
	org, reward := club(t, 100, object{"name": "Ten off", "points": 10, "type": "fixed_discount", "value": 10})
	path := "/loyalty/clients/" + org.ClientID
	redeem := func(key string) func() answer {
		return func() answer {
			got, _ := org.Try("POST", path+"/redeem", object{"reward_id": reward[0]}, "Idempotency-Key", key)
			return got
		}
	}
	require.Equal(t, map[int]int{200: 10}, moduletest.SendTogether(10, redeem("one")))
	require.EqualValues(t, 90, org.LoyaltyAccount(org.ClientID)["balance"])
	require.Equal(t, 200, redeem("two")().Status)
	require.EqualValues(t, 80, org.LoyaltyAccount(org.ClientID)["balance"], "another request")
	id := org.Book(0)
	org.Refused(409, "idempotency_key_reused", "POST", path+"/redeem", object{"reward_id": reward[0], "appointment_id": id}, "Idempotency-Key", "one")
	require.Equal(t, map[int]int{200: 10}, moduletest.SendTogether(10, func() answer {
		got, _ := org.Try("POST", path+"/redeem", object{"reward_id": reward[0], "appointment_id": id})
		return got
	}), "an appointment has a reward once, without a key too")
	require.EqualValues(t, 70, org.LoyaltyAccount(org.ClientID)["balance"])
	require.EqualValues(t, 70, org.Appointment(id)["price"])

	for range 2 {
		org.OK(200, "POST", path+"/adjust", object{"points": 5, "reason": "sorry"}, "Idempotency-Key", "a")
		org.OK(201, "POST", "/payments", object{"client_id": org.ClientID, "amount": 7, "method": "cash"}, "Idempotency-Key", "p")
	}
	require.EqualValues(t, 7, org.TotalSpent(), "nor is money taken in twice")
	require.EqualValues(t, 70+5+7, org.LoyaltyAccount(org.ClientID)["balance"])
	org.Refused(409, "idempotency_key_reused", "POST", "/payments", object{"client_id": org.ClientID, "amount": 8, "method": "cash"}, "Idempotency-Key", "p")

	org.OK(200, "PUT", "/loyalty/config", object{"enabled": false})
	org.Refused(409, "loyalty_disabled", "POST", path+"/redeem", object{"reward_id": reward[0]})
	require.EqualValues(t, 82, org.LoyaltyAccount(org.ClientID)["balance"])
}

func TestRewardsReduceThePrice(t *testing.T) {
	t.Parallel()
	org, rewards := club(t, 1000,
		object{"name": "Ten off", "points": 10, "type": "fixed_discount", "value": 10}, object{"name": "An eighth", "points": 10, "type": "percent_discount", "value": 12.5},
		object{"name": "Free", "points": 100, "type": "free_service"})
	fixed, percent, free := rewards[0], rewards[1], rewards[2]
	redeem := "/loyalty/clients/" + org.ClientID + "/redeem"
	on := func(reward, appointment string) object {
		return object{"reward_id": reward, "appointment_id": appointment}
	}

	id := org.Book(0)
	version := org.Appointment(id)["version"].(float64)
	charge := org.OK(201, "POST", "/payments/pix", object{"appointment_id": id})
	org.OK(200, "POST", redeem, on(fixed, id))
	got := org.Appointment(id)
	require.EqualValues(t, 70, got["price"])
	require.Greater(t, got["version"], version)
	entry := org.LoyaltyAccount(org.ClientID)["history"].(object)["items"].([]any)[0].(object)
	require.Equal(t, []any{"redeem", -10.0, id, fixed, "Ten off"}, []any{entry["type"], entry["points"], entry["appointment_id"], entry["reward_id"], entry["description"]})
	org.RunJob("payments")
	org.Guest().Refused(409, "charge_state", "POST", "/dev/payments/"+charge["txid"].(string)+"/pay", nil)
	require.EqualValues(t, 70, org.OK(201, "POST", "/payments/pix", object{"appointment_id": id})["amount"])
	org.OK(200, "POST", redeem, on(percent, id))
	require.InDelta(t, 61.25, org.Appointment(id)["price"], 1e-9, "of what it costs now")
	org.Transition(200, "complete", id, nil)
	org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 50, "method": "cash"})
	org.OK(200, "POST", redeem, on(free, id))
	require.EqualValues(t, 50, org.Appointment(id)["price"], "what was paid stays paid")
	require.Equal(t, "paid", org.Appointment(id)["payment_status"])

	before := org.LoyaltyAccount(org.ClientID)["balance"]
	refused := func(status int, code string, body object) {
		org.Refused(status, code, "POST", redeem, body)
		require.Equal(t, before, org.LoyaltyAccount(org.ClientID)["balance"])
	}
	wash := org.OK(201, "POST", "/services", object{"name": "Wash", "duration_minutes": 30})["id"].(string)
	config := org.OK(200, "PUT", "/loyalty/config", object{"rewards": []object{
		{"id": fixed, "name": "Ten off", "points": 10, "type": "fixed_discount", "value": 10}, {"name": "A wash", "points": 10, "type": "free_service", "service_id": wash}}})
	paid := org.Book(3600e9)
	org.OK(201, "POST", "/payments", object{"appointment_id": paid, "amount": 80, "method": "cash"})
	before = org.LoyaltyAccount(org.ClientID)["balance"]
	refused(409, "already_paid", on(fixed, paid))
	gone := org.Book(2 * 3600e9)
	refused(422, "validation_failed", on(config["rewards"].([]any)[1].(object)["id"].(string), gone))
	org.Transition(200, "cancel", gone, nil)
	refused(409, "appointment_over", on(fixed, gone))
	refused(404, "not_found", on(free, gone))
}

// A deposit that is due stays due: a reward takes off what is beyond it.
func TestRewardKeepsThePendingDeposit(t *testing.T) {
	t.Parallel()
	org, reward := club(t, 10, object{"name": "Free", "points": 10, "type": "free_service"})
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"requires_deposit": true, "deposit_amount": 20})
	id := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))["appointment_id"].(string)
	client := org.Appointment(id)["client_id"].(string)
	if client != org.ClientID {
		org.OK(200, "POST", "/loyalty/clients/"+client+"/adjust", object{"points": 10, "reason": "welcome"})
	}
	org.OK(200, "POST", "/loyalty/clients/"+client+"/redeem", object{"reward_id": reward[0], "appointment_id": id})
	require.EqualValues(t, 20, org.Appointment(id)["price"])
	org.PayCharge(org.DepositTxID(id))
	require.Equal(t, "paid", org.Appointment(id)["payment_status"])
	require.Equal(t, "paid", org.Appointment(id)["deposit_status"])
}

// Half a yen does not exist.
func TestRewardInACurrencyWithoutDecimals(t *testing.T) {
	t.Parallel()
	org, reward := club(t, 10, object{"name": "An eighth", "points": 10, "type": "percent_discount", "value": 12.5})
	org.OK(200, "PUT", "/organization", object{"currency": "JPY"})
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"price": 1001})
	id := org.Book(0)
	org.OK(200, "POST", "/loyalty/clients/"+org.ClientID+"/redeem", object{"reward_id": reward[0], "appointment_id": id})
	require.EqualValues(t, 1001-125, org.Appointment(id)["price"])
}
