package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

func TestRegisterLogInRefresh(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	me := clinic.Get("/auth/me")
	require.Equal(t, "admin", me["role"])
	require.Equal(t, clinic.Email, me["email"])
	require.Equal(t, clinic.ID.String(), me["clinic_id"])
	clinic.As("").Refused(409, "email_taken", "POST", "/auth/register", object{"clinic_name": "B", "name": "B", "email": strings.ToUpper(clinic.Email), "password": clinictest.Password})
	for location, body := range map[string]object{
		"body.clinic_name": {"clinic_name": " ", "name": "B", "email": "b@example.com", "password": clinictest.Password},
		"body.email":       {"clinic_name": "B", "name": "B", "email": "b", "password": clinictest.Password},
		"body.password":    {"clinic_name": "B", "name": "B", "email": "b@example.com", "password": "short"},
	} {
		clinic.As("").Invalid(location, "POST", "/auth/register", body)
	}

	session := clinic.As("").OK(200, "POST", "/auth/login", object{"email": strings.ToUpper(clinic.Email), "password": clinictest.Password})
	require.Equal(t, "bearer", session["token_type"])
	require.EqualValues(t, 1800, session["expires_in"])
	require.NotContains(t, session, "clinic")
	old := object{"refresh_token": session["refresh_token"]}
	renewed := clinic.As("").OK(200, "POST", "/auth/refresh", old)
	clinic.As(renewed["access_token"].(string)).Get("/auth/me")

	// A token that is used twice ends the whole login, but no other.
	clinic.As("").Refused(401, "invalid_refresh_token", "POST", "/auth/refresh", old)
	clinic.As("").Refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": renewed["refresh_token"]})
	clinic.As(renewed["access_token"].(string)).Refused(401, "invalid_token", "GET", "/auth/me", nil)
	clinic.Get("/auth/me")
	clinic.As("").Refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": clinic.Token})
	clinic.As(session["refresh_token"].(string)).Refused(401, "invalid_token", "GET", "/auth/me", nil)
}

func TestTenBadLogins(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t).As("")
	for range 10 {
		clinic.Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": clinic.Email, "password": "wrong password"})
	}
	got := clinic.Call("POST", "/auth/login", object{"email": clinic.Email, "password": clinictest.Password})
	require.Equal(t, 429, got.Status)
	require.Regexp(t, `^[0-9]+$`, got.Header.Get("Retry-After"))
}

func TestForgottenPassword(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	known := clinic.As("").OK(200, "POST", "/auth/forgot-password", object{"email": clinic.Email})
	require.Equal(t, known, clinic.As("").OK(200, "POST", "/auth/forgot-password", object{"email": "nobody@example.com"}))
	token := clinic.ResetToken(clinic.Email)
	clinic.As("").Invalid("body.new_password", "POST", "/auth/reset-password", object{"token": token})
	clinic.As("").OK(200, "POST", "/auth/reset-password", object{"token": token, "password": "another password"}) // as scheduling has it, too
	clinic.Refused(401, "invalid_token", "GET", "/auth/me", nil)
	clinic.As("").OK(200, "POST", "/auth/login", object{"email": clinic.Email, "password": "another password"})
}

// E-mails are in the clinic's language and name, as text and as HTML.
func TestEmailsAreInTheClinicsLanguage(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	require.Equal(t, "pt-BR", clinic.Get("/clinic")["locale"])
	clinic.OK(200, "PUT", "/clinic", object{"name": "Clínica Lua"})
	for _, test := range []struct{ locale, invitation, invited, reset string }{
		{"pt-BR", "Sua conta em Clínica Lua", "Olá, Davi!\n\nCriaram uma conta para você em Clínica Lua. ", "Defina uma nova senha"},
		{"en-US", "Your account at Clínica Lua", "Hello Davi,\n\nAn account was made for you at Clínica Lua. ", "Set a new password"},
		{"es", "Tu cuenta en Clínica Lua", "Hola, Davi:\n\nCrearon una cuenta para ti en Clínica Lua. ", "Define una nueva contraseña"},
	} {
		clinic.OK(200, "PUT", "/clinic", object{"locale": test.locale})
		address := test.locale + clinic.Email
		clinic.OK(201, "POST", "/users", object{"name": "Davi", "email": address})
		clinic.ResetToken(address)
		require.Contains(t, clinic.Hub.Emails(address)[0], test.invited)
		require.Equal(t, []string{"Clínica Lua", test.invitation, test.locale[:2]}, clinic.LastEmail(address))
		clinic.As("").OK(200, "POST", "/auth/forgot-password", object{"email": address})
		clinic.ResetToken(address)
		require.Contains(t, clinic.Hub.Emails(address)[0], "Clínica Lua")
		require.Equal(t, []string{"Clínica Lua", test.reset, test.locale[:2]}, clinic.LastEmail(address))
	}
	clinic.Invalid("body.locale", "PUT", "/clinic", object{"locale": "Portuguese"})
}

// A refresh waits for a concurrent change of its user, and is refused if that ended all
// sessions.
func TestARefreshWaitsForItsUser(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	session := clinic.As("").OK(200, "POST", "/auth/login", object{"email": clinic.Email, "password": clinictest.Password})
	tx, err := clinic.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `update clinic.users set updated_at = now() where email = $1`, clinic.Email)
	require.NoError(t, err)
	answered := make(chan answer, 1)
	go func() {
		got, _ := clinic.As("").Try("POST", "/auth/refresh", object{"refresh_token": session["refresh_token"]})
		answered <- got
	}()
	require.Eventually(t, func() bool {
		return clinic.QueryInt("select count(*) from pg_stat_activity where $1::uuid is not null and datname = current_database() and wait_event_type = 'Lock' and query like '%from clinic.users%'") == 1
	}, time.Minute, 20*time.Millisecond)
	_, err = tx.Exec(t.Context(), `update clinic.refresh_tokens set revoked_at = now()`)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, 401, (<-answered).Status)
}

// Logging out ends one login at once: its access token and its refresh token.
func TestLogout(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	session := clinic.As("").OK(200, "POST", "/auth/login", object{"email": clinic.Email, "password": clinictest.Password})
	login := clinic.As(session["access_token"].(string))
	login.OK(200, "POST", "/auth/logout", nil)
	login.Refused(401, "invalid_token", "GET", "/auth/me", nil)
	login.Refused(401, "invalid_token", "POST", "/auth/logout", nil)
	clinic.As("").Refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": session["refresh_token"]})
	clinic.As("").Refused(401, "unauthorized", "POST", "/auth/logout", nil)
	clinic.OK(200, "GET", "/auth/me", nil) // another login of the user
}
