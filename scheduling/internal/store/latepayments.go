package store

import (
	"context"
	"errors"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// handlePaidAfterCancel handles a charge paid for a cancelled appointment. If the
// system cancelled it for an unpaid deposit and the time is still free, it is restored.
// If a person cancelled it while the deposit was due, the deposit is refunded or forfeited
// as if it had been paid before. Otherwise staff must refund the money:
// [Tx.updateNeedsRefund] marks it. kept is what the charge did not refund yet.
func (t *Tx) handlePaidAfterCancel(ctx context.Context, org Org, payment Payment, appointment *Appointment, kept booking.Cents) error {
	if appointment.Status != booking.Cancelled {
		return nil
	}
	bySystem := appointment.CancelledBy != nil && *appointment.CancelledBy == string(booking.ActorSystem)
	if payment.Kind == KindOther || appointment.DepositCents == nil {
		return nil
	}
	coversDeposit := appointment.PaidCents >= *appointment.DepositCents
	coveredDeposit := appointment.PaidCents+payment.AmountCents-kept >= *appointment.DepositCents // what is left of it is refunded or forfeited
	switch {
	case coveredDeposit && payment.Kind == KindDeposit && !bySystem && appointment.DepositStatus == booking.DepositNone && appointment.CancelledAt != nil:
		return t.handleDepositPaidAfterCancel(ctx, org, payment, appointment, kept)
	case coversDeposit && bySystem && appointment.StartAt.After(t.now):
		return t.restoreAfterLateDeposit(ctx, org, appointment)
	}
	return nil
}

// handleDepositPaidAfterCancel refunds or forfeits a deposit that was paid too late for the
// cancellation to know of it. The policy applies to the time of cancelling.
func (t *Tx) handleDepositPaidAfterCancel(ctx context.Context, org Org, payment Payment, appointment *Appointment, kept booking.Cents) error {
	appointment.DepositStatus = org.Policy.DepositAfterCancel(booking.DepositPaid, appointment.StartAt, *appointment.CancelledAt)
	err := t.SetDepositStatus(ctx, dbgen.SetDepositStatusParams{DepositStatus: appointment.DepositStatus, Now: t.now, OrgID: appointment.OrgID, ID: appointment.ID})
	if err != nil || appointment.DepositStatus != booking.DepositPaid {
		return err
	}
	return t.enqueueRefund(ctx, payment.OrgID, payment.ID, kept)
}

// restoreAfterLateDeposit restores an appointment that the system cancelled, if its time is
// still free.
func (t *Tx) restoreAfterLateDeposit(ctx context.Context, org Org, appointment *Appointment) error {
	placement, offered, err := t.findFormerPlacement(ctx, org, *appointment)
	if errors.Is(err, errSlotTaken) || err == nil && !offered {
		return nil
	}
	if err != nil {
		return err
	}
	status := org.Policy.InitialStatus(appointment.Source, booking.DepositPaid)
	err = t.RestoreAppointment(ctx, dbgen.RestoreAppointmentParams{Status: status, Seat: placement.seat, Capacity: placement.offer.Capacity, Now: t.now, OrgID: appointment.OrgID, ID: appointment.ID})
	if err != nil {
		return err
	}
	from, reason := string(appointment.Status), "deposit paid late"
	appointment.Status, appointment.DepositStatus = status, booking.DepositPaid
	if err := t.recordHistory(ctx, appointment.OrgID, appointment.ID, dbgen.InsertHistoryEntryParams{Action: "rebook", FromStatus: &from, ToStatus: string(status), Reason: &reason}, systemActor); err != nil {
		return err
	}
	if err := t.planReminders(ctx, org, appointment.ID, appointment.StartAt); err != nil {
		return err
	}
	if err := t.enqueueNotification(ctx, Notification{Org: appointment.OrgID, Appointment: appointment.ID, Change: ChangeBooked, By: booking.ActorSystem}); err != nil {
		return err
	}
	detail, err := t.AppointmentByID(ctx, appointment.OrgID, appointment.ID)
	if err != nil {
		return err
	}
	phone := ""
	if detail.ClientPhone != nil {
		phone = *detail.ClientPhone
		if formatted := booking.E164(phone); formatted != nil {
			phone = *formatted
		}
	}
	return t.publishCreated(ctx, detail, phone)
}
