package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"integrationhub/hub/module/like"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store/dbgen"
)

// Rows of companies and their users.
type (
	// Company is a row of messaging.companies.
	Company = dbgen.Company
	// User is a row of messaging.users.
	User = dbgen.User
	// UserQueue is a queue of a user.
	UserQueue = dbgen.QueuesOfUsersRow
	// APIToken is a row of messaging.api_tokens.
	APIToken = dbgen.APIToken
)

// CreateCompany inserts a company.
func (t *Tx) CreateCompany(ctx context.Context, tenant uuid.UUID, name, phone, email string) (Company, error) {
	return t.InsertCompany(ctx, dbgen.InsertCompanyParams{TenantID: tenant, Name: name, Phone: phone, Email: email, CreatedAt: t.Now()})
}

// SaveCompany stores a company that the transaction has locked.
func (t *Tx) SaveCompany(ctx context.Context, c Company) (Company, error) {
	return t.UpdateCompany(ctx, dbgen.UpdateCompanyParams{
		ID: c.ID, Name: c.Name, Phone: c.Phone, Email: c.Email, Timezone: c.Timezone, Schedules: c.Schedules, ReopenMinutes: c.ReopenMinutes,
		OptOutWords: c.OptOutWords, RetentionDays: c.RetentionDays, UpdatedAt: t.Now(),
	})
}

// CreateUser inserts an active user. It sets the ids and the times.
func (t *Tx) CreateUser(ctx context.Context, u User) (User, error) {
	return t.InsertUser(ctx, dbgen.InsertUserParams{
		CompanyID: u.CompanyID, UID: uuid.New(), Name: u.Name, Email: u.Email, PasswordHash: u.PasswordHash, Profile: u.Profile,
		AllTickets: u.AllTickets, IsActive: true, ConnectionID: u.ConnectionID, CreatedAt: t.Now(),
	})
}

// SaveUser stores a user that the transaction has locked.
func (t *Tx) SaveUser(ctx context.Context, u User) (User, error) {
	return t.UpdateUserRow(ctx, dbgen.UpdateUserRowParams{
		CompanyID: u.CompanyID, ID: u.ID, Name: u.Name, Email: u.Email, PasswordHash: u.PasswordHash, Profile: u.Profile,
		AllTickets: u.AllTickets, IsActive: u.IsActive, ConnectionID: u.ConnectionID, UpdatedAt: t.Now(),
	})
}

// SetUserQueues replaces the queues of a user. found is false if one of them is not the
// company's; then the caller rolls back.
func (t *Tx) SetUserQueues(ctx context.Context, company, user int64, queues []int64) (found bool, err error) {
	if err := t.DeleteUserQueues(ctx, company, user); err != nil {
		return false, fmt.Errorf("removing a user's queues: %w", err)
	}
	inserted, err := t.InsertUserQueues(ctx, user, company, queues)
	return inserted == int64(len(queues)), err
}

// ReleaseTickets takes a user's live tickets away: open ones wait for another user.
func (t *Tx) ReleaseTickets(ctx context.Context, scope Scope, user int64) error {
	tickets, err := t.LiveTicketsOfUser(ctx, scope.Company, user)
	if err != nil {
		return fmt.Errorf("loading a user's tickets: %w", err)
	}
	for _, ticket := range tickets {
		earlier := ticket.Status
		ticket.Status, ticket.UserID = chat.TicketPending, nil
		if _, err := t.SaveTicket(ctx, scope, earlier, ticket); err != nil {
			return fmt.Errorf("returning a ticket: %w", err)
		}
	}
	return nil
}

// ListUsers returns a page of a company's users whose name or e-mail address contains a
// text, ordered by name, and how many there are on all pages.
func (s *Store) ListUsers(ctx context.Context, company int64, search string, page Page) ([]User, int, error) {
	pattern := like.Contains(search)
	count, err := s.UserCount(ctx, company, pattern)
	if err != nil {
		return nil, 0, fmt.Errorf("counting users: %w", err)
	}
	users, err := s.UsersPage(ctx, dbgen.UsersPageParams{CompanyID: company, Pattern: pattern, Skip: page.Offset, MaxRows: page.Limit})
	return users, int(count), err
}

// ListAPITokens returns a page of a company's tokens, the newest first, and how many there are on
// all pages.
func (s *Store) ListAPITokens(ctx context.Context, company int64, page Page) ([]APIToken, int, error) {
	count, err := s.APITokenCount(ctx, company)
	if err != nil {
		return nil, 0, fmt.Errorf("counting tokens: %w", err)
	}
	tokens, err := s.APITokensPage(ctx, company, page.Offset, page.Limit)
	return tokens, int(count), err
}

// CreateAPIToken inserts a token. It sets the id and the times.
func (t *Tx) CreateAPIToken(ctx context.Context, token APIToken) (APIToken, error) {
	return t.InsertAPIToken(ctx, dbgen.InsertAPITokenParams{
		CompanyID: token.CompanyID, Name: token.Name, Prefix: token.Prefix, Hash: token.Hash, ConnectionID: token.ConnectionID,
		ExpiresAt: token.ExpiresAt, CreatedAt: t.Now(),
	})
}
