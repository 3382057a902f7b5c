package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestRegisterAndLogIn(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganizationAlone(t)
	me := org.OK(200, "GET", "/auth/me", nil)
	require.Equal(t, org.Email, me["email"])
	require.Equal(t, "owner", me["role"])
	require.Equal(t, org.ID.String(), me["org_id"])
	require.Equal(t, true, me["is_active"])
	require.Contains(t, me, "phone")
	require.Contains(t, me, "avatar_url")

	stranger := org.As("")
	session := stranger.OK(200, "POST", "/auth/login", object{"email": strings.ToUpper(org.Email), "password": schedulingtest.Password})
	require.Equal(t, "bearer", session["token_type"])
	require.EqualValues(t, 1800, session["expires_in"])
	org.As(session["access_token"].(string)).OK(200, "GET", "/auth/me", nil)

	got := stranger.Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": org.Email, "password": "wrong password"})
	require.Equal(t, "Invalid credentials", got["detail"])
	stranger.Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": "nobody@example.com", "password": schedulingtest.Password})
	stranger.Refused(401, "unauthorized", "GET", "/auth/me", nil)
	org.As("nonsense").Refused(401, "invalid_token", "GET", "/auth/me", nil)
	org.Hub.Clock.Advance(31 * time.Minute)
	require.Equal(t, 401, org.Call("GET", "/auth/me", nil).Status, "expired")
}

func TestRegistrationIsRefused(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganization(t)
	stranger := org.As("")
	draft := func(change object) object {
		d := object{"org_name": "Other", "org_slug": "other-" + org.Slug, "name": "O", "email": "other-" + org.Email, "password": schedulingtest.Password}
		for name, value := range change {
			if d[name] = value; value == nil {
				delete(d, name)
			}
		}
		return d
	}
	got := stranger.Refused(400, "email_taken", "POST", "/auth/register", draft(object{"email": strings.ToUpper(org.Email)}))
	require.Equal(t, "Email already registered", got["detail"])
	got = stranger.Refused(400, "slug_taken", "POST", "/auth/register", draft(object{"org_slug": org.Slug}))
	require.Equal(t, "Organization slug already taken", got["detail"])
	stranger.Invalid("body.email", "POST", "/auth/register", draft(object{"email": "not an address"}))
	stranger.Invalid("body.org_slug", "POST", "/auth/register", draft(object{"org_slug": "admin"}))
	stranger.Invalid("body.password", "POST", "/auth/register", draft(object{"password": "short"}))
	for _, field := range []string{"org_name", "org_slug", "name", "email", "password"} {
		stranger.Refused(422, "validation_failed", "POST", "/auth/register", draft(object{field: nil}))
	}
	stranger.Refused(400, "json_syntax", "POST", "/auth/register", `{"org_name":`)
	stranger.OK(201, "POST", "/auth/register", draft(object{"phone": "+5511987654321", "role": "staff", "org_id": org.ID}))
}

func TestRefreshRotatesAndReuseEndsTheLogin(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganization(t)
	stranger := org.As("")
	first := stranger.OK(200, "POST", "/auth/login", object{"email": org.Email, "password": schedulingtest.Password})
	second := stranger.OK(200, "POST", "/auth/refresh", object{"refresh_token": first["refresh_token"]})
	require.NotEqual(t, first["refresh_token"], second["refresh_token"])
	org.As(second["access_token"].(string)).OK(200, "GET", "/auth/me", nil)
	got := stranger.Refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": org.Token})
	require.Equal(t, "Invalid refresh token", got["detail"])
	org.As(second["refresh_token"].(string)).Refused(401, "invalid_token", "GET", "/auth/me", nil)

	stranger.Refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": first["refresh_token"]})
	stranger.Refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": second["refresh_token"]})
	org.As(second["access_token"].(string)).Refused(401, "invalid_token", "GET", "/auth/me", nil)
	org.OK(200, "GET", "/auth/me", nil) // another login
}

func TestPasswordIsResetByMail(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganizationAlone(t)
	stranger := org.As("")
	said := stranger.OK(200, "POST", "/auth/forgot-password", object{"email": "nobody-at-all@example.com"})
	require.Equal(t, said, stranger.OK(200, "POST", "/auth/forgot-password", object{"email": org.Email}))
	stranger.Invalid("body.email", "POST", "/auth/forgot-password", object{"email": "nonsense"})
	token := org.ResetToken(org.Email)
	stranger.Refused(422, "validation_failed", "POST", "/auth/reset-password", object{"token": token, "new_password": "short"})
	stranger.OK(200, "POST", "/auth/reset-password", object{"token": token, "new_password": "another password"})
	org.Refused(401, "invalid_token", "GET", "/auth/me", nil)
	stranger.Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": org.Email, "password": schedulingtest.Password})
	stranger.OK(200, "POST", "/auth/login", object{"email": org.Email, "password": "another password"})
	got := stranger.Refused(400, "invalid_reset_token", "POST", "/auth/reset-password", object{"token": token, "password": "a third password"})
	require.Equal(t, "Invalid or expired token", got["detail"])

	stranger.OK(200, "POST", "/auth/forgot-password", object{"email": org.Email})
	late := org.ResetToken(org.Email)
	org.Hub.Clock.Advance(61 * time.Minute)
	stranger.Refused(400, "invalid_reset_token", "POST", "/auth/reset-password", object{"token": late, "password": "a third password"})
}

func TestTenFailedLoginsAreLimited(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganizationAlone(t)
	stranger := org.As("")
	for range 10 {
		stranger.Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": org.Email, "password": "wrong password"})
	}
	got := stranger.Call("POST", "/auth/login", object{"email": org.Email, "password": schedulingtest.Password})
	require.Equal(t, 429, got.Status)
	require.Equal(t, "900", got.Header.Get("Retry-After"))
	org.Hub.Clock.Advance(15 * time.Minute)
	stranger.OK(200, "POST", "/auth/login", object{"email": org.Email, "password": schedulingtest.Password})
}

// A refresh waits for whoever changes its user, and sees that all logins were ended.
func TestARefreshWaitsForItsUser(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganizationAlone(t)
	session := org.As("").OK(200, "POST", "/auth/login", object{"email": org.Email, "password": schedulingtest.Password})
	tx, err := org.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `update scheduling.users set updated_at = now() where email = $1`, org.Email)
	require.NoError(t, err)
	answered := make(chan answer, 1)
	go func() {
		got, _ := org.As("").Try("POST", "/auth/refresh", object{"refresh_token": session["refresh_token"]})
		answered <- got
	}()
	require.Eventually(t, func() bool {
		return org.Count("pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from scheduling.users%'") == 1
	}, time.Minute, 20*time.Millisecond)
	_, err = tx.Exec(t.Context(), `update scheduling.refresh_tokens set revoked_at = now()`)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, 401, (<-answered).Status)
}

// Logging out ends one login at once: its access token and its refresh token.
func TestLogout(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganization(t)
	session := org.As("").OK(200, "POST", "/auth/login", object{"email": org.Email, "password": schedulingtest.Password})
	login := org.As(session["access_token"].(string))
	login.OK(200, "POST", "/auth/logout", nil)
	login.Refused(401, "invalid_token", "GET", "/auth/me", nil)
	login.Refused(401, "invalid_token", "POST", "/auth/logout", nil)
	org.As("").Refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": session["refresh_token"]})
	org.As("").Refused(401, "unauthorized", "POST", "/auth/logout", nil)
	org.OK(200, "GET", "/auth/me", nil) // another login of the user
}
