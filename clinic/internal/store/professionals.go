package store

import (
	"context"

	"integrationhub/clinic/internal/store/dbgen"
)

// Professional is a row of clinic.professionals.
type Professional = dbgen.Professional

// ListProfessionals returns a page of a clinic's professionals, ordered by name.
func (s *Store) ListProfessionals(ctx context.Context, scope Scope, page Page) ([]Professional, error) {
	return s.ProfessionalsPage(ctx, dbgen.ProfessionalsPageParams{ClinicID: scope.Clinic, Env: scope.Env, RowLimit: page.Limit, RowOffset: page.Offset})
}

// CreateProfessional inserts a professional. It sets the id and the times.
func (s *Store) CreateProfessional(ctx context.Context, scope Scope, p Professional) (Professional, error) {
	return s.InsertProfessional(ctx, dbgen.InsertProfessionalParams{
		ClinicID: scope.Clinic, Env: scope.Env, ID: NewID(), Name: p.Name, Specialty: p.Specialty, Register: p.Register, IsActive: p.IsActive, CreatedAt: s.host.Now(),
	})
}

// UpdateProfessional stores a professional that the transaction has locked.
func (t *Tx) UpdateProfessional(ctx context.Context, p Professional) (Professional, error) {
	return t.UpdateProfessionalRow(ctx, dbgen.UpdateProfessionalRowParams{
		ClinicID: p.ClinicID, Env: p.Env, ID: p.ID, Name: p.Name, Specialty: p.Specialty, Register: p.Register, IsActive: p.IsActive, UpdatedAt: t.Now(),
	})
}
