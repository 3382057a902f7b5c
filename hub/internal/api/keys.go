package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/limit"
)

// Key describes an API key, without its plain text.
type Key struct {
	ID          uuid.UUID       `json:"id" format:"uuid" doc:"UUID that names it in paths"`
	TenantID    uuid.UUID       `json:"tenant_id" format:"uuid" doc:"Tenant it belongs to"`
	Product     string          `json:"product" doc:"Product of the tenant" example:"shop"`
	Name        string          `json:"name" doc:"Note of what the key is for" example:"production server"`
	Environment hub.Environment `json:"environment" enum:"live,test" doc:"Whether it is for live or test data; the two never mix"`
	Prefix      string          `json:"prefix" example:"shop_live_" doc:"How the key begins"`
	Last4       string          `json:"last4" example:"a1B2" doc:"How the key ends"`
	Scopes      []string        `json:"scopes" nullable:"false" doc:"What the key may do" example:"[\"events.publish\"]"`
	Rate        string          `json:"rate" example:"100-M" doc:"Requests, and S, M, H or D; 0 = no limit"`
	CreatedAt   time.Time       `json:"created_at" doc:"When it was made"`
	ExpiresAt   *time.Time      `json:"expires_at" doc:"null: never"`
	RevokedAt   *time.Time      `json:"revoked_at" doc:"When it was ended for good; null: it is in use"`
	ReplacedBy  *uuid.UUID      `json:"replaced_by" format:"uuid" nullable:"true" doc:"The key that a rotation made"`
	LastUsedAt  *time.Time      `json:"last_used_at" doc:"To within some minutes"`
	// The integration that it belongs to.
	IntegrationID *uuid.UUID `json:"integration_id" format:"uuid" nullable:"true" doc:"The integration this key is bound to"`
}

// ListedKey is a key and what it used of its rate.
type ListedKey struct {
	Key
	Used     *int64     `json:"used" minimum:"0" nullable:"true" doc:"Requests in the present period of its rate; null: it has no limit, or is not in use"`
	ResetsAt *time.Time `json:"resets_at" format:"date-time" nullable:"true" doc:"When the present period ends; null where used is null"`
}

// MadeKey is a key with its plain text, which is shown once.
type MadeKey struct {
	Key
	APIKey string `json:"api_key" example:"shop_live_6qT1wYb0ZkR4mVxN8sLd2HcJ7pAe3U1XkQ9f" doc:"Shown now and never again"`
}

type madeKeyOutput struct{ Body MadeKey }

type listKeysInput struct {
	httpx.PageQuery
	TenantID    uuid.UUID `query:"tenant_id" format:"uuid" doc:"Only keys of this tenant"`
	Product     string    `query:"product" maxLength:"40" doc:"Only keys of this product's tenants"`
	Environment string    `query:"environment" enum:"live,test" doc:"Only keys of this environment"`
}

type createKeyInput struct {
	Body struct {
		TenantID    uuid.UUID  `json:"tenant_id" format:"uuid" doc:"Tenant it belongs to"`
		Name        string     `json:"name,omitempty" maxLength:"120" doc:"Display name" example:"production server"`
		Environment string     `json:"environment,omitempty" enum:"live,test" default:"live" doc:"Whether it is for live or test data; the two never mix"`
		Scopes      []string   `json:"scopes,omitempty" maxItems:"50" example:"[\"events.publish\"]" doc:"Those of the product's features, events.publish, endpoints.manage, interaction.write, deliveries.read, deliveries.retry. Absent: all but the last two"`
		Rate        *string    `json:"rate,omitempty" example:"100-M" maxLength:"20" doc:"Requests, and S, M, H or D; 0 = no limit; absent: the hub's default"`
		ExpiresAt   *time.Time `json:"expires_at,omitempty" doc:"Absent: never"`
	} `nameHint:"KeyCreate"`
}

type rotateKeyInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"Id of the key to replace"`
	Body *struct {
		OverlapSeconds *int `json:"overlap_seconds,omitempty" minimum:"0" maximum:"604800" example:"86400" doc:"How long the old key stays valid: 0 ends it at once, absent is 86400, a day"`
	} `nameHint:"KeyRotate"`
}

func (a *API) listKeys(ctx context.Context, in *listKeysInput) (*struct{ Body httpx.Page[ListedKey] }, error) {
	before, err := beforeID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	filter := keys.Filter{TenantID: nilIfZero(in.TenantID), Product: nilIfZero(in.Product), Environment: nilIfZero(in.Environment)}
	rows, err := a.deps.Keys.List(ctx, filter, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	listed := func(key keys.Key) ListedKey { return a.listedKey(ctx, key) }
	page := pageOf(rows, in.PageQuery, listed, func(last keys.Key) []byte { return last.ID[:] })
	return &struct{ Body httpx.Page[ListedKey] }{page}, nil
}

// listedKey reads what a key used of its rate. Keys that are over have none.
func (a *API) listedKey(ctx context.Context, key keys.Key) ListedKey {
	listed := ListedKey{Key: keyOf(key)}
	rate, err := limit.ParseRate("rate", key.Rate)
	now := a.deps.Now()
	isOver := key.RevokedAt != nil || key.ExpiresAt != nil && !key.ExpiresAt.After(now)
	if err != nil || rate.Limit == 0 || isOver || a.deps.KeyUse == nil {
		return listed
	}
	listed.Used = new(int64)
	state := a.deps.KeyUse.KeyUse(ctx, key.ID, key.IntegrationID, rate)
	*listed.Used = rate.Limit - min(state.Remaining, rate.Limit)
	listed.ResetsAt = new(now.Add(state.ResetAfter))
	return listed
}

func (a *API) createKey(ctx context.Context, in *createKeyInput) (*madeKeyOutput, error) {
	environment := hub.Live
	if in.Body.Environment != "" {
		environment = hub.Environment(in.Body.Environment)
	}
	key, plain, err := a.deps.Keys.Create(ctx, keys.Draft{
		TenantID: in.Body.TenantID, Name: in.Body.Name, Environment: environment,
		Scopes: in.Body.Scopes, Rate: in.Body.Rate, ExpiresAt: in.Body.ExpiresAt,
	})
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, key.ID, key.TenantID)
	return &madeKeyOutput{MadeKey{Key: keyOf(key), APIKey: plain}}, nil
}

func (a *API) revokeKey(ctx context.Context, in *idPath) (*none, error) {
	tenantID, err := a.deps.Keys.Revoke(ctx, in.ID)
	setAuditResource(ctx, in.ID, tenantID)
	return nil, err
}

func (a *API) rotateKey(ctx context.Context, in *rotateKeyInput) (*madeKeyOutput, error) {
	overlap := keys.DefaultOverlap
	if in.Body != nil && in.Body.OverlapSeconds != nil {
		overlap = time.Duration(*in.Body.OverlapSeconds) * time.Second
	}
	key, plain, err := a.deps.Keys.Rotate(ctx, in.ID, overlap)
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, in.ID, key.TenantID)
	return &madeKeyOutput{MadeKey{Key: keyOf(key), APIKey: plain}}, nil
}

func keyOf(k keys.Key) Key { return Key(k) }
