package api

import (
	"context"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/module/accounts"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/store"
)

// tokenPrefix begins every API token.
const tokenPrefix = "msgt_"

// Token is a token of a program that sends messages.
type Token struct {
	ID         int64      `json:"id" doc:"Id of the token" example:"4"`
	CompanyID  int64      `json:"companyId" doc:"The company it belongs to" example:"1"`
	Name       string     `json:"name" doc:"What the token is for" example:"CRM"`
	Prefix     string     `json:"prefix" doc:"The token's first characters" example:"msgt_Zk3x"`
	Scopes     []string   `json:"scopes" nullable:"false" doc:"What the token may do" example:"[\"message.send\"]"`
	WhatsappID *int64     `json:"whatsappId" doc:"The only connection it may send on; null: any"`
	LastUsedAt *time.Time `json:"lastUsedAt" doc:"To the minute; null: never"`
	ExpiresAt  *time.Time `json:"expiresAt" doc:"null: never"`
	RevokedAt  *time.Time `json:"revokedAt" doc:"null: it is valid"`
	CreatedAt  time.Time  `json:"createdAt" doc:"When it was made"`
	UpdatedAt  time.Time  `json:"updatedAt" doc:"When it was last changed"`
}

// CreatedToken is a new token; only this response shows it.
type CreatedToken struct {
	Token
	Secret string `json:"token" doc:"Shown this once: Authorization: Bearer of the send API"`
}

func toToken(t store.APIToken) Token {
	return Token{
		ID: t.ID, CompanyID: t.CompanyID, Name: t.Name, Prefix: t.Prefix, Scopes: []string{featureMessageSend}, WhatsappID: t.ConnectionID,
		LastUsedAt: t.LastUsedAt, ExpiresAt: t.ExpiresAt, RevokedAt: t.RevokedAt, CreatedAt: t.CreatedAt.UTC(), UpdatedAt: t.UpdatedAt.UTC(),
	}
}

const tokensPerPage = 20

type listAPITokensInput struct {
	PageNumber int `query:"pageNumber" minimum:"1" maximum:"100000" default:"1" doc:"From 1; a page has 20 tokens"`
}

// TokenList is a page of tokens, the newest first.
type TokenList struct {
	APITokens []Token `json:"apiTokens" nullable:"false" doc:"The page"`
	Count     int     `json:"count" doc:"Of all pages"`
	HasMore   bool    `json:"hasMore" doc:"There is another page"`
}

func (a *API) listAPITokens(ctx context.Context, in *listAPITokensInput) (*struct{ Body TokenList }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	page := store.Page{Offset: (in.PageNumber - 1) * tokensPerPage, Limit: tokensPerPage}
	rows, count, err := a.store.ListAPITokens(ctx, user.scope.Company, page)
	return &struct{ Body TokenList }{TokenList{rest.Map(rows, toToken), count, count > page.Offset+len(rows)}}, err
}

type createAPITokenInput struct {
	Body struct {
		Name       string     `json:"name" minLength:"1" maxLength:"120" doc:"What it is for" example:"CRM"`
		Scopes     []string   `json:"scopes,omitempty" enum:"message.send" minItems:"1" maxItems:"10" doc:"What it may do: to send messages is all that there is; absent: that" example:"[\"message.send\"]"`
		WhatsappID *int64     `json:"whatsappId,omitempty" nullable:"true" minimum:"1" maximum:"9007199254740991" doc:"The only connection it may send on; absent or null: any"`
		ExpiresAt  *time.Time `json:"expiresAt,omitempty" nullable:"true" doc:"Absent or null: never"`
	} `nameHint:"NewAPIToken"`
}

func (a *API) createAPIToken(ctx context.Context, in *createAPITokenInput) (*struct{ Body CreatedToken }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	var errs rest.FieldErrors
	errs.CheckName(in.Body.Name, "body.name", 120)
	errs.Check(in.Body.ExpiresAt == nil || in.Body.ExpiresAt.After(a.host.Now()), "body.expiresAt", "must be in the future")
	if err := errs.Err(); err != nil {
		return nil, err
	}
	if in.Body.WhatsappID != nil {
		if _, err := a.requireConnection(ctx, user.scope, *in.Body.WhatsappID); err != nil {
			return nil, err
		}
	}
	token, hash := accounts.NewSecret(tokenPrefix)
	var created store.APIToken
	err = a.store.InTx(ctx, "making a token", func(tx *store.Tx) error {
		created, err = tx.CreateAPIToken(ctx, store.APIToken{
			CompanyID: user.scope.Company, Name: in.Body.Name, Prefix: token[:len(tokenPrefix)+4], Hash: hash,
			ConnectionID: in.Body.WhatsappID, ExpiresAt: in.Body.ExpiresAt,
		})
		return err
	})
	return &struct{ Body CreatedToken }{CreatedToken{toToken(created), token}}, err
}

func (a *API) revokeAPIToken(ctx context.Context, in *IDParam) (*messageOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	revoked, err := a.store.RevokeAPIToken(ctx, a.host.Now(), user.scope.Company, in.ID)
	if err == nil && revoked == 0 {
		err = hub.Errorf(hub.ErrNotFound, "no_token_found", "There is no token with this id.")
	}
	return &messageOutput{Message{"Token revoked"}}, err
}
