// Package infopage renders small HTML pages: a heading with a text or a form, in three
// languages, without JavaScript and external resources.
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

// style is inlined in the page; policy is the Content-Security-Policy that allows it.
var style, policy = func() (template.CSS, string) {
	text, err := files.ReadFile("page.css")
	if err != nil {
		panic("reading an embedded file: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return template.CSS(text), //nolint:gosec // an embedded file
		"default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// Supported languages; the first is the default.
const (
	Portuguese = "pt-BR"
	English    = "en"
	Spanish    = "es"
)

// ChooseLanguage returns the language of a request: the lang parameter of its URL, else
// the best match for Accept-Language. explicit reports whether it was the parameter.
func ChooseLanguage(r *http.Request) (tag string, explicit bool) {
	requested := language.Match(r.URL.Query().Get("lang"), Portuguese, English, Spanish)
	return cmp.Or(requested, language.MatchAcceptLanguage(r.Header.Get("Accept-Language"), Portuguese, English, Spanish), Portuguese), requested != ""
}

// Page is the content of one page.
type Page struct {
	Status  int
	Lang    string // see [ChooseLanguage]
	Brand   string // the product, for people
	Title   string
	Text    string        // "" = none
	Content template.HTML // below the text
	Path    string        // path of the page, for links to its other languages
	Query   url.Values    // query parameters to keep in those links
}

// languageLink links to the same page in another language.
type languageLink struct {
	Name, Tag, Address string
	Current            bool
}

// Write sends the page, or nothing if it returns an error. The URL may contain a secret,
// so the headers keep it out of referrers, caches and search engines.
func (p Page) Write(w http.ResponseWriter) error {
	data := struct {
		Page
		Style     template.CSS
		Choice    string
		Languages []languageLink
	}{Page: p, Style: style, Choice: map[string]string{Portuguese: "Idioma", English: "Language", Spanish: "Idioma"}[p.Lang]}
	for _, link := range []languageLink{{Name: "Português", Tag: Portuguese}, {Name: "English", Tag: English}, {Name: "Español", Tag: Spanish}} {
		query := url.Values{"lang": {link.Tag}}
		for name, values := range p.Query {
			query[name] = values
		}
		link.Address, link.Current = p.Path+"?"+query.Encode(), link.Tag == p.Lang
		data.Languages = append(data.Languages, link)
	}
	var out bytes.Buffer
	if err := layout.Execute(&out, data); err != nil {
		return fmt.Errorf("rendering a page: %w", err)
	}
	for name, value := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Content-Language": p.Lang, "Content-Security-Policy": policy,
		"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow",
		"Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()", "Cache-Control": "no-store", "Vary": "Accept-Language",
	} {
		w.Header().Set(name, value)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(out.Bytes()) // the client may have disconnected
	return nil
}
