package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/config"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/limit"
	"integrationhub/hub/internal/productapi"
	"integrationhub/hub/internal/seal"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
)

// moduleTenants stores the tenants of one product.
type moduleTenants struct {
	db        *pgxpool.Pool
	product   string
	directory *directory.Directory
}

// CheckActive implements [module.Tenants].
func (m moduleTenants) CheckActive(id uuid.UUID) error { return m.directory.CheckActive(id) }

// Suspended implements [module.Tenants].
func (m moduleTenants) Suspended() []uuid.UUID { return m.directory.Suspended() }

// Put implements [module.Tenants].
func (m moduleTenants) Put(ctx context.Context, tx pgx.Tx, t module.Tenant) error {
	var ref *string
	if t.Ref != "" {
		ref = &t.Ref
	}
	queries := dbgen.New(tx)
	productapi.SetCreatedTenant(ctx, t.ID)
	changed, err := queries.UpsertTenant(ctx, dbgen.UpsertTenantParams{ID: t.ID, Product: m.product, Name: t.Name, ExternalRef: ref})
	if err != nil || changed > 0 {
		return store.Wrap("storing a tenant", err)
	}
	if _, err = queries.TenantOfProduct(ctx, t.ID, m.product); errors.Is(err, pgx.ErrNoRows) {
		return hub.Errorf(hub.ErrConflict, "tenant_taken", "This id belongs to a tenant of another product.")
	}
	return store.Wrap("loading a tenant", err)
}

// Get implements [module.Tenants].
func (m moduleTenants) Get(ctx context.Context, id uuid.UUID) (module.Tenant, error) {
	row, err := dbgen.New(m.db).TenantOfProduct(ctx, id, m.product)
	return tenantOf(row), store.Wrap("loading a tenant", err)
}

// GetByRef implements [module.Tenants].
func (m moduleTenants) GetByRef(ctx context.Context, ref string) (module.Tenant, error) {
	row, err := dbgen.New(m.db).TenantByExternalRef(ctx, ref, m.product)
	return tenantOf(row), store.Wrap("loading a tenant", err)
}

func tenantOf(row dbgen.Tenant) module.Tenant {
	t := module.Tenant{ID: row.ID, Name: row.Name}
	if row.ExternalRef != nil {
		t.Ref = *row.ExternalRef
	}
	return t
}

// moduleLimits counts the requests of one product.
type moduleLimits struct {
	limiter *limit.Limiter
	product string
	rates   map[string]moduleRate
}

// moduleRate is one limit of a product.
type moduleRate struct {
	limit.Rate
	burst int64 // of a token bucket; 0 = none
}

// newModuleLimits returns a product's limits, overridden by those in the settings.
func newModuleLimits(limiter *limit.Limiter, spec module.Spec, set config.Assignments) (moduleLimits, error) {
	m := moduleLimits{limiter, spec.Name, make(map[string]moduleRate, len(spec.Limits))}
	for _, l := range spec.Limits {
		m.rates[l.Name] = moduleRate{limit.Rate{Limit: l.Max, Period: l.Period}, l.Burst}
	}
	for key, text := range set {
		product, name, _ := strings.Cut(key, ".")
		if product != spec.Name {
			continue
		}
		own, isLimit := m.rates[name]
		if !isLimit {
			return m, fmt.Errorf("%w: HUB_PRODUCT_LIMITS sets %q, which is none of the limits of %s (%s)",
				ErrSetting, name, product, strings.Join(slices.Sorted(maps.Keys(m.rates)), ", "))
		}
		rate, err := limit.ParseRate("product_limits", text)
		if err != nil {
			return m, err
		}
		if own.burst > 0 {
			own.burst = max(1, own.burst*rate.Limit/own.Limit)
		}
		m.rates[name] = moduleRate{rate, own.burst}
	}
	return m, nil
}

// Allow implements [module.RateLimiter]. Addresses of one IPv6 network are one subject: a client
// has all of them.
func (m moduleLimits) Allow(ctx context.Context, name, subject string) error {
	subject = httpx.ClientNetwork(subject)
	rate, found := m.rates[name]
	if !found {
		return fmt.Errorf("counting requests: %s has no limit called %q", m.product, name)
	}
	if rate.burst > 0 {
		return m.limiter.AllowBurst(ctx, m.product+"/"+name, subject, rate.Rate, rate.burst).Err()
	}
	return m.limiter.Allow(ctx, m.product+"/"+name, subject, rate.Rate).Err()
}

// moduleAudit records reads in the audit log.
type moduleAudit struct{ recorder *audit.Recorder }

// Record implements [module.Auditor].
func (m moduleAudit) Record(ctx context.Context, action, resourceID string) error {
	caller, ok := module.CallerFrom(ctx)
	if !ok {
		return fmt.Errorf("recording %s: nobody asks for it", action)
	}
	resource, _, _ := strings.Cut(action, ".")
	entry := audit.Entry{
		ActorType: audit.ActorTenantUser, ActorID: caller.UserID.String(), ActorLabel: caller.Name, Action: action, Resource: resource, ResourceID: resourceID,
		TenantID: &caller.TenantID, IP: module.ClientIP(ctx), RequestID: httpx.RequestID(ctx), Status: http.StatusOK,
		Environment: caller.Environment, SubjectID: module.AuditSubject(ctx),
	}
	if caller.KeyID != uuid.Nil {
		entry.ActorType, entry.ActorID = audit.ActorKey, caller.KeyID.String()
	}
	return m.recorder.Record(ctx, entry)
}

// moduleDeliveries reads the deliveries of products' events from the log.
type moduleDeliveries struct{ log *query.Reader }

// ForEvents implements [module.Deliveries].
func (m moduleDeliveries) ForEvents(ctx context.Context, events []hub.Event) ([][]module.Delivery, error) {
	answers, err := m.log.IntegrationDeliveries(ctx, events)
	if err != nil {
		return nil, err
	}
	lists := make([][]module.Delivery, len(answers))
	for i, list := range answers {
		for _, delivery := range list {
			lists[i] = append(lists[i], module.Delivery{IntegrationID: delivery.IntegrationID, Status: delivery.Status.String(), Connected: delivery.Connected, DeliveredAt: delivery.DeliveredAt})
		}
	}
	return lists, nil
}

// modulePeers lists and calls the peers of one product's tenants.
type modulePeers struct {
	connect *connect.Service
	product string
}

// maxPeers is more than a tenant can have: one integration per product.
const maxPeers = 1000

// List implements [module.Peers].
func (m modulePeers) List(ctx context.Context, tenant uuid.UUID, environment hub.Environment) ([]module.Integration, error) {
	rows, err := m.connect.List(ctx, integration.Filter{TenantID: &tenant, Environment: environment}, nil, maxPeers)
	list := make([]module.Integration, 0, len(rows))
	for _, row := range rows {
		if row.LocalProduct == m.product {
			list = append(list, row.Integration)
		}
	}
	return list, err
}

// Call implements [module.Peers].
func (m modulePeers) Call(ctx context.Context, integration uuid.UUID, call hub.Call) (json.RawMessage, error) {
	return m.connect.Call(ctx, integration, m.product, call)
}

// moduleSealer seals and derives in a namespace of the product.
type moduleSealer struct {
	box     *seal.Box
	check   *keyCheck
	product string
}

// Seal implements [module.Sealer].
func (m moduleSealer) Seal(plain []byte, context string) []byte {
	m.check.store()
	return m.box.Seal(plain, "product/"+m.product+"/"+context)
}

// Open implements [module.Sealer].
func (m moduleSealer) Open(sealed []byte, context string) ([]byte, error) {
	return m.box.Open(sealed, "product/"+m.product+"/"+context)
}

// Derive implements [module.Sealer].
func (m moduleSealer) Derive(purpose string) []byte {
	return m.box.Derive("product/" + m.product + "/" + purpose)
}
