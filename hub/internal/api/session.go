package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"integrationhub/hub"
	"integrationhub/hub/internal/auth"
)

// schemeSession is the security scheme of the console's cookie.
const schemeSession = "session"

// HeaderCSRF repeats the session's CSRF token on writes that come with its cookie.
const HeaderCSRF = "X-CSRF-Token"

// sessionCookie is the name of the cookie. Browsers accept names with __Host- only over TLS,
// from this host and for all of its paths.
const sessionCookie = "hub_session"

// actionSession is a login, recorded in the audit log even if it fails.
const actionSession = "session.create"

// BrowserSession is a login of the console.
type BrowserSession struct {
	Operator  Identity   `json:"operator" doc:"Who is logged in"`
	CSRFToken *string    `json:"csrf_token" doc:"Value of the header X-CSRF-Token, which writes with the session's cookie need; null for access tokens, which need none"`
	ExpiresAt *time.Time `json:"expires_at" format:"date-time" doc:"When the session ends, 12 hours after the login; null for access tokens"`
	Version   string     `json:"version" maxLength:"100" doc:"Version of the hub" example:"v1.4.0"`
}

type browserSessionOutput struct {
	SetCookie string `header:"Set-Cookie" doc:"The session's cookie: HttpOnly, SameSite=Strict, Secure where the hub's public URL has https"`
	Body      BrowserSession
}

type endedSessionOutput struct {
	SetCookie string `header:"Set-Cookie" doc:"Removes the session's cookie"`
}

// createSession logs a browser in. What failed logins count and record is as in login.
func (a *API) createSession(ctx context.Context, in *loginInput) (*browserSessionOutput, error) {
	info := requestInfoOf(ctx)
	session, err := a.deps.Auth.LoginBrowser(ctx, in.Body.Email, in.Body.Password, info.clientIP)
	if err != nil {
		a.noteFailedLogin(ctx, in.Body.Email, err)
		return nil, err
	}
	info.operator = &session.Operator
	out := a.browserSession(session)
	out.SetCookie = a.cookie(session.Token, int(auth.BrowserSessionTTL.Seconds()))
	return out, nil
}

func (a *API) getSession(ctx context.Context, _ *struct{}) (*struct{ Body BrowserSession }, error) {
	info := requestInfoOf(ctx)
	if info.session == nil {
		return &struct{ Body BrowserSession }{BrowserSession{Operator: identityOf(*info.operator), Version: a.deps.Version}}, nil
	}
	return &struct{ Body BrowserSession }{a.browserSession(*info.session).Body}, nil
}

// deleteSession ends the login the request came with: the cookie's, or the access token's.
func (a *API) deleteSession(ctx context.Context, _ *struct{}) (*endedSessionOutput, error) {
	return &endedSessionOutput{SetCookie: a.cookie("", -1)}, a.endLogin(ctx, "")
}

// endLogin ends the login the request came with, and that of a refresh token of the operator.
func (a *API) endLogin(ctx context.Context, refreshToken string) error {
	info := requestInfoOf(ctx)
	if info.session != nil {
		return a.deps.Auth.EndBrowser(ctx, info.session.Token)
	}
	return a.deps.Auth.Logout(ctx, info.bearer, refreshToken)
}

func (a *API) browserSession(session auth.BrowserSession) *browserSessionOutput {
	return &browserSessionOutput{Body: BrowserSession{
		Operator: identityOf(session.Operator), CSRFToken: &session.CSRFToken, ExpiresAt: &session.ExpiresAt, Version: a.deps.Version,
	}}
}

func (a *API) cookieName() string {
	if a.deps.SecureCookies {
		return "__Host-" + sessionCookie
	}
	return sessionCookie
}

func (a *API) cookie(value string, maxAge int) string {
	cookie := http.Cookie{ //nolint:gosec // without https there is no Secure; the three are set below
		Name: a.cookieName(), Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: a.deps.SecureCookies,
	}
	return cookie.String()
}

// admitBrowser identifies the operator of a session's cookie. Writes need the session's CSRF
// token, and no request may come from a page of another site.
func (a *API) admitBrowser(ctx context.Context, c *fiber.Ctx, cookie string, info *requestInfo) error {
	session, err := a.deps.Auth.VerifyBrowser(ctx, strings.Clone(cookie))
	if err != nil {
		return err
	}
	if site := c.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return hub.Errorf(hub.ErrForbidden, "cross_site", "Requests with a session's cookie come from the hub's own pages.")
	}
	if c.Method() != fiber.MethodGet && c.Method() != fiber.MethodHead && !session.HasCSRFToken(c.Get(HeaderCSRF)) {
		return hub.Errorf(hub.ErrForbidden, "csrf_token", "Send the csrf_token of GET /api/v1/session as %s.", HeaderCSRF)
	}
	info.operator, info.session = &session.Operator, &session
	return nil
}

// reverify identifies the operator of a request again, for answers that last.
func (a *API) reverify(ctx context.Context, info *requestInfo) (auth.Operator, error) {
	if info.session == nil {
		return a.deps.Auth.Verify(ctx, info.bearer)
	}
	session, err := a.deps.Auth.VerifyBrowser(ctx, info.session.Token)
	return session.Operator, err
}

// sessionScheme documents the cookie.
func (a *API) sessionScheme() *huma.SecurityScheme {
	return &huma.SecurityScheme{
		Type: "apiKey", In: "cookie", Name: a.cookieName(),
		Description: "Session of the console, from POST /api/v1/session; with https its name begins with `__Host-`. Requests other than GET also need the header `" + HeaderCSRF + "` with the `csrf_token` of GET /api/v1/session.",
	}
}
