package scheduling_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module"
	"integrationhub/scheduling"
)

// gauge notes which limits are asked, and refuses one of them.
type gauge struct {
	mu      sync.Mutex
	asked   map[string]gauged
	refused string
}

// gauged is a limit as it was asked.
type gauged struct {
	most   int64
	period time.Duration
}

// Allow implements module.Limits.
func (g *gauge) Allow(_ context.Context, name, subject string, most int64, period time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if subject != "" {
		g.asked[name] = gauged{most, period}
	}
	if name == g.refused {
		err := hub.Errorf(hub.ErrLimited, "rate_limited", "Too many requests.")
		err.RetryAfter = period
		return err
	}
	return nil
}

// refuse begins anew, refusing one limit.
func (g *gauge) refuse(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked, g.refused = map[string]gauged{}, name
}

func (g *gauge) got(name string) gauged {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked[name]
}

// What the design allows where the operator sets nothing, and that each limit bites.
func TestDefaultsOfLimits(t *testing.T) {
	t.Parallel()
	g := &gauge{asked: map[string]gauged{}}
	p := another(t, moduletest.Start(t, lent{scheduling.New(), func(kit *module.Kit) { kit.Limits = g }}, moduletest.Options{Now: monday.Add(-72 * time.Hour)})).open()
	guest := p.guest()
	for _, c := range []struct {
		about, name  string
		want         gauged
		as           *studio
		method, path string
		body         any
		otherwise    int // status where it does not bite
	}{
		{"register", "sign-ups", gauged{100, time.Hour}, guest.studio, "POST", "/auth/register", object{"org_name": "O", "org_slug": "o-o-o", "name": "N", "email": "n@example.com", "password": password}, 201},
		{"users", "users", gauged{1200, time.Minute}, p.studio, "GET", "/organization", nil, 200},
		{"public reads", "public-reads", gauged{300, time.Minute}, guest.studio, "GET", p.public(""), nil, 200},
		{"public booking", "public-writes", gauged{120, time.Minute}, guest.studio, "POST", p.public("/appointments"), p.wish(0), 201},
		{"public cancel", "public-writes", gauged{120, time.Minute}, guest.studio, "POST", p.public("/cancel"), object{"cancel_token": "x"}, 404},
	} {
		g.refuse(c.name)
		got := c.as.call(c.method, c.path, c.body)
		require.Equal(t, 429, got.status, c.about)
		require.Equal(t, "rate_limited", got.body["code"], c.about)
		require.NotEmpty(t, got.header.Get("Retry-After"), c.about)
		require.Equal(t, c.want, g.got(c.name), c.about)
		g.refuse("")
		got = c.as.call(c.method, c.path, c.body)
		require.Equal(t, c.otherwise, got.status, "%s: %s", c.about, got.text)
	}
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

	forgot := func(n int) {
		for range n {
			guest.ok(200, "POST", "/auth/forgot-password", object{"email": s.email})
		}
		before := len(s.hub.Mails(other.email))
		guest.ok(200, "POST", "/auth/forgot-password", object{"email": other.email}) // comes after those
		require.Eventually(t, func() bool { return len(s.hub.Mails(other.email)) > before }, 30*time.Second, 20*time.Millisecond)
	}
	forgot(7)
	require.Len(t, s.hub.Mails(s.email), 5)
	s.hub.Clock.Advance(59 * time.Minute)
	forgot(1)
	require.Len(t, s.hub.Mails(s.email), 5)
	s.hub.Clock.Advance(time.Minute + time.Second)
	forgot(1)
	require.Len(t, s.hub.Mails(s.email), 6)
}
