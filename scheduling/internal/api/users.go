package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module/accounts"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/store"
)

// Roles of users.
const (
	roleOwner = "owner"
	roleAdmin = "admin"
)

// User is a member of an organization's staff.
type User struct {
	ID        uuid.UUID `json:"id" doc:"Names the user"`
	OrgID     uuid.UUID `json:"org_id" doc:"Organization that owns it"`
	Name      string    `json:"name" doc:"How colleagues see the user"`
	Email     string    `json:"email" doc:"Login of the user, and where mail goes"`
	Role      string    `json:"role" enum:"owner,admin,staff,professional" doc:"What the user may do"`
	Phone     *string   `json:"phone" doc:"In international form, +5511987654321; null: none"`
	AvatarURL *string   `json:"avatar_url" doc:"Picture of the user; null: none"`
	IsActive  bool      `json:"is_active" doc:"Whether the user may log in"`
	CreatedAt time.Time `json:"created_at" doc:"When it was stored"`
}

type userOutput struct{ Body User }

type userFields struct {
	Name     optional[string] `json:"name,omitempty" minLength:"1" maxLength:"120" doc:"How colleagues see the user" example:"Edu Lima"`
	Email    optional[string] `json:"email,omitempty" maxLength:"254" doc:"Login of the user, and where mail goes" example:"edu@example.com"`
	Role     optional[string] `json:"role,omitempty" enum:"owner,admin,staff,professional" doc:"What the user may do"`
	Phone    nullable[string] `json:"phone,omitempty" maxLength:"40" doc:"null: none"`
	IsActive optional[bool]   `json:"is_active,omitempty" doc:"Whether the user may log in"`
}

type createUserInput struct {
	Body userFields `nameHint:"UserFields"`
}

type updateUserInput struct {
	ByID
	Body userFields `nameHint:"UserFields"`
}

func toUser(row store.User, zone *time.Location) User {
	return User{ID: row.ID, OrgID: row.OrgID, Name: row.Name, Email: row.Email, Role: row.Role, Phone: row.Phone, AvatarURL: row.AvatarUrl, IsActive: row.IsActive, CreatedAt: row.CreatedAt.In(zone)}
}

// applyTo applies the fields to a user and validates the result.
func (f userFields) applyTo(user *store.User, org store.Org) error {
	var errs fieldErrors
	errs.completePhone(&f.Phone, org)
	f.Name.ApplyTo(&user.Name)
	f.Email.ApplyTo(&user.Email)
	f.Role.ApplyTo(&user.Role)
	f.Phone.ApplyTo(&user.Phone)
	f.IsActive.ApplyTo(&user.IsActive)
	user.Name = strings.TrimSpace(user.Name)
	errs.checkName(f.Name.HasValue(), user.Name)
	errs.CheckEmail(&user.Email, "body.email")
	errs.Check(user.Role != "", "body.role", "is required")
	return errs.Err()
}

func (a *API) listUsers(ctx context.Context, _ *struct{}) (*struct{ Body []User }, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.ListUsers(ctx, org.ID)
	return &struct{ Body []User }{rest.Map(rows, func(user store.User) User { return toUser(user, org.Zone) })}, err
}

// requireOwnerFor refuses other callers than owners if any of the roles is owner. caller is
// locked.
func requireOwnerFor(caller store.User, roles ...string) error {
	if slices.Contains(roles, roleOwner) && caller.Role != roleOwner {
		return hub.Errorf(hub.ErrForbidden, "owner_only", "Only owners may do this.")
	}
	return nil
}

func (a *API) createUser(ctx context.Context, in *createUserInput) (*userOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	draft := store.User{OrgID: org.ID, ID: store.NewID(), Role: "staff", IsActive: true}
	if err := in.Body.applyTo(&draft, org); err != nil {
		return nil, err
	}
	if err := a.accounts.AllowInvitation(ctx, org.ID, draft.Email); err != nil {
		return nil, err
	}
	var created store.User
	err = a.withLockedUsers(ctx, "making a user", func(tx *store.Tx, caller store.User, _ []store.User) error {
		if err := requireOwnerFor(caller, draft.Role); err != nil {
			return err
		}
		created, err = tx.AddUser(ctx, draft)
		if err != nil {
			return err
		}
		return a.accounts.EmailPasswordLink(ctx, tx.Raw, toAccount(created), accounts.PurposeInvite)
	})
	return &userOutput{toUser(created, org.Zone)}, mapAccountConflict(err)
}

// withLockedUsers locks the organization's users and calls change with them and the caller,
// who is still an administrator. The lock keeps two owners from removing each other at once.
func (a *API) withLockedUsers(ctx context.Context, what string, change func(tx *store.Tx, caller store.User, users []store.User) error) error {
	principal, err := requireCaller(ctx)
	if err != nil {
		return err
	}
	return a.store.InTx(ctx, what, func(tx *store.Tx) error {
		users, err := tx.LockUsers(ctx, principal.TenantID)
		if err != nil {
			return err
		}
		caller, err := accounts.LockedCaller(users, func(user store.User) bool { return user.ID == principal.UserID }, func(user store.User) bool { return user.IsActive })
		if err != nil {
			return err
		}
		if caller.Role != roleOwner && caller.Role != roleAdmin {
			return accounts.AdminOnlyError()
		}
		return change(tx, caller, users)
	})
}

// withLockedUser is [API.withLockedUsers] for a change of the user of the ID.
func (a *API) withLockedUser(ctx context.Context, id uuid.UUID, update func(tx *store.Tx, caller, user store.User, lastOwner bool) error) error {
	return a.withLockedUsers(ctx, "changing a user", func(tx *store.Tx, caller store.User, users []store.User) error {
		index := slices.IndexFunc(users, func(user store.User) bool { return user.ID == id })
		if index < 0 {
			return hub.NotFound("User")
		}
		hasOtherOwner := slices.ContainsFunc(users, func(user store.User) bool { return user.ID != id && user.Role == roleOwner && user.IsActive })
		return update(tx, caller, users[index], users[index].Role == roleOwner && users[index].IsActive && !hasOtherOwner)
	})
}

func lastOwnerError() *hub.Error {
	return hub.Errorf(hub.ErrConflict, "last_owner", "This is the last active owner; make another one first.")
}

func (a *API) updateUser(ctx context.Context, in *updateUserInput) (*userOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	var updated store.User
	err = a.withLockedUser(ctx, in.ID, func(tx *store.Tx, caller, user store.User, isLastOwner bool) error {
		before := user
		if err := in.Body.applyTo(&user, org); err != nil {
			return err
		}
		if err := requireOwnerFor(caller, before.Role, user.Role); err != nil {
			return err
		}
		if isLastOwner && (user.Role != roleOwner || !user.IsActive) {
			return lastOwnerError()
		}
		var err error
		updated, err = tx.SaveUser(ctx, user)
		if err == nil {
			err = a.accounts.RevokeChanged(ctx, tx.Raw, toAccount(before), toAccount(updated))
		}
		return err
	})
	return &userOutput{toUser(updated, org.Zone)}, mapAccountConflict(err)
}

func (a *API) deleteUser(ctx context.Context, in *ByID) (*noContent, error) {
	return nil, a.withLockedUser(ctx, in.ID, func(tx *store.Tx, caller, user store.User, isLastOwner bool) error {
		if err := requireOwnerFor(caller, user.Role); err != nil {
			return err
		}
		if isLastOwner {
			return lastOwnerError()
		}
		return tx.RemoveUser(ctx, user)
	})
}
