package store

import (
	"context"
	"errors"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// handleLatePayment deals with a charge that was paid for what it was not to be paid for any more:
// an appointment that is cancelled, or one that was paid otherwise, so that the charge
// had been ended.
func (t *Tx) handleLatePayment(ctx context.Context, org Org, p dbgen.Payment, a *dbgen.Appointment, ended bool) error {
	switch {
	case a == nil:
	case a.Status == booking.Cancelled:
		return t.handlePaidAfterCancel(ctx, org, p, a)
	case ended && a.PaidCents > a.PriceCents:
		a.NeedsRefund = true
		return t.SetDeposit(ctx, dbgen.SetDepositParams{DepositStatus: a.DepositStatus, NeedsRefund: true, Now: t.now, OrgID: a.OrgID, ID: a.ID})
	}
	return nil
}

// handlePaidAfterCancel deals with a charge that was paid for an appointment that had been cancelled.
// One that the system gave up for want of the deposit takes place after all where its
// time is still free; else somebody has to give the money back.
func (t *Tx) handlePaidAfterCancel(ctx context.Context, org Org, p dbgen.Payment, a *dbgen.Appointment) error {
	gaveUp := a.CancelledBy != nil && *a.CancelledBy == string(booking.System) && p.Kind == KindDeposit && a.DepositCents != nil
	if gaveUp && a.PaidCents >= *a.DepositCents && a.StartAt.After(t.now) {
		if back, err := t.restoreAppointment(ctx, org, a); err != nil || back {
			return err
		}
	}
	return t.SetDeposit(ctx, dbgen.SetDepositParams{DepositStatus: a.DepositStatus, NeedsRefund: true, Now: t.now, OrgID: a.OrgID, ID: a.ID})
}

// KindDeposit is the kind of payments that keep a slot.
const KindDeposit = "deposit"

// systemActor is nobody in particular.
var systemActor = Actor{Kind: booking.System}

// restoreAppointment lets an appointment that the system had cancelled take place after all;
// false where its time is not free any more.
func (t *Tx) restoreAppointment(ctx context.Context, org Org, a *dbgen.Appointment) (bool, error) {
	place, offered, err := t.findFormerPlacement(ctx, org, *a)
	if errors.Is(err, errSlotTaken) || err == nil && !offered {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	status := org.Policy.InitialStatus(a.Source, booking.DepositPaid)
	err = t.Rebook(ctx, dbgen.RebookParams{Status: status, Seat: place.seat, Capacity: place.offer.Capacity, Now: t.now, OrgID: a.OrgID, ID: a.ID})
	if err != nil {
		return false, err
	}
	from, reason := string(a.Status), "deposit paid late"
	a.Status, a.DepositStatus = status, booking.DepositPaid
	if err := t.recordHistory(ctx, a.OrgID, a.ID, dbgen.RecordHistoryParams{Action: "rebook", FromStatus: &from, ToStatus: string(status), Reason: &reason}, systemActor); err != nil {
		return false, err
	}
	if err := t.planReminders(ctx, org, a.ID, a.StartAt); err != nil {
		return false, err
	}
	if err := t.enqueueNotification(ctx, News{Org: a.OrgID, Appointment: a.ID, Change: ChangeBooked, By: booking.System}); err != nil {
		return false, err
	}
	detail, err := t.AppointmentByID(ctx, a.OrgID, a.ID)
	if err != nil {
		return false, err
	}
	phone := ""
	if detail.ClientPhone != nil {
		phone = *detail.ClientPhone
		if known := booking.E164(phone); known != nil {
			phone = *known
		}
	}
	return true, t.publishCreated(ctx, detail, phone)
}
