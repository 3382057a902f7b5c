package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestLoyalty(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	config := org.OK(200, "GET", "/loyalty/config", nil)
	require.Equal(t, false, config["enabled"])
	require.EqualValues(t, 1, config["points_per_currency_unit"])
	require.Empty(t, config["rewards"])
	config = org.OK(200, "PUT", "/loyalty/config", object{
		"enabled": true, "program_name": "Club", "points_per_currency_unit": 0.5, "signup_bonus": 5, "points_expiration_days": 30,
		"rewards":     []object{{"name": "Ten off", "points": 30, "type": "fixed_discount", "value": 10}, {"name": "Big", "points": 500, "type": "free_service", "service_id": org.ServiceID}},
		"terminology": object{"one": "star", "other": "stars"},
	})
	require.InDelta(t, 0.5, config["points_per_currency_unit"], 1e-9)
	rewards := config["rewards"].([]any)
	require.Len(t, rewards, 2)
	for location, body := range map[string]object{
		"body.points_per_visit": {"points_per_visit": -1}, "body.rewards[0].points": {"rewards": []object{{"name": "x", "points": 0, "type": "free_service"}}},
		"body.points_expiration_days": {"points_expiration_days": 0}, "body.accrual_type": {"accrual_type": "hope"},
		"body.program_name": {"program_name": "Club\r\nBcc: x@example.com"}, "body.terminology.other": {"terminology": object{"one": "star", "other": "st\u202ears"}},
		"body.rewards[0].name": {"rewards": []object{{"name": " ", "points": 1, "type": "free_service"}}}, "body.rewards[1].name": {"rewards": []object{{"name": "x", "points": 1, "type": "free_service"}, {"name": "a\tb", "points": 1, "type": "free_service"}}},
	} {
		org.Invalid(location, "PUT", "/loyalty/config", body)
	}
	id := org.Book(0)
	org.Transition(200, "complete", id, nil)
	org.OK(201, "POST", "/payments", object{"appointment_id": id, "client_id": org.ClientID, "amount": 81, "method": "cash"})
	path := "/loyalty/clients/" + org.ClientID
	points := org.OK(200, "GET", path, nil)
	require.EqualValues(t, 40, points["balance"])
	require.EqualValues(t, 40, points["lifetime_earned"])
	require.Equal(t, "Big", points["next_reward"].(object)["name"])
	require.EqualValues(t, 460, points["points_to_next_reward"])
	require.EqualValues(t, 40, points["expiring_points"])
	require.Equal(t, "2026-03-30T00:00:00-03:00", points["expiring_at"])
	reward := rewards[0].(object)["id"]
	points = org.OK(200, "POST", path+"/redeem", object{"reward_id": reward})
	require.EqualValues(t, 10, points["balance"])
	require.EqualValues(t, 30, points["lifetime_redeemed"])
	org.Refused(409, "insufficient_points", "POST", path+"/redeem", object{"reward_id": reward})
	points = org.OK(200, "POST", path+"/adjust", object{"points": -10, "reason": "mistake"})
	require.EqualValues(t, 0, points["balance"])
	require.EqualValues(t, 3, points["history"].(object)["total"])
	require.EqualValues(t, 5, org.OK(201, "POST", "/clients", object{"name": "New"})["loyalty_points"])
	config = org.OK(200, "PUT", "/loyalty/config", object{"accrual_type": "visit", "points_per_visit": 7, "rewards": []any{rewards[0]}})
	require.Len(t, config["rewards"], 1)
	second := org.Book(time.Hour)
	for _, want := range []int{7, 0, 7} {
		action := "complete"
		if want == 0 {
			action = "reopen"
		}
		org.Transition(200, action, second, nil)
		require.EqualValues(t, want, org.OK(200, "GET", path, nil)["balance"])
	}
	org.OK(200, "POST", path+"/adjust", object{"points": -7, "reason": "spent"})
	for _, action := range []string{"reopen", "complete"} {
		org.Transition(200, action, second, nil)
		require.EqualValues(t, 0, org.OK(200, "GET", path, nil)["balance"], "one visit earns once: %s", action)
	}
}
