package clinic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRegisterLogInRefresh(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	me := p.Get("/auth/me")
	require.Equal(t, "admin", me["role"])
	require.Equal(t, p.Email, me["email"])
	require.Equal(t, p.ID.String(), me["clinic_id"])
	p.As("").Refused(409, "email_taken", "POST", "/auth/register", object{"clinic_name": "B", "name": "B", "email": strings.ToUpper(p.Email), "password": Password})
	for location, body := range map[string]object{
		"body.clinic_name": {"clinic_name": " ", "name": "B", "email": "b@example.com", "password": Password},
		"body.email":       {"clinic_name": "B", "name": "B", "email": "b", "password": Password},
		"body.password":    {"clinic_name": "B", "name": "B", "email": "b@example.com", "password": "short"},
	} {
		p.As("").Invalid(location, "POST", "/auth/register", body)
	}

	session := p.As("").OK(200, "POST", "/auth/login", object{"email": strings.ToUpper(p.Email), "password": Password})
	require.Equal(t, "bearer", session["token_type"])
	require.EqualValues(t, 1800, session["expires_in"])
	require.NotContains(t, session, "clinic")
	old := object{"refresh_token": session["refresh_token"]}
	renewed := p.As("").OK(200, "POST", "/auth/refresh", old)
	p.As(renewed["access_token"].(string)).Get("/auth/me")

	// A token that is used twice ends the whole login, but no other.
	p.As("").Refused(401, "invalid_refresh_token", "POST", "/auth/refresh", old)
	p.As("").Refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": renewed["refresh_token"]})
	p.As(renewed["access_token"].(string)).Refused(401, "invalid_token", "GET", "/auth/me", nil)
	p.Get("/auth/me")
	p.As("").Refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": p.Token})
	p.As(session["refresh_token"].(string)).Refused(401, "invalid_token", "GET", "/auth/me", nil)
}

func TestTenBadLogins(t *testing.T) {
	t.Parallel()
	p := NewClinic(t).As("")
	for range 10 {
		p.Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": p.Email, "password": "wrong password"})
	}
	got := p.Call("POST", "/auth/login", object{"email": p.Email, "password": Password})
	require.Equal(t, 429, got.Status)
	require.Regexp(t, `^[0-9]+$`, got.Header.Get("Retry-After"))
}

func TestUsers(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	staff := p.AddStaff()
	require.Equal(t, "staff", staff.Get("/auth/me")["role"])
	listed := p.Call("GET", "/users", nil).List
	require.Len(t, listed, 2)
	me, other, email := p.Get("/auth/me")["id"].(string), staff.Get("/auth/me")["id"].(string), staff.Get("/auth/me")["email"]
	p.Refused(409, "last_admin", "PUT", "/users/"+me, object{"role": "staff"})
	p.Refused(409, "last_admin", "DELETE", "/users/"+me, nil)
	p.Refused(409, "email_taken", "POST", "/users", object{"name": "C", "email": p.Email, "password": Password})
	p.Invalid("body.role", "PUT", "/users/"+other, object{"role": "owner"})

	// Who is switched off is out at once.
	p.OK(200, "PUT", "/users/"+other, object{"is_active": false})
	staff.Refused(401, "invalid_token", "GET", "/auth/me", nil)
	p.As("").Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": email, "password": Password})
	p.OK(204, "DELETE", "/users/"+other, nil)
	p.Refused(404, "not_found", "DELETE", "/users/"+other, nil)

	// Without a password the user is sent a link, which is good once.
	p.OK(201, "POST", "/users", object{"name": "Davi", "email": "davi-" + p.Email, "role": "admin"})
	token := p.ResetToken("davi-" + p.Email)
	p.As("").OK(200, "POST", "/auth/reset-password", object{"token": token, "new_password": Password})
	p.As("").Refused(400, "invalid_reset_token", "POST", "/auth/reset-password", object{"token": token, "new_password": Password})
	davi := p.As(p.As("").OK(200, "POST", "/auth/login", object{"email": "davi-" + p.Email, "password": Password})["access_token"].(string))
	p.OK(200, "PUT", "/users/"+me, object{"role": "staff"})
	davi.Get("/users")
	p.Refused(403, "admin_only", "GET", "/users", nil)
}

func TestForgottenPassword(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	known := p.As("").OK(200, "POST", "/auth/forgot-password", object{"email": p.Email})
	require.Equal(t, known, p.As("").OK(200, "POST", "/auth/forgot-password", object{"email": "nobody@example.com"}))
	token := p.ResetToken(p.Email)
	p.As("").Invalid("body.new_password", "POST", "/auth/reset-password", object{"token": token})
	p.As("").OK(200, "POST", "/auth/reset-password", object{"token": token, "password": "another password"}) // as scheduling has it, too
	p.Refused(401, "invalid_token", "GET", "/auth/me", nil)
	p.As("").OK(200, "POST", "/auth/login", object{"email": p.Email, "password": "another password"})
}

// Letters are in the clinic's language and name, as text and as HTML.
func TestLettersAreInTheClinicsLanguage(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	require.Equal(t, "pt-BR", p.Get("/clinic")["locale"])
	p.OK(200, "PUT", "/clinic", object{"name": "Clínica Lua"})
	for _, one := range []struct{ locale, invitation, invited, reset string }{
		{"pt-BR", "Sua conta em Clínica Lua", "Olá, Davi!\n\nCriaram uma conta para você em Clínica Lua. ", "Defina uma nova senha"},
		{"en-US", "Your account at Clínica Lua", "Hello Davi,\n\nAn account was made for you at Clínica Lua. ", "Set a new password"},
		{"es", "Tu cuenta en Clínica Lua", "Hola, Davi:\n\nCrearon una cuenta para ti en Clínica Lua. ", "Define una nueva contraseña"},
	} {
		p.OK(200, "PUT", "/clinic", object{"locale": one.locale})
		address := one.locale + p.Email
		p.OK(201, "POST", "/users", object{"name": "Davi", "email": address})
		p.ResetToken(address)
		require.Contains(t, p.Hub.Mails(address)[0], one.invited)
		require.Equal(t, []string{"Clínica Lua", one.invitation, one.locale[:2]}, p.Emails(address))
		p.As("").OK(200, "POST", "/auth/forgot-password", object{"email": address})
		p.ResetToken(address)
		require.Contains(t, p.Hub.Mails(address)[0], "Clínica Lua")
		require.Equal(t, []string{"Clínica Lua", one.reset, one.locale[:2]}, p.Emails(address))
	}
	p.Invalid("body.locale", "PUT", "/clinic", object{"locale": "Portuguese"})
}

// Emails gives the sender's name and the subject of the last mail to an address, and the
// language of its HTML.
func (p *Clinic) Emails(address string) []string {
	p.T.Helper()
	var from, subject, language string
	require.NoError(p.T, p.Hub.Host.Pool.QueryRow(p.T.Context(), `select from_name, subject, substring(html from '<html lang="(..)') from hub.mails
		where recipient = $1 order by id desc limit 1`, address).Scan(&from, &subject, &language))
	return []string{from, subject, language}
}

func TestClinicSettings(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	require.Equal(t, "America/Sao_Paulo", p.Get("/clinic")["timezone"])
	require.Equal(t, false, p.Get("/clinic")["reveal_cpf"])
	done := p.OK(200, "PUT", "/clinic", object{"name": "Clínica Lua", "timezone": "America/Manaus", "reveal_cpf": true})
	require.Equal(t, done, p.Get("/clinic"))
	status := p.NewKey().Get("/integrations/status")
	require.Equal(t, "Clínica Lua", status["clinic_name"])
	require.Equal(t, p.ID.String(), status["clinic_id"])
	require.Equal(t, "clinic", status["product"])
	require.Equal(t, []any{"patient.search", "patient.read", "record.read", "appointment.read", "payment.read", "message.send"}, status["features"])
	p.Invalid("body.timezone", "PUT", "/clinic", object{"timezone": "Mars"})
	p.AddStaff().Refused(403, "admin_only", "PUT", "/clinic", object{"name": "X"})
	require.Equal(t, "Clínica Lua", p.Get("/clinic")["name"])
}

// ResetToken gives the token of the link that was sent to an address last, once those asked
// for are sent. The link opens the page that it promises.
func (p *Clinic) ResetToken(address string) string {
	p.T.Helper()
	require.Eventually(p.T, func() bool {
		return p.QueryInt(`select count(*) from hub.jobs where $1::uuid is not null and job = 'forgotten-passwords'`) == 0
	}, Timeout, Tick)
	mails := p.Hub.Mails(address)
	require.NotEmpty(p.T, mails)
	_, after, found := strings.Cut(mails[0], p.Hub.URL+"/reset-password/clinic?token=")
	require.True(p.T, found, mails[0])
	token, _, _ := strings.Cut(after, "\n")
	require.Contains(p.T, p.OpenLink(p.Hub.URL+"/reset-password/clinic?token="+token), `type="password"`)
	return token
}

// OpenLink requires that a link leads to a page, and gives it.
func (p *Clinic) OpenLink(link string) string {
	p.T.Helper()
	page := p.As("").Call("GET", link, nil)
	require.Equal(p.T, 200, page.Status, "%s: %s", link, page.Text)
	require.Contains(p.T, page.Header.Get("Content-Type"), "text/html")
	return page.Text
}

// The links that connected products show open, and tell nothing to whoever has one.
func TestLinksToRecordsAndAppointmentsOpen(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	id := p.AddPatient("+5511987654321")
	key := p.NewKey()
	record := p.OK(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-02", "type": "consultation", "summary": "Back in a week"})
	p.OK(201, "POST", "/patients/"+id+"/appointments", object{"datetime": "2030-03-02T12:00:00Z", "service": "Cleaning"})
	found := key.Get("/integrations/search/records?patient_id=" + id)["records"].([]any)[0].(object)
	require.Equal(t, record["url"], found["url"])
	made := key.Get("/integrations/search/appointments?patient_id=" + id)["appointments"].([]any)[0].(object)
	for _, link := range []string{found["url"].(string), made["url"].(string)} {
		page := p.OpenLink(link + "?lang=en")
		require.Contains(t, page, "finds it in the application")
		require.NotContains(t, page, "Back in a week")
		require.NotContains(t, page, "Cleaning")
	}
}

// A refresh waits for whoever changes its user, and sees that all logins were ended.
func TestARefreshWaitsForItsUser(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	session := p.As("").OK(200, "POST", "/auth/login", object{"email": p.Email, "password": Password})
	tx, err := p.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `update clinic.users set updated_at = now() where email = $1`, p.Email)
	require.NoError(t, err)
	answered := make(chan answer, 1)
	go func() {
		got, _ := p.As("").Try("POST", "/auth/refresh", object{"refresh_token": session["refresh_token"]})
		answered <- got
	}()
	require.Eventually(t, func() bool {
		return p.QueryInt("select count(*) from pg_stat_activity where $1::uuid is not null and datname = current_database() and wait_event_type = 'Lock' and query like '%from clinic.users%'") == 1
	}, 30*time.Second, 20*time.Millisecond)
	_, err = tx.Exec(t.Context(), `update clinic.refresh_tokens set revoked_at = now()`)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, 401, (<-answered).Status)
}
