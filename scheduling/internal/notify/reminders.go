package notify

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/emails"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

const (
	reminderBatch = 200
	// messagingProduct sends messages for organizations that enabled one of these uses
	// in their integration with it.
	messagingProduct = "messaging"
	useReminders     = "reminders"
	useRemarketing   = "remarketing"
	callSendMessage  = "action/send-message"
	statusActive     = "active"
	statusError      = "error" // the product fails at present
)

// reminderRetry is after how long a reminder is tried again that could not be sent.
const reminderRetry = time.Minute

// SendReminders sends the reminders by e-mail that are due.
func (n *Notifier) SendReminders(ctx context.Context) error {
	return n.sendDueReminders(ctx, "email", n.sendEmailReminder)
}

// SendMessageReminders sends the due reminders that go through a messaging product. It is a
// job of its own, because a product that does not respond delays all that come after it.
func (n *Notifier) SendMessageReminders(ctx context.Context) error {
	run := &messageRun{Notifier: n, unresponsive: make(map[string]bool), pausedUntil: make(map[uuid.UUID]time.Time)}
	return n.sendDueReminders(ctx, "whatsapp", run.sendReminder)
}

// sendDueReminders sends the due reminders of a channel. One that fails is postponed, so
// that it does not hold up those that are due later.
func (n *Notifier) sendDueReminders(ctx context.Context, channel string, send func(context.Context, store.Org, store.DueReminder) error) error {
	for {
		reminders, err := n.store.DueReminders(ctx, dbgen.DueRemindersParams{Channel: channel, Now: n.host.Now(), RowLimit: reminderBatch})
		if err != nil {
			return err
		}
		for _, due := range reminders {
			org, err := n.store.LoadOrg(ctx, due.OrgID)
			if err == nil {
				err = send(ctx, org, due)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil {
				continue
			}
			n.host.Log.Warn("sending a reminder failed", "organization", due.OrgID, "appointment", due.AppointmentID, "error", err)
			if err := n.store.PostponeReminder(ctx, due, reminderRetry); err != nil {
				return err
			}
		}
		if len(reminders) < reminderBatch {
			return nil
		}
	}
}

func (n *Notifier) sendEmailReminder(ctx context.Context, org store.Org, due store.DueReminder) error {
	return n.store.SendReminder(ctx, due, func(tx *store.Tx, reminder store.ReminderDetails) (bool, error) {
		return n.sendEmail(ctx, tx, org, envelope{to: reminder.Contact.Email, locale: clientLocale(org, reminder.AppointmentDetail), clientID: reminder.ClientID}, emails.Reminder, n.appointmentData(org, reminder.AppointmentDetail, reminder.Contact.Name))
	})
}

// messageRun is one run of [Notifier.SendMessageReminders]. It remembers which products it
// does not call again.
type messageRun struct {
	*Notifier
	unresponsive map[string]bool         // by the address of the product
	pausedUntil  map[uuid.UUID]time.Time // of organizations whose product limits its rate or refuses the key
}

// sendReminder sends a reminder through the organization's messaging product. It drops the
// reminder if the organization has none in use, and postpones it while the product fails.
func (r *messageRun) sendReminder(ctx context.Context, org store.Org, due store.DueReminder) error {
	if delay := r.pausedUntil[org.ID].Sub(r.host.Now()); delay > 0 {
		return r.store.PostponeReminder(ctx, due, delay)
	}
	peer, err := r.messagingIntegration(ctx, org.ID, useReminders)
	switch {
	case err != nil:
		return err
	case peer.Status == statusError || peer.Status == statusActive && r.unresponsive[peer.APIURL]:
		return r.store.PostponeReminder(ctx, due, reminderRetry)
	case peer.Status != statusActive:
		return r.store.DropReminder(ctx, due)
	}
	return r.sendClaimedReminder(ctx, org, peer, due)
}

// sendClaimedReminder sends a reminder through the messaging product: claimed first,
// sent without an open transaction, then settled.
func (r *messageRun) sendClaimedReminder(ctx context.Context, org store.Org, peer module.Integration, due store.DueReminder) error {
	reminder, claimed, err := r.store.ClaimReminder(ctx, due)
	if err != nil || !claimed {
		return err
	}
	outcome, err := r.sendReminderText(ctx, org, peer.ID, reminder)
	if err != nil {
		r.host.Log.Warn("sending a reminder through the messaging product failed", "organization", org.ID, "appointment", reminder.ID, "again", outcome.RetryAfter.String(), "error", err)
	}
	switch {
	case isUnresponsive(err):
		r.unresponsive[peer.APIURL] = true
	case outcome.RetryAfter > 0:
		r.pausedUntil[org.ID] = r.host.Now().Add(outcome.RetryAfter)
	}
	return r.store.SettleReminder(context.WithoutCancel(ctx), due, reminder, outcome)
}

func (n *Notifier) sendReminderText(ctx context.Context, org store.Org, peer uuid.UUID, reminder store.ReminderDetails) (store.Outcome, error) {
	number := booking.Digits(reminder.Phone)
	if number == "" {
		return store.Outcome{}, nil
	}
	locale := clientLocale(org, reminder.AppointmentDetail)
	email, err := emails.Render(emails.ReminderMessage, locale, n.appointmentData(org, reminder.AppointmentDetail, reminder.Contact.Name))
	if err == nil {
		err = ctx.Err()
	}
	if err != nil { // the product was not called
		return store.Outcome{RetryAfter: reminderRetry}, err
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
	return outcome, err
}

// failedOutcome returns the outcome of a call that failed. The message is retried if it was
// certainly not sent: the product limits its rate or refuses the key, there was no
// connection, or the hub did not come to calling. Otherwise it may have been sent, or the
// product refused it.
func failedOutcome(err error) store.Outcome {
	var problem *hub.Error
	var dialling *net.OpError
	isProblem := errors.As(err, &problem)
	switch {
	case isProblem && problem.Code == hub.CodePeerRateLimited:
		return store.Outcome{RetryAfter: max(time.Minute, problem.RetryAfter), Limited: true}
	case errors.As(err, &dialling) && dialling.Op == "dial",
		isProblem && problem.Code == hub.CodeKeyRejected,
		isProblem && problem.Code == hub.CodePeerUnreachable && problem.Extensions[hub.ReasonMember] != nil,
		errors.Is(err, hub.ErrUnavailable):
		return store.Outcome{RetryAfter: reminderRetry}
	}
	return store.Outcome{}
}

// isUnresponsive reports whether the product itself does not work, so that other messages
// would fail too.
func isUnresponsive(err error) bool {
	var problem *hub.Error
	var status hub.PeerHTTPStatus
	return errors.Is(err, hub.ErrPeerTimeout) || errors.As(err, &problem) && problem.Code == hub.CodePeerUnreachable || errors.As(err, &status) && status >= http.StatusInternalServerError
}

// isRefusal reports whether the product refuses the message for its key, scope or
// number.
func isRefusal(err error) bool {
	var problem *hub.Error
	var status hub.PeerHTTPStatus
	return errors.As(err, &problem) && problem.Code == hub.CodeKeyRejected || errors.As(err, &status) && status.Refused()
}

// findMessagingIntegration finds the active integration with the messaging product that is
// enabled for a purpose.
func (n *Notifier) findMessagingIntegration(ctx context.Context, org uuid.UUID, purpose string) (uuid.UUID, bool, error) {
	integration, err := n.messagingIntegration(ctx, org, purpose)
	return integration.ID, integration.Status == statusActive, err
}

// messagingIntegration returns the integration with the messaging product that is enabled
// for a purpose: an active one, else one that fails. Without either its status is "".
func (n *Notifier) messagingIntegration(ctx context.Context, org uuid.UUID, purpose string) (found module.Integration, err error) {
	integrations, err := n.host.Peers.List(ctx, org, hub.Live)
	if err != nil {
		return found, err
	}
	for _, integration := range integrations {
		if integration.Product != messagingProduct || !slices.Contains(integration.EnabledUses, purpose) {
			continue
		}
		if integration.Status == statusActive {
			return integration, nil
		}
		if integration.Status == statusError {
			found = integration
		}
	}
	return found, nil
}
