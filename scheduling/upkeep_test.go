package scheduling_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPointsRunOut(t *testing.T) {
	t.Parallel()
	p := opened(t)
	p.ok(200, "PUT", "/loyalty/config", object{"enabled": true, "points_expiration_days": 10})
	pay := func(amount int) {
		p.ok(201, "POST", "/payments", object{"client_id": p.client, "amount": amount, "method": "cash"})
	}
	pay(100)
	p.later(5 * 24 * time.Hour)
	pay(30)
	p.work("loyalty")
	require.EqualValues(t, 130, p.points(p.client)["balance"])
	p.later(6 * 24 * time.Hour) // the eleventh day after the first
	for range 2 {
		p.work("loyalty")
		points := p.points(p.client)
		require.EqualValues(t, 30, points["balance"])
		last := points["history"].(object)["items"].([]any)[0].(object)
		require.Equal(t, "expire", last["type"])
		require.EqualValues(t, -100, last["points"])
	}
	p.later(5 * 24 * time.Hour)
	p.work("loyalty")
	require.EqualValues(t, 0, p.points(p.client)["balance"])
}

func TestBirthdays(t *testing.T) {
	t.Parallel()
	p := opened(t)
	p.ok(200, "PUT", "/loyalty/config", object{"enabled": true, "birthday_bonus": 50})
	born := func(name, date string) string {
		return p.ok(201, "POST", "/clients", object{"name": name, "birth_date": date})["id"].(string)
	}
	today, leap, other := born("Ivo", "1990-02-28"), born("Lia", "1992-02-29"), born("Rui", "1990-03-01")
	p.work("loyalty")
	require.EqualValues(t, 0, p.points(today)["balance"], "the 27th")
	p.later(15 * time.Hour) // midnight in São Paulo
	for range 3 {
		p.work("loyalty")
	}
	require.EqualValues(t, 50, p.points(today)["balance"])
	require.EqualValues(t, 50, p.points(leap)["balance"], "there is no 29th this year")
	require.EqualValues(t, 0, p.points(other)["balance"])
	p.later(365 * 24 * time.Hour)
	p.work("loyalty")
	require.EqualValues(t, 100, p.points(today)["balance"], "once a year")
}

func TestWhatNobodyNeedsIsForgotten(t *testing.T) {
	t.Parallel()
	p := opened(t)
	p.ok(201, "POST", "/appointments", p.draft(0), "Idempotency-Key", "k")
	p.guest().ok(200, "POST", "/auth/forgot-password", object{"email": p.email})
	p.mailed(p.email)
	p.guest().refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": p.email, "password": "wrong wrong"})
	p.ok(200, "PUT", "/organization", object{"slug": p.slug + "-new"})
	p.guest().ok(201, "POST", "/public/book/"+p.slug+"/hold", object{"service_id": p.service, "start_at": p.at(time.Hour)})
	p.proven(p.wish(2 * time.Hour))
	tables := []string{"refresh_tokens", "mailed_tokens", "login_failures", "idempotency", "old_slugs", "holds", "spent_proofs"}
	p.work("cleanup")
	p.work("expired-logins")
	for _, table := range tables {
		require.Positive(t, p.count("scheduling."+table), table)
	}
	p.hub.Clock.Advance(100 * 24 * time.Hour)
	p.work("cleanup")
	p.work("expired-logins")
	for _, table := range tables {
		require.Zero(t, p.count("scheduling."+table), table)
	}
	p.later(0)
	p.ok(201, "POST", "/appointments", p.draft(200*24*time.Hour))
}
