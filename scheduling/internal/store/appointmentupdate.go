package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// AppointmentUpdate reschedules or edits an appointment. Nil fields stay unchanged.
type AppointmentUpdate struct {
	Start        *time.Time
	Professional *uuid.UUID
	Service      *uuid.UUID
	Price        *booking.Cents
	Client       *uuid.UUID
	Notes        *string
	Overbook     bool
	Online       bool // by a client: to an offered slot within the limits
	Limits       booking.Limits
	Reschedule   bool // a reschedule was requested, so the status must allow it
}

// isReschedule reports whether the appointment's place in time changes.
func (u AppointmentUpdate) isReschedule(appointment Appointment) bool {
	return u.Reschedule || u.Start != nil && !u.Start.Equal(appointment.StartAt) ||
		u.Professional != nil && *u.Professional != appointment.ProfessionalID || u.Service != nil && *u.Service != appointment.ServiceID
}

// UpdateAppointment reschedules or edits an appointment. Errors are those of [Store.Book] and
// [Store.ApplyAction].
func (s *Store) UpdateAppointment(ctx context.Context, update AppointmentUpdate, change AppointmentChange) (BookedAppointment, error) {
	var updated BookedAppointment
	var before Appointment
	err := s.InTx(ctx, "changing the appointment", func(tx *Tx) (err error) {
		if before, err = tx.lockForChange(ctx, change, update.Professional); err != nil {
			return err
		}
		if update.isReschedule(before) {
			if updated.Warnings, err = tx.reschedule(ctx, update, change, before); err != nil {
				return err
			}
		}
		if err := tx.editDetails(ctx, update, change, before); err != nil {
			return err
		}
		if err := tx.applyLowerPrice(ctx, change.Org, before); err != nil {
			return err
		}
		if err := tx.updateNeedsRefund(ctx, change.Org.ID, change.ID); err != nil {
			return err
		}
		if updated.AppointmentDetail, err = tx.AppointmentByID(ctx, change.Org.ID, change.ID); err != nil {
			return err
		}
		return tx.publishRescheduled(ctx, before, updated.AppointmentDetail)
	})
	if isSlotConflict(err) {
		start, choice := update.target(before)
		return BookedAppointment{}, s.slotTakenError(ctx, change.Org, choice, start, update.Limits, func(offer *booking.Offer) {
			if choice.Service == before.ServiceID {
				*offer = offer.WithDurationAndPrice(before.EndAt.Sub(before.StartAt), before.PriceCents)
			}
		})
	}
	return updated, err
}

// publishRescheduled publishes appointment.created again, with the same id and the new
// time. There is no event for rescheduling, and a product with a copy of the appointment
// would otherwise expect the client at the former time. See
// docs/interfaces/scheduling.md, "Events".
func (t *Tx) publishRescheduled(ctx context.Context, before Appointment, appointment AppointmentDetail) error {
	if appointment.StartAt.Equal(before.StartAt) && appointment.ProfessionalID == before.ProfessionalID && appointment.ServiceID == before.ServiceID && appointment.ClientID == before.ClientID {
		return nil
	}
	client, err := t.ClientByID(ctx, appointment.OrgID, appointment.ClientID)
	if errors.Is(err, pgx.ErrNoRows) { // the client was erased
		return nil
	}
	if err != nil {
		return err
	}
	return t.publishCreated(ctx, appointment, clientPhone(client))
}

// applyLowerPrice adjusts what is due after a price reduction: charges above the rest
// are closed, and the money received may now cover the deposit.
func (t *Tx) applyLowerPrice(ctx context.Context, org Org, before Appointment) error {
	appointment, err := t.LockAppointment(ctx, org.ID, before.ID)
	if err != nil || appointment.PriceCents >= before.PriceCents {
		return err
	}
	if err := t.closeExcessCharges(ctx, appointment, appointment.PriceCents-appointment.PaidCents); err != nil {
		return err
	}
	if before.DepositStatus == booking.DepositPending && appointment.DepositStatus == booking.DepositNone {
		return t.confirmAfterDeposit(ctx, org, &appointment)
	}
	return t.coverDeposit(ctx, org, &appointment)
}

// target returns the time and choice the update leads to.
func (u AppointmentUpdate) target(before Appointment) (time.Time, ServiceChoice) {
	start, choice := before.StartAt, ServiceChoice{Service: before.ServiceID, Professional: &before.ProfessionalID, Online: u.Online, Booked: &Booked{before.ServiceID, before.ProfessionalID}}
	if u.Start != nil {
		start = *u.Start
	}
	if u.Professional != nil {
		choice.Professional = u.Professional
	}
	if u.Service != nil {
		choice.Service = *u.Service
	} else {
		choice.Field = "body.professional_id"
	}
	return start, choice
}

func (t *Tx) reschedule(ctx context.Context, update AppointmentUpdate, change AppointmentChange, before Appointment) (warnings []string, err error) {
	next, err := booking.Reschedule.Apply(before.Status, change.By.Kind, change.By.Manager, change.Org.Policy)
	if err != nil {
		return nil, err
	}
	if change.Check != nil {
		if err := change.Check(before); err != nil {
			return nil, err
		}
	}
	start, choice := update.target(before)
	offers, err := LoadOffers(ctx, t.DB, change.Org.ID, choice)
	if err != nil {
		return nil, err
	}
	offer := ResolveOffer(offers[0], change.Org.Policy)
	if choice.Service == before.ServiceID {
		offer = offer.WithDurationAndPrice(before.EndAt.Sub(before.StartAt), before.PriceCents)
	}
	placement, err := t.findPlacement(ctx, change.Org, offers[0], offer, start, before.ID, placementOptions{online: update.Online, limits: update.Limits, overbook: update.Overbook})
	if err != nil {
		return nil, err
	}
	err = t.RescheduleAppointment(ctx, dbgen.RescheduleAppointmentParams{
		OrgID: change.Org.ID, ID: change.ID, ProfessionalID: *choice.Professional, ServiceID: choice.Service, StartAt: start, EndAt: start.Add(offer.Duration),
		PriceCents: offer.Price, Capacity: offer.Capacity, Seat: placement.seat, Overbooked: placement.overbooked, Status: next.To, Now: t.now,
	})
	if err != nil {
		return nil, err
	}
	from := string(before.Status)
	err = t.recordHistory(ctx, change.Org.ID, change.ID, dbgen.InsertHistoryEntryParams{
		Action: string(booking.Reschedule), FromStatus: &from, ToStatus: string(next.To), FromStartAt: &before.StartAt, ToStartAt: &start,
		FromProfessionalID: &before.ProfessionalID, ToProfessionalID: choice.Professional, Reason: change.Reason,
	}, change.By)
	if err != nil {
		return nil, err
	}
	if err := t.DeleteUnsentReminders(ctx, change.Org.ID, change.ID); err != nil {
		return nil, err
	}
	if err := t.enqueueNotification(ctx, Notification{Org: change.Org.ID, Appointment: change.ID, Change: ChangeRescheduled, By: change.By.Kind, PreviousStart: before.StartAt, SkipClient: change.SkipClient}); err != nil {
		return nil, err
	}
	if err := t.enqueueFreedTime(ctx, change.Org, before); err != nil {
		return nil, err
	}
	return placement.warnings, t.planReminders(ctx, change.Org, change.ID, start)
}

// editDetails changes client, notes and price.
func (t *Tx) editDetails(ctx context.Context, update AppointmentUpdate, change AppointmentChange, before Appointment) error {
	if update.Client == nil && update.Notes == nil && update.Price == nil {
		return nil
	}
	current, err := t.LockAppointment(ctx, change.Org.ID, change.ID)
	if err != nil {
		return err
	}
	edit := dbgen.EditAppointmentParams{OrgID: change.Org.ID, ID: change.ID, ClientID: before.ClientID, Notes: before.Notes, PriceCents: current.PriceCents, Now: t.now}
	if update.Client != nil && *update.Client != before.ClientID {
		client, err := t.LoadClient(ctx, change.Org.ID, *update.Client)
		if err != nil {
			return err
		}
		if current.Status != booking.Scheduled && current.Status != booking.Confirmed {
			// Its points and totals were credited to the former client.
			return hub.Errorf(hub.ErrConflict, "appointment_over", "The client of an appointment can be changed while it is scheduled or confirmed; this one is %s.", current.Status)
		}
		edit.ClientID = client.ID
	}
	if update.Notes != nil {
		edit.Notes = *update.Notes
	}
	if update.Price != nil {
		edit.PriceCents = *update.Price
	}
	if err := t.recordEdit(ctx, change, current, edit); err != nil {
		return err
	}
	if edit.ClientID != before.ClientID {
		err := t.ReassignPendingPayments(ctx, dbgen.ReassignPendingPaymentsParams{OrgID: change.Org.ID, AppointmentID: &change.ID, ClientID: edit.ClientID, Now: t.now})
		if err != nil {
			return err
		}
	}
	return t.EditAppointment(ctx, edit)
}

// recordEdit adds the edit to the history, if it changes anything.
func (t *Tx) recordEdit(ctx context.Context, change AppointmentChange, before Appointment, edit dbgen.EditAppointmentParams) error {
	if edit.Notes == before.Notes && edit.PriceCents == before.PriceCents && edit.ClientID == before.ClientID {
		return nil
	}
	status := string(before.Status)
	entry := dbgen.InsertHistoryEntryParams{Action: "edit", FromStatus: &status, ToStatus: status, Reason: change.Reason}
	if edit.PriceCents != before.PriceCents {
		entry.FromPriceCents, entry.ToPriceCents = &before.PriceCents, &edit.PriceCents
	}
	if edit.ClientID != before.ClientID {
		entry.FromClientID, entry.ToClientID = &before.ClientID, &edit.ClientID
	}
	return t.recordHistory(ctx, change.Org.ID, change.ID, entry, change.By)
}
