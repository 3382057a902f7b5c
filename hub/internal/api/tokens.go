package api

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/auth"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/module/rest"
)

// Token describes an API token, without its text.
type Token struct {
	ID         uuid.UUID  `json:"id" format:"uuid" doc:"UUID that names it in paths"`
	Name       string     `json:"name" doc:"The program that uses it" example:"billing back end"`
	Role       string     `json:"role" enum:"admin,support" doc:"admin: everything but operators and tokens; support: reads, retries and replays"`
	Last4      string     `json:"last4" example:"a1B2" doc:"How the token ends"`
	CreatedBy  string     `json:"created_by" doc:"Who made it" example:"ops@example.com"`
	CreatedAt  time.Time  `json:"created_at" doc:"When it was made"`
	ExpiresAt  *time.Time `json:"expires_at" doc:"null: never"`
	LastUsedAt *time.Time `json:"last_used_at" doc:"To within a minute; null: never"`
}

// CreatedToken is a token with its text, which is shown once.
type CreatedToken struct {
	Token
	Secret string `json:"token" example:"hubt_6qT1wYb0ZkR4mVxN8sLd2HcJ7pAe3U1XkQ9fGm5oPzI" doc:"Send it as Authorization: Bearer. Shown now and never again"`
}

type createTokenInput struct {
	Body struct {
		Name      string     `json:"name" minLength:"1" maxLength:"120" doc:"The program that will use it" example:"billing back end"`
		Role      string     `json:"role" enum:"admin,support" doc:"admin: everything but operators and tokens; support: reads, retries and replays"`
		ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"Absent: never"`
	} `nameHint:"TokenCreate"`
}

// requirePerson refuses writes of operators and tokens by a token: one that leaks must not
// make others that outlive it.
func requirePerson(row rest.Route, operator *auth.Operator) error {
	if operator.IsToken && row.Method != http.MethodGet && (row.Tag() == "operators" || row.Tag() == "tokens") {
		return hub.Errorf(hub.ErrForbidden, "people_only", "API tokens change neither operators nor tokens: log in to do this.")
	}
	return nil
}

func (a *API) listTokens(ctx context.Context, in *struct{ httpx.PageQuery }) (*struct{ Body httpx.Page[Token] }, error) {
	before, err := beforeID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	rows, err := a.deps.Auth.APITokens(ctx, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := pageOf(rows, in.PageQuery, tokenOf, func(last auth.APIToken) []byte { return last.ID[:] })
	return &struct{ Body httpx.Page[Token] }{page}, nil
}

func (a *API) createToken(ctx context.Context, in *createTokenInput) (*struct{ Body CreatedToken }, error) {
	token, plain, err := a.deps.Auth.CreateAPIToken(ctx, auth.APITokenDraft{
		Name: in.Body.Name, Role: in.Body.Role, CreatedBy: requestInfoOf(ctx).operator.Label(), ExpiresAt: in.Body.ExpiresAt,
	})
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, token.ID, uuid.Nil)
	return &struct{ Body CreatedToken }{CreatedToken{tokenOf(token), plain}}, nil
}

func (a *API) deleteToken(ctx context.Context, in *idPath) (*none, error) {
	return nil, a.deps.Auth.DeleteAPIToken(ctx, in.ID)
}

func tokenOf(token auth.APIToken) Token { return Token(token) }
