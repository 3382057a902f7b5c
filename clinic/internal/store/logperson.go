package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
)

// LogPerson returns the identifiers by which events name a patient, for searches of the
// log of webhooks. The error is a [hub.ErrNotFound] if there is no such patient.
func (s *Store) LogPerson(ctx context.Context, scope Scope, id uuid.UUID) (module.Person, error) {
	person := module.Person{}
	patient, err := s.Patient(ctx, scope.Clinic, scope.Env, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return person, hub.NotFound("Patient")
	}
	if err != nil {
		return person, fmt.Errorf("loading the patient: %w", err)
	}
	if patient.Phone != nil {
		person.Phones = append(person.Phones, *patient.Phone)
	}
	linked, err := s.LinkedPhones(ctx, scope.Clinic, scope.Env, id)
	if err != nil {
		return person, fmt.Errorf("loading linked numbers: %w", err)
	}
	person.Phones = append(person.Phones, linked...)
	earlier, err := s.EarlierPhones(ctx, scope.Clinic, scope.Env, id)
	if err != nil {
		return person, fmt.Errorf("loading earlier numbers: %w", err)
	}
	for _, row := range earlier {
		phone, err := s.host.Sealer.Open(row.ValueEnc, contactContext(row.ID))
		if err != nil {
			return person, fmt.Errorf("decrypting an earlier contact: %w", err)
		}
		person.Phones = append(person.Phones, string(phone))
	}
	merged, err := s.MergedIDs(ctx, scope.Clinic, scope.Env, id)
	if err != nil {
		return person, fmt.Errorf("loading merged patients: %w", err)
	}
	for _, mergedID := range merged {
		person.IDs = append(person.IDs, mergedID.String())
	}
	if person.TicketIDs, err = s.TicketIDs(ctx, scope.Clinic, scope.Env, id); err != nil {
		return person, fmt.Errorf("loading tickets: %w", err)
	}
	if person.AppointmentIDs, err = s.BookingIDs(ctx, scope.Clinic, scope.Env, id); err != nil {
		return person, fmt.Errorf("loading appointments: %w", err)
	}
	return person, nil
}
