package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Kinds of payments that have rules of their own.
const (
	KindDeposit = "deposit" // for the deposit
	KindOther   = "other"   // for something beside the price: it pays neither the price nor the deposit
)

// Statuses of payments.
const (
	paymentPending   = string(provider.Pending)
	paymentPaid      = string(provider.Paid)
	paymentExpired   = string(provider.Expired)
	paymentCancelled = string(provider.Cancelled)
	paymentRefunded  = string(provider.Refunded)
)

// Payment is a row of scheduling.payments.
type Payment = dbgen.Payment

// PaymentDetail is a payment with its charge at the provider, if it has one: a row of
// scheduling.payment_details.
type PaymentDetail = dbgen.PaymentDetail

// PaymentTotal is the sum of payments with the same method and status.
type PaymentTotal = dbgen.SumPaymentsRow

// PaymentFilter selects payments by the time they were paid or, until then, created.
type PaymentFilter struct {
	Since, Until time.Time // Until is excluded
	Status       *string   // nil: any
	Client       *uuid.UUID
}

// PaymentsBetween loads a page of an organization's payments, the newest first.
func (d DB) PaymentsBetween(ctx context.Context, org uuid.UUID, filter PaymentFilter, page Page) ([]PaymentDetail, error) {
	return d.ListPayments(ctx, dbgen.ListPaymentsParams{
		OrgID: org, Since: filter.Since, Until: filter.Until, Status: filter.Status, ClientID: filter.Client, RowLimit: page.Limit, RowOffset: page.Offset,
	})
}

// PaymentTotals sums an organization's payments by method and status.
func (d DB) PaymentTotals(ctx context.Context, org uuid.UUID, filter PaymentFilter) ([]PaymentTotal, error) {
	return d.SumPayments(ctx, dbgen.SumPaymentsParams{OrgID: org, Since: filter.Since, Until: filter.Until, Status: filter.Status, ClientID: filter.Client})
}

// ClientPaymentPage loads a page of a client's payments, the newest first, and their
// total number.
func (d DB) ClientPaymentPage(ctx context.Context, org, client uuid.UUID, page Page) (payments []PaymentDetail, total int, err error) {
	payments, err = d.ListClientPayments(ctx, dbgen.ListClientPaymentsParams{OrgID: org, ClientID: client, RowLimit: page.Limit, RowOffset: page.Offset})
	if err != nil {
		return nil, 0, err
	}
	total, err = d.CountClientPayments(ctx, org, client)
	return payments, total, err
}

// NewPayment is money received or requested.
type NewPayment struct {
	Org         uuid.UUID
	Appointment *uuid.UUID
	Client      uuid.UUID
	Amount      booking.Cents
	AmountGiven bool // the request names the amount; else it is the amount due
	Method      string
	Description string
	Kind        string
	SourceID    *string
	By          *uuid.UUID // user
}

// RecordPayment runs add and stores its payment as the answer to the key. A repeated
// request returns the stored payment.
func (s *Store) RecordPayment(ctx context.Context, org uuid.UUID, key *IdempotencyKey, add func(*Tx) (PaymentDetail, error)) (payment PaymentDetail, err error) {
	err = s.InTx(ctx, "recording a payment", func(tx *Tx) error {
		if key != nil {
			existing, found, err := tx.claimPaymentKey(ctx, org, *key)
			if err != nil || found {
				payment = existing
				return err
			}
		}
		if payment, err = add(tx); err != nil {
			return err
		}
		return tx.storePaymentAnswer(ctx, org, key, payment.ID)
	})
	return payment, err
}

// AddPayment records received money: the payment, the totals of client and
// appointment, the deposit it covers and the points it earns.
func (t *Tx) AddPayment(ctx context.Context, org Org, n NewPayment) (PaymentDetail, error) {
	var appointment *Appointment
	if n.Appointment != nil {
		locked, err := t.lockForChange(ctx, AppointmentChange{Org: org, ID: *n.Appointment}, nil)
		switch {
		case err != nil:
			return PaymentDetail{}, dberr.Wrap("loading the appointment", err)
		case locked.ClientID != n.Client:
			return PaymentDetail{}, hub.Invalid("body.client_id", "is not the appointment's client")
		}
		appointment = &locked
	}
	payment, err := t.CreatePayment(ctx, dbgen.CreatePaymentParams{
		OrgID: n.Org, ID: NewID(), AppointmentID: n.Appointment, ClientID: n.Client, AmountCents: n.Amount, Method: n.Method, Description: n.Description,
		Status: "paid", Kind: n.Kind, PaidAt: &t.now, SourceID: n.SourceID, CreatedBy: n.By, CreatedAt: t.now,
	})
	if err != nil {
		return PaymentDetail{}, err
	}
	if err := t.creditPayment(ctx, payment, appointment); err != nil {
		return PaymentDetail{}, err
	}
	if appointment != nil {
		if err := t.applyCredit(ctx, org, payment, appointment); err != nil {
			return PaymentDetail{}, err
		}
		if err := t.updateNeedsRefund(ctx, n.Org, appointment.ID); err != nil {
			return PaymentDetail{}, err
		}
	}
	return t.PaymentByID(ctx, n.Org, payment.ID)
}

// creditPayment adds received money, which is stored, to the appointment, the client and their
// points.
func (t *Tx) creditPayment(ctx context.Context, payment Payment, appointment *Appointment) error {
	service := uuid.Nil
	if appointment != nil {
		service = appointment.ServiceID
		if err := t.computePaidAmount(ctx, appointment); err != nil {
			return err
		}
	}
	if _, err := t.AdjustClientTotals(ctx, dbgen.AdjustClientTotalsParams{OrgID: payment.OrgID, ID: payment.ClientID, Spent: int64(payment.AmountCents)}); err != nil {
		return err
	}
	program, err := LoadLoyalty(ctx, t.DB, payment.OrgID)
	if err != nil {
		return err
	}
	err = t.AddPoints(ctx, PointsChange{
		Org: payment.OrgID, Client: payment.ClientID, Type: "earn", Points: program.PaymentPoints(payment.AmountCents, service), Source: paymentPointsSource(payment),
		Payment: &payment.ID, Appointment: payment.AppointmentID,
	})
	return ignoreErased(err)
}

// computePaidAmount sets what was paid of an appointment's price, and belongs after every change
// of a payment. The caller has locked the appointment.
func (t *Tx) computePaidAmount(ctx context.Context, appointment *Appointment) (err error) {
	appointment.PaidCents, err = t.ComputePaidAmount(ctx, dbgen.ComputePaidAmountParams{OrgID: appointment.OrgID, ID: appointment.ID, Now: t.now})
	return dberr.Wrap("computing the paid amount", err)
}

// applyCredit applies what credited money changes besides the totals: codes above the rest
// are closed, and the deposit may be covered.
func (t *Tx) applyCredit(ctx context.Context, org Org, payment Payment, appointment *Appointment) error {
	if payment.Kind == KindOther {
		return nil
	}
	if err := t.closeExcessCharges(ctx, *appointment, appointment.PriceCents-appointment.PaidCents); err != nil {
		return err
	}
	return t.coverDeposit(ctx, org, appointment)
}

// claimPaymentKey claims an Idempotency-Key, or returns the payment stored under it.
func (t *Tx) claimPaymentKey(ctx context.Context, org uuid.UUID, key IdempotencyKey) (payment PaymentDetail, found bool, err error) {
	var id uuid.UUID
	if found, err = t.claimIdempotencyKey(ctx, org, key, &id); err != nil || !found {
		return payment, found, err
	}
	payment, err = t.PaymentByID(ctx, org, id)
	return payment, true, err
}

func (t *Tx) storePaymentAnswer(ctx context.Context, org uuid.UUID, key *IdempotencyKey, id uuid.UUID) error {
	if key == nil {
		return nil
	}
	return t.storeAnswer(ctx, org, *key, id)
}

// endUnpaidPayment sets a final status on a payment without money received. A payment that
// another transaction settled meanwhile stays paid: the caller may not have locked it.
func (t *Tx) endUnpaidPayment(ctx context.Context, payment Payment, status string) error {
	return t.EndUnpaidPayment(ctx, dbgen.EndUnpaidPaymentParams{Status: status, Now: t.now, OrgID: payment.OrgID, ID: payment.ID})
}
