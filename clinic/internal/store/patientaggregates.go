package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
)

// PatientAggregates are computed from a patient's appointments and payments.
type PatientAggregates struct {
	LastAppointment time.Time   // the last that was neither cancelled nor missed; zero = none
	NextAppointment time.Time   // zero = none
	BalanceDue      care.Amount // pending and overdue payments
}

// PatientAggregates returns the aggregates of patients, by patient id.
func (s *Store) PatientAggregates(ctx context.Context, scope Scope, patients []uuid.UUID) (map[uuid.UUID]PatientAggregates, error) {
	rows, err := s.AggregatesOfPatients(ctx, dbgen.AggregatesOfPatientsParams{Now: s.host.Now(), ClinicID: scope.Clinic, Env: scope.Env, Ids: patients})
	aggregates := make(map[uuid.UUID]PatientAggregates, len(rows))
	for _, row := range rows {
		aggregates[row.ID] = PatientAggregates{LastAppointment: row.LastAt, NextAppointment: row.NextAt, BalanceDue: row.Balance}
	}
	return aggregates, err
}
