package scheduling_test

import (
	"bytes"
	"crypto/rand"
	"image"
	"image/png"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRegisterAndLogIn(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	me := s.ok(200, "GET", "/auth/me", nil)
	require.Equal(t, s.email, me["email"])
	require.Equal(t, "owner", me["role"])
	require.Equal(t, s.org.String(), me["org_id"])
	require.Equal(t, true, me["is_active"])
	require.Contains(t, me, "phone")
	require.Contains(t, me, "avatar_url")

	stranger := s.as("")
	session := stranger.ok(200, "POST", "/auth/login", object{"email": strings.ToUpper(s.email), "password": password})
	require.Equal(t, "bearer", session["token_type"])
	require.EqualValues(t, 1800, session["expires_in"])
	s.as(session["access_token"].(string)).ok(200, "GET", "/auth/me", nil)

	got := stranger.refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": s.email, "password": "wrong password"})
	require.Equal(t, "Invalid credentials", got["detail"])
	stranger.refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": "nobody@example.com", "password": password})
	stranger.refused(401, "unauthorized", "GET", "/auth/me", nil)
	s.as("nonsense").refused(401, "invalid_token", "GET", "/auth/me", nil)
	s.hub.Clock.Advance(31 * time.Minute)
	require.Equal(t, 401, s.call("GET", "/auth/me", nil).status, "expired")
}

func TestRegistrationIsRefused(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	stranger := s.as("")
	draft := func(change object) object {
		d := object{"org_name": "Other", "org_slug": "other-" + s.slug, "name": "O", "email": "other-" + s.email, "password": password}
		for name, value := range change {
			if d[name] = value; value == nil {
				delete(d, name)
			}
		}
		return d
	}
	got := stranger.refused(400, "email_taken", "POST", "/auth/register", draft(object{"email": strings.ToUpper(s.email)}))
	require.Equal(t, "Email already registered", got["detail"])
	got = stranger.refused(400, "slug_taken", "POST", "/auth/register", draft(object{"org_slug": s.slug}))
	require.Equal(t, "Organization slug already taken", got["detail"])
	stranger.invalid("body.email", "POST", "/auth/register", draft(object{"email": "not an address"}))
	stranger.invalid("body.org_slug", "POST", "/auth/register", draft(object{"org_slug": "admin"}))
	stranger.invalid("body.password", "POST", "/auth/register", draft(object{"password": "short"}))
	for _, field := range []string{"org_name", "org_slug", "name", "email", "password"} {
		stranger.refused(422, "validation_failed", "POST", "/auth/register", draft(object{field: nil}))
	}
	stranger.refused(400, "json_syntax", "POST", "/auth/register", `{"org_name":`)
	stranger.ok(201, "POST", "/auth/register", draft(object{"phone": "+5511987654321", "role": "staff", "org_id": s.org}))
}

func TestRefreshRotatesAndReuseEndsTheLogin(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	stranger := s.as("")
	first := stranger.ok(200, "POST", "/auth/login", object{"email": s.email, "password": password})
	second := stranger.ok(200, "POST", "/auth/refresh", object{"refresh_token": first["refresh_token"]})
	require.NotEqual(t, first["refresh_token"], second["refresh_token"])
	s.as(second["access_token"].(string)).ok(200, "GET", "/auth/me", nil)
	got := stranger.refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": s.token})
	require.Equal(t, "Invalid refresh token", got["detail"])
	s.as(second["refresh_token"].(string)).refused(401, "invalid_token", "GET", "/auth/me", nil)

	stranger.refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": first["refresh_token"]})
	stranger.refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": second["refresh_token"]})
	s.as(second["access_token"].(string)).refused(401, "invalid_token", "GET", "/auth/me", nil)
	s.ok(200, "GET", "/auth/me", nil) // another login
}

// mailed is the token of the last link sent to an address, once those asked for are
// sent. The link opens the page that it promises.
func (s *studio) mailed(to string) string {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.count("hub.jobs where job = 'forgotten-passwords'") == 0 }, 30*time.Second, 20*time.Millisecond)
	mails := s.hub.Emails(to)
	require.NotEmpty(s.t, mails, to)
	_, token, found := strings.Cut(mails[0], s.hub.URL+"/reset-password?token=")
	require.True(s.t, found, mails[0])
	token, _, _ = strings.Cut(token, "\n")
	page := s.as("").call("GET", s.hub.URL+"/reset-password?token="+token, nil)
	require.Equal(s.t, 200, page.status, page.text)
	require.Contains(s.t, page.text, `type="password"`)
	token, err := url.QueryUnescape(token)
	require.NoError(s.t, err)
	return token
}

func TestPasswordIsResetByMail(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	stranger := s.as("")
	said := stranger.ok(200, "POST", "/auth/forgot-password", object{"email": "nobody-at-all@example.com"})
	require.Equal(t, said, stranger.ok(200, "POST", "/auth/forgot-password", object{"email": s.email}))
	stranger.invalid("body.email", "POST", "/auth/forgot-password", object{"email": "nonsense"})
	token := s.mailed(s.email)
	stranger.refused(422, "validation_failed", "POST", "/auth/reset-password", object{"token": token, "new_password": "short"})
	stranger.ok(200, "POST", "/auth/reset-password", object{"token": token, "new_password": "another password"})
	s.refused(401, "invalid_token", "GET", "/auth/me", nil)
	stranger.refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": s.email, "password": password})
	stranger.ok(200, "POST", "/auth/login", object{"email": s.email, "password": "another password"})
	got := stranger.refused(400, "invalid_reset_token", "POST", "/auth/reset-password", object{"token": token, "password": "a third password"})
	require.Equal(t, "Invalid or expired token", got["detail"])

	stranger.ok(200, "POST", "/auth/forgot-password", object{"email": s.email})
	late := s.mailed(s.email)
	s.hub.Clock.Advance(61 * time.Minute)
	stranger.refused(400, "invalid_reset_token", "POST", "/auth/reset-password", object{"token": late, "password": "a third password"})
}

func TestTenBadLoginsAreEnough(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	stranger := s.as("")
	for range 10 {
		stranger.refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": s.email, "password": "wrong password"})
	}
	got := stranger.call("POST", "/auth/login", object{"email": s.email, "password": password})
	require.Equal(t, 429, got.status)
	require.Equal(t, "900", got.header.Get("Retry-After"))
	s.hub.Clock.Advance(15 * time.Minute)
	stranger.ok(200, "POST", "/auth/login", object{"email": s.email, "password": password})
}

func TestUsersAndRoles(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	staff := s.ok(201, "POST", "/users", object{"name": "Edu", "email": "edu-" + s.email, "role": "staff"})
	stranger := s.as("")
	stranger.refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": "edu-" + s.email, "password": ""})
	stranger.ok(200, "POST", "/auth/reset-password", object{"token": s.mailed("edu-" + s.email), "new_password": password})
	edu := s.as(stranger.ok(200, "POST", "/auth/login", object{"email": "edu-" + s.email, "password": password})["access_token"].(string))
	require.Equal(t, "staff", edu.ok(200, "GET", "/auth/me", nil)["role"])
	edu.refused(403, "admin_only", "GET", "/users", nil)
	edu.refused(403, "admin_only", "PUT", "/organization", object{"name": "Mine"})
	edu.refused(403, "admin_only", "PUT", "/organization/settings", object{"auto_confirm": true})
	edu.ok(200, "GET", "/organization", nil)
	require.Len(t, s.list("/users"), 2)

	path := "/users/" + staff["id"].(string)
	s.ok(200, "PUT", path, object{"role": "admin"})
	edu.refused(403, "owner_only", "POST", "/users", object{"name": "X", "email": "x-" + s.email, "role": "owner"})
	edu.refused(403, "owner_only", "PUT", "/organization", object{"slug": "new-" + s.slug})
	owner := s.ok(200, "GET", "/auth/me", nil)["id"].(string)
	edu.refused(403, "owner_only", "DELETE", "/users/"+owner, nil)
	s.refused(409, "last_owner", "DELETE", "/users/"+owner, nil)
	s.refused(409, "last_owner", "PUT", "/users/"+owner, object{"is_active": false})
	s.ok(200, "PUT", path, object{"is_active": false})
	edu.refused(401, "invalid_token", "GET", "/auth/me", nil)
	stranger.refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": "edu-" + s.email, "password": password})
	s.ok(204, "DELETE", path, nil)
	s.refused(404, "not_found", "DELETE", path, nil)
}

func TestOrganizationAndSettings(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	org := s.ok(200, "GET", "/organization", nil)
	require.Equal(t, "free", org["plan"])
	require.Equal(t, "America/Sao_Paulo", org["timezone"])
	require.Equal(t, []any{s.email}, org["settings"].(object)["notify_emails"])
	org = s.ok(200, "PUT", "/organization", object{"name": "New", "phone": "+5511987654321", "timezone": "Asia/Tokyo", "currency": "JPY", "plan": "gold"})
	require.Equal(t, "New", org["name"])
	require.Equal(t, "free", org["plan"])
	require.Contains(t, org["created_at"], "+09:00")
	require.Nil(t, s.ok(200, "PUT", "/organization", object{"phone": nil})["phone"])
	for location, body := range map[string]object{
		"body.timezone": {"timezone": "Local"}, "body.currency": {"currency": "EURO"}, "body.phone": {"phone": "11 98765"},
		"body.slug": {"slug": "docs"}, "body.name": {"name": "  "}, "body.email": {"email": "x"}, "body.locale": {"locale": "?"},
	} {
		s.invalid(location, "PUT", "/organization", body)
	}
	s.invalid("body.timezone", "PUT", "/organization", object{"timezone": ""})

	settings := s.ok(200, "PUT", "/organization/settings", object{
		"min_notice_minutes": 120, "max_advance_days": 90, "reminder_channels": []string{"email", "whatsapp"},
		"booking_page": object{"primary_color": "#112233", "welcome_message": "Hi"},
	})
	require.EqualValues(t, 120, settings["min_notice_minutes"])
	settings = s.ok(200, "PUT", "/organization/settings", object{"max_advance_days": nil, "booking_page": object{"welcome_message": nil}})
	require.Nil(t, settings["max_advance_days"])
	require.Equal(t, object{"primary_color": "#112233", "show_prices": true}, settings["booking_page"])
	require.Equal(t, settings, s.ok(200, "GET", "/organization", nil)["settings"])
	for location, body := range map[string]object{
		"body.min_notice_minutes": {"min_notice_minutes": -1}, "body.max_advance_days": {"max_advance_days": 731},
		"body.reminder_offsets_minutes[1]": {"reminder_offsets_minutes": []int{60, 5}}, "body.inactive_after_days": {"inactive_after_days": 1},
		"body.booking_page.primary_color": {"booking_page": object{"primary_color": "red"}}, "body.time_format": {"time_format": "13h"},
		"body.notify_emails[0]": {"notify_emails": []string{"x"}}, "body.week_start": {"week_start": 7},
	} {
		s.invalid(location, "PUT", "/organization/settings", body)
	}
}

func TestAnOldSlugStaysForAWhile(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.ok(200, "PUT", "/organization", object{"slug": "moved-" + s.slug})
	draft := object{"org_name": "O", "org_slug": s.slug, "name": "O", "email": "thief-" + s.email, "password": password}
	s.as("").refused(400, "slug_taken", "POST", "/auth/register", draft)
	s.hub.Clock.Advance(91 * 24 * time.Hour)
	s.as("").ok(201, "POST", "/auth/register", draft)
}

func TestLogo(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	upload := func(field string, content []byte) answer {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		part, err := form.CreateFormFile(field, "../../logo.svg")
		require.NoError(t, err)
		_, err = part.Write(content)
		require.NoError(t, err)
		require.NoError(t, form.Close())
		return s.call("POST", "/organization/logo", body.String(), "Content-Type", form.FormDataContentType())
	}
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 30, 20))))
	var links []any
	for range 2 {
		got := upload("file", picture.Bytes())
		require.Equal(t, 200, got.status, got.text)
		require.Equal(t, got.body["logo_url"], s.ok(200, "GET", "/organization", nil)["logo_url"])
		links = append(links, got.body["logo_url"])
	}
	require.NotEqual(t, links[0], links[1])
	require.Len(t, s.hub.Files(), 1, "the one before is gone")
	noise := image.NewRGBA(image.Rect(0, 0, 700, 700)) // more than a JSON body may have
	_, _ = rand.Read(noise.Pix)
	var large bytes.Buffer
	require.NoError(t, png.Encode(&large, noise))
	require.Greater(t, large.Len(), 1<<20)
	require.Less(t, large.Len(), 2<<20)
	require.Equal(t, 200, upload("file", large.Bytes()).status)
	padded := func(size int) []byte { return append(picture.Bytes(), make([]byte, size-picture.Len())...) }
	require.Equal(t, 415, upload("file", padded(2<<20)).status, "not too large; but bytes behind the picture")
	for _, size := range []int{2<<20 + 1, 3 << 20, 20 << 20} {
		got := upload("file", padded(size))
		require.Equal(t, 413, got.status, "%d bytes: %s", size, got.text)
		require.Equal(t, "file_too_large", got.body["code"], got.text)
	}
	require.Len(t, s.hub.Files(), 1)
	require.Equal(t, 415, upload("file", []byte("<svg xmlns='http://www.w3.org/2000/svg'/>")).status)
	require.Equal(t, 422, upload("other", picture.Bytes()).status)
	s.ok(204, "DELETE", "/organization/logo", nil)
	require.Nil(t, s.ok(200, "GET", "/organization", nil)["logo_url"])
	require.Empty(t, s.hub.Files())
}

// The link that connected products show to an appointment opens, and tells nothing to
// whoever has it.
func TestLinksToAppointmentsOpen(t *testing.T) {
	t.Parallel()
	p := opened(t)
	id := p.book(0)
	found := p.ok(200, "GET", "/integrations/search/appointments?phone=11987654321", nil)["appointments"].([]any)[0].(object)
	require.Equal(t, p.hub.URL+"/appointments/"+id, found["url"])
	for language, title := range map[string]string{"pt": "Um agendamento", "en": "An appointment", "es": "Una cita"} {
		page := p.as("").call("GET", found["url"].(string), nil, "Accept-Language", language)
		require.Equal(t, 200, page.status)
		require.Contains(t, page.text, "<h1>"+title+"</h1>")
		require.NotContains(t, page.text, "Caio")
	}
	require.Equal(t, 200, p.as("").call("GET", p.hub.URL+"/appointments/"+p.client, nil).status, "nor whether it is there")
	require.Equal(t, 404, p.as("").call("GET", p.hub.URL+"/appointments/x", nil).status)
	require.Equal(t, 405, p.as("").call("POST", found["url"].(string), nil).status)
}

// A refresh waits for whoever changes its user, and sees that all logins were ended.
func TestARefreshWaitsForItsUser(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	session := s.as("").ok(200, "POST", "/auth/login", object{"email": s.email, "password": password})
	tx, err := s.hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `update scheduling.users set updated_at = now() where email = $1`, s.email)
	require.NoError(t, err)
	answered := make(chan answer, 1)
	go func() {
		got, _ := s.as("").try("POST", "/auth/refresh", object{"refresh_token": session["refresh_token"]})
		answered <- got
	}()
	require.Eventually(t, func() bool {
		return s.count("pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from scheduling.users%'") == 1
	}, 30*time.Second, 20*time.Millisecond)
	_, err = tx.Exec(t.Context(), `update scheduling.refresh_tokens set revoked_at = now()`)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, 401, (<-answered).status)
}
