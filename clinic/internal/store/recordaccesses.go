package store

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store/dbgen"
)

// RecordAccess is a row of clinic.record_accesses: a user opened the locked records of an
// erased patient.
type RecordAccess = dbgen.RecordAccess

// RecordAccessData are the fields of a new [RecordAccess].
type RecordAccessData struct {
	PatientID uuid.UUID
	UserID    uuid.UUID
	UserName  string
	Reason    string // 10 to 200 characters
}

// AddRecordAccess stores that a user opened locked records, and returns the row's id.
func (s *Store) AddRecordAccess(ctx context.Context, scope Scope, d RecordAccessData) (uuid.UUID, error) {
	id := NewID()
	return id, s.InsertRecordAccess(ctx, dbgen.InsertRecordAccessParams{
		ClinicID: scope.Clinic, Env: scope.Env, ID: id, PatientID: d.PatientID, UserID: d.UserID, UserName: d.UserName, Reason: d.Reason, CreatedAt: s.host.Now(),
	})
}

// ListRecordAccesses returns a page of who opened a patient's locked records, newest first,
// and the total, counted up to [MaxCount].
func (s *Store) ListRecordAccesses(ctx context.Context, scope Scope, patient uuid.UUID, page Page) (accesses []RecordAccess, total int, err error) {
	accesses, err = s.RecordAccessesPage(ctx, dbgen.RecordAccessesPageParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient, RowLimit: page.Limit, RowOffset: page.Offset})
	if err != nil {
		return nil, 0, err
	}
	total, err = s.CountRecordAccesses(ctx, dbgen.CountRecordAccessesParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient, MaxCount: MaxCount})
	return accesses, total, err
}
