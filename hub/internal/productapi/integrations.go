package productapi

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/module"
	"integrationhub/hub/module/pointer"
)

// Connected is an integration as administrators see it, with the fields of
// docs/interfaces/clinic.md, "Connect and status". Of keys and secrets it has the ends.
type Connected struct {
	ID              uuid.UUID       `json:"id" format:"uuid" doc:"UUID that names it in paths"`
	TenantID        uuid.UUID       `json:"tenant_id" format:"uuid" doc:"Tenant it belongs to"`
	Environment     hub.Environment `json:"environment" enum:"live,test" doc:"Whether it is for live or test data; the two never mix"`
	Product         string          `json:"product" doc:"The other product; external until a peer that registered without its name sends an event"`
	Status          string          `json:"status" enum:"active,inactive,error" doc:"State it is in"`
	Disabled        bool            `json:"disabled" doc:"Paused by an administrator"`
	LastError       *string         `json:"last_error" doc:"Why it does not work, for people"`
	Features        []string        `json:"features" nullable:"false" doc:"What the other product offers"`
	Enabled         []string        `json:"enabled" nullable:"false" doc:"The uses asked for when connecting"`
	APIURL          string          `json:"api_url" doc:"Base under which the other product's /integrations lies"`
	WebhookURL      string          `json:"webhook_url" doc:"Where this product receives"`
	APIKeyLocal     *string         `json:"api_key_local" doc:"How the key ends that the other product uses here"`
	APIKeyRemote    *string         `json:"api_key_remote" doc:"How the key ends that is used there"`
	WebhookSecret   *string         `json:"webhook_secret" doc:"How the secret ends"`
	LastHealthCheck *time.Time      `json:"last_health_check" doc:"When the other side was last asked whether it works; null: never"`
	RevokedAt       *time.Time      `json:"revoked_at" doc:"When it was ended for good; null: it is in use"`
	CreatedAt       time.Time       `json:"created_at" doc:"When it was made"`
	UpdatedAt       time.Time       `json:"updated_at" doc:"When it was last changed"`

	tenantPrefix string // the product's name for a tenant: "clinic"
}

// MarshalJSON adds the tenant's id under the product's own name for it, e.g. clinic_id.
func (c Connected) MarshalJSON() ([]byte, error) {
	type plain Connected
	if c.tenantPrefix == "" {
		return json.Marshal(plain(c))
	}
	return withMembers(plain(c), map[string]any{c.tenantPrefix + "_id": c.TenantID})
}

// ConnectedList is a tenant's integrations as administrators see them.
type ConnectedList struct {
	Integrations []Connected `json:"integrations" nullable:"false" doc:"All of the tenant in this environment"`
}

// PeerStatus is what a key learns of the product and the tenant that it belongs to.
type PeerStatus struct {
	Product     string          `json:"product" doc:"The name of this product"`
	Version     string          `json:"version" doc:"Of this product"`
	Features    []string        `json:"features" nullable:"false" doc:"What this product offers"`
	Status      string          `json:"status" enum:"active" doc:"Always active: otherwise the key is refused"`
	TenantID    uuid.UUID       `json:"tenant_id" format:"uuid" doc:"Tenant the key belongs to"`
	TenantName  string          `json:"tenant_name" doc:"What the hub calls the tenant"`
	Environment hub.Environment `json:"environment" enum:"live,test" doc:"Whether the key is for live or test data"`

	tenantPrefix, tenantRef string // the product's names for a tenant and for this one
}

// MarshalJSON adds the tenant's id and name under the product's own names for them, e.g.
// clinic_id and clinic_name.
func (s PeerStatus) MarshalJSON() ([]byte, error) {
	type plain PeerStatus
	return withMembers(plain(s), map[string]any{s.tenantPrefix + "_id": s.tenantRef, s.tenantPrefix + "_name": s.TenantName})
}

// withMembers marshals an object and adds members to it.
func withMembers(object any, members map[string]any) ([]byte, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	added, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	return append(append(raw[:len(raw)-1], ','), added[1:]...), nil
}

type connectInput struct {
	Body struct {
		Product      string   `json:"product" minLength:"1" maxLength:"40" doc:"The other product" example:"messaging"`
		APIKey       string   `json:"api_key,omitempty" maxLength:"512" doc:"The key that the other product issued" example:"msg_live_…"`
		APIKeyRemote string   `json:"api_key_remote,omitempty" maxLength:"512" doc:"The same; the scheduling interface's name of it"`
		APIKeyLocal  string   `json:"api_key_local,omitempty" maxLength:"512" doc:"A key this product issued for the other one before; absent: one is made"`
		APIURL       string   `json:"api_url" minLength:"1" maxLength:"2048" doc:"The base under which the other product's /integrations lies; usually ends in /api/v1" example:"https://messaging.example.com/api/v1"`
		WebhookURL   string   `json:"webhook_url,omitempty" maxLength:"2048" doc:"Where this product receives; absent: its own address"`
		Features     []string `json:"features,omitempty" maxItems:"50" doc:"What the connection is used for, e.g. reminders"`
	} `nameHint:"ConnectProduct"`
}

type connectedOutput struct{ Body any }

// Revoked is the answer to ending an integration.
type Revoked struct {
	ID        uuid.UUID  `json:"id" format:"uuid" doc:"UUID that names it in paths"`
	Status    string     `json:"status" enum:"inactive" doc:"Always inactive"`
	RevokedAt *time.Time `json:"revoked_at" doc:"When it was ended for good; null: it is in use"`
}

// Tested is the result of a probe.
type Tested struct {
	OK         bool     `json:"ok" doc:"Whether the other side responded as it should"`
	Status     string   `json:"status" enum:"active,inactive,error" doc:"Of the integration, now"`
	Error      *string  `json:"error" doc:"What is wrong, for people"`
	Code       *string  `json:"code" doc:"The same for programs"`
	Version    *string  `json:"version" doc:"Of the other product"`
	Features   []string `json:"features" nullable:"false" doc:"What the other side offers"`
	DurationMS int64    `json:"duration_ms" doc:"How long the other side took, in milliseconds"`
}

// RotatedSecret is an integration with its new secret; it is shown only once.
type RotatedSecret struct {
	ID            uuid.UUID  `json:"id" format:"uuid" doc:"UUID that names it in paths"`
	WebhookSecret string     `json:"webhook_secret" doc:"Shown now and never again"`
	PreviousUntil *time.Time `json:"previous_secret_until" doc:"Until then the old secret is accepted too"`
}

type rotateSecretInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"UUID that names it in paths"`
	Body *struct {
		OverlapSeconds *int `json:"overlap_seconds,omitempty" minimum:"0" maximum:"604800" doc:"How long the old secret stays valid: absent is 86400, a day"`
	} `nameHint:"RotateSecret" required:"false"`
}

// accessFilter selects the integrations that the caller may see and change.
func accessFilter(ctx context.Context) integration.Filter {
	caller := requestInfoFrom(ctx).caller
	return integration.Filter{TenantID: &caller.TenantID, Environment: caller.Environment}
}

func (p *Product) connectPeer(ctx context.Context, in *connectInput) (*connectedOutput, error) {
	caller, body := requestInfoFrom(ctx).caller, in.Body
	key := body.APIKey
	if key == "" {
		key = body.APIKeyRemote
	}
	switch {
	case key == "":
		return nil, hub.Invalid("body.api_key", "is required")
	case body.APIKeyRemote != "" && body.APIKeyRemote != key:
		return nil, hub.Invalid("body.api_key_remote", "is another name of api_key and must not differ from it")
	}
	view, err := p.deps.Connect.Connect(ctx, connect.Request{
		TenantID: caller.TenantID, LocalProduct: p.spec.Name, Environment: caller.Environment, Product: body.Product,
		Key: key, LocalKey: body.APIKeyLocal, APIURL: body.APIURL, WebhookURL: body.WebhookURL, Uses: body.Features,
	})
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, view.ID)
	if presenter, ok := p.instance.(module.Presenter); ok {
		return &connectedOutput{presenter.PresentConnect(view.Integration)}, nil
	}
	return &connectedOutput{p.connectedOf(view)}, nil
}

func (p *Product) listIntegrations(ctx context.Context, _ *struct{}) (*struct{ Body []Connected }, error) {
	views, err := p.views(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Connected, len(views))
	for i, view := range views {
		list[i] = p.connectedOf(view)
	}
	return &struct{ Body []Connected }{list}, nil
}

// maxListed is more than a tenant can have: one integration with each product.
const maxListed = 1000

func (p *Product) views(ctx context.Context) ([]connect.View, error) {
	return p.deps.Connect.List(ctx, accessFilter(ctx), nil, maxListed)
}

// status answers a peer with what this product is, and an administrator with the tenant's
// integrations.
func (p *Product) status(ctx context.Context, _ *struct{}) (*connectedOutput, error) {
	if key := requestInfoFrom(ctx).key; key != nil {
		id := key.TenantID.String()
		if key.TenantRef != "" {
			id = key.TenantRef
		}
		return &connectedOutput{PeerStatus{
			Product: p.spec.Name, Version: p.spec.Version, Features: append([]string{}, p.spec.Features...), Status: string(integration.StatusActive),
			TenantID: key.TenantID, TenantName: key.TenantName, Environment: key.Environment, tenantPrefix: p.spec.TenantPrefix, tenantRef: id,
		}}, nil
	}
	views, err := p.views(ctx)
	if err != nil {
		return nil, err
	}
	if presenter, ok := p.instance.(module.Presenter); ok {
		list := make([]module.Integration, len(views))
		for i, view := range views {
			list[i] = view.Integration
		}
		return &connectedOutput{presenter.PresentStatus(list)}, nil
	}
	list := make([]Connected, len(views))
	for i, view := range views {
		list[i] = p.connectedOf(view)
	}
	return &connectedOutput{ConnectedList{list}}, nil
}

func (p *Product) getIntegration(ctx context.Context, in *idPath) (*struct{ Body Connected }, error) {
	view, err := p.deps.Connect.Get(ctx, in.ID, accessFilter(ctx))
	if err != nil {
		return nil, err
	}
	return &struct{ Body Connected }{p.connectedOf(view)}, nil
}

func (p *Product) revokeIntegration(ctx context.Context, in *idPath) (*struct{ Body Revoked }, error) {
	view, err := p.deps.Connect.Revoke(ctx, in.ID, accessFilter(ctx))
	if err != nil {
		return nil, err
	}
	return &struct{ Body Revoked }{Revoked{ID: view.ID, Status: view.Status, RevokedAt: view.RevokedAt}}, nil
}

func (p *Product) disableIntegration(ctx context.Context, in *idPath) (*struct{ Body Connected }, error) {
	view, err := p.deps.Connect.Disable(ctx, in.ID, accessFilter(ctx))
	if err != nil {
		return nil, err
	}
	return &struct{ Body Connected }{p.connectedOf(view)}, nil
}

func (p *Product) enableIntegration(ctx context.Context, in *idPath) (*struct{ Body Connected }, error) {
	view, err := p.deps.Connect.Enable(ctx, in.ID, accessFilter(ctx))
	if err != nil {
		return nil, err
	}
	return &struct{ Body Connected }{p.connectedOf(view)}, nil
}

func (p *Product) testIntegration(ctx context.Context, in *idPath) (*struct{ Body Tested }, error) {
	result, err := p.deps.Connect.Probe(ctx, in.ID, accessFilter(ctx))
	if err != nil {
		return nil, err
	}
	return &struct{ Body Tested }{testedOf(result)}, nil
}

func testedOf(result connect.ProbeResult) Tested {
	tested := Tested{
		OK: result.Err == nil, Status: result.Integration.Status, Version: pointer.NilIfZero(result.Peer.Version),
		Features: append([]string{}, result.Peer.Features...), DurationMS: result.Duration.Milliseconds(),
	}
	var hubErr *hub.Error
	if errors.As(result.Err, &hubErr) {
		tested.Error, tested.Code = &hubErr.Detail, &hubErr.Code
	}
	return tested
}

func (p *Product) rotateSecret(ctx context.Context, in *rotateSecretInput) (*struct{ Body RotatedSecret }, error) {
	overlap := connect.DefaultOverlap
	if in.Body != nil && in.Body.OverlapSeconds != nil {
		overlap = time.Duration(*in.Body.OverlapSeconds) * time.Second
	}
	view, secret, err := p.deps.Connect.RotateSecret(ctx, in.ID, accessFilter(ctx), overlap)
	if err != nil {
		return nil, err
	}
	return &struct{ Body RotatedSecret }{RotatedSecret{ID: view.ID, WebhookSecret: secret, PreviousUntil: view.PreviousSecretExpiresAt}}, nil
}

func (p *Product) connectedOf(view connect.View) Connected {
	return Connected{
		ID: view.ID, TenantID: view.TenantID, Environment: view.Environment, Product: view.Product, Status: view.Status, Disabled: view.Disabled, LastError: pointer.NilIfZero(view.LastError),
		Features: append([]string{}, view.Features...), Enabled: append([]string{}, view.EnabledUses...), APIURL: view.APIURL, WebhookURL: view.WebhookURL,
		APIKeyLocal: maskedEnding(view.LocalKeyLast4), APIKeyRemote: maskedEnding(view.RemoteKeyLast4), WebhookSecret: maskedEnding(view.SecretLast4),
		LastHealthCheck: pointer.NilIfZero(view.LastHealthCheck), RevokedAt: view.RevokedAt, CreatedAt: view.CreatedAt, UpdatedAt: view.UpdatedAt,
		tenantPrefix: p.spec.TenantPrefix,
	}
}

// maskedEnding returns the end of a key or secret as people see it, nil if there is none.
func maskedEnding(last4 string) *string {
	if last4 == "" {
		return nil
	}
	return new("…" + last4)
}
