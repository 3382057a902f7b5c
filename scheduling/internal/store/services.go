package store

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Service is a row of scheduling.services.
type Service = dbgen.Service

// AddService stores a new service at the end of the list.
func (d DB) AddService(ctx context.Context, service Service) (Service, error) {
	return d.CreateService(ctx, dbgen.CreateServiceParams{
		OrgID: service.OrgID, ID: service.ID, Name: service.Name, Description: service.Description, DurationMinutes: service.DurationMinutes, PriceCents: service.PriceCents,
		Color: service.Color, RequiresDeposit: service.RequiresDeposit, DepositCents: service.DepositCents, Category: service.Category, Capacity: service.Capacity,
		SlotIntervalMinutes: service.SlotIntervalMinutes, BufferBeforeMinutes: service.BufferBeforeMinutes, BufferAfterMinutes: service.BufferAfterMinutes,
		ImageUrl: service.ImageUrl, IsActive: service.IsActive, IsPublic: service.IsPublic,
	})
}

// SaveService stores a changed service.
func (t *Tx) SaveService(ctx context.Context, service Service) (Service, error) {
	return t.UpdateService(ctx, dbgen.UpdateServiceParams{
		OrgID: service.OrgID, ID: service.ID, Name: service.Name, Description: service.Description, DurationMinutes: service.DurationMinutes, PriceCents: service.PriceCents,
		Color: service.Color, RequiresDeposit: service.RequiresDeposit, DepositCents: service.DepositCents, Category: service.Category, Capacity: service.Capacity,
		SlotIntervalMinutes: service.SlotIntervalMinutes, BufferBeforeMinutes: service.BufferBeforeMinutes, BufferAfterMinutes: service.BufferAfterMinutes,
		ImageUrl: service.ImageUrl, IsActive: service.IsActive, IsPublic: service.IsPublic, UpdatedAt: t.now, ImageKey: service.ImageKey,
	})
}

// RemoveService marks a service as deleted, without its picture. Appointments still refer
// to it.
func (t *Tx) RemoveService(ctx context.Context, org, id uuid.UUID) error {
	return t.DeleteService(ctx, dbgen.DeleteServiceParams{OrgID: org, ID: id, Now: t.now})
}

// ServiceRules returns the part of a service that the rules read.
func ServiceRules(service Service) booking.Service {
	rules := booking.Service{
		ID: service.ID, DurationMinutes: service.DurationMinutes, Price: service.PriceCents, Capacity: service.Capacity, SlotIntervalMinutes: service.SlotIntervalMinutes,
		BufferBeforeMinutes: service.BufferBeforeMinutes, BufferAfterMinutes: service.BufferAfterMinutes, RequiresDeposit: service.RequiresDeposit,
	}
	if service.DepositCents != nil {
		rules.DepositAmount = *service.DepositCents
	}
	return rules
}
