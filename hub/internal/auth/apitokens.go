package auth

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

const (
	apiTokenPrefix = "hubt_" // of API tokens, for leak scanners
	usedResolution = time.Minute
)

// APIToken is the bearer token of a program. It acts as an operator with a role until it is
// deleted or expires, whatever becomes of who made it.
type APIToken struct {
	ID         uuid.UUID
	Name       string
	Role       string
	Last4      string // how it ends
	CreatedBy  string // [Operator.Label] of who made it
	CreatedAt  time.Time
	ExpiresAt  *time.Time // nil = never
	LastUsedAt *time.Time // to within a minute; nil = never
}

// APITokenDraft describes a new token.
type APITokenDraft struct {
	Name      string
	Role      string
	CreatedBy string
	ExpiresAt *time.Time // nil = never
}

// CreateAPIToken stores a new token and returns its text, which is not stored.
func (s *Service) CreateAPIToken(ctx context.Context, draft APITokenDraft) (APIToken, string, error) {
	now := s.config.Now()
	if err := rest.CheckName(draft.Name, "body.name", maxName); err != nil {
		return APIToken{}, "", err
	}
	if draft.ExpiresAt != nil && !draft.ExpiresAt.After(now) {
		return APIToken{}, "", hub.Invalid("body.expires_at", "must be in the future")
	}
	plain := randomToken(apiTokenPrefix)
	row, err := dbgen.New(s.db).CreateToken(ctx, dbgen.CreateTokenParams{
		ID: uuid.Must(uuid.NewV7()), Name: draft.Name, Role: draft.Role, Hash: hashToken(plain), Last4: plain[len(plain)-4:],
		CreatedBy: draft.CreatedBy, CreatedAt: now, ExpiresAt: draft.ExpiresAt,
	})
	if err != nil {
		return APIToken{}, "", store.Wrap("storing the token", err)
	}
	return apiTokenOf(row), plain, nil
}

// APITokens returns up to limit tokens, newest first, older than the token before.
func (s *Service) APITokens(ctx context.Context, before *uuid.UUID, limit int) ([]APIToken, error) {
	rows, err := dbgen.New(s.db).ListTokens(ctx, before, int32(limit))
	if err != nil {
		return nil, store.Wrap("listing tokens", err)
	}
	list := make([]APIToken, len(rows))
	for i, row := range rows {
		list[i] = apiTokenOf(row)
	}
	return list, nil
}

// DeleteAPIToken ends a token at once, on every process.
func (s *Service) DeleteAPIToken(ctx context.Context, id uuid.UUID) error {
	deleted, err := dbgen.New(s.db).DeleteToken(ctx, id)
	if err == nil && deleted == 0 {
		return hub.NotFound("Token")
	}
	return store.Wrap("deleting the token", err)
}

// verifyAPIToken returns the operator that a token acts as.
func (s *Service) verifyAPIToken(ctx context.Context, bearer string) (Operator, error) {
	now, queries := s.config.Now(), dbgen.New(s.db)
	token, err := queries.TokenByHash(ctx, hashToken(bearer), now)
	if errors.Is(err, pgx.ErrNoRows) {
		return Operator{}, module.InvalidTokenError()
	}
	if err != nil {
		return Operator{}, store.Wrap("loading the token", err)
	}
	if token.LastUsedAt == nil || now.Sub(*token.LastUsedAt) >= usedResolution {
		if err := queries.SetTokenUsed(ctx, now, token.ID); err != nil {
			return Operator{}, store.Wrap("noting the token's use", err)
		}
	}
	return Operator{ID: token.ID, Name: token.Name, Role: token.Role, IsToken: true}, nil
}

func apiTokenOf(row dbgen.Token) APIToken {
	return APIToken{
		ID: row.ID, Name: row.Name, Role: row.Role, Last4: row.Last4, CreatedBy: row.CreatedBy,
		CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, LastUsedAt: row.LastUsedAt,
	}
}
