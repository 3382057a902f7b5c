package store

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Professional is a row of scheduling.professionals.
type Professional = dbgen.Professional

// ProfessionalWithServices is a professional with the ids of the services on offer.
type ProfessionalWithServices = dbgen.ListProfessionalsRow

// ProfessionalService is a service with a professional's own duration and price.
type ProfessionalService = dbgen.ListProfessionalServicesRow

// maxProfessionals is how many professionals an organization has. Searches for free times read the
// calendars of all of them.
const maxProfessionals = 500

// AddProfessional stores a new professional; without a position at the end of the list. Beyond
// the most that an organization can have it is a [hub.ErrConflict].
func (t *Tx) AddProfessional(ctx context.Context, professional Professional, position *int) error {
	if err := t.LockAdvisoryKeys(ctx, []string{"professionals " + professional.OrgID.String()}); err != nil {
		return err
	}
	count, err := t.CountProfessionals(ctx, professional.OrgID)
	if err != nil {
		return err
	}
	if count >= maxProfessionals {
		return hub.Errorf(hub.ErrConflict, "too_many_professionals", "The organization has %d professionals, the most it can have. Remove one of them first.", count)
	}
	return t.CreateProfessional(ctx, dbgen.CreateProfessionalParams{
		OrgID: professional.OrgID, ID: professional.ID, UserID: professional.UserID, Name: professional.Name, Email: professional.Email, Phone: professional.Phone, Bio: professional.Bio,
		Specialty: professional.Specialty, AvatarUrl: professional.AvatarUrl, Color: professional.Color, IsActive: professional.IsActive,
		AcceptsOnlineBooking: professional.AcceptsOnlineBooking, MaxBookingsPerDay: professional.MaxBookingsPerDay, Position: position,
	})
}

// SaveProfessional stores a changed professional.
func (t *Tx) SaveProfessional(ctx context.Context, professional Professional) error {
	return t.UpdateProfessional(ctx, dbgen.UpdateProfessionalParams{
		OrgID: professional.OrgID, ID: professional.ID, UserID: professional.UserID, Name: professional.Name, Email: professional.Email, Phone: professional.Phone, Bio: professional.Bio,
		Specialty: professional.Specialty, AvatarUrl: professional.AvatarUrl, Color: professional.Color, IsActive: professional.IsActive,
		AcceptsOnlineBooking: professional.AcceptsOnlineBooking, MaxBookingsPerDay: professional.MaxBookingsPerDay, Position: professional.Position, UpdatedAt: t.now, AvatarKey: professional.AvatarKey,
	})
}

// RemoveProfessional marks a professional as deleted, without the picture. Appointments
// still refer to them.
func (t *Tx) RemoveProfessional(ctx context.Context, org, id uuid.UUID) error {
	return t.DeleteProfessional(ctx, dbgen.DeleteProfessionalParams{OrgID: org, ID: id, Now: t.now})
}

// SetProfessionalServices replaces the services a professional offers, with the
// professional's own durations and prices by service.
func (t *Tx) SetProfessionalServices(ctx context.Context, org, professional uuid.UUID, services []uuid.UUID, overrides map[uuid.UUID]booking.Override) error {
	if err := t.DeleteProfessionalServices(ctx, org, professional); err != nil {
		return err
	}
	params := dbgen.AddProfessionalServicesParams{OrgID: org, ProfessionalID: professional, ServiceIds: services}
	for _, id := range services {
		duration, price := -1, int64(-1) // -1: no override
		if override := overrides[id]; override.DurationMinutes != nil {
			duration = *override.DurationMinutes
		}
		if override := overrides[id]; override.Price != nil {
			price = int64(*override.Price)
		}
		params.Durations, params.Prices = append(params.Durations, duration), append(params.Prices, price)
	}
	return t.AddProfessionalServices(ctx, params)
}
