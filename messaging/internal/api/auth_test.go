package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/messagingtest"
)

// A refresh token, in the cookie or in the body, is traded for a new pair once. Using it a second
// time ends the login: one of the two who have it stole it.
func TestRefresh(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	anybody := company.As("")
	logIn := func() moduletest.Response {
		answer := anybody.Call("POST", "/auth/login", object{"email": company.Email, "password": messagingtest.Password})
		require.Equal(t, 200, answer.Status, answer.Text)
		return answer
	}
	cookieOf := func(answer moduletest.Response) *http.Cookie {
		cookies := (&http.Response{Header: answer.Header}).Cookies()
		require.Len(t, cookies, 1)
		cookie := cookies[0]
		require.Equal(t, []any{"jrt", true, http.SameSiteStrictMode, answer.Body["refreshToken"]}, []any{cookie.Name, cookie.HttpOnly, cookie.SameSite, cookie.Value})
		return cookie
	}
	trades := map[string]func(earlier moduletest.Response) moduletest.Response{
		"by the cookie": func(earlier moduletest.Response) moduletest.Response {
			return anybody.Call("POST", "/auth/refresh_token", nil, "Cookie", "jrt="+cookieOf(earlier).Value)
		},
		"by the body": func(earlier moduletest.Response) moduletest.Response {
			return anybody.Call("POST", "/auth/refresh_token", object{"refreshToken": earlier.Body["refreshToken"]}, "Cookie", "jrt=of-another-login")
		},
	}
	for name, trade := range trades {
		first := logIn()
		second := trade(first)
		require.Equal(t, 200, second.Status, "%s: %s", name, second.Text)
		require.NotEqual(t, first.Body["refreshToken"], second.Body["refreshToken"], name)
		require.Equal(t, first.Body["user"], second.Body["user"], name)
		require.True(t, strings.HasPrefix(company.Hub.Base, "http") && strings.HasSuffix(company.Hub.Base, cookieOf(second).Path), "only the product gets the cookie")
		third := trade(second)
		require.Equal(t, 200, third.Status, third.Text)
		current := company.As(third.Body["token"].(string))
		current.Get("/company")

		reused := trade(first)
		require.Equal(t, []any{401, "ERR_SESSION_EXPIRED"}, []any{reused.Status, reused.Body["error"]}, name)
		require.Equal(t, 401, trade(third).Status, "%s: the login has ended", name)
		current.Refused(401, "ERR_SESSION_EXPIRED", "GET", "/company", nil)
		company.Get("/company") // other logins go on
	}
	for _, body := range []any{nil, object{}, object{"refreshToken": ""}, object{"refreshToken": "msgr_x"}, object{"refreshToken": company.Token}} {
		anybody.Refused(401, "ERR_SESSION_EXPIRED", "POST", "/auth/refresh_token", body)
	}
}

// A token is valid for 15 minutes, a refresh token for 7 days.
func TestTokensExpire(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
	anybody := company.As("")
	first := anybody.Call("POST", "/auth/login", object{"email": company.Email, "password": messagingtest.Password})
	user := company.As(first.Body["token"].(string))
	company.Hub.Clock.Advance(15*time.Minute - 10*time.Second)
	user.Get("/company")
	company.Hub.Clock.Advance(20 * time.Second)
	user.Refused(401, "ERR_SESSION_EXPIRED", "GET", "/company", nil)
	refresh := func(earlier moduletest.Response) moduletest.Response {
		return anybody.Call("POST", "/auth/refresh_token", object{"refreshToken": earlier.Body["refreshToken"]})
	}
	second := refresh(first)
	require.Equal(t, 200, second.Status, second.Text)
	company.As(second.Body["token"].(string)).Get("/company")
	company.Hub.Clock.Advance(7*24*time.Hour + time.Minute)
	late := refresh(second)
	require.Equal(t, []any{401, "ERR_SESSION_EXPIRED"}, []any{late.Status, late.Body["error"]})
}
