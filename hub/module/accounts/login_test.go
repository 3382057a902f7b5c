package accounts_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module/accounts"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	r := start(t)
	session, err := r.login("10.0.0.1", "ANA@example.com", password)
	require.NoError(t, err)
	require.Equal(t, "bearer", session.TokenType)
	require.Equal(t, 1800, session.ExpiresIn)
	require.Regexp(t, `^clur_[A-Za-z0-9_-]{43}$`, session.RefreshToken)
	user, _, ok := r.host.Credentials.VerifyAccessToken(session.AccessToken)
	require.True(t, ok)
	require.Equal(t, r.ana.ID, user)
	for email, word := range map[string]string{"ana@example.com": "wrong horse", "nobody@example.com": password, r.other.Email: password} {
		_, err := r.login("10.0.0.1", email, word)
		requireKind(t, hub.ErrUnauthorized, "invalid_credentials", err)
	}
}

// How long a refusal takes does not show whether an address has an account: each does
// the work of comparing a password, which is measured by the memory that this takes.
func TestFailedLoginsDoTheSameWork(t *testing.T) { //nolint:paralleltest // it measures the process's memory
	r := startWith(t, moduletest.Options{Start: noon, RealPasswordHashes: true})
	work := func(email, word string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := r.login("10.0.0.1", email, word)
		runtime.ReadMemStats(&after)
		requireKind(t, hub.ErrUnauthorized, "invalid_credentials", err)
		return after.TotalAlloc - before.TotalAlloc
	}
	const most = 16 << 20 // bytes; argon2id takes 19 MiB
	require.Greater(t, work(r.ana.Email, "wrong horse"), uint64(most))
	require.Greater(t, work("nobody@example.com", password), uint64(most), "an address that nobody has")
	require.Greater(t, work(r.other.Email, password), uint64(most), "somebody who may not log in")
}

// "10 bad logins in 15 minutes per account and address → 429", also when they come at
// once: sixty-four guesses are ten.
func TestConcurrentGuessesAreLimited(t *testing.T) {
	t.Parallel()
	r := start(t)
	// More processes of the hub: each has a queue of its own.
	authenticators := []*accounts.Authenticator{r.auth}
	for range 15 {
		elsewhere := &club{}
		_, err := elsewhere.Open(t.Context(), r.host)
		require.NoError(t, err)
		t.Cleanup(elsewhere.db.Close)
		authenticators = append(authenticators, elsewhere.auth)
	}
	var wrong, limited, odd atomic.Int64
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			_, err := authenticators[i%len(authenticators)].Login(r.from("10.0.0.1"), r.ana.Email, "wrong horse")
			switch {
			case is(err, hub.ErrUnauthorized):
				wrong.Add(1)
			case is(err, hub.ErrRateLimited):
				limited.Add(1)
			default:
				odd.Add(1)
			}
		})
	}
	all.Wait()
	require.Equal(t, [3]int64{10, 54, 0}, [3]int64{wrong.Load(), limited.Load(), odd.Load()})
	_, err := r.login("10.0.0.1", r.ana.Email, password)
	requireKind(t, hub.ErrRateLimited, "too_many_logins", err)
	_, err = r.login("10.0.0.2", r.ana.Email, password)
	require.NoError(t, err, "from elsewhere")
	_, err = r.login("10.0.0.1", r.other.Email, password)
	requireKind(t, hub.ErrUnauthorized, "invalid_credentials", err)
	r.hub.Clock.Advance(15*time.Minute + time.Second)
	_, err = r.login("10.0.0.1", r.ana.Email, password)
	require.NoError(t, err)
	require.Zero(t, r.count(`select count(*) from login_failures where ip = '10.0.0.1' and at > $1`, r.hub.Clock.Now().Add(-time.Minute)))
}

// Ever new accounts are no way around it: passwords are hashed for so many of one address.
func TestLoginsPerAddressAreLimited(t *testing.T) {
	t.Parallel()
	r := start(t, "HUB_PRODUCT_LIMITS=club.logins=3-M")
	for _, email := range []string{"a@example.com", "b@example.com", "c@example.com"} {
		_, err := r.login("10.0.0.1", email, password)
		requireKind(t, hub.ErrUnauthorized, "invalid_credentials", err)
	}
	_, err := r.login("10.0.0.1", "d@example.com", password)
	require.ErrorIs(t, err, hub.ErrRateLimited)
	require.Equal(t, 3, r.count(`select count(*) from login_failures`), "not even looked at")
	_, err = r.login("10.0.0.2", r.ana.Email, password)
	require.NoError(t, err)
}

// Good logins at the same moment do not stand in each other's way, however near the
// limit.
func TestConcurrentValidLogins(t *testing.T) {
	t.Parallel()
	r := start(t)
	for range 9 {
		_, err := r.login("10.0.0.1", r.ana.Email, "wrong horse")
		requireKind(t, hub.ErrUnauthorized, "invalid_credentials", err)
	}
	errs := make(chan error, 15)
	for range cap(errs) {
		go func() {
			_, err := r.login("10.0.0.1", r.ana.Email, password)
			errs <- err
		}()
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	require.Zero(t, r.count(`select count(*) from login_failures`))
}

// A login that nobody answered is no guess: whoever gave up, or met a database that
// failed, is not locked out for it.
func TestAttemptWithoutResultIsNotCounted(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.sql(`alter table users rename to people`)
	for range 11 {
		_, err := r.login("10.0.0.1", r.ana.Email, password)
		require.Error(t, err)
		require.NotErrorIs(t, err, hub.ErrRateLimited)
	}
	r.sql(`alter table people rename to users`)
	over, cancel := context.WithCancel(r.from("10.0.0.1"))
	cancel()
	_, err := r.auth.Login(over, r.ana.Email, password)
	require.Error(t, err)
	require.Zero(t, r.count(`select count(*) from login_failures`))
	_, err = r.login("10.0.0.1", r.ana.Email, password)
	require.NoError(t, err)
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	r := start(t)
	first, err := r.login("10.0.0.1", r.ana.Email, password)
	require.NoError(t, err)
	second, err := r.auth.Refresh(t.Context(), first.RefreshToken)
	require.NoError(t, err)
	for _, token := range []string{first.RefreshToken, second.RefreshToken, first.AccessToken, "", "clur_x"} {
		_, err = r.auth.Refresh(t.Context(), token)
		requireKind(t, hub.ErrUnauthorized, "invalid_refresh_token", err) // the first was used: the login is over
	}

	third, err := r.login("10.0.0.1", r.ana.Email, password)
	require.NoError(t, err)
	r.sql(`update users set active = false where id = $1`, r.ana.ID)
	_, err = r.auth.Refresh(t.Context(), third.RefreshToken)
	requireKind(t, hub.ErrUnauthorized, "invalid_refresh_token", err)
	r.sql(`update users set active = true where id = $1`, r.ana.ID)
	renewed, err := r.auth.Refresh(t.Context(), third.RefreshToken)
	require.NoError(t, err, "the refusal did not use it up")
	r.hub.Clock.Advance(31 * 24 * time.Hour)
	_, err = r.auth.Refresh(t.Context(), renewed.RefreshToken)
	requireKind(t, hub.ErrUnauthorized, "invalid_refresh_token", err)
}

// during has something else begin while a user is locked on behalf of the context, and
// waits until it has to wait; over waits for its end.
func (r *running) during(something func()) (ctx context.Context, over func()) {
	done := make(chan struct{})
	return context.WithValue(r.from("10.0.0.1"), locked{}, func() {
		go func() { defer close(done); something() }()
		require.Eventually(r.t, func() bool {
			return r.count(`select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%users%'`) == 1
		}, soon, tick)
	}), func() { <-done }
}

// A login that is renewed, or begins, while all logins of its user end, ends too.
func TestRevocationIncludesConcurrentLogins(t *testing.T) {
	t.Parallel()
	r := start(t)
	begun := func() accounts.Session {
		session, err := r.login("10.0.0.1", r.ana.Email, password)
		require.NoError(t, err)
		return session
	}
	refused := func(session accounts.Session) {
		t.Helper()
		_, err := r.auth.Refresh(t.Context(), session.RefreshToken)
		requireKind(t, hub.ErrUnauthorized, "invalid_refresh_token", err)
		require.Zero(t, r.count(`select count(*) from refresh_tokens where revoked_at is null`))
	}

	old := begun()
	used, err := r.auth.Refresh(t.Context(), old.RefreshToken)
	require.NoError(t, err)
	var reuse error
	ctx, over := r.during(func() { _, reuse = r.auth.Refresh(t.Context(), old.RefreshToken) })
	renewed, err := r.auth.Refresh(ctx, used.RefreshToken)
	require.NoError(t, err, "it came first")
	over()
	requireKind(t, hub.ErrUnauthorized, "invalid_refresh_token", reuse)
	refused(renewed)

	old = begun()
	reset := tokenOf(t, r.newLink(accounts.PurposeReset))
	var failed error
	ctx, over = r.during(func() { failed = r.auth.SetPassword(r.from("10.0.0.2"), reset, "another horse") })
	renewed, err = r.auth.Refresh(ctx, old.RefreshToken)
	require.NoError(t, err, "it came first")
	over()
	require.NoError(t, failed)
	refused(renewed)

	// The old password was right when it was looked at.
	late := context.WithValue(r.from("10.0.0.1"), found{}, func() {
		stored, err := r.host.Credentials.HashPassword(t.Context(), password)
		require.NoError(t, err)
		r.sql(`update users set password = $2 where id = $1`, r.ana.ID, stored)
	})
	_, err = r.auth.Login(late, r.ana.Email, "another horse")
	requireKind(t, hub.ErrUnauthorized, "invalid_credentials", err)
	require.Zero(t, r.count(`select count(*) from refresh_tokens where revoked_at is null`))
	begun()
}

// A client throws a token away on 401: a database that fails must not look like one.
func TestDatabaseFailureIsNotInvalidToken(t *testing.T) {
	t.Parallel()
	r := start(t)
	session, err := r.login("10.0.0.1", r.ana.Email, password)
	require.NoError(t, err)
	r.sql(`create function fails(uuid) returns boolean language plpgsql volatile as $$ begin raise exception using errcode = '53200'; end $$`)
	r.sql(`alter table users rename to people`)
	r.sql(`create view users as select * from people where fails(id)`)
	_, err = r.auth.Refresh(t.Context(), session.RefreshToken)
	requireKind(t, hub.ErrUnavailable, "database_unavailable", err)
	r.sql(`drop view users`)
	r.sql(`alter table people rename to users`)
	_, err = r.auth.Refresh(t.Context(), session.RefreshToken)
	require.NoError(t, err)
}

// What expired is removed, a bounded number of rows at a time; what still counts stays.
func TestExpiredRowsAreDeleted(t *testing.T) {
	t.Parallel()
	r := start(t)
	_, err := r.login("10.0.0.1", r.ana.Email, password)
	require.NoError(t, err)
	_, err = r.login("10.0.0.1", r.ana.Email, "wrong horse")
	require.Error(t, err)
	r.newLink("reset")
	const old = 2500
	r.sql(`insert into refresh_tokens select decode(md5(n::text), 'hex'), $1, $1, $2, $2 from generate_series(1, $3::int) n`, r.ana.ID, noon.Add(-25*time.Hour), old)
	r.sql(`insert into mailed_tokens select decode(md5(n::text), 'hex'), $1, 'reset', $2, $2 from generate_series(1, $3::int) n`, r.ana.ID, noon.Add(-25*time.Hour), old)
	r.sql(`insert into login_failures select decode(md5(n::text), 'hex'), '', $1 from generate_series(1, $2::int) n`, noon.Add(-2*time.Hour), old)
	r.sql(`create table most (n bigint)`)
	r.sql(`create function note() returns trigger language plpgsql as $$ begin insert into most select count(*) from gone; return null; end $$`)
	for _, table := range []string{"refresh_tokens", "mailed_tokens", "login_failures"} {
		r.sql(`create trigger note after delete on ` + table + ` referencing old table as gone for each statement execute function note()`)
	}
	r.runJob("expired-logins", nil)
	for _, table := range []string{"refresh_tokens", "mailed_tokens", "login_failures"} {
		require.Equal(t, 1, r.count(`select count(*) from `+table), table)
	}
	require.Equal(t, 1000, r.count(`select max(n) from most`), "rows removed at once")
	require.Equal(t, 3*old, r.count(`select sum(n) from most`))
	r.hub.Clock.Advance(31*24*time.Hour + 24*time.Hour)
	r.runJob("expired-logins", nil)
	require.Zero(t, r.count(`select (select count(*) from refresh_tokens) + (select count(*) from mailed_tokens) + (select count(*) from login_failures)`))
}
