package jobs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestPointsRunOut(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	p.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "points_expiration_days": 10})
	pay := func(amount int) {
		p.OK(201, "POST", "/payments", object{"client_id": p.ClientID, "amount": amount, "method": "cash"})
	}
	pay(100)
	p.AdvanceClock(5 * 24 * time.Hour)
	pay(30)
	p.RunJob("loyalty")
	require.EqualValues(t, 130, p.LoyaltyAccount(p.ClientID)["balance"])
	p.AdvanceClock(6 * 24 * time.Hour) // the eleventh day after the first
	for range 2 {
		p.RunJob("loyalty")
		points := p.LoyaltyAccount(p.ClientID)
		require.EqualValues(t, 30, points["balance"])
		last := points["history"].(object)["items"].([]any)[0].(object)
		require.Equal(t, "expire", last["type"])
		require.EqualValues(t, -100, last["points"])
	}
	p.AdvanceClock(5 * 24 * time.Hour)
	p.RunJob("loyalty")
	require.EqualValues(t, 0, p.LoyaltyAccount(p.ClientID)["balance"])
}

func TestBirthdays(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	p.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "birthday_bonus": 50})
	born := func(name, date string) string {
		return p.OK(201, "POST", "/clients", object{"name": name, "birth_date": date})["id"].(string)
	}
	today, leap, other := born("Ivo", "1990-02-28"), born("Lia", "1992-02-29"), born("Rui", "1990-03-01")
	p.RunJob("loyalty")
	require.EqualValues(t, 0, p.LoyaltyAccount(today)["balance"], "the 27th")
	p.AdvanceClock(15 * time.Hour) // midnight in São Paulo
	for range 3 {
		p.RunJob("loyalty")
	}
	require.EqualValues(t, 50, p.LoyaltyAccount(today)["balance"])
	require.EqualValues(t, 50, p.LoyaltyAccount(leap)["balance"], "there is no 29th this year")
	require.EqualValues(t, 0, p.LoyaltyAccount(other)["balance"])
	p.AdvanceClock(365 * 24 * time.Hour)
	p.RunJob("loyalty")
	require.EqualValues(t, 100, p.LoyaltyAccount(today)["balance"], "once a year")
}
