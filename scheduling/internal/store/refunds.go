package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store/dbgen"
)

// applyRefund records the refunded amount of a payment.
func (t *Tx) applyRefund(ctx context.Context, payment Payment, appointment *Appointment, refunded booking.Cents) error {
	refundedByUs, err := t.SumCompletedRefunds(ctx, payment.OrgID, payment.ID)
	if err != nil {
		return err
	}
	refunded = min(max(refunded, booking.Cents(refundedByUs)), payment.AmountCents)
	increase := refunded - payment.RefundedCents
	if increase <= 0 {
		return nil
	}
	status := paymentPaid
	if refunded == payment.AmountCents {
		status = paymentRefunded
	}
	if err := t.UpdatePaymentStatus(ctx, dbgen.UpdatePaymentStatusParams{Status: status, PaidAt: payment.PaidAt, RefundedCents: refunded, Now: t.now, OrgID: payment.OrgID, ID: payment.ID}); err != nil {
		return err
	}
	if appointment != nil {
		if err := t.computePaidAmount(ctx, appointment); err != nil {
			return err
		}
		if payment.Kind == KindDeposit && appointment.DepositStatus == booking.DepositPaid && status == paymentRefunded {
			appointment.DepositStatus = booking.DepositRefunded
		}
		if err := t.SetDepositStatus(ctx, dbgen.SetDepositStatusParams{DepositStatus: appointment.DepositStatus, Now: t.now, OrgID: appointment.OrgID, ID: appointment.ID}); err != nil {
			return err
		}
	}
	if _, err := t.AdjustClientTotals(ctx, dbgen.AdjustClientTotalsParams{OrgID: payment.OrgID, ID: payment.ClientID, Spent: -int64(increase)}); err != nil {
		return err
	}
	return t.reversePoints(ctx, payment, refunded)
}

// SettleRefund is [Store.SettleCharge] after a refund that this service requested.
func (s *Store) SettleRefund(ctx context.Context, providerName string, charge provider.Charge, refund uuid.UUID) error {
	return s.settleCharge(ctx, providerName, charge, &refund)
}

// FailRefund records that a refund is given up. Staff must refund the money.
func (s *Store) FailRefund(ctx context.Context, org, refund uuid.UUID, appointment *uuid.UUID) error {
	return s.changeRefund(ctx, "giving up a refund", org, appointment, func(tx *Tx) error {
		return tx.SetRefundOutcome(ctx, dbgen.SetRefundOutcomeParams{FailedAt: &tx.now, OrgID: org, ID: refund})
	})
}

// PostponeForeignRefund keeps a refund open whose provider is not configured. Staff are not asked
// to refund the money before it fails: the client would have it twice if the provider returns.
func (s *Store) PostponeForeignRefund(ctx context.Context, org, refund uuid.UUID, appointment *uuid.UUID, dueAt time.Time) error {
	return s.changeRefund(ctx, "postponing a refund", org, appointment, func(tx *Tx) error {
		return tx.SetRefundProviderMissing(ctx, dbgen.SetRefundProviderMissingParams{Now: tx.now, DueAt: dueAt, OrgID: org, ID: refund})
	})
}

// changeRefund changes a refund with its appointment locked, if it has one.
func (s *Store) changeRefund(ctx context.Context, operation string, org uuid.UUID, appointment *uuid.UUID, change func(*Tx) error) error {
	return s.InTx(ctx, operation, func(tx *Tx) error {
		if appointment == nil {
			return change(tx)
		}
		if _, err := tx.LockAppointment(ctx, org, *appointment); err != nil {
			return err
		}
		if err := change(tx); err != nil {
			return err
		}
		return tx.updateNeedsRefund(ctx, org, *appointment)
	})
}
