package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module"
)

// PaymentData is a payment that is about to be asked for, or was made already.
type PaymentData struct {
	Amount        care.Amount
	Description   string
	DueDate       time.Time // midnight UTC
	Status        care.PaymentStatus
	AppointmentID *uuid.UUID
	Method        *string    // of one that is paid
	PaidAt        *time.Time // of one that is paid
}

// CreatePayment gives a patient a payment. One that is paid already is told to the
// connected products.
func (t *Tx) CreatePayment(ctx context.Context, at Scope, patient uuid.UUID, d PaymentData) (dbgen.Payment, error) {
	if err := t.keep(ctx, at, patient); err != nil {
		return dbgen.Payment{}, err
	}
	if d.AppointmentID != nil {
		a, err := t.Appointment(ctx, at.Clinic, at.Env, *d.AppointmentID)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && a.PatientID != patient {
			return dbgen.Payment{}, missing("Appointment")
		}
		if err != nil {
			return dbgen.Payment{}, err
		}
	}
	p, err := t.InsertPayment(ctx, dbgen.InsertPaymentParams{
		ClinicID: at.Clinic, Env: at.Env, ID: NewID(), PatientID: patient, AppointmentID: d.AppointmentID, Amount: d.Amount,
		Description: care.Scrub(d.Description), DueDate: d.DueDate, Status: d.Status, Method: hideCPF(d.Method), PaidAt: d.PaidAt, CreatedAt: t.now,
	})
	if err != nil || p.Status != care.Paid {
		return p, err
	}
	return p, t.received(ctx, at, p)
}

// received tells of a payment that was made.
func (t *Tx) received(ctx context.Context, at Scope, p dbgen.Payment) error {
	var booked *string // the appointment, as the product that made it calls it
	if p.AppointmentID != nil {
		a, err := t.Appointment(ctx, at.Clinic, at.Env, *p.AppointmentID)
		if err != nil {
			return err
		}
		booked = a.ExternalID
	}
	_, err := t.publish(ctx, at, "payment.received", struct {
		PatientID     uuid.UUID   `json:"patient_id"`
		Amount        care.Amount `json:"amount"`
		Description   string      `json:"description"`
		Method        *string     `json:"method,omitempty"`
		AppointmentID *string     `json:"appointment_id,omitempty"`
	}{p.PatientID, p.Amount, p.Description, scrub(p.Method), booked})
	return err
}

// lockPayment holds a payment and its patient, who may have been forgotten: then staff
// still settles what is owed, and nobody else is told. [hub.ErrNotFound].
func (t *Tx) lockPayment(ctx context.Context, at Scope, id uuid.UUID) (p dbgen.Payment, tell bool, err error) {
	p, err = t.Payment(ctx, at.Clinic, at.Env, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, false, missing("Payment")
	}
	if err != nil {
		return p, false, err
	}
	module.SetSubject(ctx, p.PatientID.String())
	patient, err := t.SharePatient(ctx, at.Clinic, at.Env, p.PatientID)
	if err != nil {
		return p, false, err
	}
	p, err = t.LockPayment(ctx, at.Clinic, at.Env, id)
	return p, patient.Status != Anonymized, err
}

// Pay records that a payment was made and tells the connected products. Paying again
// changes nothing; a cancelled payment is a [hub.ErrConflict].
func (t *Tx) Pay(ctx context.Context, at Scope, id uuid.UUID, method *string, paidAt time.Time) (dbgen.Payment, error) {
	p, tell, err := t.lockPayment(ctx, at, id)
	if err != nil || p.Status == care.Paid {
		return p, err
	}
	if p.Status == care.CancelledPayment {
		return p, hub.Errorf(hub.ErrConflict, "payment_cancelled", "This payment was cancelled.")
	}
	p, err = t.PayPayment(ctx, dbgen.PayPaymentParams{ClinicID: at.Clinic, Env: at.Env, ID: id, Method: hideCPF(method), PaidAt: &paidAt, UpdatedAt: t.now})
	if err != nil || !tell {
		return p, err
	}
	return p, t.received(ctx, at, p)
}

// scrub is [care.Scrub] of a text that may be missing.
func scrub(text *string) *string {
	if text == nil {
		return nil
	}
	scrubbed := care.Scrub(*text)
	return &scrubbed
}

// Cancel cancels a payment that was not made. Cancelling again changes nothing.
func (t *Tx) Cancel(ctx context.Context, at Scope, id uuid.UUID) (dbgen.Payment, error) {
	p, _, err := t.lockPayment(ctx, at, id)
	if err != nil || p.Status == care.CancelledPayment {
		return p, err
	}
	if p.Status == care.Paid {
		return p, hub.Errorf(hub.ErrConflict, "payment_paid", "This payment was made already.")
	}
	return t.CancelPayment(ctx, dbgen.CancelPaymentParams{ClinicID: at.Clinic, Env: at.Env, ID: id, UpdatedAt: t.now})
}

const (
	overdueBatch = 200            // payments that become overdue in one transaction
	overduePage  = 200            // clinics that are looked up together
	easternmost  = 14 * time.Hour // how far the first clinic's date is ahead of UTC
)

// Today is the date where a clinic is, as midnight UTC. What is no time zone is an
// [hub.ErrConflict]: settings refuse it, so somebody changed the database.
func Today(zone string, now time.Time) (time.Time, error) {
	there, err := time.LoadLocation(zone)
	if err != nil {
		return time.Time{}, hub.Errorf(hub.ErrConflict, "timezone_unknown", "The clinic's time zone is not known: give it another in its settings.")
	}
	return dateOf(now.In(there)), nil
}

// dateOf is the date of an instant, where it is told, as midnight UTC.
func dateOf(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// Overdue finds a clinic's pending payments whose due date is over where it is, makes
// them overdue and tells the connected products, once for each payment, but of nobody
// who was forgotten. It gives how many there were.
func (s *Store) Overdue(ctx context.Context, of Scope) (n int, err error) {
	c, err := s.Clinic(ctx, of.Clinic)
	if err != nil {
		return 0, err
	}
	return s.overdue(ctx, c.ID, c.Timezone, of.Env)
}

// EveryOverdue is [Store.Overdue] of all clinics, one after the other: one that fails
// keeps no other from it, and the error is about those that did. What it did stays, so
// that whoever runs it again goes on.
func (s *Store) EveryOverdue(ctx context.Context) error {
	var last uuid.UUID
	var failed []error
	for {
		page, err := s.ClinicsWithDue(ctx, last, dateOf(s.host.Now().UTC().Add(easternmost)), overduePage)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, c := range page {
			last = c.ID
			if _, err := Today(c.Timezone, s.host.Now()); err != nil { // trying again does not mend it
				s.host.Log.ErrorContext(ctx, "a clinic's overdue payments cannot be told", "clinic", c.ID, "timezone", c.Timezone, "error", err)
				continue
			}
			if _, err := s.overdue(ctx, c.ID, c.Timezone, hub.Live, hub.Test); err != nil {
				failed = append(failed, fmt.Errorf("clinic %s: %w", c.ID, err))
			}
		}
		if len(page) < overduePage || ctx.Err() != nil {
			return errors.Join(failed...)
		}
	}
}

// overdue goes through a clinic's payments of some environments, a batch at a time.
func (s *Store) overdue(ctx context.Context, clinic uuid.UUID, zone string, envs ...hub.Environment) (n int, err error) {
	find := dbgen.LockOverdueParams{ClinicID: clinic, RowLimit: overdueBatch}
	for _, env := range envs {
		find.Envs = append(find.Envs, string(env))
	}
	for {
		found := 0
		err := s.InTx(ctx, "finding overdue payments", func(tx *Tx) (err error) {
			if find.Today, err = Today(zone, tx.now); err != nil {
				return err
			}
			list, err := tx.LockOverdue(ctx, find)
			if err != nil {
				return err
			}
			for _, p := range list {
				if err := tx.overdue(ctx, p.Payment, p.PatientStatus != Anonymized); err != nil {
					return err
				}
			}
			found = len(list)
			return nil
		})
		if n += found; err != nil || found < overdueBatch {
			return n, err
		}
	}
}

func (t *Tx) overdue(ctx context.Context, p dbgen.Payment, tell bool) error {
	at := Scope{p.ClinicID, p.Env}
	if err := t.MarkOverdue(ctx, dbgen.MarkOverdueParams{Now: t.now, ClinicID: p.ClinicID, Env: p.Env, ID: p.ID}); err != nil || !tell {
		return err
	}
	_, err := t.publish(ctx, at, "payment.overdue", struct {
		PatientID uuid.UUID   `json:"patient_id"`
		Amount    care.Amount `json:"amount"`
		DueDate   string      `json:"due_date"`
	}{p.PatientID, p.Amount, p.DueDate.Format(time.DateOnly)})
	return err
}
