package scheduling_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module"
	"integrationhub/scheduling"
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
		{Name: "public-reads", Max: 300, Period: time.Minute},
		{Name: "public-writes", Max: 120, Period: time.Minute},
		{Name: "holds", Max: 30, Period: time.Minute},
	}, scheduling.New().Spec().Limits)
}

// Ten failed logins in a quarter of an hour, of one address and e-mail; five letters an
// hour to one e-mail.
func TestLimitsOfAccounts(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	other := another(t, s.hub)
	guest := s.as("")
	login := func(email, password string) int {
		return guest.call("POST", "/auth/login", object{"email": email, "password": password}).status
	}
	for range 9 {
		require.Equal(t, 401, login(s.email, "wrong password"))
	}
	require.Equal(t, 200, login(s.email, password), "the tenth may succeed")
	for range 10 {
		require.Equal(t, 401, login(s.email, "wrong password"))
	}
	require.Equal(t, 429, login(s.email, password))
	require.Equal(t, 200, login(other.email, password), "nobody else is held up")
	s.hub.Clock.Advance(15 * time.Minute)
	require.Equal(t, 200, login(s.email, password))

	forgot := func() { guest.ok(200, "POST", "/auth/forgot-password", object{"email": s.email}) }
	sent := func(email string, n int) {
		require.Eventually(t, func() bool { return len(s.hub.Emails(email)) == n }, 30*time.Second, 20*time.Millisecond)
	}
	others := 0
	refused := func(n int) {
		forgot()
		others++
		guest.ok(200, "POST", "/auth/forgot-password", object{"email": other.email}) // comes after that
		sent(other.email, others)
		require.Len(t, s.hub.Emails(s.email), n)
	}
	for n := range 5 {
		forgot()
		sent(s.email, n+1)
	}
	refused(5)
	s.hub.Clock.Advance(59 * time.Minute)
	refused(5)
	s.hub.Clock.Advance(time.Minute + time.Second)
	forgot()
	sent(s.email, 6)
}
