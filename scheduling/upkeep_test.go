package scheduling_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPointsRunOut(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
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
	p := NewBookable(t)
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

func TestWhatNobodyNeedsIsForgotten(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	p.OK(201, "POST", "/appointments", p.AppointmentBody(0), "Idempotency-Key", "k")
	p.Guest().OK(200, "POST", "/auth/forgot-password", object{"email": p.Email})
	p.ResetToken(p.Email)
	p.Guest().Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": p.Email, "password": "wrong wrong"})
	p.OK(200, "PUT", "/organization", object{"slug": p.Slug + "-new"})
	p.Guest().OK(201, "POST", "/public/book/"+p.Slug+"/hold", object{"service_id": p.ServiceID, "start_at": p.At(time.Hour)})
	p.BookingBodyWithProof(p.BookingBody(2 * time.Hour))
	tables := []string{"refresh_tokens", "mailed_tokens", "login_failures", "idempotency", "old_slugs", "holds", "spent_proofs"}
	p.RunJob("cleanup")
	p.RunJob("expired-logins")
	for _, table := range tables {
		require.Positive(t, p.Count("scheduling."+table), table)
	}
	p.Hub.Clock.Advance(100 * 24 * time.Hour)
	p.RunJob("cleanup")
	p.RunJob("expired-logins")
	for _, table := range tables {
		require.Zero(t, p.Count("scheduling."+table), table)
	}
	p.AdvanceClock(0)
	p.OK(201, "POST", "/appointments", p.AppointmentBody(200*24*time.Hour))
}
