package api

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/accounts"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
)

// accountOptions are the settings of the clinic's logins.
var accountOptions = accounts.Options{Product: "Clinic", RefreshTokenPrefix: "clir_", PasswordPage: "/reset-password/clinic"}

// userStore implements [accounts.UserStore] on the clinic's users.
type userStore struct{ store *store.Store }

// FindByEmail implements [accounts.UserStore].
func (u userStore) FindByEmail(ctx context.Context, email string) (accounts.User, error) {
	row, err := u.store.UserByEmail(ctx, email)
	return toAccount(row), err
}

// Lock implements [accounts.UserStore].
func (u userStore) Lock(ctx context.Context, tx pgx.Tx, user uuid.UUID) (accounts.User, error) {
	row, err := u.store.Join(tx).LockUser(ctx, user)
	return toAccount(row), err
}

// SetPassword implements [accounts.UserStore].
func (u userStore) SetPassword(ctx context.Context, tx pgx.Tx, user uuid.UUID, stored string) error {
	joined := u.store.Join(tx)
	return joined.SetPassword(ctx, user, &stored, joined.Now())
}

// Recipient implements [accounts.UserStore].
func (u userStore) Recipient(ctx context.Context, tx pgx.Tx, user uuid.UUID) (accounts.Recipient, error) {
	joined := u.store.Join(tx)
	row, err := joined.UserByID(ctx, user)
	if err != nil {
		return accounts.Recipient{}, err
	}
	clinic, err := joined.Clinic(ctx, row.ClinicID)
	return accounts.Recipient{Name: row.Name, Email: row.Email, Tenant: module.Tenant{ID: clinic.ID, Name: clinic.Name}, Locale: clinic.Locale}, err
}

func toAccount(row store.User) accounts.User {
	u := accounts.User{ID: row.ID, Email: row.Email, Active: row.IsActive}
	if row.PasswordHash != nil {
		u.Password = *row.PasswordHash
	}
	return u
}

type signUpInput struct {
	Body struct {
		ClinicName string `json:"clinic_name" minLength:"1" maxLength:"120" doc:"How patients know the clinic"`
		Name       string `json:"name" minLength:"1" maxLength:"120" doc:"Of the first administrator"`
		Email      string `json:"email" maxLength:"254" doc:"Login of the administrator" example:"bia@example.com"`
		Password   string `json:"password" minLength:"8" maxLength:"128" doc:"Secret of the administrator"`
	} `nameHint:"Register"`
}

type signUpOutput struct{ Body Registered }

// Registered is the session of a clinic's first administrator.
type Registered struct {
	accounts.Session
	User   User   `json:"user" doc:"Administrator, who is logged in"`
	Clinic Clinic `json:"clinic" doc:"What was made"`
}

func (a *API) signUp(ctx context.Context, in *signUpInput) (*signUpOutput, error) {
	b := &in.Body
	b.ClinicName, b.Name = redactInput(b.ClinicName), redactInput(b.Name)
	var errs rest.FieldErrors
	errs.CheckName(b.ClinicName, "body.clinic_name", 120)
	errs.CheckName(b.Name, "body.name", 120)
	errs.CheckEmail(&b.Email, "body.email")
	if err := errs.Err(); err != nil {
		return nil, err
	}
	hash, err := a.host.Credentials.HashPassword(ctx, b.Password)
	if err != nil {
		return nil, err
	}
	clinic := store.NewID()
	out := &signUpOutput{}
	err = a.store.InTx(ctx, "registering", func(tx *store.Tx) error {
		if err := tx.InsertClinic(ctx, clinic, b.ClinicName, tx.Now()); err != nil {
			return err
		}
		if err := a.host.Tenants.Put(ctx, tx.Raw, module.Tenant{ID: clinic, Name: b.ClinicName}); err != nil {
			return err
		}
		admin, err := tx.CreateUser(ctx, store.User{ClinicID: clinic, Name: b.Name, Email: b.Email, PasswordHash: &hash, Role: roleAdmin})
		if err != nil {
			return err
		}
		row, err := tx.Clinic(ctx, clinic)
		if err != nil {
			return err
		}
		out.Body.User, out.Body.Clinic = toUser(admin), toClinic(row)
		out.Body.Session, err = a.authenticator.IssueSession(ctx, tx.Raw, admin.ID, uuid.New())
		return err
	})
	if err != nil {
		return nil, mapEmailConflict(err)
	}
	return out, nil
}

// mapEmailConflict turns a violation of the unique e-mail address into an error for callers.
func mapEmailConflict(err error) error {
	if dberr.ConstraintName(err) == "users_email" {
		return hub.Errorf(hub.ErrConflict, "email_taken", "Email already registered")
	}
	return err
}

// Authenticate implements the product's part of [module.Instance].
func (a *API) Authenticate(ctx context.Context, token string) (module.Caller, error) {
	return a.authenticator.Authenticate(ctx, token, func(ctx context.Context, id, login uuid.UUID) (module.Caller, error) {
		user, err := a.store.ActiveUserByLogin(ctx, id, login)
		return module.Caller{
			TenantID: user.ClinicID, Environment: hub.Live, UserID: user.ID, Name: user.Name, Role: user.Role, Admin: user.Role == roleAdmin,
		}, err
	})
}

func (a *API) getMe(ctx context.Context, _ *struct{}) (*userOutput, error) {
	_, caller, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	user, err := a.store.UserByID(ctx, caller.UserID)
	return &userOutput{toUser(user)}, rest.NotFoundIfNoRows("User", err)
}
