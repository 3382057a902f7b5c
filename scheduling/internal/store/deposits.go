package store

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// coverDeposit marks a pending deposit as paid once enough money was received: as forfeited
// after a no-show, also where the money was received later.
func (t *Tx) coverDeposit(ctx context.Context, org Org, appointment *Appointment) error {
	if appointment.Status == booking.Cancelled || appointment.DepositStatus != booking.DepositPending || appointment.PaidCents < *appointment.DepositCents {
		return nil
	}
	appointment.DepositStatus = booking.DepositPaid
	if appointment.Status == booking.NoShow {
		appointment.DepositStatus = booking.DepositAfterNoShow(appointment.DepositStatus)
	}
	if err := t.SetDepositStatus(ctx, dbgen.SetDepositStatusParams{DepositStatus: appointment.DepositStatus, Now: t.now, OrgID: appointment.OrgID, ID: appointment.ID}); err != nil {
		return err
	}
	return t.confirmAfterDeposit(ctx, org, appointment)
}

// confirmAfterDeposit confirms an appointment that only waited for its deposit.
func (t *Tx) confirmAfterDeposit(ctx context.Context, org Org, appointment *Appointment) error {
	if appointment.Status == booking.Scheduled && org.Policy.InitialStatus(appointment.Source, appointment.DepositStatus) == booking.Confirmed {
		return t.applyAction(ctx, booking.Confirm, AppointmentChange{Org: org, ID: appointment.ID, By: systemActor}, *appointment)
	}
	return nil
}

// CancelUnpaid cancels an appointment whose deposit was not paid in time.
func (s *Store) CancelUnpaid(ctx context.Context, orgID, id uuid.UUID) error {
	org, err := s.LoadOrg(ctx, orgID)
	if err != nil {
		return err
	}
	reason := "Deposit not paid in time"
	return s.InTx(ctx, "cancelling an unpaid appointment", func(tx *Tx) error {
		change := AppointmentChange{Org: org, ID: id, By: systemActor, Reason: &reason}
		before, err := tx.lockForChange(ctx, change, nil)
		if err != nil {
			return err
		}
		if before.Status != booking.Scheduled || before.DepositStatus != booking.DepositPending || before.DepositDeadline == nil || before.DepositDeadline.After(tx.now) {
			return nil
		}
		if before.DepositLeftToStaff || !before.DepositDeadline.Before(before.StartAt) || !before.StartAt.After(tx.now) { // or it has begun
			return nil
		}
		return tx.applyAction(ctx, booking.Cancel, change, before)
	})
}

// enqueueDepositRefund schedules the refund of a paid deposit with the provider that
// collected it. [Tx.updateNeedsRefund] marks money received otherwise for staff.
func (t *Tx) enqueueDepositRefund(ctx context.Context, appointment Appointment) error {
	paid, err := t.PaidDeposits(ctx, appointment.OrgID, &appointment.ID)
	if err != nil {
		return err
	}
	for _, payment := range paid {
		if err := t.enqueueRefund(ctx, payment.OrgID, payment.ID, payment.AmountCents); err != nil {
			return err
		}
	}
	return nil
}

// updateNeedsRefund sets whether staff must refund money of an appointment. It is computed
// from the money, never toggled, and belongs after every change of what was paid, is being
// refunded or is due.
func (t *Tx) updateNeedsRefund(ctx context.Context, org, appointment uuid.UUID) error {
	return t.UpdateNeedsRefund(ctx, dbgen.UpdateNeedsRefundParams{Now: t.now, OrgID: org, ID: appointment})
}

// enqueueRefund schedules the refund of a payment with its provider.
func (t *Tx) enqueueRefund(ctx context.Context, org, payment uuid.UUID, amount booking.Cents) error {
	if err := t.CreateRefund(ctx, dbgen.CreateRefundParams{OrgID: org, ID: NewID(), PaymentID: payment, AmountCents: amount, CreatedAt: t.now}); err != nil {
		return err
	}
	return t.wakePaymentsJob(ctx)
}
