package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/auth"
)

// browser is a logged-in console: a cookie, and the token that its writes repeat.
type browser struct {
	*bundle
	cookie, csrf string
}

func (b *bundle) browser(email string) *browser {
	b.t.Helper()
	got := b.call("POST", "/session", "", `{"email":"`+email+`","password":"`+adminPassword+`"}`)
	require.Equal(b.t, 200, got.status, got.text)
	cookie, _, _ := strings.Cut(got.header.Get("Set-Cookie"), ";")
	return &browser{b, cookie, got.body["csrf_token"].(string)}
}

func (b *browser) headers(more ...string) []string {
	return append([]string{"Cookie", b.cookie}, more...)
}

// "login form -> HttpOnly SameSite=Strict cookie, CSRF token on writes, 12 h".
func TestBrowserSession(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	got := b.call("POST", "/session", "", `{"email":"`+supportEmail+`","password":"`+adminPassword+`"}`)
	require.Equal(t, 200, got.status)
	cookie, err := http.ParseSetCookie(got.header.Get("Set-Cookie"))
	require.NoError(t, err)
	require.Equal(t, "hub_session", cookie.Name)
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.Equal(t, "/", cookie.Path)
	require.Equal(t, 12*60*60, cookie.MaxAge)
	require.False(t, cookie.Secure, "this hub has no https")
	require.NotContains(t, got.text, cookie.Value, "scripts never see it")
	var stored int
	require.NoError(t, b.db.QueryRow(context.Background(), `select count(*) from hub.refresh_tokens where encode(hash, 'escape') like '%' || $1 || '%'`, cookie.Value).Scan(&stored))
	require.Zero(t, stored, "only its hash is stored")

	s := &browser{b, "hub_session=" + cookie.Value, got.body["csrf_token"].(string)}
	session := b.ok(200, "GET", "/session", "", "", s.headers()...)
	require.Equal(t, s.csrf, session["csrf_token"])
	require.Equal(t, supportEmail, session["operator"].(map[string]any)["email"])
	require.Equal(t, "test", session["version"])
	require.Equal(t, b.clock.Now().Add(auth.BrowserSessionTTL).UTC().Format(time.RFC3339), session["expires_at"])
	b.ok(200, "GET", "/tenants", "", "", s.headers()...)
	b.refused(403, "admin_only", "POST", "/tenants", "", bodies["tenants.create"], s.headers("X-CSRF-Token", s.csrf)...)

	bearer := b.ok(200, "GET", "/session", b.admin, "")
	require.Nil(t, bearer["csrf_token"])
	require.Nil(t, bearer["expires_at"])

	b.clock.Advance(auth.BrowserSessionTTL - time.Second)
	b.ok(200, "GET", "/session", "", "", s.headers()...)
	b.clock.Advance(time.Second)
	b.refused(401, "invalid_session", "GET", "/session", "", "", s.headers()...)
}

// "Cookie accepted by the guard only with the CSRF header on non-GET".
func TestWritesOfABrowserNeedTheToken(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	s, other := b.browser(adminEmail), b.browser(adminEmail)
	body := bodies["tenants.create"]
	for _, row := range b.api.Rows() {
		if row.Method != http.MethodGet && !row.Public && !row.KeysOnly {
			b.refused(403, "csrf_token", row.Method, b.path(row, b.tenant[0].String()), "", "", s.headers()...)
		}
	}
	b.refused(403, "csrf_token", "POST", "/tenants", "", body, s.headers("X-CSRF-Token", other.csrf)...)
	b.refused(403, "csrf_token", "POST", "/tenants", "", body, s.headers("X-CSRF-Token", s.csrf+"x")...)
	b.refused(403, "cross_site", "GET", "/tenants", "", "", s.headers("Sec-Fetch-Site", "cross-site")...)
	b.ok(200, "GET", "/tenants", "", "", s.headers("Sec-Fetch-Site", "same-origin")...)
	b.ok(201, "POST", "/tenants", "", body, s.headers("X-CSRF-Token", s.csrf)...)
	entry := items(b.ok(200, "GET", "/audit?action=tenants.create&limit=1", "", "", s.headers()...))[0]
	require.Equal(t, adminEmail, entry["actor"].(map[string]any)["label"])
	b.refused(401, "invalid_session", "GET", "/tenants", "", "", "Cookie", "hub_session=hubs_nothing")
	b.refused(401, "unauthorized", "GET", "/tenants", "", "", "Cookie", "other="+s.cookie)
	b.refused(401, "invalid_token", "GET", "/tenants", strings.TrimPrefix(s.cookie, "hub_session="), "")
	b.refused(401, "invalid_refresh_token", "POST", "/auth/refresh", "", `{"refresh_token":"`+strings.TrimPrefix(s.cookie, "hub_session=")+`"}`)
	b.ok(200, "GET", "/session", "", "", s.headers()...)
	refresh := b.login(adminEmail, adminPassword)["refresh_token"].(string)
	b.refused(401, "invalid_session", "GET", "/tenants", "", "", "Cookie", "hub_session="+refresh)
}

// "revocable (logout, disabled operator ends at once)".
func TestBrowserSessionEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, other := b.browser(supportEmail), b.browser(supportEmail)
	got := b.call("DELETE", "/session", "", "", s.headers("X-CSRF-Token", s.csrf)...)
	require.Equal(t, 204, got.status)
	require.Contains(t, got.header.Get("Set-Cookie"), "Max-Age=0")
	b.refused(401, "invalid_session", "GET", "/session", "", "", s.headers()...)
	me := b.ok(200, "GET", "/session", "", "", other.headers()...)["operator"].(map[string]any)

	stream := b.call("GET", "/events/stream", "", "", other.headers()...)
	require.Equal(t, 200, stream.status, "the live tail takes the cookie")
	b.ok(200, "PUT", "/operators/"+me["id"].(string), b.admin, `{"email":"`+supportEmail+`","name":"S","role":"support","disabled":true}`)
	b.refused(401, "invalid_session", "GET", "/session", "", "", other.headers()...)
}

// "limits on logins as for the existing login", which they share; failed ones are recorded.
func TestBrowserLoginsAreLimited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wrong := `{"email":"` + supportEmail + `","password":"not the password"}`
	for i := range 10 {
		path := []string{"/session", "/auth/login"}[i%2]
		b.refused(401, "invalid_credentials", "POST", path, "", wrong, "X-Forwarded-For", "192.0.2.7")
	}
	limited := b.refused(429, "too_many_logins", "POST", "/session", "", strings.Replace(wrong, "not the password", adminPassword, 1), "X-Forwarded-For", "192.0.2.7")
	require.NotEmpty(t, limited.header.Get("Retry-After"))
	require.Empty(t, limited.header.Get("Set-Cookie"))
	// Within a minute, counted entries have no order.
	var statuses []any
	for _, entry := range items(b.ok(200, "GET", "/audit?action=session.create", b.admin, "")) {
		statuses = append(statuses, entry["status"])
	}
	require.Contains(t, statuses, 429.0)
	require.Contains(t, statuses, 401.0)
}
