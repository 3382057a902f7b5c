package product

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/module"
)

// Connected is an integration as administrators see it: document 3's fields, with
// keys and secrets cut down to their ends.
type Connected struct {
	ID              uuid.UUID       `json:"id" format:"uuid"`
	TenantID        uuid.UUID       `json:"tenant_id" format:"uuid"`
	Environment     hub.Environment `json:"environment" enum:"live,test"`
	Product         string          `json:"product" doc:"The other product"`
	Status          string          `json:"status" enum:"active,inactive,error"`
	LastError       *string         `json:"last_error" doc:"Why it does not work, for people"`
	Features        []string        `json:"features" nullable:"false" doc:"What the other product offers"`
	Enabled         []string        `json:"enabled" nullable:"false" doc:"The uses asked for when connecting"`
	APIURL          string          `json:"api_url"`
	WebhookURL      string          `json:"webhook_url" doc:"Where this product receives"`
	APIKeyLocal     *string         `json:"api_key_local" doc:"How the key ends that the other product uses here"`
	APIKeyRemote    *string         `json:"api_key_remote" doc:"How the key ends that is used there"`
	WebhookSecret   *string         `json:"webhook_secret" doc:"How the secret ends"`
	LastHealthCheck *time.Time      `json:"last_health_check"`
	RevokedAt       *time.Time      `json:"revoked_at"`
	CreatedAt       time.Time       `json:"created_at"`
	UpdatedAt       time.Time       `json:"updated_at"`

	tenant string // what the product calls a tenant: "clinic"
}

// MarshalJSON adds the tenant in the product's own words, e.g. clinic_id.
func (c Connected) MarshalJSON() ([]byte, error) {
	type plain Connected
	raw, err := json.Marshal(plain(c))
	if err != nil || c.tenant == "" {
		return raw, err
	}
	own, err := json.Marshal(map[string]uuid.UUID{c.tenant + "_id": c.TenantID})
	if err != nil {
		return nil, err
	}
	return append(append(raw[:len(raw)-1], ','), own[1:]...), nil
}

type connectInput struct {
	Body struct {
		Product      string   `json:"product" minLength:"1" maxLength:"40" doc:"The other product" example:"messaging"`
		APIKey       string   `json:"api_key,omitempty" maxLength:"512" doc:"The key that the other product issued" example:"msg_live_…"`
		APIKeyRemote string   `json:"api_key_remote,omitempty" maxLength:"512" doc:"The same; document 1's name of it"`
		APIKeyLocal  string   `json:"api_key_local,omitempty" maxLength:"512" doc:"A key this product issued for the other one before; absent: one is made"`
		APIURL       string   `json:"api_url" minLength:"1" maxLength:"2048" doc:"The base under which the other product's /integrations lies; usually ends in /api/v1" example:"https://messaging.example.com/api/v1"`
		WebhookURL   string   `json:"webhook_url,omitempty" maxLength:"2048" doc:"Where this product receives; absent: its own address"`
		Features     []string `json:"features,omitempty" maxItems:"50" doc:"What the connection is used for, e.g. reminders"`
	} `nameHint:"ConnectProduct"`
}

type connectedOutput struct{ Body any }

// Revoked is the answer to ending an integration.
type Revoked struct {
	ID        uuid.UUID  `json:"id" format:"uuid"`
	Status    string     `json:"status" enum:"inactive"`
	RevokedAt *time.Time `json:"revoked_at"`
}

// Tested is what a probe found.
type Tested struct {
	OK         bool     `json:"ok"`
	Status     string   `json:"status" enum:"active,inactive,error" doc:"Of the integration, now"`
	Error      *string  `json:"error" doc:"What is wrong, for people"`
	Code       *string  `json:"code" doc:"The same for programs"`
	Version    *string  `json:"version" doc:"Of the other product"`
	Features   []string `json:"features" nullable:"false"`
	DurationMS int64    `json:"duration_ms"`
}

// RotatedSecret is an integration with its new secret, seen once.
type RotatedSecret struct {
	ID            uuid.UUID  `json:"id" format:"uuid"`
	WebhookSecret string     `json:"webhook_secret" doc:"Shown now and never again"`
	PreviousUntil *time.Time `json:"previous_secret_until" doc:"Until then the old secret is accepted too"`
}

type rotateSecretInput struct {
	ID   uuid.UUID `path:"id" format:"uuid"`
	Body *struct {
		OverlapSeconds *int `json:"overlap_seconds,omitempty" minimum:"0" maximum:"604800" doc:"How long the old secret stays valid: absent is 86400, a day"`
	} `nameHint:"RotateSecret" required:"false"`
}

// Actions that the audit log and the guard know by name.
const (
	actionStatus     = "integrations.status"
	actionWebhook    = "integrations.webhook"
	actionRegister   = "integrations.register"
	actionUnregister = "integrations.unregister"
)

func (p *Product) connectionRoutes() {
	register(p.api, operation(http.MethodPost, "/connect", 200, "integrations.connect", "Connect another product", administrators), p.connect)
	register(p.api, operation(http.MethodGet, "/", 200, "integrations.list", "List integrations", administrators), p.list)
	register(p.api, operation(http.MethodGet, "/status", 200, actionStatus, "Who this product is (key), or its integrations (bearer)", usersAndKeys), p.status)
}

func (p *Product) singleRoutes() {
	register(p.api, operation(http.MethodGet, "/{id}", 200, "integrations.get", "Show an integration", administrators), p.get)
	register(p.api, operation(http.MethodDelete, "/{id}", 200, "integrations.revoke", "End an integration; the other product is told", administrators), p.revoke)
	register(p.api, operation(http.MethodPost, "/{id}/test", 200, "integrations.test", "Ask the other product how it does, now", administrators), p.test)
	register(p.api, operation(http.MethodPost, "/{id}/rotate-secret", 200, "integrations.rotate-secret", "Make a new webhook secret and tell the other product; the answer shows it once", administrators), p.rotateSecret)
}

// reach is what an administrator may touch.
func reach(who module.Caller) connect.Filter {
	return connect.Filter{TenantID: &who.TenantID, Environment: who.Environment}
}

func (p *Product) connect(ctx context.Context, in *connectInput) (*connectedOutput, error) {
	who, b := aboutOf(ctx).caller, in.Body
	key := b.APIKey
	if key == "" {
		key = b.APIKeyRemote
	}
	switch {
	case key == "":
		return nil, hub.Invalid("body.api_key", "is required")
	case b.APIKeyRemote != "" && b.APIKeyRemote != key:
		return nil, hub.Invalid("body.api_key_remote", "is another name of api_key and must not differ from it")
	}
	made, err := p.deps.Connect.Connect(ctx, connect.Request{
		TenantID: who.TenantID, OwnProduct: p.spec.Name, Environment: who.Environment, Product: b.Product,
		Key: key, LocalKey: b.APIKeyLocal, APIURL: b.APIURL, WebhookURL: b.WebhookURL, Uses: b.Features,
	})
	if err != nil {
		return nil, err
	}
	touched(ctx, made.ID)
	if presenter, ok := p.instance.(module.Presenter); ok {
		return &connectedOutput{presenter.PresentConnect(made.Integration)}, nil
	}
	return &connectedOutput{p.connectedOf(made)}, nil
}

func (p *Product) list(ctx context.Context, _ *struct{}) (*struct{ Body []Connected }, error) {
	rows, err := p.all(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Connected, len(rows))
	for i, row := range rows {
		list[i] = p.connectedOf(row)
	}
	return &struct{ Body []Connected }{list}, nil
}

// maxListed is more than a tenant can have: one integration for each product.
const maxListed = 1000

func (p *Product) all(ctx context.Context) ([]connect.Integration, error) {
	return p.deps.Connect.List(ctx, reach(aboutOf(ctx).caller), nil, maxListed)
}

func (p *Product) status(ctx context.Context, _ *struct{}) (*connectedOutput, error) {
	if who := aboutOf(ctx); who.key != nil {
		id := who.key.TenantID.String()
		if who.key.TenantRef != "" {
			id = who.key.TenantRef
		}
		return &connectedOutput{map[string]any{
			"product": p.spec.Name, "version": p.spec.Version, "features": append([]string{}, p.spec.Features...), "status": connect.Active,
			"tenant_id": who.key.TenantID, "tenant_name": who.key.TenantName, "environment": who.key.Environment,
			p.spec.TenantPrefix + "_id": id, p.spec.TenantPrefix + "_name": who.key.TenantName,
		}}, nil
	}
	rows, err := p.all(ctx)
	if err != nil {
		return nil, err
	}
	if presenter, ok := p.instance.(module.Presenter); ok {
		list := make([]module.Integration, len(rows))
		for i, row := range rows {
			list[i] = row.Integration
		}
		return &connectedOutput{presenter.PresentStatus(list)}, nil
	}
	list := make([]Connected, len(rows))
	for i, row := range rows {
		list[i] = p.connectedOf(row)
	}
	return &connectedOutput{map[string]any{"integrations": list}}, nil
}

func (p *Product) get(ctx context.Context, in *onePath) (*struct{ Body Connected }, error) {
	row, err := p.deps.Connect.Get(ctx, in.ID, reach(aboutOf(ctx).caller))
	if err != nil {
		return nil, err
	}
	return &struct{ Body Connected }{p.connectedOf(row)}, nil
}

func (p *Product) revoke(ctx context.Context, in *onePath) (*struct{ Body Revoked }, error) {
	row, err := p.deps.Connect.Revoke(ctx, in.ID, reach(aboutOf(ctx).caller))
	if err != nil {
		return nil, err
	}
	return &struct{ Body Revoked }{Revoked{ID: row.ID, Status: row.Status, RevokedAt: row.RevokedAt}}, nil
}

func (p *Product) test(ctx context.Context, in *onePath) (*struct{ Body Tested }, error) {
	found, err := p.deps.Connect.Check(ctx, in.ID, reach(aboutOf(ctx).caller))
	if err != nil {
		return nil, err
	}
	return &struct{ Body Tested }{testedOf(found)}, nil
}

func testedOf(found connect.Checked) Tested {
	t := Tested{
		OK: found.Trouble == nil, Status: found.Integration.Status, Version: given(found.Peer.Version),
		Features: append([]string{}, found.Peer.Features...), DurationMS: found.Took.Milliseconds(),
	}
	var told *hub.Error
	if errors.As(found.Trouble, &told) {
		t.Error, t.Code = &told.Detail, &told.Code
	}
	return t
}

func (p *Product) rotateSecret(ctx context.Context, in *rotateSecretInput) (*struct{ Body RotatedSecret }, error) {
	overlap := connect.DefaultOverlap
	if in.Body != nil && in.Body.OverlapSeconds != nil {
		overlap = time.Duration(*in.Body.OverlapSeconds) * time.Second
	}
	row, secret, err := p.deps.Connect.RotateSecret(ctx, in.ID, reach(aboutOf(ctx).caller), overlap)
	if err != nil {
		return nil, err
	}
	return &struct{ Body RotatedSecret }{RotatedSecret{ID: row.ID, WebhookSecret: secret, PreviousUntil: row.PreviousUntil}}, nil
}

func (p *Product) connectedOf(i connect.Integration) Connected {
	return Connected{
		ID: i.ID, TenantID: i.TenantID, Environment: i.Environment, Product: i.Product, Status: i.Status, LastError: given(i.LastError),
		Features: append([]string{}, i.Features...), Enabled: append([]string{}, i.EnabledUses...), APIURL: i.APIURL, WebhookURL: i.WebhookURL,
		APIKeyLocal: ending(i.LocalKeyLast4), APIKeyRemote: ending(i.RemoteKeyLast4), WebhookSecret: ending(i.SecretLast4),
		LastHealthCheck: givenTime(i.LastHealthCheck), RevokedAt: i.RevokedAt, CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt,
		tenant: p.spec.TenantPrefix,
	}
}

// ending shows how a secret ends.
func ending(last4 string) *string {
	if last4 == "" {
		return nil
	}
	return new("…" + last4)
}

func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func givenTime(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}
