package api

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/accounts"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/pointer"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
)

// accountOptions configures the accounts module for this product.
var accountOptions = accounts.Options{Product: "Scheduling", RefreshTokenPrefix: "schr_", PasswordPage: "/reset-password"}

// userStore implements [accounts.UserStore] on the users table.
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
	return u.store.Join(tx).SavePassword(ctx, user, stored)
}

// Recipient implements [accounts.UserStore].
func (u userStore) Recipient(ctx context.Context, tx pgx.Tx, user uuid.UUID) (accounts.Recipient, error) {
	storeTx := u.store.Join(tx)
	row, err := storeTx.UserByID(ctx, user)
	if err != nil {
		return accounts.Recipient{}, err
	}
	orgRow, err := storeTx.OrganizationByID(ctx, row.OrgID)
	org := orgRow.Organization
	return accounts.Recipient{Name: row.Name, Email: row.Email, Tenant: module.Tenant{ID: org.ID, Name: org.Name}, ReplyTo: pointer.ValueOrZero(org.Email), Locale: org.Locale}, err
}

func toAccount(row store.User) accounts.User {
	return accounts.User{ID: row.ID, Email: row.Email, Password: pointer.ValueOrZero(row.PasswordHash), Active: row.IsActive}
}

type signUpInput struct {
	Body struct {
		OrgName  string           `json:"org_name" minLength:"1" maxLength:"120" doc:"Name of the organization"`
		OrgSlug  string           `json:"org_slug" minLength:"1" maxLength:"63" doc:"Its part of public addresses: a-z, 0-9 and dashes, 3 to 63 characters" example:"studio-bia"`
		Name     string           `json:"name" minLength:"1" maxLength:"120" doc:"Of the owner"`
		Email    string           `json:"email" maxLength:"254" doc:"Login of the owner" example:"bia@example.com"`
		Password string           `json:"password" minLength:"8" maxLength:"128" doc:"Secret of the user, at least 8 characters"`
		Phone    nullable[string] `json:"phone,omitempty" maxLength:"40" doc:"null: none"`
	} `nameHint:"Register"`
}

type signUpOutput struct{ Body Registered }

// Registered is the response of a sign-up.
type Registered struct {
	accounts.Session
	User         User         `json:"user" doc:"Owner, who is logged in"`
	Organization Organization `json:"organization" doc:"What was made"`
}

func (a *API) signUp(ctx context.Context, in *signUpInput) (*signUpOutput, error) {
	body := &in.Body
	body.OrgName, body.Name = strings.TrimSpace(body.OrgName), strings.TrimSpace(body.Name)
	var phone *string
	if body.Phone.HasValue() && body.Phone.Value != "" {
		phone = &body.Phone.Value
	}
	var errs fieldErrors
	errs.CheckName(body.OrgName, "body.org_name", 120)
	errs.CheckName(body.Name, "body.name", 120)
	errs.CheckEmail(&body.Email, "body.email")
	if phone != nil {
		errs.completePhoneText(phone, store.Org{})
	}
	errs.Check(booking.ValidSlug(body.OrgSlug), "body.org_slug", "must be 3 to 63 of a-z, 0-9 and single dashes, and no reserved word")
	if err := errs.Err(); err != nil {
		return nil, err
	}
	hash, err := a.host.Credentials.HashPassword(ctx, body.Password)
	if err != nil {
		return nil, err
	}
	org := store.NewID()
	var session Registered
	var owner store.User
	err = a.store.InTx(ctx, "registering", func(tx *store.Tx) error {
		if owner, err = a.createOrganization(ctx, tx, org, in, phone, hash); err != nil {
			return err
		}
		session.Session, err = a.accounts.IssueSession(ctx, tx.Raw, owner.ID, uuid.New())
		return err
	})
	if err != nil {
		return nil, mapAccountConflict(err)
	}
	created, err := a.store.LoadOrg(ctx, org)
	if err != nil {
		return nil, err
	}
	session.User, session.Organization = toUser(owner, created.Zone), a.toOrganization(created)
	return &signUpOutput{session}, nil
}

// createOrganization creates an organization with its settings, loyalty program and owner.
func (a *API) createOrganization(ctx context.Context, tx *store.Tx, org uuid.UUID, in *signUpInput, phone *string, hash string) (store.User, error) {
	body := &in.Body
	if err := checkSlugFree(ctx, tx, body.OrgSlug, org); err != nil {
		return store.User{}, err
	}
	if err := tx.AddOrganization(ctx, store.Organization{ID: org, Name: body.OrgName, Slug: body.OrgSlug, Phone: phone}, body.Email); err != nil {
		return store.User{}, err
	}
	if err := a.host.Tenants.Put(ctx, tx.Raw, module.Tenant{ID: org, Name: body.OrgName}); err != nil {
		return store.User{}, err
	}
	return tx.AddUser(ctx, store.User{
		OrgID: org, ID: store.NewID(), Name: body.Name, Email: body.Email, PasswordHash: &hash, Role: roleOwner, Phone: phone, IsActive: true,
	})
}

// checkSlugFree refuses a slug that still redirects to another organization. The database
// refuses slugs in use.
func checkSlugFree(ctx context.Context, tx *store.Tx, slug string, org uuid.UUID) error {
	reserved, err := tx.RedirectsElsewhere(ctx, slug, org)
	if err == nil && reserved {
		return slugTakenError()
	}
	return err
}

func slugTakenError() *hub.Error {
	return hub.Errorf(hub.ErrMalformed, "slug_taken", "Organization slug already taken")
}

// mapAccountConflict turns violations of unique e-mails and slugs into errors for callers.
func mapAccountConflict(err error) error {
	switch dberr.ConstraintName(err) {
	case "users_email":
		return hub.Errorf(hub.ErrMalformed, "email_taken", "Email already registered")
	case "organizations_slug_key":
		return slugTakenError()
	}
	return err
}

// Authenticate implements the product's part of [module.Instance].
func (a *API) Authenticate(ctx context.Context, token string) (module.Caller, error) {
	return a.accounts.Authenticate(ctx, token, func(ctx context.Context, id, login uuid.UUID) (module.Caller, error) {
		user, err := a.store.UserByLogin(ctx, id, login)
		return module.Caller{
			TenantID: user.OrgID, Environment: hub.Live, UserID: user.ID, Name: user.Name, Role: user.Role, Admin: user.Role == roleOwner || user.Role == roleAdmin,
		}, err
	})
}

func (a *API) getCurrentUser(ctx context.Context, _ *struct{}) (*userOutput, error) {
	caller, err := requireCaller(ctx)
	if err != nil {
		return nil, err
	}
	org, err := a.store.LoadOrg(ctx, caller.TenantID)
	if err != nil {
		return nil, err
	}
	user, err := a.store.UserByID(ctx, caller.UserID)
	return &userOutput{toUser(user, org.Zone)}, rest.NotFoundIfNoRows("User", err)
}
