package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/jobs"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/module"
)

const (
	// erasureStep is how long a tenant is erased in one run of the job, so that a large one does
	// not keep all others waiting. The rest is another run's.
	erasureStep    = 2 * time.Minute
	erasureTimeout = 5 * time.Minute // of a run: ending integrations may wait for peers
)

// jobEraseTenant is the job of a hosted product that erases a tenant, whose id is its payload.
const jobEraseTenant = "erase-tenant"

// tenantErasers implements [registry.TenantErasers] with the jobs of the products that run here.
type tenantErasers struct {
	products *products
	now      func() time.Time // the products' clock
}

// CanErase implements [registry.TenantErasers].
func (e tenantErasers) CanErase(product string) bool {
	for _, hostedProduct := range e.products.list {
		if hostedProduct.spec.Name == product {
			_, ok := hostedProduct.instance.(module.TenantEraser)
			return ok
		}
	}
	return false
}

// EnqueueErasure implements [registry.TenantErasers].
func (e tenantErasers) EnqueueErasure(ctx context.Context, tx pgx.Tx, product string, tenant uuid.UUID) error {
	return jobs.Queue{Product: product, Now: e.now}.Enqueue(ctx, tx, module.JobRun{Job: jobEraseTenant, Key: tenant.String(), Payload: tenant[:]})
}

// jobsOf returns the jobs of a product, with that which erases its deleted tenants.
func (s *Server) jobsOf(hostedProduct *hosted, known *registry.Registry) (list []module.Job) {
	if provider, ok := hostedProduct.instance.(module.JobProvider); ok {
		list = provider.Jobs()
	}
	eraser, ok := hostedProduct.instance.(module.TenantEraser)
	if !ok {
		return list
	}
	name := hostedProduct.spec.Name
	return append(list, module.Job{Name: jobEraseTenant, Timeout: erasureTimeout, Run: func(ctx context.Context, payload []byte) error {
		tenant, err := uuid.FromBytes(payload)
		if err != nil {
			return fmt.Errorf("reading which tenant to erase: %w", err)
		}
		if err := s.endIntegrations(ctx, known, tenant); err != nil {
			return err
		}
		step, cancel := context.WithTimeout(ctx, erasureStep)
		defer cancel()
		err = eraser.EraseTenant(step, tenant)
		if err != nil && ctx.Err() == nil && errors.Is(step.Err(), context.DeadlineExceeded) {
			return pgx.BeginFunc(ctx, s.storage.api, func(tx pgx.Tx) error { //nolint:wrapcheck // EnqueueErasure says it
				return s.tenantErasers().EnqueueErasure(ctx, tx, name, tenant)
			})
		}
		if err != nil {
			return fmt.Errorf("erasing tenant %s: %w", tenant, err)
		}
		if err := known.FinishDeletion(ctx, tenant); err != nil {
			return fmt.Errorf("finishing the deletion of tenant %s: %w", tenant, err)
		}
		s.options.Log.Info("a tenant was deleted", "tenant_id", tenant, "product", name)
		return nil
	}})
}

func (s *Server) tenantErasers() tenantErasers {
	return tenantErasers{s.products, clockOrReal(s.options.ProductClock)}
}

// endIntegrations revokes the integrations of a tenant, and notifies its peers.
func (s *Server) endIntegrations(ctx context.Context, known *registry.Registry, tenant uuid.UUID) error {
	ids, err := known.IntegrationsToEnd(ctx, tenant)
	if err != nil {
		return err //nolint:wrapcheck // says it
	}
	for _, id := range ids {
		if _, err := s.products.connect.Revoke(ctx, id, integration.Filter{}); err != nil {
			return fmt.Errorf("ending integration %s: %w", id, err)
		}
	}
	return nil
}
