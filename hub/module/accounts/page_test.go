package accounts_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module/accounts"
)

func form(pairs ...string) url.Values {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return values
}

// Opening the page leaves the link good, however often: programs that look at mail do.
func TestPageSetsPassword(t *testing.T) {
	t.Parallel()
	r := start(t)
	for purpose, title := range map[accounts.LinkPurpose]string{accounts.PurposeReset: "Set a new password", accounts.PurposeInvite: "Set your password"} {
		link := r.newLink(purpose)
		for range 3 {
			for _, method := range []string{"GET", "HEAD"} {
				got := r.visit(method, link, nil, "Accept-Language", "en")
				require.Equal(t, 200, got.status)
				if method == "GET" {
					require.Contains(t, got.text, "<h1>"+title+"</h1>")
				}
			}
		}
		address, _, _ := strings.Cut(link, "?")
		token := tokenOf(t, link)
		for wrong, pairs := range map[string][]string{
			"Choose a password of 8 to 128 characters.": {"token", token, "password", "seven77", "again", "seven77"},
			"The two passwords are not the same.":       {"token", token, "password", "another horse", "again", "another house"},
		} {
			got := r.visit("POST", address+"?lang=en", form(pairs...))
			require.Equal(t, 422, got.status)
			require.Contains(t, got.text, wrong)
			require.Contains(t, got.text, `aria-invalid="true"`)
			require.Contains(t, got.text, `value="`+token+`"`, "the form is there again")
			require.NotContains(t, got.text, "another horse")
		}
		set := form("token", token, "password", "another horse", "again", "another horse")
		got := r.visit("POST", address+"?lang=en", set)
		require.Equal(t, 200, got.status)
		require.Contains(t, got.text, "<h1>Password saved</h1>")
		require.NotContains(t, got.text, token)
		_, err := r.login("10.0.0.1", r.ana.Email, "another horse")
		require.NoError(t, err)
		for _, late := range []page{r.visit("POST", address+"?lang=en", set), r.visit("GET", link+"&lang=en", nil)} {
			require.Equal(t, 404, late.status)
			require.Contains(t, late.text, "<h1>This link is no longer good</h1>")
			require.Contains(t, late.text, `name="email"`, "and how to get another one")
			require.NotContains(t, late.text, `type="password"`)
		}
	}
}

func TestPageSendsAnotherLink(t *testing.T) {
	t.Parallel()
	r := start(t)
	address := r.hub.URL + "/club/password?lang=es"
	require.Contains(t, r.visit("GET", address, nil).text, `<h1>¿Olvidaste la contraseña?</h1>`)
	got := r.visit("POST", address, form("email", `"><b>`))
	require.Equal(t, 422, got.status)
	require.Contains(t, got.text, `value="&#34;&gt;&lt;b&gt;"`)
	require.Contains(t, got.text, "Escribe un correo")
	sent := r.visit("POST", address, form("email", "nobody@example.com"))
	require.Equal(t, 200, sent.status)
	require.Equal(t, sent.text, r.visit("POST", address, form("email", r.ana.Email)).text)
	require.Equal(t, 200, r.visit("GET", r.emailedLink(1), nil).status)
	expired := r.emailedLink(1)
	r.hub.Clock.Advance(time.Hour)
	require.Equal(t, 404, r.visit("GET", expired, nil).status)
}

func TestPageHeadersKeepTheLinkPrivate(t *testing.T) {
	t.Parallel()
	r := start(t)
	link := r.newLink(accounts.PurposeReset)
	for _, got := range []page{r.visit("GET", link, nil), r.visit("GET", r.hub.URL+"/club/password?token=x", nil), r.visit("PUT", link, nil)} {
		require.Equal(t, "noindex, nofollow", got.header.Get("X-Robots-Tag"))
		require.Equal(t, "no-referrer", got.header.Get("Referrer-Policy"))
		require.Equal(t, "no-store", got.header.Get("Cache-Control"))
		require.Equal(t, "DENY", got.header.Get("X-Frame-Options"))
		require.Regexp(t, `^default-src 'none'; style-src 'sha256-[^']+'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$`, got.header.Get("Content-Security-Policy"))
		require.Contains(t, got.text, `<meta name="robots" content="noindex, nofollow">`)
		require.NotContains(t, got.text, "<script")
		require.NotContains(t, got.text, "://", "nothing from elsewhere")
	}
	require.Equal(t, 405, r.visit("PUT", link, nil).status)
	require.NotContains(t, r.hub.Log(), tokenOf(t, link))
}

// The page speaks three languages, says everything in each, and keeps the token when
// another one is chosen.
func TestPageLanguages(t *testing.T) {
	t.Parallel()
	r := start(t)
	link := r.newLink(accounts.PurposeReset)
	for header, want := range map[string][2]string{
		"":                 {"pt-BR", "Defina uma nova senha"},
		"fr, en;q=0.5":     {"en", "Set a new password"},
		"es-AR,es;q=0.9":   {"es", "Define una nueva contraseña"},
		"pt-PT, en;q=0.99": {"pt-BR", "Defina uma nova senha"},
	} {
		got := r.visit("GET", link, nil, "Accept-Language", header)
		require.Equal(t, want[0], got.header.Get("Content-Language"), header)
		require.Contains(t, got.text, `<html lang="`+want[0]+`">`)
		require.Contains(t, got.text, "<h1>"+want[1]+"</h1>")
		require.Contains(t, got.text, `token=`+tokenOf(t, link)+`" lang="en"`)
	}
	require.Contains(t, r.visit("GET", link+"&lang=es", nil, "Accept-Language", "en").text, `action="/club/password?lang=es"`)
}

func TestPageLimitsAndFailures(t *testing.T) {
	t.Parallel()
	r := start(t, "HUB_PRODUCT_LIMITS=club.passwords=3-H")
	link := r.newLink(accounts.PurposeReset)
	r.sql(`alter table mailed_tokens rename to put_away`)
	require.Equal(t, 500, r.visit("GET", link, nil).status)
	r.sql(`create function fails(uuid) returns boolean language plpgsql volatile as $$ begin raise exception using errcode = '53200'; end $$`)
	r.sql(`create view mailed_tokens as select * from put_away where fails(user_id)`)
	got := r.visit("GET", link, nil, "Accept-Language", "en")
	require.Equal(t, 503, got.status)
	require.Equal(t, "5", got.header.Get("Retry-After"))
	require.Contains(t, got.text, "Your link stays good")
	r.sql(`drop view mailed_tokens`)
	r.sql(`alter table put_away rename to mailed_tokens`)
	require.Equal(t, 200, r.visit("GET", link, nil).status)
	got = r.visit("GET", link, nil, "Accept-Language", "en")
	require.Equal(t, 429, got.status)
	require.Regexp(t, `^[0-9]+$`, got.header.Get("Retry-After"))
	require.Regexp(t, `Wait \d+ min`, got.text)
}
