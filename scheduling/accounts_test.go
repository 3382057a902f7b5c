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
	s := NewOrganization(t)
	me := s.OK(200, "GET", "/auth/me", nil)
	require.Equal(t, s.Email, me["email"])
	require.Equal(t, "owner", me["role"])
	require.Equal(t, s.ID.String(), me["org_id"])
	require.Equal(t, true, me["is_active"])
	require.Contains(t, me, "phone")
	require.Contains(t, me, "avatar_url")

	stranger := s.As("")
	session := stranger.OK(200, "POST", "/auth/login", object{"email": strings.ToUpper(s.Email), "password": Password})
	require.Equal(t, "bearer", session["token_type"])
	require.EqualValues(t, 1800, session["expires_in"])
	s.As(session["access_token"].(string)).OK(200, "GET", "/auth/me", nil)

	got := stranger.Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": s.Email, "password": "wrong password"})
	require.Equal(t, "Invalid credentials", got["detail"])
	stranger.Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": "nobody@example.com", "password": Password})
	stranger.Refused(401, "unauthorized", "GET", "/auth/me", nil)
	s.As("nonsense").Refused(401, "invalid_token", "GET", "/auth/me", nil)
	s.Hub.Clock.Advance(31 * time.Minute)
	require.Equal(t, 401, s.Call("GET", "/auth/me", nil).Status, "expired")
}

func TestRegistrationIsRefused(t *testing.T) {
	t.Parallel()
	s := NewOrganization(t)
	stranger := s.As("")
	draft := func(change object) object {
		d := object{"org_name": "Other", "org_slug": "other-" + s.Slug, "name": "O", "email": "other-" + s.Email, "password": Password}
		for name, value := range change {
			if d[name] = value; value == nil {
				delete(d, name)
			}
		}
		return d
	}
	got := stranger.Refused(400, "email_taken", "POST", "/auth/register", draft(object{"email": strings.ToUpper(s.Email)}))
	require.Equal(t, "Email already registered", got["detail"])
	got = stranger.Refused(400, "slug_taken", "POST", "/auth/register", draft(object{"org_slug": s.Slug}))
	require.Equal(t, "Organization slug already taken", got["detail"])
	stranger.Invalid("body.email", "POST", "/auth/register", draft(object{"email": "not an address"}))
	stranger.Invalid("body.org_slug", "POST", "/auth/register", draft(object{"org_slug": "admin"}))
	stranger.Invalid("body.password", "POST", "/auth/register", draft(object{"password": "short"}))
	for _, field := range []string{"org_name", "org_slug", "name", "email", "password"} {
		stranger.Refused(422, "validation_failed", "POST", "/auth/register", draft(object{field: nil}))
	}
	stranger.Refused(400, "json_syntax", "POST", "/auth/register", `{"org_name":`)
	stranger.OK(201, "POST", "/auth/register", draft(object{"phone": "+5511987654321", "role": "staff", "org_id": s.ID}))
}

func TestRefreshRotatesAndReuseEndsTheLogin(t *testing.T) {
	t.Parallel()
	s := NewOrganization(t)
	stranger := s.As("")
	first := stranger.OK(200, "POST", "/auth/login", object{"email": s.Email, "password": Password})
	second := stranger.OK(200, "POST", "/auth/refresh", object{"refresh_token": first["refresh_token"]})
	require.NotEqual(t, first["refresh_token"], second["refresh_token"])
	s.As(second["access_token"].(string)).OK(200, "GET", "/auth/me", nil)
	got := stranger.Refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": s.Token})
	require.Equal(t, "Invalid refresh token", got["detail"])
	s.As(second["refresh_token"].(string)).Refused(401, "invalid_token", "GET", "/auth/me", nil)

	stranger.Refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": first["refresh_token"]})
	stranger.Refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": second["refresh_token"]})
	s.As(second["access_token"].(string)).Refused(401, "invalid_token", "GET", "/auth/me", nil)
	s.OK(200, "GET", "/auth/me", nil) // another login
}

// ResetToken is the token of the last link sent to an address, once those asked for are
// sent. The link opens the page that it promises.
func (s *Organization) ResetToken(to string) string {
	s.T.Helper()
	require.Eventually(s.T, func() bool { return s.Count("hub.jobs where job = 'forgotten-passwords'") == 0 }, 30*time.Second, 20*time.Millisecond)
	mails := s.Hub.Mails(to)
	require.NotEmpty(s.T, mails, to)
	_, token, found := strings.Cut(mails[0], s.Hub.URL+"/reset-password?token=")
	require.True(s.T, found, mails[0])
	token, _, _ = strings.Cut(token, "\n")
	page := s.As("").Call("GET", s.Hub.URL+"/reset-password?token="+token, nil)
	require.Equal(s.T, 200, page.Status, page.Text)
	require.Contains(s.T, page.Text, `type="password"`)
	token, err := url.QueryUnescape(token)
	require.NoError(s.T, err)
	return token
}

func TestPasswordIsResetByMail(t *testing.T) {
	t.Parallel()
	s := NewOrganization(t)
	stranger := s.As("")
	said := stranger.OK(200, "POST", "/auth/forgot-password", object{"email": "nobody-at-all@example.com"})
	require.Equal(t, said, stranger.OK(200, "POST", "/auth/forgot-password", object{"email": s.Email}))
	stranger.Invalid("body.email", "POST", "/auth/forgot-password", object{"email": "nonsense"})
	token := s.ResetToken(s.Email)
	stranger.Refused(422, "validation_failed", "POST", "/auth/reset-password", object{"token": token, "new_password": "short"})
	stranger.OK(200, "POST", "/auth/reset-password", object{"token": token, "new_password": "another password"})
	s.Refused(401, "invalid_token", "GET", "/auth/me", nil)
	stranger.Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": s.Email, "password": Password})
	stranger.OK(200, "POST", "/auth/login", object{"email": s.Email, "password": "another password"})
	got := stranger.Refused(400, "invalid_reset_token", "POST", "/auth/reset-password", object{"token": token, "password": "a third password"})
	require.Equal(t, "Invalid or expired token", got["detail"])

	stranger.OK(200, "POST", "/auth/forgot-password", object{"email": s.Email})
	late := s.ResetToken(s.Email)
	s.Hub.Clock.Advance(61 * time.Minute)
	stranger.Refused(400, "invalid_reset_token", "POST", "/auth/reset-password", object{"token": late, "password": "a third password"})
}

func TestTenBadLoginsAreEnough(t *testing.T) {
	t.Parallel()
	s := NewOrganization(t)
	stranger := s.As("")
	for range 10 {
		stranger.Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": s.Email, "password": "wrong password"})
	}
	got := stranger.Call("POST", "/auth/login", object{"email": s.Email, "password": Password})
	require.Equal(t, 429, got.Status)
	require.Equal(t, "900", got.Header.Get("Retry-After"))
	s.Hub.Clock.Advance(15 * time.Minute)
	stranger.OK(200, "POST", "/auth/login", object{"email": s.Email, "password": Password})
}

func TestUsersAndRoles(t *testing.T) {
	t.Parallel()
	s := NewOrganization(t)
	staff := s.OK(201, "POST", "/users", object{"name": "Edu", "email": "edu-" + s.Email, "role": "staff"})
	stranger := s.As("")
	stranger.Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": "edu-" + s.Email, "password": ""})
	stranger.OK(200, "POST", "/auth/reset-password", object{"token": s.ResetToken("edu-" + s.Email), "new_password": Password})
	edu := s.As(stranger.OK(200, "POST", "/auth/login", object{"email": "edu-" + s.Email, "password": Password})["access_token"].(string))
	require.Equal(t, "staff", edu.OK(200, "GET", "/auth/me", nil)["role"])
	edu.Refused(403, "admin_only", "GET", "/users", nil)
	edu.Refused(403, "admin_only", "PUT", "/organization", object{"name": "Mine"})
	edu.Refused(403, "admin_only", "PUT", "/organization/settings", object{"auto_confirm": true})
	edu.OK(200, "GET", "/organization", nil)
	require.Len(t, s.List("/users"), 2)

	path := "/users/" + staff["id"].(string)
	s.OK(200, "PUT", path, object{"role": "admin"})
	edu.Refused(403, "owner_only", "POST", "/users", object{"name": "X", "email": "x-" + s.Email, "role": "owner"})
	edu.Refused(403, "owner_only", "PUT", "/organization", object{"slug": "new-" + s.Slug})
	owner := s.OK(200, "GET", "/auth/me", nil)["id"].(string)
	edu.Refused(403, "owner_only", "DELETE", "/users/"+owner, nil)
	s.Refused(409, "last_owner", "DELETE", "/users/"+owner, nil)
	s.Refused(409, "last_owner", "PUT", "/users/"+owner, object{"is_active": false})
	s.OK(200, "PUT", path, object{"is_active": false})
	edu.Refused(401, "invalid_token", "GET", "/auth/me", nil)
	stranger.Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": "edu-" + s.Email, "password": Password})
	s.OK(204, "DELETE", path, nil)
	s.Refused(404, "not_found", "DELETE", path, nil)
}

func TestOrganizationAndSettings(t *testing.T) {
	t.Parallel()
	s := NewOrganization(t)
	org := s.OK(200, "GET", "/organization", nil)
	require.Equal(t, "free", org["plan"])
	require.Equal(t, "America/Sao_Paulo", org["timezone"])
	require.Equal(t, []any{s.Email}, org["settings"].(object)["notify_emails"])
	org = s.OK(200, "PUT", "/organization", object{"name": "New", "phone": "+5511987654321", "timezone": "Asia/Tokyo", "currency": "JPY", "plan": "gold"})
	require.Equal(t, "New", org["name"])
	require.Equal(t, "free", org["plan"])
	require.Contains(t, org["created_at"], "+09:00")
	require.Nil(t, s.OK(200, "PUT", "/organization", object{"phone": nil})["phone"])
	for location, body := range map[string]object{
		"body.timezone": {"timezone": "Local"}, "body.currency": {"currency": "EURO"}, "body.phone": {"phone": "11 98765"},
		"body.slug": {"slug": "docs"}, "body.name": {"name": "  "}, "body.email": {"email": "x"}, "body.locale": {"locale": "?"},
	} {
		s.Invalid(location, "PUT", "/organization", body)
	}
	s.Invalid("body.timezone", "PUT", "/organization", object{"timezone": ""})

	settings := s.OK(200, "PUT", "/organization/settings", object{
		"min_notice_minutes": 120, "max_advance_days": 90, "reminder_channels": []string{"email", "whatsapp"},
		"booking_page": object{"primary_color": "#112233", "welcome_message": "Hi"},
	})
	require.EqualValues(t, 120, settings["min_notice_minutes"])
	settings = s.OK(200, "PUT", "/organization/settings", object{"max_advance_days": nil, "booking_page": object{"welcome_message": nil}})
	require.Nil(t, settings["max_advance_days"])
	require.Equal(t, object{"primary_color": "#112233", "show_prices": true}, settings["booking_page"])
	require.Equal(t, settings, s.OK(200, "GET", "/organization", nil)["settings"])
	for location, body := range map[string]object{
		"body.min_notice_minutes": {"min_notice_minutes": -1}, "body.max_advance_days": {"max_advance_days": 731},
		"body.reminder_offsets_minutes[1]": {"reminder_offsets_minutes": []int{60, 5}}, "body.inactive_after_days": {"inactive_after_days": 1},
		"body.booking_page.primary_color": {"booking_page": object{"primary_color": "red"}}, "body.time_format": {"time_format": "13h"},
		"body.notify_emails[0]": {"notify_emails": []string{"x"}}, "body.week_start": {"week_start": 7},
	} {
		s.Invalid(location, "PUT", "/organization/settings", body)
	}
}

func TestAnOldSlugStaysForAWhile(t *testing.T) {
	t.Parallel()
	s := NewOrganization(t)
	s.OK(200, "PUT", "/organization", object{"slug": "moved-" + s.Slug})
	draft := object{"org_name": "O", "org_slug": s.Slug, "name": "O", "email": "thief-" + s.Email, "password": Password}
	s.As("").Refused(400, "slug_taken", "POST", "/auth/register", draft)
	s.Hub.Clock.Advance(91 * 24 * time.Hour)
	s.As("").OK(201, "POST", "/auth/register", draft)
}

func TestLogo(t *testing.T) {
	t.Parallel()
	s := NewOrganization(t)
	upload := func(field string, content []byte) answer {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		part, err := form.CreateFormFile(field, "../../logo.svg")
		require.NoError(t, err)
		_, err = part.Write(content)
		require.NoError(t, err)
		require.NoError(t, form.Close())
		return s.Call("POST", "/organization/logo", body.String(), "Content-Type", form.FormDataContentType())
	}
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 30, 20))))
	var links []any
	for range 2 {
		got := upload("file", picture.Bytes())
		require.Equal(t, 200, got.Status, got.Text)
		require.Equal(t, got.Body["logo_url"], s.OK(200, "GET", "/organization", nil)["logo_url"])
		links = append(links, got.Body["logo_url"])
	}
	require.NotEqual(t, links[0], links[1])
	require.Len(t, s.Hub.Files(), 1, "the one before is gone")
	noise := image.NewRGBA(image.Rect(0, 0, 700, 700)) // more than a JSON body may have
	_, _ = rand.Read(noise.Pix)
	var large bytes.Buffer
	require.NoError(t, png.Encode(&large, noise))
	require.Greater(t, large.Len(), 1<<20)
	require.Less(t, large.Len(), 2<<20)
	require.Equal(t, 200, upload("file", large.Bytes()).Status)
	padded := func(size int) []byte { return append(picture.Bytes(), make([]byte, size-picture.Len())...) }
	require.Equal(t, 415, upload("file", padded(2<<20)).Status, "not too large; but bytes behind the picture")
	for _, size := range []int{2<<20 + 1, 3 << 20, 20 << 20} {
		got := upload("file", padded(size))
		require.Equal(t, 413, got.Status, "%d bytes: %s", size, got.Text)
		require.Equal(t, "file_too_large", got.Body["code"], got.Text)
	}
	require.Len(t, s.Hub.Files(), 1)
	require.Equal(t, 415, upload("file", []byte("<svg xmlns='http://www.w3.org/2000/svg'/>")).Status)
	require.Equal(t, 422, upload("other", picture.Bytes()).Status)
	s.OK(204, "DELETE", "/organization/logo", nil)
	require.Nil(t, s.OK(200, "GET", "/organization", nil)["logo_url"])
	require.Empty(t, s.Hub.Files())
}

// The link that connected products show to an appointment opens, and tells nothing to
// whoever has it.
func TestLinksToAppointmentsOpen(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	id := p.Book(0)
	found := p.OK(200, "GET", "/integrations/search/appointments?phone=11987654321", nil)["appointments"].([]any)[0].(object)
	require.Equal(t, p.Hub.URL+"/appointments/"+id, found["url"])
	for language, title := range map[string]string{"pt": "Um agendamento", "en": "An appointment", "es": "Una cita"} {
		page := p.As("").Call("GET", found["url"].(string), nil, "Accept-Language", language)
		require.Equal(t, 200, page.Status)
		require.Contains(t, page.Text, "<h1>"+title+"</h1>")
		require.NotContains(t, page.Text, "Caio")
	}
	require.Equal(t, 200, p.As("").Call("GET", p.Hub.URL+"/appointments/"+p.ClientID, nil).Status, "nor whether it is there")
	require.Equal(t, 404, p.As("").Call("GET", p.Hub.URL+"/appointments/x", nil).Status)
	require.Equal(t, 405, p.As("").Call("POST", found["url"].(string), nil).Status)
}

// A refresh waits for whoever changes its user, and sees that all logins were ended.
func TestARefreshWaitsForItsUser(t *testing.T) {
	t.Parallel()
	s := NewOrganization(t)
	session := s.As("").OK(200, "POST", "/auth/login", object{"email": s.Email, "password": Password})
	tx, err := s.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `update scheduling.users set updated_at = now() where email = $1`, s.Email)
	require.NoError(t, err)
	answered := make(chan answer, 1)
	go func() {
		got, _ := s.As("").Try("POST", "/auth/refresh", object{"refresh_token": session["refresh_token"]})
		answered <- got
	}()
	require.Eventually(t, func() bool {
		return s.Count("pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from scheduling.users%'") == 1
	}, 30*time.Second, 20*time.Millisecond)
	_, err = tx.Exec(t.Context(), `update scheduling.refresh_tokens set revoked_at = now()`)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, 401, (<-answered).Status)
}
