package product

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/store"
)

// IssuedKey is what may be seen of an API key after it was made.
type IssuedKey struct {
	ID            uuid.UUID       `json:"id" format:"uuid"`
	Name          string          `json:"name"`
	Environment   hub.Environment `json:"environment" enum:"live,test"`
	Prefix        string          `json:"prefix" doc:"How the key begins"`
	Last4         string          `json:"last4" doc:"How the key ends"`
	Scopes        []string        `json:"scopes" nullable:"false"`
	Rate          string          `json:"rate" example:"100-M"`
	IntegrationID *uuid.UUID      `json:"integration_id" format:"uuid" nullable:"true" doc:"The integration it is bound to"`
	CreatedAt     time.Time       `json:"created_at"`
	ExpiresAt     *time.Time      `json:"expires_at" doc:"null: never"`
	RevokedAt     *time.Time      `json:"revoked_at"`
	ReplacedBy    *uuid.UUID      `json:"replaced_by" format:"uuid" nullable:"true" doc:"The key that a rotation made"`
	LastUsedAt    *time.Time      `json:"last_used_at"`
}

// NewKey is a key with its plain text, seen once.
type NewKey struct {
	IssuedKey
	APIKey string `json:"api_key" doc:"Shown now and never again"`
}

type issueInput struct {
	Body *struct {
		Name        string     `json:"name,omitempty" maxLength:"120"`
		Environment string     `json:"environment,omitempty" enum:"live,test" doc:"Absent: that of the header X-Environment, live without it"`
		Scopes      []string   `json:"scopes,omitempty" maxItems:"50" doc:"Absent: the product's features"`
		ExpiresAt   *time.Time `json:"expires_at,omitempty" doc:"Absent: never"`
	} `nameHint:"IssueKey" required:"false"`
}

type rotateInput struct {
	ID   uuid.UUID `path:"id" format:"uuid"`
	Body *struct {
		OverlapSeconds *int `json:"overlap_seconds,omitempty" minimum:"0" maximum:"604800" doc:"How long the old key stays valid: absent is 86400, a day"`
	} `nameHint:"RotateKey" required:"false"`
}

type onePath struct {
	ID uuid.UUID `path:"id" format:"uuid"`
}

type newKeyOutput struct{ Body NewKey }

func (p *Product) keyRoutes() {
	register(p.api, operation(http.MethodPost, "/api-keys", 200, "api-keys.create", "Issue an API key for another product", administrators), p.issueKey)
	register(p.api, operation(http.MethodGet, "/api-keys", 200, "api-keys.list", "List API keys", administrators), p.listKeys)
	register(p.api, operation(http.MethodDelete, "/api-keys/{id}", 204, "api-keys.revoke", "Revoke an API key at once", administrators), p.revokeKey)
	register(p.api, operation(http.MethodPost, "/api-keys/{id}/rotate", 201, "api-keys.rotate", "Replace an API key, the old one living on for a while", administrators), p.rotateKey)
}

// register serves an operation; a database that is away is a 503 whichever package
// ran into it.
func register[I, O any](api huma.API, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		return out, store.Failed(op.OperationID, err)
	})
}

func (p *Product) issueKey(ctx context.Context, in *issueInput) (*newKeyOutput, error) {
	who := aboutOf(ctx).caller
	draft := keys.Draft{TenantID: who.TenantID, Environment: who.Environment, ForPeer: true}
	if in.Body != nil {
		draft.Name, draft.Scopes, draft.ExpiresAt = in.Body.Name, in.Body.Scopes, in.Body.ExpiresAt
		if in.Body.Environment != "" {
			draft.Environment = hub.Environment(in.Body.Environment)
		}
	}
	key, plain, err := p.deps.Keys.Create(ctx, draft)
	if err != nil {
		return nil, err
	}
	touched(ctx, key.ID)
	return &newKeyOutput{NewKey{issuedOf(key), plain}}, nil
}

func (p *Product) listKeys(ctx context.Context, in *struct{ httpx.PageQuery }) (*struct{ Body httpx.Page[IssuedKey] }, error) {
	before, err := idBefore(in.PageQuery)
	if err != nil {
		return nil, err
	}
	who := aboutOf(ctx).caller
	environment := string(who.Environment)
	rows, err := p.deps.Keys.List(ctx, keys.Filter{TenantID: &who.TenantID, Environment: &environment}, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := httpx.PageOf(rows, in.Limit, func(last keys.Key) []byte { return last.ID[:] })
	out := &struct{ Body httpx.Page[IssuedKey] }{httpx.Page[IssuedKey]{Items: make([]IssuedKey, len(page.Items)), NextCursor: page.NextCursor}}
	for i, key := range page.Items {
		out.Body.Items[i] = issuedOf(key)
	}
	return out, nil
}

func (p *Product) revokeKey(ctx context.Context, in *onePath) (*struct{}, error) {
	who := aboutOf(ctx).caller
	if err := p.deps.Keys.Own(ctx, in.ID, who.TenantID, who.Environment); err != nil {
		return nil, err
	}
	_, err := p.deps.Keys.Revoke(ctx, in.ID)
	return nil, err
}

func (p *Product) rotateKey(ctx context.Context, in *rotateInput) (*newKeyOutput, error) {
	who := aboutOf(ctx).caller
	if err := p.deps.Keys.Own(ctx, in.ID, who.TenantID, who.Environment); err != nil {
		return nil, err
	}
	overlap := keys.DefaultOverlap
	if in.Body != nil && in.Body.OverlapSeconds != nil {
		overlap = time.Duration(*in.Body.OverlapSeconds) * time.Second
	}
	key, plain, err := p.deps.Keys.Rotate(ctx, in.ID, overlap)
	if err != nil {
		return nil, err
	}
	return &newKeyOutput{NewKey{issuedOf(key), plain}}, nil
}

func issuedOf(k keys.Key) IssuedKey {
	return IssuedKey{
		ID: k.ID, Name: k.Name, Environment: k.Environment, Prefix: k.Prefix, Last4: k.Last4, Scopes: k.Scopes, Rate: k.Rate,
		IntegrationID: k.IntegrationID, CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt,
		ReplacedBy: k.ReplacedBy, LastUsedAt: k.LastUsedAt,
	}
}
