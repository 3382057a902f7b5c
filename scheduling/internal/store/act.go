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

// Change is something done to an appointment.
type Change struct {
	Org     Org
	ID      uuid.UUID
	By      Actor
	Reason  *string
	Version *int // the caller has seen this one; nil: any
	Quiet   bool // the client is not told
	// Check may refuse the change once the appointment is locked and the action is
	// possible in its state; nil: it is fine.
	Check func(a dbgen.Appointment) error
}

// lock loads the appointment for the change, and takes the locks of the time it has
// and of the professional it may go to, before its row: as those do who book.
func (t *Tx) lock(ctx context.Context, c Change, also *uuid.UUID) (dbgen.Appointment, error) {
	seen, err := t.AppointmentByID(ctx, c.Org.ID, c.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return dbgen.Appointment{}, missing("Appointment")
	}
	if err != nil {
		return dbgen.Appointment{}, err
	}
	first := seen.ProfessionalID
	if also != nil && *also != first {
		second := *also
		if second.String() < first.String() {
			first, second = second, first
		}
		if err := t.LockTime(ctx, first); err != nil {
			return dbgen.Appointment{}, err
		}
		first = second
	}
	if err := t.LockTime(ctx, first); err != nil {
		return dbgen.Appointment{}, err
	}
	a, err := t.LockAppointment(ctx, c.Org.ID, c.ID)
	switch {
	case err != nil:
		return a, err
	case a.ProfessionalID != seen.ProfessionalID, c.Version != nil && *c.Version != a.Version:
		return a, hub.Errorf(hub.ErrPreconditionFailed, "version_mismatch", "Appointment was changed by someone else")
	}
	return a, nil
}

// Act does an action that changes the status and leaves the time alone. Doing it
// again is no error and has no effect. What is not possible is a
// *[booking.TransitionError].
func (s *Store) Act(ctx context.Context, action booking.Action, c Change) (dbgen.AppointmentDetail, error) {
	var done dbgen.AppointmentDetail
	var was dbgen.Appointment
	err := s.InTx(ctx, string(action), func(tx *Tx) (err error) {
		if was, err = tx.lock(ctx, c, nil); err != nil {
			return err
		}
		if err := tx.act(ctx, action, c, was); err != nil {
			return err
		}
		done, err = tx.AppointmentByID(ctx, c.Org.ID, c.ID)
		return err
	})
	if taken(err) {
		return done, s.slotTaken(ctx, c.Org, Choice{Service: was.ServiceID, Professional: &was.ProfessionalID}, was.StartAt, booking.Limits{}, nil)
	}
	return done, err
}

func (t *Tx) act(ctx context.Context, action booking.Action, c Change, was dbgen.Appointment) error {
	next, err := action.Apply(was.Status, c.By.Kind, c.By.Manager, c.Org.Policy)
	if err != nil || !next.Changed {
		return err
	}
	if c.Check != nil {
		if err := c.Check(was); err != nil {
			return err
		}
	}
	if action == booking.Reopen && was.Status == booking.NoShow && !was.Overbooked {
		if err := t.stillFree(ctx, c.Org, was); err != nil {
			return err
		}
	}
	set := dbgen.SetStatusParams{OrgID: c.Org.ID, ID: c.ID, Status: next.To, Now: t.now, Expected: []string{string(was.Status)}, DepositStatus: depositAfter(action, c.Org.Policy, was, t.now)}
	if action == booking.Cancel {
		by := string(c.By.Kind)
		set.CancelledBy, set.CancelReason = &by, c.Reason
	}
	if _, err := t.SetStatus(ctx, set); err != nil {
		return err
	}
	from := string(was.Status)
	if err := t.note(ctx, c.Org.ID, c.ID, dbgen.RecordHistoryParams{Action: string(action), FromStatus: &from, ToStatus: string(next.To), Reason: c.Reason}, c.By); err != nil {
		return err
	}
	return t.effects(ctx, action, c, was)
}

// stillFree checks that nobody took the time of an appointment that comes back.
// Where it is no longer offered, the constraint decides.
func (t *Tx) stillFree(ctx context.Context, org Org, a dbgen.Appointment) error {
	_, _, err := t.placeOf(ctx, org, a)
	return err
}

// placeOf finds the place of an appointment that comes back; offered is false where
// its professional does not give the service any more.
func (t *Tx) placeOf(ctx context.Context, org Org, a dbgen.Appointment) (place spot, offered bool, err error) {
	offers, err := t.Offers(ctx, org.ID, a.ServiceID)
	if err != nil {
		return place, false, err
	}
	for _, o := range offers {
		if o.ProfessionalID == a.ProfessionalID {
			place, err = t.fit(ctx, org, o, OfferOf(o, org.Policy).Keeping(a.EndAt.Sub(a.StartAt), a.PriceCents), a.StartAt, a.ID, fitting{})
			return place, true, err
		}
	}
	return place, false, nil
}

func depositAfter(action booking.Action, p booking.Policy, a dbgen.Appointment, now time.Time) booking.DepositStatus {
	switch {
	case action == booking.Cancel:
		return p.DepositAfterCancel(a.DepositStatus, a.StartAt, now)
	case action == booking.MarkNoShow:
		return booking.DepositAfterNoShow(a.DepositStatus)
	case action == booking.Reopen && a.DepositStatus == booking.DepositForfeited:
		return booking.DepositPaid
	}
	return a.DepositStatus
}

// effects are what an action does besides changing the status.
func (t *Tx) effects(ctx context.Context, action booking.Action, c Change, was dbgen.Appointment) error {
	switch action {
	case booking.Confirm:
		return t.tell(ctx, News{Org: c.Org.ID, Appointment: c.ID, What: NewsConfirmed, By: c.By.Kind})
	case booking.Cancel:
		if err := t.cancelled(ctx, c, was); err != nil {
			return err
		}
		reason := ""
		if c.Reason != nil {
			reason = *c.Reason
		}
		return t.publish(ctx, c.Org.ID, "appointment.cancelled", map[string]any{"appointment_id": c.ID, "reason": reason})
	case booking.MarkNoShow:
		client, err := t.AddToClient(ctx, dbgen.AddToClientParams{OrgID: c.Org.ID, ID: was.ClientID, NoShows: 1})
		if err != nil {
			return err
		}
		if err := t.DropReminders(ctx, c.Org.ID, c.ID); err != nil {
			return err
		}
		return t.publish(ctx, c.Org.ID, "appointment.noshow", map[string]any{"appointment_id": c.ID, "client_phone": phoneOf(client)})
	case booking.Complete:
		if _, err := t.AddToClient(ctx, dbgen.AddToClientParams{OrgID: c.Org.ID, ID: was.ClientID, Appointments: 1}); err != nil {
			return err
		}
		return t.earnVisit(ctx, was)
	case booking.Reopen:
		if was.Status == booking.NoShow {
			return t.expected(ctx, c, was)
		}
		if _, err := t.AddToClient(ctx, dbgen.AddToClientParams{OrgID: c.Org.ID, ID: was.ClientID, Appointments: -1}); err != nil {
			return err
		}
		return t.reverseVisit(ctx, was)
	}
	return nil
}

// expected takes a no-show back: who was told of it hears that the appointment takes
// place.
func (t *Tx) expected(ctx context.Context, c Change, was dbgen.Appointment) error {
	client, err := t.AddToClient(ctx, dbgen.AddToClientParams{OrgID: c.Org.ID, ID: was.ClientID, NoShows: -1})
	if err != nil {
		return err
	}
	if err := t.planReminders(ctx, c.Org, c.ID, was.StartAt); err != nil {
		return err
	}
	now, err := t.AppointmentByID(ctx, c.Org.ID, c.ID)
	if err != nil {
		return err
	}
	return t.announce(ctx, now, phoneOf(client))
}

// cancelled drops what was planned for an appointment, ends its open charges and has
// its deposit go back where it does.
func (t *Tx) cancelled(ctx context.Context, c Change, was dbgen.Appointment) error {
	if err := t.DropReminders(ctx, c.Org.ID, c.ID); err != nil {
		return err
	}
	if err := t.tell(ctx, News{Org: c.Org.ID, Appointment: c.ID, What: NewsCancelled, By: c.By.Kind}); err != nil {
		return err
	}
	if err := t.freed(ctx, c.Org, was); err != nil {
		return err
	}
	status := paymentCancelled
	if c.By.Kind == booking.System {
		status = paymentExpired
	}
	if err := t.closeCharges(ctx, was, status); err != nil {
		return err
	}
	if was.DepositStatus == booking.DepositPaid && depositAfter(booking.Cancel, c.Org.Policy, was, t.now) == booking.DepositRefunded {
		return t.returnDeposit(ctx, was)
	}
	return nil
}
