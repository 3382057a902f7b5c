package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
)

// Payment is a row of clinic.payments.
type Payment = dbgen.Payment

// ListPayments returns a page of a patient's payments, latest due date first, and the total,
// counted up to [MaxCount].
func (s *Store) ListPayments(ctx context.Context, scope Scope, patient uuid.UUID, page Page) (payments []Payment, total int, err error) {
	payments, err = s.PaymentsPage(ctx, dbgen.PaymentsPageParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient, RowLimit: page.Limit, RowOffset: page.Offset})
	if err != nil {
		return nil, 0, err
	}
	total, err = s.CountPayments(ctx, dbgen.CountPaymentsParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient, MaxCount: MaxCount})
	return payments, total, err
}

// PaymentData are the fields of a new payment, which may be paid already.
type PaymentData struct {
	Amount        care.Amount
	Description   string
	DueDate       time.Time // midnight UTC
	Status        care.PaymentStatus
	AppointmentID *uuid.UUID
	Method        *string    // only if paid
	PaidAt        *time.Time // only if paid
}

// CreatePayment inserts a payment of a patient. If it is paid, CreatePayment publishes
// payment.received. Errors like [Tx.LockUnerasedPatient]; [hub.ErrNotFound] also if the
// appointment is not the patient's.
func (t *Tx) CreatePayment(ctx context.Context, scope Scope, patient uuid.UUID, d PaymentData) (Payment, error) {
	if err := t.LockUnerasedPatient(ctx, scope, patient); err != nil {
		return Payment{}, err
	}
	if d.AppointmentID != nil {
		a, err := t.LockAppointment(ctx, scope.Clinic, scope.Env, *d.AppointmentID) // no event makes it another patient's meanwhile
		if errors.Is(err, pgx.ErrNoRows) || err == nil && a.PatientID != patient {
			return Payment{}, hub.NotFound("Appointment")
		}
		if err != nil {
			return Payment{}, err
		}
	}
	p, err := t.InsertPayment(ctx, dbgen.InsertPaymentParams{
		ClinicID: scope.Clinic, Env: scope.Env, ID: NewID(), PatientID: patient, AppointmentID: d.AppointmentID, Amount: d.Amount,
		Description: care.Redact(d.Description), DueDate: d.DueDate, Status: d.Status, Method: redactCPFs(d.Method), PaidAt: d.PaidAt, CreatedAt: t.Now(),
	})
	if err != nil || p.Status != care.Paid {
		return p, err
	}
	return p, t.publishPaymentReceived(ctx, scope, p)
}

func (t *Tx) publishPaymentReceived(ctx context.Context, scope Scope, p Payment) error {
	var externalID *string // the appointment's, at the product that it was booked with
	if p.AppointmentID != nil {
		a, err := t.Appointment(ctx, scope.Clinic, scope.Env, *p.AppointmentID)
		if err != nil {
			return err
		}
		externalID = a.ExternalID
	}
	_, err := t.Publish(ctx, scope.Clinic, scope.Env, events.PaymentReceived{
		PatientID: p.PatientID.String(), Amount: events.Decimal(p.Amount.String()), Description: p.Description, Method: redact(p.Method), AppointmentID: externalID,
	})
	return err
}

// holdPayment locks a payment and its patient. anonymized reports whether the patient was
// erased: then users still settle the payment, and no event is published. It is a
// [hub.ErrNotFound] if there is no such payment.
func (t *Tx) holdPayment(ctx context.Context, scope Scope, id uuid.UUID) (p Payment, anonymized bool, err error) {
	p, err = t.Payment(ctx, scope.Clinic, scope.Env, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, false, hub.NotFound("Payment")
	}
	if err != nil {
		return p, false, err
	}
	module.SetSubject(ctx, p.PatientID.String())
	patient, err := t.LockPatientShared(ctx, scope.Clinic, scope.Env, p.PatientID)
	if err != nil {
		return p, false, err
	}
	p, err = t.LockPayment(ctx, scope.Clinic, scope.Env, id)
	return p, patient.Status == Anonymized, err
}

// Pay marks a payment as paid and publishes payment.received. A payment that is paid
// already stays as it is; a cancelled one is a [hub.ErrConflict].
func (t *Tx) Pay(ctx context.Context, scope Scope, id uuid.UUID, method *string, paidAt time.Time) (Payment, error) {
	p, anonymized, err := t.holdPayment(ctx, scope, id)
	if err != nil || p.Status == care.Paid {
		return p, err
	}
	if p.Status == care.CancelledPayment {
		return p, hub.Errorf(hub.ErrConflict, "payment_cancelled", "This payment was cancelled.")
	}
	p, err = t.MarkPaymentPaid(ctx, dbgen.MarkPaymentPaidParams{ClinicID: scope.Clinic, Env: scope.Env, ID: id, Method: redactCPFs(method), PaidAt: &paidAt, UpdatedAt: t.Now()})
	if err != nil || anonymized {
		return p, err
	}
	return p, t.publishPaymentReceived(ctx, scope, p)
}

// redact is [care.Redact] for an optional text.
func redact(text *string) *string {
	if text == nil {
		return nil
	}
	redacted := care.Redact(*text)
	return &redacted
}

// CancelPayment cancels a payment that is not paid; a paid one is a [hub.ErrConflict]. A
// payment that is cancelled already stays as it is.
func (t *Tx) CancelPayment(ctx context.Context, scope Scope, id uuid.UUID) (Payment, error) {
	p, _, err := t.holdPayment(ctx, scope, id)
	if err != nil || p.Status == care.CancelledPayment {
		return p, err
	}
	if p.Status == care.Paid {
		return p, hub.Errorf(hub.ErrConflict, "payment_paid", "This payment was made already.")
	}
	return t.MarkPaymentCancelled(ctx, dbgen.MarkPaymentCancelledParams{ClinicID: scope.Clinic, Env: scope.Env, ID: id, UpdatedAt: t.Now()})
}
