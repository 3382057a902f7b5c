package productapi

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/keys"
)

// IssuedKey is an API key without its plain text.
type IssuedKey struct {
	ID            uuid.UUID       `json:"id" format:"uuid" doc:"UUID that names it in paths"`
	Name          string          `json:"name" doc:"Note of what the key is for"`
	Environment   hub.Environment `json:"environment" enum:"live,test" doc:"Whether it is for live or test data; the two never mix"`
	Prefix        string          `json:"prefix" doc:"How the key begins"`
	Last4         string          `json:"last4" doc:"How the key ends"`
	Scopes        []string        `json:"scopes" nullable:"false" doc:"What the key may do"`
	Rate          string          `json:"rate" doc:"Requests allowed: 100-M is 100 in a minute" example:"100-M"`
	IntegrationID *uuid.UUID      `json:"integration_id" format:"uuid" nullable:"true" doc:"The integration it is bound to"`
	CreatedAt     time.Time       `json:"created_at" doc:"When it was made"`
	ExpiresAt     *time.Time      `json:"expires_at" doc:"null: never"`
	RevokedAt     *time.Time      `json:"revoked_at" doc:"When it was ended for good; null: it is in use"`
	ReplacedBy    *uuid.UUID      `json:"replaced_by" format:"uuid" nullable:"true" doc:"The key that a rotation made"`
	LastUsedAt    *time.Time      `json:"last_used_at" doc:"When a request last came with it; null: never"`
}

// NewKey is a key with its plain text, which is shown only once.
type NewKey struct {
	IssuedKey
	APIKey string `json:"api_key" doc:"Shown now and never again"`
}

type issueInput struct {
	Body *struct {
		Name        string     `json:"name,omitempty" maxLength:"120" doc:"Display name"`
		Environment string     `json:"environment,omitempty" enum:"live,test" doc:"Absent: that of the header X-Environment, live without it"`
		Scopes      []string   `json:"scopes,omitempty" maxItems:"50" doc:"Absent: the product's features"`
		ExpiresAt   *time.Time `json:"expires_at,omitempty" doc:"Absent: never"`
	} `nameHint:"IssueKey" required:"false"`
}

type rotateInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"UUID that names it in paths"`
	Body *struct {
		OverlapSeconds *int `json:"overlap_seconds,omitempty" minimum:"0" maximum:"604800" doc:"How long the old key stays valid: absent is 86400, a day"`
	} `nameHint:"RotateKey" required:"false"`
}

type idPath struct {
	ID uuid.UUID `path:"id" format:"uuid" doc:"UUID that names it in paths"`
}

type newKeyOutput struct{ Body NewKey }

func (p *Product) issueKey(ctx context.Context, in *issueInput) (*newKeyOutput, error) {
	caller := requestInfoFrom(ctx).caller
	draft := keys.Draft{TenantID: caller.TenantID, Environment: caller.Environment, ForPeer: true}
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
	setAuditResource(ctx, key.ID)
	return &newKeyOutput{NewKey{issuedKeyOf(key), plain}}, nil
}

func (p *Product) listKeys(ctx context.Context, in *struct{ httpx.PageQuery }) (*struct{ Body httpx.Page[IssuedKey] }, error) {
	before, err := cursorID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	caller := requestInfoFrom(ctx).caller
	environment := string(caller.Environment)
	rows, err := p.deps.Keys.List(ctx, keys.Filter{TenantID: &caller.TenantID, Environment: &environment}, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := httpx.PageOf(rows, in.Limit, func(last keys.Key) []byte { return last.ID[:] })
	out := &struct{ Body httpx.Page[IssuedKey] }{httpx.Page[IssuedKey]{Items: make([]IssuedKey, len(page.Items)), NextCursor: page.NextCursor}}
	for i, key := range page.Items {
		out.Body.Items[i] = issuedKeyOf(key)
	}
	return out, nil
}

func (p *Product) revokeKey(ctx context.Context, in *idPath) (*struct{}, error) {
	caller := requestInfoFrom(ctx).caller
	if err := p.deps.Keys.CheckOwner(ctx, in.ID, caller.TenantID, caller.Environment); err != nil {
		return nil, err
	}
	_, err := p.deps.Keys.Revoke(ctx, in.ID)
	return nil, err
}

func (p *Product) rotateKey(ctx context.Context, in *rotateInput) (*newKeyOutput, error) {
	caller := requestInfoFrom(ctx).caller
	if err := p.deps.Keys.CheckOwner(ctx, in.ID, caller.TenantID, caller.Environment); err != nil {
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
	return &newKeyOutput{NewKey{issuedKeyOf(key), plain}}, nil
}

func issuedKeyOf(k keys.Key) IssuedKey {
	return IssuedKey{
		ID: k.ID, Name: k.Name, Environment: k.Environment, Prefix: k.Prefix, Last4: k.Last4, Scopes: k.Scopes, Rate: k.Rate,
		IntegrationID: k.IntegrationID, CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt,
		ReplacedBy: k.ReplacedBy, LastUsedAt: k.LastUsedAt,
	}
}
