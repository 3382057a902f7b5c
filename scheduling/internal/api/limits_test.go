package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module"
	"integrationhub/scheduling"
	"integrationhub/scheduling/internal/schedulingtest"
)

// What the design allows where the operator sets nothing; that each bites is
// TestLimitsCanBeSet's.
func TestDefaultsOfLimits(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, []module.RateLimit{
		{Name: "users", Max: 1200, Period: time.Minute},
		{Name: "logins", Max: 300, Period: time.Minute},
		{Name: "sign-ups", Max: 100, Period: time.Hour},
		{Name: "password-links", Max: 100, Period: time.Hour},
		{Name: "passwords", Max: 300, Period: time.Hour},
		{Name: "invitations", Max: 50, Period: time.Hour},
		{Name: "invited-addresses", Max: 5, Period: 24 * time.Hour},
		{Name: "public-reads", Max: 300, Period: time.Minute},
		{Name: "public-writes", Max: 120, Period: time.Minute},
		{Name: "holds", Max: 30, Period: time.Minute},
	}, scheduling.New().Spec().Limits)
}

// Ten failed logins in a quarter of an hour, of one address and e-mail; five letters an
// hour to one e-mail.
func TestLimitsOfAccounts(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganizationAlone(t)
	other := schedulingtest.RegisterOrganization(t, org.Hub)
	guest := org.As("")
	login := func(email, password string) int {
		return guest.Call("POST", "/auth/login", object{"email": email, "password": password}).Status
	}
	for range 9 {
		require.Equal(t, 401, login(org.Email, "wrong password"))
	}
	require.Equal(t, 200, login(org.Email, schedulingtest.Password), "the tenth may succeed")
	for range 10 {
		require.Equal(t, 401, login(org.Email, "wrong password"))
	}
	require.Equal(t, 429, login(org.Email, schedulingtest.Password))
	require.Equal(t, 200, login(other.Email, schedulingtest.Password), "nobody else is held up")
	org.Hub.Clock.Advance(15 * time.Minute)
	require.Equal(t, 200, login(org.Email, schedulingtest.Password))

	forgot := func() { guest.OK(200, "POST", "/auth/forgot-password", object{"email": org.Email}) }
	sent := func(email string, n int) {
		require.Eventually(t, func() bool { return len(org.Hub.Emails(email)) == n }, time.Minute, 20*time.Millisecond)
	}
	others := 0
	refused := func(n int) {
		forgot()
		others++
		guest.OK(200, "POST", "/auth/forgot-password", object{"email": other.Email}) // comes after that
		sent(other.Email, others)
		require.Len(t, org.Hub.Emails(org.Email), n)
	}
	for n := range 5 {
		forgot()
		sent(org.Email, n+1)
	}
	refused(5)
	org.Hub.Clock.Advance(59 * time.Minute)
	refused(5)
	org.Hub.Clock.Advance(time.Minute + time.Second)
	forgot()
	sent(org.Email, 6)
}
