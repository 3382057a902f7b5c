package accounts_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module/accounts"
)

func is(err, kind error) bool { return errors.Is(err, kind) }

// "always 200 …, same timing": whether there is a user is not even looked at before the
// answer, and the same statements are made for every address.
func TestPasswordResetDoesTheSameWorkForEveryAddress(t *testing.T) {
	t.Parallel()
	r := start(t)
	for _, email := range []string{r.ana.Email, r.other.Email, "nobody@example.com", strings.Repeat("x", 200) + "@example.com"} {
		require.NoError(t, r.auth.RequestPasswordReset(as(r.from("10.0.0.1"), email), email))
		require.Equal(t, r.statementsOf(r.ana.Email), r.statementsOf(email), email)
		require.NotContains(t, strings.Join(r.statementsOf(email), "\n"), "users")
	}
	require.NotEmpty(t, r.statementsOf(r.ana.Email))
	token := tokenOf(t, r.emailedLink(1))
	require.Empty(t, r.hub.Emails(r.other.Email))
	require.Empty(t, r.hub.Emails("nobody@example.com"))
	require.Equal(t, 1, r.count(`select count(*) from mailed_tokens`))
	require.NoError(t, r.auth.SetPassword(r.from("10.0.0.1"), token, "another horse"))
}

// Five links in an hour for one account; the rest are answered alike and not sent.
// Many requests must wait, whatever the addresses are.
func TestPasswordLinksAreLimited(t *testing.T) {
	t.Parallel()
	r := start(t, "HUB_PRODUCT_LIMITS=club.password-links=8-H")
	for n := range 5 {
		require.NoError(t, r.auth.RequestPasswordReset(r.from("10.0.0.1"), r.ana.Email))
		r.emailedLink(n + 1)
	}
	require.NoError(t, r.auth.RequestPasswordReset(r.from("10.0.0.1"), r.ana.Email))
	require.NoError(t, r.auth.RequestPasswordReset(r.from("10.0.0.1"), "nobody@example.com"))
	require.Eventually(t, func() bool { return r.count(`select count(*) from hub.jobs where job = 'forgotten-passwords'`) == 0 }, soon, tick)
	r.emailedLink(5)
	require.NoError(t, r.auth.RequestPasswordReset(r.from("10.0.0.1"), "nobody@example.com"))
	for _, email := range []string{r.ana.Email, "nobody@example.com"} {
		requireKind(t, hub.ErrRateLimited, "rate_limited", r.auth.RequestPasswordReset(r.from("10.0.0.1"), email))
	}
	r.hub.Clock.Advance(time.Hour + time.Second)
	require.NoError(t, r.auth.RequestPasswordReset(r.from("10.0.0.2"), r.ana.Email))
	r.emailedLink(6)
}

// What waits to be looked at does not tell who forgot a password.
func TestQueuedAddressesAreSealed(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.sql(`create table seen as select key, payload from hub.jobs where false`)
	r.sql(`create function note() returns trigger language plpgsql as $$ begin insert into club.seen values (new.key, new.payload); return new; end $$`)
	r.sql(`create trigger note after insert on hub.jobs for each row when (new.job = 'forgotten-passwords') execute function club.note()`)
	require.NoError(t, r.auth.RequestPasswordReset(r.from("10.0.0.1"), r.ana.Email))
	require.Equal(t, 1, r.count(`select count(*) from seen`))
	require.Zero(t, r.count(`select count(*) from seen where position('ana' in key) > 0 or position('ana'::bytea in payload) > 0`))
	r.emailedLink(1)
	r.runJob("forgotten-passwords", []byte("sealed by nobody"))
}

// Hashing is dear: it is done for good tokens only.
func TestInvalidTokensAreNotHashed(t *testing.T) {
	t.Parallel()
	r := start(t, "HUB_PRODUCT_LIMITS=club.passwords=60-H")
	hashed := r.hashed.Load()
	for range 60 {
		err := r.auth.SetPassword(r.from("10.0.0.1"), "nonsense", "another horse")
		requireKind(t, hub.ErrMalformed, "invalid_reset_token", err)
	}
	requireKind(t, hub.ErrRateLimited, "rate_limited", r.auth.SetPassword(r.from("10.0.0.1"), "nonsense", "another horse"))
	require.Equal(t, hashed, r.hashed.Load())
}

func TestSetPassword(t *testing.T) {
	t.Parallel()
	r := start(t)
	session, err := r.login("10.0.0.1", r.ana.Email, password)
	require.NoError(t, err)
	first, second := tokenOf(t, r.newLink(accounts.PurposeInvite)), tokenOf(t, r.newLink(accounts.PurposeReset))
	for _, short := range []string{"", "seven77", strings.Repeat("é", 129)} {
		requireKind(t, hub.ErrInvalid, "validation_failed", r.auth.SetPassword(r.from("10.0.0.1"), first, short))
	}
	require.NoError(t, r.auth.SetPassword(r.from("10.0.0.1"), first, "éééééééé"))
	for _, token := range []string{first, second} {
		requireKind(t, hub.ErrMalformed, "invalid_reset_token", r.auth.SetPassword(r.from("10.0.0.1"), token, "another horse"))
	}
	_, err = r.auth.Refresh(t.Context(), session.RefreshToken)
	requireKind(t, hub.ErrUnauthorized, "invalid_refresh_token", err)
	_, err = r.login("10.0.0.1", r.ana.Email, "éééééééé")
	require.NoError(t, err)

	late := tokenOf(t, r.newLink(accounts.PurposeReset))
	r.hub.Clock.Advance(time.Hour)
	requireKind(t, hub.ErrMalformed, "invalid_reset_token", r.auth.SetPassword(r.from("10.0.0.1"), late, "another horse"))
	week := tokenOf(t, r.newLink(accounts.PurposeInvite))
	r.hub.Clock.Advance(7*24*time.Hour - time.Second)
	require.NoError(t, r.auth.SetPassword(r.from("10.0.0.1"), week, "another horse"))
}

// Of two who use a link at once, one sets the password.
func TestLinkIsUsedOnce(t *testing.T) {
	t.Parallel()
	r := start(t)
	token := tokenOf(t, r.newLink(accounts.PurposeReset))
	errs := make(chan error, 8)
	for range cap(errs) {
		go func() { errs <- r.auth.SetPassword(r.from("10.0.0.1"), token, "another horse") }()
	}
	good := 0
	for range cap(errs) {
		if err := <-errs; err == nil {
			good++
		} else {
			requireKind(t, hub.ErrMalformed, "invalid_reset_token", err)
		}
	}
	require.Equal(t, 1, good)
}
