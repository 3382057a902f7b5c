package accounts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// A client has all addresses of its IPv6 network: each new one would have ten guesses more.
func TestFailedLoginsCountByIPv6Network(t *testing.T) {
	t.Parallel()
	r := start(t)
	for n := range 10 {
		_, err := r.login(fmt.Sprintf("2001:db8:1:2::%x", n+1), r.ana.Email, "wrong horse")
		requireKind(t, hub.ErrUnauthorized, "invalid_credentials", err)
	}
	_, err := r.login("2001:db8:1:2:ffff::1", r.ana.Email, "wrong horse")
	requireKind(t, hub.ErrRateLimited, "too_many_logins", err)
	_, err = r.login("2001:db8:1:3::1", r.ana.Email, password)
	require.NoError(t, err, "another network")
}

// Guesses at ever new accounts count together, but not against accounts that logged in from
// the network before.
func TestFailedLoginsOfNetworkAreLimited(t *testing.T) {
	t.Parallel()
	r := start(t)
	_, err := r.login("10.0.0.1", r.ana.Email, password)
	require.NoError(t, err)
	guess := func(n int) error {
		_, err := r.login("10.0.0.1", fmt.Sprintf("user%d@example.com", n), "wrong horse")
		return err
	}
	for n := range 30 {
		requireKind(t, hub.ErrUnauthorized, "invalid_credentials", guess(n))
		r.hub.Clock.Advance(time.Second)
	}
	refused := guess(30)
	requireKind(t, hub.ErrRateLimited, "too_many_logins", refused)
	var limited *hub.Error
	require.ErrorAs(t, refused, &limited)
	require.Equal(t, 15*time.Minute-30*time.Second, limited.RetryAfter)
	require.Equal(t, 30, r.count(`select count(*) from login_failures`), "refused unchecked")
	_, err = r.login("10.0.0.1", r.ana.Email, password)
	require.NoError(t, err, "it logged in from there before")
	requireKind(t, hub.ErrRateLimited, "too_many_logins", guess(30))
	_, err = r.login("10.0.0.2", "user30@example.com", "wrong horse")
	requireKind(t, hub.ErrUnauthorized, "invalid_credentials", err)
	r.hub.Clock.Advance(15 * time.Minute)
	requireKind(t, hub.ErrUnauthorized, "invalid_credentials", guess(30))
}

// From where an account logged in is remembered for 90 days.
func TestEarlierLoginsAreForgotten(t *testing.T) {
	t.Parallel()
	r := start(t)
	_, err := r.login("2001:db8:1:2::1", r.ana.Email, password)
	require.NoError(t, err)
	r.hub.Clock.Advance(89 * 24 * time.Hour)
	r.runJob("expired-logins", nil)
	require.Equal(t, 1, r.count(`select count(*) from known_logins where ip = '2001:db8:1:2::/64'`))
	r.hub.Clock.Advance(2 * 24 * time.Hour)
	r.runJob("expired-logins", nil)
	require.Zero(t, r.count(`select count(*) from known_logins`))
}
