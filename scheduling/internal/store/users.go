package store

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/store/dbgen"
)

// User is a row of scheduling.users.
type User = dbgen.User

// AddUser stores a new user. PasswordHash is nil until an invited user sets a password.
func (t *Tx) AddUser(ctx context.Context, user User) (User, error) {
	return t.CreateUser(ctx, dbgen.CreateUserParams{
		OrgID: user.OrgID, ID: user.ID, Name: user.Name, Email: user.Email, PasswordHash: user.PasswordHash, Role: user.Role, Phone: user.Phone, IsActive: user.IsActive,
	})
}

// SaveUser stores a changed user, without the password. A user who is disabled no longer reads
// the calendar by the address of its feed, which needs no login.
func (t *Tx) SaveUser(ctx context.Context, user User) (User, error) {
	if !user.IsActive {
		if err := t.RotateFeedsOfUser(ctx, user.OrgID, user.ID); err != nil {
			return User{}, err
		}
	}
	return t.UpdateUser(ctx, dbgen.UpdateUserParams{
		OrgID: user.OrgID, ID: user.ID, Name: user.Name, Email: user.Email, Role: user.Role, Phone: user.Phone, IsActive: user.IsActive, UpdatedAt: t.now,
	})
}

// RemoveUser deletes a user, and ends the address of the calendar feed that the user knew.
func (t *Tx) RemoveUser(ctx context.Context, user User) error {
	if err := t.RotateFeedsOfUser(ctx, user.OrgID, user.ID); err != nil {
		return err
	}
	return t.DeleteUser(ctx, user.OrgID, user.ID)
}

// SavePassword stores a user's password hash.
func (t *Tx) SavePassword(ctx context.Context, user uuid.UUID, hash string) error {
	return t.SetPassword(ctx, dbgen.SetPasswordParams{ID: user, PasswordHash: &hash, UpdatedAt: t.now})
}
