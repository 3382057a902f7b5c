package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module/tx"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// AppointmentChange identifies an appointment to change and the actor.
type AppointmentChange struct {
	Org        Org
	ID         uuid.UUID
	By         Actor
	Reason     *string
	Version    *int // the version the caller has read; nil: any
	SkipClient bool // the client gets no e-mail
	// Check may refuse the change once the appointment is locked and the action is
	// possible in its state; nil: no further check.
	Check func(a Appointment) error
}

// lockForChange loads and locks an appointment. The locks of the professionals'
// time, including the professional it may move to, are taken before the row, as bookings do.
func (t *Tx) lockForChange(ctx context.Context, change AppointmentChange, otherProfessional *uuid.UUID) (Appointment, error) {
	current, err := t.AppointmentByID(ctx, change.Org.ID, change.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return Appointment{}, hub.NotFound("Appointment")
	}
	if err != nil {
		return Appointment{}, err
	}
	first := current.ProfessionalID
	if otherProfessional != nil && *otherProfessional != first {
		second := *otherProfessional
		if second.String() < first.String() {
			first, second = second, first
		}
		if err := t.LockProfessionalTime(ctx, first); err != nil {
			return Appointment{}, err
		}
		first = second
	}
	if err := t.LockProfessionalTime(ctx, first); err != nil {
		return Appointment{}, err
	}
	appointment, err := t.LockAppointment(ctx, change.Org.ID, change.ID)
	switch {
	case err != nil:
		return appointment, err
	case change.Version != nil && *change.Version != appointment.Version:
		return appointment, hub.Errorf(hub.ErrPreconditionFailed, "version_mismatch", "Appointment was changed by someone else")
	case appointment.ProfessionalID != current.ProfessionalID: // the lock of another's time is needed now
		return appointment, tx.ErrConflict
	}
	return appointment, nil
}

// ApplyAction applies an action that changes the status but not the time. Repeating it
// has no effect and is no error. An impossible action is a *[booking.TransitionError].
func (s *Store) ApplyAction(ctx context.Context, action booking.Action, change AppointmentChange) (AppointmentDetail, error) {
	var updated AppointmentDetail
	var before Appointment
	err := s.InTx(ctx, "changing the status of an appointment", func(tx *Tx) (err error) {
		if before, err = tx.lockForChange(ctx, change, nil); err != nil {
			return err
		}
		if err := tx.applyAction(ctx, action, change, before); err != nil {
			return err
		}
		updated, err = tx.AppointmentByID(ctx, change.Org.ID, change.ID)
		return err
	})
	if isSlotConflict(err) {
		return updated, s.slotTakenError(ctx, change.Org, ServiceChoice{Service: before.ServiceID, Professional: &before.ProfessionalID, Booked: &Booked{before.ServiceID, before.ProfessionalID}}, before.StartAt, booking.Limits{}, nil)
	}
	return updated, err
}

func (t *Tx) applyAction(ctx context.Context, action booking.Action, change AppointmentChange, before Appointment) error {
	next, err := action.Apply(before.Status, change.By.Kind, change.By.Manager, change.Org.Policy)
	if err != nil || !next.Changed {
		return err
	}
	if change.Check != nil {
		if err := change.Check(before); err != nil {
			return err
		}
	}
	if action == booking.Confirm && before.DepositStatus == booking.DepositPending && (change.By.Kind == booking.ActorClient || change.By.Kind == booking.ActorIntegration) {
		return errConfirmNeedsDeposit // a confirmed appointment would keep its time without the deposit
	}
	if action == booking.Reopen && before.Status == booking.NoShow && !before.Overbooked {
		if err := t.takeFreeSeat(ctx, change.Org, before); err != nil {
			return err
		}
	}
	params := dbgen.UpdateAppointmentStatusParams{OrgID: change.Org.ID, ID: change.ID, Status: next.To, Now: t.now, Expected: []string{string(before.Status)}, DepositStatus: depositAfter(action, change.Org.Policy, before, t.now)}
	if action == booking.Cancel {
		cancelledBy := string(change.By.Kind)
		params.CancelledBy, params.CancelReason = &cancelledBy, change.Reason
	}
	if _, err := t.UpdateAppointmentStatus(ctx, params); err != nil {
		return err
	}
	from := string(before.Status)
	if err := t.recordHistory(ctx, change.Org.ID, change.ID, dbgen.InsertHistoryEntryParams{Action: string(action), FromStatus: &from, ToStatus: string(next.To), Reason: change.Reason}, change.By); err != nil {
		return err
	}
	return t.applyActionEffects(ctx, action, change, before)
}

// errConfirmNeedsDeposit is returned where a client would confirm an unpaid appointment.
var errConfirmNeedsDeposit = hub.Errorf(hub.ErrConflict, "deposit_due", "The deposit of this appointment is not paid. Confirm it once the deposit is paid; staff can confirm it before that.")

// takeFreeSeat stores a free seat with an appointment that is restored: in a group, its former
// seat may be another client's. Where the professional no longer offers the service, the
// database constraint decides.
func (t *Tx) takeFreeSeat(ctx context.Context, org Org, appointment Appointment) error {
	placement, offered, err := t.findFormerPlacement(ctx, org, appointment)
	if err != nil || !offered {
		return err
	}
	return t.SetAppointmentSeat(ctx, dbgen.SetAppointmentSeatParams{OrgID: org.ID, ID: appointment.ID, Seat: placement.seat, Capacity: placement.offer.Capacity})
}

// findFormerPlacement finds the seat of an appointment that is restored. offered is
// false where its professional no longer offers the service.
func (t *Tx) findFormerPlacement(ctx context.Context, org Org, appointment Appointment) (placement slotPlacement, offered bool, err error) {
	offers, err := t.ServiceOffers(ctx, org.ID, appointment.ServiceID)
	if err != nil {
		return placement, false, err
	}
	for _, offer := range offers {
		if offer.ProfessionalID == appointment.ProfessionalID {
			placement, err = t.findPlacement(ctx, org, offer, ResolveOffer(offer, org.Policy).WithDurationAndPrice(appointment.EndAt.Sub(appointment.StartAt), appointment.PriceCents), appointment.StartAt, appointment.ID, placementOptions{})
			return placement, true, err
		}
	}
	return placement, false, nil
}

func depositAfter(action booking.Action, policy booking.Policy, appointment Appointment, now time.Time) booking.DepositStatus {
	switch {
	case action == booking.Cancel:
		return policy.DepositAfterCancel(appointment.DepositStatus, appointment.StartAt, now)
	case action == booking.MarkNoShow:
		return booking.DepositAfterNoShow(appointment.DepositStatus)
	case action == booking.Reopen && appointment.DepositStatus == booking.DepositForfeited:
		return booking.DepositPaid
	}
	return appointment.DepositStatus
}

// applyActionEffects applies the effects of an action besides the status.
func (t *Tx) applyActionEffects(ctx context.Context, action booking.Action, change AppointmentChange, before Appointment) error {
	switch action {
	case booking.Confirm:
		return t.applyConfirmation(ctx, change, before)
	case booking.Cancel:
		if err := t.applyCancellation(ctx, change, before); err != nil {
			return err
		}
		reason := ""
		if change.Reason != nil {
			reason = *change.Reason
		}
		return t.publish(ctx, change.Org.ID, events.AppointmentCancelled{AppointmentID: change.ID.String(), Reason: reason})
	case booking.MarkNoShow:
		client, err := t.AdjustClientTotals(ctx, dbgen.AdjustClientTotalsParams{OrgID: change.Org.ID, ID: before.ClientID, NoShows: 1})
		if err != nil {
			return err
		}
		if err := t.DeleteUnsentReminders(ctx, change.Org.ID, change.ID); err != nil {
			return err
		}
		return t.publish(ctx, change.Org.ID, events.AppointmentNoShow{AppointmentID: change.ID.String(), ClientPhone: clientPhone(client)})
	case booking.Complete:
		if _, err := t.AdjustClientTotals(ctx, dbgen.AdjustClientTotalsParams{OrgID: change.Org.ID, ID: before.ClientID, Appointments: 1}); err != nil {
			return err
		}
		return t.earnVisitPoints(ctx, before)
	case booking.Reopen:
		// Money that an older version received after the visit.
		reopened := before
		reopened.Status, reopened.DepositStatus = booking.Confirmed, depositAfter(action, change.Org.Policy, before, t.now)
		if err := t.coverDeposit(ctx, change.Org, &reopened); err != nil {
			return err
		}
		if before.Status == booking.NoShow {
			return t.undoNoShow(ctx, change, before)
		}
		if _, err := t.AdjustClientTotals(ctx, dbgen.AdjustClientTotalsParams{OrgID: change.Org.ID, ID: before.ClientID, Appointments: -1}); err != nil {
			return err
		}
		return t.reverseVisitPoints(ctx, before)
	}
	return nil
}

// applyConfirmation notifies the client. Products that have the appointment receive
// appointment.created again where its client confirmed it, also through one of them.
func (t *Tx) applyConfirmation(ctx context.Context, change AppointmentChange, before Appointment) error {
	err := t.enqueueNotification(ctx, Notification{Org: change.Org.ID, Appointment: change.ID, Change: ChangeConfirmed, By: change.By.Kind})
	if err != nil || change.By.Kind != booking.ActorClient && change.By.Kind != booking.ActorIntegration {
		return err
	}
	client, err := t.ClientByID(ctx, change.Org.ID, before.ClientID)
	if errors.Is(err, pgx.ErrNoRows) { // the client was erased
		return nil
	}
	if err != nil {
		return err
	}
	appointment, err := t.AppointmentByID(ctx, change.Org.ID, change.ID)
	if err != nil {
		return err
	}
	return t.publishCreated(ctx, appointment, clientPhone(client))
}

// undoNoShow reverses a no-show. Products that received the no-show event receive
// appointment.created again.
func (t *Tx) undoNoShow(ctx context.Context, change AppointmentChange, before Appointment) error {
	client, err := t.AdjustClientTotals(ctx, dbgen.AdjustClientTotalsParams{OrgID: change.Org.ID, ID: before.ClientID, NoShows: -1})
	if err != nil {
		return err
	}
	if err := t.planReminders(ctx, change.Org, change.ID, before.StartAt); err != nil {
		return err
	}
	appointment, err := t.AppointmentByID(ctx, change.Org.ID, change.ID)
	if err != nil {
		return err
	}
	return t.publishCreated(ctx, appointment, clientPhone(client))
}

// applyCancellation drops planned reminders, closes open charges and refunds the
// deposit where the policy says so.
func (t *Tx) applyCancellation(ctx context.Context, change AppointmentChange, before Appointment) error {
	if err := t.DeleteUnsentReminders(ctx, change.Org.ID, change.ID); err != nil {
		return err
	}
	if err := t.enqueueNotification(ctx, Notification{Org: change.Org.ID, Appointment: change.ID, Change: ChangeCancelled, By: change.By.Kind}); err != nil {
		return err
	}
	if err := t.enqueueFreedTime(ctx, change.Org, before); err != nil {
		return err
	}
	status := paymentCancelled
	if change.By.Kind == booking.ActorSystem {
		status = paymentExpired
	}
	if err := t.closePendingCharges(ctx, before, status); err != nil {
		return err
	}
	if before.DepositStatus == booking.DepositPaid && depositAfter(booking.Cancel, change.Org.Policy, before, t.now) == booking.DepositPaid {
		if err := t.enqueueDepositRefund(ctx, before); err != nil {
			return err
		}
	}
	return t.updateNeedsRefund(ctx, change.Org.ID, change.ID)
}
