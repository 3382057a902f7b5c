package notify

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/emails"
	"integrationhub/scheduling/internal/store"
)

const (
	reminderBatch = 200
	// messagingProduct sends messages for organizations that enabled one of these uses
	// in their integration with it.
	messagingProduct = "messaging"
	useReminders     = "reminders"
	useRemarketing   = "remarketing"
	callSendMessage  = "action/send-message"
)

// SendReminders sends the reminders that are due.
func (n *Notifier) SendReminders(ctx context.Context) error {
	for {
		reminders, err := n.store.DueReminders(ctx, n.host.Now(), reminderBatch)
		if err != nil {
			return err
		}
		failed := false
		for _, due := range reminders {
			if err := n.sendReminder(ctx, due); err != nil {
				failed = true
				n.host.Log.Warn("sending a reminder failed", "organization", due.OrgID, "appointment", due.AppointmentID, "error", err)
			}
		}
		if failed || len(reminders) < reminderBatch || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (n *Notifier) sendReminder(ctx context.Context, due store.DueReminder) error {
	org, err := n.store.LoadOrg(ctx, due.OrgID)
	if err != nil {
		return err
	}
	if due.Channel == "whatsapp" {
		return n.sendClaimedReminder(ctx, org, due)
	}
	return n.store.SendReminder(ctx, due, func(tx *store.Tx, reminder store.ReminderDetails) (bool, error) {
		return n.sendEmail(ctx, tx, org, envelope{to: reminder.Contact.Email, locale: clientLocale(org, reminder.AppointmentDetail), clientID: reminder.ClientID}, emails.Reminder, n.appointmentData(org, reminder.AppointmentDetail, reminder.Contact.Name))
	})
}

// sendClaimedReminder sends a reminder through the messaging product: claimed first,
// sent without an open transaction, then settled.
func (n *Notifier) sendClaimedReminder(ctx context.Context, org store.Org, due store.DueReminder) error {
	reminder, claimed, err := n.store.ClaimReminder(ctx, due)
	if err != nil || !claimed {
		return err
	}
	return n.store.SettleReminder(context.WithoutCancel(ctx), due, reminder, n.sendReminderText(ctx, org, reminder))
}

func (n *Notifier) sendReminderText(ctx context.Context, org store.Org, reminder store.ReminderDetails) store.Outcome {
	peer, found, err := n.findMessagingIntegration(ctx, org.ID, useReminders)
	number := booking.Digits(reminder.Phone)
	if err != nil || !found || number == "" {
		return store.Outcome{}
	}
	locale := clientLocale(org, reminder.AppointmentDetail)
	email, err := emails.Render(emails.ReminderMessage, locale, n.appointmentData(org, reminder.AppointmentDetail, reminder.Contact.Name))
	if err != nil {
		return store.Outcome{}
	}
	message := textMessage{Number: number, Body: email.Text, Appointment: &askedAbout{
		ID: reminder.ID.String(), Title: reminder.ServiceName + ", " + emails.FormatTime(locale, reminder.StartAt.In(org.Zone), org.Settings.TimeFormat == "12h"),
		Locale: locale, Until: reminder.StartAt.UTC(),
	}}
	outcome, err := n.sendText(ctx, peer, message)
	if errors.Is(err, hub.ErrInvalid) && !isRefusal(err) { // products of other makers may not know questions
		message.Appointment = nil
		outcome, err = n.sendText(ctx, peer, message)
	}
	if err != nil {
		n.host.Log.Warn("sending a reminder through the messaging product failed", "organization", org.ID, "appointment", reminder.ID, "again", outcome.RetryAfter.String(), "error", err)
	}
	return outcome
}

// retryDelay returns when to retry a message that was certainly not sent: the product
// limits its rate, or the connection failed. It returns 0 where the message may have
// been sent or was refused.
func retryDelay(err error) time.Duration {
	var problem *hub.Error
	var dialling *net.OpError
	switch {
	case errors.As(err, &problem) && problem.Code == hub.CodePeerRateLimited:
		return max(time.Minute, problem.RetryAfter)
	case errors.As(err, &dialling) && dialling.Op == "dial":
		return time.Minute
	}
	return 0
}

// isRefusal reports whether the product refuses the message for its key, scope or
// number.
func isRefusal(err error) bool {
	var problem *hub.Error
	var status hub.PeerHTTPStatus
	return errors.As(err, &problem) && problem.Code == hub.CodeKeyRejected || errors.As(err, &status) && status.Refused()
}

// findMessagingIntegration finds the integration with the messaging product that is
// enabled for a purpose.
func (n *Notifier) findMessagingIntegration(ctx context.Context, org uuid.UUID, purpose string) (uuid.UUID, bool, error) {
	integrations, err := n.host.Peers.List(ctx, org, hub.Live)
	if err != nil {
		return uuid.Nil, false, err
	}
	for _, integration := range integrations {
		if integration.Product == messagingProduct && integration.Status == "active" && slices.Contains(integration.EnabledUses, purpose) {
			return integration.ID, true, nil
		}
	}
	return uuid.Nil, false, nil
}
