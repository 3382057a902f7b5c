package api

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/accounts"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
)

// place is where accounts are the clinic's own.
var place = accounts.Place{Product: "Clinic", Prefix: "clir_", Page: "/reset-password/clinic"}

// users is where the desk finds them.
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
	return joined.SetPassword(ctx, user, &stored, joined.Now())
}

// Reader implements [accounts.Users].
func (u users) Reader(ctx context.Context, tx pgx.Tx, user uuid.UUID) (accounts.Reader, error) {
	joined := u.store.Join(tx)
	row, err := joined.UserByID(ctx, user)
	if err != nil {
		return accounts.Reader{}, err
	}
	clinic, err := joined.Clinic(ctx, row.ClinicID)
	return accounts.Reader{Name: row.Name, Email: row.Email, Tenant: module.Tenant{ID: clinic.ID, Name: clinic.Name}, Locale: clinic.Locale}, err
}

func accountOf(row dbgen.User) accounts.User {
	u := accounts.User{ID: row.ID, Email: row.Email, Active: row.IsActive}
	if row.PasswordHash != nil {
		u.Password = *row.PasswordHash
	}
	return u
}

type signUpInput struct {
	Body struct {
		ClinicName string `json:"clinic_name" minLength:"1" maxLength:"120"`
		Name       string `json:"name" minLength:"1" maxLength:"120" doc:"Of the first administrator"`
		Email      string `json:"email" maxLength:"254" example:"bia@example.com"`
		Password   string `json:"password" minLength:"8" maxLength:"128"`
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
	User   *User   `json:"user,omitempty" doc:"Only when registering"`
	Clinic *Clinic `json:"clinic,omitempty" doc:"Only when registering"`
}

func (a *API) signUp(ctx context.Context, in *signUpInput) (*sessionOutput, error) {
	b := &in.Body
	b.ClinicName, b.Name = care.HideCPF(strings.TrimSpace(b.ClinicName)), care.HideCPF(strings.TrimSpace(b.Name))
	var wrong rest.Faults
	wrong.Length(b.ClinicName, "body.clinic_name", 1, 120)
	wrong.Length(b.Name, "body.name", 1, 120)
	wrong.Email(&b.Email, "body.email")
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	hash, err := a.kit.Accounts.HashPassword(ctx, b.Password)
	if err != nil {
		return nil, err
	}
	clinic := store.NewID()
	out := &sessionOutput{}
	err = a.store.InTx(ctx, "registering", func(tx *store.Tx) error {
		if err := tx.CreateClinic(ctx, clinic, b.ClinicName, tx.Now()); err != nil {
			return err
		}
		if err := a.kit.Tenants.Put(ctx, tx.Raw, module.Tenant{ID: clinic, Name: b.ClinicName}); err != nil {
			return err
		}
		admin, err := tx.CreateUser(ctx, dbgen.CreateUserParams{
			ClinicID: clinic, ID: store.NewID(), Name: b.Name, Email: b.Email, PasswordHash: &hash, Role: roleAdmin, IsActive: true, CreatedAt: tx.Now(),
		})
		if err != nil {
			return err
		}
		made, err := tx.Clinic(ctx, clinic)
		if err != nil {
			return err
		}
		user, shown := userOf(admin), clinicOf(made)
		out.Body.User, out.Body.Clinic = &user, &shown
		out.Body.Session, err = a.desk.Issue(ctx, tx.Raw, admin.ID, uuid.New())
		return err
	})
	if err != nil {
		return nil, emailTaken(err)
	}
	return out, nil
}

// emailTaken answers for an address that somebody else has.
func emailTaken(err error) error {
	if dberr.Violated(err) == "users_email" {
		return hub.Errorf(hub.ErrConflict, "email_taken", "Email already registered")
	}
	return err
}

func (a *API) login(ctx context.Context, in *loginInput) (*sessionOutput, error) {
	session, err := a.desk.Login(ctx, in.Body.Email, in.Body.Password)
	return &sessionOutput{Session{Session: session}}, err
}

func (a *API) refresh(ctx context.Context, in *refreshInput) (*sessionOutput, error) {
	session, err := a.desk.Refresh(ctx, in.Body.RefreshToken)
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
		TenantID: user.ClinicID, Environment: hub.Live, UserID: user.ID, Name: user.Name, Role: user.Role, Admin: user.Role == roleAdmin,
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
	var wrong rest.Faults
	wrong.Email(&in.Body.Email, "body.email")
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	return &messageOutput{Message{"If the e-mail is registered, a reset link was sent"}}, a.desk.Forgot(ctx, in.Body.Email)
}

type resetInput struct {
	Body struct {
		Token       string `json:"token" maxLength:"200"`
		NewPassword string `json:"new_password" minLength:"8" maxLength:"128"`
	} `nameHint:"ResetPassword"`
}

func (a *API) reset(ctx context.Context, in *resetInput) (*messageOutput, error) {
	return &messageOutput{Message{"Password updated"}}, a.desk.SetPassword(ctx, in.Body.Token, in.Body.NewPassword)
}

func (a *API) me(ctx context.Context, _ *struct{}) (*userOutput, error) {
	_, who, err := scope(ctx)
	if err != nil {
		return nil, err
	}
	user, err := a.store.UserByID(ctx, who.UserID)
	return &userOutput{userOf(user)}, rest.Or404("User", err)
}
