package notify

import (
	"context"
	"time"

	"integrationhub/scheduling/internal/emails"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

const (
	reminderBatch    = 200
	reminderOrgBatch = 20 // of an organization in a batch: the batch ends with the slowest
	// reminderRetry is after how long a reminder is retried that could not be sent.
	reminderRetry = time.Minute
)

// SendReminders sends the reminders by e-mail that are due.
func (n *Notifier) SendReminders(ctx context.Context) error {
	return n.sendDueReminders(ctx, "email", func(ctx context.Context, reminders []store.DueReminder) error {
		for _, due := range reminders {
			if err := n.postponeFailed(ctx, due, n.sendEmailReminder(ctx, due)); err != nil {
				return err
			}
		}
		return nil
	})
}

// sendDueReminders passes the due reminders of a channel to send, a batch at a time. send
// finishes or postpones each, so that none is due again in this run.
func (n *Notifier) sendDueReminders(ctx context.Context, channel string, send func(context.Context, []store.DueReminder) error) error {
	for {
		reminders, err := n.store.DueReminders(ctx, dbgen.DueRemindersParams{Channel: channel, Now: n.host.Now(), OrgLimit: reminderOrgBatch, RowLimit: reminderBatch, Suspended: n.host.Tenants.Suspended()})
		if err != nil {
			return err
		}
		if len(reminders) == 0 {
			return nil
		}
		if err := send(ctx, reminders); err != nil {
			return err
		}
	}
}

// postponeFailed postpones a reminder that could not be sent, so that it does not hold up
// those that are due later. A run that is to end leaves the reminder as it is.
func (n *Notifier) postponeFailed(ctx context.Context, due store.DueReminder, err error) error {
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	n.host.Log.Warn("sending a reminder failed", "organization", due.OrgID, "appointment", due.AppointmentID, "error", err)
	return n.store.PostponeReminder(ctx, due, reminderRetry)
}

func (n *Notifier) sendEmailReminder(ctx context.Context, due store.DueReminder) error {
	org, err := n.store.LoadOrg(ctx, due.OrgID)
	if err != nil {
		return err
	}
	return n.store.SendReminder(ctx, due, func(tx *store.Tx, reminder store.ReminderDetails) (bool, error) {
		if reminder.EmailsWithheld { // its address may be a stranger's, who got too many
			return false, nil
		}
		return n.sendEmail(ctx, tx, org, envelope{to: reminder.Contact.Email, locale: clientLocale(org, reminder.AppointmentDetail), clientID: reminder.ClientID}, emails.Reminder, n.appointmentData(org, reminder.AppointmentDetail, reminder.Contact.Name))
	})
}
