package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Jobs that transactions leave work for.
const (
	JobNotifications    = "letters"  // a [News]: who is to be told writes themselves what it came to
	JobWaitlist         = "waitlist" // a [Freed]
	JobAmbiguousErasure = "unclear"  // an [Unclear]
	JobPatientRefresh   = "patients" // a [Changed]

	JobCampaigns = "campaigns" // a [Sending]
)

// News is a change of an appointment that people are told of.
type News struct {
	Org           uuid.UUID     `json:"org_id"`
	Appointment   uuid.UUID     `json:"appointment_id"`
	Change        string        `json:"what"` // one of the constants below
	By            booking.Actor `json:"by"`
	PreviousStart time.Time     `json:"before,omitzero"` // where it was moved from
	SkipClient    bool          `json:"quiet,omitempty"` // the client is not told
}

// What happened to an appointment.
const (
	ChangeBooked    = "booked"
	ChangeConfirmed = "confirmed"
	ChangeCancelled = "cancelled"
	ChangeMoved     = "moved"
)

// enqueueNotification has people told of a change once the transaction has committed: a row for a
// job, which costs the change less than writing the letters.
func (t *Tx) enqueueNotification(ctx context.Context, notification News) error {
	payload, err := json.Marshal(notification)
	if err != nil {
		return err
	}
	return t.host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: JobNotifications, Payload: payload})
}

// Freed is time that somebody gave back.
type Freed struct {
	Org          uuid.UUID `json:"org_id"`
	Professional uuid.UUID `json:"professional_id"`
	Start        time.Time `json:"start"`
}

// enqueueFreedTime has those told who wait for a time like this.
func (t *Tx) enqueueFreedTime(ctx context.Context, org Org, appointment dbgen.Appointment) error {
	if !org.Settings.WaitlistEnabled || !appointment.StartAt.After(t.now) {
		return nil
	}
	payload, err := json.Marshal(Freed{org.ID, appointment.ProfessionalID, appointment.StartAt})
	if err != nil {
		return err
	}
	return t.host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: JobWaitlist, Payload: payload})
}

// Due is a reminder whose time has come.
type Due = dbgen.DueRemindersRow

// Reminded is what a reminder is about, with the client's phone as other products
// know it.
type Reminded struct {
	dbgen.AppointmentDetail
	Phone   string
	Contact dbgen.ContactOfRow // who is reminded by mail
}

// lockReminder loads what a reminder is about, while nobody else can change it; false
// where it is not to be sent, and then it is dropped: the appointment was moved or is
// over, or a nearer reminder is due as well.
func (t *Tx) lockReminder(ctx context.Context, due Due) (reminder Reminded, r dbgen.Reminder, ok bool, err error) {
	appointment, err := t.LockAppointment(ctx, due.OrgID, due.AppointmentID)
	if err != nil {
		return reminder, r, false, err
	}
	if r, err = t.LockReminder(ctx, dbgen.LockReminderParams(due)); errors.Is(err, pgx.ErrNoRows) {
		return reminder, r, false, nil // sent, or dropped
	} else if err != nil {
		return reminder, r, false, err
	}
	nearer, err := t.NearerReminder(ctx, dbgen.NearerReminderParams{
		OrgID: due.OrgID, AppointmentID: due.AppointmentID, Channel: due.Channel, OffsetMinutes: due.OffsetMinutes, Now: t.now,
	})
	if err != nil {
		return reminder, r, false, err
	}
	open := appointment.Status == booking.Scheduled || appointment.Status == booking.Confirmed
	planned := appointment.StartAt.Add(-time.Duration(due.OffsetMinutes) * time.Minute).Equal(due.DueAt)
	if !open || !planned || nearer || !appointment.StartAt.After(t.now) {
		return reminder, r, false, t.dropReminder(ctx, due)
	}
	if reminder.AppointmentDetail, err = t.AppointmentByID(ctx, due.OrgID, due.AppointmentID); err != nil {
		return reminder, r, false, err
	}
	client, err := t.ClientByID(ctx, due.OrgID, appointment.ClientID)
	if errors.Is(err, pgx.ErrNoRows) { // somebody who was forgotten
		return reminder, r, false, t.dropReminder(ctx, due)
	}
	if err != nil {
		return reminder, r, false, err
	}
	reminder.Phone = clientPhone(client)
	reminder.Contact, err = t.ContactOf(ctx, due.OrgID, due.AppointmentID)
	return reminder, r, err == nil, err
}

// markReminderSent notes that a reminder went out, and tells other products.
func (t *Tx) markReminderSent(ctx context.Context, due Due, reminder Reminded) error {
	err := t.ReminderSent(ctx, dbgen.ReminderSentParams{
		Now: t.now, OrgID: due.OrgID, AppointmentID: due.AppointmentID, OffsetMinutes: due.OffsetMinutes, Channel: due.Channel, DueAt: due.DueAt,
	})
	if err != nil {
		return err
	}
	return t.publish(ctx, due.OrgID, "appointment.reminded", map[string]any{"appointment_id": due.AppointmentID, "client_phone": reminder.Phone})
}

// SendReminder sends a reminder that goes out with the transaction: send hands it over, and
// false is that there is nobody to send it to.
func (s *Store) SendReminder(ctx context.Context, due Due, send func(tx *Tx, reminder Reminded) (bool, error)) error {
	return s.InTx(ctx, "sending a reminder", func(tx *Tx) error {
		reminder, _, ok, err := tx.lockReminder(ctx, due)
		if err != nil || !ok {
			return err
		}
		done, err := send(tx, reminder)
		switch {
		case err != nil:
			return err
		case !done:
			return tx.dropReminder(ctx, due)
		}
		return tx.markReminderSent(ctx, due, reminder)
	})
}

func (t *Tx) dropReminder(ctx context.Context, due Due) error {
	return t.DropReminder(ctx, dbgen.DropReminderParams(due))
}

// ClaimReminder takes a reminder that goes out through somebody else, outside of every
// transaction; [Store.SettleReminder] says what came of it. One that was claimed before and
// of which nothing was heard since may have arrived: it is dropped, and claimed is
// false, as it is where it is not to be sent any more.
func (s *Store) ClaimReminder(ctx context.Context, due Due) (reminder Reminded, claimed bool, err error) {
	err = s.InTx(ctx, "claiming a reminder", func(tx *Tx) error {
		var r dbgen.Reminder
		if reminder, r, claimed, err = tx.lockReminder(ctx, due); err != nil || !claimed {
			return err
		}
		if r.RetryAt != nil && r.RetryAt.After(tx.now) { // somebody else has it
			claimed = false
			return nil
		}
		if r.ClaimedAt != nil {
			claimed = false
			return tx.dropReminder(ctx, due)
		}
		later := tx.now.Add(reminderClaimTTL)
		return tx.ReminderClaimed(ctx, dbgen.ReminderClaimedParams{
			ClaimedAt: &tx.now, RetryAt: &later, Attempts: r.Attempts + 1, OrgID: due.OrgID, AppointmentID: due.AppointmentID,
			OffsetMinutes: due.OffsetMinutes, Channel: due.Channel, DueAt: due.DueAt,
		})
	})
	return reminder, claimed && err == nil, err
}

const (
	reminderClaimTTL    = 5 * time.Minute // longer than sending may take
	maxReminderAttempts = 4
)

// Outcome is what came of sending a claimed reminder.
type Outcome struct {
	Sent       bool
	RetryAfter time.Duration // it surely was not sent: when to try again; 0 = nobody knows, or it never will be
}

// SettleReminder notes what came of a claimed reminder. Unless it is to be tried again it is
// over.
func (s *Store) SettleReminder(ctx context.Context, due Due, reminder Reminded, outcome Outcome) error {
	return s.InTx(ctx, "settling a reminder", func(tx *Tx) error {
		r, err := tx.LockReminder(ctx, dbgen.LockReminderParams(due))
		cancelledMeanwhile := errors.Is(err, pgx.ErrNoRows) // moved or cancelled meanwhile
		switch {
		case err != nil && !cancelledMeanwhile:
			return err
		case outcome.Sent:
			return tx.markReminderSent(ctx, due, reminder)
		case cancelledMeanwhile:
			return nil
		case outcome.RetryAfter == 0 || r.Attempts >= maxReminderAttempts:
			return tx.dropReminder(ctx, due)
		}
		later := tx.now.Add(outcome.RetryAfter)
		return tx.ReminderClaimed(ctx, dbgen.ReminderClaimedParams{
			RetryAt: &later, Attempts: r.Attempts, OrgID: due.OrgID, AppointmentID: due.AppointmentID,
			OffsetMinutes: due.OffsetMinutes, Channel: due.Channel, DueAt: due.DueAt,
		})
	})
}
