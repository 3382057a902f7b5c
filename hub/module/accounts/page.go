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

// Pages returns the page of emailed links, by its path at the hub's root.
func (a *Authenticator) Pages() map[string]http.Handler {
	return map[string]http.Handler{a.options.PasswordPage: page{a}}
}

// page handles the page of a link: it sets a password, or sends another link. It needs no
// JavaScript. Opening it does not use up the link, because email scanners open links.
type page struct{ *Authenticator }

// pageData is the content of the page; page/forms.html renders the form.
type pageData struct {
	T            *texts
	Title, Text  string
	Form         string // "" = none
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
	tag, explicit := infopage.ChooseLanguage(r)
	t := textsByLanguage[tag]
	data := &pageData{T: t, Token: r.URL.Query().Get("token"), Action: p.options.PasswordPage, status: http.StatusOK}
	if explicit {
		data.Action += "?lang=" + tag
	}
	var err error
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		err = p.showForm(r.Context(), data)
	case http.MethodPost:
		err = p.handlePost(r, data)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		data.setMessage(http.StatusMethodNotAllowed, t.MethodTitle, t.MethodText)
	}
	if err != nil {
		p.showError(r.Context(), w.Header(), data, err)
	}
	p.write(r.Context(), w, tag, data)
}

// showForm shows the password form for a valid link, or the form to request a link if
// there is no token.
func (p page) showForm(ctx context.Context, data *pageData) error {
	if data.Token == "" {
		data.setMessage(http.StatusOK, data.T.AskTitle, data.T.AskText)
		data.Form = formEmail
		return nil
	}
	purpose, err := p.checkLink(ctx, data.Token)
	if err != nil {
		return err
	}
	data.Form, data.Title, data.Text = formPassword, data.T.ResetTitle, data.T.ResetText
	if purpose == PurposeInvite {
		data.Title, data.Text = data.T.InviteTitle, data.T.InviteText
	}
	return nil
}

// handlePost sets a password, or sends a link.
func (p page) handlePost(r *http.Request, data *pageData) error {
	if err := r.ParseForm(); err != nil {
		return hub.Errorf(hub.ErrMalformed, "malformed", "The form cannot be read.").WithCause(err)
	}
	if data.Token = r.PostForm.Get("token"); data.Token == "" {
		return p.requestLink(r.Context(), data, r.PostForm.Get("email"))
	}
	password := r.PostForm.Get("password")
	if length := len([]rune(password)); length < minPasswordLength || length > maxPasswordLength {
		data.WrongPassword = data.T.WrongChoice
	} else if password != r.PostForm.Get("again") {
		data.WrongAgain = data.T.WrongAgain
	}
	if data.WrongPassword != "" || data.WrongAgain != "" {
		data.status = http.StatusUnprocessableEntity
		return p.showForm(r.Context(), data)
	}
	if err := p.SetPassword(r.Context(), data.Token, password); err != nil {
		return err
	}
	data.Token = ""
	data.setMessage(http.StatusOK, data.T.SavedTitle, data.T.SavedText)
	return nil
}

// requestLink sends a link to an email address.
func (p page) requestLink(ctx context.Context, data *pageData, email string) error {
	var errs rest.FieldErrors
	if errs.CheckEmail(&email, formEmail); errs.Err() != nil {
		data.setMessage(http.StatusUnprocessableEntity, data.T.AskTitle, data.T.AskText)
		data.Form, data.Email, data.WrongEmail = formEmail, email, data.T.WrongEmail
		return nil
	}
	if err := p.RequestPasswordReset(ctx, email); err != nil {
		return err
	}
	data.setMessage(http.StatusOK, data.T.SentTitle, data.T.SentText)
	return nil
}

func (d *pageData) setMessage(status int, title, text string) {
	d.status, d.Title, d.Text = status, title, text
}

// showError shows an error and what to do about it.
func (p page) showError(ctx context.Context, header http.Header, data *pageData, err error) {
	t := data.T
	data.Form = ""
	var hubErr *hub.Error
	switch {
	case errors.Is(err, hub.ErrMalformed):
		data.setMessage(http.StatusNotFound, t.BadLinkTitle, t.BadLinkText)
		data.Form, data.Token = formEmail, ""
	case errors.Is(err, hub.ErrRateLimited) && errors.As(err, &hubErr):
		seconds := max(int(math.Ceil(hubErr.RetryAfter.Seconds())), 1)
		header.Set("Retry-After", strconv.Itoa(seconds))
		data.setMessage(http.StatusTooManyRequests, t.LimitedTitle, fmt.Sprintf(t.LimitedText, (seconds+59)/60))
	case errors.Is(err, hub.ErrUnavailable):
		header.Set("Retry-After", "5")
		p.host.Log.WarnContext(ctx, "the page for passwords could not be shown", "error", err)
		data.setMessage(http.StatusServiceUnavailable, t.UnavailableTitle, t.UnavailableText)
	default:
		p.host.Log.ErrorContext(ctx, "the page for passwords failed", "error", err)
		data.setMessage(http.StatusInternalServerError, t.BrokenTitle, t.BrokenText)
	}
}

// write writes the page. Its links to other languages keep the token.
func (p page) write(ctx context.Context, w http.ResponseWriter, tag string, data *pageData) {
	var form bytes.Buffer
	err := forms.Execute(&form, data)
	query := url.Values{}
	if data.Token != "" {
		query.Set("token", data.Token)
	}
	if err == nil {
		err = infopage.Page{
			Status: data.status, Lang: tag, Brand: p.options.Product, Title: data.Title, Text: data.Text, Path: p.options.PasswordPage, Query: query,
			Content: template.HTML(form.String()), //nolint:gosec // rendered by a template
		}.Write(w)
	}
	if err != nil {
		p.host.Log.ErrorContext(ctx, "the page for passwords could not be drawn", "error", err)
		http.Error(w, data.T.BrokenTitle, http.StatusInternalServerError)
	}
}
