// Package sheet draws the small pages that products have for their users: one heading
// with a text or a form below, in three languages, without JavaScript and without
// anything from elsewhere.
package infopage

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"

	"integrationhub/hub/module/language"
)

//go:embed page.css page.html
var files embed.FS

var layout = template.Must(template.ParseFS(files, "page.html"))

// style is within the sheet; policy allows it.
var style, policy = func() (template.CSS, string) {
	text, err := files.ReadFile("page.css")
	if err != nil {
		panic("the program lacks a file of its own: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return template.CSS(text), //nolint:gosec // a file of ours
		"default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// Languages that sheets speak; the first one where nothing tells.
const (
	Portuguese = "pt-BR"
	English    = "en"
	Spanish    = "es"
)

// ChooseLanguage gives the language of a request: the one its address asks for with lang, else
// the one the browser likes best. asked tells whether it was the address.
func ChooseLanguage(r *http.Request) (tag string, asked bool) {
	wanted := language.Match(r.URL.Query().Get("lang"), Portuguese, English, Spanish)
	return cmp.Or(wanted, language.MatchAcceptLanguage(r.Header.Get("Accept-Language"), Portuguese, English, Spanish), Portuguese), wanted != ""
}

// Page is one such page.
type Page struct {
	Status  int
	Lang    string // as [ChooseLanguage] gives it
	Brand   string // the product, for people
	Title   string
	Text    string        // "" = none
	Content template.HTML // below the text
	Path    string        // its own address …
	Query   url.Values    // … with what stays when another language is chosen
}

// link is the same sheet in a language.
type link struct {
	Name, Tag, Address string
	Current            bool
}

// Write sends a sheet, or nothing where it fails. Its address may be a secret: it stays out of referrers, caches and
// search engines.
func (s Page) Write(w http.ResponseWriter) error {
	drawn := struct {
		Page
		Style     template.CSS
		Choice    string
		Languages []link
	}{Page: s, Style: style, Choice: map[string]string{Portuguese: "Idioma", English: "Language", Spanish: "Idioma"}[s.Lang]}
	for _, one := range []link{{Name: "Português", Tag: Portuguese}, {Name: "English", Tag: English}, {Name: "Español", Tag: Spanish}} {
		query := url.Values{"lang": {one.Tag}}
		for name, values := range s.Query {
			query[name] = values
		}
		one.Address, one.Current = s.Path+"?"+query.Encode(), one.Tag == s.Lang
		drawn.Languages = append(drawn.Languages, one)
	}
	var out bytes.Buffer
	if err := layout.Execute(&out, drawn); err != nil {
		return fmt.Errorf("drawing a page: %w", err)
	}
	for name, value := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Content-Language": s.Lang, "Content-Security-Policy": policy,
		"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow",
		"Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()", "Cache-Control": "no-store", "Vary": "Accept-Language",
	} {
		w.Header().Set(name, value)
	}
	w.WriteHeader(s.Status)
	_, _ = w.Write(out.Bytes()) // the visitor may have gone
	return nil
}
