package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/config"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/limit"
	"integrationhub/hub/internal/seal"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
)

// moduleTenants makes one product's tenants known to the hub.
type moduleTenants struct {
	db      *pgxpool.Pool
	product string
}

// Put implements [module.Tenants].
func (m moduleTenants) Put(ctx context.Context, tx pgx.Tx, t module.Tenant) error {
	var ref *string
	if t.Ref != "" {
		ref = &t.Ref
	}
	put, err := dbgen.New(tx).PutTenant(ctx, dbgen.PutTenantParams{ID: t.ID, Product: m.product, Name: t.Name, ExternalRef: ref})
	if err == nil && put == 0 {
		return hub.Errorf(hub.ErrConflict, "tenant_taken", "This id belongs to a tenant of another product.")
	}
	return store.Failed("storing a tenant", err)
}

// Get implements [module.Tenants].
func (m moduleTenants) Get(ctx context.Context, id uuid.UUID) (module.Tenant, error) {
	row, err := dbgen.New(m.db).TenantOfProduct(ctx, id, m.product)
	return tenantOf(row), store.Failed("loading a tenant", err)
}

// ByRef implements [module.Tenants].
func (m moduleTenants) ByRef(ctx context.Context, ref string) (module.Tenant, error) {
	row, err := dbgen.New(m.db).TenantByRef(ctx, ref, m.product)
	return tenantOf(row), store.Failed("loading a tenant", err)
}

func tenantOf(row dbgen.Tenant) module.Tenant {
	t := module.Tenant{ID: row.ID, Name: row.Name}
	if row.ExternalRef != nil {
		t.Ref = *row.ExternalRef
	}
	return t
}

// moduleLimits keeps what products count apart, and knows the limits that the
// settings have in place of their own.
type moduleLimits struct {
	limiter *limit.Limiter
	product string
	set     config.Assignments
}

// Allow implements [module.Limits].
func (m moduleLimits) Allow(ctx context.Context, name, subject string, most int64, period time.Duration) error {
	rate := limit.Rate{Limit: most, Period: period}
	if text, ok := m.set[m.product+"."+name]; ok {
		var err error
		if rate, err = limit.ParseRate("product_limits", text); err != nil {
			return err
		}
	}
	return m.limiter.Allow(ctx, m.product+"/"+name, subject, rate).Err()
}

// moduleAudit notes what callers of products read.
type moduleAudit struct{ recorder *audit.Recorder }

// Record implements [module.Auditor].
func (m moduleAudit) Record(ctx context.Context, action, resourceID string) error {
	who, ok := module.CallerFrom(ctx)
	if !ok {
		return fmt.Errorf("recording %s: nobody asks for it", action)
	}
	resource, _, _ := strings.Cut(action, ".")
	entry := audit.Entry{
		ActorType: audit.ActorTenantUser, ActorID: who.UserID.String(), ActorLabel: who.Name, Action: action, Resource: resource, ResourceID: resourceID,
		TenantID: &who.TenantID, IP: module.ClientIP(ctx), RequestID: httpx.RequestID(ctx), Status: http.StatusOK,
		Environment: who.Environment, SubjectID: module.ConcernOf(ctx),
	}
	if who.KeyID != uuid.Nil {
		entry.ActorType, entry.ActorID = audit.ActorKey, who.KeyID.String()
	}
	return m.recorder.Record(ctx, entry)
}

// moduleDeliveries reads what came of products' events in the log.
type moduleDeliveries struct{ log *ledger.Reader }

// Of implements [module.Deliveries].
func (m moduleDeliveries) Of(ctx context.Context, tenant uuid.UUID, environment hub.Environment, event string) ([]module.Delivery, error) {
	items, err := m.log.List(ctx, ledger.Filter{TenantID: &tenant, Environment: string(environment), Direction: "outbound", EventID: event}, nil, mostPeers)
	if err != nil {
		return nil, err
	}
	var list []module.Delivery
	for _, item := range items {
		if item.IntegrationID != nil {
			list = append(list, module.Delivery{IntegrationID: *item.IntegrationID, Status: item.Status})
		}
	}
	return list, nil
}

// modulePeers are the connections of one product's tenants.
type modulePeers struct {
	connect *connect.Service
	product string
}

// mostPeers is more than a tenant can have: one integration for each product.
const mostPeers = 1000

// List implements [module.Peers].
func (m modulePeers) List(ctx context.Context, tenant uuid.UUID, environment hub.Environment) ([]module.Integration, error) {
	rows, err := m.connect.List(ctx, connect.Filter{TenantID: &tenant, Environment: environment}, nil, mostPeers)
	list := make([]module.Integration, 0, len(rows))
	for _, row := range rows {
		if row.OwnProduct == m.product {
			list = append(list, row.Integration)
		}
	}
	return list, err
}

// Call implements [module.Peers].
func (m modulePeers) Call(ctx context.Context, integration uuid.UUID, call hub.Call) (json.RawMessage, error) {
	return m.connect.Call(ctx, integration, m.product, call)
}

// moduleSealer keeps what products seal and derive apart.
type moduleSealer struct {
	box     *seal.Box
	product string
}

// Seal implements [module.Sealer].
func (m moduleSealer) Seal(plain []byte, context string) []byte {
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
