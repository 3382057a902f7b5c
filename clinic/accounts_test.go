package clinic_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRegisterLogInRefresh(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	me := p.get("/auth/me")
	require.Equal(t, "admin", me["role"])
	require.Equal(t, p.email, me["email"])
	require.Equal(t, p.id.String(), me["clinic_id"])
	p.as("").refused(409, "email_taken", "POST", "/auth/register", object{"clinic_name": "B", "name": "B", "email": strings.ToUpper(p.email), "password": password})
	for location, body := range map[string]object{
		"body.clinic_name": {"clinic_name": " ", "name": "B", "email": "b@example.com", "password": password},
		"body.email":       {"clinic_name": "B", "name": "B", "email": "b", "password": password},
		"body.password":    {"clinic_name": "B", "name": "B", "email": "b@example.com", "password": "short"},
	} {
		p.as("").invalid(location, "POST", "/auth/register", body)
	}

	session := p.as("").ok(200, "POST", "/auth/login", object{"email": strings.ToUpper(p.email), "password": password})
	require.Equal(t, "bearer", session["token_type"])
	require.EqualValues(t, 1800, session["expires_in"])
	require.NotContains(t, session, "clinic")
	old := object{"refresh_token": session["refresh_token"]}
	renewed := p.as("").ok(200, "POST", "/auth/refresh", old)
	p.as(renewed["access_token"].(string)).get("/auth/me")

	// A token that is used twice ends the whole login, but no other.
	p.as("").refused(401, "invalid_refresh_token", "POST", "/auth/refresh", old)
	p.as("").refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": renewed["refresh_token"]})
	p.as(renewed["access_token"].(string)).refused(401, "invalid_token", "GET", "/auth/me", nil)
	p.get("/auth/me")
	p.as("").refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": p.token})
	p.as(session["refresh_token"].(string)).refused(401, "invalid_token", "GET", "/auth/me", nil)
}

func TestTenBadLogins(t *testing.T) {
	t.Parallel()
	p := newPractice(t).as("")
	for range 10 {
		p.refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": p.email, "password": "wrong password"})
	}
	got := p.call("POST", "/auth/login", object{"email": p.email, "password": password})
	require.Equal(t, 429, got.status)
	require.Regexp(t, `^[0-9]+$`, got.header.Get("Retry-After"))
}

func TestUsers(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	staff := p.staff()
	require.Equal(t, "staff", staff.get("/auth/me")["role"])
	listed := p.call("GET", "/users", nil).list
	require.Len(t, listed, 2)
	me, other, email := p.get("/auth/me")["id"].(string), staff.get("/auth/me")["id"].(string), staff.get("/auth/me")["email"]
	p.refused(409, "last_admin", "PUT", "/users/"+me, object{"role": "staff"})
	p.refused(409, "last_admin", "DELETE", "/users/"+me, nil)
	p.refused(409, "email_taken", "POST", "/users", object{"name": "C", "email": p.email, "password": password})
	p.invalid("body.role", "PUT", "/users/"+other, object{"role": "owner"})

	// Who is switched off is out at once.
	p.ok(200, "PUT", "/users/"+other, object{"is_active": false})
	staff.refused(401, "invalid_token", "GET", "/auth/me", nil)
	p.as("").refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": email, "password": password})
	p.ok(204, "DELETE", "/users/"+other, nil)
	p.refused(404, "not_found", "DELETE", "/users/"+other, nil)

	// Without a password the user is sent a link, which is good once.
	p.ok(201, "POST", "/users", object{"name": "Davi", "email": "davi-" + p.email, "role": "admin"})
	token := p.mailed("davi-" + p.email)
	p.as("").ok(200, "POST", "/auth/reset-password", object{"token": token, "new_password": password})
	p.as("").refused(400, "invalid_reset_token", "POST", "/auth/reset-password", object{"token": token, "new_password": password})
	davi := p.as(p.as("").ok(200, "POST", "/auth/login", object{"email": "davi-" + p.email, "password": password})["access_token"].(string))
	p.ok(200, "PUT", "/users/"+me, object{"role": "staff"})
	davi.get("/users")
	p.refused(403, "admin_only", "GET", "/users", nil)
}

func TestForgottenPassword(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	known := p.as("").ok(200, "POST", "/auth/forgot-password", object{"email": p.email})
	require.Equal(t, known, p.as("").ok(200, "POST", "/auth/forgot-password", object{"email": "nobody@example.com"}))
	token := p.mailed(p.email)
	p.as("").invalid("body.new_password", "POST", "/auth/reset-password", object{"token": token})
	p.as("").ok(200, "POST", "/auth/reset-password", object{"token": token, "password": "another password"}) // as scheduling has it, too
	p.refused(401, "invalid_token", "GET", "/auth/me", nil)
	p.as("").ok(200, "POST", "/auth/login", object{"email": p.email, "password": "another password"})
}

// Letters are in the clinic's language and name, as text and as HTML.
func TestLettersAreInTheClinicsLanguage(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	require.Equal(t, "pt-BR", p.get("/clinic")["locale"])
	p.ok(200, "PUT", "/clinic", object{"name": "Clínica Lua"})
	for _, one := range []struct{ locale, invitation, invited, reset string }{
		{"pt-BR", "Sua conta em Clínica Lua", "Olá, Davi!\n\nCriaram uma conta para você em Clínica Lua. ", "Defina uma nova senha"},
		{"en-US", "Your account at Clínica Lua", "Hello Davi,\n\nAn account was made for you at Clínica Lua. ", "Set a new password"},
		{"es", "Tu cuenta en Clínica Lua", "Hola, Davi:\n\nCrearon una cuenta para ti en Clínica Lua. ", "Define una nueva contraseña"},
	} {
		p.ok(200, "PUT", "/clinic", object{"locale": one.locale})
		address := one.locale + p.email
		p.ok(201, "POST", "/users", object{"name": "Davi", "email": address})
		p.mailed(address)
		require.Contains(t, p.hub.Emails(address)[0], one.invited)
		require.Equal(t, []string{"Clínica Lua", one.invitation, one.locale[:2]}, p.letter(address))
		p.as("").ok(200, "POST", "/auth/forgot-password", object{"email": address})
		p.mailed(address)
		require.Contains(t, p.hub.Emails(address)[0], "Clínica Lua")
		require.Equal(t, []string{"Clínica Lua", one.reset, one.locale[:2]}, p.letter(address))
	}
	p.invalid("body.locale", "PUT", "/clinic", object{"locale": "Portuguese"})
}

// letter gives the sender's name and the subject of the last mail to an address, and the
// language of its HTML.
func (p *practice) letter(address string) []string {
	p.t.Helper()
	var from, subject, language string
	require.NoError(p.t, p.hub.Host.Pool.QueryRow(p.t.Context(), `select from_name, subject, substring(html from '<html lang="(..)') from hub.mails
		where recipient = $1 order by id desc limit 1`, address).Scan(&from, &subject, &language))
	return []string{from, subject, language}
}

func TestClinicSettings(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	require.Equal(t, "America/Sao_Paulo", p.get("/clinic")["timezone"])
	require.Equal(t, false, p.get("/clinic")["reveal_cpf"])
	done := p.ok(200, "PUT", "/clinic", object{"name": "Clínica Lua", "timezone": "America/Manaus", "reveal_cpf": true})
	require.Equal(t, done, p.get("/clinic"))
	status := p.key().get("/integrations/status")
	require.Equal(t, "Clínica Lua", status["clinic_name"])
	require.Equal(t, p.id.String(), status["clinic_id"])
	require.Equal(t, "clinic", status["product"])
	require.Equal(t, []any{"patient.search", "patient.read", "record.read", "appointment.read", "payment.read", "message.send"}, status["features"])
	p.invalid("body.timezone", "PUT", "/clinic", object{"timezone": "Mars"})
	p.staff().refused(403, "admin_only", "PUT", "/clinic", object{"name": "X"})
	require.Equal(t, "Clínica Lua", p.get("/clinic")["name"])
}

// mailed gives the token of the link that was sent to an address last, once those asked
// for are sent. The link opens the page that it promises.
func (p *practice) mailed(address string) string {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		return p.count(`select count(*) from hub.jobs where $1::uuid is not null and job = 'forgotten-passwords'`) == 0
	}, soon, tick)
	mails := p.hub.Emails(address)
	require.NotEmpty(p.t, mails)
	_, after, found := strings.Cut(mails[0], p.hub.URL+"/reset-password/clinic?token=")
	require.True(p.t, found, mails[0])
	token, _, _ := strings.Cut(after, "\n")
	require.Contains(p.t, p.opens(p.hub.URL+"/reset-password/clinic?token="+token), `type="password"`)
	return token
}

// opens requires that a link leads to a page, and gives it.
func (p *practice) opens(link string) string {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, link, nil)
	require.NoError(p.t, err)
	res, err := client.Do(req)
	require.NoError(p.t, err)
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	require.NoError(p.t, err)
	require.Equal(p.t, 200, res.StatusCode, "%s: %s", link, page)
	require.Contains(p.t, res.Header.Get("Content-Type"), "text/html")
	return string(page)
}

// The links that connected products show open, and tell nothing to whoever has one.
func TestLinksToRecordsAndAppointmentsOpen(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient("+5511987654321")
	key := p.key()
	record := p.ok(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-02", "type": "consultation", "summary": "Back in a week"})
	p.ok(201, "POST", "/patients/"+id+"/appointments", object{"datetime": "2030-03-02T12:00:00Z", "service": "Cleaning"})
	found := key.get("/integrations/search/records?patient_id=" + id)["records"].([]any)[0].(object)
	require.Equal(t, record["url"], found["url"])
	made := key.get("/integrations/search/appointments?patient_id=" + id)["appointments"].([]any)[0].(object)
	for _, link := range []string{found["url"].(string), made["url"].(string)} {
		page := p.opens(link + "?lang=en")
		require.Contains(t, page, "finds it in the application")
		require.NotContains(t, page, "Back in a week")
		require.NotContains(t, page, "Cleaning")
	}
}

// A refresh waits for whoever changes its user, and sees that all logins were ended.
func TestARefreshWaitsForItsUser(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	session := p.as("").ok(200, "POST", "/auth/login", object{"email": p.email, "password": password})
	tx, err := p.hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `update clinic.users set updated_at = now() where email = $1`, p.email)
	require.NoError(t, err)
	answered := make(chan answer, 1)
	go func() {
		got, _ := p.as("").try("POST", "/auth/refresh", object{"refresh_token": session["refresh_token"]})
		answered <- got
	}()
	require.Eventually(t, func() bool {
		return p.count("select count(*) from pg_stat_activity where $1::uuid is not null and datname = current_database() and wait_event_type = 'Lock' and query like '%from clinic.users%'") == 1
	}, 30*time.Second, 20*time.Millisecond)
	_, err = tx.Exec(t.Context(), `update clinic.refresh_tokens set revoked_at = now()`)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, 401, (<-answered).status)
}
