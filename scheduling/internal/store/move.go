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

// Move is where an appointment goes, and what else an edit changes of it. What is
// nil stays.
type Move struct {
	Start        *time.Time
	Professional *uuid.UUID
	Service      *uuid.UUID
	Price        *booking.Cents
	Client       *uuid.UUID
	Notes        *string
	Overbook     bool
	Online       bool // by a client: to an offered slot within the limits
	Limits       booking.Limits
	Reschedule   bool // it was asked to be moved, so its status has to allow that
}

// isReschedule tells whether the appointment's place in time changes.
func (m Move) isReschedule(a dbgen.Appointment) bool {
	return m.Reschedule || m.Start != nil && !m.Start.Equal(a.StartAt) ||
		m.Professional != nil && *m.Professional != a.ProfessionalID || m.Service != nil && *m.Service != a.ServiceID
}

// UpdateAppointment changes an appointment. Errors as [Store.Book] and [Store.ApplyAction] have them.
func (s *Store) UpdateAppointment(ctx context.Context, m Move, c Change) (Booked, error) {
	var done Booked
	var was dbgen.Appointment
	err := s.InTx(ctx, "changing the appointment", func(tx *Tx) (err error) {
		if was, err = tx.lockForChange(ctx, c, m.Professional); err != nil {
			return err
		}
		if m.isReschedule(was) {
			if done.Warnings, err = tx.reschedule(ctx, m, c, was); err != nil {
				return err
			}
		}
		if err := tx.editDetails(ctx, m, c, was); err != nil {
			return err
		}
		if err := tx.applyLowerPrice(ctx, c.Org, was); err != nil {
			return err
		}
		if done.AppointmentDetail, err = tx.AppointmentByID(ctx, c.Org.ID, c.ID); err != nil {
			return err
		}
		return tx.publishRescheduled(ctx, was, done.AppointmentDetail)
	})
	if isSlotConflict(err) {
		start, choice := m.target(was)
		return Booked{}, s.slotTakenError(ctx, c.Org, choice, start, m.Limits, func(o *booking.Offer) {
			if choice.Service == was.ServiceID {
				*o = o.WithDurationAndPrice(was.EndAt.Sub(was.StartAt), was.PriceCents)
			}
		})
	}
	return done, err
}

// publishRescheduled tells who heard of an appointment what it has become: it is created again,
// under the same id. Document 1 has no event of its own for that, and who keeps the
// appointment too would go on expecting the client at the former time.
func (t *Tx) publishRescheduled(ctx context.Context, was dbgen.Appointment, d dbgen.AppointmentDetail) error {
	if d.StartAt.Equal(was.StartAt) && d.ProfessionalID == was.ProfessionalID && d.ServiceID == was.ServiceID && d.ClientID == was.ClientID {
		return nil
	}
	client, err := t.ClientByID(ctx, d.OrgID, d.ClientID)
	if errors.Is(err, pgx.ErrNoRows) { // somebody who was forgotten
		return nil
	}
	if err != nil {
		return err
	}
	return t.publishCreated(ctx, d, clientPhone(client))
}

// applyLowerPrice says what a lower price means for the money that is due: codes for more than
// is left end, and what came in may be all of the deposit.
func (t *Tx) applyLowerPrice(ctx context.Context, org Org, was dbgen.Appointment) error {
	a, err := t.LockAppointment(ctx, org.ID, was.ID)
	if err != nil || a.PriceCents >= was.PriceCents {
		return err
	}
	if err := t.closeExcessCharges(ctx, a, a.PriceCents-a.PaidCents); err != nil {
		return err
	}
	if was.DepositStatus == booking.DepositPending && a.DepositStatus == booking.DepositNone {
		return t.confirmAfterDeposit(ctx, org, &a)
	}
	return t.coverDeposit(ctx, org, &a)
}

// target is where the appointment is to be.
func (m Move) target(was dbgen.Appointment) (time.Time, Choice) {
	start, choice := was.StartAt, Choice{Service: was.ServiceID, Professional: &was.ProfessionalID, Online: m.Online}
	if m.Start != nil {
		start = *m.Start
	}
	if m.Professional != nil {
		choice.Professional = m.Professional
	}
	if m.Service != nil {
		choice.Service = *m.Service
	} else {
		choice.Field = "body.professional_id"
	}
	return start, choice
}

func (t *Tx) reschedule(ctx context.Context, m Move, c Change, was dbgen.Appointment) (warned []string, err error) {
	next, err := booking.Reschedule.Apply(was.Status, c.By.Kind, c.By.Manager, c.Org.Policy)
	if err != nil {
		return nil, err
	}
	if c.Check != nil {
		if err := c.Check(was); err != nil {
			return nil, err
		}
	}
	start, choice := m.target(was)
	offers, err := LoadOffers(ctx, t.Queries, c.Org.ID, choice)
	if err != nil {
		return nil, err
	}
	offer := ResolveOffer(offers[0], c.Org.Policy)
	if choice.Service == was.ServiceID {
		offer = offer.WithDurationAndPrice(was.EndAt.Sub(was.StartAt), was.PriceCents)
	}
	place, err := t.findPlacement(ctx, c.Org, offers[0], offer, start, was.ID, fitting{online: m.Online, limits: m.Limits, overbook: m.Overbook})
	if err != nil {
		return nil, err
	}
	err = t.MoveAppointment(ctx, dbgen.MoveAppointmentParams{
		OrgID: c.Org.ID, ID: c.ID, ProfessionalID: *choice.Professional, ServiceID: choice.Service, StartAt: start, EndAt: start.Add(offer.Duration),
		PriceCents: offer.Price, Capacity: offer.Capacity, Seat: place.seat, Overbooked: place.overbooked, Status: next.To, Now: t.now,
	})
	if err != nil {
		return nil, err
	}
	from := string(was.Status)
	err = t.recordHistory(ctx, c.Org.ID, c.ID, dbgen.RecordHistoryParams{
		Action: string(booking.Reschedule), FromStatus: &from, ToStatus: string(next.To), FromStartAt: &was.StartAt, ToStartAt: &start,
		FromProfessionalID: &was.ProfessionalID, ToProfessionalID: choice.Professional, Reason: c.Reason,
	}, c.By)
	if err != nil {
		return nil, err
	}
	if err := t.DropReminders(ctx, c.Org.ID, c.ID); err != nil {
		return nil, err
	}
	if err := t.enqueueNotification(ctx, News{Org: c.Org.ID, Appointment: c.ID, Change: ChangeMoved, By: c.By.Kind, PreviousStart: was.StartAt, SkipClient: c.SkipClient}); err != nil {
		return nil, err
	}
	if err := t.enqueueFreedTime(ctx, c.Org, was); err != nil {
		return nil, err
	}
	return place.warnings, t.planReminders(ctx, c.Org, c.ID, start)
}

// editDetails changes what has nothing to do with time.
func (t *Tx) editDetails(ctx context.Context, m Move, c Change, was dbgen.Appointment) error {
	if m.Client == nil && m.Notes == nil && m.Price == nil {
		return nil
	}
	now, err := t.LockAppointment(ctx, c.Org.ID, c.ID)
	if err != nil {
		return err
	}
	change := dbgen.EditAppointmentParams{OrgID: c.Org.ID, ID: c.ID, ClientID: was.ClientID, Notes: was.Notes, PriceCents: now.PriceCents, Now: t.now}
	if m.Client != nil && *m.Client != was.ClientID {
		client, err := t.LoadClient(ctx, c.Org.ID, *m.Client)
		if err != nil {
			return err
		}
		if now.Status != booking.Scheduled && now.Status != booking.Confirmed {
			// What the appointment counted for is the old client's.
			return hub.Errorf(hub.ErrConflict, "appointment_over", "The client of an appointment can be changed while it is scheduled or confirmed; this one is %s.", now.Status)
		}
		change.ClientID = client.ID
	}
	if m.Notes != nil {
		change.Notes = *m.Notes
	}
	if m.Price != nil {
		change.PriceCents = *m.Price
	}
	if err := t.recordEdit(ctx, c, now, change); err != nil {
		return err
	}
	if change.ClientID != was.ClientID {
		err := t.GiveCharges(ctx, dbgen.GiveChargesParams{OrgID: c.Org.ID, AppointmentID: &c.ID, ClientID: change.ClientID, Now: t.now})
		if err != nil {
			return err
		}
	}
	return t.EditAppointment(ctx, change)
}

// recordEdit writes down what an edit changes; nothing where it leaves all as it was.
func (t *Tx) recordEdit(ctx context.Context, c Change, was dbgen.Appointment, to dbgen.EditAppointmentParams) error {
	if to.Notes == was.Notes && to.PriceCents == was.PriceCents && to.ClientID == was.ClientID {
		return nil
	}
	status := string(was.Status)
	line := dbgen.RecordHistoryParams{Action: "edit", FromStatus: &status, ToStatus: status, Reason: c.Reason}
	if to.PriceCents != was.PriceCents {
		line.FromPriceCents, line.ToPriceCents = &was.PriceCents, &to.PriceCents
	}
	if to.ClientID != was.ClientID {
		line.FromClientID, line.ToClientID = &was.ClientID, &to.ClientID
	}
	return t.recordHistory(ctx, c.Org.ID, c.ID, line, c.By)
}
