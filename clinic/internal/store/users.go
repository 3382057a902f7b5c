package store

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store/dbgen"
)

// User is a row of clinic.users.
type User = dbgen.User

// ListUsers returns a page of a clinic's users, ordered by name.
func (s *Store) ListUsers(ctx context.Context, clinic uuid.UUID, page Page) ([]User, error) {
	return s.UsersPage(ctx, clinic, page.Offset, page.Limit)
}

// CreateUser inserts an active user. It sets the id and the times.
func (t *Tx) CreateUser(ctx context.Context, u User) (User, error) {
	return t.InsertUser(ctx, dbgen.InsertUserParams{
		ClinicID: u.ClinicID, ID: NewID(), Name: u.Name, Email: u.Email, PasswordHash: u.PasswordHash, Role: u.Role, IsActive: true, CreatedAt: t.Now(),
	})
}

// UpdateUser stores a user that the transaction has locked, except for the password.
func (t *Tx) UpdateUser(ctx context.Context, u User) (User, error) {
	return t.UpdateUserRow(ctx, dbgen.UpdateUserRowParams{
		ClinicID: u.ClinicID, ID: u.ID, Name: u.Name, Email: u.Email, Role: u.Role, IsActive: u.IsActive, UpdatedAt: t.Now(),
	})
}
