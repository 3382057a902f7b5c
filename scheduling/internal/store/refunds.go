package store

import (
	"context"

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
		if err := t.AdjustPaidAmount(ctx, dbgen.AdjustPaidAmountParams{OrgID: payment.OrgID, ID: appointment.ID, Amount: -int64(increase), Now: t.now}); err != nil {
			return err
		}
		if payment.Kind == KindDeposit && appointment.DepositStatus == booking.DepositPaid && status == paymentRefunded {
			appointment.DepositStatus = booking.DepositRefunded
		}
		stillOwed := appointment.NeedsRefund && status != paymentRefunded
		if err := t.SetDepositStatus(ctx, dbgen.SetDepositStatusParams{DepositStatus: appointment.DepositStatus, NeedsRefund: stillOwed, Now: t.now, OrgID: appointment.OrgID, ID: appointment.ID}); err != nil {
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

// MarkRefundFailed records that the provider refuses a refund. Staff must refund it.
func (s *Store) MarkRefundFailed(ctx context.Context, org, refund uuid.UUID, appointment *uuid.UUID) error {
	return s.InTx(ctx, "giving up a refund", func(tx *Tx) error {
		finish := func() error {
			return tx.SetRefundOutcome(ctx, dbgen.SetRefundOutcomeParams{FailedAt: &tx.now, OrgID: org, ID: refund})
		}
		if appointment == nil {
			return finish()
		}
		a, err := tx.LockAppointment(ctx, org, *appointment)
		if err != nil {
			return err
		}
		if err := finish(); err != nil {
			return err
		}
		return tx.SetDepositStatus(ctx, dbgen.SetDepositStatusParams{DepositStatus: a.DepositStatus, NeedsRefund: true, Now: tx.now, OrgID: org, ID: a.ID})
	})
}
