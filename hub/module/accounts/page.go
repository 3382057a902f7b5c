package accounts

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"integrationhub/hub"
	"integrationhub/hub/module/infopage"
	"integrationhub/hub/module/rest"
)

//go:embed page/forms.html
var pageFiles embed.FS

var forms = template.Must(template.ParseFS(pageFiles, "page/forms.html"))

// Pages are the pages behind mailed links, by their paths at the hub's root.
func (d *Authenticator) Pages() map[string]http.Handler {
	return map[string]http.Handler{d.place.PasswordPage: page{d}}
}

// page is where a link leads to: it sets a password, or sends another link. It needs no
// JavaScript. Opening it leaves the link good, as programs that look at mail do that.
type page struct{ *Authenticator }

// shown is what the page shows; page/forms.html draws the form.
type shown struct {
	T            *words
	Title, Text  string
	Form         string // which form is below; "" = none
	Action       string
	Token, Email string

	WrongPassword, WrongAgain, WrongEmail string

	status int
}

// The forms of the page.
const (
	formPassword = "password"
	formEmail    = "email"
)

// ServeHTTP implements [http.Handler].
func (p page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tag, asked := infopage.ChooseLanguage(r)
	t := languages[tag]
	one := &shown{T: t, Token: r.URL.Query().Get("token"), Action: p.place.PasswordPage, status: http.StatusOK}
	if asked {
		one.Action += "?lang=" + tag
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
	p.send(r.Context(), w, tag, one)
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
	if purpose == PurposeInvite {
		one.Title, one.Text = one.T.InviteTitle, one.T.InviteText
	}
	return nil
}

// post sets a password, or sends a link.
func (p page) post(r *http.Request, one *shown) error {
	if err := r.ParseForm(); err != nil {
		return hub.Errorf(hub.ErrMalformed, "malformed", "The form cannot be read.").WithCause(err)
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
	var wrong rest.FieldErrors
	if wrong.CheckEmail(&email, formEmail); wrong.Err() != nil {
		one.say(http.StatusUnprocessableEntity, one.T.AskTitle, one.T.AskText)
		one.Form, one.Email, one.WrongEmail = formEmail, email, one.T.WrongEmail
		return nil
	}
	if err := p.RequestPasswordReset(ctx, email); err != nil {
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
	case errors.Is(err, hub.ErrRateLimited) && errors.As(err, &told):
		seconds := max(int(math.Ceil(told.RetryAfter.Seconds())), 1)
		header.Set("Retry-After", strconv.Itoa(seconds))
		one.say(http.StatusTooManyRequests, t.LimitedTitle, fmt.Sprintf(t.LimitedText, (seconds+59)/60))
	case errors.Is(err, hub.ErrUnavailable):
		header.Set("Retry-After", "5")
		p.host.Log.WarnContext(ctx, "the page for passwords could not be shown", "error", err)
		one.say(http.StatusServiceUnavailable, t.UnavailableTitle, t.UnavailableText)
	default:
		p.host.Log.ErrorContext(ctx, "the page for passwords failed", "error", err)
		one.say(http.StatusInternalServerError, t.BrokenTitle, t.BrokenText)
	}
}

// send writes the page. Whoever chooses another language keeps the link.
func (p page) send(ctx context.Context, w http.ResponseWriter, tag string, one *shown) {
	var form bytes.Buffer
	err := forms.Execute(&form, one)
	query := url.Values{}
	if one.Token != "" {
		query.Set("token", one.Token)
	}
	if err == nil {
		err = infopage.Page{
			Status: one.status, Lang: tag, Brand: p.place.Product, Title: one.Title, Text: one.Text, Path: p.place.PasswordPage, Query: query,
			Content: template.HTML(form.String()), //nolint:gosec // drawn by a template
		}.Write(w)
	}
	if err != nil {
		p.host.Log.ErrorContext(ctx, "the page for passwords could not be drawn", "error", err)
		http.Error(w, one.T.BrokenTitle, http.StatusInternalServerError)
	}
}
