package store

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store/dbgen"
)

// Import is a row of clinic.imports.
type Import = dbgen.Import

// PatientReference is a patient's number in a list that is not the clinic's own, or with the
// source [MergedExternalRefs].
type PatientReference = dbgen.ReferencesOfPatientsRow

// MergedExternalRefs is the source of the numbers that patients had in the clinic's own list who
// were merged into others. Imports go on to find the survivor by them, and an erasure covers them.
// The names of lists are in lower case, so none is called that.
const MergedExternalRefs = "MERGED"

// PatientReferences returns a patient's numbers in lists, by list.
func (s *Store) PatientReferences(ctx context.Context, scope Scope, patient uuid.UUID) ([]PatientReference, error) {
	return s.ReferencesOfPatients(ctx, scope.Clinic, scope.Env, []uuid.UUID{patient})
}

// ListImports returns a page of a clinic's imports, newest first, and the total, counted up
// to [MaxCount].
func (s *Store) ListImports(ctx context.Context, scope Scope, page Page) (imports []Import, total int, err error) {
	imports, err = s.ImportsPage(ctx, dbgen.ImportsPageParams{ClinicID: scope.Clinic, Env: scope.Env, RowLimit: page.Limit, RowOffset: page.Offset})
	if err != nil {
		return nil, 0, err
	}
	total, err = s.CountImports(ctx, scope.Clinic, scope.Env, MaxCount)
	return imports, total, err
}
