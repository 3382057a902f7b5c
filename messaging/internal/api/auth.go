package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/accounts"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

// Profiles of users.
const (
	profileAdmin = "admin"
	profileUser  = "user"
)

// limitUsers names the limit of a user's requests.
const limitUsers = "users"

// accountOptions are the settings of the product's logins.
var accountOptions = accounts.Options{Product: "Messaging", RefreshTokenPrefix: "msgr_", PasswordPage: "/reset-password/messaging"}

// userStore implements [accounts.UserStore] on the companies' users.
type userStore struct{ store *store.Store }

// FindByEmail implements [accounts.UserStore].
func (u userStore) FindByEmail(ctx context.Context, email string) (accounts.User, error) {
	row, err := u.store.UserByEmail(ctx, email)
	return toAccount(row), err
}

// Lock implements [accounts.UserStore].
func (u userStore) Lock(ctx context.Context, tx pgx.Tx, user uuid.UUID) (accounts.User, error) {
	row, err := u.store.Join(tx).LockUserByUID(ctx, user)
	return toAccount(row), err
}

// SetPassword implements [accounts.UserStore].
func (u userStore) SetPassword(ctx context.Context, tx pgx.Tx, user uuid.UUID, hash string) error {
	joined := u.store.Join(tx)
	return joined.UpdateUserPassword(ctx, user, &hash, joined.Now())
}

// Recipient implements [accounts.UserStore].
func (u userStore) Recipient(ctx context.Context, tx pgx.Tx, user uuid.UUID) (accounts.Recipient, error) {
	joined := u.store.Join(tx)
	row, err := joined.UserByUID(ctx, user)
	if err != nil {
		return accounts.Recipient{}, err
	}
	company, err := joined.Company(ctx, row.CompanyID)
	return accounts.Recipient{
		Name: row.Name, Email: row.Email, Tenant: module.Tenant{ID: company.TenantID, Name: company.Name}, ReplyTo: company.Email, Locale: "pt-BR",
	}, err
}

func toAccount(row store.User) accounts.User {
	u := accounts.User{ID: row.UID, Email: row.Email, Active: row.IsActive}
	if row.PasswordHash != nil {
		u.Password = *row.PasswordHash
	}
	return u
}

// Authenticate implements the product's part of [module.Instance].
func (a *API) Authenticate(ctx context.Context, token string) (module.Caller, error) {
	return a.authenticator.Authenticate(ctx, token, func(ctx context.Context, id, login uuid.UUID) (module.Caller, error) {
		row, err := a.store.ActiveUserByLogin(ctx, id, login)
		return module.Caller{
			TenantID: row.TenantID, Environment: hub.Live, UserID: row.User.UID, Name: row.User.Name, Role: row.User.Profile, Admin: row.User.Profile == profileAdmin,
		}, err
	})
}

// LoggedInUser is the user in the response to a login.
type LoggedInUser struct {
	ID        int64          `json:"id" doc:"Id of the user" example:"3"`
	Name      string         `json:"name" doc:"Name of the user" example:"Bia"`
	Email     string         `json:"email" doc:"The user's e-mail address, with which it logs in" example:"bia@example.com"`
	Profile   string         `json:"profile" enum:"admin,user" doc:"admin: everything of its company"`
	CompanyID int64          `json:"companyId" doc:"The company it belongs to" example:"1"`
	Company   CompanySummary `json:"company" doc:"The user's company"`
	Super     bool           `json:"super" doc:"Always false: operators of the hub are no users of the platform"`
	Queues    []int64        `json:"queues" nullable:"false" doc:"Ids of the queues whose tickets the user sees"`
	AllTicket string         `json:"allTicket" enum:"enabled,disabled" doc:"enabled: sees every ticket of its queues"`
}

// CompanySummary is a company in other resources.
type CompanySummary struct {
	ID   int64  `json:"id" doc:"Id of the company" example:"1"`
	Name string `json:"name" doc:"Name of the company" example:"Studio Bela"`
}

// Session is the response to a login.
type Session struct {
	Token        string       `json:"token" doc:"Send it as Authorization: Bearer"`
	RefreshToken string       `json:"refreshToken" doc:"Good for one use; also in the cookie jrt"`
	ExpiresIn    int          `json:"expiresIn" doc:"Seconds until the token expires" example:"1800"`
	User         LoggedInUser `json:"user" doc:"The user who is logged in"`
}

type sessionOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
	Body      Session
}

// refreshCookie is the name of the cookie with the refresh token.
const refreshCookie = "jrt"

func (a *API) sessionOutput(ctx context.Context, session accounts.Session, user store.User) (*sessionOutput, error) {
	company, err := a.store.Company(ctx, user.CompanyID)
	if err != nil {
		return nil, err
	}
	queues, err := a.store.QueueIDsOfUser(ctx, user.CompanyID, user.ID)
	if err != nil {
		return nil, err
	}
	return &sessionOutput{SetCookie: a.cookie(session.RefreshToken, int(a.host.Settings.RefreshTTL.Seconds())), Body: Session{
		Token: session.AccessToken, RefreshToken: session.RefreshToken, ExpiresIn: session.ExpiresIn,
		User: LoggedInUser{
			ID: user.ID, Name: user.Name, Email: user.Email, Profile: user.Profile, CompanyID: company.ID, Company: CompanySummary{company.ID, company.Name},
			Queues: queues, AllTicket: formatAllTicket(user.AllTickets),
		},
	}}, nil
}

// cookie returns the cookie of a refresh token, for the product's own paths only.
func (a *API) cookie(value string, maxAge int) http.Cookie {
	path := "/"
	base, err := url.Parse(a.host.URLs.Base)
	if err == nil && base.Path != "" {
		path = base.Path
	}
	return http.Cookie{ //nolint:gosec // Secure wherever the product is served by https
		Name: refreshCookie, Value: value, Path: path, MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: strings.HasPrefix(a.host.URLs.Base, "https:"),
	}
}

type signUpInput struct {
	Body struct {
		Name        string `json:"name" minLength:"2" maxLength:"120" doc:"Of the first administrator" example:"Bia"`
		Email       string `json:"email" maxLength:"254" doc:"E-mail address of the user" example:"bia@example.com"`
		Password    string `json:"password" minLength:"5" maxLength:"128" doc:"Password of the user"`
		CompanyName string `json:"companyName,omitempty" maxLength:"120" doc:"Absent: the administrator's name" example:"Studio Bela"`
		Phone       string `json:"phone,omitempty" maxLength:"40" doc:"Of the company"`
	} `nameHint:"SignUp"`
}

func (a *API) signUp(ctx context.Context, in *signUpInput) (*sessionOutput, error) {
	b := &in.Body
	b.Name, b.CompanyName = strings.TrimSpace(b.Name), strings.TrimSpace(b.CompanyName)
	if b.CompanyName == "" {
		b.CompanyName = b.Name
	}
	var errs rest.FieldErrors
	errs.CheckName(b.CompanyName, "body.companyName", 120)
	errs.CheckName(b.Name, "body.name", 120)
	errs.CheckLength(b.Name, "body.name", 2, 120)
	errs.CheckEmail(&b.Email, "body.email")
	if err := errs.Err(); err != nil {
		return nil, err
	}
	hash, err := a.host.Credentials.HashPassword(ctx, b.Password)
	if err != nil {
		return nil, err
	}
	var admin store.User
	var session accounts.Session
	err = a.store.InTx(ctx, "signing up", func(tx *store.Tx) error {
		tenant := uuid.New()
		company, err := tx.CreateCompany(ctx, tenant, b.CompanyName, b.Phone, b.Email)
		if err != nil {
			return err
		}
		if err := a.host.Tenants.Put(ctx, tx.Raw, module.Tenant{ID: tenant, Name: b.CompanyName, Ref: chat.FormatID(company.ID)}); err != nil {
			return err
		}
		admin, err = tx.CreateUser(ctx, store.User{CompanyID: company.ID, Name: b.Name, Email: b.Email, PasswordHash: &hash, Profile: profileAdmin})
		if err != nil {
			return err
		}
		session, err = a.authenticator.IssueSession(ctx, tx.Raw, admin.UID, uuid.New())
		return err
	})
	if err != nil {
		return nil, mapEmailConflict(err)
	}
	if a.sandbox != nil && a.host.Settings.SandboxConnect {
		if err := a.connectSandbox(ctx, admin.CompanyID); err != nil {
			return nil, err
		}
	}
	return a.sessionOutput(ctx, session, admin)
}

// mapEmailConflict turns a violation of the unique e-mail address into an error for callers.
func mapEmailConflict(err error) error {
	if dberr.ConstraintName(err) == "users_email" {
		return hub.Errorf(hub.ErrConflict, "email_taken", "This e-mail address is already registered.")
	}
	return err
}

func (a *API) login(ctx context.Context, in *accounts.LoginInput) (*sessionOutput, error) {
	session, err := a.authenticator.Login(ctx, in.Body.Email, in.Body.Password)
	if err != nil {
		return nil, err
	}
	user, err := a.store.UserByEmail(ctx, in.Body.Email)
	if err != nil {
		return nil, err
	}
	return a.sessionOutput(ctx, session, user)
}

type refreshInput struct {
	Cookie string `cookie:"jrt" doc:"Refresh token of a browser"`
	Body   *struct {
		RefreshToken string `json:"refreshToken,omitempty" maxLength:"4096" doc:"Takes precedence over the cookie"`
	} `nameHint:"RefreshToken"`
}

func (a *API) refresh(ctx context.Context, in *refreshInput) (*sessionOutput, error) {
	token := in.Cookie
	if in.Body != nil && in.Body.RefreshToken != "" {
		token = in.Body.RefreshToken
	}
	session, err := a.authenticator.Refresh(ctx, token)
	if err != nil {
		return nil, err
	}
	id, _, ok := a.host.Credentials.VerifyAccessToken(session.AccessToken)
	if !ok {
		return nil, hub.Errorf(hub.ErrUnauthorized, "invalid_token", "Log in again.")
	}
	user, err := a.store.UserByUID(ctx, id)
	if err != nil {
		return nil, err
	}
	return a.sessionOutput(ctx, session, user)
}
