package jobs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestPointsExpireByJob(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "points_expiration_days": 10})
	pay := func(amount int) {
		org.OK(201, "POST", "/payments", object{"client_id": org.ClientID, "amount": amount, "method": "cash"})
	}
	pay(100)
	org.AdvanceClock(5 * 24 * time.Hour)
	pay(30)
	org.RunJob("loyalty")
	require.EqualValues(t, 130, org.LoyaltyAccount(org.ClientID)["balance"])
	org.AdvanceClock(6 * 24 * time.Hour) // the eleventh day after the first
	for range 2 {
		org.RunJob("loyalty")
		points := org.LoyaltyAccount(org.ClientID)
		require.EqualValues(t, 30, points["balance"])
		last := points["history"].(object)["items"].([]any)[0].(object)
		require.Equal(t, "expire", last["type"])
		require.EqualValues(t, -100, last["points"])
	}
	org.AdvanceClock(5 * 24 * time.Hour)
	org.RunJob("loyalty")
	require.EqualValues(t, 0, org.LoyaltyAccount(org.ClientID)["balance"])
}

func TestBirthdays(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "birthday_bonus": 50})
	born := func(name, date string) string {
		return org.OK(201, "POST", "/clients", object{"name": name, "birth_date": date})["id"].(string)
	}
	today, leap, other := born("Ivo", "1990-02-28"), born("Lia", "1992-02-29"), born("Rui", "1990-03-01")
	org.RunJob("loyalty")
	require.EqualValues(t, 0, org.LoyaltyAccount(today)["balance"], "the 27th")
	org.AdvanceClock(15 * time.Hour) // midnight in São Paulo
	for range 3 {
		org.RunJob("loyalty")
	}
	require.EqualValues(t, 50, org.LoyaltyAccount(today)["balance"])
	require.EqualValues(t, 50, org.LoyaltyAccount(leap)["balance"], "there is no 29th this year")
	require.EqualValues(t, 0, org.LoyaltyAccount(other)["balance"])
	org.AdvanceClock(365 * 24 * time.Hour)
	org.RunJob("loyalty")
	require.EqualValues(t, 100, org.LoyaltyAccount(today)["balance"], "once a year")
}
