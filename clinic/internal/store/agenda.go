package store

import (
	"context"
	"time"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
)

// AgendaRow is an appointment with its patient's name.
type AgendaRow = dbgen.AgendaPageRow

// AgendaFilter selects appointments of a clinic.
type AgendaFilter struct {
	From, Before time.Time // of their beginning
	Professional string    // in any case; "" = any
	Status       string    // "" = any
}

// ListAgenda returns a page of the appointments of all patients, in the order of time, and
// the total, counted up to [MaxCount].
func (s *Store) ListAgenda(ctx context.Context, scope Scope, f AgendaFilter, page Page) (rows []AgendaRow, total int, err error) {
	rows, err = s.AgendaPage(ctx, dbgen.AgendaPageParams{
		ClinicID: scope.Clinic, Env: scope.Env, StartsFrom: f.From, StartsBefore: f.Before, Professional: f.Professional, Status: f.Status, RowLimit: page.Limit, RowOffset: page.Offset,
	})
	if err != nil {
		return nil, 0, err
	}
	total, err = s.CountAgenda(ctx, dbgen.CountAgendaParams{
		ClinicID: scope.Clinic, Env: scope.Env, StartsFrom: f.From, StartsBefore: f.Before, Professional: f.Professional, Status: f.Status, MaxCount: MaxCount,
	})
	return rows, total, err
}

// PaymentRow is a payment with its patient's name.
type PaymentRow = dbgen.PaymentsByStatusRow

// ListPaymentsByStatus returns a page of the payments of all patients with a status, the
// longest due first, and the total, counted up to [MaxCount].
func (s *Store) ListPaymentsByStatus(ctx context.Context, scope Scope, status care.PaymentStatus, page Page) (rows []PaymentRow, total int, err error) {
	rows, err = s.PaymentsByStatus(ctx, dbgen.PaymentsByStatusParams{ClinicID: scope.Clinic, Env: scope.Env, Status: status, RowLimit: page.Limit, RowOffset: page.Offset})
	if err != nil {
		return nil, 0, err
	}
	total, err = s.CountPaymentsByStatus(ctx, dbgen.CountPaymentsByStatusParams{ClinicID: scope.Clinic, Env: scope.Env, Status: status, MaxCount: MaxCount})
	return rows, total, err
}
