package api

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module/accounts"
	"integrationhub/hub/module/rest"
)

// Roles of users.
const (
	roleAdmin = "admin"
	roleStaff = "staff"
)

// User is a person who works at the clinic.
type User struct {
	ID        uuid.UUID `json:"id" doc:"Names the user in paths"`
	ClinicID  uuid.UUID `json:"clinic_id" doc:"Clinic the user works for"`
	Name      string    `json:"name" doc:"Display name"`
	Email     string    `json:"email" doc:"Login of the user, and where mail goes"`
	Role      string    `json:"role" enum:"admin,staff" doc:"What the user may do"`
	IsActive  bool      `json:"is_active" doc:"Whether the user may log in"`
	CreatedAt time.Time `json:"created_at" doc:"When it was stored"`
}

type userOutput struct{ Body User }

func toUser(u store.User) User {
	return User{u.ID, u.ClinicID, u.Name, u.Email, u.Role, u.IsActive, u.CreatedAt.UTC()}
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
		Name     string                `json:"name" minLength:"1" maxLength:"120" doc:"Display name"`
		Email    string                `json:"email" maxLength:"254" doc:"Login of the user, and where mail goes" example:"caio@example.com"`
		Role     string                `json:"role,omitempty" enum:"admin,staff" default:"staff" doc:"What the user may do"`
		Password rest.Optional[string] `json:"password,omitempty" minLength:"8" maxLength:"128" doc:"Absent: the user gets a link by e-mail to set one"`
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
	} else if err := a.authenticator.AllowInvitation(ctx, scope.Clinic, b.Email); err != nil {
		return nil, err
	}
	var user store.User
	err = a.withLockedUsers(ctx, "making a user", func(tx *store.Tx, _ []store.User) error {
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
		Name     rest.Optional[string] `json:"name,omitempty" minLength:"1" maxLength:"120" doc:"Display name"`
		Email    rest.Optional[string] `json:"email,omitempty" maxLength:"254" doc:"Login of the user, and where mail goes"`
		Role     rest.Optional[string] `json:"role,omitempty" enum:"admin,staff" doc:"What the user may do"`
		IsActive rest.Optional[bool]   `json:"is_active,omitempty" doc:"Whether the user may log in"`
	} `nameHint:"UserFields"`
}

// withLockedUsers locks the clinic's users, so that two administrators cannot remove each other
// at once, and calls work with them. The caller is still an administrator.
func (a *API) withLockedUsers(ctx context.Context, what string, work func(tx *store.Tx, users []store.User) error) error {
	scope, principal, err := requestScope(ctx)
	if err != nil {
		return err
	}
	return a.store.InTx(ctx, what, func(tx *store.Tx) error {
		users, err := tx.LockUsers(ctx, scope.Clinic)
		if err != nil {
			return err
		}
		caller, err := accounts.LockedCaller(users, func(u store.User) bool { return u.ID == principal.UserID }, func(u store.User) bool { return u.IsActive })
		if err != nil {
			return err
		}
		if caller.Role != roleAdmin {
			return accounts.AdminOnlyError()
		}
		return work(tx, users)
	})
}

// withLockedUser is [API.withLockedUsers] for a change of one user. It calls work with the
// user, and whether that is the last active administrator.
func (a *API) withLockedUser(ctx context.Context, id uuid.UUID, work func(tx *store.Tx, user store.User, isLastAdmin bool) error) error {
	return a.withLockedUsers(ctx, "changing a user", func(tx *store.Tx, users []store.User) error {
		i := slices.IndexFunc(users, func(u store.User) bool { return u.ID == id })
		if i < 0 {
			return hub.NotFound("User")
		}
		return work(tx, users[i], accounts.IsLastAdmin(users, i, isActiveAdmin))
	})
}

func isActiveAdmin(user store.User) bool { return user.Role == roleAdmin && user.IsActive }

func errLastAdmin() *hub.Error {
	return hub.Errorf(hub.ErrConflict, "last_admin", "This is the last active administrator; make another one first.")
}

func (a *API) updateUser(ctx context.Context, in *updateUserInput) (*userOutput, error) {
	var updated store.User
	err := a.withLockedUser(ctx, in.ID, func(tx *store.Tx, user store.User, isLastAdmin bool) error {
		before := user
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
		if isLastAdmin && !isActiveAdmin(user) {
			return errLastAdmin()
		}
		var err error
		updated, err = tx.UpdateUser(ctx, user)
		if err == nil {
			err = a.authenticator.RevokeChanged(ctx, tx.Raw, toAccount(before), toAccount(updated))
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
