package auth_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/auth"
	"integrationhub/hub/module"
)

const password = "the right password"

// loginService returns a service with a clock and one operator.
func loginService(t *testing.T) (*auth.Service, *hubtest.Clock) {
	t.Helper()
	clock := hubtest.NewClock(time.Now().Truncate(time.Second))
	s := auth.NewService(hubtest.Database(t), auth.Config{
		SigningKey: bytes.Repeat([]byte{1}, 32), AccessTTL: time.Hour, RefreshTTL: time.Hour, Now: clock.Now, HashMemory: hubtest.PasswordHashMemory,
	})
	_, _, err := s.EnsureFirstOperator(t.Context(), "", password)
	require.NoError(t, err)
	return s, clock
}

func requireLimited(t *testing.T, wait time.Duration, err error) {
	t.Helper()
	var problem *hub.Error
	require.ErrorAs(t, err, &problem)
	require.Equal(t, "too_many_logins", problem.Code)
	require.Equal(t, wait, problem.RetryAfter)
}

// Random accounts from one address are cut after thirty, whatever the account; an account
// that logged in from there before is not.
func TestWrongLoginsOfAnAddressAreLimited(t *testing.T) {
	t.Parallel()
	s, clock := loginService(t)
	try := func(email, password, ip string) error {
		_, err := s.Login(t.Context(), email, password, ip)
		return err
	}
	for _, addresses := range []struct{ flood, same, other string }{
		{"203.0.113.1", "203.0.113.1", "203.0.113.2"},
		{"2001:db8::1", "2001:db8::2:3", "2001:db8:0:1::1"}, // one client has a whole network of 64 bits
	} {
		for i := range 30 {
			require.ErrorIs(t, try(fmt.Sprintf("random%d@example.com", i), "wrong", addresses.flood), hub.ErrUnauthorized)
			if i == 9 {
				clock.Advance(time.Minute)
			}
		}
		requireLimited(t, 14*time.Minute, try("random@example.com", "wrong", addresses.same))
		requireLimited(t, 14*time.Minute, try(auth.DefaultEmail, password, addresses.same))
		require.NoError(t, try(auth.DefaultEmail, password, addresses.other))
		clock.Advance(14 * time.Minute)
		require.NoError(t, try(auth.DefaultEmail, password, addresses.same), "the first ten are forgotten")
		for i := range 10 {
			require.ErrorIs(t, try(fmt.Sprintf("again%d@example.com", i), "wrong", addresses.flood), hub.ErrUnauthorized)
		}
		require.ErrorIs(t, try("random@example.com", "wrong", addresses.same), hub.ErrRateLimited)
		require.NoError(t, try(auth.DefaultEmail, password, addresses.same), "it is known here")
	}
	// Also a known account has its own limit.
	for range 10 {
		require.ErrorIs(t, try(auth.DefaultEmail, "wrong", "203.0.113.1"), hub.ErrUnauthorized)
	}
	requireLimited(t, 15*time.Minute, try(auth.DefaultEmail, password, "203.0.113.1"))
}

// flood keeps strangers at 50 addresses logging in until stop is called, with enough of them
// waiting. finished counts the passwords that were checked.
func flood(t *testing.T, login func(i int) error, waiting func() int) (finished *atomic.Int64, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	finished = &atomic.Int64{}
	var strangers sync.WaitGroup
	for i := range 400 {
		strangers.Go(func() {
			for n := i; ctx.Err() == nil; n += 400 {
				_ = login(n)
				finished.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { return waiting() > 300 }, time.Minute, time.Millisecond)
	return finished, func() { cancel(); strangers.Wait() }
}

// Many strangers wait for themselves: an account that logged in from its address before
// waits for the one password that is being checked, and a refresh for nothing.
func TestStrangersDoNotDelayKnownLogins(t *testing.T) {
	t.Parallel()
	s, _ := loginService(t)
	const home = "203.0.113.1"
	session, err := s.Login(t.Context(), auth.DefaultEmail, password, home)
	require.NoError(t, err)
	products := s.NewAccounts("shop", bytes.Repeat([]byte{2}, 32), time.Hour, time.Now)
	stored, err := products.HashPassword(t.Context(), password)
	require.NoError(t, err)
	customer := module.WithClientIP(t.Context(), home)
	matches, err := products.CheckPassword(customer, stored, password)
	require.NoError(t, err)
	require.True(t, matches)

	finished, stop := flood(t, func(n int) error {
		_, err := s.Login(t.Context(), fmt.Sprintf("random%d@example.com", n), "wrong", fmt.Sprintf("198.51.%d.%d", n/200%100, n%200))
		return err
	}, s.WaitingLogins)
	defer stop()
	const rounds = 5
	before := finished.Load()
	for range rounds {
		_, err := s.Login(t.Context(), auth.DefaultEmail, password, home)
		require.NoError(t, err)
	}
	require.Less(t, finished.Load()-before, int64(rounds*200), "its turn comes before that of 300 strangers")
	before = finished.Load()
	for range rounds {
		matches, err := products.CheckPassword(customer, stored, password)
		require.NoError(t, err)
		require.True(t, matches, "users of products are known too")
	}
	require.Less(t, finished.Load()-before, int64(rounds*200))
	before = finished.Load()
	for range rounds {
		session, err = s.Refresh(t.Context(), session.RefreshToken)
		require.NoError(t, err)
	}
	require.Less(t, finished.Load()-before, int64(rounds*200))
}
