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
	"integrationhub/scheduling/internal/store/dbgen"
)

// Roles of users.
const (
	roleOwner = "owner"
	roleAdmin = "admin"
)

// User is somebody who works in an organization.
type User struct {
	ID        uuid.UUID `json:"id"`
	OrgID     uuid.UUID `json:"org_id"`
	Name      string    `json:"name"`
	Email     string    `json:"email"`
	Role      string    `json:"role" enum:"owner,admin,staff,professional"`
	Phone     *string   `json:"phone"`
	AvatarURL *string   `json:"avatar_url"`
	IsActive  bool      `json:"is_active"`
	CreatedAt time.Time `json:"created_at"`
}

type userOutput struct{ Body User }

type userFields struct {
	Name     optional[string] `json:"name,omitempty" example:"Edu Lima"`
	Email    optional[string] `json:"email,omitempty" example:"edu@example.com"`
	Role     optional[string] `json:"role,omitempty" enum:"owner,admin,staff,professional"`
	Phone    optional[string] `json:"phone,omitempty"`
	IsActive optional[bool]   `json:"is_active,omitempty"`
}

type createUserInput struct {
	Body userFields `nameHint:"UserFields"`
}

type updateUserInput struct {
	ByID
	Body userFields `nameHint:"UserFields"`
}

func toUser(u dbgen.User, zone *time.Location) User {
	return User{ID: u.ID, OrgID: u.OrgID, Name: u.Name, Email: u.Email, Role: u.Role, Phone: u.Phone, AvatarURL: u.AvatarUrl, IsActive: u.IsActive, CreatedAt: u.CreatedAt.In(zone)}
}

// applyTo applies the fields to a user and checks what comes out.
func (f userFields) applyTo(u *dbgen.User) error {
	f.Name.ApplyTo(&u.Name)
	f.Email.ApplyTo(&u.Email)
	f.Role.ApplyTo(&u.Role)
	f.Phone.ApplyToNullable(&u.Phone)
	f.IsActive.ApplyTo(&u.IsActive)
	u.Name = strings.TrimSpace(u.Name)
	var wrong fieldErrors
	wrong.CheckLength(u.Name, "body.name", 1, 120)
	wrong.CheckEmail(&u.Email, "body.email")
	wrong.checkPhone(u.Phone)
	wrong.Check(u.Role != "", "body.role", "is required")
	return wrong.Err()
}

func (a *API) listUsers(ctx context.Context, _ *struct{}) (*struct{ Body []User }, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.ListUsers(ctx, org.ID)
	return &struct{ Body []User }{rest.Map(rows, func(u dbgen.User) User { return toUser(u, org.Zone) })}, err
}

// requireOwnerFor lets only owners make owners, or change them.
func requireOwnerFor(ctx context.Context, roles ...string) error {
	who, err := requireCaller(ctx)
	if err == nil && slices.Contains(roles, roleOwner) && who.Role != roleOwner {
		return hub.Errorf(hub.ErrForbidden, "owner_only", "Only owners may do this.")
	}
	return err
}

func (a *API) createUser(ctx context.Context, in *createUserInput) (*userOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	draft := dbgen.User{Role: "staff", IsActive: true}
	if err := in.Body.applyTo(&draft); err != nil {
		return nil, err
	}
	if err := requireOwnerFor(ctx, draft.Role); err != nil {
		return nil, err
	}
	var made dbgen.User
	err = a.store.InTx(ctx, "making a user", func(tx *store.Tx) error {
		made, err = tx.CreateUser(ctx, dbgen.CreateUserParams{
			OrgID: org.ID, ID: store.NewID(), Name: draft.Name, Email: draft.Email, Role: draft.Role, Phone: draft.Phone, IsActive: draft.IsActive,
		})
		if err != nil {
			return err
		}
		return a.accounts.EmailPasswordLink(ctx, tx.Raw, toAccount(made), accounts.PurposeInvite)
	})
	return &userOutput{toUser(made, org.Zone)}, mapAccountConflict(err)
}

// withLockedUser locks the organization's users, so that two owners cannot remove each
// other at once, and hands over the one with an id and whether it is the last owner.
func (a *API) withLockedUser(ctx context.Context, id uuid.UUID, work func(tx *store.Tx, user dbgen.User, lastOwner bool) error) error {
	org, err := callerOrgID(ctx)
	if err != nil {
		return err
	}
	return a.store.InTx(ctx, "changing a user", func(tx *store.Tx) error {
		users, err := tx.LockUsers(ctx, org)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(users, func(u dbgen.User) bool { return u.ID == id })
		if at < 0 {
			return hub.NotFound("User")
		}
		others := slices.ContainsFunc(users, func(u dbgen.User) bool { return u.ID != id && u.Role == roleOwner && u.IsActive })
		return work(tx, users[at], users[at].Role == roleOwner && users[at].IsActive && !others)
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
	var done dbgen.User
	err = a.withLockedUser(ctx, in.ID, func(tx *store.Tx, user dbgen.User, last bool) error {
		before := user.Role
		if err := in.Body.applyTo(&user); err != nil {
			return err
		}
		if err := requireOwnerFor(ctx, before, user.Role); err != nil {
			return err
		}
		if last && (user.Role != roleOwner || !user.IsActive) {
			return lastOwnerError()
		}
		var err error
		done, err = tx.UpdateUser(ctx, dbgen.UpdateUserParams{
			OrgID: user.OrgID, ID: user.ID, Name: user.Name, Email: user.Email, Role: user.Role, Phone: user.Phone, IsActive: user.IsActive, UpdatedAt: tx.Now(),
		})
		if err == nil && !user.IsActive {
			err = a.accounts.RevokeSessions(ctx, tx.Raw, user.ID)
		}
		return err
	})
	return &userOutput{toUser(done, org.Zone)}, mapAccountConflict(err)
}

func (a *API) deleteUser(ctx context.Context, in *ByID) (*noContent, error) {
	return nil, a.withLockedUser(ctx, in.ID, func(tx *store.Tx, user dbgen.User, last bool) error {
		if err := requireOwnerFor(ctx, user.Role); err != nil {
			return err
		}
		if last {
			return lastOwnerError()
		}
		return tx.DeleteUser(ctx, user.OrgID, user.ID)
	})
}
