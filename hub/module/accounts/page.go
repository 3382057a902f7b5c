package accounts

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"integrationhub/hub"
	"integrationhub/hub/module/language"
	"integrationhub/hub/module/rest"
)

//go:embed page
var pageFiles embed.FS

var pageTemplate = template.Must(template.ParseFS(pageFiles, "page/password.html"))

// pageStyle is within the page: it needs nothing but itself. pagePolicy allows it.
var pageStyle, pagePolicy = func() (template.CSS, string) {
	style, err := pageFiles.ReadFile("page/password.css")
	if err != nil {
		panic("the program lacks a file of its own: " + err.Error())
	}
	sum := sha256.Sum256(style)
	return template.CSS(style), //nolint:gosec // a file of ours
		"default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// Pages are the pages behind mailed links, by their paths at the hub's root.
func (d *Desk) Pages() map[string]http.Handler {
	return map[string]http.Handler{d.place.Page: page{d}}
}

// page is where a link leads to: it sets a password, or sends another link. It needs no
// JavaScript. Opening it leaves the link good, as programs that look at mail do that.
type page struct{ *Desk }

// shown is what page/password.html draws.
type shown struct {
	T             *words
	Lang, Product string
	Style         template.CSS
	Title, Text   string
	Form          string // password, email or "": which form is below
	Action        string
	Token, Email  string
	Languages     []languageLink

	WrongPassword, WrongAgain, WrongEmail string

	status int
}

type languageLink struct {
	Name, Tag, Link string
	Current         bool
}

// The forms of the page.
const (
	formPassword = "password"
	formEmail    = "email"
)

// ServeHTTP implements [http.Handler].
func (p page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	t, asked := speak(query.Get("lang"), r.Header.Get("Accept-Language"))
	one := &shown{T: t, Lang: t.tag, Product: p.place.Product, Style: pageStyle, Token: query.Get("token"), Action: p.place.Page, status: http.StatusOK}
	if asked {
		one.Action += "?lang=" + t.tag
	}
	var err error
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		err = p.open(r.Context(), one)
	case http.MethodPost:
		err = p.post(r, one)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		one.say(http.StatusMethodNotAllowed, t.MethodTitle, t.MethodText)
	}
	if err != nil {
		p.problem(r.Context(), w.Header(), one, err)
	}
	p.send(w, one)
}

// speak is the language the address asks for, else the one the browser likes best.
func speak(asked, header string) (t *words, explicit bool) {
	var tags []string
	for _, one := range languages {
		tags = append(tags, one.tag)
	}
	explicitly := language.Match(asked, tags...)
	tag := cmp.Or(explicitly, language.Accepted(header, tags...), tags[0])
	return languages[slices.Index(tags, tag)], explicitly != ""
}

// open shows the form for a password to who comes with a good link, and else the one
// for another link.
func (p page) open(ctx context.Context, one *shown) error {
	if one.Token == "" {
		one.say(http.StatusOK, one.T.AskTitle, one.T.AskText)
		one.Form = formEmail
		return nil
	}
	purpose, err := p.look(ctx, one.Token)
	if err != nil {
		return err
	}
	one.Form, one.Title, one.Text = formPassword, one.T.ResetTitle, one.T.ResetText
	if purpose == Invite {
		one.Title, one.Text = one.T.InviteTitle, one.T.InviteText
	}
	return nil
}

// post sets a password, or sends a link.
func (p page) post(r *http.Request, one *shown) error {
	if err := r.ParseForm(); err != nil {
		return hub.Errorf(hub.ErrMalformed, "malformed", "The form cannot be read.").Because(err)
	}
	if one.Token = r.PostForm.Get("token"); one.Token == "" {
		return p.ask(r.Context(), one, r.PostForm.Get("email"))
	}
	password := r.PostForm.Get("password")
	if length := len([]rune(password)); length < shortestPassword || length > longestPassword {
		one.WrongPassword = one.T.WrongChoice
	} else if password != r.PostForm.Get("again") {
		one.WrongAgain = one.T.WrongAgain
	}
	if one.WrongPassword != "" || one.WrongAgain != "" {
		one.status = http.StatusUnprocessableEntity
		return p.open(r.Context(), one)
	}
	if err := p.SetPassword(r.Context(), one.Token, password); err != nil {
		return err
	}
	one.Token = ""
	one.say(http.StatusOK, one.T.SavedTitle, one.T.SavedText)
	return nil
}

// ask has a link sent to an address.
func (p page) ask(ctx context.Context, one *shown, email string) error {
	var wrong rest.Faults
	if wrong.Email(&email, formEmail); wrong.Err() != nil {
		one.say(http.StatusUnprocessableEntity, one.T.AskTitle, one.T.AskText)
		one.Form, one.Email, one.WrongEmail = formEmail, email, one.T.WrongEmail
		return nil
	}
	if err := p.Forgot(ctx, email); err != nil {
		return err
	}
	one.say(http.StatusOK, one.T.SentTitle, one.T.SentText)
	return nil
}

func (s *shown) say(status int, title, text string) { s.status, s.Title, s.Text = status, title, text }

// problem says what is wrong, and what to do.
func (p page) problem(ctx context.Context, header http.Header, one *shown, err error) {
	t := one.T
	one.Form = ""
	var told *hub.Error
	switch {
	case errors.Is(err, hub.ErrMalformed):
		one.say(http.StatusNotFound, t.BadLinkTitle, t.BadLinkText)
		one.Form, one.Token = formEmail, ""
	case errors.Is(err, hub.ErrLimited) && errors.As(err, &told):
		seconds := max(int(math.Ceil(told.RetryAfter.Seconds())), 1)
		header.Set("Retry-After", strconv.Itoa(seconds))
		one.say(http.StatusTooManyRequests, t.LimitedTitle, fmt.Sprintf(t.LimitedText, (seconds+59)/60))
	case errors.Is(err, hub.ErrUnavailable):
		header.Set("Retry-After", "5")
		p.kit.Log.WarnContext(ctx, "the page for passwords could not be shown", "error", err)
		one.say(http.StatusServiceUnavailable, t.UnavailableTitle, t.UnavailableText)
	default:
		p.kit.Log.ErrorContext(ctx, "the page for passwords failed", "error", err)
		one.say(http.StatusInternalServerError, t.BrokenTitle, t.BrokenText)
	}
}

// send writes the page. Its address is a secret: it stays out of referrers, caches and
// search engines.
func (p page) send(w http.ResponseWriter, one *shown) {
	for _, l := range languages {
		query := url.Values{"lang": {l.tag}}
		if one.Token != "" {
			query.Set("token", one.Token)
		}
		one.Languages = append(one.Languages, languageLink{l.name, l.tag, p.place.Page + "?" + query.Encode(), l == one.T})
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, one); err != nil {
		p.kit.Log.Error("the page for passwords could not be drawn", "error", err)
		http.Error(w, one.T.BrokenTitle, http.StatusInternalServerError)
		return
	}
	for name, value := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Content-Language": one.Lang, "Content-Security-Policy": pagePolicy,
		"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow",
		"Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()", "Cache-Control": "no-store", "Vary": "Accept-Language",
	} {
		w.Header().Set(name, value)
	}
	w.WriteHeader(one.status)
	_, _ = w.Write(out.Bytes()) // the visitor may have gone
}
