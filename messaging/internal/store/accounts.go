package store

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/messaging/internal/store/dbgen"
)

// Rows of companies and their users.
type (
	// Company is a row of messaging.companies.
	Company = dbgen.Company
	// User is a row of messaging.users.
	User = dbgen.User
	// APIToken is a row of messaging.api_tokens.
	APIToken = dbgen.APIToken
)

// CreateCompany inserts a company.
func (t *Tx) CreateCompany(ctx context.Context, tenant uuid.UUID, name, phone, email string) (Company, error) {
	return t.InsertCompany(ctx, dbgen.InsertCompanyParams{TenantID: tenant, Name: name, Phone: phone, Email: email, CreatedAt: t.Now()})
}

// CreateUser inserts an active user. It sets the ids and the times.
func (t *Tx) CreateUser(ctx context.Context, u User) (User, error) {
	return t.InsertUser(ctx, dbgen.InsertUserParams{
		CompanyID: u.CompanyID, UID: uuid.New(), Name: u.Name, Email: u.Email, PasswordHash: u.PasswordHash, Profile: u.Profile, CreatedAt: t.Now(),
	})
}

// CreateAPIToken inserts a token. It sets the id and the times.
func (t *Tx) CreateAPIToken(ctx context.Context, token APIToken) (APIToken, error) {
	return t.InsertAPIToken(ctx, dbgen.InsertAPITokenParams{
		CompanyID: token.CompanyID, Name: token.Name, Prefix: token.Prefix, Hash: token.Hash, ConnectionID: token.ConnectionID,
		ExpiresAt: token.ExpiresAt, CreatedAt: t.Now(),
	})
}
