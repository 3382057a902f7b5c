package store

import (
	"context"
	"errors"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// handleLatePayment handles a charge that was paid after it had been closed: the
// appointment was cancelled or paid otherwise.
func (t *Tx) handleLatePayment(ctx context.Context, org Org, payment Payment, appointment *Appointment, wasClosed bool) error {
	switch {
	case appointment == nil:
	case appointment.Status == booking.Cancelled:
		return t.handlePaidAfterCancel(ctx, org, payment, appointment)
	case wasClosed && appointment.PaidCents > appointment.PriceCents:
		appointment.NeedsRefund = true
		return t.SetDepositStatus(ctx, dbgen.SetDepositStatusParams{DepositStatus: appointment.DepositStatus, NeedsRefund: true, Now: t.now, OrgID: appointment.OrgID, ID: appointment.ID})
	}
	return nil
}

// handlePaidAfterCancel handles a charge paid for a cancelled appointment. If the
// system cancelled it for an unpaid deposit and the time is still free, it is restored.
// If a person cancelled it while the deposit was due, the deposit is refunded or forfeited
// as if it had been paid before. Otherwise staff must refund the money.
func (t *Tx) handlePaidAfterCancel(ctx context.Context, org Org, payment Payment, appointment *Appointment) error {
	bySystem := appointment.CancelledBy != nil && *appointment.CancelledBy == string(booking.ActorSystem)
	coversDeposit := payment.Kind == KindDeposit && appointment.DepositCents != nil && appointment.PaidCents >= *appointment.DepositCents
	switch {
	case coversDeposit && !bySystem && appointment.DepositStatus == booking.DepositNone && appointment.CancelledAt != nil:
		return t.handleDepositPaidAfterCancel(ctx, org, payment, appointment)
	case coversDeposit && bySystem && appointment.StartAt.After(t.now):
		if restored, err := t.restoreAfterLateDeposit(ctx, org, appointment); err != nil || restored {
			return err
		}
	}
	return t.SetDepositStatus(ctx, dbgen.SetDepositStatusParams{DepositStatus: appointment.DepositStatus, NeedsRefund: true, Now: t.now, OrgID: appointment.OrgID, ID: appointment.ID})
}

// handleDepositPaidAfterCancel refunds or forfeits a deposit that was paid too late for the
// cancellation to know of it. The policy applies to the time of cancelling.
func (t *Tx) handleDepositPaidAfterCancel(ctx context.Context, org Org, payment Payment, appointment *Appointment) error {
	appointment.DepositStatus = org.Policy.DepositAfterCancel(booking.DepositPaid, appointment.StartAt, *appointment.CancelledAt)
	err := t.SetDepositStatus(ctx, dbgen.SetDepositStatusParams{
		DepositStatus: appointment.DepositStatus, NeedsRefund: appointment.NeedsRefund, Now: t.now, OrgID: appointment.OrgID, ID: appointment.ID,
	})
	if err != nil || appointment.DepositStatus != booking.DepositPaid {
		return err
	}
	return t.enqueueRefund(ctx, payment.OrgID, payment.ID, payment.AmountCents)
}

// restoreAfterLateDeposit restores an appointment that the system cancelled. It returns
// false where the time is no longer free.
func (t *Tx) restoreAfterLateDeposit(ctx context.Context, org Org, appointment *Appointment) (bool, error) {
	placement, offered, err := t.findFormerPlacement(ctx, org, *appointment)
	if errors.Is(err, errSlotTaken) || err == nil && !offered {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	status := org.Policy.InitialStatus(appointment.Source, booking.DepositPaid)
	err = t.RestoreAppointment(ctx, dbgen.RestoreAppointmentParams{Status: status, Seat: placement.seat, Capacity: placement.offer.Capacity, Now: t.now, OrgID: appointment.OrgID, ID: appointment.ID})
	if err != nil {
		return false, err
	}
	from, reason := string(appointment.Status), "deposit paid late"
	appointment.Status, appointment.DepositStatus = status, booking.DepositPaid
	if err := t.recordHistory(ctx, appointment.OrgID, appointment.ID, dbgen.InsertHistoryEntryParams{Action: "rebook", FromStatus: &from, ToStatus: string(status), Reason: &reason}, systemActor); err != nil {
		return false, err
	}
	if err := t.planReminders(ctx, org, appointment.ID, appointment.StartAt); err != nil {
		return false, err
	}
	if err := t.enqueueNotification(ctx, Notification{Org: appointment.OrgID, Appointment: appointment.ID, Change: ChangeBooked, By: booking.ActorSystem}); err != nil {
		return false, err
	}
	detail, err := t.AppointmentByID(ctx, appointment.OrgID, appointment.ID)
	if err != nil {
		return false, err
	}
	phone := ""
	if detail.ClientPhone != nil {
		phone = *detail.ClientPhone
		if formatted := booking.E164(phone); formatted != nil {
			phone = *formatted
		}
	}
	return true, t.publishCreated(ctx, detail, phone)
}
