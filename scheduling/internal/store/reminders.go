package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/events"
	"integrationhub/hub/module/dberr"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

func (t *Tx) planReminders(ctx context.Context, org Org, appointment uuid.UUID, start time.Time) error {
	if !org.Settings.RemindersEnabled {
		return nil
	}
	return t.InsertReminders(ctx, dbgen.InsertRemindersParams{
		OrgID: org.ID, AppointmentID: appointment, StartAt: start, Now: t.now,
		Offsets: org.Settings.ReminderOffsetsMinutes, Channels: org.Settings.ReminderChannels,
	})
}

// DueReminder is a reminder whose time has come.
type DueReminder = dbgen.DueRemindersRow

// plannedStart returns the start of the appointment for which a reminder was planned.
func plannedStart(due DueReminder) time.Time {
	return due.DueAt.Add(time.Duration(due.OffsetMinutes) * time.Minute)
}

// ReminderDetails is the content of a reminder. Phone is the client's number in the
// form other products use.
type ReminderDetails struct {
	AppointmentDetail
	Phone   string
	Contact AppointmentRecipient // recipient of the reminder by e-mail
}

// prepareReminder locks a reminder with its appointment and loads its content. It deletes
// the reminder and returns ok false if it must not be sent: the appointment was
// rescheduled or ended, or a nearer reminder is due too.
func (t *Tx) prepareReminder(ctx context.Context, due DueReminder) (reminder ReminderDetails, r dbgen.Reminder, ok bool, err error) {
	appointment, err := t.LockAppointment(ctx, due.OrgID, due.AppointmentID)
	if err != nil {
		return reminder, r, false, err
	}
	if r, err = t.LockReminder(ctx, dbgen.LockReminderParams(due)); errors.Is(err, pgx.ErrNoRows) {
		return reminder, r, false, nil // sent or deleted
	} else if err != nil {
		return reminder, r, false, err
	}
	nearer, err := t.HasNearerReminder(ctx, dbgen.HasNearerReminderParams{
		OrgID: due.OrgID, AppointmentID: due.AppointmentID, Channel: due.Channel, OffsetMinutes: due.OffsetMinutes, Now: t.now, StartAt: appointment.StartAt,
	})
	if err != nil {
		return reminder, r, false, err
	}
	open := appointment.Status == booking.Scheduled || appointment.Status == booking.Confirmed
	planned := appointment.StartAt.Equal(plannedStart(due))
	if !open || !planned || nearer || !appointment.StartAt.After(t.now) {
		return reminder, r, false, t.dropReminder(ctx, due)
	}
	if reminder.AppointmentDetail, err = t.AppointmentByID(ctx, due.OrgID, due.AppointmentID); err != nil {
		return reminder, r, false, err
	}
	client, err := t.ClientByID(ctx, due.OrgID, appointment.ClientID)
	if errors.Is(err, pgx.ErrNoRows) { // the client was erased
		return reminder, r, false, t.dropReminder(ctx, due)
	}
	if err != nil {
		return reminder, r, false, err
	}
	reminder.Phone = clientPhone(client)
	reminder.Contact, err = t.AppointmentRecipient(ctx, due.OrgID, due.AppointmentID)
	return reminder, r, err == nil, err
}

// markReminderSent records that a reminder was sent and publishes the event.
func (t *Tx) markReminderSent(ctx context.Context, due DueReminder, reminder ReminderDetails) error {
	err := t.SetReminderSentAt(ctx, dbgen.SetReminderSentAtParams{
		Now: t.now, OrgID: due.OrgID, AppointmentID: due.AppointmentID, OffsetMinutes: due.OffsetMinutes, Channel: due.Channel, DueAt: due.DueAt,
	})
	if err != nil {
		return err
	}
	return t.publish(ctx, due.OrgID, events.AppointmentReminded{AppointmentID: due.AppointmentID.String(), ClientPhone: reminder.Phone})
}

// SendReminder sends a reminder as part of the transaction. send returns false where
// the client has no address; the reminder is then dropped.
func (s *Store) SendReminder(ctx context.Context, due DueReminder, send func(tx *Tx, reminder ReminderDetails) (bool, error)) error {
	return s.InTx(ctx, "sending a reminder", func(tx *Tx) error {
		reminder, _, ok, err := tx.prepareReminder(ctx, due)
		if err != nil || !ok {
			return err
		}
		sent, err := send(tx, reminder)
		switch {
		case err != nil:
			return err
		case !sent:
			return tx.dropReminder(ctx, due)
		}
		return tx.markReminderSent(ctx, due, reminder)
	})
}

func (t *Tx) dropReminder(ctx context.Context, due DueReminder) error {
	return t.DeleteReminder(ctx, dbgen.DeleteReminderParams(due))
}

// DropReminder deletes a reminder that is not to be sent.
func (s *Store) DropReminder(ctx context.Context, due DueReminder) error {
	return dberr.Wrap("dropping a reminder", s.DeleteReminder(ctx, dbgen.DeleteReminderParams(due)))
}

// PostponeReminder leaves a reminder that was not sent to a later run. One whose
// appointment has begun is deleted.
func (s *Store) PostponeReminder(ctx context.Context, due DueReminder, delay time.Duration) error {
	now := s.host.Now()
	if !plannedStart(due).After(now) {
		return s.DropReminder(ctx, due)
	}
	return dberr.Wrap("postponing a reminder", s.SetReminderRetryAt(ctx, dbgen.SetReminderRetryAtParams{
		RetryAt: now.Add(delay), Now: now, OrgID: due.OrgID, AppointmentID: due.AppointmentID, OffsetMinutes: due.OffsetMinutes, Channel: due.Channel, DueAt: due.DueAt,
	}))
}

// ClaimReminder reserves a reminder that another product sends outside of any
// transaction; [Store.SettleReminder] records the outcome. A reminder that was claimed
// before without an outcome may have arrived, so it is dropped. claimed is false where
// there is nothing to send.
func (s *Store) ClaimReminder(ctx context.Context, due DueReminder) (reminder ReminderDetails, claimed bool, err error) {
	err = s.InTx(ctx, "claiming a reminder", func(tx *Tx) error {
		var r dbgen.Reminder
		if reminder, r, claimed, err = tx.prepareReminder(ctx, due); err != nil || !claimed {
			return err
		}
		if r.RetryAt != nil && r.RetryAt.After(tx.now) { // another process has claimed it
			claimed = false
			return nil
		}
		if r.ClaimedAt != nil {
			claimed = false
			return tx.dropReminder(ctx, due)
		}
		later := tx.now.Add(reminderClaimTTL)
		return tx.SetReminderClaim(ctx, dbgen.SetReminderClaimParams{
			ClaimedAt: &tx.now, RetryAt: &later, Attempts: r.Attempts + 1, OrgID: due.OrgID, AppointmentID: due.AppointmentID,
			OffsetMinutes: due.OffsetMinutes, Channel: due.Channel, DueAt: due.DueAt,
		})
	})
	return reminder, claimed && err == nil, err
}

const (
	reminderClaimTTL = 5 * time.Minute // longer than sending may take
	maxReminderDelay = 5 * time.Minute // so that a reminder that comes before the start is still tried in time
)

// Outcome is the result of sending a claimed message.
type Outcome struct {
	Sent       bool
	RetryAfter time.Duration // set only if the message was certainly not sent; 0: never retry
	Limited    bool          // RetryAfter is the product's own, and the attempt does not count
}

// reminderDelay returns after how long a reminder is retried that was certainly not sent,
// the longer the more attempts failed.
func reminderDelay(outcome Outcome, attempts int) time.Duration {
	delay := outcome.RetryAfter
	for range attempts - 1 {
		if outcome.Limited || delay >= maxReminderDelay {
			break
		}
		delay = min(2*delay, maxReminderDelay)
	}
	return delay
}

// SettleReminder records the outcome of a claimed reminder. One that was certainly not
// sent is retried until its appointment begins; any other is finished.
func (s *Store) SettleReminder(ctx context.Context, due DueReminder, reminder ReminderDetails, outcome Outcome) error {
	return s.InTx(ctx, "settling a reminder", func(tx *Tx) error {
		r, err := tx.LockReminder(ctx, dbgen.LockReminderParams(due))
		cancelledMeanwhile := errors.Is(err, pgx.ErrNoRows) // the appointment was rescheduled or cancelled
		switch {
		case err != nil && !cancelledMeanwhile:
			return err
		case outcome.Sent:
			return tx.markReminderSent(ctx, due, reminder)
		case cancelledMeanwhile:
			return nil
		case outcome.RetryAfter == 0:
			return tx.dropReminder(ctx, due)
		}
		later := tx.now.Add(reminderDelay(outcome, r.Attempts))
		if outcome.Limited {
			r.Attempts--
		}
		return tx.SetReminderClaim(ctx, dbgen.SetReminderClaimParams{
			RetryAt: &later, Attempts: r.Attempts, OrgID: due.OrgID, AppointmentID: due.AppointmentID,
			OffsetMinutes: due.OffsetMinutes, Channel: due.Channel, DueAt: due.DueAt,
		})
	})
}
