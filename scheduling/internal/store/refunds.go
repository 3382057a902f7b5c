package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store/dbgen"
)

// applyRefund records the refunded amount of a payment: refunded is what its provider says. What
// staff gave back is beside that.
func (t *Tx) applyRefund(ctx context.Context, payment Payment, appointment *Appointment, refunded booking.Cents) error {
	sums, err := t.SumRefunds(ctx, payment.OrgID, payment.ID)
	if err != nil {
		return err
	}
	refunded = min(max(refunded, booking.Cents(sums.ByProvider))+booking.Cents(sums.ByHand), payment.AmountCents)
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

// RefundByHand is money of a payment that staff gave back.
type RefundByHand struct {
	Payment uuid.UUID
	Amount  *booking.Cents // nil: what is left of the payment
	By      *uuid.UUID     // user
}

// RecordRefund records that staff gave money back, beside the payment provider. Without the money,
// above it, and while the provider is refunding it is a [hub.ErrConflict].
func (t *Tx) RecordRefund(ctx context.Context, org Org, refund RefundByHand) (PaymentDetail, error) {
	found, err := t.PaymentByID(ctx, org.ID, refund.Payment)
	if errors.Is(err, pgx.ErrNoRows) {
		return PaymentDetail{}, hub.NotFound("Payment")
	}
	if err != nil {
		return PaymentDetail{}, err
	}
	var appointment *Appointment
	if found.AppointmentID != nil {
		locked, err := t.lockForChange(ctx, AppointmentChange{Org: org, ID: *found.AppointmentID}, nil)
		if err != nil {
			return PaymentDetail{}, err
		}
		appointment = &locked
	}
	payment, err := t.LockPayment(ctx, org.ID, refund.Payment)
	if err != nil {
		return PaymentDetail{}, err
	}
	amount, err := t.checkRefundByHand(ctx, payment, refund.Amount)
	if err != nil {
		return PaymentDetail{}, err
	}
	err = t.CreateRefundByHand(ctx, dbgen.CreateRefundByHandParams{OrgID: org.ID, ID: NewID(), PaymentID: payment.ID, AmountCents: amount, Now: t.now, CreatedBy: refund.By})
	if err != nil {
		return PaymentDetail{}, err
	}
	byProvider, err := t.refundedByProvider(ctx, payment, amount)
	if err != nil {
		return PaymentDetail{}, err
	}
	if err := t.applyRefund(ctx, payment, appointment, byProvider); err != nil {
		return PaymentDetail{}, err
	}
	if appointment != nil {
		if err := t.endRefundedDeposit(ctx, appointment); err != nil {
			return PaymentDetail{}, err
		}
		if err := t.updateNeedsRefund(ctx, org.ID, appointment.ID); err != nil {
			return PaymentDetail{}, err
		}
	}
	return t.PaymentByID(ctx, org.ID, payment.ID)
}

// checkRefundByHand returns how much of a locked payment goes back; nil is what is left of it.
func (t *Tx) checkRefundByHand(ctx context.Context, payment Payment, asked *booking.Cents) (booking.Cents, error) {
	left := payment.AmountCents - payment.RefundedCents
	if payment.PaidAt == nil || left <= 0 {
		return 0, hub.Errorf(hub.ErrConflict, "nothing_to_refund", "This payment has no money that could go back.")
	}
	sums, err := t.SumRefunds(ctx, payment.OrgID, payment.ID)
	switch {
	case err != nil:
		return 0, err
	case sums.UnderWay:
		return 0, hub.Errorf(hub.ErrConflict, "refund_under_way", "The payment provider is refunding this payment: wait until it is done or has failed.")
	case asked == nil:
		return left, nil
	case *asked > left:
		return 0, hub.Errorf(hub.ErrConflict, "refund_exceeds_payment", "Only %s of this payment are left.", left)
	}
	return *asked, nil
}

// refundedByProvider returns what the provider has refunded of a payment, as far as it is known: all
// that was refunded but by hand. recorded is what has just been recorded.
func (t *Tx) refundedByProvider(ctx context.Context, payment Payment, recorded booking.Cents) (booking.Cents, error) {
	sums, err := t.SumRefunds(ctx, payment.OrgID, payment.ID)
	return max(0, payment.RefundedCents+recorded-booking.Cents(sums.ByHand)), err
}

// endRefundedDeposit marks the deposit of a cancelled appointment as refunded once all of its money
// went back, whatever payments the deposit was of.
func (t *Tx) endRefundedDeposit(ctx context.Context, appointment *Appointment) error {
	if appointment.Status != booking.Cancelled || appointment.DepositStatus != booking.DepositPaid || appointment.PaidCents > 0 {
		return nil
	}
	appointment.DepositStatus = booking.DepositRefunded
	return t.SetDepositStatus(ctx, dbgen.SetDepositStatusParams{DepositStatus: appointment.DepositStatus, Now: t.now, OrgID: appointment.OrgID, ID: appointment.ID})
}
