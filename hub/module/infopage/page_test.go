package infopage_test

import (
	"html/template"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/module/infopage"
)

// response is a response with its body.
type response struct {
	status int
	header http.Header
	text   string
}

func get(t *testing.T, method, address, language string) response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	require.NoError(t, err)
	req.Header.Set("Accept-Language", language)
	res, err := hubtest.HTTPClient.Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return response{res.StatusCode, res.Header, string(text)}
}

func TestPage(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tag, explicit := infopage.ChooseLanguage(r)
		text := "chosen by the browser"
		if explicit {
			text = "asked <for>"
		}
		if err := (infopage.Page{
			Status: 418, Lang: tag, Brand: "B&B", Title: "T", Text: text, Content: template.HTML("<form></form>"), Path: "/p", Query: url.Values{"token": {"a&b"}},
		}).Write(w); err != nil {
			http.Error(w, err.Error(), 500)
		}
	}))
	t.Cleanup(server.Close)
	for language, want := range map[string]string{"": "pt-BR", "fr": "pt-BR", "fr, es;q=0.2": "es", "en-GB": "en"} {
		got := get(t, "GET", server.URL, language)
		require.Equal(t, 418, got.status)
		require.Equal(t, want, got.header.Get("Content-Language"), language)
		require.Contains(t, got.text, `<html lang="`+want+`">`)
		require.Contains(t, got.text, "chosen by the browser")
		require.Contains(t, got.text, "<form></form>")
		require.Contains(t, got.text, "<title>T · B&amp;B</title>")
		require.Contains(t, got.text, `<a href="/p?lang=es&amp;token=a%26b" lang="es" hreflang="es"`)
		require.Equal(t, "no-referrer", got.header.Get("Referrer-Policy"))
		require.Equal(t, "noindex, nofollow", got.header.Get("X-Robots-Tag"))
		require.Equal(t, "no-store", got.header.Get("Cache-Control"))
	}
	got := get(t, "GET", server.URL+"?lang=en", "es")
	require.Equal(t, "en", got.header.Get("Content-Language"))
	require.Contains(t, got.text, "asked &lt;for&gt;")
}

func TestLinkLandingPage(t *testing.T) {
	t.Parallel()
	texts := map[string]infopage.Text{infopage.Portuguese: {"Um", "texto"}, infopage.English: {"One", "text"}, infopage.Spanish: {"Uno", "texto"}}
	server := httptest.NewServer(infopage.LinkLandingPage("Club", texts))
	t.Cleanup(server.Close)
	for method, status := range map[string]int{"GET": 200, "HEAD": 200, "POST": 405} {
		got := get(t, method, server.URL+"/things/"+uuid.NewString(), "en")
		require.Equal(t, status, got.status, method)
	}
	got := get(t, "GET", server.URL+"/things/"+uuid.NewString()+"?lang=es", "en")
	require.Contains(t, got.text, "<h1>Uno</h1>")
	for _, path := range []string{"/things/", "/things/x", "/things"} {
		got := get(t, "GET", server.URL+path, "en")
		require.Equal(t, 404, got.status, path)
	}
}
