package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/events"
)

const (
	overdueBatch      = 200            // payments that one transaction marks
	overdueClinics    = 200            // clinics that one query returns
	largestZoneOffset = 14 * time.Hour // of the easternmost time zone, ahead of UTC
)

// MarkOverdue marks a clinic's pending payments as overdue whose due date has passed in
// the clinic's time zone. It publishes payment.overdue once for each, except for
// anonymized patients, and returns how many payments it marked.
func (s *Store) MarkOverdue(ctx context.Context, scope Scope) (n int, err error) {
	clinic, err := s.Clinic(ctx, scope.Clinic)
	if err != nil {
		return 0, err
	}
	return s.markOverdue(ctx, clinic.ID, clinic.Timezone, scope.Env)
}

// MarkAllOverdue does what [Store.MarkOverdue] does for all clinics. If some clinics fail
// it still goes through the others; the error joins their errors.
func (s *Store) MarkAllOverdue(ctx context.Context) error {
	var last uuid.UUID
	var errs []error
	for {
		page, err := s.ClinicsWithDuePayments(ctx, dbgen.ClinicsWithDuePaymentsParams{
			After: last, Before: dateOf(s.host.Now().UTC().Add(largestZoneOffset)), Suspended: s.host.Tenants.Suspended(), RowLimit: overdueClinics,
		})
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		for _, clinic := range page {
			last = clinic.ID
			if _, err := Today(clinic.Timezone, s.host.Now()); err != nil { // a retry of the job would not help
				s.host.Log.ErrorContext(ctx, "a clinic's overdue payments cannot be determined", "clinic", clinic.ID, "timezone", clinic.Timezone, "error", err)
				continue
			}
			if _, err := s.markOverdue(ctx, clinic.ID, clinic.Timezone, hub.Live, hub.Test); err != nil {
				errs = append(errs, fmt.Errorf("clinic %s: %w", clinic.ID, err))
			}
		}
		if len(page) < overdueClinics || ctx.Err() != nil {
			return errors.Join(errs...)
		}
	}
}

// markOverdue goes through a clinic's payments of some environments, one batch in each
// transaction.
func (s *Store) markOverdue(ctx context.Context, clinic uuid.UUID, timezone string, envs ...hub.Environment) (n int, err error) {
	params := dbgen.LockOverduePaymentsParams{ClinicID: clinic, RowLimit: overdueBatch}
	for _, env := range envs {
		params.Envs = append(params.Envs, string(env))
	}
	for {
		marked := 0
		err := s.InTx(ctx, "finding overdue payments", func(tx *Tx) (err error) {
			if params.Today, err = Today(timezone, tx.Now()); err != nil {
				return err
			}
			rows, err := tx.LockOverduePayments(ctx, params)
			if err != nil {
				return err
			}
			for _, row := range rows {
				if err := tx.markPaymentOverdue(ctx, row.Payment, row.PatientStatus == Anonymized); err != nil {
					return err
				}
			}
			marked = len(rows)
			return nil
		})
		if n += marked; err != nil || marked < overdueBatch {
			return n, err
		}
	}
}

func (t *Tx) markPaymentOverdue(ctx context.Context, p Payment, anonymized bool) error {
	if err := t.MarkPaymentOverdue(ctx, dbgen.MarkPaymentOverdueParams{Now: t.Now(), ClinicID: p.ClinicID, Env: p.Env, ID: p.ID}); err != nil || anonymized {
		return err
	}
	_, err := t.Publish(ctx, p.ClinicID, p.Env, events.PaymentOverdue{
		PatientID: p.PatientID.String(), Amount: events.Decimal(p.Amount.String()), DueDate: p.DueDate.Format(time.DateOnly),
	})
	return err
}
