package api

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/accounts"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// place is where accounts are the scheduling service's own.
var place = accounts.Place{Product: "Scheduling", Prefix: "schr_", Page: "/reset-password"}

// users is where the desk for accounts finds them.
type users struct{ store *store.Store }

// ByEmail implements [accounts.Users].
func (u users) ByEmail(ctx context.Context, email string) (accounts.User, error) {
	row, err := u.store.UserByEmail(ctx, email)
	return accountOf(row), err
}

// Lock implements [accounts.Users].
func (u users) Lock(ctx context.Context, tx pgx.Tx, user uuid.UUID) (accounts.User, error) {
	row, err := u.store.Join(tx).LockUser(ctx, user)
	return accountOf(row), err
}

// SetPassword implements [accounts.Users].
func (u users) SetPassword(ctx context.Context, tx pgx.Tx, user uuid.UUID, stored string) error {
	joined := u.store.Join(tx)
	return joined.SetPassword(ctx, dbgen.SetPasswordParams{ID: user, PasswordHash: &stored, UpdatedAt: joined.Now()})
}

// Reader implements [accounts.Users].
func (u users) Reader(ctx context.Context, tx pgx.Tx, user uuid.UUID) (accounts.Reader, error) {
	joined := u.store.Join(tx)
	row, err := joined.UserByID(ctx, user)
	if err != nil {
		return accounts.Reader{}, err
	}
	found, err := joined.Organization(ctx, row.OrgID)
	org := found.Organization
	return accounts.Reader{Name: row.Name, Email: row.Email, Tenant: module.Tenant{ID: org.ID, Name: org.Name}, ReplyTo: text(org.Email), Locale: org.Locale}, err
}

func accountOf(row dbgen.User) accounts.User {
	return accounts.User{ID: row.ID, Email: row.Email, Password: text(row.PasswordHash), Active: row.IsActive}
}

type signUpInput struct {
	Body struct {
		OrgName  string            `json:"org_name" minLength:"1" maxLength:"120" doc:"Name of the organization"`
		OrgSlug  string            `json:"org_slug" minLength:"1" maxLength:"63" doc:"Its part of public addresses: a-z, 0-9 and dashes, 3 to 63 characters" example:"studio-bia"`
		Name     string            `json:"name" minLength:"1" maxLength:"120" doc:"Of the owner"`
		Email    string            `json:"email" maxLength:"254" example:"bia@example.com"`
		Password string            `json:"password" minLength:"8" maxLength:"128"`
		Phone    *optional[string] `json:"phone,omitempty"`
	} `nameHint:"Register"`
}

type loginInput struct {
	Body struct {
		Email    string `json:"email" maxLength:"254"`
		Password string `json:"password" maxLength:"1000"`
	} `nameHint:"Login"`
}

type refreshInput struct {
	Body struct {
		RefreshToken string `json:"refresh_token" maxLength:"4096"`
	} `nameHint:"Refresh"`
}

type sessionOutput struct{ Body Session }

// Session is what a login hands out.
type Session struct {
	accounts.Session
	User         *User         `json:"user,omitempty" doc:"Only when registering"`
	Organization *Organization `json:"organization,omitempty" doc:"Only when registering"`
}

func (a *API) signUp(ctx context.Context, in *signUpInput) (*sessionOutput, error) {
	b := &in.Body
	b.OrgName, b.Name = strings.TrimSpace(b.OrgName), strings.TrimSpace(b.Name)
	var phone *string
	if b.Phone != nil && b.Phone.Given() && b.Phone.Value != "" {
		phone = &b.Phone.Value
	}
	var wrong faults
	wrong.Length(b.OrgName, "body.org_name", 1, 120)
	wrong.Length(b.Name, "body.name", 1, 120)
	wrong.Email(&b.Email, "body.email")
	wrong.phone(phone)
	wrong.Need(booking.ValidSlug(b.OrgSlug), "body.org_slug", "must be 3 to 63 of a-z, 0-9 and single dashes, and no reserved word")
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	hash, err := a.kit.Accounts.HashPassword(ctx, b.Password)
	if err != nil {
		return nil, err
	}
	org := store.NewID()
	var session Session
	var owner dbgen.User
	err = a.store.InTx(ctx, "registering", func(tx *store.Tx) error {
		if owner, err = a.found(ctx, tx, org, in, phone, hash); err != nil {
			return err
		}
		session.Session, err = a.accounts.Issue(ctx, tx.Raw, owner.ID, uuid.New())
		return err
	})
	if err != nil {
		return nil, accountTaken(err)
	}
	made, err := a.store.Org(ctx, org)
	if err != nil {
		return nil, err
	}
	shown, details := userOf(owner, made.Zone), a.organizationOf(made)
	session.User, session.Organization = &shown, &details
	return &sessionOutput{session}, nil
}

// found makes an organization with its owner.
func (a *API) found(ctx context.Context, tx *store.Tx, org uuid.UUID, in *signUpInput, phone *string, hash string) (dbgen.User, error) {
	b := &in.Body
	if err := slugIsFree(ctx, tx, b.OrgSlug, org); err != nil {
		return dbgen.User{}, err
	}
	if err := tx.CreateOrganization(ctx, dbgen.CreateOrganizationParams{ID: org, Name: b.OrgName, Slug: b.OrgSlug, Phone: phone}); err != nil {
		return dbgen.User{}, err
	}
	if err := tx.CreateSettings(ctx, org, []string{b.Email}); err != nil {
		return dbgen.User{}, err
	}
	if err := tx.CreateLoyaltyProgram(ctx, org); err != nil {
		return dbgen.User{}, err
	}
	if err := a.kit.Tenants.Put(ctx, tx.Raw, module.Tenant{ID: org, Name: b.OrgName}); err != nil {
		return dbgen.User{}, err
	}
	return tx.CreateUser(ctx, dbgen.CreateUserParams{
		OrgID: org, ID: store.NewID(), Name: b.Name, Email: b.Email, PasswordHash: &hash, Role: roleOwner, Phone: phone, IsActive: true,
	})
}

// slugIsFree refuses a slug that still leads to another organization. Those in use
// are refused by the database.
func slugIsFree(ctx context.Context, tx *store.Tx, slug string, org uuid.UUID) error {
	kept, err := tx.SlugIsKept(ctx, dbgen.SlugIsKeptParams{Slug: slug, Now: tx.Now(), OrgID: org})
	if err == nil && kept {
		return slugTaken()
	}
	return err
}

func slugTaken() *hub.Error {
	return hub.Errorf(hub.ErrMalformed, "slug_taken", "Organization slug already taken")
}

// accountTaken answers for names that somebody else has.
func accountTaken(err error) error {
	switch dberr.Violated(err) {
	case "users_email":
		return hub.Errorf(hub.ErrMalformed, "email_taken", "Email already registered")
	case "organizations_slug_key":
		return slugTaken()
	}
	return err
}

func (a *API) login(ctx context.Context, in *loginInput) (*sessionOutput, error) {
	session, err := a.accounts.Login(ctx, in.Body.Email, in.Body.Password)
	return &sessionOutput{Session{Session: session}}, err
}

func (a *API) refresh(ctx context.Context, in *refreshInput) (*sessionOutput, error) {
	session, err := a.accounts.Refresh(ctx, in.Body.RefreshToken)
	return &sessionOutput{Session{Session: session}}, err
}

// Authenticate implements the product's part of [module.Instance].
func (a *API) Authenticate(ctx context.Context, token string) (module.Caller, error) {
	refused := hub.Errorf(hub.ErrUnauthorized, "invalid_token", "A valid access token is needed: log in, or refresh it.")
	id, login, ok := a.kit.Accounts.VerifyAccess(token)
	if !ok {
		return module.Caller{}, refused
	}
	user, err := a.store.UserOfLogin(ctx, id, login)
	if errors.Is(err, pgx.ErrNoRows) {
		return module.Caller{}, refused
	}
	if err != nil {
		return module.Caller{}, dberr.Failed("loading the user", err)
	}
	return module.Caller{
		TenantID: user.OrgID, Environment: hub.Live, UserID: user.ID, Name: user.Name, Role: user.Role,
		Admin: user.Role == roleOwner || user.Role == roleAdmin,
	}, nil
}

type forgotInput struct {
	Body struct {
		Email string `json:"email" maxLength:"254"`
	} `nameHint:"ForgotPassword"`
}

type messageOutput struct{ Body Message }

// Message is an answer for people.
type Message struct {
	Message string `json:"message"`
}

// forgot answers the same for every address.
func (a *API) forgot(ctx context.Context, in *forgotInput) (*messageOutput, error) {
	var wrong faults
	wrong.Email(&in.Body.Email, "body.email")
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	return &messageOutput{Message{"If the e-mail is registered, a reset link was sent"}}, a.accounts.Forgot(ctx, in.Body.Email)
}

type resetInput struct {
	Body struct {
		Token       string `json:"token" maxLength:"200"`
		NewPassword string `json:"new_password,omitempty" minLength:"8" maxLength:"128"`
		Password    string `json:"password,omitempty" minLength:"8" maxLength:"128" doc:"The same as new_password"`
	} `nameHint:"ResetPassword"`
}

func (a *API) reset(ctx context.Context, in *resetInput) (*messageOutput, error) {
	password := in.Body.NewPassword
	if password == "" {
		password = in.Body.Password
	}
	if password == "" {
		return nil, hub.Invalid("body.new_password", "is required")
	}
	return &messageOutput{Message{"Password updated"}}, a.accounts.SetPassword(ctx, in.Body.Token, password)
}

func (a *API) me(ctx context.Context, _ *struct{}) (*userOutput, error) {
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	org, err := a.store.Org(ctx, who.TenantID)
	if err != nil {
		return nil, err
	}
	user, err := a.store.UserByID(ctx, who.UserID)
	return &userOutput{userOf(user, org.Zone)}, rest.Or404("User", err)
}
