package api

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/accounts"
	"integrationhub/hub/module/rest"
)

// Roles of users.
const (
	roleAdmin = "admin"
	roleStaff = "staff"
)

// User is somebody who works at the clinic.
type User struct {
	ID        uuid.UUID `json:"id"`
	ClinicID  uuid.UUID `json:"clinic_id"`
	Name      string    `json:"name"`
	Email     string    `json:"email"`
	Role      string    `json:"role" enum:"admin,staff"`
	IsActive  bool      `json:"is_active"`
	CreatedAt time.Time `json:"created_at"`
}

type userOutput struct{ Body User }

func toUser(u store.User) User {
	return User{u.ID, u.ClinicID, u.Name, u.Email, u.Role, u.IsActive, u.CreatedAt.UTC()}
}

// Clinic is the customer of the product.
type Clinic struct {
	ID        uuid.UUID `json:"id"`
	Name      string    `json:"name"`
	Timezone  string    `json:"timezone" example:"America/Sao_Paulo"`
	Locale    string    `json:"locale" example:"pt-BR" doc:"Letters to users are in this language, where it is Portuguese, English or Spanish, else in Portuguese"`
	RevealCPF bool      `json:"reveal_cpf" doc:"Administrators may ask for whole tax ids; each time is on record"`
	CreatedAt time.Time `json:"created_at"`
}

type clinicOutput struct{ Body Clinic }

func toClinic(c store.Clinic) Clinic {
	return Clinic{c.ID, c.Name, c.Timezone, c.Locale, c.RevealCpf, c.CreatedAt.UTC()}
}

func (a *API) getClinic(ctx context.Context, _ *struct{}) (*clinicOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	row, err := a.store.Clinic(ctx, scope.Clinic)
	return &clinicOutput{toClinic(row)}, rest.NotFoundIfNoRows("Clinic", err)
}

type clinicInput struct {
	Body struct {
		Name      rest.Optional[string] `json:"name,omitempty"`
		Timezone  rest.Optional[string] `json:"timezone,omitempty"`
		Locale    rest.Optional[string] `json:"locale,omitempty"`
		RevealCPF rest.Optional[bool]   `json:"reveal_cpf,omitempty"`
	} `nameHint:"ClinicFields"`
}

func (a *API) updateClinic(ctx context.Context, in *clinicInput) (*clinicOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	var clinic store.Clinic
	err = a.store.InTx(ctx, "updating the clinic", func(tx *store.Tx) error {
		if clinic, err = tx.LockClinic(ctx, scope.Clinic); err != nil {
			return err
		}
		in.Body.Name.ApplyTo(&clinic.Name)
		in.Body.Timezone.ApplyTo(&clinic.Timezone)
		in.Body.Locale.ApplyTo(&clinic.Locale)
		in.Body.RevealCPF.ApplyTo(&clinic.RevealCpf)
		clinic.Name = redactInput(clinic.Name)
		var errs rest.FieldErrors
		errs.CheckName(clinic.Name, "body.name", 120)
		if in.Body.Timezone.HasValue() {
			errs.CheckTimeZone(clinic.Timezone, "body.timezone")
		}
		errs.CheckLocale(clinic.Locale, "body.locale")
		if err := errs.Err(); err != nil {
			return err
		}
		if err := a.host.Tenants.Put(ctx, tx.Raw, module.Tenant{ID: clinic.ID, Name: clinic.Name}); err != nil {
			return err
		}
		clinic, err = tx.UpdateClinic(ctx, clinic)
		return err
	})
	return &clinicOutput{toClinic(clinic)}, err
}

func (a *API) listUsers(ctx context.Context, in *uncountedPage) (*struct{ Body []User }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.ListUsers(ctx, scope.Clinic, in.toPage())
	return &struct{ Body []User }{rest.Map(rows, toUser)}, err
}

type createUserInput struct {
	Body struct {
		Name     string                `json:"name" minLength:"1" maxLength:"120"`
		Email    string                `json:"email" maxLength:"254" example:"caio@example.com"`
		Role     string                `json:"role,omitempty" enum:"admin,staff" default:"staff"`
		Password rest.Optional[string] `json:"password,omitempty" doc:"Absent: the user gets a link by e-mail to set one"`
	} `nameHint:"NewUser"`
}

func (a *API) createUser(ctx context.Context, in *createUserInput) (*userOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	b.Name = redactInput(b.Name)
	var errs rest.FieldErrors
	errs.CheckName(b.Name, "body.name", 120)
	errs.CheckEmail(&b.Email, "body.email")
	if b.Password.HasValue() {
		errs.CheckLength(b.Password.Value, "body.password", 8, 128)
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	draft := store.User{ClinicID: scope.Clinic, Name: b.Name, Email: b.Email, Role: b.Role}
	if b.Password.HasValue() {
		hash, err := a.host.Credentials.HashPassword(ctx, b.Password.Value)
		if err != nil {
			return nil, err
		}
		draft.PasswordHash = &hash
	}
	var user store.User
	err = a.store.InTx(ctx, "making a user", func(tx *store.Tx) error {
		if user, err = tx.CreateUser(ctx, draft); err != nil || draft.PasswordHash != nil {
			return err
		}
		return a.authenticator.EmailPasswordLink(ctx, tx.Raw, toAccount(user), accounts.PurposeInvite)
	})
	return &userOutput{toUser(user)}, mapEmailConflict(err)
}

type updateUserInput struct {
	rest.IDParam
	Body struct {
		Name     rest.Optional[string] `json:"name,omitempty"`
		Email    rest.Optional[string] `json:"email,omitempty"`
		Role     rest.Optional[string] `json:"role,omitempty"`
		IsActive rest.Optional[bool]   `json:"is_active,omitempty"`
	} `nameHint:"UserFields"`
}

// withLockedUser locks the clinic's users, so that two administrators cannot remove each
// other at once, and hands over the one with an id and whether it is the last
// administrator.
func (a *API) withLockedUser(ctx context.Context, id uuid.UUID, work func(tx *store.Tx, user store.User, isLastAdmin bool) error) error {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return err
	}
	return a.store.InTx(ctx, "changing a user", func(tx *store.Tx) error {
		users, err := tx.LockUsers(ctx, scope.Clinic)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(users, func(u store.User) bool { return u.ID == id })
		if i < 0 {
			return hub.NotFound("User")
		}
		hasOtherAdmin := slices.ContainsFunc(users, func(u store.User) bool { return u.ID != id && u.Role == roleAdmin && u.IsActive })
		return work(tx, users[i], users[i].Role == roleAdmin && users[i].IsActive && !hasOtherAdmin)
	})
}

func errLastAdmin() *hub.Error {
	return hub.Errorf(hub.ErrConflict, "last_admin", "This is the last active administrator; make another one first.")
}

func (a *API) updateUser(ctx context.Context, in *updateUserInput) (*userOutput, error) {
	var updated store.User
	err := a.withLockedUser(ctx, in.ID, func(tx *store.Tx, user store.User, isLastAdmin bool) error {
		in.Body.Name.ApplyTo(&user.Name)
		in.Body.Email.ApplyTo(&user.Email)
		in.Body.Role.ApplyTo(&user.Role)
		in.Body.IsActive.ApplyTo(&user.IsActive)
		user.Name = redactInput(user.Name)
		var errs rest.FieldErrors
		errs.CheckName(user.Name, "body.name", 120)
		errs.CheckEmail(&user.Email, "body.email")
		errs.Check(user.Role == roleAdmin || user.Role == roleStaff, "body.role", "must be admin or staff")
		if err := errs.Err(); err != nil {
			return err
		}
		if isLastAdmin && (user.Role != roleAdmin || !user.IsActive) {
			return errLastAdmin()
		}
		var err error
		updated, err = tx.UpdateUser(ctx, user)
		if err == nil && !user.IsActive {
			err = a.authenticator.RevokeSessions(ctx, tx.Raw, user.ID)
		}
		return err
	})
	return &userOutput{toUser(updated)}, mapEmailConflict(err)
}

func (a *API) deleteUser(ctx context.Context, in *rest.IDParam) (*rest.NoContent, error) {
	return nil, a.withLockedUser(ctx, in.ID, func(tx *store.Tx, user store.User, isLastAdmin bool) error {
		if isLastAdmin {
			return errLastAdmin()
		}
		return tx.DeleteUser(ctx, user.ClinicID, user.ID)
	})
}
